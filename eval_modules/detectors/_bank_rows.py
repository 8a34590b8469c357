"""Training rows that a score reads again, each with some float64 numbers of its own."""

from collections.abc import Callable, Mapping

import numpy as np

from oochub.eval_modules.detectors._kept_rows import KeptRows
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks
from oochub.storage import tensor_file

WIDTH = 4096
"""Rows of a bank that are looked at together."""


class BankRows:
    """The features of all batches as they came, and what a function makes of the logits of each.

    Args:
        of_logits: Function from logits (m, c) float64, which it may use up, to (m, r); r is the same for all.
    """

    def __init__(self, of_logits: Callable[[Array], Array]) -> None:
        self._of_logits = of_logits
        self.features = KeptRows(in_memory=tensor_file.LARGE)
        self.beside = KeptRows(in_memory=tensor_file.LARGE)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        """Takes in features (n, d) with logits (n, c)."""
        features, logits = rows["features"], rows["logits"]
        self.features.append(features, lasting=lasting and not features.flags.writeable)
        for part in fit_blocks(*logits.shape):
            self.beside.append(self._of_logits(logits[part].astype(np.float64)), lasting=False)

    def merge(self, other: "BankRows") -> None:
        """Takes in the rows of another."""
        self.features.extend(other.features)
        self.beside.extend(other.beside)
