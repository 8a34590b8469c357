"""What is said of contexts that nobody labelled: no more than their tests allow, and that nobody checked them."""

from typing import TYPE_CHECKING

from oochub.records.finding_records import ClassInContext, ContextFinding, ContextFindings
from oochub.report import numbers, wording
from oochub.report.footnotes import Footnotes, reason_behind, reason_words
from oochub.report.text_table import TextTable
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

TITLE = "What goes with each class"
LISTED = 12
"""Contexts that a page or a terminal shows; all are in report.json."""
_NAMED = 3  # contexts of a sentence, classes of a cell
_LEVELS = {
    "holm": "together they show one by chance in at most {:g}% of cases",
    "benjamini_hochberg": "of those that they show at most {:g}% are by chance, on average",
}
_CORRECTIONS = {"holm": "Holm", "benjamini_hochberg": "Benjamini-Hochberg"}


def context_headline(found: ContextFindings) -> str:
    """The finding in one sentence: the contexts shown, those that are harder for every class, or that none is shown."""
    shown = [each for each in found.contexts if each.status == "shown"]
    worse = [each for each in shown if each.gap < 0]
    if worse:
        names = [f"{wording.words(each.name)} ({goes_with(each)})" for each in worse[:_NAMED]]
        more = [f"{len(worse) - _NAMED} more"] if len(worse) > _NAMED else []
        return f"This model does worse where the context is not the usual one: {wording.listed([*names, *more])}."
    if shown:
        return "This model does better where the context is not the usual one."
    alike = [each for each in found.contexts if is_alike(each)]
    if alike:
        kind = alike[0].status.partition(" ")[0]
        names = [wording.words(each.name) for each in alike if each.status == alike[0].status]
        more = [f"{len(names) - _NAMED} more"] if len(names) > _NAMED else []
        listed = wording.listed([*names[:_NAMED], *more])
        return f"Images with {listed} are {kind} whatever their class; no reliance on context is shown."
    if not found.contexts:
        return "No context was found."
    if found.contexts[0].status == "no direction":
        return f"No direction is claimed: {wording.clean(found.contexts[0].reason or '')}."
    return "No context found is shown to matter." if found.n_tests else "No context could be tested."


def is_alike(finding: ContextFinding) -> bool:
    """Whether the context goes with errors, or with right answers, whatever it is to the class."""
    return finding.status in ("harder for all", "easier for all")


def context_sentences(report: "Report") -> tuple[str, ...]:
    """The finding, on what it stands, and whether people checked the contexts; () for a report without any."""
    found = report.contexts
    if found is None:
        return ()
    return context_headline(found), f"{tests_words(found)} {_left_out(found)}".strip(), checked_words(found)


def tests_words(found: ContextFindings) -> str:
    """How many contexts are shown of those tested, on which rows, and for what they are corrected."""
    shown = [each for each in found.contexts if each.status == "shown"]
    better = sum(each.gap > 0 for each in shown)
    count = {0: "none is", 1: "1 is"}.get(len(shown), f"{len(shown)} are")
    others = f", {better} of them the other way round" if 0 < better < len(shown) else ""
    alike = sum(is_alike(each) for each in found.contexts)
    others += f"; {alike} {'is' if alike == 1 else 'are'} harder or easier for every class alike" if alike else ""
    rows = f"{numbers.count(found.n_tested)} rows on which nothing was chosen"
    chosen = f"what is usual was chosen on {numbers.count(found.n_chosen)} others"
    if not found.n_tests:
        return f"There are {rows}; {chosen}."
    contexts = f"{found.n_tests} context{'' if found.n_tests == 1 else 's'}"
    level = _LEVELS[found.correction].format(100 * found.level)
    return (
        f"Of {contexts} tested, {count} shown to matter{others}. The tests are on {rows}; {level} "
        f"({correction_word(found)}). {wording.sentence_case(chosen)}."
    )


def correction_word(found: ContextFindings) -> str:
    """The name of the correction, as readers know it."""
    return _CORRECTIONS[found.correction]


def checked_words(found: ContextFindings) -> str:
    """What found the contexts, and whether people checked them."""
    checked = sum(each.check is not None for each in found.contexts)
    by = f"by {wording.name(found.way)}" + (f" with {wording.name(found.model)}" if found.model else "")
    if not checked:
        return f"Contexts {by}, not checked by people."
    return f"Contexts {by}; people checked rows of {checked} of {len(found.contexts)}."


def check_words(finding: ContextFinding) -> tuple[str, ...]:
    """What a check by people says of one context, what wrong labels do to its gap; () where nobody checked it."""
    check, bounds, shown, worst = finding.check, finding.bounds, finding.shrinkage, finding.worst_case
    if check is None:
        return ()
    wrong, checked = check.wrong_with + check.wrong_without, check.checked_with + check.checked_without
    lines = [f"{numbers.count(wrong)} of {numbers.count(checked)} labels checked are wrong"]
    if bounds is not None and numbers.has_interval(bounds):
        if shown is not None:
            ends = f"{numbers.interval(shown)}{reason_behind(shown)}"
            lines.append(f"such labels show {numbers.fraction(shown)}% of a gap ({ends})")
        lines.append(f"without them it is {_limited(bounds)}")
    elif bounds is not None:
        lines.append(wording.clean(bounds.reason or "the gap has no interval"))
    if worst is not None and numbers.has_interval(worst):
        known = worst.low > -1 or worst.high < 1
        lines.append(f"at worst {_limited(worst)}" if known else "at worst nothing is known of it")
    return tuple(lines)


def _limited(estimate: Estimate) -> str:
    return numbers.interval_points(estimate) + (f" ({reason_words(estimate)})" if estimate.reason else "")


def check_sentences(report: "Report") -> tuple[str, ...]:
    """A sentence for each listed context that people checked, below the table."""
    checked = [each for each in listed_contexts(report.contexts) if each.check] if report.contexts else []
    return tuple(f"Check of {wording.words(each.name)}: {'; '.join(check_words(each))}." for each in checked)


def listed_contexts(found: ContextFindings) -> tuple[ContextFinding, ...]:
    """Those that go with a class, in their order, twelve at most."""
    return tuple(each for each in found.contexts if has_role(each))[:LISTED]


def contexts_table(report: "Report") -> TextTable:
    """Each context that goes with a class: whether it matters, for which classes it is usual, both sides, the gap."""
    found = report.contexts
    if found is None:
        return TextTable(heads=(), rows=())
    below = Footnotes()
    rows = [
        (
            wording.words(each.name),
            each.status,
            role_words(each),
            numbers.fraction(each.accuracy_usual),
            numbers.fraction(each.accuracy_against),
            gap_words(each, below),
            numbers.p_value(each.adjusted_p_value).removeprefix("p = ").removeprefix("p "),
            f"{numbers.count(each.n_usual)} + {numbers.count(each.n_against)}",
        )
        for each in listed_contexts(found)
    ]
    p = f"p ({correction_word(found)})"
    heads = ("Context", "Matters", "Usual for", "As usual %", "Against %", "Gap in points", p, "n usual + against")
    return TextTable(heads=heads, rows=tuple(rows), left=frozenset({0, 1, 2}), footnotes=below.lines)


def usual_words(finding: ContextFinding) -> str:
    """The classes for which a context is usual, the highest lift first, three by name."""
    return _names(_of_role(finding, "usual")) or numbers.ABSENT


def role_words(finding: ContextFinding) -> str:
    """The classes for which a context is usual; of one that is usual for none, for which it is unusual."""
    return _names(_of_role(finding, "usual")) or goes_with(finding)


def gap_words(finding: ContextFinding, notes: Footnotes) -> str:
    """The gap in points, and below it its interval, or why it has none."""
    has_more = numbers.has_interval(finding.gap) or finding.gap.reason
    return numbers.points(finding.gap) + (f"\n{notes.below(finding.gap, signed=True)}" if has_more else "")


def goes_with(finding: ContextFinding) -> str:
    """For which classes a context is usual; of one that is usual for none, for which it is unusual."""
    role = "usual" if _of_role(finding, "usual") else "unusual"
    return f"{role} for {_names(_of_role(finding, role))}"


def _names(classes: list[ClassInContext]) -> str:
    more = [f"{len(classes) - _NAMED} more"] if len(classes) > _NAMED else []
    return wording.listed([*(wording.words(each.label) for each in classes[:_NAMED]), *more])


def _of_role(finding: ContextFinding, role: str) -> list[ClassInContext]:
    """The classes of that role, those first whose lift is farthest from 1."""
    several = [each for each in finding.classes if each.role == role]
    return sorted(several, key=_lift, reverse=role == "usual")


def _lift(each: ClassInContext) -> float:
    return float("inf") if numbers.is_undefined(each.lift) else float(each.lift)


def has_role(finding: ContextFinding) -> bool:
    """Whether a context is usual or unusual for a class."""
    return any(each.role != "neither" for each in finding.classes)


def _left_out(found: ContextFindings) -> str:
    """What is not in the table, or in it without a test."""
    loose = sum(not has_role(each) for each in found.contexts)
    few = sum(each.status == "too few" and has_role(each) for each in found.contexts)
    parts = [f"{few} {'has' if few == 1 else 'have'} too few rows"] if few else []
    if loose:
        parts.append(f"{loose} {'is' if loose == 1 else 'are'} left out: usual or unusual for no class")
    return wording.sentence_case(f"{'; '.join(parts)}.") if parts else ""
