"""The images of Spawrious where they lie: in the folder spawrious224/, or in tar archives that stay packed."""

import re
from collections.abc import Iterable, Mapping
from itertools import product
from pathlib import Path
from typing import NamedTuple

from oochub.builders.sources.spawrious_compositions import BACKGROUNDS, BREEDS
from oochub.builders.sources.stored import Stored, containers, stored_pictures
from oochub.errors import OochubError

FOLDER = "spawrious224"
ARCHIVES = f"{FOLDER}*.tar*"
"""What an archive beside the folder, or in its place, is called: spawrious224__entire_dataset.tar."""
_PLACES = "|".join(BACKGROUNDS)
_FILE = re.compile(rf"(?:{FOLDER}/)?([01])/({_PLACES})/({'|'.join(BREEDS)})/\2_\3_([0-9]{{1,18}})\.png")
_SHOWN = 3


class SpawriousFiles(NamedTuple):
    """The images of the 48 folders, equally many in each.

    Attributes:
        place: The folder below which they were found.
        folders: (repeat, background, breed) to its images with their numbers, in the order of these.
        notes: What a reader should know about where they were found.
        is_packed: Whether any lies in an archive.
    """

    place: Path
    folders: Mapping[tuple[int, str, str], list[tuple[int, Stored]]]
    notes: tuple[str, ...]
    is_packed: bool

    @property
    def n(self) -> int:
        """Images in each folder."""
        return len(next(iter(self.folders.values())))

    @classmethod
    def find(cls, folder: Path, *, within: Path | None = None) -> "SpawriousFiles":
        """Lists the images of a raw folder; of spawrious224/ and archives beside it the folder is read.

        Args:
            folder: It holds spawrious224/, or archives named spawrious224*.tar.
            within: The folder that no link may lead out of; None follows every link.

        Raises:
            OochubError: Folders of unequal size; each is named. An archive that is broken or
                compressed, or holds a link or device; see `stored_pictures`.
        """
        place = _place(folder)
        pictures_of: dict[tuple[int, str, str], dict[str, tuple[int, Stored]]] = {
            key: {} for key in product((0, 1), BACKGROUNDS, BREEDS)
        }
        for stored in stored_pictures(place, enter=_is_of_spawrious, is_last=_is_breed, within=within):
            if match := _FILE.fullmatch(stored.name):
                repeat, background, breed, number = match.groups()
                name = stored.name.rpartition("/")[2]  # what several archives hold counts once
                pictures_of[int(repeat), background, breed].setdefault(name, (int(number), stored))
        folders = {key: sorted(pictures.values()) for key, pictures in pictures_of.items()}
        archives = sorted({stored.archive for files in folders.values() for _, stored in files} - {""})
        _check_equal(folders, place, archives)
        beside = [] if place == folder else sorted(path.name for path in folder.glob(ARCHIVES))
        notes = [f"read from the folder {FOLDER}/, not from {_format_names(beside)} beside it"] if beside else []
        return cls(place, folders, tuple(notes), bool(archives))


def spawrious_places(folder: Path) -> Iterable[Path]:
    """The folders and archives whose time or size changes when a raw folder's images change."""
    return containers(_place(folder), _is_of_spawrious, is_last=_is_breed)


def _place(folder: Path) -> Path:
    return folder / FOLDER if (folder / FOLDER).is_dir() else folder


def _is_of_spawrious(name: str) -> bool:
    return name in ("0", "1", *BACKGROUNDS, *BREEDS) or name.startswith(FOLDER)


def _is_breed(name: str) -> bool:
    return name in BREEDS


def _check_equal(
    folders: Mapping[tuple[int, str, str], list[tuple[int, Stored]]], place: Path, archives: list[str]
) -> None:
    sizes = sorted({len(files) for files in folders.values()})
    if len(sizes) == 1 and sizes != [0]:
        return
    usual = max(sizes, key=lambda size: sum(len(files) == size for files in folders.values()) * (size > 0))
    wrong = [
        f"{r}/{b}/{y} has {len(files)}" for (r, b, y), files in folders.items() if len(files) != usual or not usual
    ]
    again = (
        f"{_format_names(archives)} may be truncated, or hold only one challenge: get "
        "spawrious224__entire_dataset.tar.gz, and decompress it."
        if archives
        else "Unpack the archives again."
    )
    raise OochubError(
        f"The 48 folders of {place} must hold the same number of files <background>_<breed>_<k>.png (3,168 in the "
        f"release). Most hold {usual}; {', '.join(wrong)}. {again}"
    )


def _format_names(names: list[str]) -> str:
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
