"""Waterbirds' metadata.csv with one thing wrong: its line is named, or the rows are the same."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from datasets import load_dataset
from fuzz_case import CHANGED, REFUSED, SAID, SAME, Case, Format, Used
from mutations import place_cases, text_cases
from PIL import Image

import oochub  # noqa: F401  makes the benchmarks known to datasets
from oochub.build_record import BuildRecord

_FILE = "metadata.csv"
_HEADER = "img_id,img_filename,y,split,place,place_filename"


def _rows() -> list[str]:
    return [f"{k},{k % 3:03}.Bird/Bird_{k}.jpg,{k % 2},{k % 3},{k // 2 % 2},/o/ocean/{k:08}.jpg" for k in range(1, 25)]


def _make(folder: Path) -> None:
    for row in _rows():
        picture = folder / row.split(",")[1]
        picture.parent.mkdir(exist_ok=True)
        Image.new("RGB", (4, 4)).save(picture)
    (folder / _FILE).write_text("\n".join([_HEADER, *_rows()]) + "\n", "utf-8")


def _use(folder: Path, out: Path) -> Used:
    data = load_dataset("waterbirds", data_dir=str(folder), streaming=True)
    numbers = {split: list(part.remove_columns("image")) for split, part in data.items()}
    return Used(numbers=numbers, notes=tuple(BuildRecord.of(data["train"].info).notes))


METADATA = Format(name="metadata.csv", make=_make, use=_use)


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


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_metadata(campaign, case):
    campaign.run(METADATA, case)
