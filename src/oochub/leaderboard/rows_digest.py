"""A name for the rows of predictions: equal where examples, labels, sides, groups and clusters are, in any order."""

import hashlib
import inspect
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.evaluation.declaration import find_declaration
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.records.sides import GroupsOfRows

_TOGETHER = 1 << 13  # rows written out at once
_COMPUTED = ("prediction", "probability", "score", "correct", "loss")


def rows_digest(predictions: Predictions) -> str:
    """SHA-256 over the rows that the comparison of a benchmark is of, without the answers.

    Args:
        predictions: Of any order of rows; splits beside the comparison do not count.

    >>> from oochub import Predictions
    >>> rows = {"logits": [[1.0, 0.0]] * 2, "label": [0, 1], "example_id": ["a", "b"]}
    >>> one = Predictions.from_arrays(**rows, group=["sea", "land"])
    >>> other = Predictions.from_arrays(**rows, group=["land", "sea"])
    >>> rows_digest(one) == rows_digest(one.take(np.array([1, 0]))), rows_digest(one) == rows_digest(other)
    (True, False)
    """
    declared, rows = find_declaration(predictions), predictions.rows
    names = [name for name in _columns(declared, predictions) if name in rows.column_names]
    keys = pa.table({name: rows.column(name).cast(pa.string()) for name in ("split", "example_id")})
    sides = {declared.in_context.split, declared.out_of_context.split} & set(predictions.metadata.rows)
    chosen = np.flatnonzero(pc.is_in(keys["split"], pa.array(sorted(sides), pa.string())).to_numpy())
    keys = keys.take(pa.array(chosen))
    order = chosen[pc.sort_indices(keys, [("split", "ascending"), ("example_id", "ascending")]).to_numpy()]
    facts = predictions.metadata.facts
    metric = catalog.get("metric", declared.primary_metric)
    words = predictions.class_names if facts.usual_contexts is not None else []  # which name the sides then
    digest = hashlib.sha256(_text([names, to_json(facts.usual_contexts), words, to_json(facts.options_of(metric))]))
    light = rows.light.select(names)
    for start in range(0, len(order), _TOGETHER):
        digest.update(_text(light.take(pa.array(order[start : start + _TOGETHER])).to_pydict()))
    return digest.hexdigest()


def _columns(declared: Benchmark, predictions: Predictions) -> list[str]:
    """Those that say what a row is: its truth, and what sides, groups, clusters and the main metric read."""
    sides = (declared.in_context, declared.out_of_context)
    read = {*inspect.signature(catalog.get("metric", declared.primary_metric)).parameters} - {"label"}
    read |= {name for side in sides for name in side.where}
    read |= {side.column for side in sides if isinstance(side, GroupsOfRows)}
    read |= {declared.group_column, "challenge", *filter(None, [declared.cluster])}
    answers = {*predictions.output.columns, *predictions.output.beside, *_COMPUTED}
    return ["split", "example_id", predictions.output.label_column, *sorted(read - answers - {"split", "example_id"})]


def _text(content: Any) -> bytes:
    return json.dumps(content, sort_keys=True, default=str).encode()
