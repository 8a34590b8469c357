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
