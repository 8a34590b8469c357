"""What a fit knows of the rows so far: batches in any order, on several processes."""

from collections.abc import Mapping
from typing import Any, Protocol

from oochub.stats.array_checks import Array


class Gathered(Protocol):
    """What a fit knows of the rows so far, in memory that does not grow with them where that can be."""

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in a batch; `lasting` says that its arrays stay as they are until `finalize`."""

    def merge(self, other: Any) -> None:
        """Takes in what another process gathered of other rows, in any order."""
