"""What follows from the truth and the answers of rows: read once, a block at a time, and checked on the way."""

import hashlib
import json
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import output_of
from oochub.prediction.check_rows import checked_blocks
from oochub.prediction.stored_rows import StoredRows
from oochub.records.metadata import VECTORS, Metadata
from oochub.records.output_columns import vectors
from oochub.stats.logits import SoftmaxSummary, summarize_answers

_ROW = ("example_id", "split")
_TOGETHER = 1 << 13  # rows whose text is looked at together


class AnswerFacts(NamedTuple):
    """What follows from truth and answers.

    Attributes:
        digest: SHA-256 over examples, truth and answers: equal for equal predictions, whenever and wherever made.
        summary: Of each row; None where the kind of output has not one answer a row.
    """

    digest: str
    summary: SoftmaxSummary | None


def answer_facts(rows: StoredRows, metadata: Metadata, *, sealed: str | None = None) -> AnswerFacts:
    """Reads truth and answers once: they are checked, digested and summed up, and no vector is kept.

    Args:
        rows: That passed `check_rows`.
        metadata: What they say of themselves.
        sealed: What their file says that the digest is; None where it does not say.

    Raises:
        OochubError: What the kind of output does not allow, the first bad row is named; another digest.

    >>> from oochub import Predictions
    >>> made = Predictions.from_arrays(logits=[[2.0, 0.0], [0.0, 1.0]], label=[0, 0])
    >>> facts = answer_facts(made.rows, made.metadata)
    >>> facts.summary.prediction.tolist(), facts.digest == made.digest
    ([0, 1], True)
    """
    output, n = output_of(metadata.kind), len(rows)
    blocks, start = checked_blocks(rows, metadata), 0
    first = next(blocks)  # there is a row; the truth has the right type, before it is digested
    digest = _digest_of_texts(rows, (*_ROW, output.label_column))
    arrays: tuple[NDArray[Any], ...] | None = None
    if output.one_answer:
        arrays = np.empty(n, np.int32), np.empty(n), np.empty(n)
    for block in chain([first], blocks):
        for name in output.columns:
            if name in VECTORS:
                digest.update(vectors(block.column(name)).tobytes())
        if arrays is not None:
            label = output.label(block, metadata.class_names)
            own = summarize_answers([vectors(block.column("logits"))], label)
            for whole, some in zip(arrays, own, strict=True):
                whole[start : start + len(block)] = some
        start += len(block)
    _digest_light(digest, rows, output.columns)
    if sealed not in (None, digest.hexdigest()):
        raise OochubError(
            "The ids, splits, labels or answers are not those that were sealed: the digest of them differs. Predict "
            "again, or make the file anew with Predictions.from_pandas(frame, ...).save(path)."
        )
    return AnswerFacts(digest.hexdigest(), None if arrays is None else SoftmaxSummary(*arrays))


def digest_of(rows: StoredRows, metadata: Metadata) -> str:
    """The digest of `AnswerFacts` alone, of rows that were checked."""
    output = output_of(metadata.kind)
    digest = _digest_of_texts(rows, (*_ROW, output.label_column))
    for name in output.columns:
        if name in VECTORS:
            for block in rows.blocks([name]):
                digest.update(vectors(block.column(name)).tobytes())
    _digest_light(digest, rows, output.columns)
    return digest.hexdigest()


def _digest_of_texts(rows: StoredRows, names: Sequence[str]) -> "hashlib._Hash":
    """A digest of columns as a JSON list of lists, whatever the pieces that they are held in."""
    digest = hashlib.sha256()
    for number, name in enumerate(names):
        digest.update(b", [" if number else b"[[")
        light = rows.light.select([name])
        for start in range(0, len(light), _TOGETHER):
            digest.update(b", " * bool(start) + _json(light.slice(start, _TOGETHER).column(0)))
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


def _json(column: pa.ChunkedArray) -> bytes:
    """The values as `json.dumps` writes them, one after the other; whole numbers and plain text without Python."""
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    is_text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    if len(column) and not column.null_count and (is_text or pa.types.is_integer(kind)):
        texts = column.cast(kind).cast(pa.large_string()).combine_chunks()
        between = pa.scalar('", "' if is_text else ", ", texts.type)
        joined = pc.binary_join(pa.LargeListArray.from_arrays([0, len(texts)], texts), between)[0].as_py()
        if not is_text:
            return str(joined).encode()
        quotes = 2 * (len(texts) - 1)  # those between: a text with one of its own is escaped, as other signs are
        if joined.isascii() and joined.isprintable() and "\\" not in joined and joined.count('"') == quotes:
            return f'"{joined}"'.encode()
    return json.dumps(column.to_pylist())[1:-1].encode()
