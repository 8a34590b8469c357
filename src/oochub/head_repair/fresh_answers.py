"""What a model would answer on rows that it was trained on, if it did not know them by heart."""

import numpy as np
from numpy.typing import NDArray

from oochub.head_repair.head_method import HeadRows
from oochub.head_repair.logistic_fit import fit_logistic
from oochub.head_repair.repair_rows import RepairRows
from oochub.prediction.predictions_file import StoredHead

_C = 0.1


def answer_freshly(
    rows: RepairRows, fit: NDArray[np.int64], numbers: NDArray[np.int64], *, seen: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """The logits (k, c) of the model on some rows; those that it was trained on are answered by a plain refit.

    A last layer that was fitted on a row says more of it than of others: it would seem to have no gap, and no new head
    could be better. So a plain logistic regression on the features of other rows, all of them alike, takes its place.

    Args:
        rows: All rows.
        fit: Rows that the refit is fitted on, none of `numbers`.
        numbers: Rows to answer (k,).
        seen: Rows (n,) that the model was trained on.
    """
    logits: NDArray[np.float32] = np.array(rows.predictions.logits[numbers], np.float32)
    known = seen[numbers]
    if known.any() and len(np.unique(rows.label[fit])) > 1:
        logits[known] = rows.logits(refit_plainly(rows, fit), numbers[known])
    return logits


def refit_plainly(rows: RepairRows, fit: NDArray[np.int64]) -> StoredHead:
    """A plain logistic regression on the features of some rows, all of them alike.

    Args:
        rows: All rows.
        fit: Rows that it is fitted on, of two classes or more.
    """
    own = HeadRows(rows.features[fit], rows.label[fit], rows.groups["side"][fit], rows.classes)
    features, scale = own.standardized()
    return scale.fold(*fit_logistic(features, own.label, np.ones(len(fit)), classes=own.classes, c=_C))
