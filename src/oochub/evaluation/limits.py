"""How many splits and groups a report compares: a column of ids is refused before the work."""

import numpy as np

from oochub.errors import OochubError
from oochub.evaluation.evaluated import Evaluated
from oochub.records.metadata import row_counts
from oochub.records.sides import WorstOfGroups

MOST_SPLITS = 200
MOST_GROUPS = 2_000
"""In one split; WILDS-Amazon, the largest that is published, has 1,334."""


def check_limits(evaluated: Evaluated) -> None:
    """Checks how many splits there are, and how many groups each of them has.

    Raises:
        OochubError: More than `MOST_SPLITS` or `MOST_GROUPS`; the column is named.
    """
    split = evaluated.columns["split"]
    splits = sorted(row_counts(evaluated.predictions.rows.light.column("split")))
    if len(splits) > MOST_SPLITS:
        raise _too_many("split", len(splits), MOST_SPLITS, "Name a split for all rows that belong together")
    column = evaluated.benchmark.group_column
    if column not in evaluated.columns:
        return
    group = evaluated.columns[column]
    for name in splits:
        if hasattr(group, "codes"):
            count = len(np.unique(group.codes[split == name]))
        else:
            count = len(WorstOfGroups(split=name, column=column).rows_of_groups(evaluated.columns))
        if count > MOST_GROUPS:
            raise _too_many(column, count, MOST_GROUPS, f"Give coarser groups, or evaluate without {column}")


def _too_many(column: str, found: int, most: int, advice: str) -> OochubError:
    return OochubError(
        f"The column {column} has {found:,} values such as a column of ids has them, and a report compares at most "
        f"{most:,}. {advice}: Predictions.load(FILE).table is an Arrow table, and .with_table(table) takes the new one."
    )
