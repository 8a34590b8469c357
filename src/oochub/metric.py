"""What a metric file says of itself, and how `evaluate` streams arrays into a metric's state."""

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

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
    "image_id": "int64",
    **dict.fromkeys(("box_categories", "true_categories", "true_crowd"), "int64"),
}
_TYPES_OF_NUMBERS = {"label": "float64", "prediction": "float64"}
_DEPTHS = {
    **{"boxes": 2, "true_boxes": 2},
    **dict.fromkeys(("scores", "box_categories", "true_categories", "true_crowd", "true_areas"), 1),
}  # of the lists of numbers that a row of these is
_OPTIONS = frozenset(
    "bins form groups iou kinds object_size of percentile positive rejected threshold tpr weights".split()
)
_PER_LABEL = ("label", "prediction", "score", "probability", "kind")  # lists where a row has several labels or tokens
TOKEN_KINDS = ("class", "method", "punctuation", "keyword", "builtin", "literal", "other_identifier")
"""The kinds of tokens of source code, in the order of their numbers in Py150-wilds.

A kind's number is its place here; of a token that nobody asks for it is below 0.
"""

Unit = Literal["fraction", "correlation", "nats", "label", "label squared", "own unit"]


@dataclass(frozen=True, kw_only=True)
class MetricFacts:
    """What tables, plots and tests must know of a metric; each metric file has one, named FACTS.

    Attributes:
        title: Its name in a table ("AUC").
        direction: Whether "higher" or "lower" is better; "none" where neither is.
        minimum: The smallest possible value, or None.
        maximum: The largest possible value, or None.
        unit: "fraction" (of 1, shown as hundredths), "correlation" (of 1, of either sign, shown as it is), "nats",
            "label" (what the label is measured in), "label squared" or "own unit" (of a function of the user's).
        ranking: Whether only the order of the scores counts: a monotone rescaling changes nothing.
        outputs: The kinds of output that it scores, of `oochub.names("output")`.
        keys: For a metric that gives a dict: the facts of each number in it by its key, the headline first.
        row_numbers: For a metric that is the mean of one number per row: makes these, the
            `oochub.stats.mean_interval.RowNumbers` of the columns. Its interval is then `mean_estimate`'s.
        interval: Makes the intervals from (columns, sampling, **options), see `oochub.stats.estimation.estimate`; None
            is that of a mean, if it is one, else the percentile bootstrap of the metric itself.
        compact: Whether it also takes columns as evaluation holds them: a `ClassProbability` of probabilities (n, c),
            a pandas Categorical of names (n,). Other metrics are given arrays.
        whole_groups: Whether the groups are a sample of groups, so that a bootstrap draws them with all their rows, and
            one that is drawn twice counts as two.
        group_means: For a metric that is the mean over groups of each group's mean of one number per row: makes these
            numbers (n,) of (columns, **options), so that a bootstrap works each row out once.
        of_counts: For a metric that follows from how often each row is there: prepares it of (columns, **options), as a
            function of these counts (n,), so that a bootstrap of two models works each row out once.
        from_record: Arguments that a report takes from the facts of the build record, each with the name of its fact.
    """

    title: str
    direction: Literal["higher", "lower", "none"]
    minimum: float | None = 0.0
    maximum: float | None = 1.0
    unit: Unit = "fraction"
    ranking: bool = False
    outputs: tuple[str, ...] = ("classes",)
    keys: Mapping[str, "MetricFacts"] = field(default_factory=dict)
    row_numbers: Callable[..., Any] | None = None
    interval: Callable[..., Any] | None = None
    compact: bool = False
    whole_groups: bool = False
    group_means: Callable[..., NDArray[np.float64]] | None = None
    of_counts: Callable[..., Callable[[NDArray[np.int64]], Any]] | None = None
    from_record: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_unknown(cls, name: str) -> "MetricFacts":
        """What is assumed of a function without FACTS: any number may come, and no direction is better."""
        return cls(title=name, direction="none", minimum=None, maximum=None, unit="own unit")


def read_facts(metric: Callable[..., Any]) -> MetricFacts | None:
    """The FACTS of the file that defines a metric function; None for a function from elsewhere.

    >>> from oochub.eval_modules.metrics.nll.nll import nll
    >>> read_facts(nll).unit
    'nats'
    """
    facts = vars(import_module(metric.__module__)).get("FACTS") if metric.__module__ != "__main__" else None
    return facts if isinstance(facts, MetricFacts) else None


def read_paragraph(docstring: str | None, label: str) -> str:
    r"""The paragraph of a docstring that begins with a label, on one line and without it; "" where there is none.

    >>> read_paragraph("NLL: what a surprise costs.\n\nSource: Good 1952,\nRational decisions.", "Source")
    'Good 1952, Rational decisions.'
    """
    texts = (text for text in (docstring or "").split("\n\n") if text.startswith(f"{label}: "))
    return " ".join(next(texts, "").removeprefix(f"{label}: ").split())


_UNSET = object()


class _JoinsEvaluate(type):
    """Makes a metric's class an `evaluate.Metric` where `evaluate` is imported, as it is when it loads the file.

    Elsewhere the class stands alone, so that a metric is imported without `evaluate`, which takes torch, transformers
    and five seconds with it.
    """

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> "_JoinsEvaluate":
        base = _import_evaluate_metric()
        if base is not None and bases and not any(issubclass(parent, base) for parent in bases):
            bases = (*bases, base)
        return super().__new__(mcs, name, bases, namespace)


def _import_evaluate_metric() -> Any:
    module = sys.modules.get("evaluate.module")  # not "evaluate": scripts of that name are common
    return module.Metric if module else None


class MetricShell(metaclass=_JoinsEvaluate):
    """The part that every `evaluate.Metric` of the hub shares: arrays go to a state, never through lists.

    A metric file writes `class Auc(MetricShell)` and sets `state` to a class with `__init__(options)`,
    `update(arrays)` that changes nothing if it raises, `merge(other)` and `compute()`. The class becomes an
    `evaluate.Metric` when `evaluate.load` reads the file, not when the metric's function is imported. MetricShell
    itself never is one: `evaluate` would take the first such class of a file for the metric. What `evaluate` shows of
    it are the docstrings of the file and of the function of its name; `citation` is the file's paragraph "Source: ..."
    unless it is set.

    The arrays carry the names of the metric function's arguments. As everywhere in `evaluate`, `references` is accepted
    for the truth (`label`; without one `is_ood` or `true_boxes`), and `predictions` for the `prediction`, `score`,
    `probability` or `boxes` that the metric compares with it. If both are given, the metric's own name wins; a `label`
    that differs from `references` is an error. Options (such as the bins of ece) come with the first batch, or with
    `compute` on whole arrays. Whatever happens in `compute`, the rows are gone afterwards. One process: merge the
    states, or gather the predictions.

    `evaluate.combine` hands each metric the names of all of them, always with `predictions` and `references`. Beside
    these two, a metric ignores names that only other metrics of the hub take; it refuses all others.
    """

    state: type[Any]
    citation: str = ""
    name: str
    _pending: Any = None
    _options: Mapping[str, Any] = {}
    _rows: int = 0

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if _import_evaluate_metric() is None or not isinstance(self, _import_evaluate_metric()):
            raise OochubError(
                f"{type(self).__name__} was imported without `evaluate`, so it is not an `evaluate` module. Load the "
                "folder: evaluate.load(FOLDER), after pip install 'oochub[evaluate]'. The metric itself is a "
                "function: oochub.get('metric', NAME)."
            )
        if kwargs.get("num_process", 1) != 1:
            raise OochubError(
                f"This metric runs in one process, got num_process={kwargs['num_process']}. Gather the "
                "predictions (accelerate: gather_for_metrics) and compute in the main process."
            )
        super().__init__(*args, **kwargs)

    def _info(self) -> Any:
        import evaluate

        file = sys.modules[type(self).__module__]
        facts = vars(file).get("FACTS", MetricFacts.of_unknown(file.__name__))
        features = _make_metric_features(
            tuple(_list_parameters(self.state.update)), facts.outputs, state=self.state.__name__
        )
        self.citation = self.citation or read_paragraph(file.__doc__, "Source")
        return evaluate.MetricInfo(
            description=file.__doc__,
            citation=self.citation,
            inputs_description=getattr(file, file.__name__.rpartition(".")[2]).__doc__,
            features=features,
        )

    def add(self, **row: Any) -> None:
        """Add one row: the names of the arrays, each with one value; options as in add_batch."""
        theirs = {"reference": "references"} | ({} if "prediction" in self._arrays else {"prediction": "predictions"})
        renamed = {theirs.get(name, name): value for name, value in row.items()}
        names = {*self._arrays, *_find_aliases(self.state)}
        is_array = {name: name in names and value is not None for name, value in renamed.items()}
        self.add_batch(**{name: [value] if is_array[name] else value for name, value in renamed.items()})

    def add_batch(self, **batch: Any) -> None:
        """Add a batch of rows as arrays; options of the metric come with the first batch."""
        arrays, options = self._sort_inputs(batch)
        missing = _list_missing(self.state, tuple(arrays))  # type: ignore[arg-type]
        if missing:
            raise OochubError(f"{self.name} also needs {', '.join(missing)}, got {', '.join(arrays) or 'no array'}.")
        if options:
            self._check_options_agree(options)
        if self._pending is None:
            self._pending, self._options = self.state(**options), options
        self._pending.update(**arrays)
        self._rows += len(next(iter(arrays.values())))

    def compute(self, **inputs: Any) -> dict[str, Any]:
        """The metric of all rows added so far and of the arrays given here, as a dict."""
        try:
            arrays, options = self._sort_inputs(inputs)
            if arrays:
                self.add_batch(**inputs)
            if self._pending is None:
                raise OochubError(f"{self.name} has no rows yet. Pass the arrays, or call add_batch first.")
            self._check_options_agree(options)
            value = self._pending.compute()
        finally:
            self._pending, self._options, self._rows = None, {}, 0
        return value if isinstance(value, dict) else {self.name: value}

    @property
    def _arrays(self) -> Mapping[str, bool]:
        return _list_parameters(self.state.update)

    def _feature_names(self) -> list[str]:
        """The names that `evaluate.combine` hands a module in `add` and `add_batch`: all that were given there.

        `combine` asks for them without an argument and looks each up in its `batch`, so its frame is the only place
        that says which names were given.
        """
        frame: Any = inspect.currentframe()
        return list(frame.f_back.f_locals.get("batch", self._arrays))

    def _check_options_agree(self, options: dict[str, Any]) -> None:
        changed = {name: option for name, option in options.items() if self._options.get(name, _UNSET) != option}
        if changed and self._pending is not None:
            raise OochubError(f"Options must be set with the first batch, got {changed} after {dict(self._options)}.")

    def __len__(self) -> int:
        return self._rows

    def _sort_inputs(self, inputs: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        is_combined = "predictions" in inputs and "references" in inputs
        inputs = {name: value for name, value in inputs.items() if value is not None}
        arrays, options = _sort_names(self.state, tuple(inputs), is_combined)  # type: ignore[arg-type]
        given = {array: inputs[name] for name, array in arrays}
        if ("predictions", "prediction") in arrays and "probability" not in given and self._are_probabilities(given):
            given["probability"] = given.pop("prediction")
        if "references" in inputs and "label" in inputs and _differ(inputs["references"], given["label"]):
            raise OochubError(
                "label and references differ, and are the same array of this metric. Pass one of them; if references "
                "are another metric's, pass that array by its own name."
            )
        return given, {name: inputs[name] for name in options} if options else {}

    def _are_probabilities(self, given: Mapping[str, Any]) -> bool:
        if "probability" not in self._arrays:
            return False
        first = given["prediction"]
        while isinstance(first, list | tuple) and first:
            first = first[0]
        return np.asarray(first).dtype.kind == "f"


@cache
def _sort_names(
    state: Any, names: tuple[str, ...], is_combined: bool
) -> tuple[tuple[tuple[str, str], ...], tuple[str, ...]]:
    """The names of arrays, each with the array that it stands for, and the names of options."""
    arrays, options = _list_parameters(state.update), _list_parameters(state)
    aliases = _find_aliases(state)
    meanings = {name: aliases.get(name, name) for name in names}
    others = {*_TYPES, *_DEPTHS, *_OPTIONS} if is_combined else set()
    unknown = sorted(name for name in names if meanings[name] not in {*arrays, *options, *others})
    if unknown:
        allowed = ", ".join([*arrays, *options])
        raise OochubError(f"This metric takes {allowed}, got {', '.join(unknown)}.")
    by_name = {meaning: name for name, meaning in meanings.items() if meaning in arrays}
    by_name |= {name: name for name in names if name in arrays}  # a metric's own name wins
    return tuple((name, array) for array, name in by_name.items()), tuple(set(names) & set(options))


def _differ(first: Any, second: Any) -> bool:
    try:
        first, second = np.asarray(first), np.asarray(second)
    except ValueError:  # ragged: the metric itself refuses it
        return False
    return not np.array_equal(first, second, equal_nan=first.dtype.kind == second.dtype.kind == "f")


def _find_aliases(state: Any) -> Mapping[str, str]:
    """The arrays that `references` and `predictions` stand for."""
    arrays = _list_parameters(state.update)
    truth = next((name for name in ("label", "is_ood", "true_boxes") if name in arrays), None)
    compared = next((name for name in ("prediction", "score", "probability", "boxes") if name in arrays), None)
    named = {"references": truth, "predictions": compared}
    return {name: array for name, array in named.items() if array is not None}


@cache
def _list_missing(state: Any, arrays: tuple[str, ...]) -> tuple[str, ...]:
    """The arrays that a metric needs as well."""
    return tuple(name for name, is_needed in _list_parameters(state.update).items() if is_needed and name not in arrays)


@cache
def _list_parameters(function: Callable[..., Any]) -> dict[str, bool]:
    """The names of a function's arguments, and whether each must be given."""
    parameters = inspect.signature(function).parameters.values()
    return {
        parameter.name: parameter.default is parameter.empty for parameter in parameters if parameter.name != "self"
    }


class MeanState:
    """The state of a metric that is the mean of one value per row: their sum and number.

    A subclass gives `update` its arrays, and hands the values to `_take`.

    >>> state = MeanState()
    >>> state._take(np.array([1.0, 0.0]))
    >>> state.compute()
    0.5
    """

    def __init__(self) -> None:
        self._sum = 0.0
        self._n = 0

    def merge(self, other: "MeanState") -> None:
        """Takes in the rows of `other`."""
        self._sum += other._sum
        self._n += other._n

    def compute(self) -> float:
        """The mean of all rows.

        Raises:
            OochubError: There are no rows.
        """
        if self._n == 0:
            raise OochubError("No rows yet, so the metric is undefined. Call update first.")
        return self._sum / self._n

    def _take(self, values: NDArray[Any]) -> None:
        self._sum += float(np.count_nonzero(values) if values.dtype.kind == "b" else values.sum(dtype=np.float64))
        self._n += len(values)


def _make_metric_features(arrays: Sequence[str], outputs: Sequence[str], *, state: str) -> Any:
    """The `datasets.Features` of a metric's arrays: one alternative a kind of output, two for a probability of classes.

    Args:
        arrays: Names of the arrays.
        outputs: The kinds of output that the metric scores.
        state: The name of its state, for an error.

    Returns:
        The alternative, or a list of several.

    Raises:
        OochubError: An array of a name that has no type.

    >>> _make_metric_features(["label", "prediction"], ["classes"], state="State")
    {'label': Value('int64'), 'prediction': Value('int64')}
    """
    from datasets import Features, List, Value

    unknown = [name for name in arrays if name not in (*_TYPES, *_DEPTHS)]
    if unknown:
        raise OochubError(
            f"Arrays of a metric may be {', '.join((*_TYPES, *_DEPTHS))}; {state} takes {', '.join(unknown)}. Name "
            "it as one of these, or write `_info` in the metric's class."
        )
    alternatives = []
    for kind in outputs:
        named = {**_TYPES, **_TYPES_OF_NUMBERS} if kind in ("labels", "number") else _TYPES
        types = {name: Value(named.get(name, "float64")) for name in arrays}
        for name in (array for array in arrays for _ in range(_DEPTHS.get(array, 0))):
            types[name] = List(types[name])
        lists = {name: List(types[name]) for name in _PER_LABEL if name in types}
        features = Features({**types, **lists} if kind in ("labels", "tokens") else types)
        alternatives += [features] if features not in alternatives else []
        if kind == "classes" and "probability" in types:
            alternatives.append(Features({**types, "probability": lists["probability"]}))
    return alternatives if len(alternatives) > 1 else alternatives[0]
