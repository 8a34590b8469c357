"""Images in two levels of folders, such as domain/class/image: what lies where, and whether it is whole."""

import filecmp
import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.errors import OochubError
from oochub.storage.picture_file import check_inside

SUFFIXES = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""The files that count as images, as for torchvision's ImageFolder."""
_SHOWN = 3

Folders = Mapping[str, Mapping[str, list[str]]]
"""The names of the images by outer and inner folder, all sorted."""


def list_class_folders(place: Path, *, within: Path | None = None) -> Folders:
    """The images of `outer/inner/image` below a folder, by the names of both folders.

    Args:
        place: The folder that holds the outer folders; files beside them, and hidden folders, are passed over.
        within: The folder that no link may lead out of; None follows every link.

    Raises:
        OochubError: A folder that cannot be listed or is a link that leads out; a folder among images, whose images
            would be lost.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> (folder / "photo" / "dog").mkdir(parents=True)
    >>> _ = (folder / "photo" / "dog" / "1.jpg").write_bytes(b"...")
    >>> list_class_folders(folder)
    {'photo': {'dog': ['1.jpg']}}
    """
    return {
        outer: {inner: _list_images(place / outer / inner, within) for inner in _list_folders(place / outer, within)}
        for outer in _list_folders(place, within)
    }


def iterate_folders(place: Path) -> Iterator[Path]:
    """The folder and the folders of both levels below it: their times change when an image is added or removed.

    There are none if the folder is not there.
    """
    if not place.is_dir():
        return
    yield place
    for outer in _list_folders(place, None):
        yield place / outer
        yield from (place / outer / inner for inner in _list_folders(place / outer, None))


def check_same_classes(folders: Folders, place: Path, *, outer: str, inner: str, order: str) -> list[str]:
    """Checks that each outer folder has images in folders of the same names, and returns these names, sorted.

    Args:
        folders: What `list_class_folders` gave.
        place: The folder that they lie in.
        outer: What an outer folder is, for errors: "domain".
        inner: What an inner folder is: "class".
        order: The layout, for errors: "domain/class/image".

    Raises:
        OochubError: An outer folder without an image, two names for one inner folder, an inner folder that is missing
            or empty in one of them.
    """
    for name, own in folders.items():
        if not any(own.values()):
            raise OochubError(
                f"The {outer} {name} of {place} holds no image. The folder must be {order}: download it again, or "
                f"remove the {outer}."
            )
    names = sorted({folder for own in folders.values() for folder, images in own.items() if images})
    _check_one_name_each(names, folders, place, inner)
    missing = [(name, folder) for name, own in folders.items() for folder in names if not own.get(folder)]
    if missing:
        shown = ", ".join(f"{name}/{folder}" for name, folder in missing[:_SHOWN])
        raise OochubError(
            f"{place} lacks {len(missing):,} of {len(folders) * len(names):,} folders {outer}/{inner}, or they are "
            f"empty, first {shown}. Each {outer} must have images of each {inner}: fetch these, or remove the {inner} "
            f"from every {outer}."
        )
    return names


def _check_one_name_each(names: list[str], folders: Folders, place: Path, inner: str) -> None:
    """Refuses "Alarm_Clock" beside "alarm clock": two names for one class."""
    folded: dict[str, str] = {}
    for name in names:
        key = name.casefold().replace("_", "").replace("-", "").replace(" ", "")
        if key in folded:
            where = {
                folder: next(f"{outer}/{folder}" for outer, own in folders.items() if folder in own) for folder in names
            }
            raise OochubError(
                f"{place} has two names for one {inner}: {where[folded[key]]} and {where[name]}. Rename one of them."
            )
        folded[key] = name


def check_names(place: Path, kind: str, names: Iterable[str], column: RawColumn) -> RawTable:
    """The names of folders as a table of one column, checked.

    Args:
        place: The folder that they lie in.
        kind: What such a folder is, for errors: "domain".
        names: Their names.
        column: What each must be.

    Raises:
        OochubError: A name that is not allowed, with those that are near.

    >>> check_names(Path("PACS"), "domain", ["photos"], RawColumn(codes=["photo", "sketch"]))
    Traceback (most recent call last):
    oochub.errors.OochubError: PACS, photos/: domain must be photo or sketch, got 'photos'. Did you mean 'photo'? \
Download it again.
    """
    listed = [*names]
    return RawTable(file=place, place=lambda row: f"{listed[row]}/").add(kind, listed, column)


def check_no_copies(folders: Folders, place: Path) -> None:
    """Refuses an image that lies in two outer folders: a file of the same name with the same bytes.

    A copy under another name is not found; `oochub check` compares images by what they show.

    Raises:
        OochubError: Such an image; both its places are named.
    """
    counts = Counter(image for own in folders.values() for images in own.values() for image in images)
    seen: dict[tuple[str, int], list[tuple[str, Path]]] = {}
    for outer, own in folders.items():
        for inner, images in own.items():
            for image in images:
                path = place / outer / inner / image
                if counts[image] < 2 or not path.is_file():
                    continue
                others = seen.setdefault((image, path.stat()[stat.ST_SIZE]), [])
                for elsewhere, other in others:
                    if elsewhere != outer and path.stat()[stat.ST_SIZE] and filecmp.cmp(path, other, shallow=False):
                        raise OochubError(
                            f"{other.relative_to(place)} and {path.relative_to(place)} of {place} are the same image, "
                            "so it would be both trained on and tested on. Remove one of them."
                        )
                others.append((outer, path))


def _list_folders(folder: Path, within: Path | None) -> list[str]:
    names = sorted(entry.name for entry in _scan(folder) if entry.is_dir() and not entry.name.startswith("."))
    for name in names if within else ():
        check_inside(folder / name, root=within or folder)
    return names


def _list_images(folder: Path, within: Path | None) -> list[str]:
    entries = [entry for entry in _scan(folder) if not entry.name.startswith(".")]
    if deeper := sorted(entry.name for entry in entries if entry.is_dir()):
        raise OochubError(
            f"{folder} holds the folder {deeper[0]}, but may only contain images. Move the images up one level, or "
            "pass the subfolder."
        )
    return sorted(entry.name for entry in entries if entry.name.lower().endswith(SUFFIXES))


def _scan(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError as error:  # no permission, or a link to itself
        raise OochubError(f"{folder} cannot be listed: {error.strerror}. Unpack it again.") from error
