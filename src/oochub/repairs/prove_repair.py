"""What a repair changes on the rows that prove, paired with the model's own answers.

Whether there is something to repair, whether a repair is better, and how many rows would show it.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.comparison.common_examples import pair_rows
from oochub.comparison.compare import compare
from oochub.comparison.model_difference import Pair, measure_difference
from oochub.comparison.paired_report import PairedReport
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import VECTORS, PredictedBy
from oochub.records.output_columns import make_vectors
from oochub.records.report_records import ComparedNumber
from oochub.repairs.choose_head import answer_freshly
from oochub.repairs.repair import Outcome
from oochub.repairs.repair_data import FEWEST, RepairRows, RowParts
from oochub.stats.estimate import Estimate
from oochub.stats.stratified_gap import stratified_gap

_POWER = ((1.960 + 0.842) / 1.960) ** 2  # more rows for 80% power than for an interval that just excludes 0
_MATTERS = 0.02  # a gap below this does not matter in practice, see `Benchmark.practical_gap`


NO_GAP = Estimate(math.nan, n=0, method="none", reason="no context is shown to matter")


class Proof(NamedTuple):
    """Both models on the rows that prove.

    Attributes:
        before: Predictions of the model.
        after: Predictions of the repaired model.
        inside: Accuracy in context: before, after, and the paired difference.
        outside: The same out of context.
    """

    before: Predictions
    after: Predictions
    inside: ComparedNumber
    outside: ComparedNumber


def prove_repair(rows: RepairRows, numbers: NDArray[np.int64], logits: NDArray[np.float32], *, seed: int = 0) -> Proof:
    """Sets new answers beside the model's own on the same rows.

    Args:
        rows: All rows.
        numbers: Rows that prove.
        logits: What the repaired model says of them (p, c).
        seed: Random seed of random signs, where rows come in clusters.
    """
    some = rows.predictions.take(numbers)
    names = [name for name in some.column_names if name == "logits" or name not in VECTORS]
    table = pa.concat_tables(list(some.rows.blocks(names)))
    before = replace(some.with_table(table), stored_head=None)
    metadata = before.metadata
    model = PredictedBy(id=f"{metadata.model.id or 'the model'}, repaired", mode=metadata.model.mode)
    place = table.column_names.index("logits")
    table = table.set_column(place, "logits", make_vectors(logits))
    after = Predictions(table, replace(metadata, model=model))
    pair, is_out = pair_rows(before, after, seed=seed), rows.is_out[numbers]
    return Proof(before, after, _compare(pair, ~is_out), _compare(pair, is_out))


def compare_proof(proof: Proof) -> PairedReport:
    """The model (A) and the repaired one (B) by accuracy, on every slice and group of the rows that prove.

    Args:
        proof: What `prove_repair` gives.
    """
    report: PairedReport = compare(proof.before, proof.after, metric="accuracy")
    return report


def _compare(pair: Pair, side: NDArray[np.bool_]) -> ComparedNumber:
    """Accuracy of both on one side."""
    metric, numbers = catalog.get("metric", "accuracy"), np.flatnonzero(side & pair[0].known)
    tested = measure_difference(metric, pair, numbers)
    first, second = (measured.of(metric, numbers) for measured in pair)
    return ComparedNumber(
        first=first, second=second, difference=tested.difference, p_value=tested.p_value, test=tested.test
    )


class Judgment(NamedTuple):
    """What comes of a repair, and why.

    Attributes:
        outcome: See `Repair`.
        reason: One sentence; "" if the outcome says it all.
        needed: Rows out of context that would show it, if the difference is what it seems; None if unknown.
    """

    outcome: Outcome
    reason: str = ""
    needed: int | None = None


def measure_gap(rows: RepairRows, parts: RowParts) -> Estimate:
    """Accuracy out of context minus in context, at equal shares of the classes, on rows that fit or choose.

    A model may know the rows that it was trained on by heart, so the gap is looked for on the others first, then on all
    of them. If the others have fewer than `FEWEST` rows out of context, it is then looked for on all of them with a
    plain refit of the last layer where the model was trained (`answer_freshly`): each half is answered by a fit on the
    other one. No row that proves is looked at.

    Args:
        rows: All rows.
        parts: Their division.

    Returns:
        The first of these whose interval lies below 0, else the last.
    """
    every = np.union1d(parts.fit, parts.choose)
    right = rows.predictions.prediction == rows.label
    unseen = every[~parts.seen[every]]
    measured = [_measure(rows, right, some) for some in (unseen, every)]
    if rows.is_out[unseen].sum() < FEWEST:
        fresh = np.array(right)
        for own, other in ((parts.choose, parts.fit), (parts.fit, parts.choose)):
            fresh[own] = answer_freshly(rows, other, own, seen=parts.seen).argmax(axis=1) == rows.label[own]
        measured.append(_measure(rows, fresh, every))
    return next((gap for gap in measured if gap.high < 0), measured[-1])


def measure_gap_on_unseen(rows: RepairRows, parts: RowParts) -> Estimate:
    """The same gap on all rows that the model was not trained on, for a model that is left as it is.

    Args:
        rows: All rows.
        parts: Their division.
    """
    return _measure(rows, rows.predictions.prediction == rows.label, np.flatnonzero(~parts.seen))


def _measure(rows: RepairRows, right: NDArray[np.bool_], some: NDArray[np.int64]) -> Estimate:
    cluster = None if rows.cluster is None or not len(some) else rows.cluster[some]
    gap: Estimate = stratified_gap(right[some], rows.is_out[some], rows.label[some], cluster=cluster).estimate
    return gap


def judge_without_gap(gap: Estimate, *, out: int, at_most_lost: float) -> Judgment:
    """Why a model is left as it is whose gap is not shown on the rows that fit or choose.

    Args:
        gap: Gap on all rows that the model was not trained on, those that prove too: nothing else is asked of them.
        out: Rows out of context that it is made of.
        at_most_lost: What may be lost in context, a share; a gap smaller than this needs no repair.
    """
    margin = max(at_most_lost, _MATTERS)
    if gap.low > -margin:
        return Judgment("nothing_to_repair", f"Any gap is smaller than {100 * margin:g} points.")
    if gap.high < 0:
        reason = (
            "The gap is shown on the held-out rows, but there are too few fitting and selection rows to show it "
            "there. Add rows in unusual contexts to train or validation."
        )
        return Judgment("not_shown", reason)
    half = (gap.high - gap.low) / 2
    needed = math.ceil(out * _POWER * (half / margin) ** 2) if math.isfinite(half) else None
    return Judgment("not_shown", "It is not shown that the model does worse in unusual contexts.", needed)


def judge_proof(inside: ComparedNumber, outside: ComparedNumber, *, at_most_lost: float) -> Judgment:
    """What the rows that prove say of a new head.

    Better: the 95% interval of the paired difference out of context lies above 0, and the estimate in context is lower
    by no more than `at_most_lost`. No worse: both intervals lie above minus that margin.

    Args:
        inside: Accuracy in context: before, after, and the paired difference.
        outside: The same out of context.
        at_most_lost: What may be lost in context, a share.

    >>> def compared(value, low, high):
    ...     change = Estimate(value, low=low, high=high, n=100, method="")
    ...     return ComparedNumber(first=change, second=change, difference=change, p_value=1.0, test="")
    >>> judge_proof(compared(-0.02, -0.05, 0.01), compared(0.2, 0.1, 0.3), at_most_lost=0.05).outcome
    'better'
    >>> judge_proof(compared(-0.06, -0.09, -0.03), compared(0.2, 0.1, 0.3), at_most_lost=0.05).outcome
    'not_shown'
    """
    there, here = outside.difference, inside.difference
    if here < -at_most_lost:
        lost, allowed = f"{-100 * here:.1f}", f"{100 * at_most_lost:g}"
        return Judgment("not_shown", f"It loses {lost} points in usual contexts, and {allowed} are allowed.")
    if there.low > 0:
        return Judgment("better")
    needed = None
    half = (there.high - there.low) / 2
    if there > 0 and math.isfinite(half):
        needed = math.ceil(there.n * _POWER * (half / there) ** 2)
    if there.low > -at_most_lost and here.low > -at_most_lost:
        margin = f"{100 * at_most_lost:g}"
        return Judgment("no_worse", f"It is worse by less than {margin} points on either side.", needed)
    return Judgment("not_shown", "The interval of the difference in unusual contexts includes 0.", needed)
