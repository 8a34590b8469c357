"""The small image of every row: from the data that were predicted, else those that the predictions keep."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.browsing.sprite_sheets import TILE, SpriteSheets, make_tile, read_stored_tiles
from oochub.errors import OochubError, choose_wording
from oochub.input import BrokenRow
from oochub.prediction.predictions import Predictions
from oochub.process.follow import follow
from oochub.settings.data_settings import DataSettings

if TYPE_CHECKING:
    import datasets

_BATCH = 256


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
    from oochub.data.load import load_columns  # which imports `datasets`

    loaded: Mapping[str, datasets.Dataset] = load_columns(str(source or name), data, in_place=True, guess=("label",))
    if not any("image" in (part.column_names or ()) for part in loaded.values()):
        raise OochubError(
            f"{source or name} has no column of images, only {', '.join(next(iter(loaded.values())).column_names)}. "
            f"Name it with {choose_wording('image=', '--image-column')}, or give "
            f"{choose_wording('images=False', '--no-images')}."
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
    if "thumbnail" in predictions.column_names:
        for number, tile in read_stored_tiles(predictions.rows.column("thumbnail")):
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
        lambda content, where: make_tile(decode(content, where, draft=TILE)),
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
