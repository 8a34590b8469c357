"""The model's own head: a classifier or regressor answers as it was trained to."""

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub import catalog
from oochub.errors import OochubError
from oochub.input import Input
from oochub.models.linear_head import Head, find_head
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.output import Output, output_of, output_of_features


class HeadMode(Mode):
    """A model of transformers with a trained head, whose outputs are the classes of the data set in any order.

    Raises:
        OochubError: The outputs of the model are not those of the data set.
    """

    auto_models: ClassVar[tuple[str, ...]] = ("AutoModelForImageClassification", "AutoModelForSequenceClassification")
    rank: ClassVar[int] = 0

    def __init__(self, source: ModelSource, inputs: Input, data: PredictedData) -> None:
        model, unexpected = source.opened(inputs.auto_model, inputs)
        self._model = model.to(data.device)
        self.kind = _kind(model, data.part)
        self._order, names = _class_order(model, data.part, self.kind)
        self.class_names = tuple(names)
        in_order = self._order == list(range(model.config.num_labels))
        self.network = self._model if in_order else _Reordered(self._model, self._order)
        self.about, self.training = source.about("head"), source.training
        self.details = {"unexpected_weights": list(unexpected)} if unexpected else {}

    def head(self, probe: Mapping[str, torch.Tensor]) -> Head:
        """See `Mode.head`."""
        head = find_head(self._model, probe)
        return head._replace(weight=head.weight[self._order], bias=head.bias[self._order])


class _Reordered(nn.Module):  # type: ignore[misc]
    """A model whose outputs are in another order."""

    def __init__(self, model: nn.Module, order: list[int]) -> None:
        super().__init__()
        self.model, self._order = model, order

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self.model(**inputs).logits[:, self._order])


def _kind(model: Any, part: Any) -> Output:
    """The kind of output: that of the data set's truth, else of the model's config."""
    name = output_of_features(part.features or {})
    if name is None:
        problem = getattr(model.config, "problem_type", None)
        name = next((each for each in catalog.names("output") if output_of(each).problem_type == problem), None)
        name = name or ("number" if model.config.num_labels == 1 else "classes")
    return output_of(name)


def _class_order(model: Any, part: Any, kind: Output) -> tuple[list[int], list[str]]:
    """(order, names): class k of the data set is output `order[k]` of the model. Of a number, its column's name."""
    named = model.config.id2label or {}  # some configs name none
    own = [str(named.get(k, f"LABEL_{k}")) for k in range(model.config.num_labels)]
    if kind.problem_type == "regression":
        if len(own) != 1:
            raise OochubError(
                f"A number needs one output, and the model has {len(own)}. Train one with `oochub train`."
            )
        return [0], [kind.label_column]
    features = part.features or {}
    has_truth = kind.label_column in features and kind.is_truth(features[kind.label_column])
    names = (kind.class_names(part) if has_truth else None) or own
    if names == own or (len(names) == len(own) and all(name.startswith("LABEL_") for name in own)):
        return list(range(len(own))), names
    if sorted(names) == sorted(own):
        return [own.index(name) for name in names], names
    raise OochubError(
        f"The model tells {len(own)} classes apart ({', '.join(own[:6])}{', ...' if len(own) > 6 else ''}), the data "
        f"set has {len(names)} ({', '.join(names[:6])}). Train a head with `oochub train --model MODEL`, or set "
        "model.config.id2label when the classes are the same under other names."
    )
