"""A table, written once: for the terminal, in Markdown and LaTeX, for a notebook, and its numbers as a data frame.

The table of a notebook is plain HTML in the colors of its surroundings, light or dark.
"""

import base64
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table as Grid
    from rich.text import Text

UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
"""C0 and C1 controls, bidi controls, line separators and lone surrogates: they could redraw what is around them."""
MARKS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"
"""Superscript letters; there is none of q."""
PLAIN = "abcdefghijklmnoprstuvwxyz"
"""The letters that they are."""
_LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}


_TABLE = "border-collapse:collapse;margin:.4em 0;font-size:inherit;color:inherit;font-variant-numeric:tabular-nums"
_SMALL, _WHOLE, _SHORT = "font-size:85%;opacity:.7;", "white-space:nowrap", 24
_CELL = "padding:.2em 1em .2em 0;vertical-align:top;text-align:{}"
_PICTURE = "width:72px;height:auto;display:block"
_HEAD = "padding:.2em 1em .2em 0;vertical-align:bottom;font-weight:600;border-bottom:1px solid;text-align:{}"


_LATEX |= {character: f"\\{character}" for character in "&%$#_"}
_LATEX |= {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "\u00d7": r"$\times$", "\u2212": "$-$", "\u2013": "--"}
_LATEX |= {"<": "$<$", ">": "$>$", "|": r"\textbar{}"}  # in the usual encoding of pdflatex these are others
_LATEX |= {"\u202f": r"\,", "…": r"\ldots{}", "±": r"$\pm$", "·": r"$\cdot$"}
_LATEX |= {"→": r"$\rightarrow$", "≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "α": r"$\alpha$", "β": r"$\beta$"}
_LATEX |= {
    letter: rf"{{\ifdefined\UnicodeEncodingName\else\fontencoding{{T1}}\selectfont\fi {letter}}}"
    for letter in "«»ÐÞðþĄąĐđĘęĮįŊŋŲų"
}  # the usual encoding of pdflatex lacks them
_LATEX |= {letter: f"U+{ord(letter):04X}" for letter in "ĦħĸĿŀŉŦŧſ"}  # and each of its encodings these
_LATEX |= {mark: rf"\textsuperscript{{{letter}}}" for mark, letter in zip(MARKS, PLAIN, strict=True)}
_KNOWN = 0x17F
"""The last letter, of Latin Extended-A, that pdflatex sets without a package."""
_PUNCTUATION = "‘’“”—"
_MARKDOWN = {character: f"\\{character}" for character in "\\`*_[]|#"} | {"<": "&lt;", ">": "&gt;", "\n": " "}


def clean(text: str) -> str:
    r"""The text with control and bidi characters shown as U+FFFD; line feeds and tabs stay.

    >>> clean("a\u202eb") == "a\ufffdb"
    True
    """
    return UNSAFE.sub("\ufffd", text)


def clean_fields(record: Any) -> None:
    """Cleans the texts of a frozen dataclass that is shown, and those in its tuples."""
    for name, value in vars(record).items():
        object.__setattr__(record, name, _clean_any(value))


def _clean_any(value: Any) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, tuple):
        parts = map(_clean_any, value)
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return value


@dataclass(frozen=True, kw_only=True)
class Table:
    r"""Heads and cells as a reader sees them; names in them are plain text and escaped where they are written.

    A cell may have a second line, after a line feed: an interval, or the reason why there is none.

    Attributes:
        heads: Heads of the columns; a line feed breaks one that is long.
        rows: Their cells.
        title: What the table shows; "" where its surroundings say it.
        sentences: Sentences before the table.
        bold: (row, column) of the cells that are set bold.
        left: The columns that stand to the left in a terminal; in Markdown and LaTeX it is the first.
        reported: How many of the last columns are a paper's numbers; in LaTeX the two kinds get heads of their own.
        rule: The row before which LaTeX draws a rule; None for none.
        records: The table's numbers at full precision, one to a row of the data frame.
        footnotes: Meaning of the marks behind its intervals, one line each; every form prints them below it.
        beside: Whether Markdown sets the second line of a cell in brackets beside the first, and not below it.

    >>> table = Table(heads=("Slice", "AUC"), rows=(("hard", "81.1\n80.4 to 81.8"),), bold=frozenset({(0, 1)}))
    >>> print(table.to_markdown())
    | Slice | AUC |
    | --- | ---: |
    | hard | **81.1<br>80.4 to 81.8** |
    >>> print(table.to_latex("Hard rows.").partition("midrule\n")[2].partition("\\bottomrule")[0].rstrip())
    hard & \textbf{81.1} \\
     & {\footnotesize 80.4 to 81.8} \\
    """

    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""
    sentences: tuple[str, ...] = ()
    bold: frozenset[tuple[int, int]] = frozenset()
    left: frozenset[int] = frozenset({0})
    reported: int = 0
    rule: int | None = None
    records: tuple[Mapping[str, Any], ...] = ()
    footnotes: tuple[str, ...] = ()
    beside: bool = False

    def __post_init__(self) -> None:
        clean_fields(self)

    def without_bold(self, word: str) -> "Table":
        """The same with a word before each cell that is bold, for where bold cannot be seen."""
        rows = (
            tuple(f"{word} {cell}" if (i, k) in self.bold else cell for k, cell in enumerate(row))
            for i, row in enumerate(self.rows)
        )
        return replace(self, rows=tuple(rows), bold=frozenset())

    def to_terminal(self, width: int | None = None) -> "list[Grid | Text]":
        """The table for a terminal and its footnotes, as renderables of rich, in which names are plain text.

        Args:
            width: Characters in a line; a table wider than it becomes several, column after column. None is one table.
        """
        from rich.text import Text

        every = list(range(1, len(self.heads)))
        grids = [
            self._draw_grid(columns, split=width is not None)
            for columns in (self._split_columns(width) if width else [every])
        ]
        return [*grids, *(Text(line, "dim") for line in self.footnotes)]

    def to_markdown(self, below: str = "") -> str:
        """The table in Markdown with its footnotes, without title and sentences.

        Args:
            below: How the second line of a cell follows the first; "" as `beside` says.
        """
        below = below or (" ({})" if self.beside else "<br>{}")
        rules = ["---" if k == 0 else "---:" for k in range(len(self.heads))]
        lines = [[escape_markdown(head) for head in self.heads], rules]
        for i, row in enumerate(self.rows):
            cells = [_join_lines(text, below, escape_markdown) for text in row]
            lines.append([f"**{cell}**" if (i, k) in self.bold else cell for k, cell in enumerate(cells)])
        table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
        return "\n\n".join([table, *map(escape_markdown, self.footnotes)])

    def to_latex(self, caption: str, *, small: bool = False, below: str = "") -> str:
        r"""The table in LaTeX, in the style of booktabs.

        Args:
            caption: Plain text; the footnotes follow it.
            small: Small type and little room between the columns, for a table of many.
            below: How the second line of a cell follows the first; "" sets it in small type in a row of its own.

        Returns:
            A `table` environment that ends in a line feed; it needs `\usepackage{booktabs}`.
        """
        whole = " ".join([caption, *self.footnotes])
        letters = define_latex_letters(
            escape_latex("".join([whole, *self.heads, *(cell for row in self.rows for cell in row)]))
        )
        lines = [
            r"\begin{table}",
            *letters,
            r"\centering",
            *([r"\small", r"\setlength{\tabcolsep}{4pt}"] if small else []),
        ]
        lines += [
            rf"\begin{{tabular}}{{l{'r' * (len(self.heads) - 1)}}}",
            r"\toprule",
            *self._format_latex_heads(),
            r"\midrule",
        ]
        for i, row in enumerate(self.rows):
            lines += [r"\midrule"] if i == self.rule else []
            cells = [_join_lines(text, below, escape_latex) for text in row]
            lines.append(
                format_latex_row([rf"\textbf{{{c}}}" if (i, k) in self.bold else c for k, c in enumerate(cells)])
            )
            second = [escape_latex(text.partition("\n")[2]) for text in row]
            if any(second) and not below:
                lines.append(format_latex_row([rf"{{\footnotesize {text}}}" if text else "" for text in second]))
        lines += [r"\bottomrule", r"\end{tabular}", rf"\caption{{{escape_latex(whole)}}}", r"\end{table}"]
        return "\n".join(lines) + "\n"

    def to_frame(self, columns: list[str] | None = None) -> "pd.DataFrame":
        r"""The table's numbers, one to a row, at full precision.

        Args:
            columns: The columns and their order; None takes those of the records.

        >>> table = Table(heads=("AUC",), rows=(("81.1",),), records=({"metric": "auc", "value": 0.811},))
        >>> table.to_frame().to_csv(index=False)
        'metric,value\nauc,0.811\n'
        """
        import pandas as pd

        return pd.DataFrame(list(self.records), columns=columns)

    def _format_latex_heads(self) -> Iterator[str]:
        measured, last = len(self.heads) - self.reported, len(self.heads)
        if self.reported:
            spans = {"measured": measured - 1, "reported": self.reported}
            yield format_latex_row(["", *(rf"\multicolumn{{{span}}}{{c}}{{{name}}}" for name, span in spans.items())])
            yield rf"\cmidrule(lr){{2-{measured}}} \cmidrule(lr){{{measured + 1}-{last}}}"
        heads = [
            re.sub(r"\s*\(reported\)(?=\n|$)", "", head) if k >= measured else head for k, head in enumerate(self.heads)
        ]
        lines = [head.split("\n") for head in heads]
        for number in range(max(map(len, lines))):
            yield format_latex_row([escape_latex(head[number]) if number < len(head) else "" for head in lines])

    def _split_columns(self, width: int) -> Iterator[list[int]]:
        """The numbers of the columns that fit beside each other, without the first."""
        first = max(len(text) for text in (self.heads[0], *(row[0] for row in self.rows)))
        part: list[int] = []
        room = width - first
        for k in range(1, len(self.heads)):
            needed = self._measure_width(k) + 2
            if part and needed > room:
                yield part
                part, room = [], width - first
            part.append(k)
            room -= needed
        yield part

    def _measure_width(self, column: int) -> int:
        """The longest line of a cell, or word of the head; a head with line feeds breaks nowhere else."""
        head = self.heads[column]
        lines = [line for row in self.rows for line in row[column].split("\n")]
        return max(map(len, [*(head.split("\n") if "\n" in head else head.split()), *lines]), default=1)

    def _draw_grid(self, columns: Sequence[int], *, split: bool) -> "Grid":
        from rich.table import Table as Grid
        from rich.text import Text

        grid = Grid(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
        for k in (0, *columns):
            grid.add_column(
                Text(self.heads[k]),
                justify="left" if k in self.left else "right",
                no_wrap=split and k == 0,
                min_width=self._measure_width(k) if split else None,
            )
        has_intervals = any("\n" in cell for row in self.rows for cell in row)
        for i, row in enumerate(self.rows):
            style = ("bold" if any("\n" in cell for cell in row) else "dim") if has_intervals else ""
            cells = [Text(row[0], style)]
            for k in columns:
                value, _, below = row[k].partition("\n")
                cell = Text(value, "bold" if (i, k) in self.bold else "", no_wrap=split)
                cells.append(cell.append(f"\n{below}", "dim") if below else cell)
            grid.add_row(*cells)
        return grid


def escape_markdown(text: str) -> str:
    r"""Plain text for Markdown, on one line.

    >>> print(escape_markdown("a|b <i> [x](y)"))
    a\|b &lt;i&gt; \[x\](y)
    """
    return "".join(_MARKDOWN.get(character, character) for character in text)


def escape_latex(text: str) -> str:
    r"""Plain text for LaTeX, on one line; needs no package.

    >>> print(escape_latex("50% of ce_car"))
    50\% of ce\_car
    """
    return "".join(_LATEX.get(character, character) for character in text.replace("\n", " "))


def define_latex_letters(latex: str) -> list[str]:
    r"""A stand-in, its number, for each letter that pdflatex may not have; one that it has stays as it is.

    Args:
        latex: The LaTeX of a table.

    >>> len(define_latex_letters("a cat, 猫")), define_latex_letters("Łódź")
    (1, [])
    """
    lines = []
    for letter in sorted({letter for letter in latex if ord(letter) > _KNOWN} - set(_PUNCTUATION)):
        name = rf"\csname u8:\detokenize{{{letter}}}\endcsname"
        lines.append(rf"\expandafter\ifx{name}\relax\expandafter\def{name}{{U+{ord(letter):04X}}}\fi")
    return lines


def format_latex_row(cells: Sequence[str]) -> str:
    r"""A row of a tabular, of cells that are LaTeX; a first one that the line above would take as its option is not.

    >>> print(format_latex_row(["[2cm]", "81.1"]))
    {}[2cm] & 81.1 \\
    """
    guard = "{}" if cells[0].startswith(("[", "*")) else ""
    return f"{guard}{' & '.join(cells)} \\\\"


def _join_lines(text: str, below: str, escaped: Callable[[str], str]) -> str:
    value, _, second = text.partition("\n")
    return f"{escaped(value)}{below.format(escaped(second)) if second else ''}"


def make_notebook_table(
    rows: Sequence[Sequence[str]],
    *,
    heads: Sequence[str] = (),
    title: str = "",
    sentences: Sequence[str] = (),
    footnotes: Sequence[str] = (),
    pictures: Sequence[str] = (),
) -> str:
    r"""A table as HTML; all text is escaped, nothing is fetched, no color is set.

    Args:
        rows: Their cells; what follows a line feed stands below the value, smaller.
        heads: Heads of the columns, which stand to the right but for the first; without heads all stand to the left.
        title: Text above the table, bold.
        sentences: Sentences that follow the title.
        footnotes: Footnotes below the table, one line each.
        pictures: Address of an image before each row, see `write_picture`; without any there is no such column.

    >>> make_notebook_table([["<b>", "1"]]).count("&lt;b&gt;")
    1
    """
    lines = [f'<div style="font-weight:600">{escape(title)}</div>'] if title else []
    lines += [f"<div>{escape(sentence)}</div>" for sentence in sentences]
    lines.append(f'<table style="{_TABLE}">')
    if any(pictures):
        heads = ["", *heads] if heads else ()
    sides = ["left", *["right" if heads else "left"] * max(map(len, [heads, *rows]))]
    if heads:
        cells = (
            f'<th style="{_HEAD.format(side)}">{escape(head)}</th>' for head, side in zip(heads, sides, strict=False)
        )
        lines.append(f"<thead><tr>{''.join(cells)}</tr></thead>")
    lines.append("<tbody>")
    for number, row in enumerate(rows):
        cells = (_format_cell(text, side) for text, side in zip(row, sides, strict=False))
        image = _format_picture(pictures[number]) if any(pictures) else ""
        lines.append(f"<tr>{image}{''.join(cells)}</tr>")
    below = (f'<div style="{_SMALL}">{escape(line)}</div>' for line in footnotes)
    return "\n".join([*lines, "</tbody></table>", *below])


def write_picture(jpeg: bytes | None) -> str:
    r"""The address of an image that holds its bytes; "" for no JPEG.

    >>> write_picture(b"\xff\xd8\xff"), write_picture(b"<svg>"), write_picture(None)
    ('data:image/jpeg;base64,/9j/', '', '')
    """
    if jpeg is None or not jpeg.startswith(b"\xff\xd8\xff"):
        return ""
    return f"data:image/jpeg;base64,{base64.b64encode(jpeg).decode('ascii')}"


def _format_picture(address: str) -> str:
    image = f'<img src="{escape(address)}" alt="" style="{_PICTURE}">' if address else ""
    return f'<td style="{_CELL.format("left")}">{image}</td>'


def _format_cell(text: str, side: str) -> str:
    value, _, below = text.partition("\n")
    small = f'<div style="{_SMALL}{_WHOLE if len(below) < _SHORT else ""}">{escape(below)}</div>' if below else ""
    return f'<td style="{_CELL.format(side)}">{escape(value)}{small}</td>'
