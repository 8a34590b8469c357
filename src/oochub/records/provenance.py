"""The origin of an artifact: versions and settings, apart from what differs between two equal runs."""

import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

_PACKAGES = (
    "accelerate",
    "datasets",
    "evaluate",
    "numpy",
    "pillow",
    "scikit-learn",
    "scipy",
    "torch",
    "transformers",
)


def provenance(**fields: Any) -> dict[str, Any]:
    """The record of an artifact: `fields`, the versions, and apart from them `when` and `where`.

    Two runs of the same command give equal records but for `when` and `where`. No user or host name, no absolute
    path, no environment variable enters.

    >>> sorted(provenance(seed=0))
    ['oochub', 'packages', 'python', 'seed', 'when', 'where']
    """
    return {
        "oochub": version("oochub"),
        "python": platform.python_version(),
        "packages": dict(_read_versions()),
        **fields,
        "when": {"created": datetime.now(UTC).isoformat(timespec="seconds")},
        "where": {"platform": f"{platform.system()}-{platform.machine()}", "device": _describe_device()},
    }


def drop_when_and_where(record: Any) -> Any:
    """A copy of a record of nested dicts and lists without the fields that two equal runs differ in.

    >>> drop_when_and_where({"a": 1, "provenance": {"when": {}, "where": {}, "seed": 0}})
    {'a': 1, 'provenance': {'seed': 0}}
    """
    if isinstance(record, Mapping):
        return {key: drop_when_and_where(record[key]) for key in record if key not in ("when", "where")}
    return [drop_when_and_where(item) for item in record] if isinstance(record, list) else record


@cache
def _read_versions() -> dict[str, str]:
    """The versions of the packages; their files are read once, however many reports a sweep makes."""
    versions = {}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return versions


def _describe_device() -> str:
    torch = sys.modules.get("torch")  # never imported for this: scoring needs no torch
    return "cuda" if torch is not None and torch.cuda.is_available() else "cpu"
