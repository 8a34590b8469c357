"""Splits the rows by which an epoch would be chosen: half of them choose, the others are held out for the report."""

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.data.example_ids import example_ids
from oochub.errors import OochubError, either
from oochub.records.metadata import HeldOut


def rows_that_choose(
    part: datasets.Dataset, *, split: str, cluster: str | None = None
) -> tuple[NDArray[np.int64], HeldOut]:
    """The numbers of the rows that choose the epoch, and the record by which a report knows the others.

    Args:
        part: The rows of the validation split.
        split: Its name.
        cluster: Column of the clusters, whose rows stay together; None goes by the ids of the rows.

    Raises:
        OochubError: A half without a row.

    >>> part = datasets.Dataset.from_dict({"example_id": list("abcdefgh")})
    >>> rows, record = rows_that_choose(part, split="validation")
    >>> len(rows) == record.chose, record.chose + record.rows, record.by
    (True, 8, 'example_id')
    """
    by = cluster if cluster is not None and cluster in part.column_names else "example_id"
    units = _values(part, by) if by == cluster else example_ids(datasets.DatasetDict({split: part}))[split]
    chooses = HeldOut.choosing(units)
    chose, rows = int(chooses.sum()), int((~chooses).sum())
    if not chose or not rows:
        option = either("hold_out", "--hold-out")
        lacking = "choose the epoch" if not chose else "be held out"
        raise OochubError(
            f"{option} halves the {len(part):,} rows of split {split} by a hash of {by}, and none would {lacking}. "
            f"Leave {option} out, or give more rows."
        )
    return np.flatnonzero(chooses), HeldOut(split=split, by=by, chose=chose, rows=rows)


def _values(part: datasets.Dataset, name: str) -> list[object]:
    """The values of a column; of class numbers the names, as predictions have them."""
    feature, values = part.features[name], part[name][:]
    return list(feature.int2str(values)) if isinstance(feature, datasets.ClassLabel) else list(values)
