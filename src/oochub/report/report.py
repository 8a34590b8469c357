"""The report: its numbers as JSON, table, text in every form, image and page."""

import inspect
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub import catalog
from oochub.errors import OochubError
from oochub.records.document import Block, Document
from oochub.records.table import Table
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes, describe_interval, describe_reason
from oochub.report.group_findings import match_title, title_gap
from oochub.report.paper_table import FULL, PaperCell, PaperTable, describe_metric, make_sentence, write_paper_cell
from oochub.report.report_record import ReportRecord
from oochub.report.verdict import verdict
from oochub.section import Passage, sections
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import PAGE
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from rich.console import Group

_NOTES = 3
_SLICES_IN_PAPER = 4
"""The most columns of a compact table where a report has no sides."""
_SIDES = ("in", "out")
_BOTH_SIDES, _SLICES = "both_sides", "every_slice"


@dataclass(frozen=True, kw_only=True, repr=False)
class Report(ReportRecord):
    """What `oochub.evaluate` returns: the numbers of `ReportRecord`, and how they are shown."""

    def __repr__(self) -> str:
        """A report at the prompt: what was evaluated on what, the headline, both sides (else all rows), and the gap."""
        metric = self.benchmark.primary_metric
        lines = [f"<Report on {_describe_subject(self)}>", verdict(self).headline]
        sides = [part for part in self.slices if part.role in _SIDES] or list(self.slices[:1])
        for part in sides:
            if metric in part.metrics:
                title = wording.slice_words(self.benchmark, part)
                lines.append(
                    f"{wording.name(metric)}, {wording.put_in_sentence(title)}: {_format_short(part.metrics[metric])}"
                )
        if not format_numbers.is_undefined(self.gap.estimate):
            lines.append(f"gap: {_format_short(self.gap.estimate)}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from oochub.report.self_contained_page import frame_page

        tables = self._make_tables()
        try:
            page = self.to_html()
        except OochubError:  # too large, or an image that is none
            return tables
        return frame_page(page, title=repr(self).splitlines()[0].strip("<>"), tables=tables)

    def _make_tables(self) -> str:
        """The headline, the gap, every slice, what the sections find, and the first notes; escaped HTML."""
        answer, gap, passages = verdict(self), self.gap.estimate, _collect_passages(self)
        said_of, slices = next(
            (passage.said, passage.table) for name, passage in passages if name == _SLICES and passage.table
        )
        below = describe_interval(gap, self.unit, signed=True)
        row = (title_gap(self), f"{format_numbers.points(gap, self.unit)}\n{below}", *[""] * (len(slices.heads) - 2))
        titles = {section.name: section.title for section in sections()}
        caveats, more = wording.list_caveats(self), len(self.caveats) - _NOTES
        return Document(
            headline=answer.sentence,
            sentences=(_describe_subject(self), answer.lead),
            blocks=(
                Block(table=replace(slices, rows=(row, *slices.rows)), sentences=said_of),
                *(
                    replace(passage, title=passage.title or titles[name])
                    for name, passage in passages
                    if name != _SLICES
                ),
                *_name_silent(self),
            ),
            caveats=(
                *(f"Note: {note}" for note in caveats[:_NOTES]),
                *[f"Note: {more} more notes are in report.to_html()"] * (more > 0),
            ),
        ).to_notebook()

    def to_pandas(self) -> "pd.DataFrame":
        """Every number of the sections, one to a row, at full precision.

        Returns:
            Columns slice, metric, value, low, high (float, nan where undefined), n (int), method and reason (str,
            missing where there is none). The slice of the gap is "gap", that of the matched one "gap matched on area",
            that of a group "group split:name", that of a detector "detection in / out" (its metric begins with its
            name). `attrs` names in `left_out` the sections of the report that have no numbers.
        """
        every = sorted(sections(), key=lambda section: section.name != _SLICES)
        records = [
            {"slice": number.slice, "metric": number.metric, "value": number.estimate.value}
            | {"low": number.estimate.low, "high": number.estimate.high, "n": number.estimate.n}
            | {"method": number.estimate.method, "reason": number.estimate.reason}
            for section in every
            for number in section.numbers(self)
        ]
        frame = Table(heads=(), rows=(), records=tuple(records)).to_frame()
        having = [section for section in sections() if section.has(self)]
        frame.attrs["left_out"] = [section.title for section in having if not any(section.numbers(self))]
        return frame

    def to_terminal(self) -> "Group":
        """The verdict, the tables of the summary, its facts, what the sections find, the notes: for a terminal.

        The table of both sides stands for that of the slices; where the predictions have no rows on either side, the
        slices stand in its place.

        Returns:
            A rich renderable; names in it are plain text, never console markup.
        """
        passages = _collect_passages(self)
        left_out = {_SLICES} if any(name == _BOTH_SIDES and passage.table for name, passage in passages) else set()
        trained = wording.describe_training(self)
        return _make_document(
            self,
            [replace(passage, table=None) if name in left_out else passage for name, passage in passages],
            left_out=left_out,
            notes=(
                *[f"Training data: {trained}."] * bool(trained),
                *(f"Note: {note}" for note in wording.list_caveats(self)),
            ),
        ).to_terminal()

    def to_markdown(self) -> str:
        """A report in Markdown: the verdict, its facts, the tables of the summary, what the sections find, the notes.

        Returns:
            Text ending in a line feed; pipes, angle brackets and other markup in names are escaped.
        """
        explained = (
            "The numbers in brackets or below a value are its 95% interval.",
            *(f"Note: {n}." for n in wording.list_caveats(self)),
        )
        return _make_document(self, [passage for _, passage in _collect_passages(self)], notes=explained).to_markdown()

    def to_latex(self, style: TableStyle = "compact") -> str:
        """The report in LaTeX, for `booktabs`.

        Args:
            style: "compact" is the table of a paper: the model, in context, out of context and the gap with their
                intervals, the caveats below. "full" has the slices and each other section as tables; what is left out
                is named in a comment.

        Raises:
            OochubError: Another style.
        """
        compact = _build_paper_table(self) if TableSettings(style=style).style == "compact" else None
        return _write_full_latex(self) if compact is None else compact.to_latex()

    def to_html(self, path: str | Path | None = None, *, images: bool = True, rows: str | None = None) -> str:
        """The self-contained page; written to `path` when one is given.

        Args:
            path: File that the page is written to.
            images: Whether images of the worst mistakes are shown.
            rows: Address of a page of all rows, beside this one, to link to; see `oochub report --browse`.
        """
        from oochub.report.page import render_page

        if path is not None:
            check_writable(path, kind=PAGE)
        page = render_page(self, images=images, rows=rows)
        if path is not None:
            with write_whole(path, kind=PAGE) as draft:
                draft.write_text(page, "utf-8")
        return page

    def plot(self, kind: str = "gap", ax: "Axes | None" = None) -> "Axes":
        """Draws one figure of a report with matplotlib.

        Args:
            kind: A figure whose first parameter is `report`: "gap", "slices", "groups", "reliability", "detection", or
                that of a plug-in.
            ax: Axes to draw on; None makes a new figure.

        Raises:
            OochubError: matplotlib is missing, no such figure, one that is not made of a report, or the report lacks
                what it shows.
        """
        function: Callable[..., Axes] = catalog.get("figure", kind)
        first = next(iter(inspect.signature(function).parameters))
        if first != "report":
            raise OochubError(f"{kind} needs {first}, not one report. Run `oochub list figure` for descriptions.")
        return function(self, ax=ax)


def _make_document(
    report: "Report", blocks: Iterable[Block], *, left_out: Collection[str] = (), notes: Iterable[str]
) -> Document:
    """The document of a report.

    Args:
        report: Any report.
        blocks: What its sections say.
        left_out: Names of the sections that the form leaves out, besides those that have no text.
        notes: What limits the data.
    """
    answer = verdict(report)
    return Document(
        headline=answer.headline,
        rest=answer.rest,
        sentences=(answer.lead,),
        facts=answer.facts,
        blocks=(*blocks, *_name_silent(report, left_out)),
        notes=tuple(notes),
        form="**{}**",
        is_close=True,
    )


def _build_paper_table(report: "Report") -> PaperTable | None:
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
    data = wording.name_benchmark(benchmark, 40)
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
            *(make_sentence(note) for note in wording.list_caveats(report)),
        ),
        source=f"One row of the report: {FULL}",
    )


def _write_full_latex(report: "Report") -> str:
    r"""A report as LaTeX tables in the style of booktabs, the intervals in small type below the values.

    The slices come first, and their caption says what was evaluated, the verdict and the notes; each other table has
    what its section says as its caption. What is left out is named in a comment.

    Returns:
        `table` environments; they need `\usepackage{booktabs}`.
    """
    benchmark, passages = report.benchmark, _collect_passages(report)
    titles = {section.name: section.title for section in sections()}
    sentences = [sentence for _, passage in passages if not passage.title for sentence in passage.said]
    sentences = [verdict(report).sentence, *sentences, "Below each value its 95% interval."]
    sentences += [f"{wording.capitalize_sentence(note)}." for note in wording.list_caveats(report)]
    task = f"{wording.name_model(report.model)} on {wording.name_benchmark(benchmark)}"
    blocks = [Block(table=passage.table, caption=task, sentences=tuple(sentences))
              for name, passage in passages if name == _SLICES and passage.table]  # fmt: skip
    for name, passage in passages:
        if name != _SLICES and not passage.steps and (passage.title or passage.table):
            told = passage.said if passage.title else ()
            blocks.append(replace(passage, title=passage.title or titles[name], sentences=told))
    silent = _name_silent(report, {name for name, passage in passages if passage.steps})
    return Document(blocks=(*blocks, *silent)).to_latex()


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


def _collect_passages(report: "Report") -> list[tuple[str, Passage]]:
    """What the sections say in text, with the name of each, in the order of their places."""
    return [(section.name, passage) for section in sections() for passage in section.passages(report)]


def _name_silent(report: "Report", also: Collection[str] = ()) -> Iterator[Block]:
    """The findings of the report that have no text, by their titles alone.

    Args:
        report: Any report.
        also: Names of sections that the form leaves out too.
    """
    for section in sections():
        if section.has(report) and (section.name in also or not any(section.passages(report))):
            yield Block(name=wording.put_in_sentence(section.title))


def _format_short(estimate: Estimate) -> str:
    """An estimate at the prompt, with what limits it."""
    return f"{estimate} ({describe_reason(estimate)})" if estimate.reason else str(estimate)


def _describe_subject(report: "Report") -> str:
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
