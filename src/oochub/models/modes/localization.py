"""Localization: a detector or segmenter names the object of a row, at the place where the object is."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.callable_model import CallableModel
from oochub.models.class_map import match_classes, read_label_map
from oochub.models.extraction import check_whole_images, read_image_sizes, score_boxes
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import choose_auto_model
from oochub.output import find_output_of_features, get_output
from oochub.stats.image_boxes import measure_overlap

_MOST = 100  # boxes of an image, the surest
_CELLS = 64  # a side of the map of a segmenter
_FARTHEST = 2  # of a fraction; more is a number of pixels
_FORM = "a mapping with boxes (m, 4), fractions x1, y1, x2, y2 of the image, scores (m,) and classes (m,), numbers"


class LocalizationMode(Mode):
    """A detector or segmenter that names one object per row: the class of its surest box on the object.

    A box counts if its score reaches `threshold` and, if the data say where the object is, its intersection over union
    with a box of the object reaches `iou`. The boxes of a row are the column `boxes`, x1, y1, x2, y2 in pixels, one or
    a list of them, and need the columns `width` and `height`; without a column of boxes the object may be anywhere.
    Without such a box the answer is "none of them", which is wrong. The boxes of a semantic segmenter are those around
    each connected area of a class, on a map of 64 by 64 cells, with score 1.

    Besides models of transformers, a function answers, such as that of `--model-file`: it takes a batch of images and
    returns a mapping for each, with `boxes` (m, 4), x1, y1, x2, y2 as fractions of the image, `scores` (m,) in [0, 1]
    and `classes` (m,), numbers of its class names. Its transform must show it whole images.

    Args:
        source: A model for object detection or semantic segmentation, or a function.
        inputs: How the images are read.
        data: Rows with one class each.
        label_map: A class of the data set to the classes of the model that are it, where names differ: a mapping, or a
            .csv or .json file; see `oochub.models.class_map`.
        restrict: Leave out the rows of classes that the model does not know, instead of an error.
        threshold: The lowest score at which a box counts, in [0, 1].
        iou: The lowest intersection over union with the object, in [0, 1].

    Raises:
        OochubError: A model of another kind, rows without one class each, classes that the model does not know.
    """

    auto_models: ClassVar[tuple[str, ...]] = ("AutoModelForObjectDetection", "AutoModelForSemanticSegmentation")
    rank: ClassVar[int] = 3
    is_linear = False
    is_one_pass = False
    headless: ClassVar[str] = "answers with the class of a box"

    def __init__(
        self,
        source: ModelSource,
        inputs: Input,
        data: PredictedData,
        *,
        label_map: str | Path | Mapping[str, Any] | None = None,
        restrict: bool = False,
        threshold: float = 0.25,
        iou: float = 0.5,
    ) -> None:
        for name, value in {"threshold": threshold, "iou": iou}.items():
            if not 0 <= value <= 1:
                raise OochubError(f"{name} must be in [0, 1], got {value:g}.")
        kind = get_output("classes")
        features = data.part.features or {}
        names = kind.class_names(data.part) if find_output_of_features(features) == "classes" else None
        if not names:
            raise OochubError("The mode localization names the object of each row, so rows need one class each.")
        self.kind, self._threshold, self._iou = get_output("choices"), threshold, iou
        given = None if label_map is None else read_label_map(label_map)
        config = source.config
        own = [str(config.id2label[number]) for number in range(config.num_labels)]
        matched = match_classes(own, names, given=given, restrict=restrict)
        self.class_names, self.left_out = matched.class_names, matched.left_out
        numbers = torch.full((len(own),), -1)
        for place, outputs in enumerate(matched.outputs):
            numbers[list(outputs)] = place
        self._is_map = False
        if isinstance(source.given, CallableModel):
            self.network = _Drawing(_draw_given, source.given, numbers)
        else:
            check_whole_images(inputs.processor)
            auto = choose_auto_model(source, self.auto_models, mode="localization")
            model, _ = source.open(auto, inputs, whole=True)
            self._is_map = auto == "AutoModelForSemanticSegmentation"
            self.network = _Drawing(_draw_areas if self._is_map else _draw_boxes, model, numbers)
        self.network = self.network.to(data.device).eval()
        self.about, self.training = source.about("localization"), source.training
        self.details = {"head": "none: answers are boxes", "threshold": threshold, "iou": iou}
        where = (
            f"on the object (intersection over union of at least {iou:g})" if "boxes" in features else "in the image"
        )
        self.notes = (
            *matched.notes,
            f"an answer is the class of the surest box {where}, none below a score of {threshold:g}",
        )

    def finish(self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float32]:
        """See `Mode.finish`: the number of the class at the object's place, (n, 1); -1 where nothing is found."""
        drawn = outputs.astype(np.float64)
        rows = [_read_areas(row) for row in drawn] if self._is_map else list(drawn.reshape(len(drawn), -1, 6))
        places = _read_places(columns, len(rows))
        chosen = [self._choose(row, place) for row, place in zip(rows, places, strict=True)]
        return np.array(chosen, np.float32).reshape(-1, 1)

    def _choose(self, drawn: NDArray[np.float64], place: NDArray[np.float64] | None) -> int:
        """The class of the first box (m, 6: corners, score, class), the surest, at a place (k, 4); -1 without one."""
        drawn = drawn[(drawn[:, 4] >= self._threshold) & (drawn[:, 5] >= 0)]
        if place is not None and len(drawn):
            drawn = drawn[measure_overlap(drawn[:, :4], place).max(axis=1, initial=0) >= self._iou]
        return int(drawn[0, 5]) if len(drawn) else -1


class _Drawing(nn.Module):  # type: ignore[misc]
    """What one of the functions below makes of a batch, (b, ...), given the number in the data of each class."""

    numbers: torch.Tensor

    def __init__(
        self, draw: Callable[[Any, torch.Tensor, Mapping[str, torch.Tensor]], torch.Tensor], model: nn.Module,
        numbers: torch.Tensor,
    ) -> None:  # fmt: skip
        super().__init__()
        self._draw, self.model = draw, model
        self.register_buffer("numbers", numbers)

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self._draw(self.model, self.numbers, inputs))


_Inputs = Mapping[str, torch.Tensor]


def _draw_boxes(model: nn.Module, numbers: torch.Tensor, inputs: _Inputs) -> torch.Tensor:
    """The surest boxes of a detector, their scores and classes: (b, 6 * 100), a score of -1 where there are fewer."""
    output = model(**inputs)
    boxes, scores, label = score_boxes(output.logits, output.pred_boxes, len(numbers))
    return torch.stack([_pack(*row) for row in zip(boxes, scores, numbers[label], strict=True)])


def _draw_areas(model: nn.Module, numbers: torch.Tensor, inputs: _Inputs) -> torch.Tensor:
    """The class of each cell of a segmenter's map, (b, 64 * 64); -1 for a class that is not asked for."""
    label = numbers[model(**inputs).logits.argmax(1)]
    return nn.functional.interpolate(label[:, None].float(), (_CELLS, _CELLS), mode="nearest").flatten(1)


def _draw_given(model: CallableModel, numbers: torch.Tensor, inputs: _Inputs) -> torch.Tensor:
    """The boxes of a function, as `_draw_boxes` gives them.

    Raises:
        OochubError: It returns another form.
    """
    answers: Any = model.function(inputs["pixel_values"])

    def refuse(got: str) -> OochubError:
        return OochubError(f"{model.model_id} must return, for each image, {_FORM}. It returned {got}.")

    if not isinstance(answers, list | tuple) or len(answers) != len(inputs["pixel_values"]):
        raise refuse(f"a {type(answers).__name__}")
    rows = []
    for answer in answers:
        missing = {"boxes", "scores", "classes"} - set(answer if isinstance(answer, Mapping) else ())
        if missing:
            raise refuse(f"one without {', '.join(sorted(missing))}")
        boxes, scores = (torch.as_tensor(np.asarray(answer[name], np.float32)) for name in ("boxes", "scores"))
        classes = torch.as_tensor(np.asarray(answer["classes"]).astype(np.int64))
        m, last = len(scores), len(numbers) - 1
        has_form = boxes.numel() == 4 * m and tuple(classes.shape) == (m,)
        if not has_form or (m and not 0 <= int(classes.min()) <= int(classes.max()) <= last):
            raise refuse(
                f"boxes {tuple(boxes.shape)}, scores {tuple(scores.shape)} and classes {tuple(classes.shape)}, of "
                f"which each must be from 0 to {last}"
            )
        if m and float(boxes.max()) > _FARTHEST:
            raise refuse(f"a box that ends at {float(boxes.max()):g}")
        boxes, scores, classes = (tensor.to(numbers.device) for tensor in (boxes.reshape(-1, 4), scores, classes))
        rows.append(_pack(boxes, scores, numbers[classes]))
    return torch.stack(rows)


def _pack(boxes: torch.Tensor, scores: torch.Tensor, numbers: torch.Tensor) -> torch.Tensor:
    """The surest boxes of an image in one row, the surest first, (6 * 100,)."""
    scores = scores.where(numbers >= 0, -1.0)
    best = scores.argsort(descending=True)[:_MOST]
    row = torch.cat([boxes[best], scores[best, None], numbers[best, None].to(scores.dtype)], 1)
    return nn.functional.pad(row, (0, 0, 0, _MOST - len(best)), value=-1.0).flatten()


def _read_areas(cells: NDArray[np.float64]) -> NDArray[np.float64]:
    """A box around each connected area of a class, (m, 6)."""
    from scipy import ndimage

    grid, boxes = cells.reshape(_CELLS, _CELLS), list[list[float]]()
    for number in np.unique(grid[grid >= 0]):
        for rows, columns in ndimage.find_objects(ndimage.label(grid == number)[0]):
            corners = [columns.start, rows.start, columns.stop, rows.stop]
            boxes.append([*(corner / _CELLS for corner in corners), 1.0, float(number)])
    return np.array(boxes).reshape(-1, 6)


def _read_places(columns: Mapping[str, Sequence[Any]], rows: int) -> list[NDArray[np.float64] | None]:
    """The boxes of each row's object as fractions of its image (k, 4); None for data without boxes.

    Raises:
        OochubError: Boxes without the size of the image.
    """
    if "boxes" not in columns:
        return [None] * rows
    sizes = np.tile(read_image_sizes(columns), 2)
    boxes = (
        np.asarray([] if row_boxes is None else row_boxes, np.float64).reshape(-1, 4) for row_boxes in columns["boxes"]
    )
    return [row_boxes / size for row_boxes, size in zip(boxes, sizes, strict=True)]
