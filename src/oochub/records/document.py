"""What every result is shown as: a headline, sentences, tables with what is said of them, notes; one loop a form."""

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from oochub.records.report_records import Fact
from oochub.records.table import Table, clean_fields, escape_markdown, make_notebook_table

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, Group, RenderableType
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

    def __post_init__(self) -> None:
        clean_fields(self)

    @property
    def said(self) -> tuple[str, ...]:
        """The sentences that are true."""
        return tuple(filter(None, self.sentences))

    @property
    def is_shown(self) -> bool:
        """False where it is but a name."""
        return bool(self.table or self.said or self.steps or self.below)

    @property
    def heading(self) -> str:
        """Its title, else that of its table."""
        return self.title or (self.table.title if self.table else "")

    def to_terminal(
        self, width: int | None = None, *, is_close: bool = False, apart: bool = False
    ) -> "list[list[RenderableType]]":
        """Its paragraphs for a terminal; a command stands on a line of its own, whole where it is copied.

        Args:
            width: Characters in a line, see `Table.to_terminal`.
            is_close: Whether all of it is one paragraph.
            apart: Whether each part of a table is one.
        """
        from rich.text import Text

        parts: list[RenderableType] = [*self.table.to_terminal(width)] if self.table else []
        head = [*([Text(self.heading, "bold")] if self.heading else []), *map(Text, self.said)]
        first, *others = [[part] for part in parts] if apart and parts else [parts]
        tail: list[RenderableType] = []
        for number, step in enumerate(self.steps, start=1):
            tail += [Text(f"{number}. {step.reason}"), _CommandLine(step.command)]
        tail += map(Text, self.below)
        return [[*head, *first, *tail]] if is_close else list(filter(None, ([*head, *first], *others, tail)))

    def to_markdown(self, *, beside: str = "", bullet: str = "", is_close: bool = False) -> Iterator[str]:
        """Its paragraphs in Markdown, each command fenced.

        Args:
            beside: How the second line of a cell is set, see `Table.to_markdown`.
            bullet: What stands before a sentence below; "" makes paragraphs of them.
            is_close: Whether its sentences stand beside its title.
        """
        heading = f"**{escape_markdown(self.heading)}"
        if is_close and self.heading:
            yield f"{heading}.** {escape_markdown(' '.join(self.said))}"
        else:
            yield from (f"{heading}**",) if self.heading else ()
            yield from map(escape_markdown, self.said)
        yield from (self.table.to_markdown(beside),) if self.table else ()
        for number, step in enumerate(self.steps, start=1):
            fence = "`" * (1 + max([2, *(len(run) for run in re.findall("`+", step.command))]))
            code = (f"{fence}bash", step.command, fence)
            yield f"{number}. {escape_markdown(step.reason)}\n\n" + "\n".join(f"   {line}" for line in code)
        below = [f"{bullet}{escape_markdown(line)}" for line in self.below]
        yield from ["\n".join(below)] * bool(below) if bullet else below

    def to_notebook(self, title: str, *, above: tuple[str, ...] = ()) -> str:
        """Its table as HTML, the steps as rows below it.

        Args:
            title: Stands above it.
            above: Sentences between the title and its own.
        """
        table = self.table or Table(heads=(), rows=())
        steps = [
            (line,)
            for number, (reason, command) in enumerate(self.steps, start=1)
            for line in (f"{number}. {reason}", command)
        ]
        return self.html or make_notebook_table(
            [*table.rows, *steps],
            heads=table.heads,
            title=title,
            sentences=(*filter(None, above), *self.said),
            footnotes=(*table.footnotes, *self.below),
        )


@dataclass(frozen=True, kw_only=True)
class Document:
    r"""A result in words and tables, in the order in which every form shows them.

    Attributes:
        headline: The answer; "" where the surroundings say it.
        rest: What must be said with it.
        sentences: What follows it.
        facts: A list below these; a terminal leaves out the first, which the sentences give in other words.
        blocks: The findings, and the names of those that no form of text shows.
        caveats: How to read the tables; each table of LaTeX has them in its caption.
        notes: What limits the data.
        form: How Markdown sets the headline.
        bullet: What Markdown sets before a sentence below a table; "" makes paragraphs of them.
        apart: Whether a terminal prints a blank line below each part of a table.
        is_close: Whether a finding is one paragraph in a terminal, and its sentences stand beside its title in
            Markdown. What a finding without a title says is then listed below the headline, and one with steps stands
            last in a terminal, above the prompt.
        is_headline_last: Whether a terminal shows the headline and what follows it last.
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
    rest: str = ""
    sentences: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    blocks: tuple[Block, ...] = ()
    caveats: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    form: str = "{}"
    bullet: str = ""
    apart: bool = False
    is_close: bool = False
    is_headline_last: bool = False
    beside: str = ""

    def __post_init__(self) -> None:
        clean_fields(self)

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

        shown, sentences, left_out = self._choose(is_short=True)

        def draw(blocks: Iterable[Block]) -> "list[list[RenderableType]]":
            drawn = (block.to_terminal(width, is_close=self.is_close, apart=self.apart) for block in blocks)
            return [paragraph for paragraphs in drawn for paragraph in paragraphs]

        head: list[RenderableType] = [Text(f"{self.headline} {self.rest}".strip(), "bold")] if self.headline else []
        listed: list[RenderableType] = list(map(Text, [*sentences, *(fact.text for fact in self.facts[1:])]))
        plain, titled, steps = ([block for block in shown if self._place(block) == place] for place in range(3))
        closing: list[RenderableType] = [*map(Text, self.caveats), *(Text(line, "dim") for line in left_out)]
        closing += map(Text, self.notes)
        head += map(Text, self.sentences)
        paragraphs = [[] if self.is_headline_last else head, *draw(plain), listed, *draw(titled)]
        paragraphs += [[*paragraphs.pop(), *closing] if self.is_close and not left_out else closing, *draw(steps)]
        paragraphs += [head] if self.is_headline_last else []
        lines = [line for paragraph in filter(None, paragraphs) for line in (*paragraph, Text())]
        return Group(*(lines if paragraphs[-1] is closing and not closing else lines[:-1]))

    def to_markdown(self) -> str:
        """Every finding in Markdown; ends in a line feed."""
        shown, lines, left_out = self._choose()
        rest = escape_markdown(f" {self.rest}" if self.rest else "")
        listed = [
            f"- {fact.title}: **{escape_markdown(fact.answer)}**{escape_markdown(fact.detail)}" for fact in self.facts
        ]
        listed += (f"- {escape_markdown(sentence)}" for sentence in lines)
        paragraphs = [f"{self.form.format(escape_markdown(self.headline))}{rest}"] if self.headline else []
        paragraphs += map(escape_markdown, self.sentences)
        paragraphs += ["\n".join(listed)] if listed else []
        for block in sorted(shown, key=lambda block: self._place(block) > 0):
            paragraphs += block.to_markdown(beside=self.beside, bullet=self.bullet, is_close=self.is_close)
        notes = list(map(escape_markdown, self.notes))
        paragraphs += map(escape_markdown, (*self.caveats, *left_out))
        paragraphs += ["\n".join(notes)] if self.is_close and notes else notes
        return "\n\n".join(paragraphs).rstrip() + "\n"

    def to_latex(self, *, small: bool = False) -> str:
        r"""Every table in LaTeX, what is said of it as its caption; what is left out is named in a comment.

        Args:
            small: Small type and little room between the columns.

        Returns:
            `table` environments; they need `\usepackage{booktabs}`.
        """
        shown, _, left_out = self._choose()
        tables, texts = 0, []
        for block in shown:
            text = (f"{block.caption or block.heading}.", *block.said, *block.below)
            if block.table is not None:
                first, last = ((), ()) if tables else (self.sentences, self.notes)
                caption = " ".join([text[0], *first, *text[1:], *self.caveats, *last])
                texts.append(block.table.to_latex(caption, small=small, below=self.beside))
                tables += 1
            else:
                texts.append(f"% {' '.join(text)} ".replace("\n", " "))
        return "\n".join([*texts, *(f"% {line}\n" for line in left_out)])

    def to_notebook(self) -> str:
        """The short findings and images as HTML for a notebook; all text is escaped."""
        shown, _, left_out = self._choose(is_short=True, html=True)
        parts: list[str] = []
        for block in shown:
            is_first = self.headline and not parts
            above = (*self.sentences, block.heading) if is_first else ()
            title = f"{self.headline} {self.rest}".strip() if is_first else block.heading
            parts.append(block.to_notebook(title, above=above))
        last = [[line] for line in (*self.caveats, *left_out, *self.notes)]
        return "\n".join([*parts, *([make_notebook_table(last)] if last else [])])

    def _place(self, block: Block) -> int:
        """The place of a finding in a terminal: 0 below the headline, 1 after the list of facts, 2 after all others."""
        return (2 if block.steps else 1 if block.heading else 0) if self.is_close else 0

    def _choose(self, *, is_short: bool = False, html: bool = False) -> tuple[list[Block], list[str], list[str]]:
        """The blocks that a form shows, what is said of the untitled, and the sentence that names those left out."""
        shown = [
            block
            for block in self.blocks
            if (html if block.html else block.is_shown and (block.is_short or not is_short))
        ]
        left_out = [block.name for block in self.blocks if block.name and block not in shown]
        lines: list[str] = []
        if self.is_close:
            lines = [sentence for block in shown if not block.heading for sentence in block.said]
            shown = [block if block.heading else replace(block, sentences=()) for block in shown]
        names = " and ".join(filter(None, (", ".join(left_out[:-1]), *left_out[-1:])))
        return shown, lines, [f"Not shown here: {names} (report.to_html() and --html show all)."] * bool(names)


class DocumentForms:
    """Base class of a result that is one document in each of its forms."""

    _bold: ClassVar[str] = ""
    """What stands in place of bold where it cannot be seen; "" where nothing is bold."""

    def _document(self) -> Document:
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self._document().to_notebook()

    def to_terminal(self, *, width: int = 100, shows_bold: bool = True) -> "Group":
        """What is found for a terminal, as a renderable of rich.

        Args:
            width: Characters in a line; a table wider than it is printed in several, column after column.
            shows_bold: Whether bold can be seen; False writes a word in these cells, as for a pipe or a file.
        """
        document = self._document()
        return (document if shows_bold else document.without_bold(self._bold)).to_terminal(width)

    def to_markdown(self) -> str:
        """What is found in Markdown; ends in a line feed."""
        return self._document().to_markdown()


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
