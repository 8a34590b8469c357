"""Two models on the same rows, as tables, text and page."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.comparison.paired_record import PairedRecord
from oochub.settings.report_settings import TableSettings, TableStyle
from oochub.storage.artifacts import PAGE, format_csv
from oochub.storage.files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Group


@dataclass(frozen=True, kw_only=True, repr=False)
class PairedReport(PairedRecord):
    """What `oochub.compare` returns for two models: the numbers of `PairedRecord`, and how they are shown."""

    def __repr__(self) -> str:
        from oochub.comparison.paired_forms import short_text

        return short_text(self)

    def _repr_html_(self) -> str:
        from oochub.comparison.paired_forms import make_document

        return make_document(self).to_notebook()

    def to_pandas(self) -> "pd.DataFrame":
        """One row a number: slice, split, n, metric, first, second, difference, low, high, p_value, test, is_clear."""
        from oochub.comparison.paired_forms import to_frame

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
        from oochub.comparison.paired_forms import make_document

        document = make_document(self)
        return (document if shows_bold else document.without_bold("clear")).to_terminal(width)

    def to_markdown(self) -> str:
        """The tables in Markdown; ends in a line feed."""
        from oochub.comparison.paired_forms import make_document

        return make_document(self).to_markdown()

    def to_latex(self, style: TableStyle = "compact") -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`.

        Args:
            style: "compact" is the table of a paper: A, B and B minus A as rows; in context, out of context and the
                gap as columns. "full" has a table for each metric, and the groups.

        Raises:
            OochubError: Another style.
        """
        from oochub.comparison.paired_forms import to_latex

        return to_latex(self, TableSettings(style=style).style)

    def to_html(self, path: str | Path | None = None, *, images: bool = True) -> str:
        """The self-contained page; written to `path` when one is given."""
        from oochub.comparison.paired_forms import paired_page

        if path is not None:
            check_writable(path, kind=PAGE)
        page: str = paired_page(self, images=images)
        if path is not None:
            with write_whole(path, kind=PAGE) as draft:
                draft.write_text(page, "utf-8")
        return page
