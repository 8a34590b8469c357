"""A toy of CUB-200-2011 and Places365: drawn birds with their masks, and drawn places, of which Waterbirds is made."""

from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import Files, World

_WORLD = World("toy_cub", {"small": 12, "medium": 60}, 10, counts="images", saved={"quality": 95})
_SHAPES = ((48, 48), (60, 40), (40, 56))
"""Width and height of the images of birds."""


def toy_cub(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `CUB_200_2011/` with its lists, images and segmentations, and `places365/data_large/`.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each of six species, half of them training: "small" (12), "medium" (60), or a number of at least
            10; three times as many images of each place.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_cub(tempfile.mkdtemp() + "/birds", size=10)
    >>> (root / "CUB_200_2011" / "images.txt").read_text("utf-8").splitlines()[0]
    '1 014.Indigo_Bunting/Indigo_Bunting_0001_1.jpg'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    listed, training = "", ""
    kinds = sorted((species, bird) for bird, several in _animals.SPECIES.items() for species in several)
    for label, (species, bird) in enumerate(kinds):
        for number in range(1, count + 1):
            stem = f"{species}/{species.partition('.')[2]}_{number:04}_{1000 * label + number}"
            picture, mask = _paint_bird(np.random.default_rng([seed, 0, label, number]), bird)
            yield f"CUB_200_2011/images/{stem}.jpg", picture
            yield f"CUB_200_2011/segmentations/{stem}.png", mask
            listed += f"{label * count + number} {stem}.jpg\n"
            training += f"{label * count + number} {number % 2}\n"
    yield "CUB_200_2011/images.txt", listed
    yield "CUB_200_2011/train_test_split.txt", training
    for label, category in enumerate(name for names in _animals.BIRD_PLACES.values() for name in names):
        for number in range(1, 3 * count + 1):
            rng = np.random.default_rng([seed, 1, label, number])
            scene = _animals.paint_bird_place(rng, category) + _painter.jitter(rng, light=12.0, warmth=6.0)
            place = _painter.make_picture(scene).resize(((48, 48), (72, 48), (36, 36))[number % 3])
            yield f"places365/data_large{category}/{number:08}.jpg", place


def _paint_bird(rng: np.random.Generator, bird: str) -> tuple[Image.Image, Image.Image]:
    """A bird before a wall, and its mask, gray at the edges."""
    width, height = _SHAPES[int(rng.integers(len(_SHAPES)))]
    wall = _painter.make_picture(150 + 20 * _painter.noise(rng, grain=8)).convert("RGB")
    canvas = wall.resize((width * _painter.OVERSAMPLING, height * _painter.OVERSAMPLING))
    parts = _animals.make_bird(rng, bird)
    mask = _painter.cover(Image.new("L", canvas.size), [(255, points) for _, points in parts])
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING), mask.reduce(_painter.OVERSAMPLING)
