"""Reads which class each validation image of ImageNet-1K has, where they lie in one folder as published."""

import io
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

from oochub.builders.sources.imagenet import WNID
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.errors import OochubError
from oochub.storage.reading import read_bytes, read_text

SOLUTION = "LOC_val_solution.csv"
DEVKIT = "ILSVRC2012_devkit_t12"
_AGAIN = "Download it again."
_UNREADABLE = (LookupError, ValueError, TypeError, OSError, EOFError, NotImplementedError, OverflowError, MemoryError,
               struct.error, zlib.error)  # fmt: skip


def validation_wnids(place: Path) -> Mapping[str, str]:
    """The wnid of each validation image by its stem, such as "ILSVRC2012_val_00000001".

    Args:
        place: The folder of the validation images. `LOC_val_solution.csv` (of the Kaggle challenge) or
            `ILSVRC2012_devkit_t12/data/` (its ground truth and its `meta.mat`) lies in it or beside it.

    Raises:
        OochubError: Neither lies there, or one is broken.
    """
    for folder in (place.parent, place):
        if (folder / SOLUTION).is_file():
            return _read_solution(folder / SOLUTION)
        if (folder / DEVKIT).is_dir():
            return _read_devkit(folder / DEVKIT / "data")
    raise OochubError(
        f"The validation images in {place} are not in class folders, so their classes must be looked up. Put "
        f"{SOLUTION} or {DEVKIT}/ beside that folder, or move each image into a folder named like its class."
    )


def _read_solution(file: Path) -> dict[str, str]:
    columns = {
        "ImageId": RawColumn(pattern=".+", form="an image"),
        "PredictionString": RawColumn(pattern=rf"\s*{WNID.pattern}(\s.*)?", form="a class and a box"),
    }
    table = RawTable.of_csv(file, columns)
    images, wnids = table["ImageId"], [boxes.split()[0] for boxes in table["PredictionString"]]  # that of its first box
    wnid_of = dict(zip(reversed(images), reversed(wnids), strict=True))
    table.require(
        [wnid_of[image] == wnid for image, wnid in zip(images, wnids, strict=True)],
        lambda row: f"{images[row]} has a second class",
    )
    return wnid_of


def _read_devkit(folder: Path) -> dict[str, str]:
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError

    # numbers 1 to 1,000 of the devkit's own order, which is not that of the labels
    lines = read_text(folder / "ILSVRC2012_validation_ground_truth.txt").strip().splitlines()
    numbers = [line.strip() for line in lines]  # one a line: two in one would move the classes of all that follow
    content = read_bytes(folder / "meta.mat")
    try:
        synsets = loadmat(io.BytesIO(content), squeeze_me=True)["synsets"]
        wnids = {str(int(synset["ILSVRC2012_ID"])): str(synset["WNID"]) for synset in synsets}
        return {f"ILSVRC2012_val_{k:08}": wnids[number] for k, number in enumerate(numbers, 1)}
    except (*_UNREADABLE, MatReadError) as error:
        raise OochubError(
            f"{folder} is not the data folder of ILSVRC2012's devkit: {error}. It holds "
            f"ILSVRC2012_validation_ground_truth.txt and meta.mat. {_AGAIN}"
        ) from error
