"""Sides of rows by contexts that nobody labelled: those that matter to the model on rows that do not prove."""

from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.evaluation.context_findings import measure_context
from oochub.head_repair.repair_rows import read_cluster, read_looked_at
from oochub.head_repair.row_parts import find_proving_rows
from oochub.prediction.predictions import Predictions
from oochub.prediction.rows_with_contexts import RowsWithContexts
from oochub.stats.estimate import Sampling
from oochub.stats.p_values import adjusted_p_values

_LEVEL = 0.05
_NAMED = 3  # contexts that name a group


class FoundSides(NamedTuple):
    """Predictions with the columns `context`, `group` and `challenge`, and the contexts that these are made of.

    Attributes:
        predictions: The rows; unchanged if no context is shown to matter.
        contexts: Names of the contexts that matter to the model, the largest gap first.
        tested: How many contexts could be tested.
    """

    predictions: Predictions
    contexts: tuple[str, ...]
    tested: int


def find_sides(predictions: Predictions, trained: Collection[str]) -> FoundSides | None:
    """The sides by found contexts; None if the data name the contexts.

    Args:
        predictions: Predictions of all rows.
        trained: Splits that the model was trained on.
    """
    looked_at = read_looked_at(predictions)
    if looked_at is None:
        return None
    seen = np.isin(predictions.split, sorted(trained))
    proves = find_proving_rows(predictions.split, seen, looked_at)
    return add_found_sides(predictions, proves, seen=seen, cluster=read_cluster(predictions))


def add_found_sides(
    predictions: Predictions,
    proves: NDArray[np.bool_],
    *,
    seen: NDArray[np.bool_],
    cluster: NDArray[np.str_] | None = None,
) -> FoundSides:
    """Says of each row whether it is as usual or against it, by the found contexts that matter to the model.

    A context matters if rows against it are worse, by the tests of an audit (`find_context_effects`) with Holm's
    correction over all contexts, on rows that do not prove: on those that the model was not trained on, else on all. A
    row is out of context if the contexts that matter, each at the size of its gap, are more against it than for it.

    Args:
        predictions: Predictions with found contexts.
        proves: Rows that prove (n,); their answers are not looked at.
        seen: Rows (n,) that the model was trained on.
        cluster: What the rows (n,) share; None if they are independent.
    """
    every = RowsWithContexts.of(predictions, every=True)
    if every is None:
        return FoundSides(predictions, (), 0)
    right = predictions.prediction[every.rows] == every.label
    gaps: dict[int, float] = {}
    tested = 0
    for mask in (~proves & ~seen, ~proves):
        some = mask[every.rows]
        rows = every.take(some)
        sampling = Sampling(cluster=None if cluster is None else cluster[rows.rows])
        tests = [measure_context(rows, number, right[some], sampling) for number in range(len(every.facts.names))]
        p_values = [each.p_value for each in tests]
        tested = max(tested, int(np.isfinite(p_values).sum()))
        adjusted = adjusted_p_values(p_values)
        shown = {k: float(each.gap.estimate) for k, each in enumerate(tests) if adjusted[k] <= _LEVEL}
        gaps = {number: gap for number, gap in shown.items() if gap < 0}
        if gaps:
            break
    order = sorted(gaps, key=lambda number: gaps[number])
    names = tuple(every.facts.names[number] for number in order)
    return FoundSides(_add_columns(predictions, every, gaps, order) if order else predictions, names, tested)


def _add_columns(
    predictions: Predictions, every: RowsWithContexts, gaps: dict[int, float], order: list[int]
) -> Predictions:
    score = np.sum([-gaps[number] * every.sides(number) for number in order], axis=0)
    known, is_out = np.zeros(len(predictions), bool), np.zeros(len(predictions), bool)
    known[every.rows], is_out[every.rows] = True, score < 0
    classes = predictions.class_names
    hard = ("hard_negative", "hard_positive") if len(classes) == 2 else ("hard",) * len(classes)
    context: list[str | None] = [None] * len(predictions)
    for row, has in zip(every.rows.tolist(), every.has[:, order[:_NAMED]], strict=True):
        own = [every.facts.names[number] for number, is_there in zip(order, has, strict=False) if is_there]
        context[row] = " and ".join(own) or "none of them"
    label = predictions.label
    challenge = [
        None if not is_known else hard[y] if out else "easy"
        for is_known, out, y in zip(known, is_out, label.tolist(), strict=True)
    ]
    group = [None if each is None else f"{classes[y]}/{each}" for each, y in zip(context, label.tolist(), strict=True)]
    rows = predictions.rows
    for name, values in (("context", context), ("group", group), ("challenge", challenge)):
        rows = rows.with_column(name, pa.array(values, pa.string()))
    usual = {
        name: tuple(every.facts.names[number] for number in order if every.signs[number, place] > 0)
        for place, name in enumerate(classes)
    }
    facts = replace(predictions.metadata.facts, usual_contexts=usual)
    return replace(predictions, rows=rows, metadata=replace(predictions.metadata, facts=facts))
