"""What a repair changes on the rows that prove, paired with the model's own answers."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.evaluation.compare import compare
from oochub.evaluation.paired_difference import Pair, measure_difference
from oochub.evaluation.paired_rows import pair_rows
from oochub.head_repair.repair_rows import RepairRows
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import VECTORS, PredictedBy
from oochub.records.output_columns import make_vectors
from oochub.records.report_records import ComparedNumber
from oochub.report.paired_report import PairedReport


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
    said = before.metadata
    model = PredictedBy(id=f"{said.model.id or 'the model'}, repaired", mode=said.model.mode)
    place = table.column_names.index("logits")
    table = table.set_column(place, "logits", make_vectors(logits))
    after = Predictions(table, replace(said, model=model))
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
    first, second = (each.of(metric, numbers) for each in pair)
    return ComparedNumber(
        first=first, second=second, difference=tested.difference, p_value=tested.p_value, test=tested.test
    )
