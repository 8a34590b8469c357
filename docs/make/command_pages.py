"""The pages of the reference of the command line: what `oochub COMMAND --help` says, as a page for each command."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from oochub.app import every_command


def command_pages() -> dict[str, str]:
    """The Markdown of each command's page, by the command's full name, in the order that `oochub --help` has."""
    return {name: "\n".join(_lines(name, command)) for name, command in every_command().items()}


def command_path(name: str) -> str:
    """The page of a command from the top of the site: commands/audit.md, commands/nooch/verify.md."""
    return f"commands/{name.replace(' ', '/')}.md"


def command_panel(name: str) -> str:
    """The panel of `oochub --help` that a command stands in; of a paper's the paper."""
    return name.rpartition(" ")[0] or str(every_command()[name].rich_help_panel)


def _lines(name: str, command: Any) -> Iterator[str]:
    """The lines of one page: what the command does, how it is written, each argument and option."""
    context = typer.Context(command, info_name=f"oochub {name}", help_option_names=["-h", "--help"])
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield from (f"# oochub {name}", "", literal(" ".join((command.help or "").split())), "")
    yield from ("```text", usage, "```", "")
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        records = [one.get_help_record(context) for one in command.params if one.param_type_name == kind]
        if any(records):
            yield from (f"## {title}", "")
        for written, words in filter(None, records):
            word = re.split(r"[ ,]", written)[0]  # a heading of its own, so that it is found and can be linked to
            yield from (f'### `{written}` {{ #{word.strip("-")} data-toc-label="{word}" }}', "")
            yield from (literal(" ".join(words.split())), "")


def literal(text: str) -> str:
    """Words of the terminal as Markdown that shows them letter by letter, what stands in backticks as code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else _escape(part) for part in parts)


def _escape(text: str) -> str:
    r"""Markdown knows no escape of < and |: these are written as HTML writes them.

    >>> _escape("a_b <c>")
    'a\\_b &lt;c\\>'
    """
    escaped = re.sub(r"([\\*_{}\[\]>#])", r"\\\1", text)
    return escaped.replace("<", "&lt;").replace("|", "&#124;")
