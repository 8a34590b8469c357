"""A toy of SpuCoAnimals: drawn birds on land or water and dogs indoors or outdoors, in the folders of the release."""

from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import Files, World

_WORLD = World("toy_spuco_animals", {"small": 20, "medium": 200}, 4)
_USUAL = {"landbirds": "land", "waterbirds": "water", "small_dogs": "indoor", "big_dogs": "outdoor"}
_FOLDERS = {"spuco_birds": ("landbirds", "waterbirds"), "spuco_dogs": ("small_dogs", "big_dogs")}
_DRAWN = {"small_dogs": "dachshund", "big_dogs": "labrador"}
_GROUNDS = {
    "land": _painter.LOCATIONS["jungle"],
    "water": _painter.GROUNDS["sea"],
    "indoor": _painter.paint_room,
    "outdoor": _painter.GROUNDS["grass"],
}


def toy_spuco_animals(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `spuco_birds/` and `spuco_dogs/`, each with train, val and test, two classes and two backgrounds.

    As in the release a twentieth as many training and validation images, at least one, have the other background, and
    in test both backgrounds have as many, so that a model which looks at the background alone is right half of the
    time there.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Training images of each class with its usual background: "small" (20), "medium" (200), or a number of at
            least 4; a quarter as many in val, half as many in test.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `spuco_animals` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_spuco_animals(tempfile.mkdtemp() + "/spuco", size=4)
    >>> sorted(path.name for path in (root / "spuco_dogs" / "test").iterdir())
    ['big_dogs', 'small_dogs']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    sizes = {"train": (count, max(1, count // 20)), "val": (count // 4, max(1, count // 80))}
    sizes["test"] = (count // 2, count // 2)
    for place, (folder, labels) in enumerate(_FOLDERS.items()):
        for part, (split, (usual, other)) in enumerate(sizes.items()):
            for label in labels:
                for background in (_USUAL[name_usual] for name_usual in labels):
                    cell = (place, part, labels.index(label), list(_GROUNDS).index(background))
                    for k in range(usual if background == _USUAL[label] else other):
                        picture = _paint_picture(np.random.default_rng([seed, *cell, k]), label, background)
                        yield f"{folder}/{split}/{label}/{background}/{(sum(cell) * 100 + k):06}.jpg", picture


def _paint_picture(rng: np.random.Generator, label: str, background: str) -> Image.Image:
    ground, animal = rng.spawn(2)
    canvas = _painter.make_canvas(_GROUNDS[background](ground) + _painter.jitter(rng, light=12.0, warmth=6.0))
    is_dog = label in _DRAWN
    parts = _animals.make_dog(animal, _DRAWN[label]) if is_dog else _animals.make_bird(animal, label.removesuffix("s"))
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING)
