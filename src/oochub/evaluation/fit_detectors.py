"""Fits detectors on the rows of a reference, all of them in one pass over its blocks; by several processes together."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from oochub.errors import OochubError, either
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_head import StoredHead
from oochub.process.ranks import Ranks, gather_to_first

_ROWS, _HEAD = ("features", "logits", "label"), ("weight", "bias")


def fit_detectors(
    detectors: Mapping[str, Any], reference: Predictions | None, head: StoredHead | None
) -> dict[str, Any]:
    """The detectors fitted, those that are so as they are, in memory that does not grow with the rows.

    Under torchrun each process fits on its share of the rows; what they know is merged in the first, and all get the
    finished detectors. All have to call this, with the same detectors and reference.

    Args:
        detectors: By their keys; those that are not fitted are not changed.
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
    todo = [key for key, each in fitted.items() if not isinstance(each, OochubError) and not each.is_fitted]
    by_rows = [key for key in todo if {*_ROWS} & {*fitted[key].fit_needs}]
    for key in todo:
        if key not in by_rows:
            fitted[key] = _or_error(fitted[key].fit, **layer)
    if reference is not None and by_rows:
        _gather(fitted, by_rows, reference, layer)
        fitted |= _finished({key: fitted[key] for key in by_rows})
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
        given = {**block, "label": share.label[rows], **layer}
        for key in keys:
            detector = fitted[key]
            if not isinstance(detector, OochubError):
                fitted[key] = _or_error(detector.partial_fit, **{need: given[need] for need in detector.fit_needs})


def _finished(gathered: dict[str, Any]) -> dict[str, Any]:
    """Those of all processes merged and finalized."""
    return gather_to_first(
        gathered, lambda several: {key: _merged([each[key] for each in several]) for key in gathered}
    )


def _merged(parts: list[Any]) -> Any:
    total = next((part for part in parts if isinstance(part, OochubError)), parts[0])
    for part in parts[1:]:
        if not isinstance(total, OochubError):
            total = _or_error(total.merge, part)
    return total if isinstance(total, OochubError) else _or_error(total.finalize)


def _or_error(step: Any, *given: Any, **named: Any) -> Any:
    try:
        return step(*given, **named)
    except OochubError as error:
        return error


def _check(key: str, detector: Any, reference: Predictions | None, head: StoredHead | None) -> None:
    """That everything is there that a fit needs."""
    needs = [] if detector.is_fitted else detector.fit_needs
    name = key.partition(":")[0]
    lacking = [need for need in needs if need in _ROWS and reference is None]
    if lacking:
        raise OochubError(
            f"{name} is fitted on the training split ({', '.join(lacking)}). Give "
            f"{either('reference=', '--reference')}: predictions of it with features, by `oochub predict ... --split "
            "train --features`."
        )
    known = {*(reference.column_names if reference is not None else ()), *(_HEAD if head is not None else ())}
    missing = [need for need in needs if need not in known]
    if missing:
        raise OochubError(
            f"{name} needs {', '.join(missing)}. Predict with "
            f"{either('features=True', '--features')}, which keeps the features and the head; of a file, the head lies "
            "in <predictions>.head.safetensors. Where classes of the model are summed by a label map, there is no head."
        )
