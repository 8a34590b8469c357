"""A toy of MetaShift's cats and dogs: drawn animals in a room or on grass, in the folders of the release."""

from pathlib import Path

import numpy as np

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import Files, World

_WORLD = World("toy_metashift", {"small": 24, "medium": 300}, 12)
_PLACES = ("train/cat/cat(indoor)", "train/dog/dog(outdoor)", "test/cat/cat(outdoor)", "test/dog/dog(indoor)")
_DRAWN = {"cat": "corgi", "dog": "labrador"}


def toy_metashift(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `MetaShift-Cat-Dog-indoor-outdoor/` with its four folders: two shapes in a room or on grass.

    A cat is a small animal with upright ears, a dog a long-legged one; a sixth as many are in the other place.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each class in its usual place: "small" (24), "medium" (300), or a number of at least 12.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `metashift` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_metashift(tempfile.mkdtemp() + "/metashift", size=12)
    >>> sorted(path.parent.name for path in root.glob("*/test/*/*/*.jpg"))
    ['cat(outdoor)', 'cat(outdoor)', 'dog(indoor)', 'dog(indoor)']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    for number, place in enumerate(_PLACES):
        for k in range(count if place.startswith("train") else count // 6):
            rng = np.random.default_rng([seed, number, k])
            ground, animal = rng.spawn(2)
            scene = _painter.paint_room(ground) if "indoor" in place else _painter.GROUNDS["grass"](ground)
            canvas = _painter.make_canvas(scene + _painter.jitter(rng, light=12.0, warmth=6.0))
            picture = _painter.cover(canvas, _animals.make_dog(animal, _DRAWN[place.split("/")[1]]))
            name = f"MetaShift-Cat-Dog-indoor-outdoor/{place}/{2_000_000 + 10_000 * number + k}.jpg"
            yield name, picture.reduce(_painter.OVERSAMPLING)
