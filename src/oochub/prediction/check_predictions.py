"""Checks that rows hold what their metadata say: every column, every row once, truth and answers of the kind.

What follows from the truth and the answers is read once, a block at a time, and checked on the way.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Output, get_output
from oochub.prediction.stored_columns import StoredRows, decode_text
from oochub.records.metadata import LONGEST_NAME, THUMBNAIL, VECTORS, Metadata, check_name_length, count_rows
from oochub.records.output_columns import ALSO_RIGHT, vectors
from oochub.stats.logits import SoftmaxSummary, summarize_answers

_ROW = ("example_id", "split")
_TOGETHER = 1 << 13  # rows whose names or text are looked at together
_FEW = 10  # splits of a row each that a small file may have
_OF_SPLITS = re.compile(r"((id|ood)[-_]?)?(train|val|valid|validation|dev|test)", re.IGNORECASE)


def check_rows(rows: StoredRows, metadata: Metadata) -> None:
    """Checks what can be seen without the vectors.

    Raises:
        OochubError: What is missing, doubled or not allowed; the first bad row is named.
    """
    required, table = _list_required(metadata), rows.light
    check_name_length("the names of columns", rows.column_names)
    missing = [name for name in required if name not in rows.column_names]
    if missing:
        raise OochubError(f"Predictions need the columns {', '.join(required)}; {', '.join(missing)} missing.")
    if not len(rows):
        raise OochubError("The predictions hold no rows.")
    _check_nulls(table, required)
    for name in _ROW:
        kind = table.schema.field(name).type
        type_ = kind.value_type if pa.types.is_dictionary(kind) else kind
        if not (pa.types.is_string(type_) or pa.types.is_large_string(type_)):
            raise OochubError(f"{name} must hold text, got {kind}. Write it as text.")
    for name in {*_ROW, "group"} & {*table.column_names}:
        _check_length(name, table.column(name))
    _check_each_once(rows)
    counts = count_rows(table.column("split"))
    _check_not_swapped(table.column("example_id"), counts)
    if counts != dict(metadata.rows):
        shown = ", ".join(f"{split}: {counts.get(split, 0)} of {n}" for split, n in metadata.rows.items())
        raise OochubError(
            f"Examples are missing ({shown}). Run the prediction again; a partial score is not comparable with the "
            "benchmark."
        )
    if "group" in table.column_names:
        _check_group(table.schema.field("group").type)
    if THUMBNAIL in rows.lazy.names and not pa.types.is_binary(type_ := rows.lazy.schema.field(THUMBNAIL).type):
        raise OochubError(f"thumbnail must hold the bytes of small images, got {type_}. Rename the column.")


def _check_group(kind: pa.DataType) -> None:
    """That groups are named by text or numbers, one per row."""
    type_ = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_nested(type_):
        raise OochubError("group must contain one name per row. Put several names per row into a column groups.")
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_fixed_size_binary(type_):
        raise OochubError(f"group must hold text or numbers, got {kind}. Decode it: [name.decode() for name in group].")


def _check_length(name: str, column: pa.ChunkedArray) -> None:
    """See `check_name_length`."""
    for chunk in column.chunks:
        texts = chunk.dictionary if pa.types.is_dictionary(chunk.type) else chunk
        if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
            continue
        if (pc.max(pc.binary_length(texts)).as_py() or 0) > LONGEST_NAME:
            check_name_length(name, filter(None, texts.to_pylist()))


def _check_each_once(rows: StoredRows) -> None:
    """That no example occurs twice in a split.

    Ids in order are compared with their neighbors. If some are equal, as in two splits, each row gets a number of its
    id and split, and the names decide where two numbers agree.
    """
    ids = rows.column("example_id")
    parts = (ids.take(pa.array(rows.by_id[k : k + _TOGETHER + 1])) for k in range(0, len(rows), _TOGETHER))
    if not any(pc.any(pc.equal(part.slice(1), part.slice(0, len(part) - 1))).as_py() for part in parts):
        return
    keys = rows.light.select(_ROW)
    numbers, start = np.empty(len(keys), np.uint64), 0
    for block in keys.to_batches(max_chunksize=_TOGETHER):
        names = decode_text(pa.Table.from_batches([block])).to_pandas().astype(str)
        numbers[start : start + len(block)] = pd.util.hash_pandas_object(names, index=False)
        start += len(block)
    numbers.sort()
    if not (numbers[1:] == numbers[:-1]).any():
        return
    names = decode_text(keys).to_pandas()
    doubled = names[names.duplicated()]
    if len(doubled):
        first = doubled.iloc[0]
        raise OochubError(
            f"{len(doubled)} examples occur twice, first {first['example_id']} in split {first['split']}. "
            "Each example must be predicted once; predict again, or drop the copies."
        )


def _check_not_swapped(ids: pa.ChunkedArray, splits: Mapping[str, int]) -> None:
    """That ids and splits are not in each other's column: fewer ids than splits of one row, or ids that name splits."""
    n = len(ids)
    is_named, is_single = _is_split_name(ids[0].as_py()), len(splits) > _FEW and 2 * len(splits) > n
    if not is_named and not is_single:
        return
    names = pc.unique(ids).to_pylist()
    is_named = all(map(_is_split_name, names)) and not any(map(_is_split_name, splits))
    if is_named or (is_single and len(names) < len(splits)):
        raise OochubError(
            f"split has {len(splits):,} values in {n:,} rows, and example_id {len(names):,}: were the two columns "
            f"swapped? A split is a part of the data, such as test; the first row has split {next(iter(splits))} and "
            f"example_id {names[0]}. Swap the columns, or rename the splits."
        )


def _is_split_name(name: str) -> bool:
    return _OF_SPLITS.fullmatch(name) is not None


def check_answers(rows: StoredRows, metadata: Metadata) -> None:
    """Checks truth, answers and vectors, a block of rows at a time.

    Raises:
        OochubError: What the kind of output does not allow, vectors of several lengths; the first bad row is named.
    """
    for _ in check_blocks(rows, metadata, VECTORS):
        pass


def check_blocks(rows: StoredRows, metadata: Metadata, more: Sequence[str] = ()) -> Iterator[pa.Table]:
    """The id, truth and answer of all rows, a block at a time, each checked before it is given.

    Args:
        rows: Rows that passed `check_rows`.
        metadata: What they say of themselves.
        more: Vectors that are read too, where they are there; reading checks their lengths.

    Raises:
        OochubError: See `check_answers`.
    """
    output, required = get_output(metadata.kind), _list_required(metadata)
    own = [name for name in rows.column_names if name in {*required, *output.beside, *more} - {"split"}]
    for block in rows.blocks(own):
        _check_nulls(block, required)
        output.check(block, metadata.class_names)
        yield block


def _list_required(metadata: Metadata) -> tuple[str, ...]:
    output = get_output(metadata.kind)
    return (*_ROW, output.label_column, *output.columns)


def _check_nulls(table: pa.Table, required: Sequence[str]) -> None:
    nulls = [name for name in required if name in table.column_names and table.column(name).null_count]
    if nulls:
        missing = table.column(nulls[0]).is_null().to_numpy(zero_copy_only=False)
        first = table.column("example_id")[int(np.argmax(missing))] if "example_id" in table.column_names else ""
        raise OochubError(
            f"Every row needs {', '.join(required)}; {', '.join(nulls)} empty in some, {nulls[0]} in "
            f"{missing.sum():,}, first {first}. Fill them in, or remove these rows."
        )


class AnswerFacts(NamedTuple):
    """What follows from truth and answers.

    Attributes:
        digest: SHA-256 over examples, truth and answers: equal for equal predictions, whenever and wherever made.
        summary: Summary of each row; None if the kind of output has no logits of one answer per row.
    """

    digest: str
    summary: SoftmaxSummary | None


def read_answer_facts(rows: StoredRows, metadata: Metadata, *, sealed: str | None = None) -> AnswerFacts:
    """Reads truth and answers once: they are checked, digested and summed up, and no vector is kept.

    Args:
        rows: Rows that passed `check_rows`.
        metadata: What they say of themselves.
        sealed: Digest that their file states; None if it does not state one.

    Raises:
        OochubError: What the kind of output does not allow, the first bad row is named; another digest.

    >>> from oochub import Predictions
    >>> made = Predictions.from_arrays(logits=[[2.0, 0.0], [0.0, 1.0]], label=[0, 0])
    >>> facts = read_answer_facts(made.rows, made.metadata)
    >>> facts.summary.prediction.tolist(), facts.digest == made.digest
    ([0, 1], True)
    """
    output, n = get_output(metadata.kind), len(rows)
    blocks, start = check_blocks(rows, metadata), 0
    first = next(blocks)  # there is a row; the truth has the right type, before it is digested
    digest = _digest_of_texts(rows, (*_ROW, *_list_truth(rows, output)))
    arrays: tuple[NDArray[Any], ...] | None = None
    if output.has_confidence:
        arrays = np.empty(n, np.int32), np.empty(n), np.empty(n)
    for block in chain([first], blocks):
        for name in output.columns:
            if name in VECTORS:
                digest.update(np.ascontiguousarray(vectors(block.column(name))).data)
        if arrays is not None:
            label = output.label(block, metadata.class_names)
            also = output.right_beside(block, metadata.class_names)
            own = summarize_answers([vectors(block.column("logits"))], label, also=also)
            for whole, some in zip(arrays, own, strict=True):
                whole[start : start + len(block)] = some
        start += len(block)
    _digest_light(digest, rows, output.columns)
    if sealed not in (None, digest.hexdigest()):
        raise OochubError(
            "The ids, splits, labels or answers are not those that were sealed: their digest differs. Predict again, "
            "or write the file again with Predictions.from_pandas(frame, ...).save(path)."
        )
    return AnswerFacts(digest.hexdigest(), None if arrays is None else SoftmaxSummary(*arrays))


def digest_rows(rows: StoredRows, metadata: Metadata) -> str:
    """The digest of `AnswerFacts` alone, for rows that were checked."""
    output = get_output(metadata.kind)
    digest = _digest_of_texts(rows, (*_ROW, *_list_truth(rows, output)))
    for name in output.columns:
        if name in VECTORS:
            for block in rows.blocks([name]):
                digest.update(np.ascontiguousarray(vectors(block.column(name))).data)
    _digest_light(digest, rows, output.columns)
    return digest.hexdigest()


def _list_truth(rows: StoredRows, output: Output) -> list[str]:
    """The columns of the truth: the label, and what else is right."""
    beside = {ALSO_RIGHT} & {*output.beside} & {*rows.column_names}
    return [output.label_column, *beside]


def _digest_of_texts(rows: StoredRows, names: Sequence[str]) -> "hashlib._Hash":
    """A digest of columns as a JSON list of lists, whatever the pieces that they are held in."""
    digest = hashlib.sha256()
    for number, name in enumerate(names):
        digest.update(b", [" if number else b"[[")
        light = rows.light.select([name])
        for start in range(0, len(light), _TOGETHER):
            digest.update(b", " * bool(start) + _encode_json(light.slice(start, _TOGETHER).column(0)))
        digest.update(b"]")
    digest.update(b"]")
    return digest


def _digest_light(digest: "hashlib._Hash", rows: StoredRows, names: Sequence[str]) -> None:
    """Takes the columns that are in memory by their bytes, those of lists of any lengths with the lengths."""
    for name in names:
        if name not in VECTORS:
            column = rows.column(name)
            while pa.types.is_nested(column.type):
                digest.update(pc.list_value_length(column).to_numpy().tobytes())
                column = pc.list_flatten(column)
            digest.update(column.to_numpy().tobytes())


def _encode_json(column: pa.ChunkedArray) -> bytes:
    """The values as `json.dumps` writes them, one after the other; whole numbers and plain text without Python."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if len(column) and not column.null_count and (is_text or pa.types.is_integer(kind)):
        texts = column.cast(kind).cast(pa.large_string()).combine_chunks()
        between = pa.scalar('", "' if is_text else ", ", texts.type)
        joined = pc.binary_join(pa.LargeListArray.from_arrays([0, len(texts)], texts), between)[0].as_buffer()
        if not is_text:
            return bytes(joined)
        signs, quotes = np.frombuffer(joined, np.uint8), 2 * (len(texts) - 1)  # those between; others are escaped
        is_plain = signs.size and signs.min() >= 0x20 and signs.max() < 0x7F and not (signs == ord("\\")).any()
        if is_plain and np.count_nonzero(signs == ord('"')) == quotes:
            return b'"%b"' % joined
    return json.dumps(column.to_pylist())[1:-1].encode()
