"""ObjectNet's images and the classes of ImageNet-1K that each of its classes stands for, as its download maps them.

An answer is right if it is any class that the image's own class is mapped to, as by its authors: they look for the
answer among all 1,000 classes, and give one that is mapped to nothing the number -1. They cut 2 pixels from each side.
Source: `objectnet_eval.py`, `objectnet_pytorch_dataloader.py` and `mapping_files/` of objectnet-template-pytorch
50cc886 (125 classes of ImageNet-1K for 113 of the 313); Barbu et al. 2019, abstract (50,000 images).
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from oochub.builders.sources.stored import Stored, stored_pictures
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS
from oochub.errors import OochubError, unknown_name
from oochub.storage.reading import read_json

BORDER = 2
"""Pixels that the authors cut from each side of an image."""
FOLDERS, MAPPING = "mappings/folder_to_objectnet_label.json", "mappings/objectnet_to_imagenet_1k.json"
BETWEEN = ";"
_PUBLISHED = {"images": 50_000, "classes": 313, "classes that ImageNet-1K has": 113, "classes of ImageNet-1K": 125}


def read_objectnet_classes(place: Path) -> dict[str, tuple[str, ...]]:
    """The wnids of ImageNet-1K that each folder of images stands for; none for a class that ImageNet-1K lacks.

    Args:
        place: The folder `objectnet-1.0/`.

    Raises:
        OochubError: A file of the mapping is missing or of another form, names a class or folder that the other lacks,
            or gives one class of ImageNet-1K to two classes.
    """
    labels, mapped = (_read_texts(place / name) for name in (FOLDERS, MAPPING))
    for name, count in Counter(labels.values()).items():
        if count > 1:
            raise OochubError(f"{place / FOLDERS} has two folders for the class {name!r}. Download it again.")
    for name in mapped:
        if name not in labels.values():
            raise OochubError(f"{place / MAPPING}: {unknown_name('class of ObjectNet', name, [*labels.values()])}")
    wnids = {
        name: tuple(_find_wnid(name_mapped.strip(), place) for name_mapped in mapped[name].split(BETWEEN))
        for name in mapped
    }
    for wnid, count in Counter(wnid for several in wnids.values() for wnid in several).items():
        if count > 1:
            raise OochubError(f"{place / MAPPING} gives {wnid} to {count} classes of ObjectNet. Download it again.")
    return {folder: wnids.get(name, ()) for folder, name in labels.items()}


def list_objectnet(place: Path, *, within: Path | None = None) -> tuple[list[Stored], list[str], tuple[str, ...]]:
    """The images of the classes that ImageNet-1K has, the label of each its wnids with ; between them.

    Args:
        place: The folder `objectnet-1.0/`.
        within: The folder that no link may lead out of; None follows every link.

    Returns:
        The images by name, what is missing of the release, and what else a reader should know.

    Raises:
        OochubError: See `read_objectnet_classes`; an image in a folder that the mapping does not name.
    """
    wnids = read_objectnet_classes(place)
    pictures = sorted(stored_pictures(place / "images", within=within)) if (place / "images").is_dir() else []
    if not pictures:
        raise OochubError(f"There are no images in {place / 'images'}. Unpack objectnet-1.0.zip there.")
    for stored in pictures:
        if _folder_of(stored) not in wnids:
            unknown = unknown_name("folder of ObjectNet", _folder_of(stored), [*wnids])
            raise OochubError(f"{stored.name} in {place / 'images'}: {unknown} {FOLDERS} lists them.")
    mapped_pictures = [
        stored._replace(name=f"images/{stored.name}", label=BETWEEN.join(wnids[_folder_of(stored)]))
        for stored in pictures
        if wnids[_folder_of(stored)]
    ]
    if not mapped_pictures:
        raise OochubError(f"No image in {place / 'images'} is of a class that {MAPPING} names. Download them again.")
    left_out = len({_folder_of(stored) for stored in pictures}) - len(
        {_folder_of(stored) for stored in mapped_pictures}
    )
    classes = "1 class" if left_out == 1 else f"{left_out} classes"
    remark = (
        f"{len(pictures) - len(mapped_pictures):,} of the images, of {classes} that ImageNet-1K lacks, are left out"
    )
    border = f"{BORDER} pixels are cut from each side of an image before a model sees it, as by the authors"
    return mapped_pictures, _list_gaps(pictures, mapped_pictures), (border, *([remark] if left_out else []))


def _folder_of(stored: Stored) -> str:
    return PurePosixPath(stored.name).parent.name


def _list_gaps(found: Sequence[Stored], known: Sequence[Stored]) -> list[str]:
    present = {wnid for stored in known for wnid in stored.label.split(BETWEEN)}
    counts = (len(found), len(set(map(_folder_of, found))), len(set(map(_folder_of, known))), len(present))
    published = zip(counts, _PUBLISHED.items(), strict=True)
    return [f"partial: {count:,} of {of:,} {what}" for count, (what, of) in published if count != of]


def _find_wnid(name: str, place: Path) -> str:
    try:
        return IMAGENET_1K_WNIDS[IMAGENET_1K_NAMES.index(name)]
    except ValueError:
        raise OochubError(
            f"{place / MAPPING}: {unknown_name('class of ImageNet-1K', name, IMAGENET_1K_NAMES)}"
        ) from None


def _read_texts(file: Path) -> Mapping[str, str]:
    content = read_json(file)
    if not isinstance(content, Mapping) or not content or not _are_texts([*content, *content.values()]):
        raise OochubError(f'{file} must map names to names, as {{"tie": "Tie"}}. Download it again.')
    return content


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) and value for value in values)
