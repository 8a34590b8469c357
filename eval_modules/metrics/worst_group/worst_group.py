"""Worst group: accuracy, error and NLL of the group where each is worst, with its name and size.

    worst accuracy = min_g accuracy_g,   worst error = max_g error_g,   worst NLL = max_g NLL_g

Groups without rows do not count.

Interval: simultaneous over the groups, so it covers the truth, which a bootstrap of the minimum never does.

Limitations: The worst of several observed groups is biased downwards: of 16 groups of 100 rows, all truly 0.90, it is
0.844 on average.

Source: Sagawa, Koh, Hashimoto and Liang 2020, "Distributionally Robust Neural Networks for Group Shifts", ICLR, Section
2; WILDS, Table 1; "worst-group" of NOOCH, Section 6.1.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from oochub.errors import OochubError
from oochub.eval_modules.metrics.nll.nll import _compute_losses
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import (
    Array,
    GroupCodes,
    check_answer,
    check_group,
    check_label,
    check_probability,
    check_same_length,
    check_whole,
)
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.group_intervals import worst_group_interval

_CHUNK = 65536  # rows counted together: temporaries stay in the processor's cache


def worst_group(
    label: Any,
    prediction: Any,
    group: Any,
    probability: Any = None,
    groups: Sequence[Hashable] | None = None,
    form: str | None = None,
) -> dict[str, Any]:
    """Accuracy, error rate and NLL of the group in which each is worst.

    Args:
        label: The class of each row (n,), int or bool.
        prediction: The predicted class of each row (n,), int or bool; -1 is none of the classes, which is wrong. None
            takes the class of the largest `probability`, class 0 at 0.5.
        group: The group of each row (n,), any hashable: a list of names or tuples, an array of numbers or strings.
        probability: Probability of class 1 (n,), or of each class (n, c), for the worst NLL; None leaves it out.
        groups: The groups that there should be, read with `form` alone; None takes those of `group`.
        form: "wilds" counts each of `groups` that has no row as wrong, as WILDS' code does for CivilComments.

    Returns:
        `accuracy` in [0, 1] (higher is better), `error_rate` in [0, 1] (lower is better) and with `probability` `nll`
        in nats (lower is better), each followed by the group that it is of (`accuracy_group`) and the rows of that
        group (`accuracy_n`). Among equal groups the larger one is named, among equally large ones the first by name.

    Raises:
        OochubError: The same as for `accuracy` and `nll`; groups that are NaN or not hashable; another form.

    >>> worst_group(label=[0, 0, 1, 1], prediction=[0, 0, 1, 0], group=["sea", "sea", "land", "land"])
    {'accuracy': 0.5, 'accuracy_group': 'land', 'accuracy_n': 2,
     'error_rate': 0.5, 'error_rate_group': 'land', 'error_rate_n': 2}
    """
    state = _WorstGroupState(groups=groups, form=form)
    state.update(label=label, prediction=prediction, group=group, probability=probability)
    return state.compute()


def _check_inputs(label: Any, prediction: Any, group: Any) -> tuple[Array, Array, GroupCodes]:
    label, prediction = check_whole(label, name="label"), check_whole(prediction, name="prediction")
    groups = check_group(group)
    check_same_length(label=label, prediction=prediction, group=groups.codes)
    return label, prediction, groups


def _count_by_group(label: Array, prediction: Array, groups: GroupCodes) -> tuple[Array, Array]:
    """Wrong and correct rows by code, from one count of 2 code + correct."""
    counts = np.zeros(2 * len(groups.names), np.int64)
    narrow = np.min_scalar_type(len(counts) - 1)  # one byte a row for up to 128 groups
    for start in range(0, len(label), _CHUNK):
        rows = slice(start, start + _CHUNK)
        true, answer = label[rows], prediction[rows]
        if true[true.argmin()] < 0 or answer[answer.argmin()] < 0:
            check_label(label)
            check_answer(prediction)
        key = groups.codes[rows].astype(narrow)
        key += key
        key += true == answer
        counts += np.bincount(key, minlength=len(counts))
    return counts[0::2], counts[1::2]


class _WorstGroupState:
    """Per group: rows, correct rows, and the sum of the losses where probabilities are given (3, groups)."""

    def __init__(self, groups: Sequence[Hashable] | None = None, form: str | None = None) -> None:
        if form not in (None, "wilds"):
            raise OochubError(f'form must be None or "wilds", got {form!r}.')
        self._wanted = groups if form == "wilds" and groups is not None else ()
        self._place: dict[Hashable, int] = {}
        self._sums = np.zeros((3, 0))
        self._has_losses: bool | None = None

    def update(self, *, label: Any, group: Any, prediction: Any = None, probability: Any = None) -> None:
        if prediction is None and probability is None:
            raise OochubError("worst_group also needs prediction or probability, got neither.")
        if prediction is None:
            array = check_probability(probability)
            prediction = array.argmax(1) if array.ndim == 2 else (array > 0.5).astype(np.int64)
        label, prediction, groups = _check_inputs(label, prediction, group)
        losses = None if probability is None else _compute_losses(label, probability)
        wrong, right = _count_by_group(label, prediction, groups)
        loss = np.zeros(len(right)) if losses is None else np.bincount(groups.codes, losses, len(right))
        rows = wrong + right
        present = np.flatnonzero(rows)
        names = [*groups.names] if len(present) == len(rows) else [groups.names[i] for i in present.tolist()]
        self._take(names, np.stack([rows, right, loss])[:, present], has_losses=losses is not None)

    def merge(self, other: "_WorstGroupState") -> None:
        if other._has_losses is not None:
            self._take(list(other._place), other._sums, has_losses=other._has_losses)

    def compute(self) -> dict[str, Any]:
        if not self._place:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        names = list(self._place)
        n, right, loss = self._sums
        values = {"accuracy": right / n, "error_rate": (n - right) / n}
        if self._has_losses:
            values["nll"] = loss / n
        result: dict[str, Any] = {}
        for key, of in values.items():
            worst = of.min() if key == "accuracy" else of.max()
            tied = np.flatnonzero(of == worst).tolist()
            first = min(tied, key=lambda i: (-n[i], _order(names[i])))
            result |= {key: float(worst), f"{key}_group": names[first], f"{key}_n": int(n[first])}
        for key, wrong in (("accuracy", 0.0), ("error_rate", 1.0)) if self.empty else ():
            result |= {key: wrong, f"{key}_group": self.empty[0], f"{key}_n": 0}
        return result

    @property
    def empty(self) -> list[Hashable]:
        """The groups that there should be and that have no row."""
        return [name for name in self._wanted if name not in self._place]

    def _take(self, names: list[Hashable], sums: Array, *, has_losses: bool) -> None:
        if self._has_losses not in (None, has_losses):
            raise OochubError("probability must be given for all batches or for none, got some with and some without.")
        self._has_losses = has_losses
        places = [self._place.setdefault(name, len(self._place)) for name in names]
        grown = np.zeros((3, len(self._place)))
        grown[:, : self._sums.shape[1]] = self._sums
        grown[:, places] += sums  # each name is there once
        self._sums = grown


def _order(group: Hashable) -> tuple[str, Any]:
    # Numbers in numeric order; what cannot be compared, such as tuples of mixed types, by how it reads.
    kind = type(group).__name__
    return (kind, group) if isinstance(group, int | float | str) else (kind, repr(group))


def _estimate_interval(
    columns: dict[str, Array], sampling: Sampling, groups: Sequence[Hashable] | None = None, form: str | None = None
) -> dict[str, Estimate]:
    if form is not None:
        state = _WorstGroupState(groups=groups, form=form)
        state.update(**columns)
        if state.empty:
            reason = f"no row of {state.empty[0]}, which counts as wrong"
            values = {key: value for key, value in state.compute().items() if not key.endswith(("_group", "_n"))}
            return {
                key: Estimate(value, n=len(columns["label"]), method="none", reason=reason)
                for key, value in values.items()
            }
    probability = columns.get("probability")
    label, prediction, coded = _check_inputs(columns["label"], columns["prediction"], columns["group"])
    correct = check_label(label) == check_answer(prediction)
    of: dict[str, Callable[[], Array]] = {"accuracy": lambda: correct * 1.0, "error_rate": lambda: ~correct * 1.0}
    if probability is not None:
        of["nll"] = lambda: _compute_losses(label, probability)
    return {
        key: worst_group_interval(
            values(),
            coded.codes,
            names=coded.names,
            worst="smallest" if key == "accuracy" else "largest",
            cluster=sampling.cluster,
            confidence=sampling.confidence,
        )
        for key, values in of.items()
    }


FACTS = MetricFacts(
    title="Worst group",
    direction="higher",
    keys={
        "accuracy": MetricFacts(title="Worst-group accuracy", direction="higher"),
        "error_rate": MetricFacts(title="Worst-group error", direction="lower"),
        "nll": MetricFacts(title="Worst-group NLL", direction="lower", maximum=None, unit="nats"),
    },
    outputs=("classes", "choices"),
    interval=_estimate_interval,
    compact=True,
)


class WorstGroup(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "worst_group"))
    >>> module.add_batch(label=[0, 0], prediction=[0, 0], group=["sea", "sea"])
    >>> module.add_batch(label=[1, 1], prediction=[1, 0], group=["land", "land"])
    >>> worst = module.compute()
    >>> worst["accuracy"], worst["accuracy_group"]
    (0.5, 'land')
    """

    state = _WorstGroupState
