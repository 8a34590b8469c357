"""KNN: the distance to the k-th nearest training example on the unit sphere of features."""

from types import MappingProxyType
from typing import Any

import numpy as np

from oochub.detector import Detector, SearchRecall
from oochub.eval_modules.detectors._graph import Graph, check_faiss
from oochub.eval_modules.detectors._hyperparameters import check_choice, check_count, check_k
from oochub.eval_modules.detectors._kept_rows import BankFeatures
from oochub.eval_modules.detectors._nearest import Bank, kth_nearest
from oochub.eval_modules.detectors._norms import unit_factors, unit_rows
from oochub.stats.array_checks import Array
from oochub.stats.row_blocks import fit_blocks
from oochub.storage.tensor_file import release_pages

_INDICES = ("exact", "faiss")
_SAMPLED = 500  # rows that the index is measured on
_ALIKE = 1e-5  # squared distances that float32 does not tell apart


class Knn(Detector):
    """s(x) = -||z - z_(k)||, z = f / ||f||, with z_(k) the k-th nearest training row.

    The distances are those of exact search in float64, also to near-duplicates. A row of zero features stays zero, at
    distance 1 from all others.

    The bank is n x d numbers in the type that they came in, 9.8 GiB for ImageNet's 1,281,167 x 2048 in float32, half in
    float16. One of more than 64 MiB lies in an unnamed file in the folder for temporary files ($TMPDIR), or in that of
    a saved detector, so memory holds 16 bytes per row of it and, while rows are scored, a block. `fit` keeps features
    that cannot be written (a memory map opened with mode "r") where they are. For a random share of the training
    set, take that share of k: the paper pairs 1% with k = 10.

    The score is in [-2, 0].

    Args:
        k: Which neighbor, 1 to n. Default 1000, the paper's for all of ImageNet.
        index: "exact", or "faiss" for a graph of the rows that finds most of the nearest, faster from some 100,000 rows
            on; its neighbors' distances are exact, and `search_recall` measures what it misses. It takes the bank's
            size in float32 of memory, needs `pip install 'oochub[faiss]'`, and is made anew of a saved detector.

    Attributes:
        bank: The training features (n, d) as they came, in memory or a read-only map of a file.

    Raises:
        OochubError: k is not a whole number of 1 or more, or larger than the number of rows; another index, or faiss
            is not installed; features that are missing or unfit.

    Source: Sun, Ming, Zhu and Li 2022 (arXiv 2204.06507), Section 3 and Section 4.3; ImageNet-OOD, Section 4.

    >>> detector = Knn(k=2).fit(features=[[1.0, 0.0], [5.0, 0.0], [0.0, 2.0]])
    >>> detector.score(features=[[2.0, 0.0], [-1.0, 0.0]]).tolist()
    [0.0, -2.0]
    """

    fit_needs = score_needs = ("features",)
    fitted = ("bank float n d",)
    gathers = BankFeatures
    later = MappingProxyType({"index": "exact"})

    def __init__(self, *, k: int = 1000, index: str = "exact") -> None:
        super().__init__()
        self.k, self.index = check_count("k", k), check_choice("index", index, _INDICES)
        if index == "faiss":
            check_faiss()

    @property
    def bank(self) -> Array:
        """The training features (n, d) as they came."""
        return self._bank.rows

    @bank.setter
    def bank(self, rows: Array) -> None:
        check_k(self.k, len(rows))
        scale = np.empty(len(rows))
        for part in fit_blocks(*rows.shape):
            scale[part] = unit_factors(rows[part].astype(np.float64))
            release_pages(rows)
        self._bank = Bank(rows, scale)
        self._graph = Graph(self._bank.take, rows.shape) if self.index == "faiss" else None

    def _finish(self, gathered: BankFeatures) -> None:
        check_k(self.k, len(gathered))  # before they are joined
        self.bank = gathered.joined()

    def _score(self, rows: dict[str, Array]) -> Array:
        distance: Array = np.sqrt(kth_nearest(unit_rows(rows["features"]), self._bank, self.k, graph=self._graph))
        return 0.0 - distance

    def search_recall(self, *, features: Any = None, **_: Any) -> SearchRecall | None:
        """The share of the exact k nearest that the index finds, for at most 500 rows evenly spread; None for "exact".

        Args:
            features: Those that are scored, (n, d).
        """
        if self._graph is None:
            return None
        some = np.linspace(0, len(features) - 1, min(len(features), _SAMPLED)).astype(int)
        queries = unit_rows(np.asarray(features)[some].astype(np.float64))
        exact = kth_nearest(queries, self._bank, self.k)
        distances = -2 * self._graph.candidates(queries, self.k)[0]
        near = distances <= exact[:, None] * (1 + _ALIKE) + _ALIKE
        return SearchRecall(float(near.mean()), len(some))
