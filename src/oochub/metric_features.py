"""The types of the arrays that a metric takes, as `evaluate` is told them."""

from collections.abc import Sequence
from typing import Any

from oochub.errors import OochubError

_TYPES = {
    "label": "int64",
    "prediction": "int64",
    "score": "float64",
    "probability": "float64",
    "challenge": "string",
    "kind": "int64",
    "group": "string",
    "is_ood": "bool",
    "correct": "bool",
}
_TYPES_OF_NUMBERS = {"label": "float64", "prediction": "float64"}
_DEPTHS = {"boxes": 2, "true_boxes": 2, "scores": 1}  # of the lists of numbers that a row of these is
_PER_LABEL = ("label", "prediction", "score", "probability", "kind")  # lists where a row has several labels or tokens


def metric_features(arrays: Sequence[str], outputs: Sequence[str], *, state: str) -> Any:
    """The `datasets.Features` of a metric's arrays: one alternative a kind of output, two for a probability of classes.

    Args:
        arrays: Their names.
        outputs: The kinds of output that the metric scores.
        state: The name of its state, for an error.

    Returns:
        The alternative, or a list of several.

    Raises:
        OochubError: An array of a name that has no type.

    >>> metric_features(["label", "prediction"], ["classes"], state="State")
    {'label': Value('int64'), 'prediction': Value('int64')}
    """
    from datasets import Features, List, Value

    unknown = [name for name in arrays if name not in (*_TYPES, *_DEPTHS)]
    if unknown:
        raise OochubError(
            f"Arrays of a metric are {', '.join((*_TYPES, *_DEPTHS))}; {state} takes {', '.join(unknown)}. "
            "Name it as one of these, or write `_info` in the metric's class."
        )
    alternatives = []
    for kind in outputs:
        named = {**_TYPES, **_TYPES_OF_NUMBERS} if kind in ("labels", "number") else _TYPES
        types = {name: Value(named.get(name, "float64")) for name in arrays}
        for name in (each for each in arrays for _ in range(_DEPTHS.get(each, 0))):
            types[name] = List(types[name])
        lists = {name: List(types[name]) for name in _PER_LABEL if name in types}
        features = Features({**types, **lists} if kind in ("labels", "tokens") else types)
        alternatives += [features] if features not in alternatives else []
        if kind == "classes" and "probability" in types:
            alternatives.append(Features({**types, "probability": lists["probability"]}))
    return alternatives if len(alternatives) > 1 else alternatives[0]
