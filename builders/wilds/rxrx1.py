"""RxRx1-WILDS: which of 1,139 siRNAs cells were treated with, in experiments that are not in training."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import datasets
import pyarrow as pa

from oochub.builders.sources.metadata_table import MetadataTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, of_splits, raw_files
from oochub.errors import OochubError
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_SPLITS = ("train", "val", "test", "id_test")
_MIXED = "rxrx1_mixed-to-test"
_SPLITS_OF = {"rxrx1": _SPLITS, _MIXED: _SPLITS[:3]}
_PLACE = ("experiment", "plate", "well", "site")
_CELL_TYPES = ("HEPG2", "HUVEC", "RPE", "U2OS")
_SIRNAS = 1139


def _read(folder: Path, config: str) -> WildsRows:
    table = MetadataTable.of_csv(folder / "metadata.csv", (*_PLACE, "cell_type", "dataset", "sirna_id"))
    table.coded("site", ("1", "2"))
    _check_experiments(table, table.coded("cell_type", _CELL_TYPES))
    table = table.with_column("image", "images/{}/Plate{}/{}_s{}.png".format, of=_PLACE)
    table.check_unique("image")
    table.check_files("image", folder)
    listed = table.coded("dataset", _SPLITS[:3])
    split = _mix_experiments(table, listed) if config == _MIXED else _assign_official_split(table, listed)
    table.check_below("sirna_id", _SIRNAS, "the siRNAs of RxRx1-WILDS")
    label, labels = table.counted("sirna_id", "sirna")
    rows = pa.table(
        {
            "example_id": [str(row) for row in range(len(split))],
            "file": table.columns["image"],
            "label": label,
            "environment": table.columns["experiment"],
            "group": table.columns["cell_type"],
            "cell_type": table.columns["cell_type"],
            "experiment": table.columns["experiment"],
            "plate": table.whole("plate"),
            "well": table.columns["well"],
            "site": table.whole("site"),
        }
    )
    # In the order of their first rows, as WILDS' code numbers them
    cell_types, experiments = (
        datasets.ClassLabel(names=list(dict.fromkeys(table.columns[of]))) for of in ("cell_type", "experiment")
    )
    features = datasets.Features(
        {
            "example_id": datasets.Value("string"),
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=labels),
            "environment": experiments,
            "group": cell_types,
            "cell_type": cell_types,
            "experiment": experiments,
            "plate": datasets.Value("int32"),
            "well": datasets.Value("string"),
            "site": datasets.Value("int32"),
        }
    )
    return WildsRows(features=features, splits=of_splits(rows, split, _SPLITS_OF[config]))


def _check_experiments(table: MetadataTable, cell_types: Sequence[str]) -> None:
    """An experiment is of one type of cells, with which its name begins."""
    for line, experiment, cell_type in zip(table.lines, table.columns["experiment"], cell_types, strict=True):
        if not re.fullmatch(rf"{cell_type}-[0-9]{{2}}", experiment):
            raise OochubError(
                f"{table.file}, line {line}: an experiment with cells of type {cell_type} must have a name like "
                f"{cell_type}-01, got {experiment[:80]!r}. Fetch it again."
            )


def _assign_official_split(table: MetadataTable, listed: Sequence[str]) -> list[str]:
    """Training is site 1 of its experiments, `id_test` their site 2; validation and test have both sites."""
    rows = zip(listed, table.columns["site"], strict=True)
    return ["id_test" if (split, site) == ("train", "2") else split for split, site in rows]


def _mix_experiments(table: MetadataTable, listed: Sequence[str]) -> list[str]:
    """Training has site 1 of the test experiments, in place of the first experiments of their cell types."""
    experiment_of_test = [
        each for each, split in zip(table.columns["experiment"], listed, strict=True) if split == "test"
    ]
    cell_types = Counter(experiment.partition("-")[0] for experiment in dict.fromkeys(experiment_of_test))
    left_out = {f"{cell_type}-{k:02}" for cell_type, count in cell_types.items() for k in range(1, count + 1)}
    trained = {each for each, split in zip(table.columns["experiment"], listed, strict=True) if split == "train"}
    if missing := sorted(left_out - trained):
        raise OochubError(
            f"{table.file}: the split mixed-to-test leaves out the first training experiments of each tested cell "
            f"type, but {missing[0]} is not in training. Fetch it again."
        )
    rows = zip(listed, table.columns["site"], table.columns["experiment"], strict=True)
    return [
        ""
        if experiment in left_out or (split, site) == ("train", "2")
        else "train"
        if (split, site) == ("test", "1")
        else split
        for split, site, experiment in rows
    ]


_OFFICIAL = replace(
    BASE,
    sources=("rxrx",),
    title="RxRx1-WILDS",
    summary="Cells under a microscope, treated with one of 1,139 siRNAs, in experiments that are not in training.",
    version="1.0.0",
    homepage="https://www.rxrx.ai/rxrx1",
    raw_files=raw_files(
        "rxrx1_v1.0",
        {"metadata.csv": "one row per image", "images/": "125,510 PNGs"},
        size="7.4 GB",
        license="CC-BY-NC-SA-4.0",
    ),
    in_context=Rows(name="experiments of training", split="id_test"),
    out_of_context=Rows(name="other experiments", split="test"),
    metrics=("accuracy", "error_rate", "nll", "ece", "worst_group"),
    chance=1 / _SIRNAS,
    words=Vocabulary(
        example="image",
        inside="in experiments of training",
        outside="in other experiments",
        inside_title="in experiments of training",
        outside_title="in other experiments",
        place="in",
    ),
    context_column="experiment",
    cluster="experiment",
    templates=("a microscope image of cells treated with {}.",),
    images_license="CC-BY-NC-SA-4.0",
    annotations_license="CC-BY-NC-SA-4.0",
    toy_world="toy_wilds_rxrx1",
)

rxrx1 = WildsDataSet(
    name="rxrx1",
    version="1.0",
    configs={
        "rxrx1": _OFFICIAL,
        _MIXED: replace(
            _OFFICIAL,
            title="RxRx1-WILDS, mixed-to-test",
            summary="RxRx1-WILDS with one site of the test experiments in training: a comparison at a fixed test set.",
            in_context=Rows(name="all rows", split="test"),
            out_of_context=WorstOfGroups(name="worst cell type", split="test"),
            words=Vocabulary(
                example="image",
                inside="over all cell types",
                outside="in the worst cell type",
                inside_title="over all cell types",
                outside_title="in the worst cell type",
                place="in",
            ),
        ),
    },
    read=_read,
    picture_folders="images/*/*",
    rows={"rxrx1": {"train": 40_612, "val": 9_854, "test": 34_432, "id_test": 40_612}},
)
