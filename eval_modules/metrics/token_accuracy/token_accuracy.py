"""Token accuracy: the share of the tokens of some kinds that are predicted right, of classes and methods by default.

    right tokens of these kinds / tokens of these kinds, over all rows together

A long file counts more than a short one. A token that nobody asks for (a label of -100) is left out.

Interval: by the effective number of tokens, for the tokens of a file depend on each other (Korn and Graubard 1998, see
`oochub.stats.mean_interval`); of whole clusters where rows have some, such as repositories. Flat arrays have a token a
row, whose interval is then too narrow.

Limitations: A token is right or wrong, however near: a method of another name that does the same is wrong. Numbers of
another tokenizer do not compare.

Source: Koh et al. 2021, WILDS, Section 4.2.3 (Py150-wilds: class and method names), and its code, 2.0.0.
"""

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from oochub.errors import OochubError, unknown_name
from oochub.metric import TOKEN_KINDS, MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_same_length
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import share_of_units

_FORMS = ("oochub", "wilds")
_DEFAULT = ("class", "method")


def token_accuracy(
    label: Any,
    prediction: Any,
    kind: Any,
    kinds: Sequence[str] | None = _DEFAULT,
    form: Literal["oochub", "wilds"] = "oochub",
) -> float:
    """Share of the tokens of some kinds whose prediction is right.

    Args:
        label: The next token at each place, int (n,), or (n, t) of rows of t tokens; below 0 where nobody asks.
        prediction: The predicted one, int of that shape.
        kind: What each token is, of that shape: a name of `TOKEN_KINDS` or its number, below 0 where nobody asks.
        kinds: Names of the kinds that count; None counts every token with a label.
        form: "wilds" gives 0 where there is no such token, as WILDS does, instead of nan.

    Returns:
        A fraction in [0, 1], higher is better; nan where there is no such token.

    Raises:
        OochubError: No rows, different shapes, no whole numbers, an unknown kind or form.

    >>> tokens = {"label": [7, 8, 9, -100], "prediction": [7, 8, 0, 3]}
    >>> token_accuracy(**tokens, kind=["class", "literal", "method", "method"])
    0.5
    >>> token_accuracy(**tokens, kind=[0, 5, 1, -1], kinds=["literal"])
    1.0
    """
    state = _TokenAccuracyState(kinds, form)
    state.update(label=label, prediction=prediction, kind=kind)
    return state.compute()


class _TokenAccuracyState:
    """Right tokens, tokens that count, and rows."""

    def __init__(self, kinds: Sequence[str] | None = _DEFAULT, form: str = "oochub") -> None:
        if form not in _FORMS:
            raise unknown_name("form of token_accuracy", form, _FORMS)
        named = TOKEN_KINDS if kinds is None else kinds
        if isinstance(named, str) or not named:
            raise OochubError(f"kinds must be a list of names, one or more of {', '.join(TOKEN_KINDS)}, got {kinds!r}.")
        for name in named:
            if name not in TOKEN_KINDS:
                raise unknown_name("kind of token", name, TOKEN_KINDS)
        self._kinds = None if kinds is None else np.array([TOKEN_KINDS.index(name) for name in kinds])
        self._empty = 0.0 if form == "wilds" else math.nan
        self._right = self._counted = self._rows = 0

    def update(self, *, label: Any, prediction: Any, kind: Any) -> None:
        right, counted = self.of_rows(label, prediction, kind)
        self._right += int(right.sum())
        self._counted += int(counted.sum())
        self._rows += len(right)

    def merge(self, other: "_TokenAccuracyState") -> None:
        self._right += other._right
        self._counted += other._counted
        self._rows += other._rows

    def compute(self) -> float:
        if not self._rows:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return self.ratio(np.array(self._right), np.array(self._counted))

    def of_rows(self, label: Any, prediction: Any, kind: Any) -> tuple[Array, Array]:
        """Right tokens, and tokens that count, of each row, int64 (n,)."""
        label, prediction = _check_whole_numbers(label, "label"), _check_whole_numbers(prediction, "prediction")
        kind = _number_kinds(kind)
        check_same_length(label=label, prediction=prediction, kind=kind)
        if not label.shape == prediction.shape == kind.shape:
            shapes = f"{label.shape}, {prediction.shape} and {kind.shape}"
            raise OochubError(
                f"label, prediction and kind must have the same shape, one number per token, got {shapes}."
            )
        counts = label >= 0
        if self._kinds is not None:
            counts &= np.isin(kind, self._kinds)
        right = counts & (label == prediction)
        rows = len(label)
        return right.reshape(rows, -1).sum(axis=1), counts.reshape(rows, -1).sum(axis=1)

    def ratio(self, right: Array, counted: Array) -> float:
        total = int(counted.sum())
        return float(right.sum() / total) if total else self._empty


def _check_whole_numbers(values: Any, name: str) -> Array:
    array = np.asarray(values)
    if array.ndim not in (1, 2) or not array.size or array.dtype.kind not in "iu":
        raise OochubError(
            f"{name} must be whole numbers (n,), one per token, or (n, t), one row of t tokens each, and not empty; "
            f"got {array.dtype} of shape {array.shape}."
        )
    return array


def _number_kinds(kind: Any) -> Array:
    array = np.asarray(kind)
    if array.dtype.kind in "UO":
        names, places = np.unique(array.astype(str), return_inverse=True)
        for name in names.tolist():
            if name not in (*TOKEN_KINDS, "masked"):
                raise unknown_name("kind of token", name, (*TOKEN_KINDS, "masked"))
        numbers = [TOKEN_KINDS.index(name) if name in TOKEN_KINDS else -1 for name in names.tolist()]
        return np.array(numbers)[places].reshape(array.shape)
    array = _check_whole_numbers(array, "kind")
    if array.max() >= len(TOKEN_KINDS):
        raise OochubError(
            f"kind must be a number below {len(TOKEN_KINDS)}, the place of its name in {', '.join(TOKEN_KINDS)}, got "
            f"{array.max()}."
        )
    return array


def _estimate_interval(columns: dict[str, Array], sampling: Sampling, **options: Any) -> Estimate:
    state = _TokenAccuracyState(**options)
    right, counted = state.of_rows(**columns)
    if not counted.any():
        return Estimate(
            state.ratio(right, counted), n=len(right), method="none", reason="there are no tokens of these kinds"
        )
    if sampling.cluster is not None:
        right, counted = (np.bincount(sampling.cluster, counts) for counts in (right, counted))
    has = counted > 0
    if has.sum() == 1:
        reason = sampling.warning or "all tokens come from one row: nothing is known about differences between rows"
        return Estimate(state.ratio(right, counted), n=len(columns["label"]), method="none", reason=reason)
    share = share_of_units(right[has], counted[has], sampling)
    return Estimate.from_dict({**share.to_dict(), "n": len(columns["label"])})


FACTS = MetricFacts(title="Token accuracy", direction="higher", outputs=("tokens",), interval=_estimate_interval)


class TokenAccuracy(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "token_accuracy"))
    >>> module.compute(references=[7, 8, 9], predictions=[7, 8, 0], kind=[0, 0, 1])
    {'token_accuracy': 0.6666666666666666}
    """

    state = _TokenAccuracyState
