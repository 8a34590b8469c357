"""A report as tables: for the terminal, for Markdown, for LaTeX, and as a data frame of every number."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from oochub.records.finding_records import DetectionRow, ProbeRow
from oochub.report import background_words, context_words, detector_words, numbers, wording
from oochub.report.charts import group_rows
from oochub.report.error_words import TITLE, error_finding, errors_table
from oochub.report.findings import matched_words, out_count, shown_slices, worst_group_words
from oochub.report.footnotes import Footnotes
from oochub.report.text_table import TextTable, markdown_text
from oochub.report.verdict import verdict
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

    from oochub.report.report import Report

_DETECTION = {
    "auroc_new_class": "New classes ↑",
    "auroc_failure": "Failures ↑",
    "fpr_at_tpr_id": "FPR@95 ↓",
    "correct_discarded": "Discarded ↓",
}
_PROBE = {"before": "Before", "after": "After", "change": "Change", "beyond_msp": "Beyond msp"}
_SIGNED = ("change", "beyond_msp")


def terminal(report: "Report") -> "Group":
    """A report for a terminal: the verdict, both sides, the groups, the errors, the detectors, the notes.

    Where the predictions have no rows on either side, the slices stand in place of the sides.

    Returns:
        A rich renderable; names in it are plain text, never console markup.
    """
    from rich.console import Group
    from rich.text import Text

    answer = verdict(report)
    has_sides = report.slice_of("in") is not None or report.slice_of("out") is not None
    sides = has_sides and not report.is_by_contexts and answer.is_of_sides
    parts: list[Any] = [Text(answer.sentence, style="bold"), Text(answer.lead), Text()]
    parts += [*(sides_table(report) if sides else slices_table(report)).to_terminal(), Text()]
    groups, matched, legend = groups_table(report), matched_words(report), _legend(report)
    parts += [*groups.to_terminal(), Text()] if groups.rows else []
    sentences = [matched, worst_group_words(report), *(fact.text for fact in answer.facts[1:])]
    parts += [Text(line) for line in sentences if line]
    finding, by_context = error_finding(report), errors_table(report)
    if finding is not None:
        parts += [Text(), Text(TITLE, style="bold"), Text(finding.text)]
        parts += by_context.to_terminal() if by_context.rows else []
    for title, said, told, below in _told(report):
        parts += [Text(), Text(title, style="bold"), *map(Text, said), *told.to_terminal(), *map(Text, below)]
    for table in detector_tables(report):
        parts += [Text(), Text(table.title, style="bold"), *map(Text, table.sentences), *table.to_terminal()]
    parts += [Text(), Text(legend, style="dim")] if legend else []
    parts += [Text(f"Trained on: {told}.") for told in filter(None, [wording.trained_words(report)])]
    parts += [Text(f"Note: {note}") for note in notes(report)]
    return Group(*parts)


def to_markdown(report: "Report") -> str:
    """A report in Markdown: the verdict, its facts, both sides, all slices, groups, errors, detectors, notes.

    Returns:
        Text ending in a line feed; pipes, angle brackets and other markup in names are escaped.
    """
    answer, matched, legend = verdict(report), matched_words(report), _legend(report)
    rest = markdown_text(f" {answer.rest}" if answer.rest else "")
    lines = [f"**{markdown_text(answer.headline)}**{rest}", "", markdown_text(answer.lead), ""]
    lines += [f"- {fact.title}: **{markdown_text(fact.answer)}**{markdown_text(fact.detail)}" for fact in answer.facts]
    lines += [*(f"- {markdown_text(words)}" for words in (matched, worst_group_words(report)) if words), ""]
    lines += [] if report.is_by_contexts or not answer.is_of_sides else [sides_table(report).to_markdown(" ({})"), ""]
    lines += [slices_table(report).to_markdown()]
    groups = groups_table(report)
    lines += ["", groups.to_markdown(" ({})")] if groups.rows else []
    finding, by_context = error_finding(report), errors_table(report)
    if finding is not None:
        lines += ["", f"**{TITLE}.** {markdown_text(finding.text)}"]
        lines += ["", by_context.to_markdown()] if by_context.rows else []
    for title, said, told, below in _told(report):
        lines += ["", f"**{title}.** {markdown_text(' '.join(said))}", "", told.to_markdown(" ({})")]
        lines += [line for each in below for line in ("", markdown_text(each))]
    for table in detector_tables(report):
        lines += ["", f"**{markdown_text(table.title)}** {markdown_text(' '.join(table.sentences))}", ""]
        lines.append(table.to_markdown())
    lines += ["", markdown_text(legend)] if legend else []
    lines += ["", "The numbers in brackets or under a value are its 95% interval."]
    return "\n".join([*lines, *(f"Note: {markdown_text(note)}." for note in notes(report))]) + "\n"


def to_latex(report: "Report") -> str:
    r"""The slices as a LaTeX table in the style of booktabs, the intervals in small type below the values.

    Returns:
        A `table` environment; it needs `\usepackage{booktabs}`.
    """
    benchmark = report.benchmark
    task = f"{wording.model_words(report.model)} on {wording.name(benchmark.name)}/{wording.name(benchmark.config)}."
    sentences = [
        task,
        verdict(report).sentence,
        matched_words(report),
        worst_group_words(report),
        "Below each value its 95% interval.",
    ]
    sentences += (
        [f"{context_words.TITLE}: {' '.join(said)}"] if (said := context_words.context_sentences(report)) else []
    )
    sentences += [f"{wording.sentence_case(note)}." for note in notes(report)]
    return slices_table(report).to_latex(" ".join(filter(None, sentences)))


def to_frame(report: "Report") -> "pd.DataFrame":
    """Every number of the slices, the gap, the groups and the detectors, one to a row, at full precision.

    Returns:
        Columns slice, metric, value, low, high (float, nan where undefined), n (int), method and reason (str, missing
        where there is none). The slice of the gap is "gap", that of the matched one "gap matched on area", that of a
        group "group split:name", that of a detector "detection in / out" (its metric begins with its name).
    """
    records = [
        {"slice": part, "metric": metric, "value": estimate.value, "low": estimate.low, "high": estimate.high}
        | {"n": estimate.n, "method": estimate.method, "reason": estimate.reason}
        for part, metric, estimate in _estimates(report)
    ]
    return TextTable(heads=(), rows=(), records=tuple(records)).to_frame()


def sides_table(report: "Report") -> TextTable:
    """In context beside out of context: every metric that a side has, the gap, chance, and how many rows."""
    gap, benchmark = report.gap, report.benchmark
    inside, outside = report.slice_of("in"), report.slice_of("out")
    rows, below = [], Footnotes()
    for metric in _metrics(report):
        pair = [None if part is None else part.metrics.get(metric) for part in (inside, outside)]
        if any(estimate is not None for estimate in pair):
            unit = report.description(metric).unit
            cells = [_cell(estimate, below, unit) for estimate in pair]
            is_of_gap = metric == gap.metric
            cells.append(_cell(gap.estimate, below, report.unit, signed=True) if is_of_gap else numbers.ABSENT)
            rows.append((_head(report, metric), *cells))
        if metric == benchmark.primary_metric and not numbers.is_undefined(benchmark.chance):
            chance = numbers.quantity(benchmark.chance, report.unit)
            rows.append(("chance", chance, chance, numbers.ABSENT))
    rows.append(("n", numbers.count(gap.n_in), out_count(report), numbers.ABSENT))
    titles = [wording.sentence_case(wording.side_title(benchmark, side)) for side in ("in", "out")]
    return TextTable(heads=("Metric", *titles, gap_title(report)), rows=tuple(rows), footnotes=below.lines)


def slices_table(report: "Report") -> TextTable:
    """Every metric on every slice, and chance."""
    metrics, benchmark = _metrics(report), report.benchmark
    rows, below = [], Footnotes()
    for title, part in shown_slices(report):
        cells = [_cell(part.metrics.get(metric), below, report.description(metric).unit) for metric in metrics]
        rows.append((title, *cells, numbers.count(part.n)))
    if benchmark.primary_metric in metrics and not numbers.is_undefined(benchmark.chance):
        chance = {benchmark.primary_metric: numbers.quantity(benchmark.chance, report.unit)}
        rows.append(("chance", *(chance.get(metric, numbers.ABSENT) for metric in metrics), numbers.ABSENT))
    heads = ("Slice", *(_head(report, metric) for metric in metrics), "n")
    return TextTable(heads=heads, rows=tuple(rows), footnotes=below.lines)


def groups_table(report: "Report") -> TextTable:
    """The error of each group, those out of context first, the highest first; no rows without groups.

    Of a kind of output without errors it is its first metric, the worst group first.
    """
    metric, groups = group_rows(report)
    head, unit, below = group_head(report, metric), report.description(metric).unit, Footnotes()
    rows = [
        (
            row.title,
            wording.side_title(report.benchmark, row.side) if row.side else numbers.ABSENT,
            *_cell(row.estimate, below, unit).split("\n"),
            numbers.count(row.n),
        )
        for row in groups
    ]
    heads = ("Group", "Side", head, "95% interval", "n")
    return TextTable(heads=heads, rows=tuple(rows), left=frozenset({0, 1}), footnotes=below.lines)


def group_head(report: "Report", metric: str) -> str:
    """What stands over the numbers of the groups: "Error % ↓", or title, unit and direction of another metric."""
    return "Error % ↓" if metric == "error_rate" else _head(report, metric)


def detector_tables(report: "Report") -> list[TextTable]:
    """A table for each pair of sets, then one for each probe of a pair; none for a report without detectors."""
    tables = []
    for pair in detector_words.detection_pairs(report):
        below = Footnotes()
        found = [(_name(row), *(_cell(row.metrics.get(key), below) for key in _DETECTION)) for row in pair.rows]
        tables.append(
            TextTable(
                title=pair.title(" / "),
                sentences=(*detector_words.findings(pair.rows), detector_words.counts_words(pair.rows)),
                heads=("Detector", *_DETECTION.values()),
                rows=tuple(found),
                footnotes=below.lines,
            )
        )
    for probed in detector_words.probe_pairs(report):
        shown = [key for key in _PROBE if any(getattr(row, key) is not None for row in probed.rows)]
        below = Footnotes()
        rows = [
            (_name(row), *(_cell(getattr(row, key), below, signed=key in _SIGNED) for key in shown))
            for row in probed.rows
        ]
        tables.append(
            TextTable(
                title=f"Zoom, {probed.title(' / ')}",
                sentences=(detector_words.probe_words(probed.rows),),
                heads=("Detector", *(_PROBE[key] for key in shown)),
                rows=tuple(rows),
                footnotes=below.lines,
            )
        )
    return tables


def gap_title(report: "Report") -> str:
    """The head of a column of gaps: "Gap, points", or "Gap" where they are no fractions."""
    return "Gap, points" if report.unit == "fraction" else "Gap"


def notes(report: "Report") -> list[str]:
    """The caveats of the data, with their counts set as counts."""
    return [numbers.counts_in_text(wording.name(note, 400)) for note in report.caveats]


def _told(report: "Report") -> Iterator[tuple[str, tuple[str, ...], TextTable, tuple[str, ...]]]:
    """(title, sentences, table, below it) of contexts found and of altered backgrounds, as far as there are any."""
    if said := context_words.context_sentences(report):
        yield context_words.TITLE, said, context_words.contexts_table(report), context_words.check_sentences(report)
    if said := background_words.background_sentences(report):
        yield background_words.TITLE, said, background_words.background_table(report.background), ()


def _estimates(report: "Report") -> Iterator[tuple[str, str, Estimate]]:
    """(slice, metric, estimate) of every number, in the order of report.json."""
    for part in report.slices:
        yield from ((part.name, metric, estimate) for metric, estimate in part.metrics.items())
    yield "gap", report.gap.metric, report.gap.estimate
    if report.matched_gap is not None:
        yield f"gap matched on {report.matched_gap.column}", report.matched_gap.metric, report.matched_gap.estimate
    for group in report.group_rows:
        errors = {"accuracy": group.accuracy, "error_rate": group.error_rate, "nll": group.nll}
        known = {metric: estimate for metric, estimate in errors.items() if estimate is not None}
        known |= group.metrics or {}
        yield from ((f"group {group.split}:{group.group}", metric, estimate) for metric, estimate in known.items())
    for found in report.contexts.contexts if report.contexts else ():
        yield f"context {found.name}", "gap", found.gap
    for name, estimate in report.background.estimates().items() if report.background else ():
        yield name.rpartition("/")[0] or name, name.rpartition("/")[2], estimate
    if report.errors is not None:
        yield "errors", "share", report.errors.share
        yield from ((f"errors {each.context}", "share", each.share) for each in report.errors.contexts)
    for row in report.detection or ():
        sets = f"detection {row.id_set} / {row.ood_set}"
        yield from ((sets, f"{row.detector}/{metric}", estimate) for metric, estimate in row.metrics.items())
    for probe in report.probes or ():
        for key in _PROBE:
            if getattr(probe, key) is not None:
                yield f"{probe.probe} {probe.id_set} / {probe.ood_set}", f"{probe.detector}/{key}", getattr(probe, key)


def _metrics(report: "Report") -> list[str]:
    """The metrics that a slice has, the primary one first."""
    names = [metric for metric in report.metrics if any(metric in part.metrics for part in report.slices)]
    return sorted(names, key=lambda metric: metric != report.benchmark.primary_metric)


def _head(report: "Report", metric: str) -> str:
    described = report.description(metric)
    unit, arrow = numbers.unit_of(metric, described.unit), numbers.arrow(described.direction)
    return " ".join(filter(None, (wording.name(described.title, 40), unit, arrow)))


def _cell(estimate: Estimate | None, notes: Footnotes, unit: str = "fraction", *, signed: bool = False) -> str:
    """The value, a line feed, and its interval or the reason why it has none; `signed` is a difference."""
    if estimate is None:
        return numbers.ABSENT
    value = numbers.points(estimate, unit) if signed else numbers.quantity(estimate, unit)
    return f"{value}\n{notes.below(estimate, unit, signed=signed)}"


def _name(row: DetectionRow | ProbeRow) -> str:
    return wording.name(row.detector, 60)


def _legend(report: "Report") -> str:
    """What the columns of the detectors' tables are; "" for a report without detectors."""
    if not report.detection:
        return ""
    lines = [
        "New classes and failures: AUROC × 100.",
        "FPR@95 %: out of distribution kept with 95% of what is in it.",
        "Discarded %: right answers that go with 75% of what is out of distribution.",
    ]
    if report.probes:
        lines.append("Before, after: mean share, in %, of the scores out of distribution below the pictures'.")
    return " ".join(lines)
