"""What every result is shown as: a headline, sentences, tables with what is said of them, notes; one loop a form."""

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from oochub.records.table import Table, escape_markdown, make_notebook_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group
    from rich.text import Text


class NextStep(NamedTuple):
    """One thing to do: why, in sentences, and the command, as it is typed."""

    reason: str
    command: str


@dataclass(frozen=True, kw_only=True)
class Block:
    """One finding of a document: sentences, then a table, then steps.

    Attributes:
        title: Stands above it; that of the table if "".
        sentences: The finding first; those that are not true, "", are left out.
        table: None where there is nothing to tabulate.
        steps: What to do, the first thing first.
        below: Sentences below all of these.
        name: What a form calls it that leaves it out; "" where none does.
        is_short: Whether the terminal and a notebook show it.
        html: What a notebook shows of it, such as images; other forms then leave it out.
        caption: Title of the table in LaTeX, if it is another.
    """

    title: str = ""
    sentences: tuple[str, ...] = ()
    table: Table | None = None
    steps: tuple[NextStep, ...] = ()
    below: tuple[str, ...] = ()
    name: str = ""
    is_short: bool = True
    html: str = ""
    caption: str = ""

    @property
    def said(self) -> tuple[str, ...]:
        """The sentences that are true."""
        return tuple(filter(None, self.sentences))

    @property
    def heading(self) -> str:
        """Its title, else that of its table."""
        return self.title or (self.table.title if self.table else "")

    def to_terminal(self, width: int | None = None, *, apart: bool = False, blank: bool = False) -> "Iterator[Any]":
        """Its parts for a terminal; a command stands on a line of its own, whole where it is copied.

        Args:
            width: Characters in a line, see `Table.to_terminal`.
            apart: Whether a blank line stands below each part of the table.
            blank: Whether one stands below the table and below the last sentences.
        """
        from rich.text import Text

        yield from (Text(self.heading, "bold"),) if self.heading else ()
        yield from map(Text, self.said)
        for part in self.table.to_terminal(width) if self.table else ():
            yield from (part, Text()) if apart else (part,)
        yield from [Text()] if self.table and blank and not apart else ()
        for number, step in enumerate(self.steps, start=1):
            yield from (Text(f"{number}. {step.reason}"), _CommandLine(step.command))
        yield from map(Text, self.below)
        yield from [Text()] if self.below and blank else ()

    def list_steps(self) -> Iterator[str]:
        """Its steps in Markdown: numbered lines, each command fenced."""
        for number, step in enumerate(self.steps, start=1):
            fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", step.command))]))
            code = (f"{fence}bash", step.command, fence)
            yield from ("", f"{number}. {escape_markdown(step.reason)}", "", *(f"   {line}" for line in code))

    def to_notebook(self, title: str, *, above: tuple[str, ...] = ()) -> str:
        """Its table as HTML, the steps as rows below it.

        Args:
            title: Stands above it.
            above: Sentences between the title and its own.
        """
        table = self.table or Table(heads=(), rows=())
        steps = [step for number, (reason, command) in enumerate(self.steps, start=1)
                 for step in ((f"{number}. {reason}",), (command,))]  # fmt: skip
        return self.html or make_notebook_table(
            [*table.rows, *steps],
            heads=table.heads,
            title=title,
            sentences=(*above, *self.said),
            footnotes=(*table.footnotes, *self.below),
        )


@dataclass(frozen=True, kw_only=True)
class Document:
    r"""A result in words and tables, in the order in which every form shows them.

    Attributes:
        headline: The answer; "" where the surroundings say it.
        sentences: What follows it.
        blocks: The findings.
        caveats: How to read the tables; each table of LaTeX has them in its caption.
        notes: What limits the data.
        form: How Markdown sets the headline.
        bullet: What Markdown sets before a sentence below a table; "" makes paragraphs of them.
        apart: Whether a terminal prints a blank line below each part of a table.
        is_headline_last: Whether a terminal shows the headline last, above the prompt.
        beside: How Markdown and LaTeX set the second line of a cell, see `Table.to_markdown`.

    >>> table = Table(title="AUC", heads=("Slice", "AUC"), rows=(("hard", "81.1"),))
    >>> print(Document(headline="A wins.", blocks=(Block(table=table, below=("One seed.",)),)).to_markdown())
    A wins.
    <BLANKLINE>
    **AUC**
    <BLANKLINE>
    | Slice | AUC |
    | --- | ---: |
    | hard | 81.1 |
    <BLANKLINE>
    One seed.
    <BLANKLINE>
    """

    headline: str = ""
    sentences: tuple[str, ...] = ()
    blocks: tuple[Block, ...] = ()
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    form: str = "{}"
    bullet: str = ""
    apart: bool = False
    is_headline_last: bool = False
    beside: str = ""

    def without_bold(self, word: str) -> "Document":
        """The same with a word before each cell that is bold, and in what is said of them."""

        def say(lines: tuple[str, ...]) -> tuple[str, ...]:
            return (*(line.replace("Bold:", f'"{word}":', 1) for line in lines[:1]), *lines[1:])

        blocks = (
            replace(block, table=block.table and block.table.without_bold(word), below=say(block.below))
            for block in self.blocks
        )
        return replace(self, blocks=tuple(blocks), caveats=say(self.caveats))

    def to_terminal(self, width: int | None = None) -> "Group":
        """The short findings for a terminal, as a renderable of rich; names in it are plain text, never markup.

        Args:
            width: Characters in a line; a table wider than it is printed in several, column after column.
        """
        from rich.console import Group
        from rich.text import Text

        head = [Text(self.headline, style="bold")] if self.headline else []
        parts: list[Any] = [] if self.is_headline_last or not head else [*head, *map(Text, self.sentences), Text()]
        shown, left_out = self._choose(is_short=True)
        for block in shown:
            parts += block.to_terminal(width, apart=self.apart, blank=True)
        parts += map(Text, self.caveats)
        parts += (Text(line, style="dim") for line in left_out)
        return Group(*parts, *map(Text, self.notes), *(head if self.is_headline_last else ()))

    def to_markdown(self) -> str:
        """Every finding in Markdown; ends in a line feed."""
        lines = [self.form.format(escape_markdown(self.headline)), ""] if self.headline else []
        lines += map(_write_paragraph, self.sentences)
        shown, left_out = self._choose()
        for block in shown:
            lines += [f"**{escape_markdown(block.heading)}**", ""] if block.heading else []
            lines += map(_write_paragraph, block.said)
            lines += [block.table.to_markdown(self.beside), ""] if block.table else []
            if self.bullet:
                lines += [*(f"{self.bullet}{escape_markdown(line)}" for line in block.below), *[""] * bool(block.below)]
            else:
                lines += map(_write_paragraph, block.below)
        lines += map(_write_paragraph, (*self.caveats, *left_out, *self.notes))
        return "\n".join(lines).rstrip() + "\n"

    def to_latex(self, *, small: bool = False) -> str:
        r"""Every table in LaTeX, what is said of it as its caption; what is left out is named in a comment.

        Args:
            small: Small type and little room between the columns.

        Returns:
            `table` environments; they need `\usepackage{booktabs}`.
        """
        shown, left_out = self._choose()
        tables = []
        for block in shown:
            first, last = ((), ()) if tables else (self.sentences, self.notes)
            caption = (f"{block.caption or block.heading}.", *first, *block.below, *self.caveats, *last)
            if block.table is not None:
                tables.append(block.table.to_latex(" ".join(caption), small=small, below=self.beside))
        return "\n".join([*tables, *(f"% {line}\n" for line in left_out)])

    def to_notebook(self) -> str:
        """The short findings and images as HTML for a notebook; all text is escaped."""
        shown, left_out = self._choose(is_short=True, html=True)
        parts = []
        for block in shown:
            is_first = self.headline and not parts
            above = (*self.sentences, block.heading) if is_first else ()
            parts.append(block.to_notebook(self.headline if is_first else block.heading, above=above))
        last = [[line] for line in (*self.caveats, *left_out, *self.notes)]
        return "\n".join([*parts, *([make_notebook_table(last)] if last else [])])

    def _choose(self, *, is_short: bool = False, html: bool = False) -> tuple[list[Block], list[str]]:
        """The blocks that a form shows, and the sentence that names those that it leaves out."""
        shown = [block for block in self.blocks if (html if block.html else block.is_short or not is_short)]
        return shown, describe_left_out([block.name for block in self.blocks if block.name and block not in shown])


def describe_left_out(names: Sequence[str]) -> list[str]:
    """The sentence that names what a form leaves out; none where it leaves out nothing.

    >>> describe_left_out(["the groups", "the examples that flip"])
    ['Not shown here: the groups and the examples that flip (report.to_html() and --html show all).']
    """
    listed = " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
    return [f"Not shown here: {listed} (report.to_html() and --html show all)."] if names else []


def _write_paragraph(line: str) -> str:
    return f"{escape_markdown(line)}\n"


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
