"""The sets of images that detectors scored, taken apart: in distribution, shifted, out of it; right and wrong.

And the nearest of many rows by cosine: exact in float64, by blocks, so that memory does not grow with the rows.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.detection.detector_scores import ScoredSet, make_detector, make_detector_key
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.prediction.predictions import Predictions

Shift = Literal["none", "covariate", "semantic"]


_ROWS = 1024  # of each side at once: 16 MiB of 2,048 features in float64


class SetPart(NamedTuple):
    """Some rows of one set.

    Attributes:
        name: The set, and which rows where they are not all.
        shift: "none" is in distribution, "covariate" has its classes in other images, "semantic" other classes.
        correct: Whether the classifier is right on these rows; None where they are not told apart.
        scored: The set.
        rows: Whether each row of the set is in the part (n,).
    """

    name: str
    shift: Shift
    correct: bool | None
    scored: ScoredSet
    rows: NDArray[np.bool_]


def split_scored_sets(scored_sets: Sequence[ScoredSet], *, by_answer: bool = False) -> list[SetPart]:
    """The parts of every set that have rows, in order: its rows in distribution, then those out of it.

    Args:
        scored_sets: Sets that `score_sets` gives.
        by_answer: Take right and wrong answers of the rows in distribution apart.

    >>> from oochub.prediction.predictions import Predictions
    >>> import pyarrow as pa
    >>> metadata = {"model": {}, "class_names": ["a", "b"], "rows": {"test": 2}}
    >>> metadata |= {"benchmark": "mine", "config": "both", "version": "1.0.0"}
    >>> rows = {"example_id": ["1", "2"], "split": ["test"] * 2, "label": [0, -1], "logits": [[1.0, 0.0]] * 2}
    >>> from oochub.detection.detector_scores import score_sets
    >>> scored_sets = score_sets([Predictions(pa.table(rows), metadata)], ["msp"])
    >>> [(part.name, part.shift) for part in split_scored_sets(scored_sets)]
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


def choose_inside_part(scored_sets: Sequence[ScoredSet], name: str | None = None) -> SetPart:
    """The rows in distribution that others are set against.

    Args:
        scored_sets: Sets that `score_sets` gives.
        name: A set; None takes the first that has rows in distribution, one without covariate shift if there is.

    Raises:
        OochubError: No such set, or no rows in distribution.
    """
    parts = [part for part in split_scored_sets(_select_named(scored_sets, name)) if part.shift != "semantic"]
    if not parts:
        raise OochubError(
            f"There are no in-distribution rows in {_describe_sets(scored_sets, name)}. Also give predictions for a "
            "set whose classes the model knows, such as imagenet_1k."
        )
    return min(parts, key=lambda part: part.shift != "none")  # the first of equals


def choose_outside_part(scored_sets: Sequence[ScoredSet], name: str | None = None) -> SetPart:
    """The rows out of distribution of one set.

    Args:
        scored_sets: Sets that `score_sets` gives.
        name: A set; None takes the first that has rows out of distribution.

    Raises:
        OochubError: No such set, or no rows out of distribution.
    """
    parts = [part for part in split_scored_sets(_select_named(scored_sets, name)) if part.shift == "semantic"]
    if not parts:
        raise OochubError(
            "There are no out-of-distribution rows (column is_ood, or label -1) in "
            f"{_describe_sets(scored_sets, name)}. Also give predictions for such a set, such as imagenet_ood."
        )
    return parts[0]


def choose_detector(scored_sets: Sequence[ScoredSet], name: str | None = None, *, but: str | None = None) -> str:
    """The key of a detector in the scores: itself, or the only one of that name whatever its hyperparameters.

    Args:
        scored_sets: Sets that `score_sets` gives.
        name: "odin" or "odin:epsilon=0.0014"; None takes the first.
        but: A key that None does not take if there is another.

    Raises:
        OochubError: There are no sets, two sets of one name, no such detector, or several of that name.
    """
    names = [scored.name for scored in scored_sets]
    if not names:
        raise OochubError("There are no scored sets. oochub.detection.detector_scores.score_sets makes them.")
    if len(set(names)) < len(names):
        double = next(name for name in names if names.count(name) > 1)
        raise OochubError(f"{double} is given twice: {', '.join(names)}. Pass one file of predictions for each set.")
    keys = list(scored_sets[0].scores)
    if name is None:
        return next((key for key in keys if key != but), keys[0])
    name = make_detector_key(make_detector(name)) if ":" in name else name  # as the keys write numbers
    matches = [key for key in keys if key == name] or [key for key in keys if key.partition(":")[0] == name]
    if not matches:
        raise unknown_name("detector in these scores", name, keys)
    if len(matches) > 1:
        raise OochubError(f"{name} occurs {len(matches)} times: {', '.join(matches)}. Score one of them at a time.")
    return matches[0]


def _shift(scored: ScoredSet) -> Shift:
    if "shift" not in scored.predictions.column_names:
        return "none"
    return "covariate" if (scored.predictions.column("shift")[~scored.is_ood] == "covariate").any() else "none"


def _select_named(scored_sets: Sequence[ScoredSet], name: str | None) -> list[ScoredSet]:
    if name is not None and name not in [scored.name for scored in scored_sets]:
        raise unknown_name("set in these scores", name, [scored.name for scored in scored_sets])
    return [scored for scored in scored_sets if name in (None, scored.name)]


def _describe_sets(scored_sets: Sequence[ScoredSet], name: str | None) -> str:
    return name or ", ".join(scored.name for scored in scored_sets) or "no set at all"


class Nearest(NamedTuple):
    """For each row of a set the nearest row in distribution.

    Attributes:
        row: Numbers of the rows (n,) of the set in distribution; -1 for a row that is one of those itself.
        distance: 1 - cosine (n,), in [0, 2]; nan for a row that is one of those itself.
    """

    row: NDArray[np.int64]
    distance: NDArray[np.float64]


def find_nearest_rows(features: Any, bank: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """For each row, finds the nearest row of a bank by cosine distance, 1 - cos.

    The distance is measured from the difference of the two unit vectors, so that of near-duplicates is right as well.

    Args:
        features: Numbers (n, d).
        bank: Numbers (m, d), at least one row.

    Returns:
        Numbers of the nearest rows (n,), the first of equals; their distances (n,) in [0, 2].

    Raises:
        OochubError: Shapes that do not fit, no row, or a row that is all zeros or not finite: it has no direction.

    >>> index, distance = find_nearest_rows([[2.0, 0.0], [1.0, 1.0]], [[0.0, 3.0], [5.0, 0.0]])
    >>> index.tolist(), distance.round(4).tolist()
    ([1, 0], [0.0, 0.2929])
    """
    rows, others = np.asarray(features), np.asarray(bank)
    for name, matrix in (("features", rows), ("bank", others)):
        if matrix.ndim != 2 or not matrix.size:
            raise OochubError(f"{name} must be a matrix (rows, features) that is not empty, got shape {matrix.shape}.")
    if rows.shape[1] != others.shape[1]:
        raise OochubError(
            f"features have {rows.shape[1]} columns and the bank {others.shape[1]}. Take both from the same model."
        )
    from oochub.process.follow import follow

    best, index = np.full(len(rows), -np.inf), np.zeros(len(rows), np.int64)
    parts = range(0, len(others), _ROWS)
    for start in follow(parts, desc="Nearest", unit="block", delay=2, disable=None if len(parts) > 1 else True):
        block = _scale_to_unit(others, slice(start, start + _ROWS), "bank")
        for some in _make_slices(len(rows)):
            cosine = _scale_to_unit(rows, some, "features") @ block.T
            at = cosine.argmax(axis=1)
            highest = np.take_along_axis(cosine, at[:, None], axis=1)[:, 0]
            closer = highest > best[some]
            best[some] = np.where(closer, highest, best[some])
            index[some] = np.where(closer, at + start, index[some])
    distance = np.empty(len(rows))
    for some in _make_slices(len(rows)):
        apart = _scale_to_unit(rows, some, "features") - _scale_to_unit(others, index[some], "bank")
        distance[some] = np.einsum("ij,ij->i", apart, apart) / 2
    return index, distance


def find_nearest_inside(
    scored_sets: Sequence[ScoredSet], *, embedding: Sequence[Predictions] | None = None
) -> dict[str, Nearest]:
    """For every row of every set the nearest row in distribution, by cosine.

    Args:
        scored_sets: Sets that `score_sets` gives.
        embedding: Predictions of the same examples by a model whose features say what is near (in the paper a
            self-supervised one), one for each set, matched by config, split and example_id. None takes the features
            of the scored predictions.

    Returns:
        Set to Nearest.

    Raises:
        OochubError: Features or examples that are missing, or features without a direction.
    """
    bank = choose_inside_part(scored_sets)
    features = {scored.name: _read_features(scored, embedding) for scored in scored_sets}
    own = np.flatnonzero(bank.rows)
    nearest = {}
    for scored in scored_sets:
        searched = ~bank.rows if scored is bank.scored else np.ones(len(scored.is_ood), bool)
        index, distance = np.full(len(searched), -1, np.int64), np.full(len(searched), np.nan)
        if searched.any():
            near, distance[searched] = find_nearest_rows(
                features[scored.name][searched], features[bank.scored.name][own]
            )
            index[searched] = own[near]
        nearest[scored.name] = Nearest(index, distance)
    return nearest


def _make_slices(rows: int) -> Iterator[slice]:
    for start in range(0, rows, _ROWS):
        yield slice(start, min(start + _ROWS, rows))


def _scale_to_unit(matrix: NDArray[Any], some: slice | NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """Rows of length 1, scaled first: squares of very large or small numbers leave even float64."""
    taken = matrix[some].astype(np.float64)
    largest = np.abs(taken).max(axis=1, keepdims=True)
    wrong = ~(np.isfinite(largest) & (largest > 0))[:, 0]
    if wrong.any():
        row = np.arange(len(matrix))[some][np.argmax(wrong)]
        raise OochubError(f"Row {row} of {name} is all zeros or not finite, so it has no direction. Remove it.")
    taken /= largest
    unit: NDArray[np.float64] = taken / np.linalg.norm(taken, axis=1, keepdims=True)
    return unit


def _read_features(scored: ScoredSet, embedding: Sequence[Predictions] | None) -> NDArray[np.float32]:
    """Features (n, d) of the rows of a set, in their order."""
    if embedding is None:
        if scored.predictions.features is None:
            raise OochubError(
                f"The predictions for {scored.name} lack features, which tell which images are near. Predict with "
                f"{choose_wording('features=True')}, or give those of another model with "
                f"{choose_wording('embedding=')}."
            )
        return scored.predictions.features
    parts = [part for part in embedding if part.metadata.config == scored.name]
    if len(parts) != 1 or parts[0].features is None:
        configs = ", ".join(str(part.metadata.config) for part in embedding)
        lacks = "has no features" if parts and parts[0].features is None else f"occurs {len(parts)} times"
        raise OochubError(
            f"The embedding of {scored.name} {lacks}; given: {configs}. Pass one file with features for each set."
        )
    row_of = {key: row for row, key in enumerate(_list_keys(parts[0]))}
    missing = [key for key in _list_keys(scored.predictions) if key not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing)} of {len(scored.is_ood)} examples of {scored.name} are not in the embedding, first "
            f"{missing[0][1]} of split {missing[0][0]}. Predict both on the same data."
        )
    return parts[0].features[[row_of[key] for key in _list_keys(scored.predictions)]]


def _list_keys(predictions: Predictions) -> list[tuple[str, str]]:
    return list(zip(predictions.split.tolist(), predictions.column("example_id").tolist(), strict=True))
