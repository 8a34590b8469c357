"""Reads which class each validation image of ImageNet-1K has, where they lie in one folder as published."""

from collections.abc import Mapping
from pathlib import Path

from oochub.errors import OochubError

SOLUTION = "LOC_val_solution.csv"
DEVKIT = "ILSVRC2012_devkit_t12"


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
            return _of_solution(folder / SOLUTION)
        if (folder / DEVKIT).is_dir():
            return _of_devkit(folder / DEVKIT / "data")
    raise OochubError(
        f"The validation images in {place} lie in no class folders, so their classes must be looked up. Put "
        f"{SOLUTION} or {DEVKIT}/ beside that folder, or move each image into a folder named like its class."
    )


def _of_solution(file: Path) -> dict[str, str]:
    import pandas as pd

    try:
        table = pd.read_csv(file, usecols=["ImageId", "PredictionString"], dtype=str)
        wnids = table["PredictionString"].str.split().str[0]  # the class of the first box; an image has one class
        return dict(zip(table["ImageId"], wnids, strict=True))
    except (ValueError, OSError) as error:
        raise OochubError(f"{file} is not the solution of the Kaggle challenge ({error}).") from error


def _of_devkit(folder: Path) -> dict[str, str]:
    from scipy.io import loadmat

    try:
        # numbers 1 to 1,000 of the devkit's own order, which is not that of the labels
        numbers = (folder / "ILSVRC2012_validation_ground_truth.txt").read_text("utf-8").split()
        synsets = loadmat(folder / "meta.mat", squeeze_me=True)["synsets"]
        wnids = {str(int(synset["ILSVRC2012_ID"])): str(synset["WNID"]) for synset in synsets}
        return {f"ILSVRC2012_val_{k:08}": wnids[number] for k, number in enumerate(numbers, 1)}
    except (KeyError, ValueError, OSError) as error:
        raise OochubError(
            f"{folder} is not the data folder of ILSVRC2012's devkit: {error}. It holds "
            "ILSVRC2012_validation_ground_truth.txt and meta.mat."
        ) from error
