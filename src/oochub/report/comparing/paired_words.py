"""What a comparison of two models says: closed sentences, with names and numbers put in."""

from typing import TYPE_CHECKING

from oochub.records.report_records import ComparedNumber, ComparedRows
from oochub.report import numbers, wording
from oochub.report.footnotes import interval_words

if TYPE_CHECKING:
    from oochub.report.comparing.paired_report import PairedReport

MODELS = ("A", "B")


def names(report: "PairedReport") -> tuple[str, str]:
    """The models by letter and name: ("A (erm)", "B (group dro)")."""
    first, second = (
        f"{letter} ({wording.name(wording.model_words(model), 60)})"
        for letter, model in zip(MODELS, (report.first, report.second), strict=True)
    )
    return first, second


def place(report: "PairedReport", part: ComparedRows) -> str:
    """Where the rows of a slice are, at the end of a sentence: "out of context", "on all examples"."""
    if part.role in ("in", "out"):
        return wording.side_title(report.benchmark, part.role)
    return f"on all of {wording.name(part.split, 40)}" if part.role == "all" else f"on {wording.name(part.title)}"


def headline(report: "PairedReport") -> str:
    """Which model does better, on the rows out of context or else on all: the first sentence of every form."""
    part = report.main_slice
    where, number = place(report, part), part.numbers.get(report.main_metric)
    if number is None or numbers.is_undefined(number.difference):
        return f"The two models cannot be told apart {where}: there is no number of both."
    if not number.is_clear:
        return f"No clear difference between A and B {where}."
    direction = report.metrics[report.main_metric].direction
    if direction == "none":
        return f"A and B differ {where}."
    ahead = (number.difference > 0) == (direction == "higher")
    return f"{'B' if ahead else 'A'} does better than {'A' if ahead else 'B'} {where}."


def lead(report: "PairedReport") -> str:
    """The primary metric of both models on those rows, and how much they differ."""
    part, metric = report.main_slice, report.main_metric
    number = part.numbers.get(metric)
    first, second = names(report)
    if number is None:
        return f"Neither {first} nor {second} has a number {place(report, part)}."
    title, unit = wording.in_sentence(wording.name(report.metrics[metric].title, 40)), report.metrics[metric].unit
    where = wording.sentence_case(place(report, part))
    return (
        f"{where} the {title} is {numbers.quantity(number.first, unit)} for {first} and "
        f"{numbers.quantity(number.second, unit)} for {second}: {difference(number, unit)}."
    )


def gap_sentence(report: "PairedReport") -> str:
    """The gaps of both models and how much they differ; or why there are none."""
    gap = report.gap
    if numbers.is_undefined(gap.difference):
        return f"Neither model has a gap: {wording.name(gap.difference.reason or 'it is undefined')}."
    unit = report.metrics[report.benchmark.primary_metric].unit
    outside, inside = (wording.side_title(report.benchmark, side) for side in ("out", "in"))
    return (
        f"The gap, {outside} minus {inside}, is {numbers.points(gap.first, unit)} for A and "
        f"{numbers.points(gap.second, unit)} for B: {difference(gap, unit)}."
    )


def flips_sentence(report: "PairedReport") -> str:
    """How many rows flip on the main rows; "" for a kind of output without right and wrong."""
    part = report.main_slice
    if part.only_first is None or part.only_second is None:
        return ""
    if not part.only_first + part.only_second:
        return f"{wording.sentence_case(place(report, part))} no example flips: both are right on the same ones."
    return (
        f"{wording.sentence_case(place(report, part))} {numbers.count(part.only_second)} examples are right in B alone "
        f"and {numbers.count(part.only_first)} in A alone, of {numbers.count(part.n)}."
    )


def difference(number: ComparedNumber, unit: str) -> str:
    """A difference in a sentence: "+2.9 points (95% interval +1.0 to +4.8; p = 0.003, exact McNemar)"."""
    said = interval_words(number.difference, unit, signed=True)
    p_value = "" if numbers.is_undefined(number.p_value) else f"; {numbers.p_value(number.p_value)}, {number.test}"
    return f"{numbers.points(number.difference, unit)}{numbers.points_word(unit)} ({said}{p_value})"


def row_title(report: "PairedReport", part: ComparedRows) -> str:
    """A slice or a group in words."""
    return wording.slice_words(report.benchmark, part) if part in report.slices else wording.name(part.title)


CAVEAT = (
    "A difference is B minus A on the same examples, with its paired 95% interval. Bold: it holds among all of its "
    "table together (Holm, 5%)."
)
"""What stands above the tables."""
