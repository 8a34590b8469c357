"""iWildCam2020-wilds: which animal a camera trap saw, at traps that are not in training."""

import os
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa

from oochub.builders.sources.metadata_table import MetadataTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, of_splits, raw_files
from oochub.errors import OochubError
from oochub.records.sides import Rows, Vocabulary

_SPLITS = ("train", "val", "test", "id_val", "id_test")
_TIMES = ("year", "month", "day", "hour", "minute", "second")
_NO_CLASS = 99_999  # the y of categories that no image has


def _read(folder: Path, config: str) -> WildsRows:
    table = MetadataTable.of_csv(
        folder / "metadata.csv", ("split", "location_remapped", "sequence_remapped", "datetime", "filename", "y")
    )
    table.check_unique("filename")
    table.check_files("filename", folder / "train")
    label = table.whole("y")
    names = _read_class_names(folder / "categories.csv") or table.counted("y", "class")[1]
    table.check_below("y", len(names), "the classes of categories.csv")
    place, places = table.counted("location_remapped", "location")
    times = table.times("datetime", "%Y-%m-%d %H:%M:%S.%f")
    rows = pa.table(
        {
            "example_id": [str(row) for row in range(len(label))],
            "file": [f"train/{file}" for file in table.columns["filename"]],
            "label": [names[number] for number in label],
            "environment": place,
            "group": place,
            "location": table.whole("location_remapped"),
            "sequence": table.whole("sequence_remapped"),
            **{field: getattr(times, field).to_numpy() for field in _TIMES},
        }
    )
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=names),
            "environment": datasets.ClassLabel(names=places),
            "group": datasets.ClassLabel(names=places),
            **{field: datasets.Value("int32") for field in ("location", "sequence", *_TIMES)},
        }
    )
    return WildsRows(features=features, splits=of_splits(rows, table.coded("split", _SPLITS), _SPLITS))


def _read_class_names(file: Path) -> list[str]:
    """The classes of categories.csv by number; none without it."""
    if not os.path.lexists(file):
        return []
    table = MetadataTable.of_csv(file, ("y", "name"))
    table = table.rows(row for row, number in enumerate(table.whole("y")) if number != _NO_CLASS)
    table.check_unique("y")
    table.check_unique("name")
    known = dict(zip(table.whole("y"), table.columns["name"], strict=True))
    missing = [number for number in range(len(table.lines)) if number not in known]
    if missing:
        raise OochubError(f"{file} has no class with y = {missing[0]}, but classes are counted from 0. Fetch it again.")
    return [known[number] for number in range(len(known))]


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
