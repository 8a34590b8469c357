"""The command `oochub wilds tables`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.storage.artifacts import CSV, LATEX, MARKDOWN, PAGE, FileKind


def tables(
    sources: Annotated[
        list[Path], typer.Argument(help="WILDS reports, or folders of reports, such as the output of a sweep.")
    ],
    html: Annotated[
        Path | None, typer.Option(callback=writes(PAGE), help="Write a self-contained HTML page to this file.")
    ] = None,
    markdown: Annotated[
        Path | None, typer.Option(callback=writes(MARKDOWN), help="Write both tables to this Markdown file.")
    ] = None,
    latex: Annotated[Path | None, typer.Option(callback=writes(LATEX), help="Write LaTeX tables here.")] = None,
    csv: Annotated[Path | None, typer.Option(callback=writes(CSV), help="Write every number here.")] = None,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial", help="Allow this many replicates, fewer than in the paper; the tables state the number."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Reproduce Tables 1 and 2 of WILDS from reports, next to the paper's numbers."""
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
    reports = [report if isinstance(report, Report) else Report.load(report) for report in given.reports]
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
