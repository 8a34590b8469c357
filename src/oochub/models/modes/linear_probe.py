"""A linear probe: logistic regression on what an encoder sees of the training split."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn
from transformers.modeling_outputs import ImageClassifierOutput

from oochub.errors import OochubError, either
from oochub.input import Input
from oochub.models.encoder import Encoder
from oochub.models.logistic_regression import GRID, logistic_regression
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.models.stored_features import stored_features
from oochub.output import output_of, output_of_features

_TRAIN, _VALIDATION = "train", "validation"


class LinearProbeMode(Mode):
    """Logistic regression on the features of any image encoder, trained on the split train.

    The penalty is chosen on the split validation, else on a held-out fifth of train; see
    `oochub.models.logistic_regression`. Groups and environments are not used. The standardization of the features is
    folded into the weights: the network is the encoder and one linear layer on its features, so that all detectors
    run. The features of train and validation are kept, see docs/cache.md.

    Args:
        source: A model that `transformers.AutoModel` opens, a classifier, or a model of pictures and texts.
        inputs: Of pictures or arrays.
        data: With a split train, which has a row of every class.
        pooling: Where the features are from: "auto", see `oochub.models.encoder.Encoder.opened`, or "pooler", "cls",
            "mean".

    Raises:
        OochubError: A data set without a split train beside what is predicted, one of numbers or of several labels, a
            class without a training row, or a model without features.
    """

    auto_models: ClassVar[tuple[str, ...]] = ("AutoModel",)
    rank: ClassVar[int] = 9

    def __init__(self, source: ModelSource, inputs: Input, data: PredictedData, *, pooling: str = "auto") -> None:
        self.class_names = _class_names(inputs, data)
        encoder = Encoder.opened(source, inputs, pooling=pooling).to(data.device).eval()
        train = stored_features(encoder, source, inputs, data, _TRAIN)
        missing = [name for k, name in enumerate(self.class_names) if not (train.label == k).any()]
        if missing:
            raise OochubError(
                f"A linear probe learns each class from rows of {_TRAIN}, and {', '.join(missing[:5])} has none there. "
                "Add some, or leave the class out of the data set."
            )
        held_out = None
        if _VALIDATION in data.splits:
            rows = stored_features(encoder, source, inputs, data, _VALIDATION)
            held_out = rows if len(rows.label) else None
        probe = logistic_regression(*train, classes=len(self.class_names), validation=held_out)
        self.kind = output_of("classes")
        self.network = _Probed(encoder, probe.weight, probe.bias).to(data.device).eval()
        self.about, self.training = source.about("linear_probe"), source.training
        chosen_on = _VALIDATION if held_out is not None else f"a held-out fifth of {_TRAIN}"
        self.details = {
            "linear_probe": {
                **{"rows": len(train.label), "features": encoder.pooling, "dimensions": train.features.shape[1]},
                **{"c": probe.c, "grid": list(GRID), "chosen_on": chosen_on, "chosen_on_rows": probe.chosen_on},
                **{"accuracy": probe.accuracy, "converged": probe.has_converged},
            },
            **({"unexpected_weights": list(encoder.unexpected)} if encoder.unexpected else {}),
        }
        stopped = "" if probe.has_converged else ", stopped before its optimum"
        self.notes = (
            f"A linear probe trained on {len(train.label):,} rows of {_TRAIN}, its penalty (C = {probe.c:g}) chosen on "
            f"{chosen_on}{stopped}",
        )


class _Probed(nn.Module):  # type: ignore[misc]
    """An encoder and a linear layer on its features."""

    def __init__(self, encoder: Encoder, weight: Any, bias: Any) -> None:
        super().__init__()
        self.encoder, self.head = encoder, nn.Linear(weight.shape[1], len(weight))
        self.head.weight.data = torch.from_numpy(np.asarray(weight, dtype=np.float32))
        self.head.bias.data = torch.from_numpy(np.asarray(bias, dtype=np.float32))
        self.head.requires_grad_(False)

    def forward(self, **inputs: torch.Tensor) -> ImageClassifierOutput:
        return ImageClassifierOutput(logits=self.head(self.encoder(**inputs)))


def _class_names(inputs: Input, data: PredictedData) -> tuple[str, ...]:
    """The classes, after a look at what can be known before the weights are opened."""
    if inputs.words() == "texts":
        raise OochubError('The mode linear_probe reads pictures and arrays. A model of texts takes mode "head".')
    hold_out = either(
        'datasets.DatasetDict(train=..., test=...), or rows.train_test_split(0.2, stratify_by_column="label").',
        "make folders or files train and test.",
    )
    if _TRAIN not in data.splits:
        found = ", ".join(map(str, data.splits))
        raise OochubError(
            f"A linear probe learns from a split {_TRAIN}, and the data set has {found}. Give it one: {hold_out} "
            "A model gets a head of its own by `oochub train --model MODEL`."
        )
    if len(data.splits) == 1:
        raise OochubError(
            f"All rows are in {_TRAIN}, so none is left to be predicted: a probe is not scored on what it learned. "
            f"Hold some out: {hold_out}"
        )
    features: Mapping[str, Any] = data.splits[_TRAIN].features or {}
    name = output_of_features(features)
    if name != "classes":
        found = "no label" if name is None else f"the kind {name}"
        modes = either('mode="head"', "--mode head")
        raise OochubError(
            f"A linear probe answers with a class, and the split {_TRAIN} has {found}. {modes} takes a model that "
            "was trained for it."
        )
    names = output_of("classes").class_names(data.splits[_TRAIN])
    own = (data.part.features or {}).get("label")
    if own is not None and getattr(own, "names", names) != names:
        raise OochubError(
            f"The classes of {_TRAIN} ({', '.join(names or [])[:200]}) are not those of the rows to predict "
            f"({', '.join(own.names)[:200]}). Cast both to one datasets.ClassLabel."
        )
    if not names:
        named = either(
            'Cast it: dataset.cast_column("label", datasets.ClassLabel(names=[...])).',
            "Name a column of text by --label-column.",
        )
        raise OochubError(f"The label of {_TRAIN} has numbers and no names. {named}")
    if len(names) < 2:
        raise OochubError(f"A linear probe tells classes apart, and the data set has one, {names[0]}.")
    return tuple(names)
