"""Writes the README of a metric from the docstrings of its file."""

import inspect
import re
import sys
import textwrap

from oochub import catalog
from oochub.errors import OochubError
from oochub.metric import MetricShell, read_facts, read_paragraph

_LABELS = ("Interval", "Limitations", "Source")
_SECTIONS = ("Args", "Returns", "Raises")
_ALIASES = "`references` is accepted for `label`, and `predictions` for what is compared with it. "
_FOLDER = "The same folder is a module of `evaluate`, which also takes batches:"
_SPACE = "A module of `evaluate` in one file, which needs no oochub (Python 3.11 or later) and also takes batches:"
_FUNCTION = "With oochub it is a function of arrays:"
_ONE_PROCESS = "Use one process; with several, gather the predictions first."


def metric_card(name: str, *, space: str | None = None) -> str:
    """The README of a metric's folder, or of its Space on the Hub: front matter and text.

    The committed `eval_modules/metrics/<name>/README.md` are this function's output, held so by a test; `make cards`
    writes them. The file's docstring says what the metric is, with paragraphs "Interval: ...", "Limitations: ..." and
    "Source: ..."; the function's says what it takes, gives and raises, with examples; the examples of `evaluate` are
    those of the file's class.

    Args:
        name: Name of the metric.
        space: The Space that the README is of, user/<name>; None is the folder.

    Raises:
        OochubError: An unknown metric, or a docstring that lacks a part.

    >>> "## Limitations" in metric_card("ece")
    True
    """
    metric = catalog.get("metric", name)
    facts, file = read_facts(metric), sys.modules[metric.__module__]
    shells = [value for value in vars(file).values() if _is_shell(value, file.__name__)]
    lead, sections, examples = _split_docstring(inspect.getdoc(metric) or "")
    shell_examples = _split_docstring(inspect.getdoc(shells[0]) or "")[2] if shells else ""
    labeled = {label: read_paragraph(file.__doc__, label) for label in _LABELS}
    absent = [
        *(f'a paragraph "{label}: ..." in the docstring of the file' for label in _LABELS if not labeled[label]),
        *(f'a section "{title}:" in the docstring of the function' for title in _SECTIONS if title not in sections),
        *(["an example in the docstring of the function"] if not examples else []),
        *(["a class of MetricShell with an example in its docstring"] if not shell_examples else []),
        *(["FACTS"] if facts is None else []),
    ]
    if facts is None or absent:
        raise OochubError(f"The README of the metric {name!r} is made of its file, which lacks {'; '.join(absent)}.")
    blocks = (file.__doc__ or "").strip().split("\n\n")
    description = [block for block in blocks if block.partition(":")[0] not in _LABELS]
    aliases = _ALIASES if "label" in inspect.signature(metric).parameters else ""
    function = f'>>> import oochub\n>>> {name} = oochub.get("metric", "{name}")\n{examples}'
    if space is None:
        parts = [_format_code(function), _FOLDER, _format_code(shell_examples)]
    else:
        parts = [_SPACE, _format_code(_insert_space_name(space, shell_examples)), _FUNCTION, _format_code(function)]
    usage = "\n\n".join(parts)
    return f"""---
title: {facts.title}
sdk: static
license: apache-2.0
tags:
- evaluate
- metric
description: >-
  {catalog.summary("metric", name)}
---

# {facts.title}

## Description

{_fill_blocks([*description, *lead])}

## How to use

{usage}

{_fill_text(aliases + _ONE_PROCESS)}

## Inputs

{_list_items(sections["Args"])}

## Output values

{_fill_text(" ".join(sections["Returns"]))}

{_fill_text(f"95% interval: {labeled['Interval']}")}

## Errors

{_list_items(sections["Raises"])}

## Limitations

{_fill_text(labeled["Limitations"])}

## Citation

{_fill_text(labeled["Source"])}
"""


def _format_code(examples: str) -> str:
    return f"```python\n{examples}\n```"


def _insert_space_name(space: str, examples: str) -> str:
    """The examples of a metric's class, with the Space where they name the folder."""
    lines = [line for line in examples.splitlines() if "importlib.resources" not in line]
    return re.sub(r"evaluate\.load\(.*\)$", f'evaluate.load("{space}")', "\n".join(lines), flags=re.MULTILINE)


def _is_shell(value: object, module: str) -> bool:
    return isinstance(value, type) and issubclass(value, MetricShell) and value.__module__ == module


def _split_docstring(docstring: str) -> tuple[list[str], dict[str, list[str]], str]:
    """The paragraphs after the first line, the items of each section, and the examples."""
    text, prompt, examples = docstring.partition(">>> ")
    lead, *rest = re.split(r"^(\w+):\n", text, flags=re.MULTILINE)
    items = (re.split(r"\n(?=\S)", textwrap.dedent(body).strip()) for body in rest[1::2])
    sections = {title: [" ".join(item.split()) for item in body] for title, body in zip(rest[::2], items, strict=True)}
    return lead.strip().split("\n\n")[1:], sections, prompt + examples.rstrip()


def _fill_blocks(blocks: list[str]) -> str:
    """Paragraphs filled; formulas, which are indented, as they are."""
    return "\n\n".join(block if block.startswith("    ") else _fill_text(" ".join(block.split())) for block in blocks)


def _list_items(items: list[str]) -> str:
    return "\n".join(_fill_text(f"- `{item}".replace(":", "`:", 1), indent=2) for item in items)


def _fill_text(text: str, indent: int = 0) -> str:
    spaces = " " * indent
    return textwrap.fill(text, 120, subsequent_indent=spaces, break_long_words=False, break_on_hyphens=False)
