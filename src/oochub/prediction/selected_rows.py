"""Some rows of a split, which keep the names that all rows would have."""

from collections.abc import Sequence

import datasets
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars


def selected_rows(part: datasets.Dataset, rows: Sequence[int]) -> datasets.Dataset:
    """The rows of these numbers; where the data set names no examples, their numbers are the column `example_id`.

    Args:
        part: A split; pictures are not read.
        rows: Row numbers.

    >>> selected_rows(datasets.Dataset.from_dict({"text": list("abc")}), [0, 2])["example_id"][:]
    ['0', '2']
    """
    some = part.select(rows)
    if "example_id" in part.column_names:
        return some
    is_quiet = are_progress_bars_disabled()
    disable_progress_bars()  # a second for a few rows, under a name that says nothing
    try:
        return some.add_column("example_id", [str(row) for row in rows])
    finally:
        if not is_quiet:
            enable_progress_bars()
