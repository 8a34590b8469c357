"""A part of the rows of each split, for a quick look; it is said, since it is not the benchmark."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import datasets
import numpy as np
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars


class Sample(NamedTuple):
    """Splits by name, and a sentence for each that lost rows."""

    parts: dict[str, Any]
    notes: tuple[str, ...]


def sampled(parts: Mapping[str, Any], limit: int) -> Sample:
    """At most `limit` rows of each split, drawn at random by a fixed seed and in their order; of a stream the first.

    Two models see the same rows. Where a data set names no examples, they keep their row numbers as `example_id`.

    Args:
        parts: Splits by name.
        limit: Rows.

    >>> rows = datasets.Dataset.from_dict({"text": list("abcdefgh")})
    >>> sample = sampled({"test": rows}, 2)
    >>> sample.parts["test"]["example_id"][:], sample.notes
    (['5', '7'], ('a sample of 2 of 8 rows of test',))
    """
    taken: dict[str, Any] = {}
    notes = []
    for name, part in parts.items():
        if not isinstance(part, datasets.Dataset):
            taken[name] = part.take(limit)
            notes.append(f"no more than the first {limit} rows of {name}")
        elif len(part) > limit:
            rows = np.sort(np.random.default_rng(0).choice(len(part), limit, replace=False)).tolist()
            named = "example_id" in part.column_names
            taken[name] = part.select(rows) if named else _with_ids(part.select(rows), rows)
            notes.append(f"a sample of {limit} of {len(part)} rows of {name}")
        else:
            taken[name] = part
    return Sample(taken, tuple(notes))


def _with_ids(part: datasets.Dataset, rows: list[int]) -> datasets.Dataset:
    is_quiet = are_progress_bars_disabled()
    disable_progress_bars()  # a second for a few rows, under a name that says nothing
    try:
        return part.add_column("example_id", [str(row) for row in rows])
    finally:
        if not is_quiet:
            enable_progress_bars()
