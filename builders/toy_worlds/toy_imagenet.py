"""A toy of ImageNet-1K and the sets beside it: drawn things, corrupted, redrawn, unknown; in the real layouts."""

import hashlib
import io
import json
import tarfile
from itertools import chain, product
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from oochub.builders.sources.imagenet_sets import CORRUPTIONS
from oochub.builders.toy_worlds import _things
from oochub.builders.toy_worlds._corruptions import corrupt
from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._things import ID_THINGS, OOD_THINGS, Style, Thing
from oochub.class_names.imagenet_classes import IMAGENET_R_WNIDS, LABELS

_SIZES = {"small": 3, "medium": 20}
_WORLD = World("toy_imagenet", _SIZES, 1, counts="validation_pictures_per_class", version={"drawing": 3})
_TRAINING = 10
"""Training images for each validation image."""
_UNLISTED = 1
"""Images of each class of ImageNet-21K that the list of ImageNet-OOD leaves out."""
_PACKED = tuple(OOD_THINGS)[len(OOD_THINGS) // 2 :]
"""The classes of ImageNet-21K that lie there as a tar; the others are folders."""
_VALIDATION, _TRAIN, _OOD, _OPEN, _RENDITION, _SKETCH, _CORRUPTION, _NEAR, _FAR, _MISSED, _AGAIN, _ROOM = range(12)
"""What each stream of numbers is for."""
_OBJECTNET = {  # folder of ObjectNet: the name of its class, the class drawn, and classes of ImageNet-1K, if any
    "backpack": ("Backpack", "n02769748", "backpack, back pack, knapsack, packsack, rucksack, haversack"),
    "hammer": ("Hammer", "n03481172", "hammer"),
    "lemon": ("Lemon", "n07749582", "lemon"),
    "mug": ("Mug", "n03063599", "coffee mug"),
    "squeegee": ("Squeegee", "n02906734", ""),
    "tie": ("Tie", "n04591157", "bow tie, bow-tie, bowtie; Windsor tie"),
}


def _paint(seed: int, thing: Thing, *cell: int, style: Style = _things.PHOTO) -> Image.Image:
    """An image of a cell (stream, class, number); it depends on nothing but these and the seed."""
    return _things.paint(np.random.default_rng([seed, *cell]), thing, style)


def _list_known_classes(seed: int, count: int) -> Files:
    """ImageNet-1K, and -C, -R and -Sketch beside it, class by class."""
    for label, (wnid, thing) in enumerate(ID_THINGS.items()):
        for k in range(count):
            name = f"{wnid}/ILSVRC2012_val_{k * len(ID_THINGS) + label + 1:08}.JPEG"
            picture = _paint(seed, thing, _VALIDATION, label, k)
            yield f"imagenet/val/{name}", picture
            if k < max(1, count // 5):
                for number, (corruption, severity) in enumerate(product(CORRUPTIONS, range(1, 6))):
                    rng = np.random.default_rng([seed, _CORRUPTION, label, k, number])
                    yield f"imagenet-c/{corruption}/{severity}/{name}", corrupt(picture, corruption, severity, rng)
            yield f"sketch/{wnid}/sketch_{k}.JPEG", _paint(seed, thing, _SKETCH, label, k, style=_things.SKETCH)
            if wnid in IMAGENET_R_WNIDS:
                rendition, style = list(_things.RENDITIONS.items())[(label + k) % len(_things.RENDITIONS)]
                picture = _paint(seed, thing, _RENDITION, label, k, style=style)
                yield f"imagenet-r/{wnid}/{rendition}_{k}.jpg", picture
                yield f"imagenet-a/{wnid}/0.{label:03}{k:03}_{wnid}.jpg", _paint(seed, thing, _MISSED, label, k)
            name = hashlib.sha256(f"{label} {k}".encode()).hexdigest()[:40]
            picture = _paint(seed, thing, _AGAIN, label, k)
            yield f"imagenetv2-matched-frequency-format-val/{LABELS[wnid]}/{name}.jpeg", picture
        for k in range(_TRAINING * count):
            yield f"imagenet/train/{wnid}/{wnid}_{k + 1}.JPEG", _paint(seed, thing, _TRAIN, label, k)


def _list_objectnet(seed: int, count: int) -> Files:
    """ObjectNet, each image with its red border of 2 pixels; one class is none of ImageNet-1K's."""
    for number, (folder, (_, wnid, _)) in enumerate(_OBJECTNET.items()):
        for k in range(count):
            name = hashlib.sha256(f"{folder} {k}".encode()).hexdigest()[:15]
            picture = _paint(seed, ID_THINGS[wnid], _ROOM, number, k)
            yield f"objectnet-1.0/images/{folder}/{name}.png", ImageOps.expand(picture, 2, (255, 0, 0))


def _list_unknown_classes(seed: int, count: int) -> Files:
    """ImageNet-21K, in which a class of ImageNet-1K lies too, OpenImage-O, and the sets of OpenOOD."""
    first = next(iter(ID_THINGS.items()))
    for number, (wnid, thing) in enumerate([*OOD_THINGS.items(), first]):
        pictures = {f"{wnid}_{k + 1}.JPEG": _paint(seed, thing, _OOD, number, k) for k in range(count + _UNLISTED)}
        if wnid in _PACKED:
            yield f"imagenet-21k/{wnid}.tar", _pack(pictures)
        else:
            yield from ((f"imagenet-21k/{wnid}/{name}", picture) for name, picture in pictures.items())
    for number, thing in enumerate(_things.OPEN_THINGS.values()):
        for k in range(count):
            name = hashlib.sha256(f"{number} {k}".encode()).hexdigest()[:16]
            yield f"openimage_o/{name}.jpg", _paint(seed, thing, _OPEN, number, k)
            yield f"ninco/thing_{number}/thing_{number}_{k}.jpg", _paint(seed, thing, _NEAR, number, k)
            yield f"inaturalist/images/{name}.jpg", _paint(seed, thing, _FAR, number, k)
            texture = _paint(seed, thing, _FAR, number, k, style=_things.SKETCH)
            yield f"texture/dotted/dotted_{number}{k:03}.jpg", texture
    for number, (wnid, thing) in enumerate(OOD_THINGS.items()):
        for k in range(max(1, count // 3)):
            yield f"ssb_hard/{wnid}/{wnid}_{k + 500}.JPEG", _paint(seed, thing, _NEAR, 100 + number, k)


def _pack(pictures: dict[str, Image.Image]) -> bytes:
    """The tar that ImageNet has of a class."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for name, picture in sorted(pictures.items()):
            file = io.BytesIO()
            picture.save(file, "JPEG", **_WORLD.saved)
            member = tarfile.TarInfo(name)  # without the time and the owner, so the same bytes
            member.size = file.tell()
            file.seek(0)
            archive.addfile(member, file)
    return packed.getvalue()


def toy_imagenet(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Render a small ImageNet: every set that the configs of `imagenet_ood` read, in its published layout.

    30 of the 1,000 classes and 16 of the 637 that are out of distribution, with their wnids, as drawings of 48 x 48
    pixels on grounds that say nothing of the class. The two kinds of class differ in shape alone: the colors, the
    grounds and the drawing are the same, as ImageNet-OOD shares ImageNet's photographs. `imagenet-21k/` holds half of
    its classes as folders and half as tar files, a class of ImageNet-1K beside them, and images that
    `imagenetood.txt` does not list. `imagenet-c/` has all 15 corruptions at all 5 severities, `imagenet-r/` four
    renditions of 20 classes, `sketch/` outlines on paper, `openimage_o/` things of no list; `ssb_hard/`, `ninco/`,
    `inaturalist/` and `texture/` are the sets of OpenOOD. `imagenet-a/` and
    `imagenetv2-matched-frequency-format-val/` are new drawings of the classes, and so is `objectnet-1.0/`, of five of
    them and of one that it does not map. An image depends on the seed, its set,
    class and number only, so a smaller world is a part of a larger one.

    Args:
        folder: Folder of the world: a new or empty one, or one that already holds this very world, which is then
            left as it is. Written under a temporary name and renamed at the end.
        size: How many validation images a class has: "small" (3), "medium" (20), or any number. There are ten
            times as many training images, as many in the other sets, and a fifth as many, at least one, of each
            corruption and severity.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `imagenet_ood` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_imagenet(Path(tempfile.mkdtemp()) / "imagenet_ood", size=1)
    >>> sorted(path.name for path in root.iterdir())[:4]
    ['imagenet', 'imagenet-21k', 'imagenet-a', 'imagenet-c']
    >>> len(list(root.glob("imagenet/val/n*/ILSVRC2012_val_*.JPEG")))
    30
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    yield from _WORLD.follow(
        chain(_list_known_classes(seed, count), _list_objectnet(seed, count), _list_unknown_classes(seed, count))
    )
    labels = {folder: name for folder, (name, _, _) in _OBJECTNET.items()}
    mapped = {name: names for name, _, names in _OBJECTNET.values() if names}
    for file, content in (("folder_to_objectnet_label", labels), ("objectnet_to_imagenet_1k", mapped)):
        yield f"objectnet-1.0/mappings/{file}.json", json.dumps(content, indent=2) + "\n"
    yield "imagenetood.txt", "".join(f"{wnid}/{wnid}_{k + 1}.JPEG\n" for wnid in OOD_THINGS for k in range(count))
