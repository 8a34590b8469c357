"""The command `oochub report`."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from oochub import catalog
from oochub.commands._options import MORE, AsJson, out_console, print_result, shown, writes
from oochub.settings.data_settings import DataSettings
from oochub.settings.report_settings import TableSettings
from oochub.storage.artifacts import BROWSER, LATEX, MARKDOWN, PAGE, find_plot_kind
from oochub.storage.files import check_writable

if TYPE_CHECKING:
    import pandas as pd

    from oochub.commands._drawing import Plot, Sources
    from oochub.comparison.comparison import Comparison
    from oochub.report.report import Report

PANEL = "Predict and score"

_KINDS = {"html": PAGE, "markdown": MARKDOWN, "latex": LATEX}


def _writes_figures(plots: list[str] | None) -> list[str] | None:
    for text in plots or []:
        if "=" in text:  # else it is refused for its form
            path = text.rpartition("=")[2]
            check_writable(path, kind=find_plot_kind(path))
    return plots


def _writes_exports(exports: list[str] | None) -> list[str] | None:
    from oochub.commands._drawing import Export

    for text in exports or []:
        Export.parse(text)
    return exports


_Html = Annotated[
    Path | None, typer.Option(callback=writes(PAGE), help="Write a self-contained HTML page to this file.")
]
_Markdown = Annotated[Path | None, typer.Option(callback=writes(MARKDOWN), help="Write Markdown tables here.")]
_Latex = Annotated[Path | None, typer.Option(callback=writes(LATEX), help="Write a LaTeX table to this file.")]
_Plots = Annotated[
    list[str] | None,
    typer.Option(
        callback=_writes_figures,
        metavar="KIND=FILE.png",
        help="Draw a figure to this file (.png, .pdf, .svg), or write its numbers (.csv). Can be repeated.",
    ),
]
_Exports = Annotated[
    list[str] | None,
    typer.Option(
        callback=_writes_exports,
        metavar="NAME=PATH",
        help="Export predictions, or the numbers of a report, for another program, such as fiftyone=FOLDER; see "
        "`oochub list bridge`. Can be repeated.",
    ),
]
_Browse = Annotated[
    Path | None,
    typer.Option(callback=writes(BROWSER), help="Write a browsable page of all rows to this folder."),
]
_Detectors = Annotated[
    list[str] | None,
    typer.Option(help="For figures of detectors: detector to score the predictions with. Can be repeated."),
]
_Reference = Annotated[Path | None, typer.Option(help="Predictions for the training split, to fit detectors.")]
_Embeddings = Annotated[
    list[Path] | None,
    typer.Option(
        rich_help_panel=MORE,
        help="Prediction files whose features define image similarity, one per set. Can be repeated.",
    ),
]
_Predictions = Annotated[
    list[Path] | None,
    typer.Option(
        rich_help_panel=MORE,
        help="For --browse: prediction files behind the report (default: those the report names, in its folder). Can "
        "be repeated.",
    ),
]
_ImagesFrom = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MORE,
        metavar="SOURCE",
        help="For --browse: dataset whose images are shown (default: the benchmark that was predicted).",
    ),
]
_Half = Annotated[
    bool,
    typer.Option(
        "--half",
        rich_help_panel=MORE,
        help="For --browse: show only half of the rows and hold out the rest for `oochub evaluate --rows --unseen`.",
    ),
]
_RowMap = Annotated[
    Literal["pca", "tsne"] | None,
    typer.Option(
        "--map", rich_help_panel=MORE, help="For --browse: add a 2-D map of the rows, based on the stored features."
    ),
]


def report(
    raw: Annotated[DataSettings, shown(only=("data_dir", "options", "image", "label", "config"))],
    printed: TableSettings,
    source: Annotated[
        list[str],
        typer.Argument(
            help="One or more report.json, or the folder of a sweep; for figures also predictions (.parquet), "
            "numbers.csv, nooch/all."
        ),
    ],
    html: _Html = None,
    markdown: _Markdown = None,
    latex: _Latex = None,
    plot: _Plots = None,
    export: _Exports = None,
    browse: _Browse = None,
    detector: _Detectors = None,
    reference: _Reference = None,
    embedding: _Embeddings = None,
    predictions: _Predictions = None,
    images_from: _ImagesFrom = None,
    half: _Half = False,
    row_map: _RowMap = None,
    images: Annotated[bool, typer.Option(rich_help_panel=MORE, help="Show images on the pages.")] = True,
    as_json: AsJson = False,
) -> None:
    """Export a report as HTML, Markdown or LaTeX, and draw figures from reports or predictions.

    `oochub list figure` lists the figures for --plot. Options of a figure follow its name: --plot
    alpha_beta_loss:side=negative=loss.png. Figures of detectors need predictions by one model, one file per set:
    --detector vim --reference train.parquet --plot score_distributions=vim.png. `gallery` shows what a model gets most
    wrong out of context: oochub report erm.parquet --data-dir COCO --plot gallery:than=dro.parquet=g.png

    --browse writes a page with all rows, not only the worst. It has filters, metrics for the filtered rows, and an
    export of their ids.
    """
    from oochub.commands._drawing import Export, Plot, Sources, draw, write_exports
    from oochub.errors import OochubError

    folders = [name for name in source if Path(name).is_dir() and not name.endswith(".parquet")]
    sources = Sources(
        names=_open_folders(source, folders),
        data_dir=raw.data_dir,
        options=raw.options or {},
        detectors=detector or [],
        reference=str(reference) if reference else None,
        embeddings=[str(path) for path in embedding or []],
    )
    plots = [Plot.parse(text, sources) for text in plot or []]
    exports = [Export.parse(text) for text in export or []]
    _check_figures(plots, of_detectors=bool(detector or reference or embedding), is_near=bool(embedding))
    if browse is None and (predictions or images_from or half or row_map):
        raise OochubError("--predictions, --images-from, --half and --map require --browse FOLDER.")
    if browse is not None and (len(source) > 1 or sources.kind not in ("reports", "predictions")):
        raise OochubError(f"--browse takes one report or one file of predictions, got {', '.join(source)}.")
    outputs = {name: path for name, path in (("html", html), ("markdown", markdown), ("latex", latex)) if path}
    for name in outputs:
        if len(source) > 1 and not folders:
            raise OochubError(f"--{name} takes exactly one report, got {len(source)}: {', '.join(source)}.")
    if exports:
        write_exports(exports, sources)
    if sources.kind != "reports" and (outputs or not (plots or exports or browse)):
        raise OochubError(
            f"Tables and pages need a report, got {source[0]}: run `oochub evaluate PREDICTIONS --out report.json` "
            "first. --plot KIND=FILE.png draws a figure from predictions; run `oochub list figure` to list them."
        )
    compared = None
    if folders and (outputs or not (plots or exports or browse)):
        from oochub.comparison.compare import compare

        compared = cast("Comparison", compare(*source))  # folders hold reports
    _write_forms(outputs, sources, printed, compared=compared, images=images)
    if browse is not None:
        write_rows = catalog.find_functions("browse")["browsing"]
        options = {"images": images, "images_from": images_from, "half": half, "row_map": row_map, "data": raw}
        write_rows(source[0], browse, predictions=predictions or (), **options)
        outputs["browse"] = browse / "index.html"
    tables = draw(plots, sources)
    is_printed = not (outputs or plots or exports or as_json)
    if is_printed and compared is not None:
        out_console.print(compared.to_terminal(width=out_console.width, shows_bold=out_console.is_terminal))
    _print_tables(sources.reports if is_printed and compared is None else (), {} if as_json else tables)
    written: dict[str, Any] = {name: str(path) for name, path in outputs.items()}
    drawn = [str(plot.path) for plot in plots]
    written |= {export.bridge.name: str(export.path) for export in exports}
    records = {
        path: table.astype(object).where(table.notna(), None).to_dict("records") for path, table in tables.items()
    }
    more: dict[str, Any] = {"plots": drawn} | ({"numbers": records} if records else {})
    print_result(written | (more if as_json else {path: path for path in drawn}), as_json)


def _check_figures(plots: "Sequence[Plot]", *, of_detectors: bool, is_near: bool) -> None:
    """Refuses options of figures that are not drawn: of those of detectors, and of those of near images."""
    from oochub.errors import OochubError

    if of_detectors and not any(figure.material == "scored_sets" for figure in plots):
        raise OochubError(
            "--detector, --reference and --embedding apply to figures of detectors only, such as --plot "
            "score_distributions=FILE. `oochub evaluate --detector NAME` adds the scores of detectors to a report."
        )
    if is_near and not any("nearest" in figure.beside for figure in plots):
        raise OochubError("--embedding applies to the figures distance_regression and percentile_pictures only.")


def _open_folders(source: Sequence[str], folders: Sequence[str]) -> list[str]:
    """The sources, with the reports in a folder in its place."""
    if not folders:
        return list(source)
    from oochub.comparison.compare import find_reports

    return [path for name in source for path in (map(str, find_reports(Path(name))) if name in folders else [name])]


def _write_forms(
    outputs: Mapping[str, Path],
    sources: "Sources",
    printed: TableSettings,
    *,
    compared: "Comparison | None",
    images: bool,
) -> None:
    """Writes the report, or the comparison of a folder, as page, Markdown and LaTeX, whatever was asked for."""
    from oochub.storage.files import write_whole

    texts = {
        "html": lambda: compared.to_html() if compared else sources.report.to_html(images=images),
        "markdown": lambda: (compared or sources.report).to_markdown(),
        "latex": lambda: (compared or sources.report).to_latex(printed.style),
    }
    for name, path in outputs.items():
        text = texts[name]()
        with write_whole(path, kind=_KINDS[name]) as draft:
            draft.write_text(text, "utf-8")


def _print_tables(reports: "Iterable[Report]", tables: "Mapping[str, pd.DataFrame]") -> None:
    """Prints reports, then the numbers of figures that are written as numbers."""
    from oochub.report.report import frame_table

    for loaded in reports:
        out_console.print(loaded.to_terminal())
    for table in tables.values():
        out_console.print(*frame_table(table).to_terminal())
