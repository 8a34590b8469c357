"""How likely each unlabeled image fills a cell: a logistic regression of the groups on the features of labeled rows."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from oochub.head_repair.cell_rows import list_cells
from oochub.head_repair.head_method import FeatureScale
from oochub.head_repair.logistic_fit import balance_groups, fit_logistic
from oochub.head_repair.repair_rows import RepairRows
from oochub.head_repair.row_parts import RowParts

_C = 0.01


def measure_cell_probabilities(
    rows: RepairRows, parts: RowParts, features: NDArray[np.float32], cells: Sequence[str]
) -> NDArray[np.float64]:
    """The probability (k, c) that each image belongs to each of some cells.

    The regression tells the groups of the rows that fit and choose apart: classes in contexts, else on sides. Each
    group counts the same in it, and a cell is as likely as its groups together. A probability is therefore that among
    images of which each group has its equal share: it ranks them, and does not count them.

    Args:
        rows: All labeled rows.
        parts: Their division.
        features: Features of the images (k, d), by the same model.
        cells: Names of the cells (c,), see `list_cells`.
    """
    body = np.union1d(parts.fit, parts.choose)
    known, group = np.unique(rows.groups.get("context", rows.groups["side"])[body], return_inverse=True)
    own = rows.features[body].astype(np.float64)
    scale = FeatureScale.of(own)
    weight, bias = fit_logistic(
        (own - scale.mean) / scale.deviation, group, balance_groups(group), classes=len(known), c=_C
    )
    each = softmax((features - scale.mean) / scale.deviation @ weight.T + bias, axis=1)
    named = {cell.name: cell.has[body] for cell in list_cells(rows, body)}
    columns = []
    for name in cells:
        inside = np.bincount(group[named[name]], minlength=len(known)) * 2 > np.bincount(group)
        columns.append(each[:, inside].sum(axis=1))
    return np.stack(columns, axis=1)
