"""Every form of a document: each sentence, table, step and note is in it, or it names what it leaves out."""

import io
import re
from dataclasses import replace

import pytest
from parsed_page import ParsedPage
from rich.console import Console

from oochub.records.document import Block, Document, NextStep
from oochub.records.report_records import Fact
from oochub.records.table import Table


def table(name: str, **more: object) -> Table:
    heads, rows = ("Slice", f"{name} value"), ((f"{name} row", f"{name} cell\n{name} interval"),)
    return Table(title=f"{name} title", heads=heads, rows=rows, footnotes=(f"{name} footnote.",), **more)


BLOCKS = (
    Block(table=table("first", bold=frozenset({(0, 1)})), below=("Bold: the first is below.",), name="the first"),
    Block(table=table("long"), is_short=False, name="the long one"),
    Block(title="Titled", sentences=("A finding.", ""), table=table("second"), below=("The second is below.",)),
    Block(title="Steps", sentences=("Do this.",), steps=(NextStep("A reason.", "oochub audit a --b c"),)),
    Block(name="images", html="<img alt='an image'>"),
    Block(name="what has no text"),
)
DOCUMENT = Document(
    headline="A headline.",
    rest="The rest.",
    sentences=("A sentence.",),
    facts=(Fact("Why", "no answer here", "."), Fact("How", "an answer", " with a detail.")),
    blocks=BLOCKS,
    caveats=("Bold: a caveat.",),
    notes=("Note: a note.",),
)
CLOSE = replace(DOCUMENT, is_close=True)
LAYOUTS = {
    "plain": DOCUMENT,
    "close": CLOSE,
    "apart": replace(DOCUMENT, apart=True),
    "headline last": replace(DOCUMENT, is_headline_last=True),
    "bullets": replace(DOCUMENT, bullet="- ", form="## {}", beside=" {}"),
}


def terminal(document: Document, width: int = 100) -> str:
    stream = io.StringIO()
    Console(file=stream, width=width).print(document.to_terminal(width))
    return stream.getvalue()


def forms(document: Document) -> dict[str, str]:
    return {
        "terminal": terminal(document),
        "markdown": document.to_markdown(),
        "latex": document.to_latex(),
        "notebook": "\n".join(ParsedPage(document.to_notebook()).words.splitlines()),
    }


SAID = {
    "terminal": ("A headline. The rest.", "A sentence.", "an answer with a detail.", "1. A reason.", "audit a --b c"),
    "markdown": ("A headline.", "The rest.", "A sentence.", "**an answer** with a detail.", "1. A reason.", "audit a"),
    "latex": ("A sentence.",),
    "notebook": ("A headline. The rest.", "A sentence.", "1. A reason.", "oochub audit a --b c"),
}
EVERYWHERE = ("first row", "first cell", "first interval", "first footnote.", "the first is below.", "A finding.",
              "second cell", "The second is below.", "Do this.", "a caveat.", "Note: a note.")  # fmt: skip


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_form_has_all_that_is_said(name):
    """Planted faults seen: notes that LaTeX drops, sentences below a table that a notebook drops."""
    for form, text in forms(LAYOUTS[name]).items():
        missing = [each for each in (*SAID[form], *EVERYWHERE) if each not in text]
        assert not missing, (form, missing)


def test_a_form_names_what_it_leaves_out():
    """Planted fault seen: a block that is too long for a terminal, and is not named."""
    left_out = {
        "terminal": ("the long one", "images", "what has no text"),
        "markdown": ("images", "what has no text"),
        "latex": ("images", "what has no text"),
        "notebook": ("the long one", "what has no text"),
    }
    for form, text in forms(DOCUMENT).items():
        *names, last = left_out[form]
        assert f"Not shown here: {', '.join(names)} and {last} (report.to" in text, form
        assert ("long cell" in text) == ("the long one" not in left_out[form]), form
    assert "<img alt='an image'>" in DOCUMENT.to_notebook()
    assert "Not shown" not in "".join(forms(replace(DOCUMENT, blocks=(BLOCKS[0], BLOCKS[2]))).values())


def test_the_order_in_a_terminal_and_in_markdown():
    """By hand. Steps and a headline that is last stand above the prompt; a list stands below the summary's tables."""
    last = terminal(replace(DOCUMENT, is_headline_last=True)).splitlines()
    assert [line.strip() for line in last[-2:]] == ["A headline. The rest.", "A sentence."]
    close = terminal(CLOSE)
    order = ("A headline.", "A sentence.", "How: an answer", "Titled", "Not shown here", "Note: a note.", "Steps")
    assert [close.index(each) for each in order] == sorted(close.index(each) for each in order)
    assert close.rstrip().endswith("oochub audit a --b c") and "Why" not in close
    lines = CLOSE.to_markdown().splitlines()
    assert lines[:6] == ["A headline. The rest.", "", "A sentence.", "", "- Why: **no answer here**.",
                         "- How: **an answer** with a detail."]  # fmt: skip
    assert "**Titled.** A finding." in lines and "**Titled**" in DOCUMENT.to_markdown().splitlines()


def test_a_word_stands_for_bold_where_it_cannot_be_seen():
    text = terminal(DOCUMENT.without_bold("best"))
    assert "best first cell" in text and '"best": the first is below.' in text and '"best": a caveat.' in text
    assert "Bold" not in text and "best" not in terminal(DOCUMENT)


def test_names_are_plain_text_in_every_form():
    """Planted fault seen: a title that Markdown takes for markup."""
    evil = "a|b <i>_*`[x](https://evil.example) [bold red]"
    hostile = Block(title=evil, sentences=(evil,), table=Table(heads=("a", evil), rows=((evil, evil),)), below=(evil,))
    document = Document(headline=evil, sentences=(evil,), blocks=(hostile,), caveats=(evil,), notes=(evil,))
    assert "[bold red]" in terminal(document, 1000)
    for each in (document, replace(document, is_close=True)):
        markdown = each.to_markdown()
        assert "<i>" not in markdown and not re.search(r"(?<!\\)\]\(", markdown)
        assert {len(re.findall(r"(?<!\\)\|", line)) for line in markdown.splitlines() if line.startswith("|")} == {3}
    assert "<i>" not in document.to_notebook() and not re.search(r"(?<!\\)[&_]x", document.to_latex())


def test_a_long_command_goes_on_behind_a_backslash_and_is_whole_in_a_pipe():
    command = "oochub audit model data --contexts clusters --context-model clip --out folder"
    document = Document(blocks=(Block(title="Next", steps=(NextStep("Why.", command),)),))
    stream = io.StringIO()
    Console(file=stream, width=40, force_terminal=True, color_system=None).print(document.to_terminal())
    shown = [line.rstrip() for line in stream.getvalue().strip().splitlines()[3:]]
    assert all(line.endswith("\\") for line in shown[:-1]) and len(shown) > 2
    assert " ".join(" ".join(line.removesuffix("\\") for line in shown).split()) == command
    assert command in terminal(document, 200)


def test_an_empty_document_is_empty():
    assert Document().to_markdown() == "\n" and not Document().to_latex() and not Document().to_notebook()
