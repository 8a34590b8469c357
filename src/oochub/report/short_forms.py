"""A report at the prompt, in a few lines, and in a notebook, as small tables: headline, gap and slices."""

from typing import TYPE_CHECKING

from oochub.prediction.notebook_table import notebook_table
from oochub.report import numbers, wording
from oochub.report.footnotes import interval_words, reason_words
from oochub.report.tables import detector_tables, gap_title, notes, slices_table
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    from oochub.report.report import Report

_NOTES = 3
_SIDES = ("in", "out")


def short_text(report: "Report") -> str:
    """What was evaluated on what, the headline, the primary metric of both sides (else of all rows), and the gap."""
    metric = report.benchmark.primary_metric
    lines = [f"<Report on {_subject(report)}>", verdict(report).headline]
    sides = [part for part in report.slices if part.role in _SIDES] or list(report.slices[:1])
    for part in sides:
        if metric in part.metrics:
            title = wording.slice_words(report.benchmark, part)
            lines.append(f"{wording.name(metric)}, {wording.in_sentence(title)}: {_short(part.metrics[metric])}")
    if not numbers.is_undefined(report.gap.estimate):
        lines.append(f"gap: {_short(report.gap.estimate)}")
    return "\n".join(lines)


def notebook_html(report: "Report") -> str:
    """The headline, the gap, every slice and every detector with its intervals, and the first notes; escaped HTML."""
    answer, slices, gap = verdict(report), slices_table(report), report.gap.estimate
    below = interval_words(gap, report.unit, signed=True)
    row = [gap_title(report), f"{numbers.points(gap, report.unit)}\n{below}", *[""] * (len(slices.heads) - 2)]
    head = notebook_table(
        [row, *slices.rows],
        heads=slices.heads,
        title=answer.sentence,
        sentences=(_subject(report), answer.lead),
        footnotes=slices.footnotes,
    )
    detectors = (
        notebook_table(
            table.rows, heads=table.heads, title=table.title, sentences=table.sentences, footnotes=table.footnotes
        )
        for table in detector_tables(report)
    )
    said = notes(report)
    more = [f"{len(said) - _NOTES} more notes in report.to_html()"] if len(said) > _NOTES else []
    return "\n".join([head, *detectors, notebook_table([[f"Note: {note}"] for note in [*said[:_NOTES], *more]])])


def _short(estimate: Estimate) -> str:
    """An estimate at the prompt, with what limits it."""
    return f"{estimate} ({reason_words(estimate)})" if estimate.reason else str(estimate)


def _subject(report: "Report") -> str:
    """What was evaluated on what, and on how many rows."""
    benchmark, rows = report.benchmark, report.provenance.predictions.rows
    data = "/".join(wording.name(part) for part in (benchmark.name, benchmark.config))
    return f"{wording.model_words(report.model)} on {data}, {rows:,} rows"
