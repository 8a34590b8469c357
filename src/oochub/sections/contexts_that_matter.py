"""Contexts that nobody labelled: what each goes with, and whether it matters to the model's answers."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.records.finding_records import PICTURED, ClassInContext, ContextFinding, ContextFindings, ContextRow
from oochub.records.report_records import Case, Fact, Verdict
from oochub.records.table import Table
from oochub.report import format_numbers, svg, wording
from oochub.report.footnotes import Footnotes, are_few, describe_interval, describe_reason, find_reason
from oochub.report.group_findings import is_near_chance
from oochub.report.mistake_cards import LINK, embed_picture
from oochub.report.svg import LinearScale
from oochub.section import NamedNumber, OnPage, Passage, Section
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.evaluation.evaluation import Evaluation
    from oochub.report.report_record import ReportRecord

_TITLE = "Contexts associated with each class"
_LISTED = 12  # contexts that a page or a terminal shows; all are in report.json
_NAMED = 3  # contexts of a sentence, classes of a cell
_LEVELS = {
    "holm": "the probability of even one false finding is at most {:g}%",
    "benjamini_hochberg": "on average, at most {:g}% of the findings are false",
}
_CORRECTIONS = {"holm": "Holm", "benjamini_hochberg": "Benjamini-Hochberg"}
_TICKS = 3
_SCALE = LinearScale(low=-1.0, high=1.0)
_PICTURE_BYTES = 120_000  # half of the page's
_FIRST = {"rows": 3, "checks": 1, "strips": 2}
"""What is to be seen of each before a reader unfolds all: so much fits a screen of 1,280 x 800 pixels."""


def _choose_title(found: ContextFindings | None) -> str:
    return "Annotated contexts" if found is not None and found.is_annotated else _TITLE


class _Chart(NamedTuple):
    """The contexts that go with a class, each with the classes in words, and what is said of all."""

    sentence: str
    correction: str
    rows: tuple[tuple[ContextFinding, str], ...]


class ContextsThatMatter(Section["ReportRecord"]):
    """Shows `report.contexts`: no more than their tests allow, and that nobody checked them.

    Data without a context of their own are judged by these tests alone.
    """

    title, anchor, place = "Contexts", "contexts", 50
    fields = ("contexts",)

    def measure(self, evaluation: "Evaluation") -> dict[str, object]:
        """The contexts that were found, each with its gap and test."""
        from oochub.evaluation.context_findings import find_context_effects

        return {"contexts": find_context_effects(evaluation.rows, evaluation.intervals.correction)}

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """The finding, on what it stands, each context that goes with a class, and what people checked of it."""
        if sentences := _write_sentences(report):
            yield Passage(
                title=_choose_title(report.contexts),
                sentences=sentences,
                table=_build_table(report),
                below=_check_sentences(report),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """The gap of each context."""
        for context in report.contexts.contexts if report.contexts else ():
            yield NamedNumber(f"context {context.name}", "gap", context.gap, f"context/{context.name}")
            if context.error_ratio is not None:
                key = f"context/{context.name}/error_ratio"
                yield NamedNumber(f"context {context.name}", "error ratio", context.error_ratio, key)

    def chart(self, report: "ReportRecord") -> _Chart | None:
        """The gap of each context that goes with a class; None for a report without found contexts."""
        measured = report.contexts
        if measured is None:
            return None
        return _Chart(
            _write_headline(measured),
            _name_correction(measured),
            tuple((context, _describe_role(context)) for context in _select_listed(measured)),
        )

    def page(self, report: "ReportRecord", *, room: int | None) -> OnPage | None:
        """The table with its charts, and images of rows as usual and against."""
        shown = _make_page_content(report, images=room is not None)
        if shown is None:
            return None
        cards = [card for strip in shown["strips"] for _, side, _ in strip["sides"] for card in side]
        pictures = sum(len(card["picture"] or "") for card in cards)
        return OnPage(values=shown, pictures=pictures, spent=shown["picture_bytes"])

    def verdict(self, report: "ReportRecord") -> Verdict | None:
        """The verdict where no row is out of context."""
        return _fill_verdict(report) if report.is_by_contexts else None


def _fill_verdict(report: "ReportRecord") -> Verdict:
    """Puts the findings about contexts into a verdict.

    ========= =================================================================
    relies    a context is shown, with a gap of the practical size or more below 0
    slight    one is shown below 0, and none of that size
    reversed  all that are shown lie above 0
    failed    none is shown, and the interval of all rows includes chance and ends near it
    unclear   none is shown, or those found are harder for every class alike
    too_few   none could be tested
    ========= =================================================================

    Args:
        report: Report with `contexts`.
    """
    measured = report.contexts
    assert measured is not None  # noqa: S101  the caller looked
    case, first = _find_case(report), measured.contexts[0] if measured.contexts else None
    rest = {
        "reversed": "Check the labels and contexts before trusting this.",
        "failed": "Gaps by context therefore tell us nothing.",
        "slight": "The gap is small.",
        "unclear": "This says nothing about contexts that were not found.",
    }
    is_tested = first is not None and first.status not in ("too few", "no direction")
    return Verdict(
        case=case,
        headline="This model has not learned the task." if case == "failed" else _write_headline(measured),
        rest=rest.get(case, ""),
        lead=_write_lead(report, first) if first is not None and is_tested else _average(report),
        how_much=_say_how_much(first)
        if first is not None and is_tested
        else Fact("Size of the gap", format_numbers.UNDEFINED, "."),
        on_what=_say_on_what(report),
        how_sure=_say_how_sure(report, first if is_tested else None),
        is_of_sides=False,
    )


def _find_case(report: "ReportRecord") -> Case:
    measured, everything = report.contexts, report.headline("all")
    shown = [] if measured is None else [context.gap for context in measured.contexts if context.status == "shown"]
    if shown:
        worst = min(shown)
        return "reversed" if worst > 0 else "relies" if worst <= -report.benchmark.practical_gap else "slight"
    chance = report.benchmark.chance
    if everything is not None and everything.low <= chance < 1 and is_near_chance(everything, chance):
        return "failed"
    return "unclear" if measured is not None and measured.n_tests else "too_few"


def _write_lead(report: "ReportRecord", finding: ContextFinding) -> str:
    if finding.is_alike and finding.having is not None:
        size, way = format_numbers.points(abs(finding.having)).lstrip("+"), "lower" if finding.having < 0 else "higher"
        return f"With “{wording.words(finding.name)}” accuracy is {size} points {way} than without it, class by class."
    rows, is_few = (finding.n_usual, finding.n_against), are_few([finding.gap])
    usual, against = format_numbers.right_times(finding.accuracy_usual, finding.accuracy_against, rows, is_few=is_few)
    name = wording.words(finding.name)
    end = "." if finding.status == "shown" else ", a difference that chance alone could explain."
    if finding.status == "not shown" and finding.reason:
        end = f", but {finding.reason}."
    return f"It is right {usual} when “{name}” matches what is usual for the class, and {against} when it does not{end}"


def _average(report: "ReportRecord") -> str:
    metric, everything = report.benchmark.primary_metric, report.headline("all")
    title = wording.name(report.description(metric).title)
    if everything is None or format_numbers.is_undefined(everything):
        return f"{title} could not be measured."
    of = " of 100" if report.unit == "fraction" else ""
    return f"{title} is {format_numbers.quantity(everything, report.unit)}{of}."


def _say_how_much(finding: ContextFinding) -> Fact:
    if finding.is_alike and finding.having is not None:
        gap, inner = finding.having, describe_interval(finding.having, signed=True)
        detail = f" of accuracy with {wording.words(finding.name)} than without ({inner})"
        return Fact(
            "Size of the gap",
            f"{format_numbers.points(gap)}{format_numbers.points_word('fraction')}",
            f"{detail}, class by class.",
        )
    inner = describe_interval(finding.gap, signed=True)
    rows = (
        f"{format_numbers.count(finding.n_against)} rows in unusual contexts and "
        f"{format_numbers.count(finding.n_usual)} in usual ones"
    )
    size = f"{format_numbers.points(finding.gap)}{format_numbers.points_word('fraction')}"
    return Fact("Size of the gap", size, f" of accuracy for {wording.words(finding.name)} ({inner}), {rows}.")


def _say_on_what(report: "ReportRecord") -> Fact:
    measured = report.contexts
    shown = [context for context in measured.contexts if context.status == "shown"] if measured else []
    checked = _describe_check(measured) if measured else ""
    if not shown:
        return Fact("Where", "No context has a demonstrated effect.", f" {checked}")
    first = shown[0]
    more = f"; {len(shown) - 1} more shown" if len(shown) > 1 else ""
    usual = _format_names(_select_role(first, "usual")) or format_numbers.ABSENT
    whose = "" if usual == format_numbers.ABSENT else f", usual for {usual}"
    return Fact("Where", f"{wording.words(first.name)}{whose}", f" ({wording.name(first.words)}){more}. {checked}")


def _say_how_sure(report: "ReportRecord", finding: ContextFinding | None) -> Fact:
    measured = report.contexts
    tested = (
        f" Tested on {format_numbers.count(measured.n_tested)} rows that were not used for any selection."
        if measured
        else ""
    )
    covers = format_numbers.seeds(report.model.seeds, wording.name(report.benchmark.words.example))
    if finding is None or measured is None:
        reasons = [context.reason for context in measured.contexts if context.reason] if measured else []
        why = f": {max(reasons, key=reasons.count)}" if reasons else ""
        answer = f"Nothing was tested{why}."
    else:
        alike = finding.alike_p_value if finding.is_alike else None
        p = wording.capitalize_sentence(format_numbers.p_value(finding.adjusted_p_value if alike is None else alike))
        answer = f"{p} after {_name_correction(measured)} over {measured.n_tests}."
    return Fact("Certainty", answer, f"{tested} {wording.capitalize_sentence(covers)}.")


def _write_headline(found: ContextFindings) -> str:
    """The finding in one sentence: the contexts shown, those that are harder for every class, or that none is shown."""
    shown = [context for context in found.contexts if context.status == "shown"]
    worse = [context for context in shown if context.gap < 0]
    if worse:
        names = [f"{wording.words(context.name)} ({_name_classes_it_goes_with(context)})" for context in worse[:_NAMED]]
        more = [f"{len(worse) - _NAMED} more"] if len(worse) > _NAMED else []
        return f"This model does worse when the context is not the usual one: {wording.join_names([*names, *more])}."
    if shown:
        return "This model does better when the context is not the usual one."
    alike = [context for context in found.contexts if context.is_alike]
    if alike and found.is_annotated:
        return _write_annotated_headline(alike)
    if alike:
        kind = alike[0].status.partition(" ")[0]
        names = [wording.words(context.name) for context in alike if context.status == alike[0].status]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        listed = wording.join_names([*names[:_NAMED], *more])
        return f"Images with {listed} are {kind} regardless of class; no reliance on context is shown."
    if not found.contexts:
        return "No context was found."
    if found.contexts[0].status == "no direction":
        return f"No direction is claimed: {found.contexts[0].reason or ''}."
    return "None of the found contexts is shown to matter." if found.n_tests else "No context could be tested."


def _write_annotated_headline(alike: list[ContextFinding]) -> str:
    harder = [wording.words(context.name) for context in alike if context.gap < 0]
    if not harder:
        return "No annotated factor is shown to make an image of its class harder; some make it easier."
    more = [f"{len(harder) - _NAMED} more"] if len(harder) > _NAMED else []
    names = wording.join_names([*harder[:_NAMED], *more])
    return f"This model is wrong more often, class by class, on images annotated with {names}."


def _write_sentences(report: "ReportRecord") -> tuple[str, ...]:
    """The finding, on what it stands, and whether people checked the contexts; () for a report without any."""
    measured = report.contexts
    if measured is None:
        return ()
    return (
        _write_headline(measured),
        f"{_describe_tests(measured)} {_describe_left_out(measured)}".strip(),
        _describe_check(measured),
    )


def _describe_tests(found: ContextFindings) -> str:
    """How many contexts are shown of those tested, on which rows, and for what they are corrected."""
    shown = [
        context for context in found.contexts if context.status == "shown" or (found.is_annotated and context.is_alike)
    ]
    better = sum(context.gap > 0 for context in shown)
    others = f", {better} of them in the opposite direction" if 0 < better < len(shown) else ""
    alike = 0 if found.is_annotated else sum(context.is_alike for context in found.contexts)
    others += f"; {alike} {'is' if alike == 1 else 'are'} harder or easier for every class alike" if alike else ""
    rows = f"{format_numbers.count(found.n_tested)} rows"
    if not found.is_annotated:
        rows += " that were not used for any selection"
    chosen = f"what counts as usual was chosen on {format_numbers.count(found.n_chosen)} other rows"
    if not found.n_tests:
        return f"There are {rows}; {chosen}."
    if found.n_tests == 1:
        matter = f"The one context tested is {'' if shown else 'not '}shown to matter"
    elif not shown:
        matter = f"None of the {found.n_tests} contexts tested is shown to matter"
    else:
        verb = "is" if len(shown) == 1 else "are"
        matter = f"{len(shown)} of the {found.n_tests} contexts tested {verb} shown to matter"
    level = _LEVELS[found.correction].format(100 * found.level)
    return (f"{matter}{others}. The tests use {rows}; {level} ({_name_correction(found)}).") + (
        "" if found.is_annotated else f" {wording.capitalize_sentence(chosen)}."
    )


def _name_correction(found: ContextFindings) -> str:
    """The name of the correction, as readers know it."""
    return _CORRECTIONS[found.correction]


def _describe_check(found: ContextFindings) -> str:
    """What found the contexts, and whether people checked them."""
    checked = sum(context.check is not None for context in found.contexts)
    if found.is_annotated:
        return "People annotated the contexts."
    by = f"with {wording.name(found.way)}" + (f", using {wording.name(found.model)}" if found.model else "")
    if not checked:
        return f"Contexts found {by}; not reviewed by people."
    return f"Contexts found {by}; people checked rows of {checked} of {len(found.contexts)}."


def _check_words(finding: ContextFinding) -> tuple[str, ...]:
    """What a check by people says of one context, what wrong labels do to its gap; () where nobody checked it."""
    check, bounds, shown, worst = finding.check, finding.bounds, finding.shrinkage, finding.worst_case
    if check is None:
        return ()
    wrong, checked = check.wrong_with + check.wrong_without, check.checked_with + check.checked_without
    lines = [f"{format_numbers.count(wrong)} of {format_numbers.count(checked)} checked labels are wrong"]
    if bounds is not None and format_numbers.has_interval(bounds):
        if shown is not None:
            ends = f"{format_numbers.interval(shown)}{find_reason(shown)}"
            lines.append(f"labels this often wrong show {format_numbers.fraction(shown)}% of a gap ({ends})")
        lines.append(f"with correct labels the gap is {_format_limited(bounds)}")
    elif bounds is not None:
        lines.append(bounds.reason or "the gap has no interval")
    if worst is not None and format_numbers.has_interval(worst):
        is_bounded = worst.low > -1 or worst.high < 1
        lines.append(f"at worst {_format_limited(worst)}" if is_bounded else "at worst nothing is known about it")
    return tuple(lines)


def _format_limited(estimate: Estimate) -> str:
    return format_numbers.interval_points(estimate) + (f" ({describe_reason(estimate)})" if estimate.reason else "")


def _check_sentences(report: "ReportRecord") -> tuple[str, ...]:
    """A sentence for each listed context that people checked, below the table."""
    checked = [context for context in _select_listed(report.contexts) if context.check] if report.contexts else []
    return tuple(f"Check of {wording.words(context.name)}: {'; '.join(_check_words(context))}." for context in checked)


def _select_listed(found: ContextFindings) -> tuple[ContextFinding, ...]:
    """Those that go with a class, in their order, twelve at most; all that people annotated."""
    if found.is_annotated:
        return found.contexts
    return tuple(context for context in found.contexts if _has_role(context))[:_LISTED]


def _build_table(report: "ReportRecord") -> Table:
    """Each context that goes with a class: whether it matters, for which classes it is usual, both sides, the gap."""
    measured = report.contexts
    if measured is None:
        return Table(heads=(), rows=())
    if measured.is_annotated:
        return _build_annotated_table(measured)
    below = Footnotes()
    rows = [
        (
            wording.words(context.name),
            context.status,
            _describe_role(context),
            format_numbers.fraction(context.accuracy_usual),
            format_numbers.fraction(context.accuracy_against),
            _describe_gap(context, below),
            format_numbers.p_value(context.adjusted_p_value).removeprefix("p = ").removeprefix("p "),
            f"{format_numbers.count(context.n_usual)} + {format_numbers.count(context.n_against)}",
        )
        for context in _select_listed(measured)
    ]
    p = f"p ({_name_correction(measured)})"
    heads = ("Context", "Matters", "Usual for", "Usual %", "Unusual %", "Gap in points", p, "n usual + unusual")
    return Table(heads=heads, rows=tuple(rows), left=frozenset({0, 1, 2}), footnotes=below.lines, beside=True)


def _build_annotated_table(found: ContextFindings) -> Table:
    """Each context: whether it matters, the rows with it and the others of their classes, the error ratio."""
    below = Footnotes()
    rows = [
        (
            wording.words(context.name),
            context.status.removesuffix(" for all"),
            format_numbers.fraction(context.accuracy_against),
            format_numbers.fraction(context.accuracy_usual),
            _describe_gap(context, below),
            format_numbers.p_value(context.adjusted_p_value).removeprefix("p = ").removeprefix("p "),
            _describe_ratio(context),
            f"{format_numbers.count(context.n)}",
        )
        for context in found.contexts
    ]
    p = f"p ({_name_correction(found)})"
    heads = ("Context", "Matters", "With %", "Without %", "Gap in points", p, "Error ratio", "n with")
    return Table(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=below.lines, beside=True)


def _describe_ratio(finding: ContextFinding) -> str:
    """The error ratio with its interval; "" where there is none."""
    ratio = finding.error_ratio
    if ratio is None or format_numbers.is_undefined(ratio):
        return format_numbers.ABSENT
    ends = f" [{ratio.low:.2f}, {ratio.high:.2f}]" if format_numbers.has_interval(ratio) else ""
    return f"{ratio.value:.2f}{ends}"


def _describe_role(finding: ContextFinding) -> str:
    """The classes for which a context is usual; if it is usual for none, those for which it is unusual."""
    return _format_names(_select_role(finding, "usual")) or _name_classes_it_goes_with(finding)


def _describe_gap(finding: ContextFinding, notes: Footnotes) -> str:
    """The gap in points, and below it its interval, or why it has none."""
    has_more = format_numbers.has_interval(finding.gap) or finding.gap.reason
    return format_numbers.points(finding.gap) + (f"\n{notes.below(finding.gap, signed=True)}" if has_more else "")


def _name_classes_it_goes_with(finding: ContextFinding) -> str:
    """For which classes a context is usual; if it is usual for none, for which it is unusual."""
    role = "usual" if _select_role(finding, "usual") else "unusual"
    return f"{role} for {_format_names(_select_role(finding, role))}"


def _format_names(classes: list[ClassInContext]) -> str:
    more = [f"{len(classes) - _NAMED} more"] if len(classes) > _NAMED else []
    return wording.join_names([*(wording.words(cls.label) for cls in classes[:_NAMED]), *more])


def _select_role(finding: ContextFinding, role: str) -> list[ClassInContext]:
    """The classes of that role, those first whose lift is farthest from 1."""
    several = [cls for cls in finding.classes if cls.role == role]
    return sorted(several, key=_get_lift, reverse=role == "usual")


def _get_lift(each: ClassInContext) -> float:
    return float("inf") if format_numbers.is_undefined(each.lift) else float(each.lift)


def _has_role(finding: ContextFinding) -> bool:
    """Whether a context is usual or unusual for a class."""
    return any(cls.role != "neither" for cls in finding.classes)


def _describe_left_out(found: ContextFindings) -> str:
    """What is not in the table, or in it without a test."""
    loose = 0 if found.is_annotated else sum(not _has_role(context) for context in found.contexts)
    few = sum(context.status == "too few" and (found.is_annotated or _has_role(context)) for context in found.contexts)
    parts = [f"{few} {'has' if few == 1 else 'have'} too few rows"] if few else []
    if loose:
        parts.append(f"{loose} {'is' if loose == 1 else 'are'} left out: neither usual nor unusual for any class")
    return wording.capitalize_sentence(f"{'; '.join(parts)}.") if parts else ""


def _make_page_content(report: "ReportRecord", *, images: bool = True) -> dict[str, Any] | None:
    """What the template prints of the field `contexts`; None for a report without it.

    Args:
        report: Any report.
        images: False leaves the images out.

    Raises:
        OochubError: An image that is not a base64 JPEG.
    """
    measured, sentences = report.contexts, _write_sentences(report)
    if measured is None or not sentences:
        return None
    listed = _select_listed(measured)
    checks, shown = _check_sentences(report), _choose_pictures(listed[:PICTURED] if images else ())
    return {
        "title": _choose_title(measured),
        "finding": sentences,
        "is_annotated": measured.is_annotated,
        "rows": [_make_row(context) for context in listed],
        "checks": checks,
        **shown,
        "first": _FIRST,
        "folded": _describe_folded(rows=len(listed), checks=len(checks), strips=len(shown["strips"])),
        "axis": svg.tick_labels(_SCALE, lambda tick: f"{100 * tick:.4g}".replace("-", "\u2212"), most=_TICKS),
        "left_out": 0 if measured.is_annotated else max(sum(map(_has_role, measured.contexts)) - _LISTED, 0),
    }


def _describe_folded(**counts: int) -> str:
    """What stands on the fold: how many of each there are in all; "" where nothing is folded."""
    if all(count <= _FIRST[name] for name, count in counts.items()):
        return ""
    words = {"rows": "contexts", "checks": "checks", "strips": "rows of images"}
    return f"All {wording.join_names([f'{count} {words[name]}' for name, count in counts.items() if count > 1])}"


def _make_row(finding: ContextFinding) -> dict[str, Any]:
    return {
        "name": wording.words(finding.name),
        "words": wording.name(finding.words, 60),
        "usual": _describe_role(finding) if finding.error_ratio is None else _describe_ratio(finding),
        "status": finding.status if finding.error_ratio is None else finding.status.removesuffix(" for all"),
        "gap": finding.gap,
        "n": f"{format_numbers.count(finding.n_usual)} + {format_numbers.count(finding.n_against)}",
        "reason": finding.reason or "",
        "chart": svg.row(_SCALE, {"shown" if finding.status == "shown" else "plain": finding.gap}, most=_TICKS),
    }


def _choose_pictures(findings: Sequence[ContextFinding]) -> dict[str, Any]:
    """Rows as usual and against of each, until the bytes are spent; those without an image are left out."""
    strips: list[dict[str, Any]] = []
    spent, left_out = 0, 0
    for finding in findings:
        sides = [
            ("as usual", finding.rows_usual, finding.n_usual),
            ("against", finding.rows_against, finding.n_against),
        ]
        read = [(side, [_make_card(row) for row in rows if row.image], n) for side, rows, n in sides]
        size = sum(card["size"] for _, cards, _ in read for card in cards)
        if spent + size > _PICTURE_BYTES:
            left_out += 1
        elif size:
            spent += size
            strips.append(
                {"name": wording.words(finding.name), "goes": _name_classes_it_goes_with(finding), "sides": read}
            )
    return {"strips": strips, "picture_bytes": spent, "crowded": left_out}


def _make_card(row: ContextRow) -> dict[str, Any]:
    """An image with its class, and the answer where it is wrong."""
    picture, size = embed_picture(row.image or "", f"row {row.example_id}")
    label, answer = wording.words(row.label), wording.words(row.predicted)
    link = LINK.match(row.attribution or "")
    return {
        "picture": picture,
        "size": size,
        "label": label,
        "said": "" if row.predicted == row.label else answer,
        "title": wording.name(" · ".join(filter(None, (row.example_id, row.attribution)))),
        "url": link[0] if link else None,
    }
