"""Spawrious' 48 folders with one thing wrong: the build names it, or gives the same rows."""

import hashlib
from pathlib import Path

from datasets import Image as ImageFeature
from datasets import load_dataset
from fuzz_case import Format, Used
from PIL import Image

import oochub  # noqa: F401  makes the benchmarks known to datasets
from oochub.records.build_record import BuildRecord

_BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
_PLACES = ("beach", "desert", "dirt", "jungle", "mountain", "snow")
_N = 10


def _make(folder: Path) -> None:
    for repeat in (0, 1):
        for place in _PLACES:
            for breed in _BREEDS:
                where = folder / "spawrious224" / str(repeat) / place / breed
                where.mkdir(parents=True)
                for k in range(1, _N + 1):
                    color = (40 * _PLACES.index(place), 60 * _BREEDS.index(breed), 20 * k + repeat)
                    Image.new("RGB", (4, 4), color).save(where / f"{place}_{breed}_{k}.png")


def _use(folder: Path, out: Path) -> Used:
    data = load_dataset("spawrious", "o2o_easy", data_dir=str(folder), streaming=True)
    numbers = {
        name: [
            row | {"image": hashlib.sha256(row["image"]["bytes"]).hexdigest()}
            for row in part.cast_column("image", ImageFeature(decode=False))
        ]
        for name, part in data.items()
    }
    return Used(numbers=numbers, notes=tuple(BuildRecord.of(data["train"].info).notes))


SPAWRIOUS = Format(name="Spawrious", make=_make, use=_use)
