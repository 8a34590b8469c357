"""What a shell completes after TAB: names of the catalog, benchmarks with configs, recipes, columns of the data."""

import csv
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from oochub import catalog

_KINDS = {
    **{name: name for name in ("objective", "metric", "detector", "mode", "criterion", "probe")},
    "contexts": "context",
    "plot": "figure",
    "export": "bridge",
}
"""Parameters whose values are names of the catalog, and their kind."""
_DATA = ("source", "sources", "benchmark", "truth")
_TABLES = ("metadata.csv", "metadata.parquet", "train/metadata.csv", "train/metadata.parquet")
_Completions = list[tuple[str, str]]


def find_completion(parameter: str) -> Callable[[str], _Completions] | None:
    """What completes the values of a parameter of a command, as typer calls it; None leaves them to the shell.

    Args:
        parameter: The name of the parameter.

    >>> complete = find_completion("objective")
    >>> [value for value, _ in complete("group")]
    ['group_dro']
    """

    def complete(incomplete: str) -> _Completions:
        if parameter in _KINDS:
            return _list_things(_KINDS[parameter], incomplete)
        if parameter in _DATA:
            return _list_data(incomplete)
        return _list_recipes(incomplete) if parameter == "recipe" else _list_columns(incomplete)

    has_values = parameter in (*_KINDS, *_DATA, "recipe") or parameter.endswith("_column")
    return complete if has_values else None


def _list_things(kind: str, typed: str) -> _Completions:
    return [(name, catalog.summary(kind, name)) for name in catalog.names(kind) if name.startswith(typed)]


def _list_data(typed: str) -> _Completions:
    """Benchmarks, and the configs of one whose name is written; a shell completes files where none is near."""
    name, slash, config = typed.partition("/")
    if not slash:
        return _list_things("benchmark", typed)
    if name not in catalog.names("benchmark"):
        return []
    from oochub.data.load import get_builder_class

    configs = get_builder_class(name).builder_configs
    return [(f"{name}/{config_named}", "") for config_named in configs if config_named.startswith(config)]


def _list_recipes(typed: str) -> _Completions:
    from oochub.sweep.sweep_recipe import list_recipes

    return [(name, "") for name in list_recipes() if name.startswith(typed)]


def _list_columns(typed: str) -> _Completions:
    """The columns of the first table that was named before, or of that in a folder that was named."""
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")  # as bash, or another shell, says
    for word in line.split():
        path = Path(word).expanduser()
        for file in (path, *(path / name for name in _TABLES)):
            with suppress(OSError, ValueError, csv.Error):  # nothing is said while a user types
                if names := _read_head(file) if file.is_file() else []:
                    return [(name, "") for name in names if name.startswith(typed)]
    return []


def _read_head(file: Path) -> Sequence[str]:
    """The names of a table's columns; none for a file of another kind."""
    if file.suffix == ".parquet":
        import pyarrow.parquet as pq

        return list(pq.read_schema(file).names)
    if file.suffix == ".csv":
        with file.open(encoding="utf-8-sig", newline="") as lines:
            return next(csv.reader(lines), [])
    return []
