"""A linear probe: logistic regression on an encoder's features of the training split.

Its penalty is chosen on rows that it is not fitted on. The features are kept in a cache: the second probe on them is
trained in seconds.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from oochub.errors import OochubError, choose_wording
from oochub.input import BrokenRow, Input
from oochub.models.cache_key import cache_key
from oochub.models.encoder import Encoder, ProbedEncoder
from oochub.models.mode import Mode, PredictedData
from oochub.models.model_source import ModelSource
from oochub.output import find_output_of_features, get_output
from oochub.process.follow import follow
from oochub.storage.cache import keep, read_kept
from oochub.storage.files import write_whole
from oochub.storage.tensor_file import load_tensors, save_tensors

_TRAIN, _VALIDATION = "train", "validation"


class LinearProbeMode(Mode):
    """Logistic regression on the features of any image encoder, trained on the split train.

    The penalty is chosen on the split validation, else on a held-out fifth of train. Groups and environments are not
    used. The standardization of the features is folded into the weights: the network is the encoder and one linear
    layer on its features, so that all detectors run. The features of train and validation are kept, see docs/cache.md.

    Args:
        source: A model that `transformers.AutoModel` opens, a classifier, or a model of images and texts.
        inputs: How images or arrays are read.
        data: Data with a split train, which has a row of every class.
        pooling: Where the features are from: "auto", see `oochub.models.encoder.Encoder.open`, or "pooler", "cls",
            "mean".

    Raises:
        OochubError: A data set without a split train beside what is predicted, one of numbers or of several labels, a
            class without a training row, or a model without features.
    """

    auto_models: ClassVar[tuple[str, ...]] = ("AutoModel",)
    rank: ClassVar[int] = 9

    def __init__(self, source: ModelSource, inputs: Input, data: PredictedData, *, pooling: str = "auto") -> None:
        self.class_names = _find_class_names(inputs, data)
        encoder = Encoder.open(source, inputs, pooling=pooling).to(data.device).eval()
        train = _read_or_extract(encoder, source, inputs, data, _TRAIN)
        missing = [name for k, name in enumerate(self.class_names) if not (train.label == k).any()]
        if missing:
            raise OochubError(
                f"A linear probe learns each class from rows of {_TRAIN}, but {', '.join(missing[:5])} has none "
                "there. Add some, or remove the class from the dataset."
            )
        held_out = None
        if _VALIDATION in data.splits:
            rows = _read_or_extract(encoder, source, inputs, data, _VALIDATION)
            held_out = rows if len(rows.label) else None
        probe = _fit_logistic_regression(*train, classes=len(self.class_names), validation=held_out)
        self.kind = get_output("classes")
        weight, bias = (torch.from_numpy(np.asarray(array, np.float32)) for array in (probe.weight, probe.bias))
        self.network = ProbedEncoder(encoder, weight, bias).to(data.device).eval()
        self.about, self.training = source.about("linear_probe"), source.training
        chosen_on = _VALIDATION if held_out is not None else f"a held-out fifth of {_TRAIN}"
        self.details = {
            "linear_probe": {
                **{"rows": len(train.label), "features": encoder.pooling, "dimensions": train.features.shape[1]},
                **{"c": probe.c, "grid": list(_GRID), "chosen_on": chosen_on, "chosen_on_rows": probe.chosen_on},
                **{"accuracy": probe.accuracy, "converged": probe.has_converged},
            },
            **({"unexpected_weights": list(encoder.unexpected)} if encoder.unexpected else {}),
        }
        stopped = "" if probe.has_converged else ", stopped before its optimum"
        self.notes = (
            f"A linear probe trained on {len(train.label):,} rows of {_TRAIN}, its penalty (C = {probe.c:g}) chosen on "
            f"{chosen_on}{stopped}",
        )


def _find_class_names(inputs: Input, data: PredictedData) -> tuple[str, ...]:
    """The classes, after a look at what can be known before the weights are opened."""
    if inputs.words() == "texts":
        raise OochubError('The mode linear_probe reads images and arrays. For a model of texts use the mode "head".')
    hold_out = choose_wording(
        'datasets.DatasetDict(train=..., test=...), or rows.train_test_split(0.2, stratify_by_column="label").',
        "make folders or files train and test.",
    )
    if _TRAIN not in data.splits:
        splits = ", ".join(map(str, data.splits))
        raise OochubError(
            f"A linear probe needs a {_TRAIN} split, but the dataset has {splits}. Give it one: {hold_out} Or train a "
            "head with `oochub train --model MODEL`."
        )
    if len(data.splits) == 1:
        raise OochubError(
            f"All rows are in {_TRAIN}, so there is nothing to predict: a probe is not evaluated on its training "
            f"rows. Hold out some rows: {hold_out}"
        )
    features: Mapping[str, Any] = data.splits[_TRAIN].features or {}
    name = find_output_of_features(features)
    if name != "classes":
        splits = "no label" if name is None else f"the kind {name}"
        modes = choose_wording('mode="head"')
        raise OochubError(
            f"A linear probe predicts a class, but the split {_TRAIN} has {splits}. {modes} uses a model that was "
            "trained for it."
        )
    names = get_output("classes").class_names(data.splits[_TRAIN])
    own = (data.part.features or {}).get("label")
    if own is not None and getattr(own, "names", names) != names:
        raise OochubError(
            f"The classes of {_TRAIN} ({', '.join(names or [])[:200]}) are not those of the rows to predict "
            f"({', '.join(own.names)[:200]}). Cast both to one datasets.ClassLabel."
        )
    if not names:
        named = choose_wording(
            'Cast it: dataset.cast_column("label", datasets.ClassLabel(names=[...])).',
            "Name a column of text by --label-column.",
        )
        raise OochubError(f"The label of {_TRAIN} has numbers but no names. {named}")
    if len(names) < 2:
        raise OochubError(f"A linear probe tells classes apart, but the dataset has only one, {names[0]}.")
    return tuple(names)


class _LabelledFeatures(NamedTuple):
    """Features float32 (n, d) and classes int64 (n,) of the rows of a split that have a class."""

    features: NDArray[np.float32]
    label: NDArray[np.int64]


def _read_or_extract(
    encoder: Encoder, source: ModelSource, inputs: Input, data: PredictedData, split: str
) -> _LabelledFeatures:
    """What an encoder of a model sees of a split, from the cache where it was seen before.

    Raises:
        OochubError: A row that cannot be read, or features that are not finite.

    Warns:
        OochubWarning: The cache cannot be written.
    """
    part = data.splits[split]
    part = part.select_columns([name for name in (inputs.column, "label", "example_id") if name in part.column_names])
    settings = {"pooling": encoder.pooling, "batch_size": data.batch_size, "device": data.device.type}
    settings["skip_broken"] = data.skip_broken
    key = cache_key(source, inputs, {split: part}, mode=Encoder, settings=settings) if data.cache else None
    if key is None:
        return _extract_features(encoder, inputs, data, part, split)

    def read(file: Path) -> _LabelledFeatures:
        stored = load_tensors(file)
        if stored.about["key"] != key:  # one without a digest says nothing of itself
            raise ValueError(key)
        return _LabelledFeatures(**stored.arrays)

    def write(file: Path) -> None:
        with write_whole(file) as draft:
            save_tensors(rows._asdict(), draft, about={"key": key})

    name = f"{key}.safetensors"
    if (kept := read_kept("features", name, read)) is not None:
        return kept
    rows = _extract_features(encoder, inputs, data, part, split)
    keep("features", name, write, what=f"The features of {split}")
    return rows


def _extract_features(encoder: Encoder, inputs: Input, data: PredictedData, part: Any, split: str) -> _LabelledFeatures:
    features, labels = [], []
    broken: list[BrokenRow] | None = [] if data.skip_broken else None
    total = len(part) if hasattr(part, "__len__") else None
    with follow(total=total, desc=f"Extracting {split}", unit=inputs.unit, disable=None) as bar:
        for batch in inputs.batches(part, batch_size=data.batch_size, device=data.device, broken=broken):
            with torch.inference_mode():
                features.append(encoder(**batch.inputs).cpu().numpy())
            labels += [-1 if label is None else label for label in batch.columns["label"]]
            bar.update(len(features[-1]))
    if not features:
        raise OochubError(f"No example of the split {split} can be read, but the linear probe learns from it.")
    values, label = np.concatenate(features), np.asarray(labels, dtype=np.int64)
    if not np.isfinite(values).all():
        raise OochubError(f"The model gives features of {split} that are not finite. Its weights are corrupted.")
    return _LabelledFeatures(np.ascontiguousarray(values[label >= 0]), label[label >= 0])


_GRID = tuple(round(10 ** (half / 2), 6) for half in range(-8, 5))
"""Inverse penalties that are tried, the strongest penalty first."""
_SHARE = 0.2  # of the training rows, held out where there is no validation split
_ITERATIONS = 2000


@dataclass(frozen=True, kw_only=True, eq=False)
class _FittedProbe:
    """A linear layer on raw features: `features @ weight.T + bias` are the logits.

    Attributes:
        weight: float64 (c, d).
        bias: float64 (c,).
        c: The inverse penalty that was chosen, of `_GRID`.
        accuracy: Accuracy on the rows that it was chosen on.
        chosen_on: How many rows it was chosen on.
        has_converged: Whether the optimum was reached.
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]
    c: float
    accuracy: float
    chosen_on: int
    has_converged: bool


def _fit_logistic_regression(
    features: NDArray[np.float32],
    label: NDArray[np.int64],
    *,
    classes: int,
    validation: tuple[NDArray[np.float32], NDArray[np.int64]] | None,
) -> _FittedProbe:
    """A multinomial logistic regression with an L2 penalty on standardized features, the deviation folded back.

    The inverse penalty C is the one of `_GRID` with the largest mean log-likelihood of the validation rows, the
    smaller of equals. Kornblith, Shlens and Le 2019 (arXiv 1805.08974, appendix A.6) and Radford et al. 2021 (arXiv
    2103.00020, appendix A.3) choose it on validation rows too, by accuracy, which on few rows ties and jumps. Without
    validation rows a fifth of each class is held out (a fixed draw), and the last fit is on all rows. Two classes have
    logits of -z / 2 and z / 2.

    Args:
        features: (n, d) of the training rows.
        label: Their classes (n,), 0 to `classes` - 1; every one occurs.
        classes: Number of classes.
        validation: Features and labels of other rows; None holds some out.

    Raises:
        OochubError: Too few rows to hold some out.

    >>> features = np.array([[0.0], [1.0], [10.0], [11.0]] * 5, dtype=np.float32)
    >>> label = np.array([0, 0, 1, 1] * 5)
    >>> probe = _fit_logistic_regression(features, label, classes=2, validation=(features, label))
    >>> ((features @ probe.weight.T + probe.bias).argmax(1) == label).all(), probe.accuracy
    (np.True_, 1.0)
    """
    if validation is None:
        held = _hold_out(label, classes)
        fits = _iterate_fits(features[~held], label[~held], classes)
        on = (features[held], label[held])
    else:
        fits, on = _iterate_fits(features, label, classes), validation
    likelihoods = [_log_likelihood(*fit[:2], *on) for fit in fits]
    best = int(np.argmax(likelihoods))
    weight, bias, has_converged = fits[best]
    right = (on[0] @ weight.T + bias).argmax(1) == on[1]
    if validation is None:
        ((weight, bias, has_converged),) = _iterate_fits(features, label, classes, grid=_GRID[best : best + 1])
    return _FittedProbe(
        weight=weight,
        bias=bias,
        c=_GRID[best],
        accuracy=float(right.mean()),
        chosen_on=len(right),
        has_converged=has_converged,
    )


def _hold_out(label: NDArray[np.int64], classes: int) -> NDArray[np.bool_]:
    held, generator = np.zeros(len(label), dtype=bool), np.random.default_rng(0)
    for number in range(classes):
        rows = np.flatnonzero(label == number)
        held[generator.permutation(rows)[: round(len(rows) * _SHARE)]] = True
    if not held.any():
        raise OochubError(
            f"A linear probe chooses its penalty on rows that it is not trained on, but {len(label)} rows of "
            f"{classes} classes are too few to hold some out. Add a split validation, or more rows to train."
        )
    return held


def _iterate_fits(
    features: NDArray[np.float32], label: NDArray[np.int64], classes: int, grid: tuple[float, ...] = _GRID
) -> list[tuple[NDArray[np.float64], NDArray[np.float64], bool]]:
    """(weight, bias, whether it converged) for each C, on raw features."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scaler = StandardScaler().fit(features.astype(np.float64))
    standardized, fits = scaler.transform(features.astype(np.float64)), []
    for c in grid:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            fitted = LogisticRegression(C=c, max_iter=_ITERATIONS).fit(standardized, label)
        weight, bias = fitted.coef_, fitted.intercept_
        if classes == 2:
            weight, bias = np.concatenate([-weight, weight]) / 2, np.concatenate([-bias, bias]) / 2
        weight = weight / scaler.scale_
        fits.append((weight, bias - weight @ scaler.mean_, bool(fitted.n_iter_.max() < _ITERATIONS)))
    return fits


def _log_likelihood(
    weight: NDArray[np.float64], bias: NDArray[np.float64], features: NDArray[np.float32], label: NDArray[np.int64]
) -> float:
    from scipy.special import log_softmax

    return float(log_softmax(features @ weight.T + bias, axis=1)[np.arange(len(label)), label].mean())
