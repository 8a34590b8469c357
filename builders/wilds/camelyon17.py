"""Camelyon17-WILDS: whether a patch of a lymph node shows a tumor, at hospitals that are not in training."""

from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa

from oochub.builders.sources.metadata_table import MetadataTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, of_splits, raw_files, sides_named
from oochub.errors import OochubError
from oochub.records.sides import Rows

_SPLITS = ("train", "id_val", "test", "val")
_CODES = {str(code): split for code, split in enumerate(_SPLITS)}
_SPLIT_OF_CENTER = {1: "val", 2: "test"}  # whatever the column `split` says
_MIXED = "camelyon17_mixed-to-test"
_HOSPITALS, _SLIDES = 5, 50
_MOVED_SLIDE = 23  # of the test hospital; the mixed split trains on it
_CLASSES = {"0": "normal", "1": "tumor"}
_PLACE = ("patient", "node", "x_coord", "y_coord")
_PATCH = "patches/patient_{0}_node_{1}/patch_patient_{0}_node_{1}_x_{2}_y_{3}.png"


def _read(folder: Path, config: str) -> WildsRows:
    table = MetadataTable.of_csv(folder / "metadata.csv", (*_PLACE, "tumor", "slide", "center", "split"))
    table = table.with_column("patch", _PATCH.format, of=_PLACE)
    table.check_unique("patch")
    table.check_files("patch", folder)
    table.check_below("center", _HOSPITALS, "the hospitals of Camelyon17-WILDS")
    table.check_below("slide", _SLIDES, "the slides of Camelyon17-WILDS")
    center, slide = table.whole("center"), table.whole("slide")
    _check_slides(table, slide, center)
    named = zip(center, table.coded("split", _CODES), strict=True)
    split = [_SPLIT_OF_CENTER.get(hospital, code) for hospital, code in named]
    if config == _MIXED:
        split = ["train" if number == _MOVED_SLIDE else of for number, of in zip(slide, split, strict=True)]
    hospital, hospitals = table.counted("center", "hospital")
    slide_name, slides = table.counted("slide", "slide")
    rows = pa.table(
        {
            "example_id": [str(row) for row in range(len(split))],
            "file": table.columns["patch"],
            "label": table.coded("tumor", _CLASSES),
            "environment": hospital,
            "group": slide_name,
            "hospital": center,
            "slide": slide,
        }
    )
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=list(_CLASSES.values())),
            "environment": datasets.ClassLabel(names=hospitals),
            "group": datasets.ClassLabel(names=slides),
            "hospital": datasets.Value("int32"),
            "slide": datasets.Value("int32"),
        }
    )
    return WildsRows(features=features, splits=of_splits(rows, split, _SPLITS))


def _check_slides(table: MetadataTable, slide: list[int], center: list[int]) -> None:
    """Every patch of a slide is of one hospital, which decides its split."""
    hospital_of: dict[int, tuple[int, int]] = {}
    for line, number, hospital in zip(table.lines, slide, center, strict=True):
        first, at = hospital_of.setdefault(number, (line, hospital))
        if at != hospital:
            raise OochubError(
                f"{table.file}, line {line}: slide {number} has center {hospital}, but {at} in line {first}. Fetch "
                "it again."
            )


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
    words=sides_named(
        example="patch",
        inside="at hospitals of training",
        outside="at another hospital",
        place="at",
    ),
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
