"""Whether a gap between usual and unusual contexts is reliance, in words: relies, harder for all, cannot be told."""

from typing import TYPE_CHECKING, Literal, NamedTuple

from oochub.records.finding_records import Reliance
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import Case
from oochub.report import format_numbers, wording
from oochub.report.footnotes import describe_interval
from oochub.section import sections

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

Answer = Literal["relies", "harder", "easier", "better", "untold"]
_NAMED = 3  # contexts, groups
_SHOWN = {"relies": "relies", "slight": "slight", "reversed": "reversed"}


class JudgedGap(NamedTuple):
    """What a gap by declared contexts is.

    Attributes:
        answer: "relies" and "better" if class and context alike still leave a gap, below or above zero; "harder" and
            "easier" if contexts are so for every class; "untold" otherwise.
        case: The case of the verdict: that of the gap where `answer` confirms it, else "unclear".
        headline: The sentence that answers, "" where the words of the gap hold.
        rest: What must be said with it.
    """

    answer: Answer
    case: Case
    headline: str
    rest: str


def judge_reliance(report: "ReportRecord", case: Case) -> JudgedGap | None:
    """Says what a clear gap by declared contexts is; None for other gaps and other data.

    A gap below zero is reliance if the interval of the interaction of class and context lies below zero too; it is
    difficulty if that does not, and a context is shown to be harder for every class; and it cannot be told else. A gap
    above zero likewise. Without a clear gap, an interaction that is clear is said, since contexts that are easier for
    every class can hide reliance.

    Args:
        report: Any report.
        case: The case that the gap alone would have.
    """
    reliance: Reliance | None = next(section for section in sections() if section.name == "reliance").found(report)
    if reliance is None or not reliance.has_sides or case in ("failed", "too_few", "detection"):
        return None
    is_worse = case in ("relies", "slight")
    if case in ("no_effect", "unclear"):
        if not reliance.gap.high < 0:
            return None
        headline = "There is no clear gap, but for the same class and context this model does worse if it is unusual."
        return JudgedGap("untold", "unclear", headline, describe_remaining(reliance))
    if (reliance.gap.high < 0) if is_worse else (reliance.gap.low > 0):
        return JudgedGap("relies" if is_worse else "better", case, "", "")
    kind: Answer = "harder" if is_worse else "easier"
    alike = [context.name for context in reliance.contexts if context.status == f"{kind} for all"]
    gap, unit = report.gap.estimate, report.unit
    size = f"The gap is {format_numbers.points(gap, unit)}{format_numbers.points_word(unit)}."
    if alike:
        names = [*map(wording.words, alike[:_NAMED]), *([f"{len(alike) - _NAMED} more"] if len(alike) > _NAMED else [])]
        own = report.benchmark.words
        place = own.place or f"with the {wording.words(own.context or 'context')}"
        where = f"{wording.name(report.benchmark.words.example).capitalize()}s {place} {wording.join_names(names)}"
        return JudgedGap(
            kind, "unclear", f"{where} are {kind} regardless of class; no reliance on context is shown.", size
        )
    how = "worse" if is_worse else "better"
    why = "it relies on context or these are harder" if is_worse else "that is the context or these are easier"
    headline = f"This model does {how} in unusual contexts, but whether {why} for every class cannot be told."
    return JudgedGap("untold", "unclear", headline, f"{size} {describe_wanted(report.benchmark, reliance)}".strip())


def describe_remaining(found: Reliance) -> str:
    """The gap that is left at the same class and context, in one sentence; why there is none otherwise."""
    if not found.has_sides:
        return (
            "No context is clearly usual or unusual for a class of these rows, so no reliance on context can be told."
        )
    if format_numbers.is_undefined(found.gap):
        return f"A gap for the same class and context cannot be computed: {found.gap.reason or ''}."
    size = f"{format_numbers.points(found.gap)}{format_numbers.points_word('fraction')}"
    return (
        f"For the same class and context, the gap is {size} of accuracy ({describe_interval(found.gap, signed=True)})."
    )


def describe_wanted(own: EvaluatedBenchmark, found: Reliance) -> str:
    """Which rows would tell reliance from difficulty, in one sentence; "" if none would, or it is told already."""
    if not found.wanted or not found.has_sides or found.gap.high < 0 or found.gap.low > 0:
        return ""
    names = []
    for label, _, context in (pair.partition("/") for pair in found.wanted):
        pair = f"{wording.words(label)} ({wording.say_context(own, context)})"
        names.append(wording.pair_words(own, label, context) if own.words.place else pair)
    more = "More rows" if found.is_identified else "Rows"
    return f"{more} of {wording.join_names(names)} would tell."


def describe_neither(found: Reliance) -> str:
    """How many rows are of no side, in one sentence; "" if none is."""
    if not found.n_neither:
        return ""
    is_one = found.n_neither == 1
    rows = "1 row is" if is_one else f"{format_numbers.count(found.n_neither)} rows are"
    whose = "its" if is_one else "their"
    return f"{rows} in a context that is neither usual nor unusual for {whose} class, and on no side."
