"""NNGuide: the energy, guided by the nearest training rows and their own energies."""

import numpy as np

from oochub.detector import Detector
from oochub.eval_modules.detectors._hyperparameters import check_count, check_k
from oochub.eval_modules.detectors._kept_rows import WIDTH, BankRows
from oochub.eval_modules.detectors._norms import unit_rows
from oochub.eval_modules.detectors._softmax import log_partition
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import row_blocks
from oochub.storage.tensor_file import release_pages


class Nnguide(Detector):
    """s(x) = E(x) mean of the k largest E_i <z, z_i> over the training rows i, z = f / ||f||, E = log sum_c exp(l_c).

    The products are exact, in float64. The bank is n x d numbers in the type that they came in and n energies; more
    than 64 MiB of it lie in an unnamed temporary file, as for `knn`. A row of zero features has <z, z_i> = 0. The score
    is any real number.

    Args:
        k: Number of neighbors, 1 to n. Default 10. The authors fit on 1% of ImageNet's training rows; OpenOOD takes
            k = 100 there.

    Attributes:
        bank: The training features (n, d) as they came, in memory or a read-only map of a file.
        energies: E_i, float64 (n,).

    Raises:
        OochubError: k is not a whole number of 1 or more, or larger than the number of rows; something missing or
            unfit.

    Source: Park, Jung and Teoh 2023 (arXiv 2309.14888).

    >>> detector = Nnguide(k=1).fit(features=[[1.0, 0.0], [0.0, 2.0]], logits=[[9.0, -90.0], [1.0, -90.0]])
    >>> detector.score(features=[[5.0, 0.0], [0.0, 1.0]], logits=[[2.0, -90.0], [2.0, -90.0]]).round(6).tolist()
    [18.0, 2.0]
    """

    fit_needs = score_needs = ("features", "logits")
    fitted = ("bank float n d", "energies float64 n")
    bank: Array
    energies: Array

    def __init__(self, *, k: int = 10) -> None:
        super().__init__()
        self.k = check_count("k", k)

    def _empty(self) -> BankRows:
        return BankRows(_energies)

    def _finish(self, gathered: BankRows) -> None:
        check_k(self.k, len(gathered.features))
        self.bank, self.energies = gathered.features.joined(), np.array(gathered.beside.joined())[:, 0]

    def _score(self, rows: dict[str, Array]) -> Array:
        check_k(self.k, len(self.bank))  # a saved bank may have changed
        directions = unit_rows(rows["features"])
        largest = np.empty((len(directions), 0))
        for part in row_blocks(len(self.bank), WIDTH):
            guides = unit_rows(self.bank[part].astype(np.float64)) * self.energies[part, None]
            release_pages(self.bank)
            largest = np.hstack([largest, directions @ guides.T])
            if largest.shape[1] > self.k:
                largest = np.partition(largest, -self.k, axis=1)[:, -self.k :]
        guidance: Array = np.sort(largest, axis=1).mean(axis=1)  # in one order, whatever block each is from
        return guidance * log_partition(rows["logits"])


def _energies(logits: Array) -> Array:
    return log_partition(logits)[:, None]
