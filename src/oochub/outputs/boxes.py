"""Boxes around the things of one kind in an image, each with a score; an image may have any number, or none."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Answer, Arrays, ArraysOfRows, Output, PredictedRows, RowBoxes
from oochub.records.given_columns import GivenColumns
from oochub.stats.image_boxes import check_image_boxes, detection_accuracies

_THRESHOLD = 0.5  # a box with a score above it counts as an answer
_FORM = "a list of lists of four numbers, x1, y1, x2, y2,"
_NAMES = {"boxes": "detected_boxes", "true_boxes": "boxes", "box_categories": "detected_categories"}
_UNKNOWN = ((math.nan,) * 4,)
_MISFITS = (pa.ArrowException, TypeError, ValueError)
_BOXES, _SCORES = pa.list_(pa.list_(pa.float64(), 4)), pa.list_(pa.float64())
_SINGLE = pa.list_(pa.list_(pa.float32(), 4)), pa.list_(pa.float32())  # of a model, whose numbers have 32 bits
_CLASSES = pa.list_(pa.int64())
_BESIDE = {
    "detected_categories": "box_categories",
    "categories": "true_categories",
    "crowd": "true_crowd",
    "object_areas": "true_areas",
}


class Boxes(Output):
    """Boxes a row: `boxes` is a list of x1, y1, x2, y2 in pixels of the image, one box of nan where they are unknown.

    `detected_boxes` and `scores` are what the model said. Metrics get boxes and scores, those of the model; true_boxes;
    label, the same; prediction, the boxes with a score above 0.5; and loss (n,), 1 minus the detection accuracy of the
    image. A row of each of these is a tuple of any length.

    Beside them may stand `detected_categories` and `categories`, the class numbers of the boxes and the true ones;
    `crowd`, 1 for a true box of several objects; and `object_areas`, the areas of the true objects in pixels. Metrics
    get them as box_categories, true_categories, true_crowd and true_areas, and image_id, the place of each row in the
    order of the ids.
    """

    label_column = "boxes"
    columns = ("detected_boxes", "scores")
    primary_metric = "detection_accuracy"
    metrics = (
        "detection_accuracy",
        "box_average_precision",
        "box_precision_at_iou",
        "box_average_recall",
        "false_alarms",
    )
    group_metrics = ("detection_accuracy",)
    beside = tuple(_BESIDE)
    no_probability = "boxes, which have no probability per row"
    taken = (
        "columns detected_boxes, a list of lists x1, y1, x2, y2 per row, and scores, a list per row; or a file of "
        "COCO's results, or a folder of YOLO's labels"
    )

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """A List of Lists of numbers."""
        inner = getattr(getattr(feature, "feature", None), "feature", None)
        return str(getattr(inner, "dtype", "")).startswith(("float", "int"))

    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """Lists of boxes, one of nan where there is no truth."""
        true_boxes = [None] * rows if values is None else values
        return _read_column("boxes", [_UNKNOWN if row is None else row for row in true_boxes], _BOXES)

    def class_names(self, dataset: Any) -> list[str] | None:
        """The names of the column `categories`; if it has none, one name, "object"."""
        feature = dataset.features.get("categories")
        names = getattr(getattr(feature, "feature", None), "names", None)
        return list(names or ["object"])

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        for name in (self.label_column, *self.columns):
            depth, kind = 0, table.schema.field(name).type
            while pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
                depth, kind = depth + 1, kind.value_type
            is_number = pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_null(kind)
            if not is_number or depth > (name != "scores") + 1 or not depth:
                form = "a list of numbers" if name == "scores" else "a list of lists x1, y1, x2, y2"
                raise OochubError(f"{name} must hold {form} per row, got {table.schema.field(name).type}.")
        ids, beside = table.column("example_id"), _list_beside(table.column_names)
        rows = (table.column(name).to_pylist() for name in (self.label_column, *self.columns))
        more = [table.column(name).to_pylist() for name in beside]
        for number, (true, boxes, scores) in enumerate(zip(*rows, strict=True)):
            wanted = [] if _is_unknown(true) else true
            extra = (
                {}
                if _is_unknown(true)
                else {of: [column[number]] for of, column in zip(beside.values(), more, strict=True)}
            )
            try:
                check_image_boxes([boxes], [scores], [wanted], **extra)
            except OochubError as error:
                problem = re.sub(r"^\w+", lambda name: _NAMES.get(name[0], name[0]), str(error))
                problem = problem.replace(" at row 0", f" in {ids[number]}")
                raise OochubError(f"The truth is boxes, the answers are detected_boxes and scores: {problem}") from None

    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[Any]:
        """Tuples of boxes (n,)."""
        return _convert_rows(table.column(self.label_column))

    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows whose boxes are known (n,)."""
        return np.fromiter((not _is_unknown(boxes) for boxes in label), bool, len(label))

    def prediction(self, predictions: PredictedRows) -> NDArray[Any]:
        """The boxes with a score above 0.5 (n,)."""
        boxes, scores = (_convert_rows(predictions.rows.column(name)) for name in self.columns)
        return _pack_objects(
            tuple(box for box, score in zip(*row, strict=True) if score > _THRESHOLD)
            for row in zip(boxes, scores, strict=True)
        )

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label = predictions.label
        boxes, scores = (_convert_rows(predictions.rows.column(name)) for name in self.columns)
        is_known, beside = self.known(label), _list_beside(predictions.column_names)
        loss = np.full(len(label), math.nan)
        loss[is_known] = 1 - detection_accuracies(boxes[is_known], scores[is_known], label[is_known])
        return {
            "label": label,
            "true_boxes": label,
            "boxes": boxes,
            "scores": scores,
            "prediction": predictions.prediction,
            "loss": loss,
            "image_id": _order_ids(predictions.rows.column("example_id").to_pylist()),
            **{of: _convert_rows(predictions.rows.column(name)) for name, of in beside.items()},
        }

    def wrong(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Rows with a box that is missed or matches none (n,)."""
        label, predicted = arrays["label"], arrays["prediction"]
        wrong = self.known(label)
        sure = [(1.0,) * len(boxes) for boxes in predicted[wrong]]
        wrong[wrong] = detection_accuracies(predicted[wrong], sure, label[wrong]) < 1
        return wrong

    def mistake_keys(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Whether there are fewer boxes than true ones, as many, or more: -1, 0 or 1 (n,)."""
        counts = (np.fromiter(map(len, arrays[name]), np.int64, len(arrays[name])) for name in ("prediction", "label"))
        signs: NDArray[np.int64] = np.sign(np.subtract(*counts))
        return signs

    def answer(self, arrays: Mapping[str, NDArray[Any]], row: int, class_names: Sequence[str]) -> Answer:
        """How many boxes there are, and how many the model drew."""
        true, n_predicted = len(arrays["label"][row]), len(arrays["prediction"][row])
        return Answer(
            label=f"{true} {'box' if true == 1 else 'boxes'}",
            predicted=f"{n_predicted} {'box' if n_predicted == 1 else 'boxes'}",
            probability=math.nan,
            mistake="too_few" if n_predicted < true else "too_many" if n_predicted > true else "misplaced",
        )

    def boxes(self, arrays: Mapping[str, NDArray[Any]], row: int) -> RowBoxes:
        """See `Output.boxes`: for the answer, those with a score above 0.5."""
        return RowBoxes(true=arrays["label"][row], answered=arrays["prediction"][row])

    def count_boxes(self, arrays: ArraysOfRows) -> Mapping[str, NDArray[np.int64]]:
        """See `Output.count_boxes`: true boxes, where they are known, and those of the model, whatever their score."""
        is_known = self.known(arrays["true_boxes"])
        counts = {"true": arrays["true_boxes"], "drawn": arrays["boxes"]}
        return {name: np.fromiter(map(len, rows), np.int64, len(rows)) * is_known for name, rows in counts.items()}

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """The boxes of a model that gives 5 numbers for each: x1, y1, x2, y2, score; one below 0, or nan, is no box."""
        if outputs.shape[1] % 5:
            raise OochubError(
                "The answers here are boxes, so the model must be a detector, or give 5 numbers per box (x1, y1, x2, "
                f"y2 and a score); for an image this one gave {outputs.shape[1]}."
            )
        boxes = [row[row[:, 4] >= 0] for row in outputs.reshape(len(outputs), -1, 5)]
        return {
            "detected_boxes": _read_column("detected_boxes", [row[:, :4].tolist() for row in boxes], _SINGLE[0]),
            "scores": _read_column("scores", [row[:, 4].tolist() for row in boxes], _SINGLE[1]),
        }

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The boxes of `detected_boxes` and their `scores`."""
        if not all(columns.have(name) for name in self.columns):
            return None
        try:
            kinds = dict(zip(self.columns, (_BOXES, _SCORES), strict=True))
            kinds |= {"detected_categories": _CLASSES} if columns.have("detected_categories") else {}
            return {
                name: _read_column(name, columns.values(name).to_pylist(), kind, columns.ids)
                for name, kind in kinds.items()
            }
        except OochubError as error:
            columns.problems.append(str(error).removesuffix("."))
            return None


def _read_column(name: str, values: Sequence[Any], kind: pa.DataType, ids: Sequence[str] | None = None) -> pa.Array:
    """Rows as an Arrow array; an error names the first that is wrong, by its id where there are ids."""
    try:
        return pa.array(values, kind)
    except _MISFITS:
        for row, value in enumerate(values):
            try:
                pa.array([value], kind)
            except _MISFITS as error:
                form = "a list of numbers" if kind in (_SCORES, _CLASSES) else _FORM
                place = f"row {row}" if ids is None else ids[row]
                raise OochubError(f"{name} must hold {form} per row: {error}, in {place}.") from None
        raise


def _list_beside(names: Sequence[str]) -> dict[str, str]:
    """The columns beside the boxes that are there, each with the array that it is; classes of both sides, or none."""
    columns = {name: of for name, of in _BESIDE.items() if name in names}
    if not {"categories", "detected_categories"} <= columns.keys():
        columns = {name: of for name, of in columns.items() if name not in ("categories", "detected_categories")}
    return columns


def _order_ids(ids: Sequence[str]) -> NDArray[np.int64]:
    """The place of each id in their order (n,), by number where all are numbers."""
    are_numbers = all(example_id.isascii() and example_id.isdigit() for example_id in ids)
    order = sorted(range(len(ids)), key=lambda row: (int(ids[row]), row) if are_numbers else (ids[row], row))
    places = np.empty(len(ids), np.int64)
    places[order] = np.arange(len(ids))
    return places


def _convert_rows(column: Any) -> NDArray[Any]:
    """A column of lists as tuples (n,), of lists of lists as tuples of tuples."""
    return _pack_objects(
        tuple(tuple(element) if isinstance(element, list) else element for element in row) for row in column.to_pylist()
    )


def _pack_objects(rows: Any) -> NDArray[Any]:
    listed = list(rows)
    array = np.empty(len(listed), object)
    array[:] = listed
    return array


def _is_unknown(boxes: Sequence[Any]) -> bool:
    return len(boxes) == 1 and bool(boxes[0]) and all(number != number for number in boxes[0])
