"""What is said of contexts that nobody labelled: no more than their tests allow, and that nobody checked them."""

from typing import TYPE_CHECKING

from oochub.report import numbers, wording
from oochub.report.context_records import ClassInContext, ContextFinding, ContextFindings
from oochub.report.text_table import TextTable

if TYPE_CHECKING:
    from oochub.report.report import Report

TITLE = "What goes with each class"
LISTED = 12
"""Contexts that a page or a terminal shows; all are in report.json."""
_CLASSES = 3  # named in a cell
_CORRECTIONS = {"holm": "Holm", "benjamini_hochberg": "Benjamini-Hochberg"}


def context_sentences(report: "Report") -> tuple[str, ...]:
    """The finding, on what it stands, and whether people checked the contexts; () for a report without any."""
    found = report.contexts
    if found is None:
        return ()
    shown = [each for each in found.contexts if each.status == "shown"]
    worse = [each for each in shown if each.gap < 0]
    few = sum(each.status == "too few" for each in found.contexts)
    if worse:
        names = wording.listed([wording.words(each.name) for each in worse[:_CLASSES]])
        more = f" and {len(worse) - _CLASSES} more" if len(worse) > _CLASSES else ""
        headline = f"The model is worse where a usual context is missing or an unusual one is there: {names}{more}."
    elif shown:
        headline = "The model is better against what is usual. Check labels and contexts before believing it."
    elif found.n_tests:
        headline = "No context is shown to matter."
    else:
        headline = "No context can be tested."
    better = len(shown) - len(worse)
    counts = f"{len(shown)} of {found.n_tests} contexts that could be tested are shown"
    counts += f", {better} of them the other way round" if better and worse else ""
    counts += f"; {few} have too few rows" if few else ""
    tested = (
        f"Tested on {numbers.count(found.n_tested)} rows on which nothing was chosen, at {100 * found.level:g}% "
        f"for all together ({_CORRECTIONS[found.correction]}); chosen on {numbers.count(found.n_chosen)} others."
    )
    return headline, f"{counts}. {tested}", _checked(found)


def contexts_table(report: "Report") -> TextTable:
    """Each context: whether it matters, for which classes it is usual, both accuracies and the gap."""
    found = report.contexts
    rows = [
        (
            wording.words(each.name),
            each.status,
            usual_words(each),
            numbers.fraction(each.accuracy_usual),
            numbers.fraction(each.accuracy_against),
            _gap(each),
            numbers.count(each.n_against),
        )
        for each in (found.contexts[:LISTED] if found else ())
    ]
    heads = ("Context", "Matters", "Usual for", "As usual %", "Against %", "Gap in points", "n against")
    return TextTable(heads=heads, rows=tuple(rows), left=frozenset({0, 1, 2}))


def usual_words(finding: ContextFinding) -> str:
    """The classes for which a context is usual, the highest lift first, three by name."""
    usual = [each for each in finding.classes if each.role == "usual"]
    usual.sort(key=_lift, reverse=True)
    more = [f"{len(usual) - _CLASSES} more"] if len(usual) > _CLASSES else []
    return wording.listed([*(wording.words(each.label) for each in usual[:_CLASSES]), *more]) or numbers.ABSENT


def _lift(each: ClassInContext) -> float:
    return float("inf") if numbers.is_undefined(each.lift) else float(each.lift)


def _gap(finding: ContextFinding) -> str:
    if numbers.is_undefined(finding.gap):
        return wording.name(finding.reason or "no value")
    interval = numbers.interval_points(finding.gap)
    return numbers.points(finding.gap) + (f" ({interval})" if interval else "")


def _checked(found: ContextFindings) -> str:
    checked = sum(each.check is not None for each in found.contexts)
    by = f"by {found.way}" + (f" with {found.model}" if found.model else "")
    if not checked:
        return f"Contexts {by}, not checked by people."
    return f"Contexts {by}; people checked rows of {checked} of {len(found.contexts)}."
