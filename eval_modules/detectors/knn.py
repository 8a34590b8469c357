"""KNN: the distance to the k-th nearest training example on the unit sphere of features."""

from collections.abc import Mapping

import numpy as np

from oochub import memory_map
from oochub.detector import Detector
from oochub.errors import OochubError
from oochub.eval_modules.detectors._hyperparameters import check_count
from oochub.eval_modules.detectors._kept_rows import KeptRows
from oochub.eval_modules.detectors._nearest import Bank, kth_nearest
from oochub.eval_modules.detectors._norms import unit_factors, unit_rows
from oochub.memory_map import let_go
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks


class Knn(Detector):
    """s(x) = -||z - z_(k)||, z = f / ||f||, with z_(k) the k-th nearest training row.

    The distances are those of exact search in float64, also to near-duplicates. A row of zero features stays zero, at
    distance 1 from all others.

    The bank is n x d numbers in the type that they came in, 9.8 GiB for ImageNet's 1,281,167 x 2048 in float32, half in
    float16. One of more than 64 MiB lies in an unnamed file in the folder for temporary files ($TMPDIR), or in that of
    a saved detector, so memory holds 16 bytes a row of it and, while rows are scored, a block. `fit` keeps features
    that cannot be written (a memory map opened with mode "r") where they are. Of a random share of the training set
    take that share of k: the paper pairs 1% with k = 10.

    The score is in [-2, 0].

    Args:
        k: Which neighbor, 1 to n. Default 1000, the paper's for all of ImageNet.

    Attributes:
        bank: The training features (n, d) as they came, in memory or a read-only map of a file.

    Raises:
        OochubError: k is not a whole number of 1 or more, or larger than the number of rows; features that are missing
            or unfit.

    Source: Sun, Ming, Zhu and Li 2022 (arXiv 2204.06507), Section 3 and Section 4.3; ImageNet-OOD, Section 4.

    >>> detector = Knn(k=2).fit(features=[[1.0, 0.0], [5.0, 0.0], [0.0, 2.0]])
    >>> detector.score(features=[[2.0, 0.0], [-1.0, 0.0]]).tolist()
    [0.0, -2.0]
    """

    fit_needs = score_needs = ("features",)
    fitted = ("bank float n d",)

    def __init__(self, *, k: int = 1000) -> None:
        super().__init__()
        self.k = check_count("k", k)

    @property
    def bank(self) -> Array:
        """The training features (n, d) as they came."""
        return self._bank.rows

    @bank.setter
    def bank(self, rows: Array) -> None:
        self._check_k(len(rows))
        scale = np.empty(len(rows))
        for part in fit_blocks(*rows.shape):
            scale[part] = unit_factors(rows[part].astype(np.float64))
            let_go(rows)
        self._bank = Bank(rows, scale)

    def _empty(self) -> "_Rows":
        return _Rows()

    def _finish(self, gathered: "_Rows") -> None:
        self._check_k(len(gathered.kept))  # before they are joined
        self.bank = gathered.kept.joined()

    def _check_k(self, n: int) -> None:
        if self.k > n:
            raise OochubError(
                f"k is {self.k}, but the fit has {n} rows: the largest k allowed is {n}. "
                "Set a smaller k, or fit on more rows."
            )

    def _score(self, rows: dict[str, Array]) -> Array:
        distance: Array = np.sqrt(kth_nearest(unit_rows(rows["features"]), self._bank, self.k))
        return 0.0 - distance


class _Rows:
    """The features of all batches."""

    def __init__(self) -> None:
        self.kept = KeptRows(in_memory=memory_map.LARGE)

    def update(self, rows: Mapping[str, Array], *, lasting: bool) -> None:
        features = rows["features"]
        self.kept.append(features, lasting=lasting and not features.flags.writeable)

    def merge(self, other: "_Rows") -> None:
        self.kept.extend(other.kept)
