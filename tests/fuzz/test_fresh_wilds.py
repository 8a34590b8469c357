"""WILDS' raw folders changed by a seed: an error, a word, or the rows of each split that a plain reading gives."""

import csv
import gzip
import io
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from datasets import ClassLabel, load_dataset
from drawn_changes import bytes_of, cells_of, field_of, lines_of, one_of, place_of
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import Format, Used
from plain_counts import csv_rows, tallied

import oochub
from oochub.records.build_record import BuildRecord

_REGIONS = ("Africa", "Americas", "Asia", "Europe", "Oceania")
_CELLS = ("HEPG2", "HUVEC", "RPE", "U2OS")
_IDENTITIES = ("male", "female", "LGBTQ", "christian", "muslim", "other_religions", "black", "white")
Rows = Iterator[tuple[str, tuple[Any, ...]]]
"""The split of each row, and what is counted of it."""


def _original(folder: Path) -> Path:
    return folder.parents[1] / "base" / folder.name


def _whole(text: str) -> int:
    assert float(text) == int(float(text)), text
    return int(float(text))


def _share(text: str) -> float:
    number = float(text)
    assert 0 <= number <= 1, text
    return number


def _amazon(folder: Path) -> Rows:
    reviews, splits = csv_rows(folder / "reviews.csv"), csv_rows(folder / "splits" / "user.csv")
    for review, row in zip(reviews, splits, strict=True):
        split = _whole(row["split"])
        if split != -1:
            name = ("train", "val", "id_val", "test", "id_test")[split]
            yield name, (_whole(review["overall"]) - 1, review["reviewerID"], review["asin"])


def _camelyon17(folder: Path) -> Rows:
    for row in csv_rows(folder / "metadata.csv"):
        split = {1: "val", 2: "test"}.get(_whole(row["center"])) or ("train", "id_val")[_whole(row["split"])]
        yield split, (_whole(row["tumor"]), f"hospital_{_whole(row['center'])}", f"slide_{_whole(row['slide'])}")


def _civilcomments(folder: Path) -> Rows:
    for row in csv_rows(folder / "all_data_with_identities.csv"):
        yield row["split"], (int(_share(row["toxicity"]) >= 0.5), *(_share(row[name]) >= 0.5 for name in _IDENTITIES))


def _region(folder: Path) -> dict[str, str]:
    return {row["alpha-3"]: row["region"] for row in csv_rows(folder / "country_code_mapping.csv")}


def _fmow(folder: Path) -> Rows:
    """A country whose region nobody knows is Other where it was so in the mapping as it was made."""
    regions, usual = _region(folder), _region(_original(folder))
    for row in csv_rows(folder / "rgb_metadata.csv"):
        year, region = int(row["timestamp"].strip()[:4]), regions.get(row["country_code"], "none")
        if region not in _REGIONS:
            known = usual.get(row["country_code"], "none") not in _REGIONS
            region = "Other" if known else f"unknown {region!r} of {row['country_code']}"
        if year < 2013 and row["split"] in ("train", "val", "test"):
            split = {"train": "train", "val": "id_val", "test": "id_test"}[row["split"]]
        elif (row["split"] == "val" and 2013 <= year < 2016) or (row["split"] == "test" and year >= 2016):
            split = row["split"]
        else:
            assert row["split"] in ("train", "val", "test", "seq"), row["split"]
            continue
        yield split, (row["category"], region, year)


def _globalwheat(folder: Path) -> Rows:
    """Of each image the boxes, which lie in 96 x 96 pixels and have an area."""
    for file, split in (
        ("official_train", "train"), ("official_val", "val"), ("official_test", "test"), ("fixed_train_val", "id_val"),
        ("fixed_train_test", "id_test"),
    ):  # fmt: skip
        for row in csv_rows(folder / f"{file}.csv"):
            boxes = [] if row["BoxesString"] == "no_box" else row["BoxesString"].split(";")
            corners = [[int(each) for each in box.split(" ")] for box in boxes]
            assert all(0 <= x1 < x2 <= 96 and 0 <= y1 < y2 <= 96 for x1, y1, x2, y2 in corners), corners
            yield split, (len(corners), sum(map(sum, corners)), _whole(row["domain"]))


def _iwildcam(folder: Path) -> Rows:
    for row in csv_rows(folder / "metadata.csv"):
        yield row["split"], (_whole(row["y"]), _whole(row["location_remapped"]), _whole(row["sequence_remapped"]))


def _ogb_molpcba(folder: Path) -> Rows:
    """All molecules together: how many labels of each are known and true, and how many atoms it has."""
    lines = _packed(folder / "raw" / "graph-label.csv.gz")
    atoms = [_whole(line[0]) for line in _packed(folder / "raw" / "num-node-list.csv.gz")]
    named = {}
    for split in ("train", "valid", "test"):
        for line in _packed(folder / "split" / "scaffold" / f"{split}.csv.gz"):
            assert _whole(line[0]) not in named
            named[_whole(line[0])] = {"valid": "val"}.get(split, split)
    for row, (line, count) in enumerate(zip(lines, atoms, strict=True)):
        labels = [float(cell or "nan") for cell in line]
        assert all(label in (0, 1) or math.isnan(label) for label in labels)
        yield named[row], (sum(not math.isnan(each) for each in labels), sum(each == 1 for each in labels), count)


def _packed(file: Path) -> list[list[str]]:
    return [line for line in csv.reader(io.StringIO(gzip.decompress(file.read_bytes()).decode())) if line]


def _poverty_fold_a(folder: Path) -> Rows:
    for row in csv_rows(folder / "dhs_metadata.csv"):
        assert row["urban"] in ("True", "False")
        yield "all", (round(float(np.float32(row["wealthpooled"])), 5), row["country"], row["urban"] == "True")


def _py150(folder: Path) -> Rows:
    """The tokens of each file after the first that are asked for: 1 fills up, and a kind of -100 leaves out."""
    for name, split in (
        ("train", "train"), ("IDval", "id_val"), ("IDtest", "id_test"), ("OODval", "val"), ("OODtest", "test")
    ):  # fmt: skip
        tokens, kinds = (
            json.loads((folder / "processed" / f"{name}_input{end}.json").read_text("utf-8"))
            for end in ("", "_tok_type")
        )
        for row, of in zip(tokens, kinds, strict=True):
            assert all(isinstance(each, int) and not isinstance(each, bool) for each in (*row, *of)) and min(row) >= 0
            pairs = zip(row[1:], of[1:], strict=True)
            yield split, (sum(token for token, kind in pairs if token != 1 and kind != -100),)


def _rxrx1(folder: Path) -> Rows:
    for row in csv_rows(folder / "metadata.csv"):
        split = "id_test" if (row["dataset"], row["site"]) == ("train", "2") else row["dataset"]
        cell = row["cell_type"] if row["cell_type"] in _CELLS else f"unknown {row['cell_type']!r}"
        yield split, (_whole(row["sirna_id"]), cell, row["experiment"])


def _named(*names: str) -> Callable[[dict[str, Any]], tuple[Any, ...]]:
    return lambda row: tuple(row[name] for name in names)


def _of_boxes(row: dict[str, Any]) -> tuple[Any, ...]:
    return (len(row["boxes"]), int(sum(map(sum, row["boxes"]))), row["session"])


def _of_molecule(row: dict[str, Any]) -> tuple[Any, ...]:
    labels = row["labels"]
    return (sum(not math.isnan(each) for each in labels), sum(each == 1 for each in labels), len(row["graph"]["nodes"]))


def _of_place(row: dict[str, Any]) -> tuple[Any, ...]:
    return (round(float(np.float32(row["label"])), 5), row["country"], row["urban"])


def _of_tokens(row: dict[str, Any]) -> tuple[Any, ...]:
    return (sum(token for token in row["tokens"] if token not in (1, -100)),)


_SETS: dict[str, tuple[str | int, Callable[[Path], Rows], Callable[[dict[str, Any]], tuple[Any, ...]]]] = {
    "amazon": (4, _amazon, _named("label#", "group", "product")),
    "camelyon17": (20, _camelyon17, _named("label#", "environment", "group")),
    "civilcomments": (20, _civilcomments, _named("label#", *_IDENTITIES)),
    "fmow": (24, _fmow, _named("label", "region", "year")),
    "globalwheat": (3, _globalwheat, _of_boxes),
    "iwildcam": (6, _iwildcam, _named("label#", "location", "sequence")),
    "ogb_molpcba": (8, _ogb_molpcba, _of_molecule),
    "poverty_fold_a": (2, _poverty_fold_a, _of_place),
    "py150": (4, _py150, _of_tokens),
    "rxrx1": ("small", _rxrx1, _named("label#", "cell_type", "experiment")),
}


def _use(config: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        data = load_dataset("wilds", config, data_dir=str(folder), streaming=True)
        pick, found = _SETS[config][2], {}
        for split, part in data.items():
            names = {name: each for name, each in part.features.items() if isinstance(each, ClassLabel)}
            left = [name for name in ("image", "array") if name in part.features]
            for row in part.decode(False).remove_columns(left) if left else part:
                named = {name: each.int2str(row[name]) for name, each in names.items() if name != "session"}
                place = "all" if config.startswith("poverty") else split
                found.setdefault(place, []).append(pick({**row, **named, "label#": row.get("label")}))
        counts = {split: tallied(rows) for split, rows in found.items()}
        return Used(numbers=counts, notes=tuple(BuildRecord.of(data["train"].info).notes), counts=counts)

    return use


def _count(config: str) -> Callable[[Path], Any]:
    def count(folder: Path) -> Any:
        found: dict[str, list[tuple[Any, ...]]] = {}
        for split, row in _SETS[config][1](folder):
            found.setdefault(split, []).append(row)
        return {split: tallied(rows) for split, rows in found.items()}

    return count


def wilds(config: str) -> Format:
    def make(folder: Path) -> None:
        oochub.get("benchmark", "wilds").of(config).render_toy_world(folder, size=_SETS[config][0])

    return Format(name=f"wilds {config}", make=make, use=_use(config), count=_count(config))


_SPLITS = ("train", "val", "test", "id_val", "Train", "validation", "0", "1", "2", "-1", "9")
_REPOSITORIES = "metadata/repo_file_names"
_FILES: dict[str, tuple[dict[str, Change], tuple[str, ...]]] = {
    "amazon": (
        {"cells": cells_of("reviews.csv", values=("0", "6", "5.0", "True")),
         "splits": cells_of("splits/user.csv", values=_SPLITS)},
        ("reviews.csv", "splits/user.csv"),
    ),
    "camelyon17": ({"cells": cells_of("metadata.csv", values=_SPLITS)}, ("metadata.csv", "patches/*/*.png")),
    "civilcomments": (
        {"cells": cells_of("all_data_with_identities.csv", values=("0.5", "1.0", *_SPLITS))},
        ("all_data_with_identities.csv",),
    ),
    "fmow": (
        {"cells": cells_of("rgb_metadata.csv", values=("USA", "XXX", "usa", *_SPLITS)),
         "regions": cells_of("country_code_mapping.csv", values=(*_REGIONS, "america", "Europa", "europe"))},
        ("*.csv",),
    ),
    "globalwheat": (
        {"cells": cells_of("official_*.csv", values=(
            "0 0 96 96", "90 90 97 97", "5000 5000 6000 6000", "5 5 5 9", "9 9 5 5", "no_box", "-5 0 9 9"))},
        ("official_*.csv", "metadata_domain.csv", "images/*.png"),
    ),
    "iwildcam": (
        {"cells": cells_of("metadata.csv", values=_SPLITS), "class names": cells_of("categories.csv")},
        ("*.csv", "train/*.jpg"),
    ),
    "ogb_molpcba": ({}, ("raw/*.gz", "split/scaffold/*.gz", "raw/*.npy")),
    "poverty_fold_a": (
        {"cells": cells_of("dhs_metadata.csv", values=("kenya", "Kenya", "atlantis", "True", "true"))},
        ("dhs_metadata.csv", "images/*.npz"),
    ),
    "py150": (
        {"JSON field": field_of("processed/*_input.json", "processed/*_tok_type.json"),
         "names": one_of(lines_of(f"{_REPOSITORIES}/*.txt"), cells_of(f"{_REPOSITORIES}/repo_ids.csv"))},
        ("processed/*.json", f"{_REPOSITORIES}/*"),
    ),
    "rxrx1": (
        {"cells": cells_of("metadata.csv", values=(*_CELLS, "hepg2", "HELA", "1", "2", *_SPLITS))},
        ("metadata.csv",),
    ),
}  # fmt: skip


def _change(config: str) -> dict[str, Change]:
    own, files = _FILES[config]
    return {**own, **own, "bytes": bytes_of(*files), "place": place_of(*files)}


READERS = tuple(Reader(kind=wilds(config), changes=_change(config), share=0.5) for config in _SETS)


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_wilds(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS, number=1))
def test_wilds_every_day(campaign, kind, case):
    campaign.run(kind, case)


def test_every_data_set_is_changed():
    assert {*_SETS} == set(oochub.get("benchmark", "wilds").tried_configs)
