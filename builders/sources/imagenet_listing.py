"""Which images belong to each set of ImageNet's kin, in what order, and what is missing of the published ones."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from oochub.builders.sources.imagenet import WNID, imagenet_pictures
from oochub.builders.sources.imagenet_ood_classes import OOD_CLASSES
from oochub.builders.sources.imagenet_sets import (
    CORRUPTIONS,
    LISTED,
    OPENOOD_LISTS,
    RENDITIONS,
    SETS,
    SEVERITIES,
    entering,
    published_name,
    rendition,
    set_of,
)
from oochub.builders.sources.imagenet_truth import validation_wnids
from oochub.builders.sources.objectnet import list_objectnet
from oochub.builders.sources.raw_table import RawColumn, RawTable
from oochub.builders.sources.stored import Stored
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS, LABELS
from oochub.errors import OochubError, did_you_mean
from oochub.storage.reading import read_lines

_PAPER_SAYS = 31_807
_OF_21K = re.compile(r"(n\d{8})/\1_\d+\.JPEG")
_CLASS_NUMBER = re.compile(r"[0-9]{1,3}")
_NAMED = 10


class Listing(NamedTuple):
    """The images of a split, and how they differ from the published ones.

    Attributes:
        pictures: The images in the order of the rows.
        gaps: What is missing from the published set, in words; strict=True makes it an error.
        remarks: What else a reader should know.
        missing: The files of a list that were not found.
    """

    pictures: list[Stored]
    gaps: list[str]
    remarks: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def list_pictures(config: str, place: Path, file_list: Path | None, *, within: Path | None = None) -> Listing:
    """The images of a config's split `test`.

    Args:
        config: A name of `SETS`, or `<corruption>_<severity>`.
        place: The folder of its set.
        file_list: Names of files, one per line: those that belong to `imagenet_ood` or a set of `LISTED`. None takes
            every image of the 637 classes, or every image.
        within: The folder that no link may lead out of; None follows every link.

    Raises:
        OochubError: No image, images of no known class, a broken archive or list, or what `within` refuses.
    """
    passed: list[str] = []
    listing = _list_pictures(config, place, file_list, within, passed)
    return listing._replace(gaps=[*listing.gaps, *_list_links(passed)])


def _list_pictures(config: str, place: Path, file_list: Path | None, within: Path | None, passed: list[str]) -> Listing:
    environment = set_of(config)
    if config == "imagenet_ood":
        names = None if file_list is None else _read_list(file_list, of_21k=True)
        wnids = set(OOD_CLASSES) if names is None else {name.partition("/")[0] for name in names}
        of_wnids = imagenet_pictures(
            place, enter=lambda name: not WNID.fullmatch(name) or name in wnids, within=within, passed=passed
        )
        return _list_imagenet_ood(place, (stored for stored in of_wnids if stored.label in wnids), names, wnids)
    if environment == "objectnet":
        return Listing(*list_objectnet(place, within=within))
    published = SETS[environment].images if environment == config else 50_000
    pictures = list(imagenet_pictures(place, enter=entering(config), within=within, passed=passed))
    if environment in LISTED:
        return _list_all_or_listed(environment, place, pictures, file_list)
    if environment == "imagenet_1k" and not all(stored.label for stored in pictures):
        truth = validation_wnids(place)
        pictures = [
            picture._replace(label=truth.get(PurePosixPath(picture.name).stem, picture.label)) for picture in pictures
        ]
    if environment == "imagenet_v2":
        pictures = [stored._replace(label=_read_class_number(stored.name)) for stored in pictures]
    if environment == "imagenet_c":
        pictures = [stored for stored in pictures if _is_corrupted(stored)]
    return _list_known_classes(environment, place, pictures, published, "images")


def list_training_pictures(place: Path, *, within: Path | None = None) -> Listing:
    """The images of ImageNet-1K's split `train`; see `list_pictures`."""
    passed: list[str] = []
    pictures = imagenet_pictures(place, within=within, passed=passed)
    listing = _list_known_classes("imagenet_1k", place, pictures, 1_281_167, "training images")
    return listing._replace(gaps=[*listing.gaps, *_list_links(passed)])


def _list_links(passed: Sequence[str]) -> list[str]:
    return [f"{len(passed):,} links or devices in archives are skipped: {_shorten_names(passed)}"] if passed else []


def _read_class_number(name: str) -> str:
    """The wnid of an image of ImageNetV2, whose folder is the number of its class; "" for any other folder."""
    folder = PurePosixPath(name).parent.name
    return IMAGENET_1K_WNIDS[int(folder)] if _CLASS_NUMBER.fullmatch(folder) else ""


def _is_corrupted(stored: Stored) -> bool:
    parts = PurePosixPath(stored.name).parts
    return len(parts) > 3 and parts[-4] in CORRUPTIONS and parts[-3] in SEVERITIES


def _list_known_classes(environment: str, place: Path, pictures: Iterable[Stored], images: int, what: str) -> Listing:
    named = _index_by_name(environment, place, pictures)
    unknown = [stored.name for stored in named.values() if stored.label not in LABELS]
    if unknown:
        named_like = "the number of its class, 0/ to 999/" if environment == "imagenet_v2" else "its class, n01440764/"
        raise OochubError(
            f"{len(unknown):,} images in {place} belong to no class of ImageNet-1K: {_shorten_names(unknown)}. Each "
            f"must lie in a folder named like {named_like}. Move the others away."
        )
    remarks = _note_other_renditions(place, sorted(named)) if environment == "imagenet_r" else ()
    pictures = [named[name] for name in sorted(named)]
    counts = (
        (len({stored.label for stored in pictures}), SETS[environment].classes, "classes"),
        (len(pictures), images, what),
    )
    return Listing(pictures, [f"partial: {n:,} of {of:,} {what}" for n, of, what in counts if n != of], remarks)


def _note_other_renditions(place: Path, names: Iterable[str]) -> tuple[str, ...]:
    """A remark on images of ImageNet-R that count as `misc`; a word that is misspelt is refused."""
    others = [name for name in names if not rendition(PurePosixPath(name).stem)]
    for name in others:
        word = PurePosixPath(name).stem.partition("_")[0]
        if word.strip().lower() in RENDITIONS:
            raise OochubError(
                f"{name} in {place} begins with {word!r}, which is none of "
                f"{', '.join(RENDITIONS)}.{did_you_mean(word, RENDITIONS)} Download it again."
            )
    words = f"images of other renditions than the published, so of misc: {len(others):,} ({_shorten_names(others)})"
    return (words,) if others else ()


def _list_imagenet_ood(place: Path, pictures: Iterable[Stored], listed: list[str] | None, wnids: set[str]) -> Listing:
    named = _index_by_name("imagenet_ood", place, pictures)
    named = {name: stored for name, stored in named.items() if _OF_21K.fullmatch(name)}
    if listed is None:
        classes = len({stored.label for stored in named.values()})
        gap = f"no file list: every image of {classes} of the {len(OOD_CLASSES)} classes, not the published choice"
        return Listing([named[name] for name in sorted(named)], [gap])
    remarks = []
    if len(listed) == SETS["imagenet_ood"].images:
        remarks.append(f"the published file list has {len(listed):,} files, but the paper says {_PAPER_SAYS:,}")
    if others := len(wnids - set(OOD_CLASSES)):
        remarks.append(f"{others} of the {len(wnids)} classes listed are not among the paper's {len(OOD_CLASSES)}")
    return _order_as_listed(listed, named, SETS["imagenet_ood"].images, remarks)


def _list_all_or_listed(environment: str, place: Path, pictures: Iterable[Stored], file_list: Path | None) -> Listing:
    named = _index_by_name(environment, place, pictures)
    labeled = [stored.name for stored in named.values() if stored.label in LABELS]
    if labeled:
        raise OochubError(
            f"{len(labeled):,} images in {place} belong to a class of ImageNet-1K, so they are not OOD: "
            f"{_shorten_names(labeled)}. Move them away."
        )
    listed = sorted(named) if file_list is None else _read_list(file_list, of_21k=False)
    if environment == "ssb_hard" and file_list is not None:  # a name of its list is that of a class and a file
        listed = [f"{PurePosixPath(name).stem.rpartition('_')[0]}/{name}" for name in listed]
    published, remarks = SETS[environment].images, []
    if file_list is not None and len(listed) == OPENOOD_LISTS.get(environment):
        remarks = [f"the list of OpenOOD names {len(listed):,} of the {published:,} published images"]
        published = len(listed)
    return _order_as_listed(listed, named, published, remarks)


def _order_as_listed(listed: Sequence[str], named: dict[str, Stored], published: int, remarks: list[str]) -> Listing:
    missing = tuple(name for name in listed if name not in named)
    gaps = [] if len(listed) == published else [f"partial: {len(listed):,} of {published:,} images"]
    if missing:
        gaps.append(f"{len(missing):,} of the {len(listed):,} files listed are missing: {_shorten_names(missing)}")
    if len(missing) == len(listed):
        raise OochubError(f"None of the {len(listed):,} listed files is there: {_shorten_names(missing)}.")
    return Listing([named[name] for name in listed if name in named], gaps, tuple(remarks), missing)


def _index_by_name(environment: str, place: Path, pictures: Iterable[Stored]) -> dict[str, Stored]:
    """Images by their published names; one that lies there twice, packed and unpacked, counts once."""
    named: dict[str, Stored] = {}
    for stored in pictures:
        named.setdefault(published_name(environment, stored), stored)
    if not named:
        raise OochubError(
            f"There are no images of {environment} in {place}. `oochub show benchmark imagenet_ood` draws the folder."
        )
    return named


def _read_list(file: Path, *, of_21k: bool) -> list[str]:
    """The names of a list, in its order; of a set of `LISTED` what follows the last slash, and a label is left out."""
    lines = [(number, line.strip()) for number, line in enumerate(read_lines(file), 1) if line.strip()]
    column = RawColumn(
        pattern=_OF_21K.pattern if of_21k else "", form="n02925009/n02925009_2846.JPEG or the like", is_unique=True
    )
    rows = [(number, [line if of_21k else PurePosixPath(line.split()[0]).name]) for number, line in lines]
    table = RawTable.of_rows(file, ["file"], rows, {"file": column})
    listed: list[str] = table["file"]
    table.require(
        [not of_21k or name.partition("/")[0] not in LABELS for name in listed],
        lambda row: f"{listed[row]} belongs to a class of ImageNet-1K, so it is not OOD",
    )
    return listed


def _shorten_names(names: Sequence[str]) -> str:
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else "")
