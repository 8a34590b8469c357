"""The classes that errors go to: the share to the context's class, and the answers to each class in each context."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.records.build_record import BuildFacts
from oochub.records.finding_records import ONE_PLACE, ConfusionCell, ContextErrors, ErrorsByContext
from oochub.records.report_records import SHOWN
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.report.svg import LinearScale
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.proportion import wilson

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.evaluation.evaluation_rows import EvaluationRows
    from oochub.report.report_record import ReportRecord

_TITLE = "Where the errors go"
_CONTEXTS = 200  # of a report
_LISTED = 20  # contexts that a page or a terminal shows; all are in report.json
_CLASSES = 3  # named in a cell
_MATRIX_CELLS, _TICKS = 100, 3
_SCALE = LinearScale(low=0.0, high=1.0)


class _Finding(NamedTuple):
    """What is said of the errors: the finding, then its numbers."""

    headline: str
    rest: str

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.headline} {self.rest}".rstrip()


class _ConfusionRow(NamedTuple):
    """The answers to one class in one context.

    Attributes:
        title: The class and the context, in words.
        label: The place of the class among the classes.
        n: Rows.
        shares: Share of each class among the answers, in [0, 1].
        is_trained: Whether the context is a class's own in training, for each class.
    """

    title: str
    label: int
    n: int
    shares: tuple[float, ...]
    is_trained: tuple[bool, ...]

    @property
    def wrong_shares(self) -> tuple[float, ...]:
        """The shares of the wrong answers, which bear heat; none of fewer than ten examples."""
        return tuple(share for x, share in enumerate(self.shares) if x != self.label and self.n >= theme.HEAT_FROM)


def _count_outside(report: "ReportRecord") -> int:
    """How many answers of the evaluation split are none of the classes."""
    return next((part.none_of_them or 0 for part in report.slices if part.role == "all"), 0)


class WhereErrorsGo(Section["ReportRecord"]):
    """Shows `report.errors`.

    More, or fewer, errors than by chance are said where the whole interval lies above, or below, both shares by
    chance; else that it is not clear. Nothing is said where no row is wrong, or of two classes there is one place to
    go.
    """

    title, anchor, place = "Errors", "errors", 40
    fields = ("errors",)

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The errors of the evaluation split, see `_count_errors_by_context`."""
        return {"errors": _count_errors_by_context(evaluation)}

    def has(self, report: "ReportRecord") -> bool:
        """Whether there is something to say of the errors."""
        return _write_finding(report) is not None

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The finding, and the share of errors that go to the class of the context, in all and in each context."""
        finding, table = _write_finding(report), _build_table(report)
        if finding is not None:
            yield Passage(title=_TITLE, sentences=(finding.text,), table=table if table.rows else None)

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The share in all, then in each context."""
        if report.errors is not None:
            yield NamedNumber("errors", "share", report.errors.share, "error_share")
            for context in report.errors.contexts:
                yield NamedNumber(f"errors {context.context}", "share", context.share)

    def chart(self, report: "ReportRecord") -> tuple[list[str], list[_ConfusionRow]]:
        """The classes, and how each was answered in each context."""
        return _list_confusion_rows(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The matrix of answers where it fits, and the shares."""
        shown = _make_page_content(report)
        return None if shown is None else OnPage(values=shown)


class _Errors(NamedTuple):
    """The errors (e,) that can tell, and what each would be by chance."""

    context: NDArray[Any]
    hit: NDArray[np.bool_]
    even: NDArray[np.float64]
    answers: NDArray[np.float64]
    cluster: NDArray[Any] | None


def _count_errors_by_context(evaluation: "Evaluation") -> ErrorsByContext | None:
    """The confusion in each context, and the share of errors that go to the class whose training context it is.

    A class's training contexts are the most frequent ones of its training rows, all of equal ones; of own data its
    usual contexts. An error can tell where its context is that of some other classes, not of all: with two classes none
    can. The interval is Wilson's, by cluster a bootstrap.

    None for a kind of output without one class per row, rows without a context, and data of which no training context
    is known. Rows whose context is missing are left out.

    Source: Lynch et al., Spawrious, Section 5.2 and Figure 5.
    """
    evaluated, mask, allowed = evaluation.rows, evaluation.sets[0].mask, evaluation.allowed
    training = _read_training_facts(evaluated.predictions.metadata.facts)
    column = evaluated.benchmark.context_column
    if training is None or not evaluated.predictions.output.one_answer or column not in evaluated.columns:
        return None
    source, trained = training
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
    left, shown = SHOWN.most, []
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
        split=evaluation.split,
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


def _share(errors: _Errors, some: NDArray[np.bool_], evaluated: "EvaluationRows", nothing: str) -> Estimate:
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


def _make_page_content(report: "ReportRecord") -> dict[str, Any] | None:
    """What the template prints of the field `errors`; None for a report without it."""
    finding, errors = _write_finding(report), report.errors
    if finding is None or errors is None:
        return None
    parts = [("all", "", errors.share, errors.chance)]
    parts += [
        (wording.words(context.context), _format_classes(context.classes), context.share, context.chance)
        for context in errors.contexts[:_LISTED]
        if context.share.n
    ]
    classes, rows = _list_confusion_rows(report)
    fits = 0 < len(classes) * len(rows) <= _MATRIX_CELLS
    return {
        "title": _TITLE,
        "finding": finding,
        "place": wording.words(report.benchmark.context_column),
        "is_usual": errors.source == "usual",
        "split": wording.name(errors.split, 30),
        "shares": [(*part, svg.row(_SCALE, {"plain": part[2]}, line=part[3], most=_TICKS)) for part in parts]
        if errors.share.n
        else [],
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}", most=_TICKS),
        "left_out": max(len(errors.contexts) - _LISTED, 0),
        "classes": [wording.words(name) for name in classes],
        "matrix": rows if fits else [],
        "heat_width": theme.heat_width(share for row in rows for share in row.wrong_shares),
    }


def _write_finding(report: "ReportRecord") -> _Finding | None:
    """Whether the errors go to the class of the context more often than chance; None for a report that does not say.

    None too where there is nothing to say: no row is wrong, or of two classes there is one place to go.

    More, or fewer, is said where the whole interval lies above, or below, both shares by chance: errors that go to
    the other classes alike, and errors that go there as often as the model names these classes at all.
    """
    errors = report.errors
    if errors is None or not errors.n_errors or errors.share.reason == ONE_PLACE:
        return None
    place, target, share = _place(report), _name_target(report, errors), errors.share
    if format_numbers.is_undefined(share):
        return _Finding(f"It cannot be determined where the errors go: {share.reason or 'no value'}.", "")
    by_chance = (errors.chance, errors.chance_of_answers)
    hits, n = format_numbers.count(round(share * share.n)), format_numbers.count(share.n)
    counts = f"{hits} of {n} errors do"
    if format_numbers.has_interval(share) and share.low > max(by_chance):
        headline = f"Errors go to {target} more often than by chance."
    elif format_numbers.has_interval(share) and share.high < min(by_chance):
        headline = f"Errors go to {target} less often than by chance."
    else:
        headline, counts = f"It is not clear whether errors follow the {place}.", f"{hits} of {n} go to {target}"
    even, of_answers = map(format_numbers.fraction, by_chance)
    rest = f"{counts}: {format_numbers.fraction(share)}% ({describe_interval(share)}). "
    rest += (
        f"By chance it would be {even}% (spread evenly over the other classes) or {of_answers}% (as often as each is "
        "answered)."
    )
    if share.n < errors.n_errors:
        left = format_numbers.count(errors.n_errors - share.n)
        outside = ", or their answer fits no class" if _count_outside(report) else ""
        rest += (
            f" {left} more errors are left out: their {place} belongs to no other class, or to every other class"
            f"{outside}."
        )
    return _Finding(headline, rest)


def _build_table(report: "ReportRecord") -> Table:
    """The share of errors that go to the class of the context: in all, then in each context; no rows without it."""
    errors = report.errors
    if errors is None or format_numbers.is_undefined(errors.share):
        return Table(heads=(), rows=())
    below = Footnotes()
    parts = [("All", "", errors.share, errors.chance)]
    parts += [
        (wording.words(context.context), _format_classes(context.classes), context.share, context.chance)
        for context in errors.contexts[:_LISTED]
    ]
    rows = [
        (
            context,
            classes or format_numbers.ABSENT,
            format_numbers.fraction(share),
            below.below(share),
            format_numbers.fraction(chance),
            format_numbers.count(share.n),
        )
        for context, classes, share, chance in parts
    ]
    heads = (
        wording.capitalize_sentence(_place(report)),
        ("Usual for" if errors.source == "usual" else "In training with"),
        "Share of errors %",
        "95% interval",
        "Chance %",
        "n",
    )
    return Table(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=below.lines)


def _list_confusion_rows(report: "ReportRecord") -> tuple[list[str], list[_ConfusionRow]]:
    """The classes, and how each was answered in each context, context after context by name; [] without such rows."""
    contexts = report.errors.contexts if report.errors else ()
    answers = dict.fromkeys(cell.predicted for context in contexts for cell in context.confusion)
    classes = list(dict.fromkeys([*report.model.class_names, *answers]))  # "none of them" stands last
    rows: list[_ConfusionRow] = []
    for placed in sorted(contexts, key=lambda part: part.context):
        counts: dict[str, dict[str, int]] = {}
        for cell in placed.confusion:
            counts.setdefault(cell.label, {})[cell.predicted] = cell.n
        is_trained = tuple(name in placed.classes for name in classes)
        for label in classes:
            n = sum(counts.get(label, {}).values())
            if n:
                shares = tuple(counts[label].get(name, 0) / n for name in classes)
                title = wording.pair_words(report.benchmark, label, placed.context)
                rows.append(_ConfusionRow(title, classes.index(label), n, shares, is_trained))
    return classes, rows


def _format_classes(classes: tuple[str, ...]) -> str:
    """The classes of a context in words, the first three by name."""
    more = [f"{len(classes) - _CLASSES} more"] if len(classes) > _CLASSES else []
    return wording.join_names([*map(wording.words, classes[:_CLASSES]), *more])


def _place(report: "ReportRecord") -> str:
    return wording.words(report.benchmark.context_column)


def _name_target(report: "ReportRecord", errors: ErrorsByContext) -> str:
    if errors.source == "usual":
        return f"a class whose usual {_place(report)} it is"
    return f"a class that has the same {_place(report)} in training"
