"""A report in every form of text, one loop over its sections each: terminal, Markdown, LaTeX, notebook, data frame."""

import re
import shlex
from collections.abc import Collection, Iterator
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.records.table import Table, escape_markdown, make_notebook_table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes, describe_interval, describe_reason
from oochub.report.group_findings import match_title, title_gap
from oochub.report.paper_table import FULL, PaperCell, PaperTable, describe_metric, make_sentence, write_paper_cell
from oochub.report.verdict import verdict
from oochub.section import Passage, sections
from oochub.stats.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console, ConsoleOptions, Group, RenderableType
    from rich.text import Text

    from oochub.report.report_record import ReportRecord


_NOTES = 3
_SLICES_IN_PAPER = 4
"""The most columns of a compact table where a report has no sides."""
_SIDES = ("in", "out")
_BOTH_SIDES, _SLICES = "both_sides", "every_slice"


def terminal(report: "ReportRecord") -> "Group":
    """A report for a terminal: the verdict, the tables of the summary, its facts, what the sections find, the notes.

    The table of both sides stands for that of the slices; where the predictions have no rows on either side, the slices
    stand in its place.

    Returns:
        A rich renderable; names in it are plain text, never console markup.
    """
    from rich.console import Group
    from rich.text import Text

    answer, passages = verdict(report), _collect_passages(report)
    has_sides = any(name == _BOTH_SIDES and passage.table for name, passage in passages)
    summary = [(name, passage) for name, passage in passages if not passage.title]
    shown: list[Any] = [Text(answer.sentence, style="bold"), Text(answer.lead), Text()]
    for name, passage in summary:
        if passage.table is not None and not (has_sides and name == _SLICES):
            shown += [*passage.table.to_terminal(), Text()]
    said = [sentence for _, passage in summary for sentence in passage.said]
    shown += map(Text, [*said, *(fact.text for fact in answer.facts[1:])])
    titled = [passage for _, passage in passages if passage.title]
    for passage in (passage for passage in titled if not passage.steps):
        shown += [Text(), *_show_passage(passage)]
    left_out = _describe_left_out(report, also={_SLICES} if has_sides else set())
    shown += [Text(), Text(left_out, style="dim")] if left_out else []
    trained = wording.describe_training(report)
    shown += [Text(f"Training data: {trained}.")] if trained else []
    shown += (Text(f"Note: {note}") for note in notes(report))
    for passage in (passage for passage in titled if passage.steps):
        shown += [Text(), *_show_passage(passage)]
    return Group(*shown)


class _CommandLine(NamedTuple):
    """A command for a terminal: a line that is too long goes on behind a backslash, so that it can be copied."""

    command: str

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> Iterator["Text"]:
        from rich.text import Text

        lines = [""]
        for words in _split_command(self.command) if console.is_terminal else [self.command]:
            if lines[-1] and len(lines[-1]) + len(words) + 3 > options.max_width:
                lines.append(" ")
            lines[-1] = f"{lines[-1]} {words}" if lines[-1] else words
        yield Text(" \\\n".join(lines), style="cyan", no_wrap=True, overflow="ignore")


def _split_command(command: str) -> list[str]:
    """The words of a command as they are quoted in it, an option with its value; no plain list of words stays whole."""
    try:
        words = list(map(shlex.quote, shlex.split(command)))
    except ValueError:  # quotes that are not closed
        return [command]
    if " ".join(words) != command:
        return [command]
    parts = words[:1]
    for before, word in pairwise(words):
        if before.startswith("--") and not word.startswith("--"):
            parts[-1] += f" {word}"
        else:
            parts.append(word)
    return parts


def _show_passage(passage: Passage) -> "Iterator[RenderableType]":
    """A passage for a terminal; a command stands on a line of its own, whole where it is copied."""
    from rich.text import Text

    yield from (Text(passage.title, style="bold"), *map(Text, passage.said))
    yield from passage.table.to_terminal() if passage.table else ()
    for number, step in enumerate(passage.steps, start=1):
        yield from (Text(f"{number}. {step.reason}"), _CommandLine(step.command))
    yield from map(Text, passage.below)


def to_markdown(report: "ReportRecord") -> str:
    """A report in Markdown: the verdict, its facts, the tables of the summary, what the sections find, the notes.

    Returns:
        Text ending in a line feed; pipes, angle brackets and other markup in names are escaped.
    """
    answer, passages = verdict(report), _collect_passages(report)
    summary = [passage for _, passage in passages if not passage.title]
    rest = escape_markdown(f" {answer.rest}" if answer.rest else "")
    lines = [f"**{escape_markdown(answer.headline)}**{rest}", "", escape_markdown(answer.lead), ""]
    lines += [
        f"- {fact.title}: **{escape_markdown(fact.answer)}**{escape_markdown(fact.detail)}" for fact in answer.facts
    ]
    lines += [f"- {escape_markdown(sentence)}" for passage in summary for sentence in passage.said]
    for passage in summary:
        lines += ["", passage.table.to_markdown()] if passage.table else []
    for _, passage in passages:
        if passage.title:
            lines += ["", f"**{escape_markdown(passage.title)}.** {escape_markdown(' '.join(passage.said))}"]
            lines += ["", passage.table.to_markdown()] if passage.table else []
            for number, step in enumerate(passage.steps, start=1):
                fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", step.command))]))
                code = (f"{fence}bash", step.command, fence)
                lines += ["", f"{number}. {escape_markdown(step.reason)}", "", *(f"   {line}" for line in code)]
            lines += [line for sentence in passage.below for line in ("", escape_markdown(sentence))]
    left_out = _describe_left_out(report)
    lines += ["", escape_markdown(left_out)] if left_out else []
    lines += ["", "The numbers in brackets or below a value are its 95% interval."]
    return "\n".join([*lines, *(f"Note: {escape_markdown(note)}." for note in notes(report))]) + "\n"


def to_latex(report: "ReportRecord", style: str = "compact") -> str:
    r"""A report in LaTeX: one compact table of its model, or every table.

    Args:
        report: Any report.
        style: "compact" is the table of a paper, see `oochub.report.paper_table`; "full" has all tables. A report
            without a number on any slice has the full form alone.

    Returns:
        `table` environments; they need `\usepackage{booktabs}`.
    """
    compact = _build_paper_table(report) if style == "compact" else None
    return _to_full_latex(report) if compact is None else compact.to_latex()


def _build_paper_table(report: "ReportRecord") -> PaperTable | None:
    """The model's row: its primary metric on both sides, else on the slices, and the gap; None without a number."""
    benchmark = report.benchmark
    having = [name for part in report.slices for name in part.metrics]
    metric = next((name for name in (benchmark.primary_metric, *having) if name in having), None)
    if metric is None:
        return None
    described, limits = report.description(metric), Footnotes()
    of_metric = [part for part in report.slices if metric in part.metrics]
    sides = [part for part in of_metric if part.role in _SIDES]
    model = wording.name(report.model.id or report.model.objective or "a model", 40)
    heads: list[str] = ["Model"]
    row: list[str | PaperCell] = [model]
    counts: list[str] = []

    def add(head: str, estimate: Estimate, *, signed: bool = False) -> None:
        ends = (estimate.low, estimate.high)
        heads.append(head)
        row.append(
            write_paper_cell(estimate, unit=described.unit, notes=limits, limited=estimate, ends=ends, signed=signed)
        )

    for part in sides or of_metric[:_SLICES_IN_PAPER]:
        add(wording.slice_words(benchmark, part), part.metrics[metric])
        counts.append(f"{format_numbers.count(part.n)} {wording.put_in_sentence(wording.slice_words(benchmark, part))}")
    gap = report.gap.estimate
    has_gap = len(sides) > 1 and metric == report.gap.metric
    if has_gap:
        add("Gap", gap, signed=True)
    if has_gap and report.matched_gap is not None:
        add(f"Gap at equal {match_title(report)}", report.matched_gap.estimate, signed=True)
    unit = format_numbers.unit_of(metric, described.unit)
    title = describe_metric(wording.name(described.title, 40), unit, described.direction)
    data = "/".join(wording.name(part, 40) for part in (benchmark.name, benchmark.config))
    what = "Brackets hold 95% intervals"
    if has_gap:
        outside, inside = (wording.title_side(benchmark, side) for side in ("out", "in"))
        points = ", in points" if described.unit == "fraction" else ""
        what += f"; the gap is {outside} minus {inside}{points}"
    return PaperTable(
        caption=f"{title} of {model} on {data}. {what}.",
        label=("report", benchmark.name, benchmark.config, metric),
        heads=tuple(heads),
        rows=(tuple(row),),
        notes=(
            f"n = {wording.join_names(counts)}.",
            *limits.lines,
            *([] if has_gap else [verdict(report).headline]),
            *(make_sentence(note) for note in notes(report)),
        ),
        source=f"One row of the report: {FULL}",
    )


def _to_full_latex(report: "ReportRecord") -> str:
    r"""A report as LaTeX tables in the style of booktabs, the intervals in small type below the values.

    The slices come first, and their caption says what was evaluated, the verdict and the notes; each other table has
    what its section says as its caption. What is left out is named in a comment.

    Returns:
        `table` environments; they need `\usepackage{booktabs}`.
    """
    benchmark, passages = report.benchmark, _collect_passages(report)
    task = f"{wording.name_model(report.model)} on {wording.name(benchmark.name)}/{wording.name(benchmark.config)}."
    said = [sentence for _, passage in passages if not passage.title for sentence in passage.said]
    caption = [task, verdict(report).sentence, *said, "Below each value its 95% interval."]
    caption += [f"{wording.capitalize_sentence(note)}." for note in notes(report)]
    titles = {section.name: section.title for section in sections()}
    tables = [
        passage.table.to_latex(" ".join(caption)) for name, passage in passages if name == _SLICES and passage.table
    ]
    for name, passage in passages:
        if name != _SLICES and passage.table is not None:
            told = passage.said if passage.title else ()
            tables.append(
                passage.table.to_latex(" ".join([f"{passage.title or titles[name]}.", *told, *passage.below]))
            )
        elif passage.title and not passage.steps:
            tables.append(f"% {' '.join([f'{passage.title}.', *passage.said, *passage.below])}\n".replace("\n", " "))
    left_out = _describe_left_out(report, also={name for name, passage in passages if passage.steps})
    return "\n".join([*tables, *([f"% {left_out}\n"] if left_out else [])])


def to_frame(report: "ReportRecord") -> "pd.DataFrame":
    """Every number of the sections, one to a row, at full precision.

    Returns:
        Columns slice, metric, value, low, high (float, nan where undefined), n (int), method and reason (str, missing
        where there is none). The slice of the gap is "gap", that of the matched one "gap matched on area", that of a
        group "group split:name", that of a detector "detection in / out" (its metric begins with its name). `attrs`
        names in `left_out` the sections of the report that have no numbers.
    """
    every = sorted(sections(), key=lambda section: section.name != _SLICES)
    records = [
        {"slice": number.slice, "metric": number.metric, "value": number.estimate.value}
        | {"low": number.estimate.low, "high": number.estimate.high, "n": number.estimate.n}
        | {"method": number.estimate.method, "reason": number.estimate.reason}
        for section in every
        for number in section.numbers(report)
    ]
    frame = Table(heads=(), rows=(), records=tuple(records)).to_frame()
    having = [section for section in sections() if section.has(report)]
    frame.attrs["left_out"] = [section.title for section in having if not any(section.numbers(report))]
    return frame


def notebook_html(report: "ReportRecord") -> str:
    """The headline, the gap, every slice, what the sections find, and the first notes; escaped HTML."""
    answer, gap, passages = verdict(report), report.gap.estimate, _collect_passages(report)
    said_of, slices = next((each.said, each.table) for name, each in passages if name == _SLICES and each.table)
    below = describe_interval(gap, report.unit, signed=True)
    row = [title_gap(report), f"{format_numbers.points(gap, report.unit)}\n{below}", *[""] * (len(slices.heads) - 2)]
    shown = [
        make_notebook_table(
            [row, *slices.rows],
            heads=slices.heads,
            title=answer.sentence,
            sentences=(_describe_subject(report), answer.lead, *said_of),
            footnotes=slices.footnotes,
        )
    ]
    titles = {section.name: section.title for section in sections()}
    for name, passage in passages:
        table = passage.table or Table(heads=(), rows=())
        if name != _SLICES and (passage.title or passage.said or table.rows):
            steps = [step for number, (reason, command) in enumerate(passage.steps, start=1)
                     for step in ((f"{number}. {reason}",), (command,))]  # fmt: skip
            shown.append(
                make_notebook_table(
                    [*table.rows, *steps],
                    heads=table.heads,
                    title=passage.title or titles[name],
                    sentences=passage.said,
                    footnotes=(*table.footnotes, *passage.below),
                )
            )
    said = notes(report)
    more = [f"{len(said) - _NOTES} more notes are in report.to_html()"] if len(said) > _NOTES else []
    last = [f"Note: {note}" for note in [*said[:_NOTES], *more]] + list(filter(None, [_describe_left_out(report)]))
    return "\n".join([*shown, make_notebook_table([[line] for line in last])])


def short_text(report: "ReportRecord") -> str:
    """A report at the prompt: what was evaluated on what, the headline, both sides (else all rows), and the gap."""
    metric = report.benchmark.primary_metric
    lines = [f"<Report on {_describe_subject(report)}>", verdict(report).headline]
    sides = [part for part in report.slices if part.role in _SIDES] or list(report.slices[:1])
    for part in sides:
        if metric in part.metrics:
            title = wording.slice_words(report.benchmark, part)
            lines.append(
                f"{wording.name(metric)}, {wording.put_in_sentence(title)}: {_format_short(part.metrics[metric])}"
            )
    if not format_numbers.is_undefined(report.gap.estimate):
        lines.append(f"gap: {_format_short(report.gap.estimate)}")
    return "\n".join(lines)


def notes(report: "ReportRecord") -> list[str]:
    """The caveats of the data, with their counts set as counts."""
    return [format_numbers.counts_in_text(wording.name(note, 400)) for note in report.caveats]


def frame_table(frame: "pd.DataFrame") -> Table:
    """A data frame as a table: fractions with three decimals, whole numbers as counts, undefined as "n/a".

    >>> import pandas as pd
    >>> frame_table(pd.DataFrame({"value": [0.5, None]})).rows
    (('0.500',), ('n/a',))
    """
    return Table(
        heads=tuple(map(str, frame.columns)),
        rows=tuple(tuple(map(_convert_to_text, row)) for row in frame.itertuples(index=False)),
        left=frozenset(k for k, name in enumerate(frame.columns) if frame[name].dtype == object),
    )


def _collect_passages(report: "ReportRecord") -> list[tuple[str, Passage]]:
    """What the sections say in text, with the name of each, in the order of their places."""
    return [(section.name, passage) for section in sections() for passage in section.passages(report)]


def _describe_left_out(report: "ReportRecord", *, also: Collection[str] = ()) -> str:
    """Which findings of the report have no text, and where they are; "" where all have.

    Args:
        report: Any report.
        also: Names of sections that the form leaves out too.
    """
    titles = list(_find_silent(report, also))
    return f"Not shown here: {wording.join_names(titles)} (report.to_html() and --html show all)." if titles else ""


def _find_silent(report: "ReportRecord", also: Collection[str]) -> Iterator[str]:
    for section in sections():
        if section.has(report) and (section.name in also or not any(section.passages(report))):
            yield wording.put_in_sentence(section.title)


def _format_short(estimate: Estimate) -> str:
    """An estimate at the prompt, with what limits it."""
    return f"{estimate} ({describe_reason(estimate)})" if estimate.reason else str(estimate)


def _describe_subject(report: "ReportRecord") -> str:
    """What was evaluated on what, and on how many rows."""
    benchmark, rows = report.benchmark, report.provenance.predictions.rows
    data = "/".join(wording.name(passage) for passage in (benchmark.name, benchmark.config))
    return f"{wording.name_model(report.model)} on {data}, {rows:,} rows"


def _convert_to_text(value: Any) -> str:
    if isinstance(value, str):
        return wording.name(value)
    if isinstance(value, int):
        return format_numbers.count(value)
    return "n/a" if format_numbers.is_undefined(value) else f"{value:.3f}".replace("-", "\u2212")
