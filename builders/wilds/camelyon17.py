"""Camelyon17-WILDS: whether a patch of a lymph node shows a tumor, at hospitals that are not in training."""

from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.records.sides import Rows, Vocabulary

_SPLITS = ("train", "id_val", "test", "val")
_CODES = {str(code): split for code, split in enumerate(_SPLITS)}
_SPLIT_OF_CENTER = {1: "val", 2: "test"}  # whatever the column `split` says
_MIXED = "camelyon17_mixed-to-test"
_MOVED_SLIDE = 23  # of the test hospital; the mixed split trains on it
_CLASSES = {"0": "normal", "1": "tumor"}
_PLACE = ("patient", "node", "x_coord", "y_coord")
_PATCH = "patches/patient_{0}_node_{1}/patch_patient_{0}_node_{1}_x_{2}_y_{3}.png"


def _read(folder: Path, config: str) -> WildsRows:
    table = RawTable.of_csv(
        folder / "metadata.csv",
        {
            **dict.fromkeys(_PLACE, RawColumn()),
            "tumor": RawColumn(codes=_CLASSES),
            "slide": RawColumn(kind="count", highest=49, form="the slides of Camelyon17-WILDS"),
            "center": RawColumn(kind="count", highest=4, form="the hospitals of Camelyon17-WILDS"),
            "split": RawColumn(codes=_CODES),
        },
    )
    patches = list(map(_PATCH.format, *(table[name] for name in _PLACE)))
    table = table.add("patch", patches, RawColumn(is_unique=True, folder=folder))
    center, slide = table["center"], table["slide"]
    numbers, first = np.unique(slide, return_index=True)
    usual = center[first][np.searchsorted(numbers, slide)]
    table.require(
        center == usual,
        lambda row: (
            f"slide {slide[row]} has center {center[row]}, but {usual[row]} in "
            f"{table.place(int(np.argmax(slide == slide[row])))}"
        ),
    )
    named = zip(center.tolist(), table["split"], strict=True)
    split = [_SPLIT_OF_CENTER.get(hospital, code) for hospital, code in named]
    if config == _MIXED:
        split = np.where(slide == _MOVED_SLIDE, "train", split).tolist()
    hospital, hospitals = table.count("center", "hospital")
    slide_name, slides = table.count("slide", "slide")
    columns = {
        "image": (datasets.Image(), None),
        "label": ([*_CLASSES.values()], table["tumor"]),
        "environment": (hospitals, hospital),
        "group": (slides, slide_name),
        "hospital": ("int32", center),
        "slide": ("int32", slide),
    }
    return WildsRows.of(columns, split, _SPLITS, patches)


_OFFICIAL = replace(
    BASE,
    sources=("camelyon",),
    title="Camelyon17-WILDS",
    summary="Patches of lymph nodes with or without tumor, from a hospital that is not in training.",
    version="1.0.0",
    homepage="https://camelyon17.grand-challenge.org",
    raw_files=raw_files(
        "camelyon17_v1.0",
        {"metadata.csv": "one row per patch", "patches/": "455,954 PNGs"},
        size="10.7 GB",
        license="CC0-1.0",
    ),
    in_context=Rows(name="hospitals of training", split="id_val"),
    out_of_context=Rows(name="another hospital", split="test"),
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=0.5,
    words=Vocabulary.of("at hospitals of training", "at another hospital", example="patch", place="at"),
    context_column="hospital",
    cluster="slide",
    templates=("a patch of {} tissue.",),
    images_license="CC0-1.0",
    annotations_license="CC0-1.0",
    toy_world="toy_wilds_camelyon17",
)

camelyon17 = WildsDataSet(
    name="camelyon17",
    version="1.0",
    configs={
        "camelyon17": _OFFICIAL,
        _MIXED: replace(
            _OFFICIAL,
            title="Camelyon17-WILDS, mixed-to-test",
            summary="Camelyon17-WILDS with a slide of the test hospital in training: a comparison at a fixed test set.",
        ),
    },
    read=_read,
    picture_folders="patches/*",
    rows={"camelyon17": {"train": 302_436, "id_val": 33_560, "test": 85_054, "val": 34_904}},
)
