"""The images that a network in int8 is calibrated on: those that the user names, and none that is scored."""

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import datasets
import numpy as np
from PIL import Image as Pictures

from oochub.errors import OochubError, choose_wording, did_you_mean
from oochub.input import InputBatch
from oochub.models.quantization import CalibrationImages, Inputs

_MOST = 192  # images; a third of them compare the answers
_CHECKED = 3


@dataclass(frozen=True)
class CalibrationRows:
    """Rows to calibrate on, and rows to compare answers on.

    Attributes:
        rows: All of them, in the order in which they were drawn.
        described: Where they are from: "the split train".
    """

    rows: datasets.Dataset
    described: str

    @property
    def digest(self) -> str:
        """A digest of the images, for a cache key."""
        column = self.rows.column_names[0]
        stored = self.rows.cast_column(column, datasets.Image(decode=False))[column]
        each = (hashlib.sha256(image["bytes"] or Path(image["path"]).read_bytes()).digest() for image in stored)
        return hashlib.sha256(b"".join(each)).hexdigest()

    def open(self, read: Callable[..., Iterator[InputBatch]]) -> CalibrationImages:
        """The images as the network reads them.

        Args:
            read: Gives the batches of a Dataset.

        Raises:
            OochubError: An image that cannot be read.
        """
        count = len(self.rows)
        cut = count - count // _CHECKED

        def list_batches(first: int, end: int) -> Iterator[Inputs]:
            return (batch.inputs for batch in read(self.rows.select(range(first, end))))

        both = partial(list_batches, 0, cut), partial(list_batches, cut, count)
        return CalibrationImages(*both, self.described)


def choose_calibration_rows(wanted: object, data: object, scored: Mapping[str, object], column: str) -> CalibrationRows:
    """Draws the rows that int8 is calibrated on, before a model is opened.

    Args:
        wanted: The name of a split, a folder of images, or a Dataset.
        data: The data set, with the splits that are not scored.
        scored: The splits that are scored, by name.
        column: Column of their images.

    Raises:
        OochubError: A split that is scored, no such split or folder, fewer than three images, a Dataset without one
            column of images, an image file that is scored.

    >>> pictures = [Pictures.new("RGB", (4, 4), (k, k, k)) for k in range(8)]
    >>> part = datasets.Dataset.from_dict({"image": pictures}, datasets.Features({"image": datasets.Image()}))
    >>> data = datasets.DatasetDict(train=part, test=part.select([0]))
    >>> choose_calibration_rows("train", data, {"test": data["test"]}, "image").described
    'the split train'
    >>> choose_calibration_rows("test", data, {"test": data["test"]}, "image")
    Traceback (most recent call last):
    oochub.errors.OochubError: calibrate_on="test": this split is scored. Name one that is not: train.
    """
    option = _name_option(wanted)
    if isinstance(wanted, datasets.Dataset):
        rows, described = wanted, f"the {len(wanted)} rows of calibrate_on"
    elif not isinstance(wanted, str | os.PathLike):
        raise OochubError(
            f"{option} takes a split, a folder of images or a datasets.Dataset, got a {type(wanted).__name__}."
        )
    elif isinstance(data, Mapping) and wanted in data:
        if wanted in scored:
            others = ", ".join(name for name in data if name not in scored)
            hint = f"Name one that is not: {others}." if others else "Name a folder of other images."
            raise OochubError(f"{option}: this split is scored. {hint}")
        rows, described = data[wanted], f"the split {wanted}"
    else:
        rows, described = _open_folder(Path(wanted).expanduser(), option, data), f"the folder {Path(wanted).name}"
    images = _find_images(rows, column, option)
    if len(images) < _CHECKED:
        raise OochubError(f"{option}: int8 needs at least {_CHECKED} images, got {len(images)}.")
    drawn = np.random.default_rng(0).permutation(len(images))[:_MOST]
    chosen = CalibrationRows(images.select(drawn), described)
    _check_unscored(chosen.rows, scored, column, option)
    return chosen


def _name_option(wanted: object) -> str:
    value = f'"{wanted}"' if isinstance(wanted, str | os.PathLike) else ""
    return choose_wording(f"calibrate_on={value}", f"--calibrate-on {wanted}")


def _open_folder(folder: Path, option: str, data: object) -> datasets.Dataset:
    """The image files at any depth, in the order of their paths.

    Raises:
        OochubError: No folder, or one without images.
    """
    if not folder.is_dir():
        splits = list(data) if isinstance(data, Mapping) else []
        known = f" (splits: {', '.join(splits)})" if splits else ""
        raise OochubError(
            f"{option} is neither a split of the data{known} nor a folder.{did_you_mean(str(folder), splits)} Name a "
            "split that is not scored, or a folder of images."
        )
    endings = {ending for ending, kind in Pictures.registered_extensions().items() if kind in Pictures.OPEN}
    found = sorted(str(file) for file in folder.rglob("*") if file.suffix.lower() in endings and file.is_file())
    if not found:
        raise OochubError(f"{option}: the folder holds no images.")
    return datasets.Dataset.from_dict({"image": found}, datasets.Features({"image": datasets.Image()}))


def _find_images(rows: object, column: str, option: str) -> datasets.Dataset:
    """The rows with their one column of images alone, under the name of the column that is read.

    Raises:
        OochubError: A stream, no column of images, or several.
    """
    if not isinstance(rows, datasets.Dataset):
        raise OochubError(f"{option}: rows to calibrate on are drawn by number, and a stream has none. Name a folder.")
    images = [name for name, feature in rows.features.items() if isinstance(feature, datasets.Image)]
    if column not in images and len(images) != 1:
        found = f"has {', '.join(images)}" if images else f"has none, only {', '.join(rows.column_names)}"
        raise OochubError(f"{option} must have one column of images, but it {found}.")
    own = column if column in images else images[0]
    only = rows.select_columns([own])
    return only if own == column else only.rename_column(own, column)


def _check_unscored(rows: datasets.Dataset, scored: Mapping[str, object], column: str, option: str) -> None:
    """Refuses files that are scored by their paths, before any image is read; pixels are compared later.

    Raises:
        OochubError: An image file of the rows is one that is scored.
    """
    own = set(_list_paths(rows, rows.column_names[0]))
    for split, part in scored.items():
        both = own.intersection(_list_paths(part, column)) if isinstance(part, datasets.Dataset) else set()
        if both:
            raise OochubError(
                f"{option}: {len(both)} of the images drawn from it are scored in the split {split}, such as "
                f"{Path(min(both)).name}. Name images that are not."
            )


def _list_paths(part: datasets.Dataset, column: str) -> list[str]:
    """The real paths of the image files of a split; none for rows that hold their images."""
    if not isinstance(part.features.get(column), datasets.Image):
        return []
    stored = part.cast_column(column, datasets.Image(decode=False)).select_columns([column]).flatten()
    table = stored.with_format("arrow")[:]
    pairs = zip(table.column(f"{column}.path").to_pylist(), table.column(f"{column}.bytes"), strict=True)
    return [os.path.realpath(path) for path, content in pairs if path and not content.is_valid]
