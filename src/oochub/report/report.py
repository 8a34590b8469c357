"""The report: its numbers as JSON, table, image and page."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub import catalog
from oochub.errors import OochubError
from oochub.report.report_record import ReportRecord
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.storage.artifacts import PAGE
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True, repr=False)
class Report(ReportRecord):
    """What `oochub.evaluate` returns: the numbers of `ReportRecord`, and how they are shown."""

    def __repr__(self) -> str:
        from oochub.report.forms import short_text

        return short_text(self)

    def _repr_html_(self) -> str:
        from oochub.report.forms import notebook_html
        from oochub.report.self_contained_page import frame_page

        tables = notebook_html(self)
        try:
            page = self.to_html()
        except OochubError:  # too large, or an image that is none
            return tables
        return frame_page(page, title=repr(self).splitlines()[0].strip("<>"), tables=tables)

    def to_pandas(self) -> "pd.DataFrame":
        """One row a number: slice, split, metric, value, low, high, n, method, reason."""
        from oochub.report.forms import to_frame

        return to_frame(self)

    def to_markdown(self) -> str:
        """The verdict and what each section finds, as Markdown tables; sections left out are named."""
        from oochub.report.forms import to_markdown

        return to_markdown(self)

    def to_latex(self, style: TableStyle = "compact") -> str:
        """The report in LaTeX, for `booktabs`.

        Args:
            style: "compact" is the table of a paper: the model, in context, out of context and the gap with their
                intervals, the caveats below. "full" has the slices and each other section as tables; what is left out
                is named in a comment.

        Raises:
            OochubError: Another style.
        """
        from oochub.report.forms import to_latex

        return to_latex(self, TableSettings(style=style).style)

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
            raise OochubError(
                f"{kind} needs {first}, not one report. `oochub list figure` says what each figure shows."
            )
        return function(self, ax=ax)
