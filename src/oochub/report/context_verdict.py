"""The verdict on data without a context of their own: by the contexts that were found, and their tests alone."""

from typing import TYPE_CHECKING

from oochub.records.finding_records import ContextFinding
from oochub.records.report_records import Case, Fact, Verdict
from oochub.report import numbers, wording
from oochub.report.context_words import checked_words, context_headline, correction_word, is_alike, usual_words
from oochub.report.findings import is_near_chance
from oochub.report.footnotes import interval_words

if TYPE_CHECKING:
    from oochub.report.report import Report


def context_verdict(report: "Report") -> Verdict:
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
        report: With `contexts`.
    """
    found = report.contexts
    assert found is not None  # noqa: S101  the caller looked
    case, first = _case(report), found.contexts[0] if found.contexts else None
    rest = {
        "reversed": "Check labels and contexts before believing it.",
        "failed": "Gaps by context say nothing.",
        "slight": "The gap is small.",
        "unclear": "That says nothing of contexts that were not found.",
    }
    is_tested = first is not None and first.status not in ("too few", "no direction")
    return Verdict(
        case=case,
        headline="This model has not learned the task." if case == "failed" else context_headline(found),
        rest=rest.get(case, ""),
        lead=_lead(report, first) if first is not None and is_tested else _average(report),
        how_much=_how_much(first) if first is not None and is_tested else Fact("How much", numbers.UNDEFINED, "."),
        on_what=_on_what(report),
        how_sure=_how_sure(report, first if is_tested else None),
    )


def _case(report: "Report") -> Case:
    found, everything = report.contexts, report.headline("all")
    shown = [] if found is None else [each.gap for each in found.contexts if each.status == "shown"]
    if shown:
        worst = min(shown)
        return "reversed" if worst > 0 else "relies" if worst <= -report.benchmark.practical_gap else "slight"
    chance = report.benchmark.chance
    if everything is not None and everything.low <= chance < 1 and is_near_chance(everything, chance):
        return "failed"
    return "unclear" if found is not None and found.n_tests else "too_few"


def _lead(report: "Report", finding: ContextFinding) -> str:
    if is_alike(finding) and finding.having is not None:
        size, way = numbers.points(abs(finding.having)).lstrip("+"), "less" if finding.having < 0 else "more"
        return (
            f"With “{wording.words(finding.name)}” it is right {size} points {way} often than without, class by class."
        )
    usual, against = numbers.times_in_100(finding.accuracy_usual, finding.accuracy_against)
    name = wording.words(finding.name)
    end = "." if finding.status == "shown" else ": a difference that chance alone may make."
    if finding.status == "not shown" and finding.reason:
        end = f", but {wording.clean(finding.reason)}."
    return (
        f"It is right {usual} times in 100 where “{name}” is as usual for the class, and {against} times where not{end}"
    )


def _average(report: "Report") -> str:
    metric, everything = report.benchmark.primary_metric, report.headline("all")
    title = wording.name(report.description(metric).title)
    if everything is None or numbers.is_undefined(everything):
        return f"{title} could not be measured."
    return f"{title} is {numbers.quantity(everything, report.unit)}{' of 100' if report.unit == 'fraction' else ''}."


def _how_much(finding: ContextFinding) -> Fact:
    if is_alike(finding) and finding.having is not None:
        gap, inner = finding.having, interval_words(finding.having, signed=True)
        detail = f" of accuracy with {wording.words(finding.name)} than without ({inner})"
        return Fact("How much", f"{numbers.points(gap)}{numbers.points_word('fraction')}", f"{detail}, class by class.")
    inner = interval_words(finding.gap, signed=True)
    rows = f"{numbers.count(finding.n_against)} rows against {numbers.count(finding.n_usual)} as usual"
    size = f"{numbers.points(finding.gap)}{numbers.points_word('fraction')}"
    return Fact("How much", size, f" of accuracy for {wording.words(finding.name)} ({inner}), {rows}.")


def _on_what(report: "Report") -> Fact:
    found = report.contexts
    shown = [each for each in found.contexts if each.status == "shown"] if found else []
    checked = checked_words(found) if found else ""
    if not shown:
        return Fact("On what", "No context is shown.", f" {checked}")
    first = shown[0]
    more = f"; {len(shown) - 1} more shown" if len(shown) > 1 else ""
    usual = usual_words(first)
    whose = "" if usual == numbers.ABSENT else f", usual for {usual}"
    return Fact("On what", f"{wording.words(first.name)}{whose}", f" ({wording.name(first.words)}){more}. {checked}")


def _how_sure(report: "Report", finding: ContextFinding | None) -> Fact:
    found = report.contexts
    tested = f" Tested on {numbers.count(found.n_tested)} rows on which nothing was chosen." if found else ""
    covers = numbers.seeds(report.model.seeds, wording.name(report.benchmark.words.example))
    if finding is None or found is None:
        reasons = [each.reason for each in found.contexts if each.reason] if found else []
        why = f": {wording.clean(max(reasons, key=reasons.count))}" if reasons else ""
        answer = f"Nothing was tested{why}."
    else:
        alike = finding.alike_p_value if is_alike(finding) else None
        p = wording.sentence_case(numbers.p_value(finding.adjusted_p_value if alike is None else alike))
        answer = f"{p} after {correction_word(found)} over {found.n_tests}."
    return Fact("How sure", answer, f"{tested} {wording.sentence_case(covers)}.")
