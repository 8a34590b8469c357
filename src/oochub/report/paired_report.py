"""Two models on the same rows: what each scores, by how much they differ, and which examples flip."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import unknown_name
from oochub.records.origin_records import EvaluatedBenchmark, EvaluatedModel, Provenance
from oochub.records.report_records import ComparedNumber, ComparedRows, Flip, MetricDescription
from oochub.records.schema import to_json
from oochub.settings.table_settings import TableSettings, TableStyle
from oochub.storage.artifacts import PAGE, format_csv
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group

SCHEMA_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class PairedReport:
    """What `oochub.compare` returns: A is the first model, B the second.

    Attributes:
        schema_version: Version of the JSON's schema.
        benchmark: Benchmark that both were evaluated on.
        first: Model A.
        second: Model B.
        notes: Caveats of the data.
        metrics: What the metrics' numbers mean, the primary one first.
        slices: The numbers on each slice, all of the evaluation split first.
        groups: The numbers of one metric on each group; empty without groups.
        group_metric: Name of that metric; "" without groups.
        gap: The primary metric out of context minus in context, of each model, and how much the two gaps differ; each
            undefined, with the reason, where a side has no rows.
        flips: Rows that one model alone answers right, those of the largest change first, a few of each direction.
        provenance: Where A's numbers come from.
        other: Where B's come from.
    """

    schema_version: int = SCHEMA_VERSION
    benchmark: EvaluatedBenchmark
    first: EvaluatedModel
    second: EvaluatedModel
    notes: tuple[str, ...] = ()
    metrics: Mapping[str, MetricDescription]
    slices: tuple[ComparedRows, ...]
    groups: tuple[ComparedRows, ...] = ()
    group_metric: str = ""
    gap: ComparedNumber
    flips: tuple[Flip, ...] = ()
    provenance: Provenance
    other: Provenance

    def __repr__(self) -> str:
        from oochub.report.paired_tables import short_text

        return short_text(self)

    def _repr_html_(self) -> str:
        from oochub.report.paired_tables import notebook_html

        return notebook_html(self)

    def slice(self, name: str) -> ComparedRows:
        """The slice of that name ("out_of_context"), or of that title where it is a side ("hard").

        Raises:
            OochubError: No such slice.
        """
        named = {part.title: part for part in self.slices if part.role in ("in", "out")}
        named |= {part.name: part for part in self.slices}
        if name not in named:
            raise unknown_name("slice in this comparison", name, named)
        return named[name]

    @property
    def main_slice(self) -> ComparedRows:
        """The rows out of context; all rows where there are none."""
        return next((part for part in self.slices if part.role == "out"), self.slices[0])

    @property
    def main_metric(self) -> str:
        """The benchmark's primary metric; where it was not asked for, the first that was."""
        having = [name for name in self.metrics if any(name in part.numbers for part in self.slices)]
        return next((name for name in (self.benchmark.primary_metric, *having) if name in having), "")

    def to_json(self, *, images: bool = False) -> dict[str, Any]:
        """Every number as JSON types.

        Args:
            images: Whether the flips keep their small images.
        """
        flips = (
            self.flips if images else [replace(flip, mistake=replace(flip.mistake, image=None)) for flip in self.flips]
        )
        content: dict[str, Any] = to_json(replace(self, flips=tuple(flips)))
        return content

    def to_pandas(self) -> "pd.DataFrame":
        """One row a number: slice, split, n, metric, first, second, difference, low, high, p_value, test, is_clear."""
        from oochub.report.paired_tables import to_frame

        return to_frame(self)

    def to_csv(self) -> str:
        """`to_pandas` as text."""
        return format_csv(self.to_pandas())

    def to_terminal(self, *, width: int = 100, shows_bold: bool = True) -> "Group":
        """The tables of the main metric and of the groups for a terminal, as a renderable of rich.

        Args:
            width: Characters in a line; a table wider than it is printed in several, column after column.
            shows_bold: Whether bold can be seen; False writes "clear" in these cells, as for a pipe or a file.
        """
        from oochub.report.paired_tables import terminal

        return terminal(self, width, shows_bold=shows_bold)

    def to_markdown(self) -> str:
        """The tables in Markdown; ends in a line feed."""
        from oochub.report.paired_tables import to_markdown

        return to_markdown(self)

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: "compact" is the table of a paper: A, B and B minus A as rows; in context, out of context and the
                gap as columns. "full" has a table for each metric, and the groups.

        Raises:
            OochubError: Another style.
        """
        from oochub.report.paired_tables import to_latex

        return to_latex(self, TableSettings(style=style).style)

    def to_html(self, path: str | Path | None = None, *, images: bool = True) -> str:
        """The self-contained page; written to `path` when one is given."""
        from oochub.report.paired_page import paired_page

        if path is not None:
            check_writable(path, kind=PAGE)
        page: str = paired_page(self, images=images)
        if path is not None:
            with write_whole(path, kind=PAGE) as draft:
                draft.write_text(page, "utf-8")
        return page
