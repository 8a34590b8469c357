"""Own data and the repositories made of them, changed by a seed: an error, a word, or the rows that are there."""

import hashlib
import io
import json
import re
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import datasets
import pytest
import yaml
from drawn_changes import after, bytes_of, cells_of, field_of, lines_of, one_of, place_of
from drawn_columns import CHALLENGES, Columns, cell, columns_of, retyped, rows
from fresh_cases import Change, Reader, every_day, fresh
from fuzz_case import Format, Used
from own_data import jpeg
from plain_counts import csv_rows, parquet_columns, tallied

import oochub
from oochub.records.build_record import BuildRecord
from oochub.repository.write_repository import write_user_repository
from oochub.settings.data_settings import DataSettings as Named

_PLACES = {"dog": ("grass", "grass", "beach", "street"), "cat": ("sofa", "sofa", "grass", "street")}
_COLUMNS = {"label": "species", "context": "place"}
_EVERY = ("label", "context", "challenge")
_NEAR = ("Dog", "dog ", " cat", "DOG", "cat\u200b", "", "0", "1", "hard", "grass/beach", "ｄog")
_THINGS = ("species", "place", "label", "context", "challenge", "group", "split", "classes", "class", "picture", "data")


def _rows() -> Iterator[tuple[str, str, str, str]]:
    """Split, number, species and place of 24 rows."""
    for split, repeats in (("train", 2), ("test", 1)):
        for repeat in range(repeats):
            for k, (species, place) in enumerate((one, place) for one, all_ in _PLACES.items() for place in all_):
                yield split, str(k), species, f"{place}" if repeat < 2 else place


def _make_folder(folder: Path) -> None:
    for split in ("train", "test"):
        (folder / split).mkdir()
        lines = ["file_name,species,place"]
        for number, (_, k, species, place) in enumerate(row for row in _rows() if row[0] == split):
            (folder / split / f"{number}.jpg").write_bytes(jpeg(k))
            lines.append(f"{number}.jpg,{species},{place}")
        (folder / split / "metadata.csv").write_text("\n".join(lines) + "\n")


def _sign(place: str, species: str) -> str:
    """By hand: grass and beach are usual for the dog, sofa for the cat, the street for none."""
    usual = {"dog": ("grass", "beach"), "cat": ("sofa",)}[species]
    return "easy" if place in usual else "hard_positive" if species == "dog" else "hard_negative"


def _columns() -> dict[str, list[Any]]:
    found = [(split, species, place, _sign(place, species)) for split, _, species, place in _rows() if split == "train"]
    return {
        "label": [species for _, species, _, _ in found],
        "context": [place for _, _, place, _ in found],
        "challenge": [sign for *_, sign in found],
        "weight": [0.5 * k for k in range(len(found))],
    }


def _make_parquet(folder: Path) -> None:
    (folder / "own").mkdir()
    datasets.Dataset.from_dict(_columns()).to_parquet(folder / "own" / "rows.parquet")


def _make_csv(folder: Path) -> None:
    (folder / "own").mkdir()
    datasets.Dataset.from_dict(_columns()).to_csv(folder / "own" / "rows.csv")


def _make_repository(shard_size: float | None = None) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        source = folder.parent / f"{folder.name}-source"
        source.mkdir()
        _make_folder(source)
        write_user_repository(str(source), folder / "made", settings=Named(**_COLUMNS), shard_size=shard_size)

    return make


def _read(data: Any, columns: tuple[str, ...]) -> Any:
    """How often each combination of words occurs in each split, and of repositories the images with their labels."""
    counts = {}
    for split, part in data.items():
        names = [name for name in columns if name in part.features]
        words = [
            [None if code < 0 else part.features[name].names[code] for code in part[name][:]]
            if isinstance(part.features[name], datasets.ClassLabel)
            else part[name][:]
            for name in names
        ]
        counts[split] = tallied(zip(*words, strict=True))
    return counts


def _use(place: str, columns: tuple[str, ...] = _EVERY, **named: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        data = oochub.load(str(folder / place), **named)
        record = BuildRecord.of(next(iter(data.values())).info)
        counts = _read(data, columns)
        pictures = {
            split: tallied(
                zip(
                    [_digest(_stored(row)) for row in part.cast_column("image", datasets.Image(decode=False))["image"]],
                    part.features["label"].int2str(part["label"][:]),
                    strict=True,
                )
            )
            for split, part in data.items()
            if "image" in part.features and "label" in part.features
        }
        counts = {"rows": counts, **({"pictures": pictures} if named or place == "made" else {})}
        return Used(numbers=counts, notes=record.notes if record else (), counts=counts)

    return use


def _stored(picture: dict[str, Any]) -> bytes:
    return bytes(picture["bytes"] or Path(picture["path"]).read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:12]


def _count_folder(folder: Path) -> Any:
    """Of a folder of images: the words as they stand, and the bytes of the files that they name."""
    counts: dict[str, Any] = {"rows": {}, "pictures": {}}
    for split in sorted(path.name for path in folder.iterdir() if path.is_dir()):
        lines = csv_rows(folder / split / "metadata.csv")
        counts["rows"][split] = tallied((line["species"], line["place"]) for line in lines)
        counts["pictures"][split] = tallied(
            (_digest((folder / split / line["file_name"]).read_bytes()), line["species"]) for line in lines
        )
    return counts


def _count_table(folder: Path) -> Any:
    """Of one table, whatever its name: the words of its known columns; of challenges those that there are."""
    file = next(path for path in folder.iterdir() if path.suffix in (".parquet", ".csv"))
    if file.suffix == ".parquet":
        columns = parquet_columns([file])
    else:
        lines = csv_rows(file)
        columns = {name: [line[name] for line in lines] for name in lines[0]}
    unknown = set(columns.get("challenge", ())) - {"easy", "hard", "hard_positive", "hard_negative"}
    assert not unknown, f"{unknown} in challenge"
    if "label" in columns:  # truths are class numbers, and words of a context
        columns["label"] = [int(value) if isinstance(value, bool) else value for value in columns["label"]]
    kept = [columns[name] for name in _EVERY if name in columns]
    words = [column for column in kept if not any(isinstance(value, dict) for value in column)]
    return {"rows": {"train": tallied(zip(*words, strict=True))}}


def _card(folder: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(re.split(r"^---$", (folder / "made" / "README.md").read_text("utf-8"), flags=re.M)[1]))


def _class_names(folder: Path) -> dict[str, list[str]]:
    """Of the columns of classes in the card; those of a WebDataset are below `json`."""
    found = {}
    features = _card(folder).get("dataset_info", {}).get("features", ())
    for each in [*features, *(inner for outer in features for inner in outer.get("struct", ()))]:
        kind = each.get("dtype")
        if isinstance(kind, dict) and "class_label" in kind:
            names = kind["class_label"]["names"]
            found[each["name"]] = [names[str(k)] for k in range(len(names))]
    return found


def _original(folder: Path) -> Path:
    """The artifact as it was made."""
    return folder.parents[1] / "base" / folder.name


def _count_repository(folder: Path) -> Any:
    """Of Parquet: the codes of its files with the names of its card, which must be those of what it was made of.

    Without a card, or with one that says nothing of columns, the names are those of the build, which `build.json` has.
    """
    names, counts = _class_names(_original(folder)), {"rows": {}, "pictures": {}}
    card = folder / "made" / "README.md"
    if card.is_file() and card.read_bytes().startswith(b"---"):
        assert _class_names(folder) in (names, {}), "names of the card"
    for split in ("train", "test"):
        columns, built = (
            parquet_columns(sorted((place / "made" / "data").glob(f"{split}-*")))
            for place in (folder, _original(folder))
        )
        assert columns == built, "rows that nobody built"
        counts["rows"][split], counts["pictures"][split] = _words(columns, names), _pictures(columns, names)
    return counts


def _words(columns: Columns, names: dict[str, list[str]]) -> dict[str, int]:
    return tallied(zip(*([names[name][code] for code in columns[name]] for name in _EVERY), strict=True))


def _pictures(columns: Columns, names: dict[str, list[str]]) -> dict[str, int]:
    digests = [_digest(picture["bytes"]) for picture in columns["image"]]
    return tallied(zip(digests, (names["label"][code] for code in columns["label"]), strict=True))


def _count_shards(folder: Path) -> Any:
    """Of a WebDataset: the JSON and the image of each sample, as tarfile reads them; its index has the names."""
    file = folder / "made" / "data" / "index.json"
    index = json.loads(file.read_text("utf-8")) if file.exists() else None
    names = {name: index["columns"][name]["names"] for name in _EVERY} if index else _class_names(folder)
    counts: dict[str, Any] = {"rows": {}, "pictures": {}}
    for split in ("train", "test"):
        columns: Columns = {name: [] for name in (*_EVERY, "image")}
        for shard in sorted((folder / "made" / "data").glob(f"{split}-*.tar")):
            members = dict(_members(shard))
            assert members == dict(_members(_original(folder) / "made" / "data" / shard.name)), "samples nobody built"
            for name, content in members.items():
                if name.endswith(".json"):
                    stem = name.removesuffix(".json")
                    picture = next(data for other, data in members.items() if other.startswith(stem) and other != name)
                    columns["image"].append({"bytes": picture})
                    for each in _EVERY:
                        columns[each].append(json.loads(content)[each])
        counts["rows"][split], counts["pictures"][split] = _words(columns, names), _pictures(columns, names)
    return counts


def _members(shard: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(shard) as archive:
        return [(member.name, archive.extractfile(member).read()) for member in archive]  # type: ignore[union-attr]


def _names_swapped(folder: Path, rng: Random) -> str:
    """Two names of classes swapped in the card, or one renamed."""
    file = folder / "made" / "README.md"
    text, (a, b) = file.read_text("utf-8"), rng.choice((("cat", "dog"), ("easy", "hard_positive"), ("grass", "sofa")))
    if rng.random() < 0.7:
        text = re.sub(rf"'(\d)': {a}\n((?:.*\n){{0,3}}?.*)'(\d)': {b}\n", rf"'\1': {b}\n\2'\3': {a}\n", text, count=1)
        done = f"{a} and {b} swapped"
    else:
        text, done = text.replace(f": {a}\n", f": {a}s\n", 1), f"{a} renamed"
    file.write_text(text, "utf-8")
    return f"README.md: {done}"


def _repacked(folder: Path, rng: Random) -> str:
    """A shard packed anew with another label in one sample, its index made to fit or not."""
    index_file = next((folder / "made").rglob("index.json"))
    shard = rng.choice(sorted((folder / "made" / "data").glob("*.tar")))
    members = _members(shard)
    places = [k for k, (name, _) in enumerate(members) if name.endswith(".json")]
    at = rng.choice(places)
    record = json.loads(members[at][1])
    key = rng.choice(_EVERY)
    record[key] = rng.choice((1 - record[key] if record[key] in (0, 1) else 0, 99, -1, "dog", None))
    members[at] = (members[at][0], json.dumps(record).encode())
    with tarfile.open(shard, "w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    fitted = rng.random() < 0.6
    if fitted:
        index = json.loads(index_file.read_text())
        for listed in (each for part in index["datasets"] for each in part["shardlist"]):
            if listed["url"] == shard.name:
                listed |= {"filesize": shard.stat().st_size, "sha256": hashlib.sha256(shard.read_bytes()).hexdigest()}
        index_file.write_text(json.dumps(index))
    return f"{shard.name}: {key} of {members[at][0]} is {record[key]!r}, {'index fits' if fitted else 'index stays'}"


def _garbage(pattern: str) -> Change:
    def change(folder: Path, rng: Random) -> str:
        file = rng.choice(sorted(folder.glob(pattern)))
        file.write_bytes(rng.choice((b"", b"garbage" * 9, rng.randbytes(file.stat().st_size))))
        return f"{file.name} is garbage"

    return change


_SHARD = "made/data/*.parquet"
_FLIPPED = columns_of(_SHARD, cell("label", "context", "challenge", "group", values=(0, 1, 2, 99, -1, None)))
_OF_SHARDS: dict[str, Change] = {
    "labels": _FLIPPED,
    "rows": columns_of(_SHARD, rows),
    "types": columns_of(_SHARD, retyped("label", "context", "example_id", "challenge")),
    "class names": _names_swapped,
    "JSON field": field_of("made/build.json"),
    "bytes": bytes_of(_SHARD, "made/README.md", "made/build.json"),
    "place": place_of(_SHARD, "made/README.md", "made/build.json"),
}


def _repository_read(folder: Path) -> None:
    oochub.load(str(folder / "made"))


READERS = (
    Reader(
        kind=Format(name="image folder", make=_make_folder, count=_count_folder, names=_THINGS,
                    use=_use(".", columns=("label", "context"), **_COLUMNS)),
        changes={
            "cells": cells_of("*/metadata.csv", values=_NEAR),
            "rows": lines_of("*/metadata.csv"),
            "bytes": bytes_of("*/metadata.csv", "*/*.jpg"),
            "place": place_of("*/metadata.csv", "*/*.jpg"),
            "after a read": after(
                lambda folder: oochub.load(str(folder), **_COLUMNS), cells_of("*/metadata.csv", values=_NEAR)
            ),
            "after a read, its time": after(
                lambda folder: oochub.load(str(folder), **_COLUMNS),
                cells_of("*/metadata.csv", values=_NEAR),
                keep_times=True,
            ),
        },
    ),
    Reader(
        kind=Format(name="own Parquet", make=_make_parquet, use=_use("own"), names=_THINGS,
                    count=lambda folder: _count_table(folder / "own")),
        changes={
            "challenge words": columns_of(
                "own/*.parquet", cell("challenge", values=(*CHALLENGES, 0, 1, 2, True, None)), sealed=False),
            "labels": columns_of("own/*.parquet", cell("label", "context", values=_NEAR), sealed=False),
            "types": columns_of("own/*.parquet", retyped("label", "context", "challenge"), sealed=False),
            "rows": columns_of("own/*.parquet", rows, sealed=False),
            "bytes": bytes_of("own/*.parquet"),
            "place": place_of("own/*.parquet"),
        },
    ),
    Reader(
        kind=Format(name="own CSV", make=_make_csv, use=_use("own"), names=_THINGS,
                    count=lambda folder: _count_table(folder / "own")),
        changes={
            "cells": cells_of("own/rows.csv", values=(*_NEAR, *CHALLENGES)),
            "rows": lines_of("own/rows.csv"),
            "bytes": bytes_of("own/rows.csv"),
            "place": place_of("own/rows.csv"),
        },
    ),
    Reader(
        kind=Format(name="repository", make=_make_repository(), use=_use("made"), count=_count_repository,
                    names=_THINGS),
        changes={
            **_OF_SHARDS,
            "after a read": after(_repository_read, one_of(_FLIPPED, _garbage(_SHARD), _names_swapped)),
        },
        share=1.5,
    ),
    Reader(
        kind=Format(name="repository, WebDataset", make=_make_repository(0.005), use=_use("made"),
                    count=_count_shards, names=_THINGS),
        changes={
            "labels": _repacked,
            "class names": _names_swapped,
            "JSON field": field_of("made/build.json", "made/data/index.json"),
            "bytes": bytes_of("made/data/*.tar", "made/data/index.json", "made/README.md"),
            "place": place_of("made/data/*.tar", "made/data/index.json", "made/README.md", "made/build.json"),
            "after a read": after(_repository_read, one_of(_repacked, _garbage("made/data/*.tar"), _names_swapped)),
        },
    ),
)  # fmt: skip


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", fresh(READERS))
def test_own_data(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize("kind, case", every_day(READERS))
def test_own_data_every_day(campaign, kind, case):
    campaign.run(kind, case)
