"""The command `oochub compare`."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.settings.report_settings import ComparisonSettings, TableSettings
from oochub.storage.artifacts import CSV, LATEX, MARKDOWN, PAGE

PANEL = "Audit a model"

_KINDS = {"html": PAGE, "markdown": MARKDOWN, "latex": LATEX, "csv": CSV}


def compare(
    sources: Annotated[
        list[Path],
        typer.Argument(help="Reports, folders of reports, or .parquet prediction files for the same examples."),
    ],
    asked: ComparisonSettings,
    printed: TableSettings,
    html: Annotated[
        Path | None, typer.Option(callback=writes(PAGE), help="Write a self-contained HTML page to this file.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(callback=writes(MARKDOWN), help="Write Markdown tables to this file.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(callback=writes(LATEX), help="Write LaTeX tables to this file.")] = None,
    csv: Annotated[Path | None, typer.Option(callback=writes(CSV), help="Write every number to this CSV file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Compare reports side by side, or compare predictions on the same examples with paired tests.

    For three or more prediction files, it tests every pair and gives each model the range of ranks that the tests
    support. For two prediction files A and B, it reports B minus A on every slice and group, the difference between
    their gaps, and the examples that only one of them gets right.
    """
    import oochub
    from oochub.comparison.comparison import Comparison
    from oochub.storage.files import write_whole

    outputs = {
        name: path
        for name, path in (("html", html), ("markdown", markdown), ("latex", latex), ("csv", csv))
        if path is not None
    }
    compared = oochub.compare(*sources, **asked.given())
    numbers: dict[str, Any] = {}
    if as_json:
        if isinstance(compared, Comparison):
            numbers = {"numbers": json.loads(compared.to_frame().to_json(orient="records"))}
            if pairs := compared.list_pairs():
                numbers["pairs"] = [{k: None if v != v else v for k, v in pair.items()} for pair in pairs]
        else:
            numbers = {"comparison": compared.to_json()}
    texts = {
        "html": lambda: compared.to_html(),
        "markdown": lambda: compared.to_markdown(),
        "latex": lambda: compared.to_latex(printed.style),
        "csv": lambda: compared.to_csv(),
    }
    for name, path in outputs.items():
        text = texts[name]()
        with write_whole(path, kind=_KINDS[name]) as draft:
            draft.write_text(text, "utf-8")
    if not as_json:
        out_console.print(compared.to_terminal(width=out_console.width, shows_bold=out_console.is_terminal))
    print_result({name: str(path) for name, path in outputs.items()} | numbers, as_json)
