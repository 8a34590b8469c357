"""The verb `oochub report`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.verbs._options import AsJson, DataDir, Options, done, out_console


def report(
    source: Annotated[
        list[str],
        typer.Argument(help="One or more report.json; for some figures predictions (.parquet), or nooch/all."),
    ],
    html: Annotated[Path | None, typer.Option(help="Write the self-contained page here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown tables here.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")] = None,
    plot: Annotated[
        list[str] | None,
        typer.Option(metavar="KIND=FILE.png", help="Draw a figure here (.png, .pdf, .svg); repeatable."),
    ] = None,
    images: Annotated[bool, typer.Option(help="Pictures of the worst mistakes on the page.")] = True,
    data_dir: DataDir = None,
    option: Options = None,
    as_json: AsJson = False,
) -> None:
    """Turns a report into a page, Markdown or LaTeX, and reports or predictions into figures; else prints the tables.

    `oochub list figure` names the kinds of --plot, beside gap, slices, groups and reliability of one report; an option
    of a figure stands behind its kind: --plot alpha_beta_loss:side=negative=loss.png
    """
    from oochub.errors import OochubError
    from oochub.files import check_writable, written_whole
    from oochub.loading import parse_options
    from oochub.rendering.drawing import Plot, Sources, draw
    from oochub.rendering.tables import terminal

    sources = Sources(names=source, data_dir=data_dir, options=parse_options(option or []))
    plots = [Plot.parse(text, sources) for text in plot or []]
    outputs = {name: path for name, path in (("html", html), ("markdown", markdown), ("latex", latex)) if path}
    for name, path in outputs.items():
        check_writable(path)
        if len(source) > 1:
            raise OochubError(f"--{name} takes exactly one report, got {len(source)}: {', '.join(source)}.")
    if sources.kind != "reports" and (outputs or not plots):
        raise OochubError(
            f"Tables and pages are made of a report, got {source[0]}: run `oochub evaluate PREDICTIONS --out "
            "report.json` first. --plot KIND=FILE.png draws a figure of predictions; `oochub list figure` names them."
        )
    texts = {
        "html": lambda: sources.report.to_html(images=images),
        "markdown": lambda: sources.report.to_markdown(),
        "latex": lambda: sources.report.to_latex(),
    }
    for name, path in outputs.items():
        text = texts[name]()
        with written_whole(path) as draft:
            draft.write_text(text, "utf-8")
    draw(plots, sources)
    if not outputs and not plots and not as_json:
        for loaded in sources.reports:
            out_console.print(terminal(loaded.data))
    written = {name: str(path) for name, path in outputs.items()}
    drawn = [str(plot.path) for plot in plots]
    done(written | ({"plots": drawn} if as_json else {path: path for path in drawn}), as_json)
