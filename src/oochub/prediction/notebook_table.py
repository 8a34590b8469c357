"""A small table for a notebook: plain HTML in the colors of its surroundings, light or dark."""

import base64
from collections.abc import Sequence
from html import escape

_TABLE = "border-collapse:collapse;margin:.4em 0;font-size:inherit;color:inherit;font-variant-numeric:tabular-nums"
_SMALL, _WHOLE, _SHORT = "font-size:85%;opacity:.7;", "white-space:nowrap", 24
_CELL = "padding:.2em 1em .2em 0;vertical-align:top;text-align:{}"
_PICTURE = "width:72px;height:auto;display:block"
_HEAD = "padding:.2em 1em .2em 0;vertical-align:bottom;font-weight:600;border-bottom:1px solid;text-align:{}"


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
