"""Fetches files of one commit of a repository of the Hub, and looks at what came before anything reads it."""

import hashlib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.remote.connection_fault import connection_fault
from oochub.remote.patiently import patiently
from oochub.remote.refusal import ODD_ANSWERS
from oochub.remote.remote_repository import RepoType
from oochub.remote.without_token import without_token

_SHA256 = re.compile(r"[0-9a-f]{64}")


def snapshot(name: str, *, repo_type: RepoType, patterns: Sequence[str], without: Sequence[str] = ()) -> Path:
    """The folder in the Hub's cache that holds files of one commit; what is there already is not fetched again.

    The files that came now and that the Hub names by their SHA-256 have this digest, and none is a link out of the
    cache.

    Args:
        name: user/name.
        repo_type: What it holds.
        patterns: Of the files that are fetched.
        without: Of those that are not, all the same.

    Raises:
        OochubError: The Hub cannot be reached or does not answer as it should, and the cache has no copy; what came is
            damaged.
        huggingface_hub.errors.HFValidationError: The name can be none.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    wanted = {"allow_patterns": list(patterns), "ignore_patterns": list(without), "tqdm_class": _late_bar()}
    blobs = Path(HF_HUB_CACHE, f"{repo_type}s--{name.replace('/', '--')}", "blobs")
    known = {path.name for path in blobs.glob("*")}
    try:
        folder = Path(patiently(lambda: snapshot_download(name, repo_type=repo_type, **wanted)))
    except (HFValidationError, OochubError):
        raise
    except (unreached, OSError, *ODD_ANSWERS) as error:
        lines = [connection_fault(error), *str(error).strip().splitlines(), type(error).__name__]
        said = without_token(next(line for line in lines if line))
        raise OochubError(
            f"The files of {name} could not be fetched from the Hub: {said.rstrip('.: ')}. Check the connection and "
            "try again: what has come is not fetched again."
        ) from None  # the chain shows what the server sent
    caches = {Path(HF_HUB_CACHE).resolve(), blobs.resolve()}
    for path in sorted(folder.rglob("*")):
        real = path.resolve()
        if not any(real.is_relative_to(cache) for cache in caches):
            raise OochubError(f"{path} is a link out of the Hub's cache, so it is not read. Delete {folder}.")
        if real.is_file() and real.name not in known and _SHA256.fullmatch(real.name) and _digest(real) != real.name:
            real.unlink()
            raise OochubError(
                f"{path.relative_to(folder)} of {name} came damaged: it has not the digest that the Hub names. Try "
                "again: it is fetched again."
            )
    return folder


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _late_bar() -> Any:
    from huggingface_hub.utils import tqdm

    class LateBar(tqdm):  # type: ignore[misc]
        """A bar for what takes more than two seconds."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **{"delay": 2.0, **settings})

    return LateBar
