"""A part of the rows of each split, for a quick look; it is said, since it is not the benchmark."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import datasets
import numpy as np

from oochub.prediction.selected_rows import selected_rows


class Sample(NamedTuple):
    """Splits by name, and a sentence for each that lost rows."""

    parts: dict[str, Any]
    notes: tuple[str, ...]


def sampled(parts: Mapping[str, Any], limit: int) -> Sample:
    """At most `limit` rows of each split, drawn at random by a fixed seed and in their order; of a stream the first.

    Two models see the same rows. Where a data set names no examples, they keep their row numbers as `example_id`.

    Args:
        parts: Splits by name.
        limit: StoredRows.

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
            taken[name] = selected_rows(part, rows)
            notes.append(f"a sample of {limit} of {len(part)} rows of {name}")
        else:
            taken[name] = part
    return Sample(taken, tuple(notes))
