"""The best number that one and the same answer for every row can have: what a model that has learned nothing gets."""

from inspect import signature
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import Benchmark
from oochub.errors import OochubError
from oochub.records.sides import GroupsOfRows

_CANDIDATES = 60  # of the true boxes, that are tried


def best_constant(predictions: Any, declared: Benchmark) -> float:
    """The headline of the best constant predictor out of context.

    Args:
        predictions: Predictions of any model: their truth, splits and groups are read, not their answers.
        declared: The benchmark of their config.

    Returns:
        Of classes, the best class by the headline metric on the rows out of context, as it is scored there (the worst
        of their groups, where that is the side); of several labels, equal scores for every row; of a number 0, for a
        constant has no correlation; of boxes, the same boxes in every image: none, and then one true box after the
        other, each the one that betters the number most; of tokens, the best token.

    Raises:
        OochubError: A kind of output of which no constant is known.

    >>> from oochub import Predictions, get
    >>> rows = Predictions.from_arrays(logits=np.eye(3), label=[0, 0, 2], class_names=["a", "b", "c"])
    >>> round(best_constant(rows, get("benchmark", "wilds").of("camelyon17")), 3)
    0.667
    """
    side, metric, kind = declared.out_of_context, catalog.get("metric", declared.primary_metric), declared.output
    if kind == "number":
        return 0.0
    wanted = ["split", *side.where, *([side.column] if isinstance(side, GroupsOfRows) else [])]
    columns = {name: predictions.column(name) for name in dict.fromkeys(wanted)}
    rows = np.flatnonzero(side.mask(columns))
    label = predictions.label[rows]
    if kind == "labels":
        return float(metric(label=label, score=np.zeros_like(label, dtype=float)))
    if kind == "tokens":
        arrays = {name: values[rows] for name, values in predictions.output.arrays(predictions).items()}
        answers = (np.full_like(label, token) for token in np.unique(label[label >= 0]))
        return max(float(metric(label=label, prediction=answer, kind=arrays["kind"])) for answer in answers)
    by_group = "group" in signature(metric).parameters
    group = {"group": predictions.column(declared.group_column)[rows]} if by_group else {}
    if kind == "boxes":
        return _find_best_boxes(metric, label, group)
    if kind != "classes":
        raise OochubError(
            f"There is no constant predictor for {kind}. There is one for classes, labels, number, boxes and tokens."
        )
    if isinstance(side, GroupsOfRows):
        groups, every = side.rows_of_groups(columns), predictions.label
        return max(
            side.statistic([float(np.mean(every[of] == answer)) for of in groups.values()])
            for answer in np.unique(label)
        )
    numbers = [metric(label=label, prediction=np.full_like(label, answer), **group) for answer in np.unique(label)]
    return max(float(next(iter(number.values())) if isinstance(number, dict) else number) for number in numbers)


def _find_best_boxes(metric: Any, label: NDArray[Any], group: dict[str, Any]) -> float:
    every = sorted({box for boxes in label for box in boxes})
    candidates = every[:: 1 + len(every) // _CANDIDATES]

    def number(boxes: tuple[Any, ...]) -> float:
        scores = [(1.0,) * len(boxes)] * len(label)
        return float(metric(boxes=[boxes] * len(label), scores=scores, true_boxes=label, **group))

    chosen: tuple[Any, ...] = ()
    best = number(chosen)
    while candidates:
        following, box = max((number((*chosen, box)), box) for box in candidates)
        if following <= best:
            break
        chosen, best = (*chosen, box), following
    return best
