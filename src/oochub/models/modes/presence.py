"""Presence: a detector or segmenter predicts whether an object is present, from the highest score of its class."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, choose_wording
from oochub.input import Input
from oochub.models.class_map import match_classes, read_label_map
from oochub.models.extraction import check_whole_images, draw_boxes, read_image_sizes
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.models.supported_models import choose_auto_model
from oochub.output import check_fixed_classes, find_output_of_features, get_output
from oochub.records.build_record import BuildFacts, BuildRecord, PresenceClass, presence_class

_LEAST = 1e-7  # the probability that a score is raised to
_MAPS_OF_TEXT = ("pp_ocrv5_mobile_det", "pp_ocrv5_server_det", "pp_ocrv6_medium_det", "pp_ocrv6_small_det")
"""Types whose last_hidden_state is the probability of each pixel to be text, their one class."""


class PresenceMode(Mode):
    """A detector or segmenter of transformers, asked whether a thing is in the image.

    p is the largest score of the thing's class: over the boxes or masks that the model proposes, or over the pixels of
    a semantic segmenter at the resolution of its output. A score is what transformers' own post-processing makes of
    the logits: a softmax without its last class, "no object", where the model has one; a softmax over classes in each
    pixel; else a sigmoid. It holds for the best proposal, whatever that looks most like. p is clipped to
    [1e-7, 1 - 1e-7] in float64, and the logits are (0, log(p / (1 - p))) for (absent, present), or
    log(p / (1 - p)) for each of several labels. The largest of many scores is no calibrated probability.

    For a data set with boxes, a detector answers with the boxes that it draws, in pixels of the image, each with the
    score of its class; those of other classes are left out, whatever their score, and none else.

    Args:
        source: A model for object detection, semantic, instance or universal segmentation.
        inputs: How the images are read.
        data: Two classes of which one says "no" ("no_car", "car"), or several labels per row.
        label_map: The thing to the classes of the model that are it, where names differ: a mapping, or a .csv or .json
            file; see `oochub.models.class_map`.

    Raises:
        OochubError: A model of another kind, a task that asks for no thing, a thing that the model does not know.
    """

    auto_models: ClassVar[tuple[str, ...]] = (
        "AutoModelForObjectDetection",
        "AutoModelForSemanticSegmentation",
        "AutoModelForUniversalSegmentation",
        "AutoModelForInstanceSegmentation",
    )
    rank: ClassVar[int] = 2
    headless: ClassVar[str] = "answers with the largest score of a class"
    is_linear = False

    def __init__(
        self,
        source: ModelSource,
        inputs: Input,
        data: PredictedData,
        *,
        label_map: str | Path | Mapping[str, Any] | None = None,
    ) -> None:
        auto = choose_auto_model(source, self.auto_models, mode="presence")
        given = None if label_map is None else read_label_map(label_map)
        features = data.part.features or {}
        self.kind = get_output(find_output_of_features(features) or "classes")
        check_fixed_classes(self.kind)
        names = self.kind.class_names(data.part) if self.kind.label_column in features else None
        self.class_names = tuple(names or ())
        record = BuildRecord.of(data.part.info)
        thing = None if self.kind.name in ("labels", "boxes") else _find_thing(self.class_names, record)
        config = source.config
        own = [str(config.id2label[number]) for number in range(config.num_labels)]
        things = self.class_names if thing is None else (thing.name,)
        matched = match_classes(own, things, given=given, can_restrict=False)
        model, unexpected = source.open(auto, inputs, logits=_get_answers, whole=True)
        model = model.to(data.device)
        if self.kind.name == "boxes":
            check_whole_images(inputs.processor)
            self.network = _Drawn(model, [number for own in matched.outputs for number in own]).eval()
        else:
            self.network = _Present(model, matched.outputs, None if thing is None else thing.present).eval()
        self.about, self.training = source.about("presence"), source.training
        self.details = {
            "head": "none: answers are the largest score of a class",
            "scores": {name: [own[k] for k in outputs] for name, outputs in zip(things, matched.outputs, strict=True)},
        } | ({"unexpected_weights": list(unexpected)} if unexpected else {})
        note = (
            "the probability that a thing is there is the largest score of its class in the image, which is not "
            "calibrated"
        )
        self.notes = () if self.kind.name == "boxes" else (note,)

    def finish(self, outputs: NDArray[np.float32], columns: Mapping[str, Sequence[Any]]) -> NDArray[np.float32]:
        """See `Mode.finish`: boxes in pixels of the image, of which `width` and `height` are columns."""
        if self.kind.name != "boxes":
            return outputs
        size = read_image_sizes(columns).astype(np.float32)
        ones = np.ones((len(size), 1), np.float32)
        scale = np.concatenate([size, size, ones], axis=1)
        pixels: NDArray[np.float32] = (outputs.reshape(len(outputs), -1, 5) * scale[:, None]).reshape(len(outputs), -1)
        return pixels


class _Present(nn.Module):  # type: ignore[misc]
    """log(p / (1 - p)) of the largest score of each thing; `present` is the class of two that says that it is there."""

    def __init__(self, model: Any, outputs: Sequence[tuple[int, ...]], present: int | None) -> None:
        super().__init__()
        self.model, self._outputs, self._present = model, outputs, present

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        scores = _scores(_get_answers(self.model, inputs).double(), self.model.config.num_labels)
        largest = torch.stack([scores[:, :, list(own)].amax((1, 2)) for own in self._outputs], 1)
        logits = largest.clamp(_LEAST, 1 - _LEAST).logit()
        if self._present is not None:
            both = [torch.zeros_like(logits), logits]
            logits = torch.cat(both if self._present else both[::-1], 1)
        return ImageClassifierOutput(logits=logits.float())


class _Drawn(nn.Module):  # type: ignore[misc]
    """The boxes that a detector draws, x1, y1, x2, y2 as fractions of the image, and the score of each: (b, 5 q)."""

    def __init__(self, model: Any, asked: Sequence[int]) -> None:
        super().__init__()
        self.model, self._asked = model, asked

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        output = self.model(**inputs)
        drawn = draw_boxes(output.logits, output.pred_boxes, self._asked, classes=self.model.config.num_labels)
        return ImageClassifierOutput(logits=drawn.flatten(1))


def _get_answers(model: Any, inputs: Mapping[str, torch.Tensor]) -> torch.Tensor:
    """Logits of proposals (b, n, c), or of pixels (b, c, height, width)."""
    if model.config.model_type in _MAPS_OF_TEXT:
        scores: torch.Tensor = model(pixel_values=inputs["pixel_values"]).last_hidden_state
        return scores.logit(_LEAST)
    output = model(**inputs)
    logits: torch.Tensor = output["class_queries_logits" if "class_queries_logits" in output else "logits"]
    return logits


def _scores(logits: torch.Tensor, classes: int) -> torch.Tensor:
    """What post-processing makes of logits, in [0, 1]: (b, n, classes) of n proposals or pixels."""
    if logits.ndim == 4:
        logits = logits.flatten(2).transpose(1, 2)
        return logits.softmax(-1) if classes > 1 else logits.sigmoid()
    return logits.softmax(-1)[..., :-1] if logits.shape[-1] == classes + 1 else logits.sigmoid()


def _find_thing(names: Sequence[str], record: BuildRecord | None) -> PresenceClass:
    thing = presence_class(names, record.facts if record else BuildFacts())
    if thing is None:
        raise OochubError(
            "A detection or segmentation model says whether a thing is present, so the dataset needs two classes of "
            "which one means absence, such as no_car and car, or several labels per row; it has "
            f"{', '.join(names[:6]) or 'no classes'}. To let it name the object of each row, pass "
            f"{choose_wording('mode=', '--mode')} localization."
        )
    return thing
