"""All rows of a report as a folder of static files: a page that filters, counts, links and exports them, from disk.

A page that is opened from a disk can fetch nothing, so its data are scripts, each of which calls one function of the
page: `data/about.js` says what there is, `data/columns.js` holds what rows are filtered by, `data/rows/00000.js`, ...
the texts of 2,048 rows each, loaded when they are shown, and `sheets/00000.jpg`, ... the images of 64 rows each.
"""

import base64
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from oochub.browsing.filter_columns import RowColumns, make_row_columns
from oochub.browsing.find_rows import ReportRows, find_rows, show_half
from oochub.browsing.page_map import MapWay, PageMap, check_features, make_page_map
from oochub.browsing.row_cards import ROWS_OF_PART, collect_tiles, find_image_data, read_row_texts
from oochub.browsing.sprite_sheets import ACROSS, TILE, SpriteSheets
from oochub.errors import OochubError
from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.evaluation.row_selection import describe_data
from oochub.report import wording
from oochub.report.self_contained_page import render_folder_page
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import BROWSER
from oochub.storage.files import check_writable, lock_target, make_scratch_folder, write_whole_folder

SCRIPTS = ("quantiles", "intervals", "rows", "selection", "grid", "page")
"""The page's scripts in the order in which they are loaded; each is a file of `templates`."""
MOST_ROWS = 1_000_000
_NO_DATA = DataSettings()


def browse(
    source: str | Path,
    out: str | Path,
    *,
    predictions: Sequence[str | Path] = (),
    images: bool = True,
    images_from: str | Path | None = None,
    half: bool = False,
    row_map: MapWay | None = None,
    data: DataSettings = _NO_DATA,
) -> Path:
    """Writes a folder with a page of all rows of a report, whole or not at all.

    Args:
        source: A report.json; or predictions, whose report is taken from beside them or made.
        out: The folder.
        predictions: The files that the report was made of; none takes those that it names, beside it.
        images: False leaves all images out, for data that may not be passed on.
        images_from: The data that were predicted, as `oochub.load` takes them, whose images are shown. None takes the
            benchmark of the predictions, if its raw folder is given or stands in $OOCHUB_DATA, else the images of the
            worst mistakes that the predictions keep.
        half: Show one half of the rows and keep the other back, for a test of what is found (`oochub evaluate --rows
            ids.txt --unseen`). The page of the report in the folder is then of the shown half.
        row_map: Add a map of the rows by their features, "pca" or "tsne"; see `oochub.browsing.page_map`.
        data: The place of these data, and which column has the images.

    Returns:
        The folder; `index.html` in it is the page, `report.html` that of the report.

    Raises:
        OochubError: What `find_rows`, `find_image_data` and `make_row_map` refuse, more than a million rows, or a
            folder that cannot be written.
    """
    target = check_writable(out, kind=BROWSER)
    source_rows = find_rows(source, predictions)
    if half:
        source_rows = show_half(source_rows)
    rows = source_rows.evaluated.predictions
    if len(rows) > MOST_ROWS:
        raise OochubError(
            f"{len(rows):,} rows are too many for one page, which shows at most {MOST_ROWS:,}. Take some of them: "
            "Predictions.load(FILE).select(mask).save(NEW)."
        )
    if row_map is not None:
        check_features(rows)
    loaded = find_image_data(rows, images_from, data) if images else None
    columns = make_row_columns(source_rows.evaluated)
    drawn = None if row_map is None else make_page_map(source_rows.evaluated, columns, row_map)
    columns = columns if drawn is None else drawn.columns
    scripts = (*SCRIPTS[:-1], *([] if drawn is None else ["map"]), SCRIPTS[-1])
    with lock_target(target), write_whole_folder(target, kind=BROWSER) as draft:
        for name in ("page", "data/rows", "sheets"):
            (draft / name).mkdir(parents=True)
        sizes, missing = None, "Images are left out."
        if images:
            with make_scratch_folder() as scratch:
                sheets = SpriteSheets(scratch, len(rows))
                try:
                    missing = collect_tiles(rows, loaded, sheets)
                    sizes = sheets.write(draft / "sheets", columns.order) if sheets.has_tile.any() else None
                finally:
                    sheets.close()
        if sizes is None and images and _has_text(source_rows.evaluated):
            missing = ""  # they are no images
        _write_data(draft / "data", source_rows, columns, sizes, missing, drawn, half=half)
        for name in scripts:
            shutil.copyfile(Path(__file__).parent / "templates" / f"{name}.js", draft / "page" / f"{name}.js")
        (draft / "report.html").write_text(source_rows.report.to_html(images=images, rows="index.html"), "utf-8")
        (draft / "index.html").write_text(_render_page(source_rows, scripts), "utf-8")
    return target


def _write_data(
    folder: Path,
    found: ReportRows,
    columns: RowColumns,
    sizes: NDArray[np.uint8] | None,
    missing: str,
    drawn: PageMap | None,
    *,
    half: bool,
) -> None:
    """Writes the scripts that hold what there is to see."""
    arrays: dict[str, NDArray[np.generic]] = {f"field {field.name}": field.codes for field in columns.fields}
    arrays |= dict(columns.numbers)
    if drawn is not None:
        arrays |= dict(drawn.places)
    if columns.cluster is not None:
        arrays["cluster"] = columns.cluster
    if sizes is not None:
        arrays |= {"tile width": sizes[:, 0], "tile height": sizes[:, 1]}
    about = _describe(found, columns, missing) | {
        "dataName": describe_data(found.evaluated.predictions),
        "lookedAt": "half" if half else "all",
        "map": None if drawn is None else dict(drawn.about),
        "columns": {name: f"{values.dtype.kind}{values.dtype.itemsize}" for name, values in arrays.items()},
    }
    _write_call(folder / "about.js", "about", about)
    encoded = {name: base64.b64encode(values.tobytes()).decode() for name, values in arrays.items()}
    _write_call(folder / "columns.js", "columns", encoded)
    for number, part in enumerate(read_row_texts(found.evaluated, columns.order)):
        _write_call(folder / "rows" / f"{number:05}.js", "part", number, part)


def _describe(found: ReportRows, columns: RowColumns, missing: str) -> dict[str, object]:
    report, evaluated = found.report, found.evaluated
    return {
        "version": 1,
        "rows": len(columns.order),
        "rowsOfPart": ROWS_OF_PART,
        "sheet": {"tile": TILE, "across": ACROSS},
        "missingImages": missing,
        "hasText": _has_text(evaluated),
        "splits": len(evaluated.predictions.metadata.rows),
        "madeOf": {
            "model": wording.name_model(report.model),
            "data": f"{wording.name(report.benchmark.name)}/{wording.name(report.benchmark.config)}",
            "predictions": report.provenance.predictions.sha256,
        },
        "fields": [{name: value for name, value in vars(field).items() if name != "codes"} for field in columns.fields],
        "numbers": list(columns.numbers),
        "measures": [
            {
                "name": measure.name,
                "title": measure.title,
                "unit": measure.unit,
                "form": measure.form,
                "column": measure.column,
                "within": [None if np.isinf(end) else end for end in measure.within],
            }
            for measure in columns.measures
        ],
        "clusters": None if columns.cluster is None else wording.name(str(evaluated.benchmark.cluster)),
    }


def _has_text(evaluated: EvaluationRows) -> bool:
    rows, output = evaluated.predictions, evaluated.predictions.output
    names = {"text", "thumbnail_text", output.text_column} - {""}
    return bool(names & set(rows.column_names)) or output.line(evaluated.columns, 0, ()) is not None


def _write_call(path: Path, function: str, *values: object) -> None:
    """A script that calls one function of the page with what JSON says, in ASCII."""
    written = ",".join(json.dumps(value, separators=(",", ":"), allow_nan=False) for value in values)
    path.write_text(f"oochubBrowse.{function}({written});\n", "ascii")


def _render_page(found: ReportRows, scripts: Sequence[str]) -> str:
    report = found.report
    return render_folder_page(
        "browse.html.jinja",
        own="browse",
        report=report,
        rows=len(found.evaluated.predictions),
        scripts=[Markup(f"page/{name}.js") for name in scripts],  # noqa: S704  ours
    )
