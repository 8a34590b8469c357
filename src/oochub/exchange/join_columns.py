"""Columns of another program beside the rows of predictions: by id, else in the order of the rows."""

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.exchange.bridge import ROW, find_bridge
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import RESERVED

_KEYS = ("example_id", "split")
_NO_COLUMNS = (*_KEYS, ROW)
_GIVEN = "given_label"


def join_columns(predictions: Predictions, path: Path) -> Predictions:
    """Predictions with the columns of a file of a program beside them; rows that it does not name have none.

    A file without `example_id` has one row for each row of the predictions, or for each with a known label, in their
    order or with their numbers (the index that pandas saves); if it says the labels that it was given (`given_label`),
    they must be those of the rows. Columns of an earlier file of the same names are replaced.

    Args:
        predictions: Predictions of any model.
        path: File that a bridge reads columns from.

    Raises:
        OochubError: No bridge knows the file, ids that are twice or not of the predictions, another number of rows,
            other labels, or a column that predictions use themselves.
    """
    bridge = find_bridge(path)
    if bridge is None:
        raise OochubError(f"{path} is of no program that oochub reads columns of. `oochub list bridge` names them.")
    table = bridge.read_columns(path)
    ours = {*RESERVED, predictions.output.label_column, *predictions.output.columns}
    names = [name for name in table.column_names if name not in _NO_COLUMNS]
    if taken := sorted(ours & set(names)):
        raise OochubError(f"{path} has the column {taken[0]}, which predictions use themselves. Rename it.")
    places = _find_places(predictions, table, path)
    rows = predictions.rows
    for name in names:
        rows = rows.with_column(name, table.column(name).combine_chunks().take(places))
    joined = predictions.with_table(rows)
    _check_labels(joined, path)
    return joined


def _find_places(predictions: Predictions, table: pa.Table, path: Path) -> pa.Array:
    """For each row of predictions its row of the file, null if there is none."""
    if "example_id" not in table.column_names:
        known = np.flatnonzero(predictions.output.known(predictions.label))
        rows = np.arange(len(predictions)) if table.num_rows == len(predictions) else known
        if table.num_rows != len(rows):
            raise OochubError(
                f"{path} has {table.num_rows:,} rows, but the predictions {len(predictions):,}, {len(known):,} of them "
                "labeled. Give it a column example_id, or the rows of one export."
            )
        places = np.full(len(predictions), -1)
        places[rows[_read_numbers(table, path)]] = np.arange(len(rows))
    else:
        keys = [name for name in _KEYS if name in table.column_names]
        given = pd.MultiIndex.from_arrays([table.column(name).to_pylist() for name in keys])
        wanted = pd.MultiIndex.from_arrays([predictions.rows.column(name).to_pylist() for name in keys])
        if given.has_duplicates or wanted.has_duplicates:
            raise OochubError(f"An id occurs twice in {path} or in the predictions. Give it a column split as well.")
        places = given.get_indexer(wanted)
        unknown = given[~given.isin(wanted)]
        if len(unknown):
            raise OochubError(
                f"{path} has {len(unknown):,} ids that no row has, first {unknown[0][0]}. Is it the file?"
            )
    return pa.array(places, mask=places < 0)


def _read_numbers(table: pa.Table, path: Path) -> NDArray[np.int64]:
    """The number of the row that each line of a file is of: as it says, else their order."""
    if ROW not in table.column_names:
        return np.arange(table.num_rows)
    column = table.column(ROW)
    if pa.types.is_integer(column.type) and not column.null_count:
        numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
        if np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            return numbers
    raise OochubError(
        f"The first column of {path}, which has no name, does not number its {table.num_rows:,} rows from 0, so it "
        "cannot be told which row is meant. Give it a column example_id, or save it without its index, in the order "
        "of the rows."
    )


def _check_labels(joined: Predictions, path: Path) -> None:
    """That the labels that the program was given are those of the rows."""
    if _GIVEN not in joined.column_names or not joined.output.one_answer:
        return
    given, label = joined.rows.column(_GIVEN).to_pylist(), joined.label
    names = joined.class_names
    wrong = [
        row for row, each in enumerate(given) if each is not None and each not in (str(label[row]), names[label[row]])
    ]
    if wrong:
        row = wrong[0]
        raise OochubError(
            f"{path} says that row {joined.rows.column('example_id')[row]} was given the label {given[row]}, but it is "
            f"{names[label[row]]} ({len(wrong):,} rows differ). Give the issues of these predictions, in their order."
        )


def is_beside(path: Path) -> bool:
    """Whether a file holds columns to stand beside predictions, and no answers.

    >>> is_beside(Path("nowhere.csv"))
    False
    """
    bridge = None if path.suffix.lower() == ".parquet" else find_bridge(path)
    return bridge is not None and bool(bridge.beside) and not bridge.answers
