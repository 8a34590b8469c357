"""iWildCam2020-wilds: which animal a camera trap saw, at traps that are not in training."""

import os
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.records.sides import Rows, Vocabulary

_SPLITS = ("train", "val", "test", "id_val", "id_test")
_TIMES = ("year", "month", "day", "hour", "minute", "second")
_NO_CLASS = 99_999  # the y of categories that no image has


def _read(folder: Path, config: str) -> WildsRows:
    number = RawColumn(kind="count")
    table = RawTable.of_csv(
        folder / "metadata.csv",
        {
            "split": RawColumn(codes=_SPLITS),
            "location_remapped": number,
            "sequence_remapped": number,
            "datetime": RawColumn(),
            "filename": RawColumn(is_unique=True, folder=folder / "train"),
            "y": number,
        },
    )
    label = table["y"]
    names = _read_class_names(folder / "categories.csv") or table.count("y", "class")[1]
    table.require(
        label < len(names),
        lambda row: f"y must be in 0..{len(names) - 1}, the classes of categories.csv, got {label[row]}",
    )
    place, places = table.count("location_remapped", "location")
    times = table.parse_times("datetime", "%Y-%m-%d %H:%M:%S.%f")
    columns = {
        "image": (datasets.Image(), None),
        "label": (names, [names[number] for number in label]),
        "environment": (places, place),
        "group": (places, place),
        "location": ("int32", table["location_remapped"]),
        "sequence": ("int32", table["sequence_remapped"]),
        **{field: ("int32", getattr(times, field).to_numpy()) for field in _TIMES},
    }
    return WildsRows.of(columns, table["split"], _SPLITS, [f"train/{file}" for file in table["filename"]])


def _read_class_names(file: Path) -> list[str]:
    """The classes of categories.csv by number; none without it."""
    if not os.path.lexists(file):
        return []
    table = RawTable.of_csv(file, {"y": RawColumn(kind="count"), "name": RawColumn()})
    table = table.where(table["y"] != _NO_CLASS).check({"name": RawColumn(is_unique=True)})
    classes = RawColumn(kind="count", highest=len(table) - 1, form="each class once, counted from 0", is_unique=True)
    numbers = table.add("y", [str(number) for number in table["y"]], classes)["y"]
    return [table["name"][row] for row in np.argsort(numbers)]


iwildcam = WildsDataSet(
    name="iwildcam",
    version="2.0",
    configs={
        "iwildcam": replace(
            BASE,
            sources=("iwildcam",),
            title="iWildCam2020-wilds",
            summary="Animals in front of camera traps, at traps that are not in training.",
            version="2.0.0",
            homepage="https://www.kaggle.com/c/iwildcam-2020-fgvc7",
            raw_files=raw_files(
                "iwildcam_v2.0",
                {
                    "metadata.csv": "one row per image",
                    "train/": "203,029 JPEGs",
                    "categories.csv": "names of the classes",
                },
                optional=["categories.csv"],
                size="11.9 GB",
                license="CDLA-Permissive-1.0",
            ),
            in_context=Rows(name="traps of training", split="id_test"),
            out_of_context=Rows(name="other traps", split="test"),
            metrics=("f1_macro", "accuracy", "error_rate", "nll", "ece"),
            primary_metric="f1_macro",
            words=Vocabulary(
                example="image",
                inside="at camera traps of training",
                outside="at other traps",
                inside_title="at traps of training",
                outside_title="at other traps",
                place="at",
            ),
            context_column="location",
            cluster="sequence",
            templates=("a camera trap photo of a {}.",),
            images_license="CDLA-Permissive-1.0",
            annotations_license="CDLA-Permissive-1.0",
            toy_world="toy_wilds_iwildcam",
        )
    },
    read=_read,
    rows={"iwildcam": {"train": 129_809, "val": 14_961, "test": 42_791, "id_val": 7_314, "id_test": 8_154}},
)
