"""Spawrious' 48 folders with one thing wrong: the build names it, or gives the same rows."""

import hashlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from datasets import Image as ImageFeature
from datasets import load_dataset
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Case, Format, Used
from mutations import bytes_cases, place_cases
from PIL import Image

import oochub  # noqa: F401  makes the benchmarks known to datasets
from oochub.records.build_record import BuildRecord

_BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
_PLACES = ("beach", "desert", "dirt", "jungle", "mountain", "snow")
_N = 10
_FOLDER = "spawrious224/0/desert/bulldog"  # of o2o_easy's first environment
_FILE = f"{_FOLDER}/desert_bulldog_3.png"
_NEVER_READ = "spawrious224/0/snow/bulldog/snow_bulldog_3.png"


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


def _each(change: Callable[[Path], Any]) -> Callable[[Path], None]:
    """The change of every one of the 48 folders."""

    def mutate(folder: Path) -> None:
        for where in folder.glob("spawrious224/*/*/*"):
            change(where)

    return mutate


def _named(name: str, *, content: bytes | None = None) -> Callable[[Path], Any]:
    """One more file in one folder, with the bytes of another or other ones."""
    return lambda folder: (folder / _FOLDER / name).write_bytes(content or (folder / _FILE).read_bytes())


_EXTRA = {
    "of another breed": ("desert_corgi_3.png", {SAME, REFUSED}),
    "of another number": ("desert_bulldog_11.png", {REFUSED}),
    "of a number with a superscript": ("desert_bulldog_².png", {SAME, REFUSED}),
    "of a number in other digits": ("desert_bulldog_٣.png", {SAME, REFUSED}),
    "of a number twice": ("desert_bulldog_03.png", {REFUSED}),
    "of no number": ("desert_bulldog_.png", {SAME, REFUSED}),
    "of a negative number": ("desert_bulldog_-1.png", {SAME, REFUSED}),
    "of a fraction": ("desert_bulldog_1.5.png", {SAME, REFUSED}),
    "of a number of 200 digits": ("desert_bulldog_" + "1" * 200 + ".png", {SAME, REFUSED}),
    "of another suffix": ("desert_bulldog_11.jpg", {SAME, REFUSED}),
    "of a large suffix": ("desert_bulldog_11.PNG", {SAME, REFUSED}),
    "of macOS": ("._desert_bulldog_3.png", {SAME}),
    "of Windows": ("Thumbs.db", {SAME}),
    "of a note": ("README.txt", {SAME}),
    "with a line end in its name": ("desert_bulldog_3\n.png", {SAME, REFUSED}),
}
CASES = [
    *(
        Case(name=f"a file {word}", mutate=_named(name), expect=frozenset(outcomes), names=("0/desert/bulldog",))
        for word, (name, outcomes) in _EXTRA.items()
    ),
    *(
        Case(name=f"the image {word.partition(' ')[2]}", mutate=case.mutate, names=("0/desert/bulldog",))
        for case in place_cases(_FILE)
        for word in (case.name,)
    ),
    *(
        Case(name=f"the image {word}", mutate=case.mutate, expect=frozenset({REFUSED, CHANGED} if later else {REFUSED}))
        for case in bytes_cases(_FILE, expect=frozenset({REFUSED}), flips=8)
        for word in (case.name.partition(" ")[2],)
        for later in ("bit" in word or word in ("cut in half", "without its last byte"),)  # a build decodes no pixel
    ),
    Case(
        name="an image that no row reads is empty",
        mutate=lambda folder: (folder / _NEVER_READ).write_bytes(b""),
        expect=frozenset({SAME, REFUSED}),
    ),
    Case(
        name="files in another order of time",
        mutate=_each(lambda where: [os.utime(file, (k, k)) for k, file in enumerate(sorted(where.iterdir()))]),
        expect=frozenset({SAME}),
    ),
    Case(
        name="every folder without its last file",
        mutate=_each(lambda where: next(where.glob("*_10.png")).unlink()),
        expect=frozenset({SAID}),
    ),
    Case(
        name="every folder with one file",
        mutate=_each(lambda where: [file.unlink() for file in where.iterdir() if "_1.png" not in file.name]),
        names=("10 in each",),
    ),
    Case(name="every folder empty", mutate=_each(lambda where: [file.unlink() for file in where.iterdir()])),
    Case(
        name="a link to an image of another folder",
        mutate=lambda folder: _linked(folder / _FILE, folder / "spawrious224/1/snow/corgi/snow_corgi_1.png"),
        expect=frozenset({CHANGED, REFUSED}),  # within the raw folder
    ),
    Case(
        name="a link to an image out of the raw folder",
        mutate=lambda folder: _linked(folder / _FILE, _outside(folder)),
    ),
    Case(
        name="a link to a text out of the raw folder",
        mutate=lambda folder: _linked(folder / _FILE, Path("/etc/passwd")),
    ),
    Case(
        name="an image that is a text",
        mutate=lambda folder: (folder / _FILE).write_text("no image at all, but some words\n"),
    ),
    Case(
        name="an image in PostScript",
        mutate=lambda folder: (folder / _FILE).write_bytes(
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 4 4\n%%EndComments\nshowpage\n"
        ),
    ),
]
for word, folder in {
    "the world": "spawrious224",
    "a repeat": "spawrious224/0",
    "a background": "spawrious224/0/desert",
    "a breed": _FOLDER,
}.items():
    CASES += [
        Case(name=f"{word} missing", mutate=lambda root, folder=folder: shutil.rmtree(root / folder)),
        Case(
            name=f"{word} under another name",
            mutate=lambda root, folder=folder: (root / folder).rename(root / f"{folder}_copy"),
        ),
        Case(
            name=f"{word} a file",
            mutate=lambda root, folder=folder: (shutil.rmtree(root / folder), (root / folder).write_text("")),
        ),
        Case(
            name=f"{word} a link to itself",
            mutate=lambda root, folder=folder: (
                shutil.rmtree(root / folder),
                (root / folder).symlink_to(root / folder),
            ),
        ),
        Case(
            name=f"{word} within itself",
            mutate=lambda root, folder=folder: (root / folder / "loop").symlink_to(root / folder),
            expect=frozenset({SAME, REFUSED}),
        ),
    ]


def _linked(file: Path, target: Path) -> None:
    file.unlink()
    file.symlink_to(target)


def _outside(folder: Path) -> Path:
    picture = folder.parent / "private.png"
    Image.new("RGB", (4, 4)).save(picture)
    return picture


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_spawrious(campaign, case):
    campaign.run(SPAWRIOUS, case)
