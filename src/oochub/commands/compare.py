"""The command `oochub compare`."""

import json
from pathlib import Path
from typing import Annotated

import typer

from oochub.artifacts import CSV, LATEX, MARKDOWN
from oochub.commands._options import AsJson, done, out_console, writes

_KINDS = {"markdown": MARKDOWN, "latex": LATEX, "csv": CSV}


def compare(
    reports: Annotated[list[Path], typer.Argument(help="Files of `oochub evaluate`: tasks, methods, seeds.")],
    metric: Annotated[list[str] | None, typer.Option(help="Repeatable, a table each; default the primary.")] = None,
    slice: Annotated[str | None, typer.Option(help="Such as hard, easy, all; default out of context.")] = None,
    reported: Annotated[bool, typer.Option("--reported", help="Add the paper's numbers as columns.")] = False,
    markdown: Annotated[
        Path | None, typer.Option(callback=writes(MARKDOWN), help="Write Markdown tables here.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(callback=writes(LATEX), help="Write LaTeX tables here.")] = None,
    csv: Annotated[Path | None, typer.Option(callback=writes(CSV), help="Write every number here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Sets reports side by side: tasks by methods, mean and spread over seeds, bold where they overlap the best."""
    from oochub.files import written_whole
    from oochub.report.comparison import comparison

    outputs = {name: path for name, path in (("markdown", markdown), ("latex", latex), ("csv", csv)) if path}
    table = comparison(reports, metric=metric or None, slice=slice, reported=reported)
    texts = {"markdown": table.to_markdown, "latex": table.to_latex, "csv": table.to_csv}
    for name, path in outputs.items():
        with written_whole(path, kind=_KINDS[name]) as draft:
            draft.write_text(texts[name](), "utf-8")
    if not as_json:
        out_console.print(table.to_terminal(width=out_console.width))
    numbers = {"numbers": json.loads(table.to_frame().to_json(orient="records"))} if as_json else {}
    done({name: str(path) for name, path in outputs.items()} | numbers, as_json)
