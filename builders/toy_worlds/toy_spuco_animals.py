"""A toy of SpuCoAnimals: drawn birds on land or water and dogs indoors or outdoors, in the folders of the release."""

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _birds, _breeds, _folder, _textures
from oochub.builders.toy_worlds._things_on_grounds import OVERSAMPLING, make_canvas, paint_room

_SIZES = {"small": 20, "medium": 200}
_USUAL = {"landbirds": "land", "waterbirds": "water", "small_dogs": "indoor", "big_dogs": "outdoor"}
_FOLDERS = {"spuco_birds": ("landbirds", "waterbirds"), "spuco_dogs": ("small_dogs", "big_dogs")}
_DRAWN = {"small_dogs": "dachshund", "big_dogs": "labrador"}


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
    count = _folder.count_of(size, _SIZES, least=4)
    record = {"world": "toy_spuco_animals", "drawing": 1, "count": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    sizes = {"train": (count, max(1, count // 20)), "val": (count // 4, max(1, count // 80))}
    sizes["test"] = (count // 2, count // 2)
    for place, (folder, labels) in enumerate(_FOLDERS.items()):
        for part, (split, (usual, other)) in enumerate(sizes.items()):
            for label in labels:
                for background in (_USUAL[each] for each in labels):
                    target = draft / folder / split / label / background
                    target.mkdir(parents=True)
                    cell = (place, part, labels.index(label), list(_USUAL.values()).index(background))
                    for k in range(usual if background == _USUAL[label] else other):
                        rng = np.random.default_rng([seed, *cell, k])
                        name = f"{(sum(cell) * 100 + k):06}.jpg"
                        _paint_picture(rng, label, background).save(target / name, "JPEG", quality=92)


def _paint_picture(rng: np.random.Generator, label: str, background: str) -> Image.Image:
    ground, animal = rng.spawn(2)
    canvas = make_canvas(_paint_ground(ground, background) + _textures.jitter(rng, light=12.0, warmth=6.0))
    if label in _DRAWN:
        _breeds.draw_dog(ImageDraw.Draw(canvas), animal, breed=_DRAWN[label], side=canvas.width, visible=True)
    else:
        _birds.draw_parts(canvas, _birds.bird_parts(animal, bird=label.removesuffix("s")))
    return canvas.reduce(OVERSAMPLING)


def _paint_ground(rng: np.random.Generator, background: str) -> _textures.Picture:
    if background == "indoor":
        return paint_room(rng)
    if background == "outdoor":
        return _textures.GROUNDS["grass"](rng)
    if background == "land":
        return _textures.LOCATIONS["jungle"](rng)
    return _textures.GROUNDS["sea"](rng)
