"""Where the errors of a report go, in words that are as sure as its interval, as a table, and as rows of a matrix."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from oochub.records.finding_records import ONE_PLACE, ErrorsByContext
from oochub.report import numbers, theme, wording
from oochub.report.footnotes import Footnotes, interval_words
from oochub.report.text_table import TextTable

if TYPE_CHECKING:
    from oochub.report.report import Report

TITLE = "What the errors say"
LISTED = 20
"""Contexts that a page or a terminal shows; all are in report.json."""
_CLASSES = 3  # named in a cell


class ErrorFinding(NamedTuple):
    """What is said of the errors: the finding, then its numbers."""

    headline: str
    rest: str

    @property
    def text(self) -> str:
        """Both in one line."""
        return f"{self.headline} {self.rest}".rstrip()


class ConfusionRow(NamedTuple):
    """The answers to one class in one context.

    Attributes:
        title: The class and the context, in words.
        label: The place of the class among the classes.
        n: Rows.
        shares: Of each class among the answers, in [0, 1].
        is_trained: Of each class, whether the context is its own in training.
    """

    title: str
    label: int
    n: int
    shares: tuple[float, ...]
    is_trained: tuple[bool, ...]


def error_finding(report: "Report") -> ErrorFinding | None:
    """Whether the errors go to the class of the context more often than chance; None for a report that does not say.

    None too where there is nothing to say: no row is wrong, or of two classes there is one place to go.

    More, or fewer, is said where the whole interval lies above, or below, both shares by chance: errors that go to
    the other classes alike, and errors that go there as often as the model names these classes at all.
    """
    errors = report.errors
    if errors is None or not errors.n_errors or errors.share.reason == ONE_PLACE:
        return None
    place, target, share = _place(report), _target(report, errors), errors.share
    if numbers.is_undefined(share):
        return ErrorFinding(f"Where the errors go cannot be told: {wording.clean(share.reason or 'no value')}.", "")
    by_chance = (errors.chance, errors.chance_of_answers)
    hits, n = numbers.count(round(share * share.n)), numbers.count(share.n)
    counts = f"{hits} of {n} errors do"
    if numbers.has_interval(share) and share.low > max(by_chance):
        headline = f"More errors than by chance go to {target}."
    elif numbers.has_interval(share) and share.high < min(by_chance):
        headline = f"Fewer errors than by chance go to {target}."
    else:
        headline, counts = f"It is not shown that errors follow the {place}.", f"{hits} of {n} go to {target}"
    even, of_answers = map(numbers.fraction, by_chance)
    rest = f"{counts}: {numbers.fraction(share)}% ({interval_words(share)}). "
    rest += (
        f"By chance it would be {even}% (to the other classes alike) or {of_answers}% (to each as often as answered)."
    )
    if share.n < errors.n_errors:
        left = numbers.count(errors.n_errors - share.n)
        rest += f" {left} more errors cannot tell: their {place} is that of no other class, or of every other."
    return ErrorFinding(headline, rest)


def errors_table(report: "Report") -> TextTable:
    """The share of errors that go to the class of the context: in all, then in each context; no rows without it."""
    errors = report.errors
    if errors is None or numbers.is_undefined(errors.share):
        return TextTable(heads=(), rows=())
    below = Footnotes()
    parts = [("All", "", errors.share, errors.chance)]
    parts += [
        (wording.words(each.context), class_words(each.classes), each.share, each.chance)
        for each in errors.contexts[:LISTED]
    ]
    rows = [
        (
            context,
            classes or numbers.ABSENT,
            numbers.fraction(share),
            below.below(share),
            numbers.fraction(chance),
            numbers.count(share.n),
        )
        for context, classes, share, chance in parts
    ]
    heads = (wording.sentence_case(_place(report)), _head(errors), "Errors to it %", "95% interval", "Chance %", "n")
    return TextTable(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=below.lines)


def confusion_rows(report: "Report") -> tuple[list[str], list[ConfusionRow]]:
    """The classes, and how each was answered in each context, context after context by name; [] without such rows."""
    classes = list(report.model.class_names)
    rows: list[ConfusionRow] = []
    for each in sorted(report.errors.contexts if report.errors else (), key=lambda part: part.context):
        counts: dict[str, dict[str, int]] = {}
        for cell in each.confusion:
            counts.setdefault(cell.label, {})[cell.predicted] = cell.n
        is_trained = tuple(name in each.classes for name in classes)
        for label in classes:
            n = sum(counts.get(label, {}).values())
            if n:
                shares = tuple(counts[label].get(name, 0) / n for name in classes)
                title = wording.pair_words(report.benchmark, label, each.context)
                rows.append(ConfusionRow(title, classes.index(label), n, shares, is_trained))
    return classes, rows


def heated_width(rows: Sequence[ConfusionRow]) -> float:
    """The width of a heat step for the wrong answers, of rows of ten examples and more."""
    return theme.heat_width(
        share for row in rows if row.n >= theme.HEAT_FROM for x, share in enumerate(row.shares) if x != row.label
    )


def class_words(classes: tuple[str, ...]) -> str:
    """The classes of a context in words, the first three by name."""
    more = [f"{len(classes) - _CLASSES} more"] if len(classes) > _CLASSES else []
    return wording.listed([*map(wording.words, classes[:_CLASSES]), *more])


def _place(report: "Report") -> str:
    return wording.words(report.benchmark.context_column)


def _target(report: "Report", errors: ErrorsByContext) -> str:
    if errors.source == "usual":
        return f"a class whose usual {_place(report)} it is"
    return f"a class that has the same {_place(report)} in training"


def _head(errors: ErrorsByContext) -> str:
    return "Usual of" if errors.source == "usual" else "In training of"
