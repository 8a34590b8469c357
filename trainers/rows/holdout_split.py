"""Splits the rows by which an epoch would be chosen: half of them choose, the others are held out for the report.

Only where rows of a report would choose the epoch: else a training has nothing to hold out (`check_hold_out`).
"""

from collections.abc import Iterable

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.benchmark import Benchmark
from oochub.data.user_data import find_example_ids
from oochub.errors import OochubError, choose_wording
from oochub.records.metadata import HeldOut


def choose_holdout(
    part: datasets.Dataset, *, split: str, cluster: str | None = None
) -> tuple[NDArray[np.int64], HeldOut]:
    """The numbers of the rows that choose the epoch, and the record by which a report knows the others.

    Args:
        part: The rows of the validation split.
        split: Name of the split.
        cluster: Column of the clusters, whose rows stay together; None goes by the ids of the rows.

    Raises:
        OochubError: A half without a row.

    >>> part = datasets.Dataset.from_dict({"example_id": list("abcdefgh")})
    >>> rows, record = choose_holdout(part, split="validation")
    >>> len(rows) == record.chose, record.chose + record.rows, record.by
    (True, 8, 'example_id')
    """
    by = cluster if cluster is not None and cluster in part.column_names else "example_id"
    units = _read_values(part, by) if by == cluster else find_example_ids(datasets.DatasetDict({split: part}))[split]
    chooses = HeldOut.choosing(units)
    chose, rows = int(chooses.sum()), int((~chooses).sum())
    if not chose or not rows:
        option = choose_wording("hold_out", "--hold-out")
        lacking = "choose the epoch" if not chose else "be held out"
        raise OochubError(
            f"{option} halves the {len(part):,} rows of split {split} by a hash of {by}, and none would {lacking}. "
            f"Remove {option}, or give more rows."
        )
    return np.flatnonzero(chooses), HeldOut(split=split, by=by, chose=chose, rows=rows)


def _read_values(part: datasets.Dataset, name: str) -> list[object]:
    """The values of a column; for class numbers the names, as predictions have them."""
    feature, values = part.features[name], part[name][:]
    return list(feature.int2str(values)) if isinstance(feature, datasets.ClassLabel) else list(values)


def check_hold_out(declared: Benchmark | None, splits: Iterable[str] | None, *, source: str) -> None:
    """Refuse to hold out rows where the report is of a split that chooses nothing.

    Args:
        declared: What holds for a benchmark; None for own data.
        splits: The splits of own data, of which a report is of "test", else of the last; None where they do not matter.
        source: What it is called in a message.

    Raises:
        OochubError: The rows of the report are of a split that chooses nothing.
    """
    if declared is not None:
        reported, chooses = {declared.in_context.split, declared.evaluation_split}, declared.validation_split
    else:
        names = list(splits or ())
        reported, chooses = {"test" if "test" in names else names[-1] if names else "test"}, "validation"
    option = choose_wording("hold_out", "--hold-out")
    if chooses not in reported:
        raise OochubError(
            f"{option} is for data whose report includes the rows that choose the epoch, those of split {chooses}. "
            f"The report of {source} covers {' and '.join(sorted(reported))} and none of those rows: remove {option}."
        )
