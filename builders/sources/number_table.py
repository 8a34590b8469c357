"""Tables of numbers without a line of names, gzipped or not, such as OGB's: read in blocks, wrong lines by number."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.storage.reading import regular_file

_BLOCK = 2**22  # bytes
_UNKNOWN = ["", "nan", "NaN"]


def number_table(
    file: Path, *, columns: int, dtype: str, may_be_unknown: bool = False, block_size: int = _BLOCK
) -> NDArray[Any]:
    r"""The numbers (n, columns) of a CSV file; of one whose name ends with .gz, unpacked while it is read.

    Args:
        file: Its path.
        columns: How many numbers a line has.
        dtype: Of the result, by NumPy's name; a number that it cannot hold is refused.
        may_be_unknown: Whether a number may be left out or nan, for a `dtype` of floats: it is nan then.
        block_size: Bytes that are held as text at a time; a line must be shorter.

    Raises:
        OochubError: It cannot be read, has no line, or a line without so many such numbers; the line is named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "edge.csv"
    >>> _ = file.write_text("0,1\n1,2x\n")
    >>> number_table(file, columns=2, dtype="int16")
    Traceback (most recent call last):
    oochub.errors.OochubError: ...edge.csv: In CSV column #1: Row #2: ... invalid value '2x'. It has ... again.
    """
    names = [str(number) for number in range(columns)]
    blocks: list[NDArray[Any]] = []
    lines = 0
    try:
        with pa.csv.open_csv(
            regular_file(file),
            read_options=pa.csv.ReadOptions(column_names=names, block_size=block_size, use_threads=False),
            parse_options=pa.csv.ParseOptions(ignore_empty_lines=False),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.from_numpy_dtype(np.dtype(dtype))), null_values=_UNKNOWN
            ),
        ) as reader:
            for block in reader:
                if not may_be_unknown:
                    _refuse_nulls(block, file, first=lines)
                blocks.append(np.column_stack([column.to_numpy(zero_copy_only=False) for column in block]))
                lines += len(block)
    except (pa.ArrowInvalid, OSError) as error:  # no CSV of numbers; not there, or cut off
        fault = str(error).partition("\n")[0].rstrip(".")
        raise OochubError(f"{file}: {fault}. It has {columns} numbers a line and no names. Fetch it again.") from None
    return np.concatenate(blocks).astype(dtype, copy=False)


def _refuse_nulls(block: pa.RecordBatch, file: Path, *, first: int) -> None:
    for column in block:
        if column.null_count:
            line = first + 1 + int(np.argmax(column.is_null()))
            raise OochubError(f"{file}, line {line}: a number is left out or nan. Fetch it again.")
