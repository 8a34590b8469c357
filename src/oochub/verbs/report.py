"""The verb `oochub report`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.verbs._options import AsJson, done, out_console


def report(
    report: Annotated[Path, typer.Argument(help="A report.json of `oochub evaluate`.")],
    html: Annotated[Path | None, typer.Option(help="Write the self-contained page here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown tables here.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")] = None,
    images: Annotated[bool, typer.Option(help="Pictures of the worst mistakes on the page.")] = True,
    as_json: AsJson = False,
) -> None:
    """Turns a report into a page, Markdown or LaTeX; without an output it prints the tables."""
    from oochub.files import check_writable, written_whole
    from oochub.report import Report
    from oochub.tables import terminal

    outputs = {name: path for name, path in (("html", html), ("markdown", markdown), ("latex", latex)) if path}
    for path in outputs.values():
        check_writable(path)
    loaded = Report.load(report)
    texts = {
        "html": lambda: loaded.to_html(images=images),
        "markdown": loaded.to_markdown,
        "latex": loaded.to_latex,
    }
    for name, path in outputs.items():
        text = texts[name]()
        with written_whole(path) as draft:
            draft.write_text(text, "utf-8")
    if not outputs and not as_json:
        out_console.print(terminal(loaded.data))
    done({name: str(path) for name, path in outputs.items()}, as_json)
