"""Detectors on groups of sets, near and far, each in the standard reading and in the full spectrum."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from oochub.records.finding_records import GroupOfSetsRow, NearAndFarNumbers
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes
from oochub.section import NamedNumber, Passage, Section

if TYPE_CHECKING:
    from oochub.report.report_record import ReportRecord

_COLUMNS = {
    "auroc_new_class": "AUROC ↑",
    "fpr_at_tpr_ood": "FPR@95 ↓",
    "aupr_in": "AUPR in ↑",
    "aupr_out": "AUPR out ↑",
}
_READINGS = {"standard": "standard", "full_spectrum": "full spectrum"}
_AUROC = "auroc_new_class"


class NearAndFar(Section["ReportRecord"]):
    """Shows `report.findings["near_and_far"]`.

    The highest AUROC of a table is named, as a number and no more: detectors are compared by tests on each pair of
    sets, not on groups. How the full spectrum moves it is said without a test, too.
    """

    title, anchor, place = "Near and far", "near-and-far", 85
    record = NearAndFarNumbers

    def passages(self, report: "ReportRecord") -> Iterable[Passage]:
        """A passage for each group and reading; below the last what the columns are and which sets are missing."""
        found = self.found(report)
        parts = _group(found.rows) if found else []
        for number, rows in enumerate(parts, 1):
            below = tuple(_write_legend(found)) if number == len(parts) else ()
            sentences = (_write_best(rows, parts), _write_counts(rows))
            yield Passage(title=_write_title(rows[0]), sentences=sentences, table=_build_table(rows), below=below)

    def numbers(self, report: "ReportRecord") -> Iterable[NamedNumber]:
        """Every number of each group, then the AUROC of each of its sets."""
        found = self.found(report)
        for row in found.rows if found else ():
            of = f"{row.detector}/{row.reading}/{row.group}"
            named = row.metrics | {f"{name}/{_AUROC}": auroc for name, auroc in row.of_sets.items()}
            for metric, estimate in named.items():
                yield NamedNumber(
                    f"{row.group} {_READINGS[row.reading]}", f"{row.detector}/{metric}", estimate, f"{of}/{metric}"
                )


def _group(rows: Iterable[GroupOfSetsRow]) -> list[list[GroupOfSetsRow]]:
    """The rows of each group and reading, the highest AUROC first, undefined ones last."""
    parts: dict[tuple[str, str], list[GroupOfSetsRow]] = {}
    for row in rows:
        parts.setdefault((row.group, row.reading), []).append(row)
    return [sorted(part, key=_order) for part in parts.values()]


def _order(row: GroupOfSetsRow) -> tuple[bool, float]:
    value = row.metrics[_AUROC]
    return (True, 0.0) if format_numbers.is_undefined(value) else (False, -value)


def _write_title(row: GroupOfSetsRow) -> str:
    return f"{wording.capitalize_sentence(wording.name(row.group, 30))}, {_READINGS[row.reading]}"


def _write_best(rows: Sequence[GroupOfSetsRow], parts: Sequence[Sequence[GroupOfSetsRow]]) -> str:
    """The highest AUROC of a table, and for the full spectrum that of the same detector without the shifted sets."""
    row = rows[0]
    auroc = row.metrics[_AUROC]
    if format_numbers.is_undefined(auroc):
        return f"No AUROC can be computed: {wording.clean(auroc.reason or 'no value')}."
    name = wording.name(row.detector, 60)
    first = f"{name} has AUROC {format_numbers.fraction(auroc)}"
    first += ", the highest here; differences were not tested" if len(rows) > 1 else ""
    without = next(
        (
            each.metrics[_AUROC]
            for part in parts
            for each in part
            if (each.detector, each.group, each.reading) == (row.detector, row.group, "standard")
        ),
        None,
    )
    if row.reading == "standard" or without is None or format_numbers.is_undefined(without):
        return f"{first}."
    shifted = _join(row.known[1:])
    return f"{first}. Without {shifted} it has {format_numbers.fraction(without)}."


def _write_counts(rows: Sequence[GroupOfSetsRow]) -> str:
    row = rows[0]
    alike = ", each set counted alike" if len(row.new) > 1 else ""
    return (
        f"{format_numbers.count(row.n_id)} examples in distribution ({_join(row.known)}); "
        f"{format_numbers.count(row.n_ood)} out of distribution ({_join(row.new)}){alike}."
    )


def _build_table(rows: Sequence[GroupOfSetsRow]) -> Table:
    below = Footnotes()
    cells = [(wording.name(row.detector, 60), *(below.cell(row.metrics.get(key)) for key in _COLUMNS)) for row in rows]
    return Table(heads=("Detector", *_COLUMNS.values()), rows=tuple(cells), footnotes=below.lines)


def _write_legend(found: NearAndFarNumbers) -> Iterable[str]:
    """What the columns are, how far the sets are the published ones, and which declared ones are missing."""
    yield (
        "AUROC, FPR and AUPR × 100, each the mean over the sets of the group. FPR@95 %: share of in-distribution "
        "examples rejected when 95% of out-of-distribution ones are. An interval is the mean of the sets' intervals, "
        "which is wide enough whatever the sets share."
    )
    pooled = next((row.known[1:] for row in found.rows if row.reading == "full_spectrum"), None)
    if pooled is not None and set(pooled) != set(found.published):
        yield f"The full spectrum of {wording.clean(found.source)} has {_join(found.published)}; here it is another."
    if found.not_given:
        missing = "; ".join(
            f"{'shifted' if of == 'shifted' else wording.name(of, 30)}: {_join(names)}"
            for of, names in found.not_given.items()
        )
        yield f"No predictions were given for {missing}."


def _join(names: Sequence[str]) -> str:
    return wording.join_names([wording.name(name, 60) for name in names], "and")
