"""A column of a table as one array."""

import pyarrow as pa


def one_chunk(column: pa.ChunkedArray) -> pa.Array:
    """The column as one array; of one chunk without a copy, which `combine_chunks` makes.

    >>> one_chunk(pa.chunked_array([[1], [2]])).to_pylist()
    [1, 2]
    """
    return column.chunk(0) if column.num_chunks == 1 else column.combine_chunks()
