"""A row as a reader sees it: what it is, what the model answered, its image or text."""

import base64
from collections.abc import Mapping
from typing import Any

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.output import RowBoxes
from oochub.records.report_records import BoxesInPicture, Mistake


def make_mistake(row: int, evaluated: EvaluationRows, *, is_out: bool | None) -> Mistake:
    """One row as a reader sees it.

    Args:
        row: Number of the row.
        evaluated: The rows.
        is_out: Whether it is out of context; None where no row is, and for one that is of neither side.
    """
    predictions, columns = evaluated.predictions, evaluated.columns
    record = predictions.rows.row(row)
    answer, thumbnail = predictions.output.answer(columns, row, predictions.class_names), record.get("thumbnail")
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
        image=None if thumbnail is None else base64.b64encode(thumbnail).decode("ascii"),
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
    true, answered = (tuple((x1, y1, x2, y2) for x1, y1, x2, y2 in box) for box in boxes)
    return BoxesInPicture(width=width, height=height, true=true, answered=answered)


def find_attribution(record: Mapping[str, Any]) -> str | None:
    """The source of a row's image and its license, as far as its columns say so; else None."""
    url = str(record.get("source_url") or "")
    if url.startswith("http://") and ".staticflickr.com/" in url:  # COCO's lists are older than Flickr's https
        url = url.replace("http://", "https://", 1)
    parts = [url, f"({record['license']})" if record.get("license") else ""]
    return " ".join(part for part in parts if part) or None
