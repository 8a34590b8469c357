"""The classes that errors go to: the share to the context's class, and the answers to each class in each context."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from oochub.records.finding_records import ONE_PLACE, ErrorsByContext
from oochub.records.table import Table
from oochub.report import format_numbers, svg, theme, wording
from oochub.report.footnotes import Footnotes, describe_interval
from oochub.report.svg import LinearScale
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_TITLE = "Where the errors go"
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
            for each in report.errors.contexts:
                yield NamedNumber(f"errors {each.context}", "share", each.share)

    def chart(self, report: "ReportRecord") -> tuple[list[str], list[_ConfusionRow]]:
        """The classes, and how each was answered in each context."""
        return _list_confusion_rows(report)

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The matrix of answers where it fits, and the shares."""
        shown = _make_page_content(report)
        return None if shown is None else OnPage(values=shown)


def _make_page_content(report: "ReportRecord") -> dict[str, Any] | None:
    """What the template prints of the field `errors`; None for a report without it."""
    finding, errors = _write_finding(report), report.errors
    if finding is None or errors is None:
        return None
    parts = [("all", "", errors.share, errors.chance)]
    parts += [
        (wording.words(each.context), _format_classes(each.classes), each.share, each.chance)
        for each in errors.contexts[:_LISTED]
        if each.share.n
    ]
    classes, rows = _list_confusion_rows(report)
    fits = 0 < len(classes) * len(rows) <= _MATRIX_CELLS
    return {
        "title": _TITLE,
        "finding": finding,
        "place": wording.words(report.benchmark.context_column),
        "is_usual": errors.source == "usual",
        "split": wording.name(errors.split, 30),
        "shares": [(*part, _draw_chart(part[2], part[3])) for part in parts] if errors.share.n else [],
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
        return _Finding(
            f"It cannot be determined where the errors go: {wording.clean(share.reason or 'no value')}.", ""
        )
    by_chance = (errors.chance, errors.chance_of_answers)
    hits, n = format_numbers.count(round(share * share.n)), format_numbers.count(share.n)
    counts = f"{hits} of {n} errors do"
    if format_numbers.has_interval(share) and share.low > max(by_chance):
        headline = f"More errors than by chance go to {target}."
    elif format_numbers.has_interval(share) and share.high < min(by_chance):
        headline = f"Fewer errors than by chance go to {target}."
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
        (wording.words(each.context), _format_classes(each.classes), each.share, each.chance)
        for each in errors.contexts[:_LISTED]
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
        _head(errors),
        "Share of errors %",
        "95% interval",
        "Chance %",
        "n",
    )
    return Table(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=below.lines)


def _list_confusion_rows(report: "ReportRecord") -> tuple[list[str], list[_ConfusionRow]]:
    """The classes, and how each was answered in each context, context after context by name; [] without such rows."""
    contexts = report.errors.contexts if report.errors else ()
    answers = dict.fromkeys(cell.predicted for each in contexts for cell in each.confusion)
    classes = list(dict.fromkeys([*report.model.class_names, *answers]))  # "none of them" stands last
    rows: list[_ConfusionRow] = []
    for each in sorted(contexts, key=lambda part: part.context):
        counts: dict[str, dict[str, int]] = {}
        for cell in each.confusion:
            counts.setdefault(cell.label, {})[cell.predicted] = cell.n
        is_trained = tuple(name in each.classes for name in classes)
        for label in classes:
            n = sum(counts.get(label, {}).values())
            if n:
                shares = tuple(counts[label].get(name, 0) / n for name in classes)
                title = wording.pair_words(report.benchmark, label, each.context)
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


def _head(errors: ErrorsByContext) -> str:
    return "Usual for" if errors.source == "usual" else "In training with"


def _draw_chart(share: Estimate, chance: float) -> Markup:
    """The share with its interval, and chance as a dotted line."""
    parts = [svg.grid(_SCALE, _TICKS)]
    if not format_numbers.is_undefined(chance):
        line = Markup('<line x1="{0}" x2="{0}" y1="0" y2="100%" class="chance"/>')
        parts.append(line.format(_SCALE.at(chance)))
    if not format_numbers.is_undefined(share):
        parts.append(svg.whisker(_SCALE, share, "plain", 14, 2))
        parts.append(Markup('<svg x="{}" y="14" class="plain"><circle r="4.5"/></svg>').format(_SCALE.at(share)))
    return svg.strip(28, parts)
