"""Surroundings of the object from semantic segmentation: NOOCH's co-occurrence criterion for any images.

The segmenter says what each class of its label set takes of an image. A class is a context of the data's class Y where
it takes alpha of the image more than Y itself, on average over the rows of Y that may be looked at; an image has the
context where it takes more than beta.

Limitations: Y's own area is that of the segmenter's class of that name (or of `label_map`). If the segmenter does not
    know Y, this area counts as 0, and what the segmenter takes Y for may be named as a context of Y.

Source: Madras and Zemel, NOOCH, Section 3.2.1 and Appendix B.3.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.builders.sources.context_table import ContextTable
from oochub.context_finder import NamedContexts, OpenedPicture
from oochub.context_finding.image_model import ImageModel, ModelWay, join_chunks, list_true_columns
from oochub.errors import OochubError, unknown_name
from oochub.models.class_map import list_class_words
from oochub.records.build_record import BuildFacts, presence_class
from oochub.records.sides import CHALLENGES

if TYPE_CHECKING:
    import torch

    from oochub.input import Input

_EDGE = 320  # pixels of the longer side at which classes are counted
_OTHERS = ("oneformer", "eomt", "eomt_dinov3", "videomt")  # read a text, parts of an image, or films beside it
_AUTO = ("AutoModelForSemanticSegmentation", "AutoModelForUniversalSegmentation")


class _Prepared(NamedTuple):
    """The inputs of a segmenter for one image, and the shape (height, width) at which its classes are counted."""

    inputs: object
    shape: tuple[int, int]


class Segments(ModelWay):
    """What each class of a segmenter takes of an image.

    Measures: `areas`, float64 (l,), the fraction of the pixels of each of the l classes of the segmenter, in their
    order; together 1, or less where it leaves pixels out. Pixels are those of the post-processing of transformers, with
    the longer side at 320 pixels where an image is larger.

    Columns: `segments`, the classes that an image shows; `areas`; `challenge_ce`, NOOCH-CE of the row's class,
    null for a class without contexts.

    Args:
        model: Folder or Hub id of a model for semantic or universal segmentation, or the model itself with
            `image_processor`.
        label_map: A class of the data to the classes of the segmenter that are it, where names differ, by name or
            number: a mapping, {"bulldog": ["dog"]}, or a .csv or .json file, see `oochub.models.class_map`.
        alpha: Fraction of the image that a context takes beyond what the object takes, on average.
        beta: The fraction of the image above which a context is there.
        image_processor: Image processor of another model, if this one has none.
        device: "auto", "cpu", "cuda", ...

    Raises:
        OochubError: A model of another kind, a class of `label_map` that it does not know, alpha or beta out of range.
    """

    batch_size = 8

    def __init__(
        self,
        *,
        model: Any,
        label_map: str | Path | Mapping[str, Any] | None = None,
        alpha: float = 0.05,
        beta: float = 0.1,
        image_processor: Any = None,
        device: str = "auto",
    ) -> None:
        from oochub.models.class_map import read_label_map

        if not (alpha >= 0 and 0 <= beta < 1):
            raise OochubError(f"alpha must be at least 0 and beta a fraction in [0, 1), got {alpha} and {beta}.")
        super().__init__(model, image_processor=image_processor, device=device)
        self._alpha, self._beta = alpha, beta
        self._auto = _load_auto_model(self._source)
        config = self._source.config
        names = [str(config.id2label[number]) for number in range(config.num_labels)]
        self._names = [
            spelling if names.count(spelling) == 1 else f"{spelling} ({number})"
            for number, spelling in enumerate(names)
        ]
        given = {} if label_map is None else read_label_map(label_map)
        self._given = {
            name: [self._number(name, category) for category in categories] for name, categories in given.items()
        }

    def settings(self) -> dict[str, Any]:
        """See `ContextWay.settings`."""
        return self._describe_model(edge=_EDGE)

    def check(self, classes: Sequence[str]) -> None:
        """See `ContextWay.check`: the classes of the data that `label_map` names."""
        if unknown := [name for name in self._given if classes and name not in classes]:
            raise unknown_name("class of the data", unknown[0], classes, "The label map names it.")

    def prepare(self, picture: OpenedPicture) -> "_Prepared":
        """See `ContextWay.prepare`: the inputs of the model, and the shape at which classes are counted."""
        return _Prepared(self._ready.prepare(picture.image), _make_counter(picture.image.height, picture.image.width))

    def measures(self, prepared: "Sequence[_Prepared]") -> pa.Table:
        """See `ContextWay.measures`."""
        areas, classes = [], len(self._names)
        for numbers in self.maps(prepared):
            inside = numbers[(numbers >= 0) & (numbers < classes)]
            areas.append(np.bincount(inside, minlength=classes) / numbers.size)
        lists = pa.FixedSizeListArray.from_arrays(np.concatenate(areas), classes)
        return pa.table({"areas": lists})

    def maps(self, prepared: "Sequence[_Prepared]") -> list[NDArray[np.int64]]:
        """The class number of each pixel of each image, of its shape, the longer side at 320 pixels at most."""
        model = self._ready
        make_maps = model.inputs.processor.post_process_semantic_segmentation
        labels: list[NDArray[np.int64]] = []
        for output in model.answers([picture.inputs for picture in prepared]):
            sizes = [picture.shape for picture in prepared[len(labels) : len(labels) + model.rows]]
            labels += [numbers.cpu().numpy() for numbers in make_maps(output, target_sizes=sizes)]
        return labels

    def name(
        self, measures: pa.Table, *, label: NDArray[np.int64], classes: Sequence[str], chosen_on: NDArray[np.bool_]
    ) -> NamedContexts:
        """See `ContextWay.name`."""
        if not chosen_on.any():
            raise OochubError("There are no images to choose contexts on. Use more images.")
        self.check(classes)
        column = join_chunks(measures.column("areas"))
        areas = column.flatten().to_numpy().reshape(len(column), len(self._names))
        usual = self._find_usual(areas[chosen_on], label[chosen_on], classes)
        has = areas > self._beta
        often = has[chosen_on].mean(0)
        wanted = set().union(*usual.values()) if usual else set(range(len(self._names)))
        frequent = [number for number in sorted(wanted) if 0 < often[number] < 1]
        exact = datasets.Value("float64")
        return NamedContexts(
            names=tuple(self._names[number] for number in frequent),
            words=tuple(f"{self._names[number]} on more than {self._beta:g} of the image" for number in frequent),
            has=has[:, frequent],
            settings={
                "alpha": self._alpha,
                "beta": self._beta,
                "usual": {classes[y]: [self._names[number] for number in of] for y, of in usual.items()},
            },
            columns={
                "segments": (
                    datasets.List(datasets.ClassLabel(names=list(self._names))),
                    list_true_columns(areas > 0),
                ),
                "areas": (datasets.List(exact, length=len(self._names)), column),
                "challenge_ce": (
                    datasets.ClassLabel(names=list(CHALLENGES)),
                    self._judge_challenge(areas, label, classes, usual),
                ),
            },
        )

    def _find_usual(
        self, areas: NDArray[np.float64], label: NDArray[np.int64], classes: Sequence[str]
    ) -> dict[int, list[int]]:
        """The alpha-contexts of each class, the largest first; a class that says that a thing is absent has none."""
        if not classes:
            return {}
        thing = presence_class(classes, BuildFacts())
        judged = range(len(classes)) if thing is None else [thing.present]
        own = {y: self.classes_of(classes[y]) for y in judged}
        area = np.stack([areas[:, own[y]].sum(1) for y in judged], 1)
        table = ContextTable.of(
            [*self._names, *(f"class {classes[y]}" for y in judged)],
            present=np.concatenate([areas > 0, label[:, None] == np.array(judged)], 1),
            area=np.concatenate([areas, area], 1),
        )
        usual = {}
        for y in judged:
            contexts = table.contexts(f"class {classes[y]}", self._alpha)
            numbers = [self._names.index(name) for name in contexts if name in self._names]
            usual[y] = [number for number in numbers if number not in own[y]]
        return usual

    def _judge_challenge(
        self,
        areas: NDArray[np.float64],
        label: NDArray[np.int64],
        classes: Sequence[str],
        usual: Mapping[int, Sequence[int]],
    ) -> pa.Array:
        """NOOCH-CE: that of the one thing that is asked for, else of the class of each row."""
        co_occurrence = catalog.get("criterion", "co_occurrence")
        sides = np.full(len(label), None, object)
        is_asked = len(classes) == 2 and len(usual) == 1
        for y, contexts in usual.items():
            if contexts:
                rows = (label >= 0) if is_asked else label == y
                sides[rows] = co_occurrence(label[rows] == y, areas[rows][:, contexts], self._beta)
        return pa.array([None if side is None else CHALLENGES.index(side) for side in sides], pa.int64())

    def classes_of(self, name: str) -> list[int]:
        """The segmenter's classes that are a class of the data: those given, else those of its name."""
        words = set(list_class_words(name))
        return self._given.get(name) or [
            k for k, other in enumerate(self._names) if words & set(list_class_words(other))
        ]

    def _number(self, name: str, known: str | int) -> int:
        if known in self._names:
            return self._names.index(str(known))
        if str(known).isdecimal() and int(known) < len(self._names):
            return int(known)
        raise unknown_name("class of the segmenter", str(known), self._names, f"The label map gives it for {name}.")

    def _open(self, inputs: "Input", device: "torch.device") -> "ImageModel[Any]":
        if not hasattr(inputs.processor, "post_process_semantic_segmentation"):
            raise OochubError(
                f"{type(inputs.processor).__name__} makes no map of classes, so it is not the processor of a "
                "segmentation model. Pass the one that the model was published with, image_processor=."
            )
        network = self._source.open(self._auto, inputs, logits=_get_answers, whole=True).model.to(device)
        numbers = partial(_get_answers, network)
        return ImageModel(
            inputs, network, lambda batch: network(**batch), device, most=self.batch_size, numbers=numbers
        )


def _load_auto_model(source: Any) -> str:
    from oochub.models.supported_models import choose_auto_model

    fault = None
    try:
        name = choose_auto_model(source, _AUTO, mode="segments")
    except OochubError as error:
        fault = error
    if fault or source.config.model_type in _OTHERS:
        raise OochubError(
            "segments needs a semantic segmentation model of transformers that takes only an image, but "
            f"{source.about('segments').id} is a {source.architecture or 'model that does not say what it is'}. Use "
            "one such as SegFormer, UperNet, BEiT, DPT, MaskFormer or Mask2Former."
        ) from fault
    return name


def _get_answers(model: Any, inputs: Mapping[str, "torch.Tensor"]) -> "torch.Tensor":
    """What decides the map: logits of pixels, or of proposals and their masks together."""
    import torch

    output = model(**inputs)
    parts = [output[name] for name in ("logits", "class_queries_logits", "masks_queries_logits") if name in output]
    return torch.cat([part.flatten() for part in parts])


def _make_counter(height: int, width: int) -> tuple[int, int]:
    scale = min(1.0, _EDGE / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))
