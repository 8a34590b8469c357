"""Own data, and the repositories that are made of them, with one thing wrong: an error, a word, or rows."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets
from fuzz_case import Format, Used
from own_data import jpeg

import oochub
from oochub.records.build_record import BuildRecord
from oochub.repository.write_repository import write_user_repository
from oochub.settings.data_settings import DataSettings as Named

_PLACES = {"dog": ("grass", "grass", "beach", "street"), "cat": ("sofa", "sofa", "grass", "street")}
_ROWS = [(species, place) for species, places in _PLACES.items() for place in places]
_COLUMNS = {"label": "species", "context": "place"}
_THINGS = ("species", "place", "label", "context", "challenge", "group", "split", "classes", "class", "picture", "data")


def _make_folder(folder: Path) -> None:
    for split, repeats in (("train", 2), ("test", 1)):
        (folder / split).mkdir()
        lines = ["file_name,species,place"]
        for number, (species, place) in enumerate(_ROWS * repeats):
            (folder / split / f"{number}.jpg").write_bytes(jpeg(str(number % len(_ROWS))))
            lines.append(f"{number}.jpg,{species},{place}")
        (folder / split / "metadata.csv").write_text("\n".join(lines) + "\n")


def _make_table(folder: Path, write: str) -> None:
    """16 rows with a challenge; `write` is the method of a data set that writes the file."""
    (folder / "own").mkdir()
    columns = {
        "label": [species for species, _ in _ROWS],
        "context": [place for _, place in _ROWS],
        "challenge": ["easy", "easy", "easy", "hard_positive", "easy", "easy", "hard_negative", "hard_negative"],
        "weight": [0.5 * k for k in range(len(_ROWS))],
    }
    rows = datasets.Dataset.from_dict({name: values * 2 for name, values in columns.items()})
    getattr(rows, write)(folder / "own" / f"rows.{write.removeprefix('to_')}")


def _make_repository(folder: Path, shard_size: float | None = None) -> None:
    source = folder.parent / f"{folder.name}-source"
    source.mkdir()
    _make_folder(source)
    write_user_repository(str(source), folder / "made", settings=Named(**_COLUMNS), shard_size=shard_size)


def _count(part: datasets.Dataset) -> Any:
    """How often each combination of label, context and challenge occurs."""
    names = [name for name in ("label", "context", "challenge") if name in part.features]
    return Counter(map(str, zip(*(part[name][:] for name in names), strict=True)))


def _use(place: str, **named: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        data = oochub.load(str(folder / place), **named)
        record = BuildRecord.of(next(iter(data.values())).info)
        return Used(numbers={split: _count(part) for split, part in data.items()}, notes=record.notes if record else ())

    return use


OWN_FOLDER = Format(name="image folder", make=_make_folder, use=_use(".", **_COLUMNS), names=_THINGS)
OWN_PARQUET = Format(
    name="own Parquet", make=lambda folder: _make_table(folder, "to_parquet"), use=_use("own"), names=_THINGS
)
OWN_CSV = Format(name="own CSV", make=lambda folder: _make_table(folder, "to_csv"), use=_use("own"), names=_THINGS)
REPOSITORY = Format(name="repository", make=_make_repository, use=_use("made"), names=_THINGS)
WEBDATASET = Format(
    name="repository, WebDataset", make=lambda folder: _make_repository(folder, 0.005), use=_use("made"), names=_THINGS
)
