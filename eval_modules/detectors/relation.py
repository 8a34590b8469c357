"""Relation: how strongly a row is related to all training rows, by its features and its predicted probabilities."""

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_number
from oochub.eval_modules.detectors._kept_rows import WIDTH, BankRows
from oochub.eval_modules.detectors._norms import unit_rows
from oochub.eval_modules.detectors._softmax import softmax
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import row_blocks
from oochub.storage.tensor_file import release_pages


class Relation(Detector):
    """s(x) = sum_i r_i^power over the training rows with r_i > cutoff, r_i = max(0, <z, z_i>) <p, p_i>.

    z = f / ||f|| and p = softmax(l). The bank is n (d + c) numbers, features in the type that they came in; more than
    64 MiB of either lie in an unnamed temporary file, as for `knn`. The score is 0 or more, at most n.

    Args:
        power: Exponent, above 0: the paper's temperature. Default 1, as in OpenOOD.
        cutoff: Smaller relations are left out, 0 to 1. Default 0.03, the authors' code's.

    Attributes:
        bank: The training features (n, d) as they came, in memory or a read-only map of a file.
        probabilities: p_i, float64 (n, c).

    Raises:
        OochubError: A power of 0 or less, or a cutoff outside [0, 1]; something missing or unfit.

    Source: Kim, Hwang and Song 2023 (arXiv 2301.12321), the relation graph's score for
    out-of-distribution rows.

    >>> even = [[0.0, 0.0]]  # <p, p_i> is 1/2 for both rows
    >>> detector = Relation().fit(features=[[1.0, 0.0], [0.0, 2.0]], logits=2 * even)
    >>> detector.score(features=[[3.0, 0.0], [1.0, 1.0]], logits=2 * even).round(6).tolist()
    [0.5, 0.707107]
    """

    fit_needs = score_needs = ("features", "logits")
    fitted = ("bank float n d", "probabilities float64 n c")
    bank: Array
    probabilities: Array

    def __init__(self, *, power: float = 1.0, cutoff: float = 0.03) -> None:
        super().__init__()
        self.power = check_number("power", power, low=0, above=True)
        self.cutoff = check_number("cutoff", cutoff, low=0, high=1)

    def _empty(self) -> BankRows:
        return BankRows(softmax)

    def _finish(self, gathered: BankRows) -> None:
        self.bank, self.probabilities = gathered.features.joined(), gathered.beside.joined()

    def _score(self, rows: dict[str, Array]) -> Array:
        directions, p = unit_rows(rows["features"]), softmax(rows["logits"])
        score = np.zeros(len(p))
        for part in row_blocks(len(self.bank), WIDTH):
            relation = directions @ unit_rows(self.bank[part].astype(np.float64)).T
            relation *= p @ self.probabilities[part].T
            release_pages(self.bank)
            release_pages(self.probabilities)
            relation[relation <= self.cutoff] = 0  # those below 0 too
            score += (relation if self.power == 1 else relation**self.power).sum(axis=1)
        return score
