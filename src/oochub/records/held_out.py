"""The rows of the split that chooses the epoch which a training does not look at, so that a report can be of them."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from oochub.records.schema import Count


@dataclass(frozen=True, kw_only=True)
class HeldOut:
    """One half of a split chooses the epoch, the other is held out for reports: by a hash, the same rows each time.

    Attributes:
        split: The split.
        by: The column whose values are hashed: `example_id`, or the benchmark's clusters, which stay whole.
        chose: How many rows chose.
        rows: How many are held out.
    """

    split: str
    by: str
    chose: Count
    rows: Count

    @property
    def words(self) -> str:
        """Which rows chose.

        >>> HeldOut(split="validation", by="example_id", chose=1_010, rows=990).words
        '1,010 of 2,000 rows'
        """
        return f"{self.chose:,} of {self.chose + self.rows:,} rows"

    @staticmethod
    def choosing(units: Iterable[object]) -> NDArray[np.bool_]:
        """(n,) True where a row chooses, False where it is held out.

        Args:
            units: The value of the column `by` in each row.

        >>> HeldOut.choosing(["a", "b", "c", "d"]).tolist() == HeldOut.choosing("abcd").tolist()
        True
        """
        digests = (hashlib.sha256(f"hold_out/{unit}".encode()).digest() for unit in units)
        return np.fromiter((digest[0] < 128 for digest in digests), dtype=np.bool_)
