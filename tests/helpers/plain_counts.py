"""What an artifact holds, counted by pyarrow, csv, json and numpy alone: none of the package's readers is asked."""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SIDES = {"easy": "in", "hard_positive": "out", "hard_negative": "out", "hard": "out", None: "none"}
"""The side of a row by its challenge; another word has none that anybody could know."""


def predictions_count(path: Path) -> dict[str, Any]:
    """Of predictions, a file or a folder of parts in the manifest's order: see `counted`."""
    if path.is_dir():
        manifest = json.loads((path / "_manifest.json").read_text("utf-8"))
        files, said = [path / part["file"] for part in manifest["parts"]], manifest["metadata"]
    else:
        files, said = [path], json.loads(pq.read_schema(path).metadata[b"oochub"])
    tables = [pq.ParquetFile(file).read() for file in files]
    columns = {name: [row for table in tables for row in table[name].to_pylist()] for name in tables[0].column_names}
    return counted(columns, said["class_names"])


def counted(columns: Mapping[str, Sequence[Any]], names: Sequence[str]) -> dict[str, Any]:
    """Rows, labels, answers, and who is right, from `logits`, `label`, `split`, `challenge` and `group` alone.

    Args:
        columns: Lists of the same length.
        names: Of the classes.
    """
    logits = np.array([[float(cell) for cell in row] for row in columns["logits"]], np.float32)
    label, answer = np.array(columns["label"], object), logits.argmax(1)
    right = np.array([said == true for said, true in zip(answer.tolist(), label.tolist(), strict=True)])
    split = list(columns.get("split", ["test"] * len(label)))
    tested = _where(split, "test" if "test" in split else split[-1])
    groups = columns.get("group", [None] * len(label))
    by_group = {
        name: share(right[mask])
        for name in sorted(set(groups) - {None}, key=str)
        if (mask := tested & _where(groups, name)).any()
    }
    if "challenge" in columns:
        roles = [SIDES.get(word, f"unknown {word!r}") for word in columns["challenge"]]
        sides = {role: tested & _where(roles, role) for role in sorted(set(roles) - {"none"})}
    else:  # all rows against the worst group
        worst = min(by_group, key=lambda name: by_group[name][1], default=None)
        sides = {"in": tested, "out": tested & _where(groups, worst) & (worst is not None)}
    return {
        "rows": dict(Counter(split)),
        "labels": _by_name(label.tolist(), names),
        "answers": _by_name(answer.tolist(), names),
        "all": share(right[tested]),
        "sides": {role: share(right[mask]) for role, mask in sides.items() if mask.any()},
        "groups": {str(name): each for name, each in by_group.items()},
    }


def _where(values: Sequence[Any], word: Any) -> Any:
    """The rows of a word, as truths."""
    return np.array([each == word for each in values], bool)


def share(right: Any) -> list[float]:
    """How many, and the share of them that is right, to nine places."""
    return [len(right), round(float(np.mean(right)), 9) if len(right) else 0.0]


def _by_name(codes: Iterable[Any], names: Sequence[str]) -> dict[str, int]:
    words = [f"{name} ({k})" if list(names).count(name) > 1 else str(name) for k, name in enumerate(names)]
    return {words[code] if code >= 0 else "none": n for code, n in sorted(Counter(codes).items())}


def csv_rows(path: Path, *, separator: str = ",") -> list[dict[str, str]]:
    """The rows of a table with a line of names, empty lines left out; bytes that are no text stay, in any column."""
    text = path.read_text("utf-8-sig", errors="surrogateescape")
    rows = list(csv.DictReader(io.StringIO(text), delimiter=separator))
    return [row for row in rows if any(cell and cell.strip() for cell in row.values() if not isinstance(cell, list))]


def tallied(rows: Iterable[Sequence[Any]]) -> dict[str, int]:
    """How often each row occurs, by its cells as text."""
    return dict(sorted(Counter(" | ".join(map(str, row)) for row in rows).items()))


def parquet_columns(files: Iterable[Path]) -> dict[str, list[Any]]:
    """The columns of several Parquet files, one after the other."""
    table = pa.concat_tables([pq.ParquetFile(file).read() for file in files])
    return {name: table[name].to_pylist() for name in table.column_names}
