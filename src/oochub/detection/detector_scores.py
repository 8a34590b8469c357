"""Scores every detector gives to every set of images: what tables, metrics and figures of detection are made of.

Detectors are fitted on the rows of a reference, all of them in one pass over its blocks, by several processes
together.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.data.declaration import find_declaration
from oochub.detector import SearchRecall
from oochub.errors import OochubError, choose_wording
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead
from oochub.prediction.present_classes import Classes, choose_answers, find_allowed_classes
from oochub.process.ranks import Ranks, gather_to_first
from oochub.records.typed_values import check_parameters, parse_value
from oochub.stats.logits import count_as_label

_SAMPLED = 500  # rows that an approximate search is measured on


GOALS = ("auroc_new_class", "auroc_failure")
"""The goals of detection, by the names of their metrics."""
BASELINE = "msp"
"""What every detector is compared with: the softmax probability, with its defaults."""
_FIT_ROWS, _HEAD_ARRAYS = ("features", "logits", "label"), ("weight", "bias")


@dataclass(frozen=True, kw_only=True)
class ScoredSet:
    """One set of images, as the detectors see it.

    Attributes:
        name: The config of its predictions, such as "imagenet_1k".
        predictions: Rows of the set, in order.
        is_ood: Whether a row is out of distribution (n,): by its column `is_ood`, or its label -1.
        answer: The classifier's answer to each row (n,): a class number, one of `allowed`.
        allowed: The classes (k,) that an answer may be; see `oochub.prediction.present_classes`.
        correct: Whether that answer is right (n,); never where `is_ood`.
        scores: Each detector's scores (n,), float64, higher is more in-distribution, by `make_detector_key`.
        detectors: The fitted detectors, by the same keys.
        recalls: What the approximate search of a detector found, by its key; none for exact ones.
        cluster: What its rows share (n,), in names that are of its benchmark alone; None where rows are independent.
    """

    name: str
    predictions: Predictions
    is_ood: NDArray[np.bool_]
    answer: NDArray[np.int64]
    allowed: NDArray[np.int64]
    correct: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float64]]
    detectors: Mapping[str, Any]
    recalls: Mapping[str, SearchRecall]
    cluster: NDArray[np.str_] | None = None


def score_sets(
    parts: Sequence[Predictions],
    detectors: Iterable[str | Any],
    *,
    reference: Predictions | None = None,
    head: StoredHead | None = None,
    classes: Classes = "all",
) -> list[ScoredSet]:
    """Fits what has to be fitted and scores every set.

    Args:
        parts: Predictions of one model, one config each.
        detectors: Names of the catalog (with their defaults, or "odin:epsilon=0.0014"), or detectors, fitted or not.
        reference: Predictions of the training split, to fit detectors on.
        head: The model's last layer, for detectors that need it; None takes that of the reference, else of the first
            part that has one.
        classes: Classes that an answer may be, to be correct: "all", or those "present" in each set. Scores are of all
            classes either way.

    Returns:
        A ScoredSet for each of `parts`, in order.

    Raises:
        OochubError: An unknown detector or hyperparameter, one that lacks the reference, features or head, or one
            with an epsilon or temperature other than that of the stored odin_logits; predictions of several models.
    """
    fitted_or_not = [make_detector(detector) if isinstance(detector, str) else detector for detector in detectors]
    _check_one_model([*parts, *([reference] if reference is not None else [])])
    for detector in fitted_or_not:
        for part in parts:
            _check_stored(detector, part)
    if head is None and any(
        {*_HEAD_ARRAYS} & {*detector.fit_needs} for detector in fitted_or_not if not detector.is_fitted
    ):
        head = find_head([*([reference] if reference is not None else []), *parts])
    fitted = fit_detectors({make_detector_key(detector): detector for detector in fitted_or_not}, reference, head)
    for detector_or_error in fitted.values():
        if isinstance(detector_or_error, OochubError):
            raise detector_or_error
    return [_score_part(part, fitted, classes) for part in parts]


def find_head(parts: Iterable[Predictions]) -> StoredHead | None:
    """The head of the first predictions that have one."""
    return next((head for part in parts if (head := part.head) is not None), None)


def make_detector(words: str) -> Any:
    """A detector by the words of the command line: its name, and hyperparameters after a colon.

    Raises:
        OochubError: An unknown name or hyperparameter, or a value that it cannot take.

    >>> make_detector("odin:epsilon=0.0014,temperature=10").hyperparameters
    {'temperature': 10.0, 'epsilon': 0.0014}
    >>> make_detector("knn:neighbors=5")
    Traceback (most recent call last):
    oochub.errors.OochubError: No hyperparameter of knn named 'neighbors'. Allowed: index, k.
    """
    name, _, options = words.partition(":")
    kind = catalog.get("detector", name)
    parameters: dict[str, Any] = {}
    for option in filter(None, options.split(",")):
        key, equals, value = option.partition("=")
        if not equals:
            raise OochubError(f"Hyperparameters of a detector must be written {name}:key=value,..., got {words!r}.")
        if key in parameters:
            raise OochubError(f"{words!r} gives {key} twice. Pass it once.")
        parameters[key] = None if value == "none" else parse_value(value, by=f"{key} of {name}")
    check_parameters(kind, parameters, kind=f"hyperparameter of {name}")
    return kind(**parameters)


def make_detector_key(detector: Any) -> str:
    """The name of a detector, with the hyperparameters that are not its defaults; `make_detector` reads it.

    >>> odin = catalog.get("detector", "odin")
    >>> make_detector_key(odin()), make_detector_key(odin(epsilon=0.0014))
    ('odin', 'odin:epsilon=0.0014')
    """
    defaults = {name: parameter.default for name, parameter in signature(type(detector)).parameters.items()}
    other = [f"{name}={value}" for name, value in detector.hyperparameters.items() if value != defaults[name]]
    return ":".join(filter(None, [detector_name(detector), ",".join(other)]))


def detector_name(detector: Any) -> str:
    """The name of a detector in the catalog: that of its file.

    >>> detector_name(catalog.get("detector", "max_logit")())
    'max_logit'
    """
    return type(detector).__module__.rpartition(".")[2]


def find_ood_rows(part: Predictions) -> NDArray[np.bool_]:
    """Whether each row is out of distribution (n,): by the column `is_ood`, else by a label of -1."""
    if "is_ood" in part.column_names:
        is_ood = part.column("is_ood")
        wrong = [row for row, value in enumerate(is_ood.tolist()) if value not in (True, False)]  # 1 and 0 are such
        if wrong:
            raise OochubError(
                f"is_ood must be true or false in each row, or 1 or 0, got {is_ood[wrong[0]]!r} in row {wrong[0]} of "
                f"{part.metadata.config} ({len(wrong):,} such rows). Fix it, or drop the column: a label of -1 then "
                "means out of distribution."
            )
        return is_ood.astype(bool)
    outside: NDArray[np.bool_] = part.label < 0
    return outside


def _check_one_model(parts: Sequence[Predictions]) -> None:
    first = parts[0]
    for part in parts[1:]:
        for key in ("model", "class_names"):
            if getattr(part.metadata, key) != getattr(first.metadata, key):
                named = f"{first.metadata.config} and {part.metadata.config}"
                kept = "one model" if key == "model" else "the same classes"
                raise OochubError(
                    f"Detectors compare sets under one model, but the predictions for {named} differ in {key}. "
                    f"Predict both with {kept}."
                )


def _check_stored(detector: Any, part: Predictions) -> None:
    """That a set stores what a detector reads, and that it was made for this detector."""
    key, config = make_detector_key(detector), part.metadata.config
    if "logits" not in part.column_names:
        raise OochubError(
            f"Detectors score classifiers, but the predictions for {config} are of the kind {part.metadata.kind}, "
            "which has no logits. Pass predictions of classes."
        )
    missing = [need for need in detector.score_needs if need not in part.column_names]
    if "odin_logits" in missing:
        raise OochubError(
            f"{key} needs odin_logits, which the predictions for {config} lack. Predict with "
            f"{choose_wording(f'odin={detector.epsilon}')}, or remove epsilon."
        )
    if missing:
        raise OochubError(
            f"{key} needs {', '.join(missing)}, which the predictions for {config} lack. Predict with "
            f"{choose_wording('features=True')}."
        )
    if "odin_logits" not in detector.score_needs:
        return
    used = part.metadata.odin
    for name, option in (("epsilon", "odin"), ("temperature", "odin_temperature")):
        wanted = getattr(detector, name)
        if used is None or getattr(used, name) != wanted:
            option_words = choose_wording(f"{option}={wanted:g}", f"--{option.replace('_', '-')} {wanted:g}")
            stated = f"{name}={getattr(used, name):g}" if used is not None else "settings that they do not say"
            raise OochubError(
                f"{key} has {name} {wanted:g}, but the odin_logits of {config} were made with {stated}. Predict with "
                f"{option_words}, or give the detector the same value."
            )


def _score_part(part: Predictions, detectors: Mapping[str, Any], classes: Classes) -> ScoredSet:
    is_ood, allowed, n = find_ood_rows(part), find_allowed_classes(part, classes), len(part)
    answer, scores = np.empty(n, np.int64), {key: np.empty(n) for key in detectors}
    some, sample = np.linspace(0, n - 1, min(n, _SAMPLED)).astype(int), []
    needs = {"logits", *(need for detector in detectors.values() for need in detector.score_needs)}
    for rows, block in part.blocks(*sorted(needs)):
        for key, fitted_detector in detectors.items():
            scores[key][rows] = fitted_detector.score(**{need: block[need] for need in fitted_detector.score_needs})
        answer[rows] = choose_answers(block["logits"], allowed)
        if "features" in block:
            sample.append(block["features"][some[(some >= rows.start) & (some < rows.stop)] - rows.start])
    features = np.concatenate(sample) if sample else None
    answer = count_as_label(answer, part.label, part.also_right)
    return ScoredSet(
        name=str(part.metadata.config),
        predictions=part,
        is_ood=is_ood,
        answer=answer,
        allowed=allowed,
        correct=(answer == part.label) & ~is_ood,
        scores=scores,
        detectors=detectors,
        recalls={
            key: recall for key, detector in detectors.items() if (recall := detector.search_recall(features=features))
        },
        cluster=_cluster(part),
    )


def _cluster(part: Predictions) -> NDArray[np.str_] | None:
    """The benchmark's name is part of each cluster's: slide 3 of another benchmark is another slide."""
    column = find_declaration(part).cluster
    if column is None or column not in part.column_names:
        return None
    return np.char.add(f"{part.metadata.benchmark}/{column}/", part.column(column).astype(str))


def fit_detectors(
    detectors: Mapping[str, Any], reference: Predictions | None, head: StoredHead | None
) -> dict[str, Any]:
    """The detectors fitted, those that are so as they are, in memory that does not grow with the rows.

    Under torchrun each process fits on its share of the rows; what they know is merged in the first, and all get the
    finished detectors. All have to call this, with the same detectors and reference.

    Args:
        detectors: Detectors by key; those that are not fitted are not changed.
        reference: Predictions of the training split; None where nothing is fitted on it.
        head: The model's last layer; None where there is none.

    Returns:
        A detector by each key, or why it cannot be fitted.
    """
    fitted: dict[str, Any] = {}
    for key, detector in detectors.items():
        try:
            _check(key, detector, reference, head)
            fitted[key] = detector if detector.is_fitted else type(detector)(**detector.hyperparameters)
        except OochubError as error:
            fitted[key] = error
    layer = {} if head is None else {"weight": head.weight, "bias": head.bias}
    todo = [key for key, detector in fitted.items() if not isinstance(detector, OochubError) and not detector.is_fitted]
    by_rows = [key for key in todo if {*_FIT_ROWS} & {*fitted[key].fit_needs}]
    for key in todo:
        if key not in by_rows:
            fitted[key] = _catch_error(fitted[key].fit, **layer)
    if reference is not None and by_rows:
        _gather(fitted, by_rows, reference, layer)
        fitted |= _finalize_detectors({key: fitted[key] for key in by_rows})
    return fitted


def _gather(fitted: dict[str, Any], keys: list[str], reference: Predictions, layer: Mapping[str, Any]) -> None:
    """Gives each detector this process' share of the rows; one that cannot take them is replaced by its error."""
    here = Ranks.here()
    ends = np.linspace(0, len(reference), here.count + 1).astype(int)
    own = np.arange(ends[here.number], ends[here.number + 1])
    if not len(own):
        return
    share = reference if here.is_alone else reference.take(own)
    vectors = {need for key in keys for need in fitted[key].fit_needs} & {"features", "logits"}
    for rows, block in share.blocks(*sorted(vectors)):
        arrays = {**block, "label": share.label[rows], **layer}
        for key in keys:
            detector = fitted[key]
            if not isinstance(detector, OochubError):
                fitted[key] = _catch_error(detector.partial_fit, **{need: arrays[need] for need in detector.fit_needs})


def _finalize_detectors(gathered: dict[str, Any]) -> dict[str, Any]:
    """Those of all processes merged and finalized."""
    return gather_to_first(
        gathered, lambda several: {key: _merge_detectors([detectors[key] for detectors in several]) for key in gathered}
    )


def _merge_detectors(parts: list[Any]) -> Any:
    total = next((part for part in parts if isinstance(part, OochubError)), parts[0])
    for part in parts[1:]:
        if not isinstance(total, OochubError):
            total = _catch_error(total.merge, part)
    return total if isinstance(total, OochubError) else _catch_error(total.finalize)


def _catch_error(step: Any, *given: Any, **named: Any) -> Any:
    try:
        return step(*given, **named)
    except OochubError as error:
        return error


def _check(key: str, detector: Any, reference: Predictions | None, head: StoredHead | None) -> None:
    """That everything is there that a fit needs."""
    needs = [] if detector.is_fitted else detector.fit_needs
    name = key.partition(":")[0]
    lacking = [need for need in needs if need in _FIT_ROWS and reference is None]
    if lacking:
        raise OochubError(
            f"{name} must be fitted to the training split ({', '.join(lacking)}). Pass "
            f"{choose_wording('reference=')}: predictions for it with features, by `oochub predict ... --split train "
            "--features`."
        )
    available = {
        *(reference.column_names if reference is not None else ()),
        *(_HEAD_ARRAYS if head is not None else ()),
    }
    missing = [need for need in needs if need not in available]
    if missing:
        raise OochubError(
            f"{name} needs {', '.join(missing)}. Predict with {choose_wording('features=True')}, which "
            "keeps the features and the head; for a file, the head is in <predictions>.head.safetensors. If a label "
            "map sums classes of the model, or the features are of a layer or a function, there is no head."
        )
