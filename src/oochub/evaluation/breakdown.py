"""Which groups and confidences have the errors, and which classes the errors go to.

Errors by context: the confusion in each context, and the share that goes to the class trained in that context.

The numbers of every group, as a table: of thousands of groups a report has only the worst and the best.
"""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.data.declaration import find_declaration
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_inputs import open_parts
from oochub.evaluation.evaluation_rows import EvaluationRows, check_one_task, make_evaluation_rows
from oochub.evaluation.slices import make_row_sets
from oochub.metric import read_facts
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.prediction.present_classes import Classes, find_allowed
from oochub.records.build_record import BuildFacts
from oochub.records.finding_records import ONE_PLACE, ConfusionCell, ContextErrors, ErrorsByContext
from oochub.records.report_records import SHOWN, Calibration, ConfidenceBin, GroupRow, Groups, Side, WorstValue
from oochub.records.sides import GroupsOfRows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import Answers, mean_estimate
from oochub.stats.proportion import wilson
from oochub.stats.stratified_gap import unpaired_shares
from oochub.storage.artifacts import GROUP_TABLE_MARK

_BINS = 10
_NAMED = ("accuracy", "error_rate", "nll")  # fields of a GroupRow; other metrics stand in its `metrics`


_CONTEXTS = 200  # of a report
_WORST = 1_000  # groups of a side that a report has if there are more than twice as many, and as many of the best


def measure_groups(evaluated: EvaluationRows, sides: Mapping[Side, NDArray[np.bool_]], split: str) -> Groups | None:
    """The metrics of each group on each side of the comparison; None without a column of groups.

    Args:
        evaluated: The rows; `group` holds a name per row, `groups` a list of them.
        sides: "in" and "out" to the rows (n,) of that side; without them all rows of `split`.
        split: The evaluation split.
    """
    column = evaluated.benchmark.group_column
    if column not in evaluated.columns:
        return None
    facts = evaluated.predictions.metadata.facts
    trained = facts.trained_groups
    metrics = {name: catalog.get("metric", name) for name in evaluated.predictions.output.group_metrics}
    rows, left_out = [], 0
    inside = (
        _select_rows_by_label(evaluated, sides["in"]) if {"in", "out"} <= set(sides) and "accuracy" in metrics else {}
    )
    for side, mask in list_sides_of_groups(evaluated, sides, split):
        groups = evaluated.members(mask)
        named = list(groups.items())
        kept = _choose_groups(evaluated, list(groups.values()), metrics)
        left_out += len(named) - len(kept)
        listed = [named[place] for place in kept]
        measured = {
            name: evaluated.of_groups(metric, [members for _, members in listed]) for name, metric in metrics.items()
        }
        for place, (group, members) in enumerate(listed):
            values = {name: each[place] for name, each in measured.items()}
            rows.append(
                GroupRow(
                    group=group,
                    label=group.partition("/")[0],
                    context=evaluated.benchmark.describe_context({"group": group}, facts),
                    split=str(evaluated.columns["split"][members[0]]),
                    role=side,
                    trained=None if trained is None else group in trained,
                    n=len(members),
                    metrics={name: value for name, value in values.items() if name not in _NAMED} or None,
                    drop_p_value=_drop_p_value(evaluated, members, inside.get(group.partition("/")[0]))
                    if side == "out"
                    else None,
                    **{name: value for name, value in values.items() if name in _NAMED},
                )
            )
    return Groups(columns=("label", "context"), split=split, rows=tuple(rows), left_out=left_out)


def list_sides_of_groups(
    evaluated: EvaluationRows, sides: Mapping[Side, NDArray[np.bool_]], split: str
) -> list[tuple[Side | None, NDArray[np.bool_]]]:
    """Each side whose groups are looked at, with its rows (n,); None for all rows of a split without sides.

    Args:
        evaluated: The rows.
        sides: "in" and "out" to the rows (n,) of that side.
        split: The evaluation split.
    """
    every: list[tuple[Side | None, NDArray[np.bool_]]] = [*sides.items()]
    if isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):  # both sides are the same rows
        every = [(side, mask) for side, mask in every if side == "out"]
    return every or [(None, evaluated.columns["split"] == split)]


def _choose_groups(
    evaluated: EvaluationRows, groups: Sequence[NDArray[np.int64]], metrics: Mapping[str, Any]
) -> Sequence[int]:
    """The places of the groups that a report has, in order: all, or of thousands the worst and the best ones."""
    if len(groups) <= 2 * _WORST:
        return range(len(groups))
    metric = next(iter(metrics.values()))  # the report's first one
    estimates, facts = evaluated.of_groups(metric, groups), read_facts(metric)
    sign = -1.0 if facts is not None and facts.direction == "lower" else 1.0
    values, n = sign * np.array(estimates, np.float64), np.array([each.n for each in estimates])
    chosen = [np.lexsort((-n, order))[:_WORST] for order in (values, -values)]  # of equal ones the largest
    kept: list[int] = np.union1d(*chosen).tolist()
    return kept


def _select_rows_by_label(evaluated: EvaluationRows, inside: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """The rows of the groups in context, by the label that their group is of."""
    of: dict[str, list[NDArray[np.int64]]] = {}
    for group, members in evaluated.members(inside).items():
        of.setdefault(group.partition("/")[0], []).append(members)
    return {label: np.concatenate(rows) for label, rows in of.items()}


def _drop_p_value(
    evaluated: EvaluationRows, members: NDArray[np.int64], inside: NDArray[np.int64] | None
) -> float | None:
    if inside is None:
        return None
    rows = np.concatenate([members, inside])
    right = evaluated.columns["prediction"][rows] == evaluated.columns["label"][rows]
    p_value = unpaired_shares(right, np.arange(len(rows)) < len(members), cluster=evaluated.cluster(rows))
    return 1.0 if np.isnan(p_value) else p_value  # a report keeps no nan apart from what it lacks


def find_worst_groups(evaluated: EvaluationRows, split: str) -> dict[str, WorstValue] | None:
    """The worst accuracy, error and NLL over the groups of the evaluation split, each with its group.

    The interval is simultaneous over the groups, so it covers the minimum, whichever group attains it. None without
    groups, or for a kind of output without accuracy.
    """
    if "group" not in evaluated.columns or not evaluated.predictions.output.one_answer:
        return None
    rows = (evaluated.columns["split"] == split) & evaluated.known
    metric = catalog.get("metric", "worst_group")
    if not evaluated.has_groups(metric, rows):
        return None
    intervals, values = evaluated.of(metric, rows), evaluated.value(metric, rows)
    return {key: WorstValue(estimate=each, group=str(values[f"{key}_group"])) for key, each in intervals.items()}


def measure_calibration(
    evaluated: EvaluationRows,
    mask: NDArray[np.bool_],
    ece: Estimate | None = None,
    groups: Mapping[str, int] | None = None,
) -> Calibration:
    """Confidence against accuracy in ten equal bins (lo, hi], each with its interval.

    Args:
        evaluated: The rows.
        mask: Rows of one side (n,).
        ece: Their calibration error, where it is known already.
        groups: For a side that is its worst group, see `Calibration`.
    """
    probability = evaluated.columns["probability"][slice(None) if mask.all() else mask]  # of all nothing is copied
    confidence, correct = probability.confidence, probability.prediction == probability.label
    sampling = Sampling(cluster=evaluated.cluster(mask), **evaluated.sampling)
    is_right = correct.astype(np.float64)
    number = confidence * _BINS
    number = np.ceil(number, out=number).astype(np.int8).clip(1, _BINS) - 1
    bins = []
    for k in np.unique(number):
        inside = number == k
        own = sampling.of_rows(inside)
        right = is_right[inside]
        share = wilson(right.sum(), len(right)) if own.cluster is None else mean_estimate(right, own)
        bins.append(
            ConfidenceBin(
                low=k / _BINS,
                high=(k + 1) / _BINS,
                n=share.n,
                confidence=float(confidence[inside].mean()),
                accuracy=float(share),
                accuracy_low=share.low,
                accuracy_high=share.high,
            )
        )
    if ece is None:
        ece = evaluated.of(catalog.get("metric", "ece"), mask)
    return Calibration(
        bins=tuple(bins),
        ece=ece,
        mean_confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
        overconfidence=mean_estimate(
            confidence - is_right,
            sampling,
            are_shares=False,
            answers=Answers(if_right=confidence - 1, if_wrong=confidence),
            within=(-1.0, 1.0),
        ),
        groups=groups,
    )


class _Errors(NamedTuple):
    """The errors (e,) that can tell, and what each would be by chance."""

    context: NDArray[Any]
    hit: NDArray[np.bool_]
    even: NDArray[np.float64]
    answers: NDArray[np.float64]
    cluster: NDArray[Any] | None


def count_errors_by_context(
    evaluated: EvaluationRows, mask: NDArray[np.bool_], split: str, allowed: NDArray[np.int64] | None = None
) -> ErrorsByContext | None:
    """The confusion in each context, and the share of errors that go to the class whose training context it is.

    A class's training contexts are the most frequent ones of its training rows, all of equal ones; of own data its
    usual contexts. An error can tell where its context is that of some other classes, not of all: with two classes none
    can. The interval is Wilson's, by cluster a bootstrap.

    Args:
        evaluated: The rows.
        mask: Rows to look at (n,), of one split.
        split: Name of the split.
        allowed: The numbers of the classes that an answer may be; None allows all.

    Returns:
        None for a kind of output without one class per row, rows without a context, and data of which no training
        context is known. Rows whose context is missing are left out.

    Source: Lynch et al., Spawrious, Section 5.2 and Figure 5.
    """
    known = _read_training_facts(evaluated.predictions.metadata.facts)
    column = evaluated.benchmark.context_column
    if known is None or not evaluated.predictions.output.one_answer or column not in evaluated.columns:
        return None
    source, trained = known
    names, places = evaluated.predictions.class_names, evaluated.columns[column]
    answers = evaluated.predictions.output.answer_names(names)
    if not hasattr(places, "codes"):  # numbers or lists name no context
        return None
    named = evaluated.named(column)
    mask = mask if named is None else mask & named
    if not mask.any():
        return None
    rows: Any = slice(None) if mask.all() else np.flatnonzero(mask)  # of all nothing is copied
    contexts, codes = places.categories.tolist(), places.codes[rows]
    label, answer = evaluated.columns["label"][rows], evaluated.columns["prediction"][rows]
    classes = np.arange(len(names)) if allowed is None else allowed
    tied = _tie_contexts(trained, names, contexts, classes)
    errors = _count_errors(tied, codes, label, answer, classes=len(classes), cluster=evaluated.cluster(rows))
    nothing = _explain_none(len(classes), *_count_wrong(label, answer))
    counts = np.bincount(codes, minlength=len(contexts))
    wrong = np.bincount(codes[label != answer], minlength=len(contexts))
    order = sorted(np.flatnonzero(counts).tolist(), key=lambda code: (-wrong[code], contexts[code]))[:_CONTEXTS]
    confused = _Confusion(codes, label, answer, answers)
    left, shown = SHOWN.items, []
    for code in order:
        here = errors.context == code
        confusion = confused.of(code, left)
        left -= len(confusion)
        shown.append(
            ContextErrors(
                context=contexts[code],
                classes=tuple(names[number] for number in np.flatnonzero(tied[code])),
                n=int(counts[code]),
                n_errors=int(wrong[code]),
                share=_share(
                    errors,
                    here,
                    evaluated,
                    _explain_none(len(classes), *_count_wrong(label[codes == code], answer[codes == code])),
                ),
                chance=_mean(errors.even[here]),
                confusion=confusion,
            )
        )
    every = np.ones(len(errors.hit), bool)
    return ErrorsByContext(
        split=split,
        source=source,
        trained={name: trained[name] for name in names if name in trained},
        n_errors=int(wrong.sum()),
        share=_share(errors, every, evaluated, nothing),
        chance=_mean(errors.even),
        chance_of_answers=_mean(errors.answers),
        contexts=tuple(shown),
    )


def _read_training_facts(facts: BuildFacts) -> tuple[Literal["counts", "usual"], dict[str, tuple[str, ...]]] | None:
    """What says which contexts are a class's own, and which these are."""
    if facts.group_counts:
        rows: dict[str, dict[str, int]] = {}
        for group, count in facts.group_counts.items():
            label, _, context = group.partition("/")
            rows.setdefault(label, {})[context] = count
        own = {
            label: tuple(sorted(context for context, count in of.items() if 0 < count == max(of.values())))
            for label, of in rows.items()
        }
        return "counts", own
    if facts.usual_contexts:
        return "usual", {label: tuple(sorted(contexts)) for label, contexts in facts.usual_contexts.items()}
    return None


def _tie_contexts(
    trained: Mapping[str, Sequence[str]], names: Sequence[str], contexts: Sequence[str], classes: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """(contexts, classes) True where the context is the class's own in training, and the class an answer."""
    tied = np.zeros((len(contexts), len(names)), bool)
    place = {context: row for row, context in enumerate(contexts)}
    for number in classes.tolist():
        for context in trained.get(names[number], ()):
            if context in place:
                tied[place[context], number] = True
    return tied


def _count_errors(
    tied: NDArray[np.bool_],
    context: NDArray[Any],
    label: NDArray[Any],
    answer: NDArray[Any],
    *,
    classes: int,
    cluster: Any,
) -> _Errors:
    given = np.bincount(answer[answer >= 0], minlength=tied.shape[1])
    wrong = np.flatnonzero(label != answer)
    context, label = context[wrong], label[wrong]
    own = tied[context, label]
    others = tied.sum(axis=1)[context] - own
    tells = (others > 0) & (others < classes - 1) & (answer[wrong] >= 0)  # none of them goes nowhere
    to_tied = (tied @ given)[context] - own * given[label]
    to_others = given.sum() - given[label]
    rows = wrong[tells]
    return _Errors(
        context=context[tells],
        hit=tied[context[tells], answer[rows]],
        even=others[tells] / max(classes - 1, 1),
        answers=to_tied[tells] / to_others[tells],  # each of these errors is an answer of another class
        cluster=None if cluster is None else np.asarray(cluster)[rows],
    )


def _share(errors: _Errors, some: NDArray[np.bool_], evaluated: EvaluationRows, nothing: str) -> Estimate:
    hit = errors.hit[some]
    if not len(hit):
        return Estimate(math.nan, n=0, method="none", reason=nothing)
    if errors.cluster is None:
        return wilson(int(hit.sum()), len(hit))
    return mean_estimate(hit.astype(np.int8), Sampling(cluster=errors.cluster[some], **evaluated.sampling))


def _mean(values: NDArray[np.float64]) -> float:
    return float(values.mean()) if len(values) else math.nan


def _count_wrong(label: NDArray[np.int64], answer: NDArray[np.int64]) -> tuple[int, int]:
    """How many answers are wrong, and how many are none of the classes."""
    return int((label != answer).sum()), int((answer < 0).sum())


def _explain_none(classes: int, errors: int, outside: int) -> str:
    """Why no error can tell."""
    if not errors:
        return "no errors"
    if classes <= 2:
        return ONE_PLACE
    if errors == outside:
        return "every wrong answer fits no class"
    return "no error in a context of some of the other classes"


class _Confusion:
    """How often each class got each answer in each context; cells are made for the contexts that are asked for."""

    def __init__(
        self,
        context: NDArray[Any],
        label: NDArray[Any],
        answer: NDArray[Any],
        names: Sequence[str],
    ) -> None:
        self._names = names  # of answers: the last is that of -1, where the kind has one
        keys = (context.astype(np.int64) * len(names) + label) * len(names) + answer % len(names)
        if keys.max() < 4 * len(keys):  # counted in one pass
            counts = np.bincount(keys)
            self._keys = np.flatnonzero(counts)
            self._counts = counts[self._keys]
        else:
            self._keys, self._counts = np.unique(keys, return_counts=True)

    def of(self, context: int, most: int) -> tuple[ConfusionCell, ...]:
        """The cells of a context; none where they are more than `most`."""
        names, size = self._names, len(self._names)
        first, end = np.searchsorted(self._keys, [context * size**2, (context + 1) * size**2])
        if end - first > most:
            return ()
        pairs = [divmod(key % size**2, size) for key in self._keys[first:end].tolist()]
        counts = self._counts[first:end].tolist()
        return tuple(
            ConfusionCell(label=names[row], predicted=names[column], n=count)
            for (row, column), count in zip(pairs, counts, strict=True)
        )


def tabulate_groups(
    predictions: Predictions | str | Path | Sequence[Predictions | str | Path],
    *,
    classes: Classes = "all",
    **source: Any,
) -> pa.Table:
    """Every group of the evaluation split on each side, with the numbers that a report has for a group.

    Args:
        predictions: Predictions or the path of a file, or a list of them: the same model on other splits.
        classes: Classes that a prediction may be, see `oochub.evaluate`.
        source: `benchmark`, `data_dir`, `model_name` and arguments of `oochub.load`, for answers of another program,
            see `oochub.evaluate`.

    Returns:
        A row per side and group, in the order of sides and names: `side` ("in", "out", null without sides), `group`,
        `label`, `context`, `trained` (whether the group was in training, null if that is not known), `n`, and for each
        metric of groups its value with both ends of its own 95% interval: `accuracy`, `accuracy_low`, `accuracy_high`.
        What is undefined is null.

    Raises:
        OochubError: Predictions without groups, with more groups than a report compares, or of many tasks.

    >>> made = Predictions.from_arrays(logits=[[2.0, 0.0]] * 3, label=[0, 0, 1], group=["sea", "land", "sea"])
    >>> tabulate_groups(made).select(["group", "n", "accuracy"]).to_pydict()
    {'group': ['land', 'sea'], 'n': [1, 2], 'accuracy': [1.0, 0.5]}
    """
    given = [predictions] if isinstance(predictions, Predictions | str | Path) else list(predictions)
    joined = concatenate_predictions(open_parts(given, **source))
    declared = find_declaration(joined)
    one = choose_wording("oochub.task(predictions, 'ce_car')", "--task ce_car")
    check_one_task(joined, declared, instead=f"Take one: {one}.")
    evaluated, _ = make_evaluation_rows(joined, declared, find_allowed(joined, classes))
    column = declared.group_column
    if column not in evaluated.columns:
        raise OochubError(
            f"The predictions have no column {column}, so there are no groups to write. Name a column of contexts "
            f"with {choose_wording('context=', '--context-column')} where the predictions are made."
        )
    sets = make_row_sets(evaluated)
    masks = {rows.role: rows.mask for rows in sets}
    sides: Any = {side: masks[side] for side in ("in", "out") if side in masks}
    metrics = {name: catalog.get("metric", name) for name in joined.output.group_metrics}
    facts, parts = joined.metadata.facts, []
    for side, mask in list_sides_of_groups(evaluated, sides, sets[0].split):
        groups = evaluated.members(mask)
        names = list(groups)
        known = facts.trained_groups
        part: dict[str, object] = {
            "side": pa.array([side] * len(names), pa.string()),
            "group": names,
            "label": [name.partition("/")[0] for name in names],
            "context": [declared.describe_context({"group": name}, facts) for name in names],
            "trained": pa.array([None if known is None else name in known for name in names], pa.bool_()),
            "n": [len(rows) for rows in groups.values()],
        }
        for name, metric in metrics.items():
            part |= _list_numbers(name, evaluated.of_groups(metric, list(groups.values())))
        parts.append(pa.table(part))
    table = pa.concat_tables(parts, promote_options="permissive")
    return table.replace_schema_metadata({GROUP_TABLE_MARK: joined.digest or ""})


def _list_numbers(name: str, estimates: Sequence[Estimate]) -> Mapping[str, pa.Array]:
    """Values and ends as columns; nan is null."""
    columns = {
        name: [each.value for each in estimates],
        f"{name}_low": [each.low for each in estimates],
        f"{name}_high": [each.high for each in estimates],
    }
    return {key: pa.array(np.array(values, np.float64), from_pandas=True) for key, values in columns.items()}
