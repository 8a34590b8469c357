"""The command `oochub wilds tables`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.storage.artifacts import CSV, LATEX, MARKDOWN, PAGE, FileKind


def tables(
    sources: Annotated[list[Path], typer.Argument(help="Reports for wilds, or folders of them, such as a sweep's.")],
    html: Annotated[
        Path | None, typer.Option(callback=writes(PAGE), help="Write the self-contained page here.")
    ] = None,
    markdown: Annotated[Path | None, typer.Option(callback=writes(MARKDOWN), help="Write both tables here.")] = None,
    latex: Annotated[Path | None, typer.Option(callback=writes(LATEX), help="Write LaTeX tables here.")] = None,
    csv: Annotated[Path | None, typer.Option(callback=writes(CSV), help="Write every number here.")] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Use this many replicates, fewer than the paper's; the tables say so.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Makes Tables 1 and 2 of WILDS from reports, beside the paper's numbers."""
    import pandas as pd

    from oochub.comparison.compare import compare_files
    from oochub.comparison.comparison_page import make_tables_page
    from oochub.errors import OochubError
    from oochub.records.document import Document
    from oochub.report.report import Report
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole
    from oochub.studies.wilds.result_tables import result_tables

    given = compare_files(sources)
    if given.predictions:
        raise OochubError(
            "The tables are made from reports, got predictions. `oochub evaluate` makes a report from them."
        )
    reports = [each if isinstance(each, Report) else Report.load(each) for each in given.reports]
    tables = result_tables(reports, partial=partial)
    document = Document(blocks=tables)
    numbers = pd.DataFrame([record for block in tables if block.table for record in block.table.records])
    texts: dict[str, tuple[Path | None, FileKind, Callable[[], str]]] = {
        "html": (html, PAGE, lambda: make_tables_page("WILDS, Tables 1 and 2", reports, tables)),
        "markdown": (markdown, MARKDOWN, document.to_markdown),
        "latex": (latex, LATEX, lambda: document.to_latex(small=True)),
        "csv": (csv, CSV, lambda: format_csv(numbers)),
    }
    written = {}
    for name, (path, kind, text) in texts.items():
        if path is not None:
            with write_whole(path, kind=kind) as draft:
                draft.write_text(text(), "utf-8")
            written[name] = str(path)
    if not as_json:
        out_console.print(document.to_terminal(max(80, out_console.width)))
    print_result(written, as_json)
