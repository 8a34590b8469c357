"""Truth values as lists: of each row the numbers of the columns that are true."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


def list_true_columns(truth: NDArray[np.bool_]) -> pa.ListArray:
    """The numbers of the true columns of each row, ascending.

    Args:
        truth: (n, k).

    >>> list_true_columns(np.array([[True, False, True], [False, False, False]])).to_pylist()
    [[0, 2], []]
    """
    ends = np.concatenate([[0], np.cumsum(truth.sum(1))])
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), pa.array(np.nonzero(truth)[1], pa.int64()))
