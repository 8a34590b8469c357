"""The rows that a board compares: their name, and in how many rows two sets of them differ.

Rows have the same name where examples, labels, sides, groups and clusters are equal, in any order.
"""

import hashlib
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.data.declaration import find_declaration
from oochub.prediction.predictions import Predictions
from oochub.records.output_columns import ALSO_RIGHT
from oochub.records.schema import to_json
from oochub.records.sides import GroupsOfRows

_TOGETHER = 1 << 13  # rows written out at once
_COMPUTED = ("prediction", "probability", "score", "correct", "loss")


def digest_compared_rows(predictions: Predictions) -> str:
    """SHA-256 over the rows that the comparison of a benchmark is of, without the answers.

    Args:
        predictions: Predictions with their rows in any order; splits beside the comparison do not count.

    >>> from oochub import Predictions
    >>> rows = {"logits": [[1.0, 0.0]] * 2, "label": [0, 1], "example_id": ["a", "b"]}
    >>> one = Predictions.from_arrays(**rows, group=["sea", "land"])
    >>> other = Predictions.from_arrays(**rows, group=["land", "sea"])
    >>> turned = one.take(np.array([1, 0]))
    >>> [digest_compared_rows(one) == digest_compared_rows(each) for each in (turned, other)]
    [True, False]
    """
    declared, rows = find_declaration(predictions), predictions.rows
    names = [name for name in _list_columns(declared, predictions) if name in rows.column_names]
    order = order_compared_rows(predictions, declared)
    facts = predictions.metadata.facts
    metric = catalog.get("metric", declared.primary_metric)
    words = predictions.class_names if facts.usual_contexts is not None else []  # which name the sides then
    digest = hashlib.sha256(
        _encode_json([names, to_json(facts.usual_contexts), words, to_json(facts.options_of(metric))])
    )
    light = rows.light.select(names)
    for start in range(0, len(order), _TOGETHER):
        digest.update(_encode_json(light.take(pa.array(order[start : start + _TOGETHER])).to_pydict()))
    return digest.hexdigest()


def order_compared_rows(predictions: Predictions, declared: Benchmark) -> NDArray[np.int64]:
    """The row numbers of both sides' splits, by split and example_id."""
    keys = pa.table({name: predictions.rows.column(name).cast(pa.string()) for name in ("split", "example_id")})
    sides = {declared.in_context.split, declared.out_of_context.split} & set(predictions.metadata.rows)
    chosen: NDArray[np.int64] = np.flatnonzero(pc.is_in(keys["split"], pa.array(sorted(sides), pa.string())).to_numpy())
    keys = keys.take(pa.array(chosen))
    order: NDArray[np.int64] = chosen[
        pc.sort_indices(keys, [("split", "ascending"), ("example_id", "ascending")]).to_numpy()
    ]
    return order


def _list_columns(declared: Benchmark, predictions: Predictions) -> list[str]:
    """Those that say what a row is: its truth, and what sides, groups, clusters and the main metric read."""
    sides = (declared.in_context, declared.out_of_context)
    read = {*inspect.signature(catalog.get("metric", declared.primary_metric)).parameters} - {"label"}
    read |= {name for side in sides for name in side.where}
    read |= {side.column for side in sides if isinstance(side, GroupsOfRows)}
    read |= {declared.group_column, "challenge", *filter(None, [declared.cluster])}
    answers = {*predictions.output.columns, *predictions.output.beside, *_COMPUTED}
    truth = [name for name in (predictions.output.label_column, ALSO_RIGHT) if name in predictions.column_names]
    return ["split", "example_id", *truth, *sorted(read - answers - {"split", "example_id", *truth})]


def _encode_json(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, default=str).encode()


@dataclass(frozen=True, kw_only=True)
class RowChanges:
    """In what rows two sets differ; an example is the same in both if its split and example_id are.

    Attributes:
        rows: Rows of the second set.
        added: Rows that the second set alone has.
        removed: Rows that the first set alone has.
        relabelled: Rows of both with another label.
        moved: Rows of both with the same label and another side, group or cluster.
    """

    rows: int
    added: int
    removed: int
    relabelled: int
    moved: int

    @property
    def total(self) -> int:
        """How many rows differ."""
        return self.added + self.removed + self.relabelled + self.moved

    @property
    def words(self) -> str:
        """What differs.

        >>> RowChanges(rows=80, added=2, removed=0, relabelled=1, moved=0).words
        '2 rows added, 1 row relabelled'
        """
        counts = {
            "added": self.added,
            "removed": self.removed,
            "relabelled": self.relabelled,
            "with another side, group or cluster": self.moved,
        }
        parts = [f"{n:,} {'row' if n == 1 else 'rows'} {what}" for what, n in counts.items() if n]
        return ", ".join(parts) or "no row differs"


def list_compared_rows(predictions: Predictions) -> pd.DataFrame:
    """The rows that the comparison is of, each with its truth and with what else says what it is.

    Args:
        predictions: Predictions with their rows in any order.

    Returns:
        Columns `truth` and `rest`, JSON texts in which classes go by their names; the index is split and example_id.
    """
    declared, rows, names = find_declaration(predictions), predictions.rows, predictions.class_names
    columns = [name for name in _list_columns(declared, predictions) if name in rows.column_names]
    light = rows.light.select(columns).take(pa.array(order_compared_rows(predictions, declared))).to_pydict()
    split, example = light.pop("split"), light.pop("example_id")
    label = predictions.output.label_column
    if predictions.output.one_answer and label in light:
        light[label] = [names[k] if k is not None and 0 <= k < len(names) else None for k in light[label]]
    truth = [name for name in (label, ALSO_RIGHT) if name in light]
    return tabulate_rows(split, example, light, truth)


def tabulate_rows(
    split: Sequence[str], example: Sequence[str], columns: Mapping[str, Sequence[object]], truth: Sequence[str]
) -> pd.DataFrame:
    """The rows in the form of `list_compared_rows`.

    Args:
        split: Split of each row (n,).
        example: The example_id of each row (n,).
        columns: What else says what a row is, by name, each (n,).
        truth: Names of the columns of its truth.
    """

    def write(names: Sequence[str]) -> list[str]:
        cells = zip(*(columns[name] for name in names), strict=True) if names else [()] * len(example)
        filled = ([pair for pair in zip(names, row, strict=True) if pair[1] is not None] for row in cells)
        return [json.dumps(pairs, default=str) for pairs in filled]

    index = pd.MultiIndex.from_arrays([list(map(str, split)), list(map(str, example))])
    rest = sorted({*columns} - {*truth})
    return pd.DataFrame({"truth": write(truth), "rest": write(rest)}, index=index, dtype=object)


def count_changes(first: pd.DataFrame, second: pd.DataFrame) -> RowChanges:
    """In what rows two sets differ.

    Args:
        first: Rows that `list_compared_rows` gives.
        second: Others, such as those of the next version.

    >>> rows = tabulate_rows(["test"] * 3, ["a", "b", "c"], {"label": ["cat", "dog", "dog"]}, ["label"])
    >>> later = tabulate_rows(["test"] * 3, ["d", "c", "b"], {"label": ["cat", "cat", "dog"]}, ["label"])
    >>> count_changes(rows, later).words
    '1 row added, 1 row removed, 1 row relabelled'
    """
    first, second = (rows[~rows.index.duplicated()] for rows in (first, second))
    places = first.index.get_indexer(second.index)
    shared = places >= 0
    was, now = first.iloc[places[shared]], second[shared]
    other = was["truth"].to_numpy() != now["truth"].to_numpy()
    moved = ~other & (was["rest"].to_numpy() != now["rest"].to_numpy())
    both = int(shared.sum())
    return RowChanges(
        rows=len(second),
        added=len(second) - both,
        removed=len(first) - both,
        relabelled=int(other.sum()),
        moved=int(moved.sum()),
    )
