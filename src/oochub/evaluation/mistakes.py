"""The worst mistakes: which rows to show, and what to say of each."""

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.output import RowBoxes
from oochub.records.report_records import BoxesInPicture, Mistake
from oochub.stats.worst_rows import PER_KIND, find_worst_rows

_SHOWN = 12


def choose_mistakes(
    evaluated: EvaluationRows,
    out: NDArray[np.bool_] | None,
    shown: NDArray[np.bool_],
    inside: NDArray[np.bool_] | None = None,
) -> tuple[Mistake, ...]:
    """The rows with the highest loss out of context, at most six of a kind of mistake.

    If there are fewer than twelve, those of the other rows follow, told by `role`.

    Args:
        evaluated: The rows; the kind of output says which are wrong, and how.
        out: The rows (n,) out of context; None where there are none, and no row is told to be of a side.
        shown: All rows (n,) that a mistake may be of.
        inside: The rows (n,) in context; None takes all that are not out of it.

    Returns:
        Worst first within each side.
    """
    columns, output, loss = evaluated.columns, evaluated.predictions.output, evaluated.columns["loss"]
    is_wrong, keys = output.wrong(columns), output.mistake_keys(columns)
    rows: list[int] = []
    for mask in (shown,) if out is None else (out, shown & ~out):
        worst = find_worst_rows(loss, keys, most=PER_KIND, rows=np.flatnonzero(mask & is_wrong))
        rows += worst[np.argsort(-loss[worst], kind="stable")].tolist()
    is_out = [
        None if out is None or not (out[row] or inside is None or inside[row]) else bool(out[row]) for row in rows
    ]
    return tuple(make_mistake(row, evaluated, is_out=side) for row, side in zip(rows[:_SHOWN], is_out, strict=False))


def make_mistake(row: int, evaluated: EvaluationRows, *, is_out: bool | None) -> Mistake:
    """One row as a reader sees it.

    Args:
        row: Number of the row.
        evaluated: See `choose_mistakes`.
        is_out: Whether it is out of context; None where no row is, and for one that is of neither side.
    """
    predictions, columns = evaluated.predictions, evaluated.columns
    record = predictions.rows.row(row)
    answer = predictions.output.answer(columns, row, predictions.class_names)
    return Mistake(
        example_id=record["example_id"],
        split=record["split"],
        role=None if is_out is None else "out" if is_out else "in",
        label=answer.label,
        predicted=answer.predicted,
        probability=answer.probability,
        loss=float(columns["loss"][row]),
        kind=answer.mistake,
        context=evaluated.benchmark.describe_context(record, predictions.metadata.facts),
        group=_convert_to_text(record.get("group")),
        challenge=_convert_to_text(record.get("challenge")),
        image=_encode_base64(record.get("thumbnail")),
        attribution=find_attribution(record),
        text=_convert_to_text(
            record.get("text") or record.get("thumbnail_text") or predictions.output.line(columns, row, ())
        ),
        boxes=_convert_boxes(predictions.output.boxes(columns, row), record),
        wrote=_convert_to_text(record.get(predictions.output.text_column)),
    )


def _convert_to_text(value: Any) -> str | None:
    return None if value is None else str(value)


def _convert_boxes(boxes: RowBoxes | None, record: Mapping[str, Any]) -> BoxesInPicture | None:
    """Boxes of a row that says how large its image is."""
    width, height = (record.get(name) for name in ("width", "height"))
    if boxes is None or not (isinstance(width, int) and isinstance(height, int)):
        return None
    true, answered = (tuple((x1, y1, x2, y2) for x1, y1, x2, y2 in each) for each in boxes)
    return BoxesInPicture(width=width, height=height, true=true, answered=answered)


def _encode_base64(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode("ascii")


def find_attribution(record: Mapping[str, Any]) -> str | None:
    """The source of a row's image and its license, as far as its columns say so; else None."""
    url = str(record.get("source_url") or "")
    if url.startswith("http://") and ".staticflickr.com/" in url:  # COCO's lists are older than Flickr's https
        url = url.replace("http://", "https://", 1)
    parts = [url, f"({record['license']})" if record.get("license") else ""]
    return " ".join(part for part in parts if part) or None
