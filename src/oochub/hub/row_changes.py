"""What differs between the rows of two versions of a repository, in words: a push says it, and the card keeps it.

Columns of images are not read, since that would fetch the whole of the earlier version.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import IO, Any

import pyarrow.parquet as pq
from datasets import ClassLabel, Features, Image

from oochub import catalog
from oochub.data.build_file import ConfigFiles
from oochub.records.build_record import BUILD_COLUMN

_ID = "example_id"
_Row = dict[str, str]


def describe_row_changes(
    before: ConfigFiles,
    after: ConfigFiles,
    *,
    open_before: Callable[[str], IO[bytes]],
    open_after: Callable[[str], Any],
) -> str:
    """Says how many rows were added, removed, relabelled or changed in other columns than those of images.

    Rows are known by `example_id`; without such a column, a row that changed counts as removed and as added.

    Args:
        before: Files of the earlier version.
        after: Files of the later one.
        open_before: Function that opens a file of the earlier version by its path in the repository.
        open_after: The same for the later one.
    """
    if not all(file.path.endswith(".parquet") for files in (before, after) for file in _list_data(files)):
        return "the shards differ, whose rows are not compared"
    old, new = _index_rows(before, open_before), _index_rows(after, open_after)
    truths = {catalog.get("output", name).label_column for name in catalog.names("output")}
    relabelled, others, columns = 0, 0, Counter[str]()
    for key in old.keys() & new.keys():
        differing = [name for name in {**old[key], **new[key]} if old[key].get(name) != new[key].get(name)]
        relabelled += bool(truths.intersection(differing))
        others += bool(differing) and not truths.intersection(differing)
        columns.update(name for name in differing if not truths.intersection(differing))
    changes = [
        *_count(len(new.keys() - old.keys()), "added"),
        *_count(len(old.keys() - new.keys()), "removed"),
        *_count(relabelled, "relabelled"),
        *_count(others, f"changed in {', '.join(sorted(columns))}"),
    ]
    return ", ".join(changes) or "no row is added, removed or relabelled; images or notes differ"


def _count(rows: int, what: str) -> Iterator[str]:
    if rows:
        yield f"{rows:,} {'row' if rows == 1 else 'rows'} {what}"


def _list_data(files: ConfigFiles) -> Iterator[Any]:
    return (file for split in files.splits.values() for file in split)


def _index_rows(files: ConfigFiles, open_file: Callable[[str], IO[bytes]]) -> dict[tuple[str, int], _Row]:
    """Each row's columns without images as text, by its id and how often the id came before."""
    features = files.features
    light = [name for name, feature in features.items() if not isinstance(feature, Image) and name != BUILD_COLUMN]
    seen, rows = Counter[str](), {}
    for split, parts in files.splits.items():
        for part in parts:
            with open_file(part.path) as content:
                table = pq.ParquetFile(content).read(columns=light)
            for row in table.to_pylist():
                told = {name: _format(features, name, row[name]) for name in light} | {"split": split}
                key = told.pop(_ID) if _ID in told else json.dumps(told, sort_keys=True)
                rows[key, seen[key]] = told
                seen[key] += 1
    return rows


def _format(features: Features, name: str, value: object) -> str:
    feature: Any = features[name]
    if isinstance(feature, ClassLabel) and isinstance(value, int) and value >= 0:
        return str(feature.names[value])  # numbers change where a class is added
    return value if isinstance(value, str) else json.dumps(value, default=str, sort_keys=isinstance(value, Mapping))
