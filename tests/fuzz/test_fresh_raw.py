"""Raw folders of COCO, Spawrious, Waterbirds, CelebA, CUB and ImageNet changed by a seed, against a plain reading."""

import hashlib
import io
import json
import tarfile
from collections import Counter
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from datasets import Image as ImageFeature
from datasets import load_dataset
from drawn_changes import bytes_of, cells_of, field_of, lines_of, place_of
from formats_captions import CAPTIONS
from formats_coco import COCO
from formats_ids import IDS, SPLIT
from formats_lists import DEVKIT, LISTS, SOLUTION
from formats_metadata import CUB, FACES, METADATA
from formats_spawrious import SPAWRIOUS
from formats_tars import TARS
from fresh_cases import Change, Reader, counted, every_day, fresh
from fuzz_case import Format, Used
from plain_counts import csv_rows, tallied

from oochub.builders.sources.coco_categories import CATEGORY_IDS
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS
from oochub.records.build_record import BuildRecord

_YEARS = ("train2017", "val2017")


def _json(folder: Path, name: str) -> Any:
    return json.loads((folder / "annotations" / name).read_text("utf-8"))


def _count_coco(folder: Path) -> Any:
    """Images in order, the share of each that its annotations take, and how many annotations each category has."""
    sizes, areas, counts = {}, Counter(), Counter()
    for year in _YEARS:
        for image in _json(folder, f"instances_{year}.json")["images"]:
            assert image["id"] not in sizes
            sizes[image["id"]] = image["height"] * image["width"]
    for kind in ("instances", "stuff"):
        for year in _YEARS:
            for each in _json(folder, f"{kind}_{year}.json")["annotations"]:
                assert isinstance(each["area"], int | float) and 0 <= each["area"] <= sizes[each["image_id"]]
                areas[each["image_id"]] += each["area"] / sizes[each["image_id"]]
                counts[each["category_id"]] += 1
    by_id = {number: name for name, number in CATEGORY_IDS.items()}
    return [
        sorted(sizes),
        [round(areas[image], 6) for image in sorted(sizes)],
        {by_id[number]: n for number, n in sorted(counts.items()) if number in by_id},
    ]


def _of_coco(numbers: Any) -> Any:
    images, _, areas, counts, _ = numbers
    named = {name: int(n) for name, n in zip(CATEGORY_IDS, counts, strict=True) if n}
    return [
        images.tolist(),
        np.round(areas, 6).tolist(),
        dict(sorted(named.items(), key=lambda item: CATEGORY_IDS[item[0]])),
    ]


def _count_captions(folder: Path) -> Any:
    found: dict[str, list[str]] = {}
    for year in _YEARS:
        if (folder / "annotations" / f"captions_{year}.json").is_file():
            for each in _json(folder, f"captions_{year}.json")["annotations"]:
                assert isinstance(each["image_id"], int) and isinstance(each["caption"], str)
                found.setdefault(str(each["image_id"]), []).append(each["caption"])
    return found


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _use_spawrious(folder: Path, out: Path) -> Used:
    """The rows by breed and place, and how many of them hold the bytes of an image of another folder."""
    data = load_dataset("spawrious", "o2o_easy", data_dir=str(folder), streaming=True)
    places: dict[str, set[str]] = {}
    for file in (path for path in folder.glob("spawrious224/*/*/*/*.png") if path.is_file()):
        places.setdefault(_digest(file.read_bytes()), set()).add("/".join(file.parts[-3:-1]))
    counts: dict[str, Any] = {"elsewhere": 0}
    for split, part in data.items():
        rows = []
        for row in part.cast_column("image", ImageFeature(decode=False)):
            breed, place = (part.features[name].int2str(row[name]) for name in ("label", "background"))
            rows.append((breed, place))
            counts["elsewhere"] += f"{place}/{breed}" not in places.get(_digest(row["image"]["bytes"]), ())
        counts[split] = tallied(rows)
    return Used(numbers=counts, notes=tuple(BuildRecord.of(data["train"].info).notes), counts=counts)


def _count_spawrious(folder: Path) -> Any:
    """The numbers of the toy folder as it was made: ten images a folder, or it says that there are fewer."""
    for file in (folder / "spawrious224").glob("*/*/*"):
        assert len(list(file.glob("*.png"))) == 10, file
    return SPAWRIOUS_COUNTS


def _count_birds(folder: Path) -> Any:
    names = ("train", "validation", "test")
    found: dict[str, list[Any]] = {name: [] for name in names}
    for row in csv_rows(folder / "metadata.csv"):
        assert row["y"] in ("0", "1") and row["place"] in ("0", "1") and row["split"] in ("0", "1", "2")
        assert (folder / row["img_filename"]).is_file()
        stem = row["img_filename"].rpartition(".")[0]
        found[names[int(row["split"])]].append((stem, int(row["y"]), int(row["place"])))
    return {name: tallied(rows) for name, rows in found.items()}


def _of_rows(*columns: str) -> Any:
    return lambda numbers: {
        split: tallied([row[name] for name in columns] for row in rows) for split, rows in numbers.items()
    }


def _count_faces(folder: Path) -> Any:
    names = ("train", "validation", "test")
    lines = (folder / "list_attr_celeba.txt").read_text("utf-8-sig").splitlines()
    head, body = lines[1].split(), [line.split() for line in lines[2:] if line.strip()]
    assert int(lines[0]) == len(body)
    parts = dict(
        line.split() for line in (folder / "list_eval_partition.txt").read_text("utf-8-sig").splitlines() if line
    )
    found: dict[str, list[Any]] = {name: [] for name in names}
    for name, *values in body:
        attributes = dict(zip(head, values, strict=True))
        assert {*values} <= {"1", "-1"}
        row = (Path(name).stem, int(attributes["Blond_Hair"] == "1"), int(attributes["Male"] == "1"))
        found[names[int(parts[name])]].append(row)
    return {name: tallied(rows) for name, rows in found.items()}


def _count_cub(folder: Path) -> Any:
    parts = dict(line.split() for line in (folder / "train_test_split.txt").read_text("utf-8-sig").splitlines() if line)
    images = [
        line.strip().split(" ", 1) for line in (folder / "images.txt").read_text("utf-8-sig").splitlines() if line
    ]
    return [[number, name, parts[number] == "1"] for number, name in images]


def _count_list(folder: Path) -> Any:
    names = [line.strip() for line in (folder / "list.txt").read_text("utf-8-sig").splitlines() if line.strip()]
    assert all((folder / "place" / name).is_file() for name in names) and len(set(names)) == len(names)
    return names


def _count_solution(folder: Path) -> Any:
    rows = csv_rows(folder / "imagenet" / "LOC_val_solution.csv")
    truth = {row["ImageId"]: row["PredictionString"].split()[0] for row in rows}
    assert all(truth[row["ImageId"]] == row["PredictionString"].split()[0] for row in rows)
    return [[path.name, truth[path.stem]] for path in sorted((folder / "imagenet" / "val").iterdir())]


def _count_devkit(folder: Path) -> Any:
    file = folder / "imagenet/ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt"
    numbers = [int(line) for line in file.read_text("utf-8-sig").splitlines() if line.strip()]
    pictures = sorted((folder / "imagenet" / "val").iterdir())
    return [[path.name, IMAGENET_1K_WNIDS[numbers[int(path.stem[-8:]) - 1] - 1]] for path in pictures]


def _count_tars(folder: Path) -> Any:
    """Of each archive the regular members with a name of ImageNet's, by name and bytes."""
    found = []
    for file in (path for path in sorted((folder / "pictures").glob("*.tar")) if path.is_file()):
        with tarfile.open(file) as archive:
            for member in archive:
                if member.isreg() and member.name.endswith(".JPEG"):
                    content = archive.extractfile(member).read()  # type: ignore[union-attr]
                    found.append([Path(member.name).name, hashlib.sha256(content).hexdigest()])
    return sorted(found)


def _of_tars(numbers: Any) -> Any:
    return sorted([Path(name).name, digest] for name, *_, digest in numbers)


def _count_ids(folder: Path) -> Any:
    return {
        split: {
            f"hard_{side}": np.load(folder / f"nooch_ids_CE_car_hard_{side}_{part}.npy").astype(int).tolist()
            for side in ("positive", "negative")
        }
        for split, part in (("validation", "valid"), ("test", "test"))
    }


def _count_split(folder: Path) -> Any:
    images = sorted(image["id"] for year in _YEARS for image in _json(folder, f"instances_{year}.json")["images"])
    with np.load(folder / "cocostuff_split_image_ids.npz") as stored:
        parts = {name: stored[f"{part}_ids"] for name, part in
                 (("train", "train"), ("validation", "valid"), ("test", "test"))}  # fmt: skip
    assert len({int(each) for part in parts.values() for each in part}) == sum(map(len, parts.values()))
    return {name: sorted(images.index(int(each)) for each in part) for name, part in parts.items()}


def _of_split(numbers: Any) -> Any:
    return {name: sorted(rows.tolist()) for name, rows in numbers.items()}


def _array(pattern: str) -> Change:
    """A file of ids with others, or of another type."""

    def change(folder: Path, rng: Random) -> str:
        file = rng.choice(sorted(folder.glob(pattern)))
        stored = dict(np.load(file)) if file.suffix == ".npz" else {"": np.load(file)}
        name = rng.choice(sorted(stored))
        ids, at = stored[name].copy(), rng.randrange(len(stored[name]))
        word = rng.choice(("another", "twice", "type", "order", "fewer", "endian", "float", "text", "masked", "axis"))
        if word in ("another", "twice"):
            ids[at] = ids[at - 1] if word == "twice" else rng.choice((-1, 0, 99, 2**40))
        else:
            ids = {
                "type": lambda: ids.astype(rng.choice(("int8", "uint16", "int32", "uint64"))),
                "order": lambda: ids[::-1],
                "fewer": lambda: ids[:at],
                "endian": lambda: ids.astype(">i8"),
                "float": lambda: ids + rng.choice((0.0, 0.5, np.nan)),
                "text": lambda: ids.astype(str),
                "masked": lambda: np.ma.masked_array(ids, mask=ids == ids[at]),
                "axis": lambda: ids[None],
            }[word]()
        stored[name] = np.asarray(ids)
        if file.suffix == ".npz":
            np.savez(file, **stored)
        else:
            np.save(file, stored[""])
        return f"{file.name} {name}: {word} at {at}"

    return change


def _repacked(folder: Path, rng: Random) -> str:
    """Members of an archive swapped, doubled, renamed, or with others' bytes."""
    file = rng.choice(sorted((folder / "pictures").glob("*.tar")))
    with tarfile.open(file) as archive:
        members = [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]
    word = rng.choice(("order", "twice", "fewer", "names swapped", "renamed", "no image", "another class"))
    at, other = rng.sample(range(len(members)), 2)
    if word == "order":
        rng.shuffle(members)
    elif word == "twice":
        members.append((members[at][0], members[other][1]))
    elif word == "fewer":
        del members[at]
    elif word == "names swapped":
        (a, x), (b, y) = members[at], members[other]
        members[at], members[other] = (b, x), (a, y)
    elif word == "no image":
        members[at] = (members[at][0], rng.randbytes(99))
    else:
        name = members[at][0]
        new = name.upper() if word == "renamed" else name.replace("n014", "n024")
        members[at] = (new, members[at][1])
    with tarfile.open(file, "w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return f"{file.name}: {word} {members[at % len(members)][0]}"


def _header(*patterns: str) -> dict[str, Change]:
    return {"bytes": bytes_of(*patterns), "place": place_of(*patterns)}


_OWN = {"bulldog": "desert", "corgi": "snow", "dachshund": "jungle", "labrador": "dirt"}
_OTHER = {"bulldog": "dirt", "corgi": "jungle", "dachshund": "snow", "labrador": "desert"}
SPAWRIOUS_COUNTS = {
    "elsewhere": 0,
    "train": tallied([(breed, place) for breed, own in _OWN.items() for place in (*["beach"] * 3, *[own] * 15)]),
    "validation": tallied([(breed, own) for breed, own in _OWN.items() for _ in range(2)]),
    "test": tallied([(breed, other) for breed, other in _OTHER.items() for _ in range(20)]),
}
"""Of ten images a folder: in training 97% and 87% before each breed's own background, the rest on the beach."""
_PNG = "spawrious224/[01]/*/*/*_[123].png"
_ANNOTATIONS = ("annotations/instances_*.json", "annotations/stuff_*.json")
READERS = (
    Reader(kind=counted(COCO, _count_coco, _of_coco),
           changes={"JSON field": field_of(*_ANNOTATIONS), "again": field_of(*_ANNOTATIONS), **_header(*_ANNOTATIONS)}),
    Reader(kind=counted(CAPTIONS, _count_captions), share=0.5,
           changes={"JSON field": field_of("annotations/captions_*.json"), **_header("annotations/captions_*.json")}),
    Reader(kind=Format(name="Spawrious", make=SPAWRIOUS.make, use=_use_spawrious, count=_count_spawrious,
                       names=("desert", "spawrious")),
           changes=_header(_PNG), share=0.5),
    Reader(kind=counted(METADATA, _count_birds, _of_rows("example_id", "label", "place")),
           changes={"cells": cells_of("metadata.csv", values=("0", "1", "2", "3")), **_header("metadata.csv")}),
    Reader(kind=counted(FACES, _count_faces, _of_rows("example_id", "label", "sex")),
           changes={"lines": lines_of("list_*.txt", values=("000004.jpg 1", "000004.jpg  1 -1", "Male Blond_Hair")),
                    **_header("list_*.txt")}),
    Reader(kind=counted(CUB, _count_cub), share=0.5,
           changes={"lines": lines_of("*.txt", values=("3 0", "3 1", "3 001.Bird/Bird_4.jpg")), **_header("*.txt")}),
    Reader(kind=counted(LISTS, _count_list), share=0.5,
           changes={"lines": lines_of("list.txt", values=("n02666943/n02666943_12.JPEG",)), **_header("list.txt")}),
    Reader(kind=counted(SOLUTION, _count_solution), share=0.5,
           changes={"cells": cells_of("imagenet/*.csv", values=("n01440764 1 2 3 4",)), **_header("imagenet/*.csv")}),
    Reader(kind=counted(DEVKIT, _count_devkit), share=0.5,
           changes={"lines": lines_of("imagenet/*/data/*.txt", values=("1", "2", "1000", "1001", "0")),
                    **_header("imagenet/*/data/*.txt")}),
    Reader(kind=counted(TARS, _count_tars, _of_tars),
           changes={"members": _repacked, **_header("pictures/*.tar")}),
    Reader(kind=counted(IDS, _count_ids), changes={"ids": _array("*.npy"), **_header("*.npy")}, share=0.5),
    Reader(kind=counted(replace(SPLIT, names=("split",)), _count_split, _of_split), share=0.5,
           changes={"ids": _array("*.npz"), **_header("*.npz")}),
)  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_raw(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS, number=1))
def test_raw_every_day(campaign, kind, case):
    campaign.run(kind, case)
