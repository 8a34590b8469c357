"""Files with a JSON object in each line: some text fields of each, as a table."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.json as pa_json

from oochub.errors import OochubError
from oochub.storage.reading import check_regular_file

_BLOCK = 1 << 24  # bytes read at a time; no line is longer


def read_json_lines(file: Path, fields: Sequence[str]) -> pa.Table:
    r"""The fields that are asked for, of each line, as text; others are passed over.

    Args:
        file: The file.
        fields: Names of fields whose values are text.

    Returns:
        A column of text for each field, without missing values.

    Raises:
        OochubError: It cannot be read, is no JSON, has no line; a field that is missing or no text: its line is named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "pairs.jsonl"
    >>> _ = file.write_text('{"a": "one", "b": 2}\n{"a": "two"}\n')
    >>> read_json_lines(file, ["a"]).to_pydict()
    {'a': ['one', 'two']}
    """
    schema = pa.schema([(field, pa.string()) for field in fields])
    try:
        table = pa_json.read_json(
            check_regular_file(file),
            read_options=pa_json.ReadOptions(block_size=_BLOCK),
            parse_options=pa_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
    except (pa.ArrowException, OSError) as error:
        raise OochubError(f"{file} is not JSON with an object in each line: {error}. Fetch it again.") from error
    if not len(table):
        raise OochubError(f"{file} has no line. Fetch it again.")
    for field in fields:
        column = table[field]
        if column.null_count:
            line = column.is_null().to_pylist().index(True) + 1
            raise OochubError(f"{file}, line {line}: the field {field} is missing. Fetch it again.")
    for column in table.columns:
        for chunk in column.chunks:
            _check_text(chunk, file)
    return table


def _check_text(chunk: pa.Array, file: Path) -> None:
    try:
        chunk.validate(full=True)  # bytes that are no UTF-8 pass the parser
    except pa.ArrowInvalid as error:
        raise OochubError(f"{file} is not UTF-8: {error}. Fetch it again.") from error
