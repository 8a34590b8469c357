"""The probabilities of classes as evaluation holds them: three numbers a row, however many classes there are."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from oochub.stats.array_checks import Array


@dataclass(frozen=True, eq=False)
class ClassProbability:
    """What metrics read of the softmax (n, c) of n rows; the matrix itself is read when somebody asks for it.

    Indexed by a mask, a slice or row numbers it gives another one, of these rows. `numpy.asarray` gives the matrix of
    its rows, float64; so a metric that knows nothing of this class works with it.

    Attributes:
        label: The true class of each row (n,), -1 where it is none of them.
        prediction: The most probable class (n,), the first of equals.
        confidence: Its probability (n,), in [1 / c, 1].
        loss: Minus the log of the true class's probability (n,), in nats, at most 708.4; nan where there is none.
        classes: How many classes c there are.
        matrix: Gives the matrix (k, c) of k rows, by their numbers or a slice.

    >>> matrix = np.array([[0.25, 0.75], [0.8, 0.2]])
    >>> numbers = np.array([1, 0]), np.array([1, 0]), np.array([0.75, 0.8]), -np.log([0.75, 0.8])
    >>> some = ClassProbability(*numbers, classes=2, matrix=lambda rows: matrix[rows])[1:]
    >>> some.confidence, np.asarray(some)
    (array([0.8]), array([[0.8, 0.2]]))
    """

    label: Array
    prediction: Array
    confidence: Array
    loss: Array
    classes: int
    matrix: Callable[[Any], Array] = field(repr=False)

    ndim = 2
    dtype = np.dtype(np.float64)

    def __getitem__(self, rows: Any) -> "ClassProbability":
        return ClassProbability(
            self.label[rows],
            self.prediction[rows],
            self.confidence[rows],
            self.loss[rows],
            self.classes,
            lambda some: self.matrix(np.arange(len(self))[rows][some]),
        )

    def is_of(self, label: Any) -> bool:
        """Whether `loss` is that of these labels (n,), none of them -1; else the matrix must be asked."""
        return (label is self.label or np.array_equal(label, self.label)) and bool((self.label >= 0).all())

    def __len__(self) -> int:
        return len(self.label)

    @property
    def shape(self) -> tuple[int, int]:
        """(n, c)."""
        return len(self), self.classes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self.matrix(slice(None)).astype(dtype or self.dtype, copy=False)
