"""A toy of ImageNet-X: drawn things of ImageNet, and annotations in the files of the package imagenet-x."""

import json
from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._painter import OVERSAMPLING, PLACES, cover
from oochub.builders.toy_worlds._things import ID_THINGS, paint_ground, place_thing
from oochub.class_names.imagenet_classes import LABELS

_FACTORS = (
    *("multiple_objects", "background", "color", "brighter", "darker", "style", "larger", "smaller"),
    *("object_blocking", "person_blocking", "partial_view", "pattern", "pose", "shape", "subcategory", "texture"),
)
"""In the order of the files."""
_WNIDS, _GROUNDS = tuple(ID_THINGS)[:6], tuple(PLACES)[:6]
_WORLD = World("toy_imagenet_x", {"small": 6, "medium": 60}, 2, counts="images_per_class")


def toy_imagenet_x(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `val/<wnid>/ILSVRC2012_val_<number>.JPEG` and the annotations in `imagenet_x/annotations/`.

    The first image of a class is a prototype, on the ground of its class. Half of the others stand on another ground
    and have the factor background; the others have another factor, which nothing in the image shows. In the file of
    several factors half of the images have pose too. The last image has no annotation, as some of ImageNet's.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each of six classes: "small" (6), "medium" (60), or a number, 2 or larger.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `imagenet_x` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_imagenet_x(tempfile.mkdtemp() + "/imagenet_x", size=2)
    >>> sorted(path.name for path in root.glob("imagenet_x/annotations/*"))
    ['imagenet_x_val_multi_factor.jsonl', 'imagenet_x_val_top_factor.jsonl', 'prototypical_paths.csv']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    lines: dict[str, list[str]] = {"top": [], "multi": []}
    prototypes = ["file_name"]
    for label, wnid in enumerate(_WNIDS):
        for k in range(count):
            number = label * count + k + 1
            rng = np.random.default_rng([seed, number])
            is_moved = k > 0 and k % 2 == 0
            ground = _GROUNDS[(label + is_moved * (1 + int(rng.integers(5)))) % len(_GROUNDS)]
            name = f"ILSVRC2012_val_{number:08}.JPEG"
            yield (
                f"val/{wnid}/{name}",
                cover(paint_ground(rng, ground), place_thing(rng, ID_THINGS[wnid])).reduce(OVERSAMPLING),
            )
            if k == 0:
                prototypes.append(name)
            if number == len(_WNIDS) * count:
                continue
            top = "background" if is_moved else _FACTORS[number % len(_FACTORS)]
            for which, factors in (("top", {top}), ("multi", {top, *(["pose"] if k % 4 > 1 else [])})):
                flags = {factor: int(factor in factors) for factor in _FACTORS}
                words = {"justification": None if k % 5 == 4 else f"on {ground}"}
                record = {"file_name": name, "class": LABELS[wnid], **flags, **words, "one_word": top}
                lines[which].append(json.dumps(record, separators=(",", ":")))
    for which, own in lines.items():
        yield f"imagenet_x/annotations/imagenet_x_val_{which}_factor.jsonl", ("\n".join(own) + "\n").encode()
    yield "imagenet_x/annotations/prototypical_paths.csv", ("\n".join(prototypes) + "\n").encode()
