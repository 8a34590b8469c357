"""What few labels say of a model, and what the images without a label add."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from oochub.records.finding_records import FewLabelNumbers, FewLabelRow
from oochub.records.table import Table
from oochub.report import format_numbers, theme, wording
from oochub.report.footnotes import Footnotes
from oochub.section import NamedNumber, Passage, Section

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_IN, _OUT = theme.SIDES
_UNLIKE = 0.01  # p-value below which labeled images do not look like a random choice


class FewLabels(Section["ReportRecord"]):
    """Shows `report.findings["few_labels"]`, which `oochub.audit` with `labels` measures.

    All other findings are of the labeled images alone.
    """

    title, anchor, place = "Few labels", "few-labels", 15
    record = FewLabelNumbers

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """Each number from the labels alone and with the other images, and what that takes for granted."""
        numbers: FewLabelNumbers | None = self.found(report)
        if numbers is not None:
            yield Passage(
                title=self.title,
                sentences=(_say_what(numbers), _say_saved(report, numbers), _say_likeness(numbers)),
                table=_build_table(report, numbers),
                below=(
                    "As precise as: the number of labels that would give as narrow an interval alone. Both columns "
                    "hold only if the labeled images are a random choice of all.",
                ),
            )

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Each number from the labels alone, and together with the other images."""
        numbers: FewLabelNumbers | None = self.found(report)
        for row in numbers.rows if numbers else ():
            for name, estimate in (("labels alone", row.alone), ("together", row.together)):
                key = f"few_labels/{row.name}/{name.replace(' ', '_')}"
                yield NamedNumber(f"few labels {name}", row.name, estimate, key)


def _say_what(found: FewLabelNumbers) -> str:
    """How many images have a label, and what stands in for that of the others."""
    others = format_numbers.count(found.n_unlabeled)
    labeled = format_numbers.count(found.n_labeled)
    if not found.n_unlabeled:
        return f"All {labeled} images have a label, so that there is nothing to add to them."
    by = (
        wording.join_names([wording.name(proxy, 60) for proxy in found.proxies])
        if found.proxies
        else "the model itself"
    )
    sides = ""
    if found.n_contexts < found.n_unlabeled:
        count = format_numbers.count(found.n_contexts)
        sides = f" {count} of them have a context and count for sides and groups too."
    return (
        f"{labeled} images have a label and {others} have none. For those, the probability that {by} "
        f"{'give' if len(found.proxies) > 1 else 'gives'} to each class stands in, corrected by how far it is off "
        f"where there is a label.{sides}"
    )


def _say_saved(report: "ReportRecord", found: FewLabelNumbers) -> str:
    """What the other images save, for accuracy and the gap; "" without other images."""
    if not found.n_unlabeled:
        return ""
    sentences = [
        f"{_name_row(report, row)} is as precise as with about {_count_as(row)} labels"
        for row in found.rows
        if row.name in ("accuracy", "gap") and row.saved
    ]
    words = f"{wording.capitalize_sentence(', and '.join(sentences))}."
    if not sentences:
        words = "Neither accuracy nor the gap is more precise with them."
    if found.correlation is None:
        return words
    return f"{words} The correlation of the probability of the answer with being right is {found.correlation:.2f}."


def _say_likeness(found: FewLabelNumbers) -> str:
    """That the labeled images are unlike the others, if the probabilities of the answers say so; "" otherwise."""
    if found.p_value is None or found.p_value >= _UNLIKE:
        return ""
    return (
        "The labeled images do not look like a random choice: probabilities of the answers differ between images with "
        f"and without a label ({format_numbers.p_value(found.p_value)}). Do not trust the numbers here until they are."
    )


def _count_as(row: FewLabelRow) -> str:
    return format_numbers.count(math.floor(row.together.n / (1 - row.saved)))


def _name_row(report: "ReportRecord", row: FewLabelRow) -> str:
    """What a number is called in print."""
    sides = {"in_context": _IN, "out_of_context": _OUT}
    if row.name in sides:
        return f"accuracy {wording.title_side(report.benchmark, sides[row.name])}"
    return {"accuracy": "accuracy", "gap": "the gap", "worst_group": "accuracy of the worst group"}[row.name]


def _build_table(report: "ReportRecord", found: FewLabelNumbers) -> Table:
    below = Footnotes()
    rows = [
        (
            wording.capitalize_sentence(_name_row(report, row)),
            below.cell(row.alone, signed=row.name == "gap"),
            below.cell(row.together, signed=row.name == "gap"),
            format_numbers.count(row.alone.n),
            _count_as(row) if row.saved else format_numbers.ABSENT,
        )
        for row in found.rows
    ]
    heads = ("%", "Labels alone", "Together", "Labels", "As precise as")
    return Table(heads=heads, rows=tuple(rows), footnotes=below.lines)
