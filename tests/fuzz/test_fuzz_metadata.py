"""The tables of Waterbirds, CelebA and CUB with one thing wrong: its line is named, or the rows are the same."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets import load_dataset
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Case, Format, Used
from mutations import place_cases, text_cases
from PIL import Image

import oochub  # noqa: F401  makes the benchmarks known to datasets
from oochub.records.build_record import BuildRecord
from oochub.studies.waterbirds.cub_images import cub_images

_IMAGES, _SPLIT = "images.txt", "train_test_split.txt"
_FILE, _FACES, _PARTITION = "metadata.csv", "list_attr_celeba.txt", "list_eval_partition.txt"
_HEADER = "img_id,img_filename,y,split,place,place_filename"


def _rows() -> list[str]:
    return [f"{k},{k % 3:03}.Bird/Bird_{k}.jpg,{k % 2},{k % 3},{k // 2 % 2},/o/ocean/{k:08}.jpg" for k in range(1, 25)]


def _make(folder: Path) -> None:
    for row in _rows():
        picture = folder / row.split(",")[1]
        picture.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(picture)
    (folder / _FILE).write_text("\n".join([_HEADER, *_rows()]) + "\n", "utf-8")


def _make_faces(folder: Path) -> None:
    """The texts of CelebA's authors; those that are CSV are read as Waterbirds' is."""
    (folder / "img_align_celeba").mkdir()
    names = [f"{k:06}.jpg" for k in range(1, 13)]
    for name in names:
        Image.new("RGB", (4, 4)).save(folder / "img_align_celeba" / name)
    rows = [f"{name} {1 - k % 2 * 2:2} {1 - k // 2 % 2 * 2:2}" for k, name in enumerate(names)]
    (folder / _FACES).write_text("\n".join([str(len(names)), "Blond_Hair Male ", *rows]) + "\n", "utf-8")
    (folder / _PARTITION).write_text("".join(f"{name} {k % 3}\n" for k, name in enumerate(names)), "utf-8")


def _use(folder: Path, out: Path) -> Used:
    benchmark = "waterbirds" if folder.name == METADATA.name else "celebA"
    data = load_dataset(benchmark, data_dir=str(folder), streaming=True)
    numbers = {split: list(part.remove_columns("image")) for split, part in data.items()}
    return Used(numbers=numbers, notes=tuple(BuildRecord.of(data["train"].info).notes))


def _make_cub(folder: Path) -> None:
    names = [f"{k % 2:03}.Bird/Bird_{k}" for k in range(1, 13)]
    for name in names:
        for file in (f"images/{name}.jpg", f"segmentations/{name}.png"):
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_bytes(b"no reader of lists opens it")
    (folder / _IMAGES).write_text("".join(f"{k} {name}.jpg\n" for k, name in enumerate(names, 1)), "utf-8")
    (folder / _SPLIT).write_text("".join(f"{k} {k // 2 % 2}\n" for k in range(1, 13)), "utf-8")


def _use_cub(folder: Path, out: Path) -> Used:
    return Used(numbers=[list(image) for image in cub_images(folder, folder / "segmentations")])


METADATA = Format(name="metadata.csv", make=_make, use=_use)
CUB = Format(name="CUB's lists", make=_make_cub, use=_use_cub)
FACES = Format(name="CelebA's lists", make=_make_faces, use=_use)


def _lines(change: Callable[[list[str]], list[str]]) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(
        "".join(change((folder / _FILE).read_text("utf-8").splitlines(keepends=True))), "utf-8"
    )


def _field(place: int, value: str) -> Callable[[Path], object]:
    def change(lines: list[str]) -> list[str]:
        fields = lines[5].rstrip("\n").split(",")
        fields[place] = value
        return [*lines[:5], ",".join(fields) + "\n", *lines[6:]]

    return _lines(change)


def _put(file: str, old: str, new: str) -> Callable[[Path], object]:
    return lambda folder: (folder / file).write_text((folder / file).read_text("utf-8").replace(old, new, 1), "utf-8")


_CODES = ["3", "-1", "", " 1", "1 ", "1.0", "01", "nan", "true", "١", "1e0", "waterbird", "9" * 400]
_PATHS = [
    *("", ".", "..", "/", "../metadata.csv", "/etc/passwd", "002.Bird", "002.Bird/", "./002.Bird/Bird_5.jpg"),
    *("002.Bird//Bird_5.jpg", "002.Bird/../002.Bird/Bird_5.jpg", "002.bird/bird_5.jpg", "002.Bird/Bird_5.JPG"),
    *("002.Bird/Bird_5.jpg ", "002.Bird\\Bird_5.jpg", "https://host/a.jpg", "x" * 300 + ".jpg", "a/" * 200 + "b.jpg"),
    *("metadata.csv", "nowhere.jpg", "000.Bird/Bird_3.jpg", "~/a.jpg", "*.jpg"),
]
CASES = [
    *(
        case
        for case in text_cases(_FILE, blank=frozenset({REFUSED}), bom=frozenset({SAME}))
        if case.name != f"{_FILE} without its last byte"  # the name of another place
    ),
    *place_cases(_FILE),
    *(
        Case(name=f"{n} {v[:20]!r}", mutate=_field(k, v))
        for k, n in ((2, "y"), (3, "split"), (4, "place"))
        for v in _CODES
    ),
    *(Case(name=f"img_filename {value[:40]!r}", mutate=_field(1, value)) for value in _PATHS),
    *(
        Case(
            name=f"the column {name} {word}",
            mutate=_lines(lambda lines, a=name, b=b: [lines[0].replace(a, b), *lines[1:]]),
        )
        for name in _HEADER.split(",")[:2]
        for word, b in {"renamed": "other", "with a space": f" {name}", "in capitals": name.upper()}.items()
    ),
    Case(name="no first line", mutate=_lines(lambda lines: lines[1:])),
    Case(name="a row twice", mutate=_lines(lambda lines: [*lines, lines[3]])),
    Case(name="a field more", mutate=_lines(lambda lines: [*lines[:3], lines[3].rstrip("\n") + ",1\n", *lines[4:]])),
    Case(name="a tab for a comma", mutate=_lines(lambda lines: [line.replace(",", "\t") for line in lines])),
    Case(name="a quote", mutate=_lines(lambda lines: [*lines[:3], '"' + lines[3], *lines[4:]])),
    Case(name="an empty line", mutate=_lines(lambda lines: [*lines[:3], "\n", *lines[3:]]), expect=frozenset({SAME})),
    Case(name="a row less", mutate=_lines(lambda lines: [*lines[:3], *lines[4:]]), expect=frozenset({SAID})),
    Case(
        name="in another order",
        mutate=_lines(lambda lines: [lines[0], *random.Random(0).sample(lines[1:], len(lines) - 1)]),
        expect=frozenset({CHANGED}),
    ),
]


_OF_FACES = [
    *(case for file in (_FACES, _PARTITION) for case in text_cases(file, blank=frozenset({REFUSED}))),
    *(case for file in (_FACES, _PARTITION) for case in place_cases(file)),
    *(
        Case(name=f"{file} {old!r} for {new!r}", mutate=_put(file, old, new))
        for file, old, new in (
            *((_FACES, "12\n", new) for new in ("", "13\n", "x\n", "12 12\n")),
            *((_FACES, "Male ", new) for new in ("", "male ", "Male Male ", "Male Young ")),
            *((_FACES, "000004.jpg", new) for new in ("", "000003.jpg", "../000004.jpg", "/000004.jpg", "4.jpg")),
            *((_FACES, "000001.jpg  1", new) for new in ("000001.jpg  0", "000001.jpg  +1", "000001.jpg  1 1")),
            *((_PARTITION, "000004.jpg 0", new) for new in ("000004.jpg 3", "000004.jpg", "000003.jpg 0", "x 0")),
        )
    ),
]
_OF_CUB = [
    *(
        case
        for file in (_IMAGES, _SPLIT)
        for case in text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({SAME}))
    ),
    *(case for file in (_IMAGES, _SPLIT) for case in place_cases(file)),
    *(
        Case(name=f"{file} {old!r} for {new!r}", mutate=_put(file, old, new))
        for file, old, new in (
            *((_IMAGES, "001.Bird/Bird_3.jpg", new) for new in ("", "../a.jpg", "/a.jpg", "Bird_3.jpg", "a b.jpg")),
            *((_IMAGES, "3 001", new) for new in ("2 001", "99 001", "x 001", "001")),
            *((_SPLIT, "3 1", new) for new in ("3 2", "3", "4 1", "3 1 1", "3 yes", "")),
        )
    ),
]
CASES = [
    *((METADATA, case) for case in CASES),
    *((FACES, case) for case in _OF_FACES),
    *((CUB, case) for case in _OF_CUB),
]


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_metadata(campaign, kind, case):
    campaign.run(kind, case)
