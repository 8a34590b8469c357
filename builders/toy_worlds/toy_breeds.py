"""A toy of BREEDS: eight superclasses of five ImageNet classes each, and the hierarchy in the files of the authors."""

import json
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._things import DOMAINS, ID_THINGS, paint
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS

_WORLD = World("toy_breeds", {"small": 2, "medium": 20}, 1, counts="validation_images_per_class")
_TRAINING = 4
"""Training images for each validation image."""
_NODES = """
n00001740 entity
 n00004258 living thing, animate thing
  dummy1 living thing
   n01471682 vertebrate, craniate
    n02075296 carnivore
     n02084071 dog, domestic dog, Canis familiaris: 207 208 235 250 258
     n02121808 domestic cat, house cat, Felis domesticus, Felis catus: 281 282 283 284 285
    n01661091 reptile, reptilian
     n01674464 lizard: 40 41 42 43 45
     n01726692 snake, serpent, ophidian: 53 56 57 58 60
 n00021939 non-living thing
  dummy2 non-living thing
   n03575240 instrumentality, instrumentation
    n03100490 conveyance, transport
     n02958343 car, auto, automobile, machine, motorcar: 468 511 627 656 817
     n02858304 boat: 472 554 576 814 914
    n03800933 musical instrument, instrument
     n04338517 stringed instrument: 402 420 486 546 889
     n04586932 wind instrument, wind: 432 558 683 776 875
"""
"""A node on each line, one column further in than its parent; after a colon, its classes by number."""
_STYLES = ("photo", "sketch", "art", "night", "snow")


def toy_breeds(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `imagenet/{train,val}/<wnid>/<image>` and writes `imagenet_class_hierarchy/modified/`.

    `living17` and `nonliving26` have four of their superclasses each, `entity30` four and `entity13` two. A superclass
    of the first two is a shape, and each of its five classes a way of drawing it, so a model that is trained on some of
    the ways meets others. An image depends on the seed, its class and number only, so a smaller world is a part of a
    larger one.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Validation images of each class: "small" (2), "medium" (20), or a number; there are four times as many
            training images.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `breeds` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_breeds(tempfile.mkdtemp() + "/breeds", size=1)
    >>> (root / "imagenet_class_hierarchy/modified/class_hierarchy.txt").read_text("utf-8").splitlines()[:2]
    ['n00001740 n00004258', 'n00004258 dummy1']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    things = iter(ID_THINGS.values())
    edges: list[list[str]] = []
    names: list[tuple[str, str]] = []
    above: list[str] = []
    for line in _NODES.strip().splitlines():
        node, _, text = line.strip().partition(" ")
        name, _, numbers = text.partition(": ")
        above[len(line) - len(line.lstrip()) :] = [node]
        names.append((node, name))
        edges += [above[-2:]] if len(above) > 1 else []
        if not numbers:
            continue
        thing = next(things)
        for style, number in zip(_STYLES, map(int, numbers.split()), strict=True):
            wnid = IMAGENET_1K_WNIDS[number]
            edges.append([node, wnid])
            names.append((wnid, IMAGENET_1K_NAMES[number]))
            for k in range(count * (1 + _TRAINING)):
                rng = np.random.default_rng([seed, number, k])
                is_tested = k % (1 + _TRAINING) == 0
                place, stem = (
                    ("val", f"ILSVRC2012_val_{number * 50 + k // 5 + 1:08}") if is_tested else ("train", f"{wnid}_{k}")
                )
                yield f"imagenet/{place}/{wnid}/{stem}.JPEG", paint(rng, thing, DOMAINS[style])
    folder = "imagenet_class_hierarchy/modified"
    yield f"{folder}/class_hierarchy.txt", "".join(f"{parent} {child}\n" for parent, child in edges)
    yield f"{folder}/node_names.txt", "".join(f"{node}\t{name}\n" for node, name in names)
    classes = [[number, wnid, IMAGENET_1K_NAMES[number]] for number, wnid in enumerate(IMAGENET_1K_WNIDS)]
    yield f"{folder}/dataset_class_info.json", json.dumps(classes)
