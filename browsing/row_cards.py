"""What the card of a row shows besides its columns: its small image, id, text, what the model wrote, its origin.

Images come from the data that were predicted, else from those that the predictions keep.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.browsing.sprite_sheets import DRAFT, SpriteSheets, make_tile, read_stored_tiles
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluation_rows import EvaluationRows, find_attribution
from oochub.input import BrokenRow
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow
from oochub.records.metadata import THUMBNAIL
from oochub.report import wording
from oochub.settings.data_settings import DataSettings

if TYPE_CHECKING:
    import datasets

_BATCH = 256


ROWS_OF_PART = 2048
_LONGEST_TEXT = 400
_SOURCE = ("source_url", "license")


def find_image_data(
    predictions: Predictions, source: str | Path | None, data: DataSettings
) -> "Mapping[str, datasets.Dataset] | None":
    """The splits that hold the images of the rows; None where nothing says where they are.

    Args:
        predictions: The rows.
        source: Data as `oochub.load` takes them; None takes the benchmark of the predictions, if its raw folder is
            given or stands in $OOCHUB_DATA.
        data: The place of the data, and which column has the images.

    Raises:
        OochubError: Data that cannot be loaded, that have no images, or whose folder was named and is not there.
    """
    metadata = predictions.metadata
    name = None if metadata.benchmark is None else f"{metadata.benchmark}/{metadata.task_of or metadata.config}"
    if source is None:
        is_known = metadata.benchmark in catalog.names("benchmark")
        if not is_known or (data.data_dir is None and not os.environ.get("OOCHUB_DATA")):
            return None
        declared = catalog.get("benchmark", str(metadata.benchmark)).of(str(metadata.config))
        if declared.input != "pictures":
            return None
        try:
            find_data_folder(declared, data.data_dir)
        except OochubError:
            if data.data_dir is not None:
                raise
            return None
    from oochub.data.load import open_data  # which imports `datasets`

    loaded = open_data(str(source or name), data, in_place=True, guess=("label",)).splits
    if not any("image" in (part.column_names or ()) for part in loaded.values()):
        raise OochubError(
            f"{source or name} has no column of images, only {', '.join(next(iter(loaded.values())).column_names)}. "
            f"Pass it with {choose_wording('image=', '--image-column')}, or give {choose_wording('images=False')}."
        )
    return loaded


def collect_tiles(
    predictions: Predictions, loaded: "Mapping[str, datasets.Dataset] | None", sheets: SpriteSheets
) -> str:
    """Keeps the tile of every row that has an image.

    Args:
        predictions: The rows.
        loaded: The splits that hold the images; None takes the small images that the predictions keep.
        sheets: Takes the tiles.

    Returns:
        What a reader should know of the rows that have none; "" if all have one.

    Raises:
        OochubError: No row of the data is one of the predictions.
    """
    for split, part in (loaded or {}).items():
        _collect_from_split(predictions, split, part, sheets)
    if loaded and not sheets.has_tile.any():
        raise OochubError(
            "No row of these data with an image is in the predictions: splits and example_id agree nowhere. Name the "
            "data that were predicted, with the same options."
        )
    if THUMBNAIL in predictions.column_names:
        for number, tile in read_stored_tiles(predictions.rows.blocks([THUMBNAIL])):
            sheets.add(number, tile)
    return _describe_missing(int((~sheets.has_tile).sum()), len(predictions), is_loaded=loaded is not None)


def _collect_from_split(predictions: Predictions, split: str, part: "datasets.Dataset", sheets: SpriteSheets) -> None:
    from oochub.inputs.pictures.image_threads import map_images
    from oochub.inputs.pictures.preprocessing import decode

    own = np.flatnonzero(predictions.split == split)
    if not len(own) or not {"image", "example_id"} <= set(part.column_names or ()):
        return
    ids = predictions.rows.column("example_id").take(own).to_pylist()
    place = {str(name): int(row) for name, row in zip(ids, own, strict=True)}
    there = [k for k, name in enumerate(part["example_id"][:]) if str(name) in place]
    if not there:
        return
    some = part if len(there) == len(part) else part.select(there)
    broken: list[BrokenRow] = []
    images = map_images(
        some.select_columns(["example_id", "image"]),
        lambda content, where: make_tile(decode(content, where, draft=DRAFT)),
        batch_size=_BATCH,
        broken=broken,
    )
    with follow(total=len(there), desc=f"Images of {split}", unit="image", disable=None) as progress:
        for batch in images:
            for name, tile in zip(batch.columns["example_id"], batch.made, strict=True):
                sheets.add(place[str(name)], tile)
            progress.update(len(batch.made))


def _describe_missing(missing: int, rows: int, *, is_loaded: bool) -> str:
    if not missing:
        return ""
    if is_loaded:
        return f"{missing:,} of {rows:,} rows have no image in the data, or one that cannot be read."
    if missing == rows:
        return (
            "There are no images: the predictions keep none, and no data were named. "
            "oochub report --browse with --images-from SOURCE shows them."
        )
    return (
        f"{rows - missing:,} of {rows:,} rows have an image, those that the predictions keep of the worst mistakes. "
        "oochub report --browse with --images-from SOURCE shows all."
    )


def read_row_texts(evaluated: EvaluationRows, order: NDArray[np.int64]) -> Iterator[dict[str, list[str]]]:
    """The texts of all rows in parts of `ROWS_OF_PART` rows: for each part a list for each kind of text.

    `id` is the example's id as it is, for exports; every other text is cleaned and cut. A kind that no row of a part
    has is left out.

    Args:
        evaluated: The rows.
        order: Numbers of the rows in the order in which they are shown.

    >>> from oochub.data.declaration import find_declaration
    >>> from oochub.evaluation.evaluation_rows import make_evaluation_rows
    >>> from oochub.prediction.predictions import Predictions
    >>> rows = Predictions.from_arrays(value=[0.4, -1.0], label=[0.5, -2.0], example_id=["a", "b"])
    >>> next(read_row_texts(make_evaluation_rows(rows, find_declaration(rows))[0], np.array([1, 0])))
    {'id': ['b', 'a'], 'label': ['-2', '0.5'], 'answered': ['-1', '0.4']}
    """
    predictions, output = evaluated.predictions, evaluated.predictions.output
    light = predictions.rows.light
    wanted = ["text", "thumbnail_text", output.text_column, *_SOURCE]
    stored = [name for name in dict.fromkeys(wanted) if name in predictions.column_names]
    columns = {name: (light if name in light.column_names else predictions.rows).column(name) for name in stored}
    ids = predictions.rows.column("example_id")
    in_words = not output.one_answer or output.asks_each_row(predictions)
    for start in range(0, len(order), ROWS_OF_PART):
        rows = order[start : start + ROWS_OF_PART]
        part: dict[str, list[str]] = {"id": [str(name) for name in ids.take(rows).to_pylist()]}
        if in_words:
            answers = [output.answer(evaluated.columns, row, predictions.class_names) for row in rows.tolist()]
            part["label"] = [_shorten(answer.label) for answer in answers]
            part["answered"] = [_shorten(answer.predicted) for answer in answers]
        values = [column.take(rows).to_pylist() for column in columns.values()]
        records = [dict(zip(stored, row, strict=True)) for row in zip(*values, strict=True)]
        lines = [output.line(evaluated.columns, row, ()) for row in rows.tolist()] if in_words else []
        part["text"] = [_find_text(records, lines, place) for place in range(len(rows))]
        part["wrote"] = [_shorten(record.get(output.text_column)) for record in records]
        part["source"] = [_shorten(find_attribution(record)) for record in records]
        yield {name: texts for name, texts in part.items() if any(texts)}


def _find_text(records: Sequence[Mapping[str, object]], lines: Sequence[str | None], place: int) -> str:
    record = records[place] if records else {}
    return _shorten(record.get("text") or record.get("thumbnail_text") or (lines[place] if lines else None))


def _shorten(text: object) -> str:
    return "" if text is None else wording.name(" ".join(str(text).split()), _LONGEST_TEXT)
