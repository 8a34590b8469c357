"""What a model is worth on the validation split: its losses, metrics of the hub, and which epoch is the best."""

import math
from collections.abc import Callable, Iterable, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc
import torch
from numpy.typing import NDArray

from oochub import catalog
from oochub.errors import OochubError, unknown_name
from oochub.metric import read_facts
from oochub.models.extraction import draw_boxes
from oochub.output import get_output
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.records.sides import GroupsOfRows
from oochub.trainers.losses import example_losses
from oochub.trainers.rows.examples import Examples, read_column
from oochub.trainers.rows.targets import BOXES, CLASSES, LABELS, TOKENS

RULES: Mapping[str, str] = {
    "loss": "the mean loss",
    "hard_loss": "the larger of the mean losses of hard positives and hard negatives: NOOCH's rule, Section 6",
    "worst_group.accuracy": "the accuracy of the worst group",
}
"""What a record says of these rules of selection."""

_HIGHER = {"accuracy": True, "worst_group.accuracy": True}
_HARD = ("hard_positive", "hard_negative", "hard")


class Selection(NamedTuple):
    """The number that an epoch is chosen by, and its direction."""

    metric: str
    greater_is_better: bool

    def better(self, value: float, best: float | None) -> bool:
        """Whether `value` beats `best`; equal values and nan do not, so the earlier epoch stays."""
        if math.isnan(value):
            return False
        return best is None or (value > best if self.greater_is_better else value < best)


class Validation:
    """Computes the numbers of a split from its logits, those that every rule of selection needs among them.

    Always "loss", the mean loss of `example_losses`; where the column `challenge` has such rows,
    "hard_positive_loss", "hard_negative_loss" and "hard_loss", the larger of the two; for classes "accuracy", and with
    a column "group", "groups" (lists of those that a row is in, which overlap) or environments
    "worst_group.accuracy". Then every named metric: it gets those of its arguments by name that the split has: label,
    prediction, probability, score (of class 1, for two classes; of each label, where a row has several), group (column
    "group", else, where there is no column "groups", the environments), challenge. A number of a metric with several is
    called "<metric>.<key>". `compute_metrics` gives more numbers, by the names that it gives them, without a leading
    "eval_". A benchmark whose headline is of some groups alone, as FMoW's is of five regions, leaves
    the others out of every number of groups. All is tried once on equal logits, so that a metric that cannot be
    computed says so now.

    Args:
        examples: The validation split.
        problem_type: What its labels are, see `Task`.
        classes: Number of outputs of the model.
        metrics: Names of metrics of the hub.
        metric_for_best_model: One of the numbers; its metric need not stand in `metrics`.
        greater_is_better: Direction of that number; None takes the metric's own.
        environment_column: Its accuracies are `by_environment`; used as `group` where there is no column "group".
        compute_metrics: As transformers' Trainer takes it: an `EvalPrediction` of logits and labels to numbers by name.

    Attributes:
        selection: How an epoch is chosen.

    Raises:
        OochubError: An unknown metric or number, a metric that lacks an array, or one without a direction.
    """

    def __init__(
        self,
        examples: Examples,
        *,
        problem_type: str = CLASSES,
        classes: int,
        metrics: Iterable[str] = (),
        metric_for_best_model: str = "loss",
        greater_is_better: bool | None = None,
        environment_column: str | None = None,
        compute_metrics: Callable[[Any], Mapping[str, Any]] | None = None,
    ) -> None:
        dataset, self._label, self._type = examples.dataset, examples.label, problem_type
        self._binary = problem_type == CLASSES and classes == 2
        self._columns: dict[str, Any] = {"label": self._label.numpy()}
        fallback = None if "groups" in dataset.column_names else environment_column
        for argument, source in (("group", "group"), ("group", fallback), ("challenge", "challenge")):
            if source and source in dataset.column_names and argument not in self._columns:
                self._columns[argument] = read_column(dataset, source)
        self._hard = {kind: np.flatnonzero(self._columns.get("challenge", np.array([])) == kind) for kind in _HARD}
        record = BuildRecord.of(dataset.info)
        self._facts = BuildFacts() if record is None else record.facts
        self._counting = _mark_counting(dataset, record)
        self._groups = _list_memberships(dataset, self._columns.get("group"), self._counting)
        column = environment_column if environment_column in dataset.column_names else None
        self._environments = _encode_values(read_column(dataset, column) if column else None)
        if problem_type == TOKENS and "kinds" in dataset.column_names:
            kind: Any = get_output("tokens")
            self._columns["kind"] = kind.kinds(dataset.select_columns(["kinds", "tokens"]).with_format("arrow")[:])
        n = len(self._label)
        shape = {BOXES: (n, 1, classes + 5), TOKENS: (*self._label.shape, 2)}.get(problem_type, (n, classes))
        blank = np.zeros(shape, np.float32)
        own = self._own(blank)
        chosen = metric_for_best_model.partition(".")[0]
        self._compute_metrics = compute_metrics
        own |= self._compute_given(blank)
        names = [*dict.fromkeys([*metrics, *([] if metric_for_best_model in own else [chosen])])]
        if chosen == "hard_loss" and chosen not in own:
            raise OochubError(
                "metric_for_best_model='hard_loss' needs hard rows in the validation split: a column 'challenge' with "
                "hard_positive or hard_negative. Choose another, for example 'loss'."
            )
        self._metrics = {name: catalog.get("metric", name) for name in names}
        numbers = self.measure(blank)
        if metric_for_best_model not in numbers:
            raise unknown_name("number for metric_for_best_model", metric_for_best_model, numbers)
        self.selection = Selection(
            metric_for_best_model, self._find_direction(metric_for_best_model, greater_is_better)
        )

    def measure(self, logits: NDArray[np.float32]) -> dict[str, float]:
        """The numbers of the split, "loss" first.

        Args:
            logits: (n, classes) in the order of its rows; of tokens (n, t, 2), see `TrainingStep.outputs_of_all`.
        """
        numbers, arrays = self._own(logits), self._columns | self._predict(logits)
        for name, metric in self._metrics.items():
            try:
                given = _choose_arguments(name, metric, arrays)
                if "group" in given and self._counting is not None:
                    given = {key: values[self._counting] for key, values in given.items()}
                value = metric(**given, **self._facts.options_of(metric))
            except OochubError as error:
                if self._type == CLASSES:
                    raise
                raise OochubError(
                    f"The metric {name!r} cannot be computed: labels here are of the kind {self._type}. {error}"
                ) from error
            if isinstance(value, Mapping):
                numbers |= {f"{name}.{key}": float(value[key]) for key in _list_keys(metric, value)}
            else:
                numbers[name] = float(value)
        computed = self._compute_given(logits)
        if twice := [name for name in computed if name in numbers]:
            raise OochubError(
                f"compute_metrics gives {twice[0]!r}, a number that exists already. Give it another name."
            )
        return numbers | computed

    def by_environment(self, logits: NDArray[np.float32]) -> dict[str, float] | None:
        """The accuracy of each environment that the split has; None without environments or classes."""
        if self._environments is None or self._type != CLASSES:
            return None
        codes, names = self._environments
        return dict(zip(map(str, names), _average_by_code(self._correct(logits), codes).tolist(), strict=True))

    def _own(self, logits: NDArray[np.float32]) -> dict[str, float]:
        """The numbers that need no metric of the hub."""
        losses = self._compute_losses(logits)
        numbers = {"loss": float(losses.mean())}
        hard = {f"{kind}_loss": float(losses[rows].mean()) for kind, rows in self._hard.items() if len(rows)}
        if hard:
            numbers |= {**hard, "hard_loss": max(hard.values())}
        if self._type == CLASSES:
            correct = self._correct(logits)
            numbers["accuracy"] = float(correct.mean())
            if self._groups is not None:
                numbers["worst_group.accuracy"] = float(
                    _average_by_code(correct[self._groups.row], self._groups.code).min()
                )
        return numbers

    def _compute_given(self, logits: NDArray[np.float32]) -> dict[str, float]:
        """What `compute_metrics` gives."""
        if self._compute_metrics is None:
            return {}
        from transformers import EvalPrediction

        given = self._compute_metrics(EvalPrediction(predictions=logits, label_ids=self._columns["label"]))
        if not isinstance(given, Mapping) or not all(np.ndim(value) == 0 for value in given.values()):
            raise OochubError(f"compute_metrics must return a dict of numbers by name, got {given!r}.")
        return {name.removeprefix("eval_"): float(value) for name, value in given.items()}

    def _compute_losses(self, logits: NDArray[np.float32]) -> NDArray[np.float64]:
        if self._type == TOKENS:
            answered = (self._columns["label"] >= 0).sum(axis=1)
            means: NDArray[np.float64] = logits[..., 1].sum(axis=1, dtype=np.float64) / np.maximum(answered, 1)
            return means
        label = self._label.double() if self._label.is_floating_point() else self._label
        return np.asarray(example_losses(torch.from_numpy(logits).double(), label))

    def _correct(self, logits: NDArray[np.float32]) -> NDArray[np.bool_]:
        return np.asarray(logits.argmax(axis=1) == self._columns["label"])

    def _predict(self, logits: NDArray[np.float32]) -> dict[str, Any]:
        """What metrics compare with the labels."""
        doubles = torch.from_numpy(logits).double()
        if self._type == LABELS:
            return {"prediction": logits > 0, "probability": doubles.sigmoid().numpy(), "score": logits}
        if self._type == TOKENS:
            return {"prediction": logits[..., 0].astype(np.int64)}
        if self._type == BOXES:
            return _match_boxes(doubles, self._label.double())
        if self._type != CLASSES:
            return {"prediction": logits[:, 0]}
        arrays = {"prediction": logits.argmax(axis=1), "probability": doubles.softmax(1).numpy()}
        return arrays | ({"score": arrays["probability"][:, 1]} if self._binary else {})

    def _find_direction(self, name: str, given: bool | None) -> bool:
        if given is not None or (name.endswith("loss") and name not in self._metrics):
            return bool(given)
        if name in _HIGHER:
            return _HIGHER[name]
        metric, _, key = name.partition(".")
        facts = read_facts(self._metrics[metric]) if metric in self._metrics else None
        facts = facts.keys.get(key, facts) if facts else None
        if facts is None or facts.direction == "none":
            raise OochubError(f"The hub does not know in which direction {name!r} is better. Set greater_is_better.")
        return facts.direction == "higher"


def _match_boxes(said: torch.Tensor, truth: torch.Tensor) -> dict[str, Any]:
    """What metrics of boxes get, in fractions of the images: the overlap of boxes is that of pixels."""
    classes = said.shape[-1] - 5
    drawn = draw_boxes(said[..., :-4], said[..., -4:], range(classes), classes=classes).numpy()
    half = truth[..., 3:] / 2
    corners = torch.cat([truth[..., 1:3] - half, truth[..., 1:3] + half], -1).numpy()
    arrays = {name: np.empty(len(drawn), object) for name in ("boxes", "scores", "true_boxes")}
    for row, (own, true) in enumerate(zip(drawn, corners, strict=True)):
        arrays["boxes"][row], arrays["scores"][row] = own[:, :4], own[:, 4]
        arrays["true_boxes"][row] = true[~np.isnan(true[:, 0])]
    return arrays


class _Memberships(NamedTuple):
    """Which rows are in which groups: the number of a row and of its group, once for each group of the row."""

    row: NDArray[np.intp]
    code: NDArray[np.intp]


def _mark_counting(dataset: Any, record: BuildRecord | None) -> NDArray[np.bool_] | None:
    """Which rows (n,) are of groups that the benchmark's headline is of; None where all are, or none is."""
    if record is None or record.benchmark not in catalog.names("benchmark"):
        return None
    side = catalog.get("benchmark", record.benchmark).of(record.config).out_of_context
    if not isinstance(side, GroupsOfRows):
        return None
    counting = side.counting({name: read_column(dataset, name) for name in side.where if name in dataset.column_names})
    return counting if counting is not None and counting.any() else None


def _list_memberships(dataset: Any, group: Any, counting: NDArray[np.bool_] | None) -> _Memberships | None:
    """The memberships of rows that count: one group each, else those of the column "groups"; None without either."""
    if group is None and "groups" in dataset.column_names:
        lists = dataset.select_columns(["groups"]).with_format("arrow")[:].column("groups").combine_chunks()
        row, group = pc.list_parent_indices(lists).to_numpy(), pc.list_flatten(lists).to_numpy(zero_copy_only=False)
    else:
        row = np.arange(len(dataset))
    if counting is not None and group is not None:
        row, group = row[counting[row]], np.asarray(group)[counting[row]]
    coded = _encode_values(group)
    return _Memberships(row, coded[0]) if coded and len(row) else None


def _encode_values(values: Any) -> tuple[NDArray[np.intp], NDArray[Any]] | None:
    """Codes of the values and their names; no value is a value of its own."""
    if values is None:
        return None
    names, codes = np.unique(np.asarray(values).astype(str), return_inverse=True)
    return codes.ravel(), names


def _average_by_code(values: NDArray[Any], codes: NDArray[np.intp]) -> NDArray[np.float64]:
    return np.bincount(codes, values) / np.bincount(codes)


def _list_keys(metric: Any, value: Mapping[str, Any]) -> list[str]:
    facts = read_facts(metric)
    keys = facts.keys if facts and facts.keys else value
    return [key for key in keys if isinstance(value.get(key), float | int)]


def _choose_arguments(name: str, metric: Any, arrays: Mapping[str, Any]) -> dict[str, Any]:
    parameters = signature(metric).parameters
    needed = [key for key, parameter in parameters.items() if parameter.default is Parameter.empty]
    missing = [key for key in needed if key not in arrays]
    if missing:
        raise OochubError(
            f"The metric {name!r} needs {', '.join(missing)}, which the validation split does not give (it gives "
            f"{', '.join(arrays)}). Remove the metric, or add the column."
        )
    return {key: arrays[key] for key in parameters if key in arrays}
