"""A table as a paper prints it: booktabs, a value and its spread in one cell, a caption, a label and notes below."""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from oochub.records.table import define_latex_letters, escape_latex, format_latex_row
from oochub.report import format_numbers, wording
from oochub.report.footnotes import Footnotes, Limited

_COLUMN, _TIGHT = 51, 56
"""Letters of small type in a column of a page with two, and of smaller type; a wider table spans both (`table*`)."""
_SMALL = 0.75
"""Width of a letter of a spread, in letters of a value."""
_BETWEEN = 1.7
"""Width of the room between two columns."""
_HEAD = 10
"""Letters in a line of a head, where no cell below it is wider."""
FULL = '--style full, in Python style="full", writes every table.'
"""How to get what a compact table leaves out."""


class PaperCell(NamedTuple):
    """A number of the table as plain text.

    Attributes:
        value: The number.
        spread: What stands behind it in smaller type: "[80.4, 81.8]", "± 0.5"; "" for nothing.
        is_bold: Whether the value is bold.
    """

    value: str
    spread: str = ""
    is_bold: bool = False


@dataclass(frozen=True, kw_only=True)
class PaperTable:
    r"""A compact table; names in it are plain text and escaped where they are written.

    Attributes:
        caption: Two sentences.
        label: What the label is made of: the letters and digits of each part.
        heads: The columns' heads.
        rows: The names of each row, then its cells; a name that repeats the one above it in the first of two columns
            of names is left out.
        names: How many columns hold names.
        rules: The rows before which a rule is drawn.
        notes: Sentences below the table, in small type.
        source: A comment above the table, which says what else there is.

    >>> row = ("erm_1", PaperCell("81.1", "[80.4, 81.8]", True))
    >>> table = PaperTable(caption="One. Two.", label=("report", "a_b"), heads=("Model", "AUC"), rows=(row,))
    >>> latex = table.to_latex()
    >>> print(latex.partition("midrule\n")[2].partition("\n\\bottomrule")[0])
    erm\_1 & \textbf{81.1} {\scriptsize [80.4, 81.8]} \\
    >>> r"\label{tab:report-a-b}" in latex
    True
    """

    caption: str
    label: tuple[str, ...]
    heads: tuple[str, ...]
    rows: tuple[tuple[str | PaperCell, ...], ...]
    names: int = 1
    rules: frozenset[int] = frozenset()
    notes: tuple[str, ...] = field(default=())
    source: str = FULL

    def to_latex(self) -> str:
        r"""A `table` environment, `table*` if it is wider than a column of two; ends in a line feed.

        It needs `\usepackage{booktabs}` and no other package.
        """
        width = self._measure_width()
        texts = [self.caption, *self.heads, *self.notes, *(" ".join(_text(cell)) for row in self.rows for cell in row)]
        kind = "table*" if width > _TIGHT else "table"
        size, between = (r"\footnotesize", 3) if _COLUMN < width <= _TIGHT else (r"\small", 4)
        slug = "-".join(filter(None, (re.sub("[^a-z0-9]+", "-", part.lower()).strip("-") for part in self.label)))
        columns = f"{'l' * self.names}{'r' * (len(self.heads) - self.names)}"
        lines = [
            f"% {' '.join(self.source.split())}",
            rf"\begin{{{kind}}}[t]",
            *define_latex_letters("".join(map(_escape, texts))),
            r"\centering",
            r"\setlength{\belowcaptionskip}{4pt}",
            rf"\caption{{{_escape(self.caption)}}}",
            rf"\label{{tab:{slug}}}",
            size,
            rf"\setlength{{\tabcolsep}}{{{between}pt}}",
            rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
            r"\toprule",
            *self._format_heads(),
            r"\midrule",
            *self._format_rows(),
            r"\bottomrule",
            r"\end{tabular}",
        ]
        if self.notes:
            notes = " ".join(_escape(note) for note in self.notes)
            lines += [r"\par\smallskip", rf"\parbox{{\linewidth}}{{\footnotesize\raggedright {notes}}}"]
        return "\n".join([*lines, rf"\end{{{kind}}}"]) + "\n"

    def _format_heads(self) -> Iterator[str]:
        heads = self._broken_heads
        most = max(map(len, heads))
        for number in range(most):
            lines = [[""] * (most - len(head)) + head for head in heads]
            yield format_latex_row([_escape(line[number]) for line in lines])

    def _format_rows(self) -> Iterator[str]:
        above: tuple[str | PaperCell, ...] = ()
        for i, row in enumerate(self.rows):
            if i in self.rules:
                yield r"\midrule"
            is_repeated = self.names > 1 and bool(above) and row[0] == above[0]
            yield format_latex_row(["" if is_repeated and k == 0 else _format_cell(cell) for k, cell in enumerate(row)])
            above = row

    @property
    def _widths(self) -> list[float]:
        """The width of the widest cell of each column, in letters."""
        return [max((_measure(row[k]) for row in self.rows), default=0) for k in range(len(self.heads))]

    @property
    def _broken_heads(self) -> list[list[str]]:
        """The lines of each head, none much wider than the cells below it."""
        widths = zip(self.heads, self._widths, strict=True)
        return [textwrap.wrap(head, max(_HEAD, int(width))) for head, width in widths]

    def _measure_width(self) -> float:
        heads = [max(map(len, lines), default=0) for lines in self._broken_heads]
        return sum(map(max, heads, self._widths)) + _BETWEEN * (len(heads) - 1)


def write_paper_cell(
    value: float,
    *,
    unit: str,
    notes: Footnotes,
    limited: Limited,
    sd: float = float("nan"),
    ends: tuple[float, float] = (float("nan"), float("nan")),
    signed: bool = False,
    is_bold: bool = False,
    more: str = "",
) -> PaperCell:
    """A value with its standard deviation, else its interval, and the mark of what limits it.

    Args:
        value: The number; nan is "n/a".
        unit: Unit of the number's metric.
        notes: The marks of the table.
        limited: What has the reason for a mark.
        sd: Its standard deviation over seeds, if there are several.
        ends: Its interval, if it has one.
        signed: Whether it is a difference.
        is_bold: Whether it is bold.
        more: What stands behind the spread.

    >>> from oochub.stats.estimate import Estimate
    >>> one = Estimate(-0.021, low=-0.044, high=0.002, n=536, method="bootstrap")
    >>> write_paper_cell(one, unit="fraction", notes=Footnotes(), limited=one, ends=(one.low, one.high), signed=True)
    PaperCell(value='−2.1', spread='[−4.4, +0.2]', is_bold=False)
    """

    def write(number: float) -> str:
        return format_numbers.points(number, unit) if signed else format_numbers.quantity(number, unit)

    spread = ""
    if not format_numbers.is_undefined(sd):
        spread = f"± {format_numbers.quantity(sd, unit)}"
    elif not any(map(format_numbers.is_undefined, ends)):
        spread = f"[{write(ends[0])}, {write(ends[1])}]"
    return PaperCell(write(value), f"{spread}{more}{notes.mark(limited)}", is_bold)


def describe_metric(title: str, unit: str, direction: str) -> str:
    """A metric in a caption.

    >>> describe_metric("Accuracy", "%", "higher")
    'Accuracy (%, higher is better)'
    """
    better = f"{direction} is better" if direction in ("higher", "lower") else ""
    words = ", ".join(filter(None, (unit, better)))
    return f"{title} ({words})" if words else title


def make_sentence(text: str) -> str:
    """The text with a large first letter and a full stop.

    >>> make_sentence("partial: 3 of 5 images"), make_sentence("Done.")
    ('Partial: 3 of 5 images.', 'Done.')
    """
    return f"{wording.capitalize_sentence(text).rstrip('.')}." if text else ""


def _escape(text: str) -> str:
    return escape_latex(wording.clean(text))


def _format_cell(cell: str | PaperCell) -> str:
    if isinstance(cell, str):
        return _escape(cell)
    value = _escape(cell.value)
    value = rf"\textbf{{{value}}}" if cell.is_bold else value
    return rf"{value} {{\scriptsize {_escape(cell.spread)}}}" if cell.spread else value


def _text(cell: str | PaperCell) -> tuple[str, ...]:
    return (cell,) if isinstance(cell, str) else (cell.value, cell.spread)


def _measure(cell: str | PaperCell) -> float:
    value, *spread = _text(cell)
    return len(value) + sum(1 + _SMALL * len(text) for text in spread if text)
