"""The answers of a file of predictions as columns, for other programs that read it; oochub reads the logits alone.

Answer, confidence and loss follow from the logits, so a column of them is a copy that somebody may have left behind
when the logits changed: none is ever read for a number. Their names begin with `oochub_`, and rows that are given with
such columns lose them; `prediction`, `confidence` and `loss` are names of the user's own columns.
"""

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.prediction.stored_rows import StoredRows
from oochub.stats.logits import SoftmaxSummary

SUMMARY = tuple(f"oochub_{name}" for name in SoftmaxSummary._fields)
"""The columns of a file that hold it."""
_NAMES_OF_BEFORE = SoftmaxSummary._fields
_ROUNDING = 1e-6  # between two versions of numpy


def summary_columns(summary: SoftmaxSummary) -> dict[str, pa.Array]:
    """The columns of a summary, each (n,), by name; the loss is null where no class is true.

    >>> columns = summary_columns(SoftmaxSummary(np.array([1]), np.array([0.75]), np.array([np.nan])))
    >>> {name: column.to_pylist() for name, column in columns.items()}
    {'oochub_prediction': [1], 'oochub_confidence': [0.75], 'oochub_loss': [None]}
    """
    types = (pa.int32(), pa.float64(), pa.float64())
    arrays = zip(SUMMARY, summary, types, strict=True)
    return {name: pa.array(values, kind, from_pandas=True) for name, values, kind in arrays}


def without_copies(table: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The columns of a table but those of `SUMMARY`, and these."""
    copies = [name in SUMMARY for name in table.column_names]
    return tuple(table.select([k for k, is_copy in enumerate(copies) if is_copy is which]) for which in (False, True))


def stale_note(given: pa.Table, summary: SoftmaxSummary | None) -> str | None:
    """What is said of columns of `SUMMARY` that came with rows: nothing where they are those of the logits.

    Args:
        given: The columns of `SUMMARY` that there are, of `without_copies`.
        summary: Of the rows; None where their kind has none.

    >>> made = SoftmaxSummary(np.array([1, 0]), np.array([0.75, 0.5]), np.array([0.3, 0.7]))
    >>> stale_note(pa.table({"oochub_prediction": [1, 0]}), made)
    >>> stale_note(pa.table({"oochub_prediction": [0, 0]}), made)
    'the column oochub_prediction that came with the rows is left out: it is not what the logits give'
    """
    made: dict[str, Any] = {} if summary is None else dict(zip(SUMMARY, summary, strict=True))
    columns = zip(given.column_names, given.columns, strict=True)
    stale = [name for name, column in columns if not _is_equal(column, made.get(name))]
    if not stale:
        return None
    which, verb, pronoun = ("column", "is", "it is") if len(stale) == 1 else ("columns", "are", "they are")
    came = "came with the rows"
    return f"the {which} {', '.join(stale)} that {came} {verb} left out: {pronoun} not what the logits give"


def without_summary_of_before(rows: StoredRows, summary: SoftmaxSummary | None) -> StoredRows:
    """Rows of a file of an earlier version, which wrote the summary under `prediction`, `confidence` and `loss`.

    Columns of these names that are not what the logits give are somebody's own, and stay.
    """
    if summary is None or not {*_NAMES_OF_BEFORE} <= {*rows.column_names}:
        return rows
    columns = zip(_NAMES_OF_BEFORE, summary, strict=True)
    return rows.without(_NAMES_OF_BEFORE) if all(_is_equal(rows.column(name), own) for name, own in columns) else rows


def _is_equal(column: pa.ChunkedArray, made: NDArray[Any] | None) -> bool:
    if made is None or not (pa.types.is_integer(column.type) or pa.types.is_floating(column.type)):
        return False
    found = column.to_numpy().astype(np.float64)
    if made.dtype.kind == "i":
        return np.array_equal(found, made)
    return bool(np.allclose(found, made, rtol=_ROUNDING, atol=_ROUNDING, equal_nan=True))
