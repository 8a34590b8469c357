"""RxRx1-WILDS: which of 1,139 siRNAs cells were treated with, in experiments that are not in training."""

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import datasets

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.wilds._data_set import BASE, WildsDataSet, WildsRows, raw_files
from oochub.errors import OochubError
from oochub.records.sides import Rows, Vocabulary, WorstOfGroups

_SPLITS = ("train", "val", "test", "id_test")
_MIXED = "rxrx1_mixed-to-test"
_SPLITS_OF = {"rxrx1": _SPLITS, _MIXED: _SPLITS[:3]}
_CELL_TYPES = ("HEPG2", "HUVEC", "RPE", "U2OS")
_SIRNAS = 1139


def _read(folder: Path, config: str) -> WildsRows:
    table = RawTable.of_csv(
        folder / "metadata.csv",
        {
            "experiment": RawColumn(),
            "plate": RawColumn(pattern="[0-9]{1,18}", form="a whole number, 0 or more"),
            "well": RawColumn(),
            "site": RawColumn(codes=("1", "2")),
            "cell_type": RawColumn(codes=_CELL_TYPES),
            "dataset": RawColumn(codes=_SPLITS[:3]),
            "sirna_id": RawColumn(kind="count", highest=_SIRNAS - 1, form="the siRNAs of RxRx1-WILDS"),
        },
    )
    experiment, cell_type = table["experiment"], table["cell_type"]
    table.require(
        [re.fullmatch(rf"{of}-[0-9]{{2}}", name) for name, of in zip(experiment, cell_type, strict=True)],
        lambda row: (
            f"an experiment with cells of type {cell_type[row]} must have a name like {cell_type[row]}-01, got "
            f"{experiment[row][:80]!r}"
        ),
    )
    places = (table[name] for name in ("experiment", "plate", "well", "site"))
    files = list(map("images/{}/Plate{}/{}_s{}.png".format, *places))
    table.add("image", files, RawColumn(is_unique=True, folder=folder))
    split = _mix_experiments(table) if config == _MIXED else _assign_official_split(table)
    label, labels = table.count("sirna_id", "sirna")
    # In the order of their first rows, as WILDS' code numbers them
    cell_types, experiments = (list(dict.fromkeys(of)) for of in (cell_type, experiment))
    columns = {
        "image": (datasets.Image(), None),
        "label": (labels, label),
        "environment": (experiments, experiment),
        "group": (cell_types, cell_type),
        "cell_type": (cell_types, cell_type),
        "experiment": (experiments, experiment),
        "plate": ("int32", [int(plate) for plate in table["plate"]]),
        "well": ("string", table["well"]),
        "site": ("int32", [int(site) for site in table["site"]]),
    }
    return WildsRows.of(columns, split, _SPLITS_OF[config], files)


def _assign_official_split(table: RawTable) -> list[str]:
    """Training is site 1 of its experiments, `id_test` their site 2; validation and test have both sites."""
    rows = zip(table["dataset"], table["site"], strict=True)
    return ["id_test" if (split, site) == ("train", "2") else split for split, site in rows]


def _mix_experiments(table: RawTable) -> list[str]:
    """Training has site 1 of the test experiments, in place of the first experiments of their cell types."""
    experiments_of = {
        split: [experiment for experiment, of in zip(table["experiment"], table["dataset"], strict=True) if of == split]
        for split in ("train", "test")
    }
    cell_types = Counter(experiment.partition("-")[0] for experiment in dict.fromkeys(experiments_of["test"]))
    left_out = {f"{cell_type}-{k:02}" for cell_type, count in cell_types.items() for k in range(1, count + 1)}
    if missing := sorted(left_out - {*experiments_of["train"]}):
        raise OochubError(
            f"{table.file}: the split mixed-to-test leaves out the first training experiments of each tested cell "
            f"type, but {missing[0]} is not in training. Download it again."
        )
    rows = zip(table["dataset"], table["site"], table["experiment"], strict=True)
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
    words=Vocabulary.of("in experiments of training", "in other experiments", example="image", place="in"),
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
            words=Vocabulary.of("over all cell types", "in the worst cell type", example="image", place="in"),
        ),
    },
    read=_read,
    picture_folders="images/*/*",
    rows={"rxrx1": {"train": 40_612, "val": 9_854, "test": 34_432, "id_test": 40_612}},
)
