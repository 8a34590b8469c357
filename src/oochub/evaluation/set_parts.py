"""The sets of pictures that detectors scored, taken apart: in distribution, shifted, out of it; right and wrong."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, unknown_name
from oochub.evaluation.detector_scores import ScoredSet, detector_key, made_detector

Shift = Literal["none", "covariate", "semantic"]


class SetPart(NamedTuple):
    """Some rows of one set.

    Attributes:
        name: The set, and which rows where they are not all.
        shift: "none" is in distribution, "covariate" has its classes in other pictures, "semantic" other classes.
        correct: Whether the classifier is right on these rows; None where they are not told apart.
        scored: The set.
        rows: Which rows (n,).
    """

    name: str
    shift: Shift
    correct: bool | None
    scored: ScoredSet
    rows: NDArray[np.bool_]


def set_parts(scored_sets: Sequence[ScoredSet], *, by_answer: bool = False) -> list[SetPart]:
    """The parts of every set that have rows, in order: its rows in distribution, then those out of it.

    Args:
        scored_sets: Of `detector_scores`.
        by_answer: Take right and wrong answers of the rows in distribution apart.

    >>> from oochub.prediction.predictions import Predictions
    >>> import pyarrow as pa
    >>> metadata = {"model": {}, "class_names": ["a", "b"], "rows": {"test": 2}}
    >>> metadata |= {"benchmark": "mine", "config": "both", "version": "1.0.0"}
    >>> rows = {"example_id": ["1", "2"], "split": ["test"] * 2, "label": [0, -1], "logits": [[1.0, 0.0]] * 2}
    >>> from oochub.evaluation.detector_scores import detector_scores
    >>> scored_sets = detector_scores([Predictions(pa.table(rows), metadata)], ["msp"])
    >>> [(part.name, part.shift) for part in set_parts(scored_sets)]
    [('both, in distribution', 'none'), ('both, out of distribution', 'semantic')]
    """
    parts = []
    for scored in scored_sets:
        is_mixed = scored.is_ood.any() and not scored.is_ood.all()
        inside = f"{scored.name}, in distribution" if is_mixed else scored.name
        shift = _shift(scored)
        if by_answer:
            parts.append(SetPart(f"{inside}, right answers", shift, True, scored, ~scored.is_ood & scored.correct))
            parts.append(SetPart(f"{inside}, wrong answers", shift, False, scored, ~scored.is_ood & ~scored.correct))
        else:
            parts.append(SetPart(inside, shift, None, scored, ~scored.is_ood))
        outside = f"{scored.name}, out of distribution" if is_mixed else scored.name
        parts.append(SetPart(outside, "semantic", None, scored, scored.is_ood))
    return [part for part in parts if part.rows.any()]


def inside_part(scored_sets: Sequence[ScoredSet], name: str | None = None) -> SetPart:
    """The rows in distribution that others are set against.

    Args:
        scored_sets: Of `detector_scores`.
        name: A set; None takes the first that has rows in distribution, one without covariate shift if there is.

    Raises:
        OochubError: No such set, or no rows in distribution.
    """
    parts = [part for part in set_parts(_named(scored_sets, name)) if part.shift != "semantic"]
    if not parts:
        raise OochubError(
            f"There is no row in distribution in {_told(scored_sets, name)}. Give predictions of a set whose classes "
            "the model knows as well, such as imagenet_1k."
        )
    return min(parts, key=lambda part: part.shift != "none")  # the first of equals


def outside_part(scored_sets: Sequence[ScoredSet], name: str | None = None) -> SetPart:
    """The rows out of distribution of one set.

    Args:
        scored_sets: Of `detector_scores`.
        name: A set; None takes the first that has rows out of distribution.

    Raises:
        OochubError: No such set, or no rows out of distribution.
    """
    parts = [part for part in set_parts(_named(scored_sets, name)) if part.shift == "semantic"]
    if not parts:
        raise OochubError(
            f"There is no row out of distribution (column is_ood, or label -1) in {_told(scored_sets, name)}. Give "
            "predictions of such a set as well, such as imagenet_ood."
        )
    return parts[0]


def scored_by(scored_sets: Sequence[ScoredSet], name: str | None = None, *, but: str | None = None) -> str:
    """The key of a detector in the scores: itself, or the only one of that name whatever its hyperparameters.

    Args:
        scored_sets: Of `detector_scores`.
        name: "odin" or "odin:epsilon=0.0014"; None takes the first.
        but: A key that None does not take if there is another.

    Raises:
        OochubError: There are no sets, two sets of one name, no such detector, or several of that name.
    """
    names = [scored.name for scored in scored_sets]
    if not names:
        raise OochubError("There are no scored sets. oochub.evaluation.detector_scores.detector_scores makes them.")
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise OochubError(f"{double} is given twice: {', '.join(names)}. Give one file of predictions for each set.")
    keys = list(scored_sets[0].scores)
    if name is None:
        return next((key for key in keys if key != but), keys[0])
    name = detector_key(made_detector(name)) if ":" in name else name  # as the keys write numbers
    matches = [key for key in keys if key == name] or [key for key in keys if key.partition(":")[0] == name]
    if not matches:
        raise unknown_name("detector in these scores", name, keys)
    if len(matches) > 1:
        raise OochubError(f"{name} is there {len(matches)} times: {', '.join(matches)}. Score one of them at a time.")
    return matches[0]


def _shift(scored: ScoredSet) -> Shift:
    if "shift" not in scored.predictions.column_names:
        return "none"
    return "covariate" if (scored.predictions.column("shift")[~scored.is_ood] == "covariate").any() else "none"


def _named(scored_sets: Sequence[ScoredSet], name: str | None) -> list[ScoredSet]:
    if name is not None and name not in [scored.name for scored in scored_sets]:
        raise unknown_name("set in these scores", name, [scored.name for scored in scored_sets])
    return [scored for scored in scored_sets if name in (None, scored.name)]


def _told(scored_sets: Sequence[ScoredSet], name: str | None) -> str:
    return name or ", ".join(scored.name for scored in scored_sets) or "no set at all"
