"""Text inside Markdown and LaTeX tables: what means something there is escaped, so that names stay names."""

from collections.abc import Sequence

_LATEX = {"\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_LATEX |= {character: f"\\{character}" for character in "&%$#_"}
_LATEX |= {"↑": r"$\uparrow$", "↓": r"$\downarrow$", "\u00d7": r"$\times$", "\u2212": "$-$", "\u2013": "--"}
_LATEX |= {"\u202f": r"\,", "…": r"\ldots{}", "±": r"$\pm$"}
_MARKDOWN = {character: f"\\{character}" for character in "\\`*_[]|#"} | {"<": "&lt;", ">": "&gt;", "\n": " "}


def markdown_text(text: str) -> str:
    r"""Plain text for Markdown, on one line.

    >>> print(markdown_text("a|b <i> [x](y)"))
    a\|b &lt;i&gt; \[x\](y)
    """
    return "".join(_MARKDOWN.get(character, character) for character in text)


def markdown_row(cells: Sequence[str]) -> str:
    """A row of a Markdown table of cells that are Markdown already.

    >>> markdown_row(["a", "**b**"])
    '| a | **b** |'
    """
    return f"| {' | '.join(cells)} |"


def latex_text(text: str) -> str:
    r"""Plain text for LaTeX, on one line; needs no package.

    >>> print(latex_text("50% of ce_car"))
    50\% of ce\_car
    """
    return "".join(_LATEX.get(character, character) for character in text.replace("\n", " "))


def latex_row(cells: Sequence[str]) -> str:
    r"""A row of a LaTeX table of cells that are LaTeX already.

    >>> print(latex_row(["a", r"\textbf{b}"]))
    a & \textbf{b} \\
    """
    return f"{' & '.join(cells)} \\\\"


def latex_opening(measured: int, reported: int) -> list[str]:
    r"""The first lines of a LaTeX table, of booktabs: a column of names, numbers measured, and numbers of a paper.

    Args:
        measured: How many columns are measured.
        reported: How many are a paper's; with some, the two kinds get heads of their own.

    >>> print("\n".join(latex_opening(1, 0)[-2:]))
    \begin{tabular}{lr}
    \toprule
    """
    columns = measured + reported
    lines = [r"\begin{table}", r"\centering", r"\small", r"\setlength{\tabcolsep}{4pt}"]
    lines += [rf"\begin{{tabular}}{{l{'r' * columns}}}", r"\toprule"]
    if reported:
        spans = [rf"\multicolumn{{{measured}}}{{c}}{{measured}}", rf"\multicolumn{{{reported}}}{{c}}{{reported}}"]
        rules = rf"\cmidrule(lr){{2-{measured + 1}}} \cmidrule(lr){{{measured + 2}-{columns + 1}}}"
        lines += [latex_row(["", *spans]), rules]
    return lines
