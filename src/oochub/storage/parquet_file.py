"""Parquet files that notice bit rot: written with page checksums and a seal over every byte, checked when read.

Checksums of pages leave out what says how to read them: the footer and the headers of pages. The seal, a mark of 16
bytes and the SHA-256 of all others, covers these too. It stands between the last column and the footer: a footer counts
its columns from the file's start, so every other reader of Parquet skips it, and a tool that writes the file anew drops
it, so that a seal is never stale. It tells damage and is no signature: anyone who writes a file can seal it, so what a
sealed file holds is checked like that of any other.
"""

import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from oochub.errors import OochubError, first_line
from oochub.storage.artifacts import FileKind, Integrity
from oochub.storage.files import write_whole

_MARK = b"\x8foochub seal 1\r\n"
_SEAL = len(_MARK) + hashlib.sha256().digest_size
_TAIL = 8  # the footer's length in 4 bytes, and PAR1
_FEW = 4  # bytes of a mark that may be damaged: it is still known for one
_READ = 1 << 20  # bytes that are digested at once
_LIGHT = 400 * 10**6  # bytes that any table may take
_TIMES = 40  # as many as its file has, that it may take where that is more


class StoredTable(NamedTuple):
    """What was read of a file.

    Attributes:
        table: The columns that were asked for.
        integrity: Whether its bytes were compared with a seal ("checked"), or it has none.
        schema: Schema of all its columns.
    """

    table: pa.Table
    integrity: Integrity
    schema: pa.Schema


def write_parquet(table: pa.Table, path: str | Path, *, kind: FileKind | None = None) -> Path:
    """Writes a table as Parquet, whole or not at all, with page checksums and a seal.

    Args:
        table: Table with what it says of itself in the metadata of its schema.
        path: The file.
        kind: What it is, which must not replace anything else.

    Raises:
        OochubError: The file cannot be written.

    >>> import tempfile
    >>> path = write_parquet(pa.table({"n": [1, 2]}), Path(tempfile.mkdtemp()) / "n.parquet")
    >>> read_parquet(path).table.column("n").to_pylist(), read_parquet(path).integrity
    ([1, 2], 'checked')
    """
    return write_tables([table], path, kind=kind)


def write_tables(tables: Iterable[pa.Table], path: str | Path, *, kind: FileKind | None = None) -> Path:
    """Like `write_parquet`, for tables that come one after the other: no more than one of them is held.

    Args:
        tables: Tables of the schema of the first, one or more.
        path: See `write_parquet`.
        kind: See `write_parquet`.

    Raises:
        OochubError: See `write_parquet`.
    """
    several = iter(tables)
    first = next(several)
    with write_whole(path, kind=kind) as draft:
        leaves = [leaf for field in first.schema for leaf in _list_leaves(field.name, field.type)]
        encoding = {path: "BYTE_STREAM_SPLIT" for path, kind in leaves if kind in (pa.float32(), pa.float64())}
        options = {"compression": "zstd", "write_page_checksum": True, "column_encoding": encoding}
        named = [path for path, _ in leaves if path not in encoding]  # dictionaries of floats would be as large as they
        with pq.ParquetWriter(draft, first.schema, use_dictionary=named, **options) as writer:
            for table in chain([first], several):
                writer.write_table(table)
        seal(draft)
    return Path(path)


def _list_leaves(path: str, kind: pa.DataType) -> Iterator[tuple[str, pa.DataType]]:
    """The path of each column that Parquet stores for a field, with its type."""
    if pa.types.is_struct(kind):
        for child in kind:
            yield from _list_leaves(f"{path}.{child.name}", child.type)
    elif pa.types.is_map(kind):
        yield from _list_leaves(f"{path}.key_value.key", kind.key_type)
        yield from _list_leaves(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _list_leaves(f"{path}.list.element", kind.value_type)
    else:
        yield path, kind


def read_parquet(
    path: str | Path,
    *,
    without: Collection[str] = (),
    joined: Callable[[Iterator[pa.Table], Collection[str]], pa.Table] = lambda tables, coded: pa.concat_tables(tables),
    coded: Callable[[pq.ParquetFile], Collection[str]] = lambda file: (),
) -> StoredTable:
    """Reads a Parquet file and checks what there is to check: its seal, the checksums of its pages, its values.

    Args:
        path: The file.
        without: Names of columns that are not read.
        joined: Makes one table of the groups of rows, which are read one by one as it asks for them, and of the names
            of columns of text that are read as dictionaries.
        coded: Names these.

    Raises:
        OochubError: No such file, not Parquet, one that was damaged since it was written, or a small one made to fill
            the memory.
    """
    path = Path(path).expanduser()
    if not path.is_file():
        raise OochubError(f"No Parquet file at {path}. Pass the path of one.")
    try:
        integrity = check_seal(path)
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            schema, texts = file.schema_arrow, coded(file)
        wanted = [name for name in schema.names if name not in without]
        with pq.ParquetFile(path, page_checksum_verification=True, read_dictionary=texts) as file:
            columns = wanted if len(wanted) < len(schema.names) else None
            table = joined(_iterate_groups(file, columns, path, {*texts} & {*wanted}), texts)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise OochubError(
            f"{path} is not a Parquet file, or is truncated or corrupted: {first_line(error)}. Create it again."
        ) from error
    return StoredTable(table, integrity, schema)


def _iterate_groups(
    file: pq.ParquetFile, columns: list[str] | None, path: Path, coded: Collection[str]
) -> Iterator[pa.Table]:
    """The groups of rows of a file, offsets and texts looked at; of a file without rows an empty one.

    They come as long as they are not far larger than their file, as a few bytes that stand for gigabytes are; text of a
    dictionary counts for each row.
    """
    size = 0
    readers = [partial(file.read_row_group, number) for number in range(file.num_row_groups)] or [file.read]
    for read in readers:
        table = read(columns=columns, use_threads=False)  # each thread would hold memory of its own
        table.validate(full=True)  # sealed or not: anybody can seal
        pieces = [piece for name in coded for piece in table.column(name).chunks]
        texts = (pc.sum(pc.binary_length(piece.dictionary).take(piece.indices)).as_py() or 0 for piece in pieces)
        size += table.nbytes + sum(texts)
        check_growth(path, size)
        yield table


def check_growth(path: Path, size: int) -> None:
    """Checks that what was read of a file is not far larger than the file.

    Args:
        path: The file.
        size: Bytes that were read of it so far.

    Raises:
        OochubError: It is, as a few bytes that stand for gigabytes are.
    """
    own = path.stat().st_size
    if size > (largest := max(_LIGHT, _TIMES * own)):
        raise OochubError(
            f"{path} is not read: its {own / 1e6:.0f} MB hold more than {largest / 1e6:.0f} MB. Create it again."
        )


def seal(path: str | Path) -> None:
    """Seals a finished Parquet file, of any writer, in place; one that has a seal gets no second one.

    For a draft that nobody else reads: a kill in the middle leaves it broken.
    """
    with Path(path).open("r+b") as file:
        place = _place(file.fileno())
        if place is None or _is_mark(_read_before_footer(file.fileno(), place)):
            return
        digest = hashlib.file_digest(file, "sha256").digest()
        file.seek(place)
        footer = file.read()
        file.seek(place)
        file.write(_MARK + digest + footer)


def check_seal(path: str | Path) -> Integrity:
    """Compares a Parquet file with its seal.

    Returns:
        "checked", or "not checked" for a file without a seal.

    Raises:
        OochubError: They differ: the file was damaged after it was written.
    """
    with Path(path).open("rb") as file:
        place = _place(file.fileno())
        if place is None or not _is_mark(seal := _read_before_footer(file.fileno(), place)):
            return "not checked"
        digest = hashlib.sha256()
        _digest_bytes(file, digest, place - _SEAL)
        file.seek(place)
        _digest_bytes(file, digest, os.fstat(file.fileno()).st_size - place)
    if seal != _MARK + digest.digest():
        raise OochubError(f"{path} is corrupted: its checksum does not match. Copy or create it again.")
    return "checked"


def read_seal(path: str | Path) -> str | None:
    """The digest that a Parquet file is sealed with, as text; None for one without a seal. It is not compared.

    Raises:
        OSError: There is no such file.
    """
    with Path(path).open("rb") as file:
        place = _place(file.fileno())
        content = b"" if place is None else _read_before_footer(file.fileno(), place)
    return content.removeprefix(_MARK).hex() if content.startswith(_MARK) else None


def _digest_bytes(file: IO[bytes], digest: "hashlib._Hash", count: int) -> None:
    """Takes that many bytes of an open file; what is mapped into memory would count as ours."""
    while count > 0 and (some := file.read(min(count, _READ))):
        digest.update(some)
        count -= len(some)


def _place(file: int) -> int | None:
    """The place where the footer of an open file begins; None if its end is not that of Parquet."""
    size = os.fstat(file).st_size
    tail = os.pread(file, _TAIL, max(size - _TAIL, 0))
    place = size - _TAIL - int.from_bytes(tail[:4], "little")
    return place if place >= 0 and tail[4:] == b"PAR1" else None


def _read_before_footer(file: int, place: int) -> bytes:
    """The bytes before the footer of an open file, as many as a seal has."""
    return os.pread(file, _SEAL, max(place - _SEAL, 0))


def _is_mark(start: bytes) -> bool:
    """Whether bytes begin with the mark, a few of its bytes damaged or not."""
    return sum(one == other for one, other in zip(start, _MARK, strict=False)) >= len(_MARK) - _FEW
