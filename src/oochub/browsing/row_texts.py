"""What stands on the card of a row besides its columns: its id, its text, what the model wrote, where it is from."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.mistakes import find_attribution
from oochub.report import wording

ROWS_OF_PART = 2048
_LONGEST_TEXT = 400
_SOURCE = ("source_url", "license")


def read_row_texts(evaluated: EvaluationRows, order: NDArray[np.int64]) -> Iterator[dict[str, list[str]]]:
    """The texts of all rows in parts of `ROWS_OF_PART` rows: for each part a list for each kind of text.

    `id` is the example's id as it is, for exports; every other text is cleaned and cut. A kind that no row of a part
    has is left out.

    Args:
        evaluated: The rows.
        order: Numbers of the rows in the order in which they are shown.

    >>> from oochub.evaluation.declaration import find_declaration
    >>> from oochub.evaluation.evaluation_rows import make_evaluation_rows
    >>> from oochub.prediction.predictions import Predictions
    >>> rows = Predictions.from_arrays(value=[0.4, -1.0], label=[0.5, -2.0], example_id=["a", "b"])
    >>> next(read_row_texts(make_evaluation_rows(rows, find_declaration(rows))[0], np.array([1, 0])))
    {'id': ['b', 'a'], 'label': ['-2', '0.5'], 'answered': ['-1', '0.4']}
    """
    predictions, output = evaluated.predictions, evaluated.predictions.output
    light = predictions.rows.light
    wanted = ["text", "thumbnail_text", output.text_column, *_SOURCE]
    stored = [name for name in dict.fromkeys(wanted) if name in predictions.column_names]
    columns = {name: (light if name in light.column_names else predictions.rows).column(name) for name in stored}
    ids = predictions.rows.column("example_id")
    in_words = not output.one_answer or output.asks_each_row(predictions)
    for start in range(0, len(order), ROWS_OF_PART):
        rows = order[start : start + ROWS_OF_PART]
        part: dict[str, list[str]] = {"id": [str(name) for name in ids.take(rows).to_pylist()]}
        if in_words:
            answers = [output.answer(evaluated.columns, row, predictions.class_names) for row in rows.tolist()]
            part["label"] = [_shorten(each.label) for each in answers]
            part["answered"] = [_shorten(each.predicted) for each in answers]
        records = [dict(zip(stored, values, strict=True)) for values in _transpose(columns, rows)] if stored else []
        lines = [output.line(evaluated.columns, row, ()) for row in rows.tolist()] if in_words else []
        part["text"] = [_find_text(records, lines, place) for place in range(len(rows))]
        part["wrote"] = [_shorten(record.get(output.text_column)) for record in records]
        part["source"] = [_shorten(find_attribution(record)) for record in records]
        yield {name: texts for name, texts in part.items() if any(texts)}


def _transpose(columns: Mapping[str, pa.ChunkedArray], rows: NDArray[np.int64]) -> Iterator[tuple[object, ...]]:
    return zip(*(column.take(rows).to_pylist() for column in columns.values()), strict=True)


def _find_text(records: Sequence[Mapping[str, object]], lines: Sequence[str | None], place: int) -> str:
    record = records[place] if records else {}
    return _shorten(record.get("text") or record.get("thumbnail_text") or (lines[place] if lines else None))


def _shorten(text: object) -> str:
    return "" if text is None else wording.name(" ".join(str(text).split()), _LONGEST_TEXT)
