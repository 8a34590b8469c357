"""A toy of CUB-200-2011 and Places365: drawn birds with their masks, and drawn places, of which Waterbirds is made."""

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _birds, _folder, _textures

_SIZES = {"small": 12, "medium": 60}
_OVERSAMPLING = 2
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
    count = _folder.count_of(size, _SIZES, least=10)
    record = {"world": "toy_cub", "drawing": 1, "images": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    kinds = sorted((species, bird) for bird, of in _birds.SPECIES.items() for species in of)
    cub = draft / "CUB_200_2011"
    listed: list[str] = []
    training: list[str] = []
    for label, (species, bird) in enumerate(kinds):
        for number in range(1, count + 1):
            stem = f"{species}/{species.partition('.')[2]}_{number:04}_{1000 * label + number}"
            picture, mask = _paint_bird(np.random.default_rng([seed, 0, label, number]), bird)
            _save(picture, cub / "images" / f"{stem}.jpg")
            _save(mask, cub / "segmentations" / f"{stem}.png")
            listed.append(f"{len(listed) + 1} {stem}.jpg")
            training.append(f"{len(training) + 1} {number % 2}")
    (cub / "images.txt").write_text("\n".join(listed) + "\n", "utf-8")
    (cub / "train_test_split.txt").write_text("\n".join(training) + "\n", "utf-8")
    for label, category in enumerate(name for names in _birds.PLACES.values() for name in names):
        for number in range(1, 3 * count + 1):
            rng = np.random.default_rng([seed, 1, label, number])
            scene = _birds.place_scene(rng, category) + _textures.jitter(rng, light=12.0, warmth=6.0)
            shape = ((48, 48), (72, 48), (36, 36))[number % 3]
            place = Image.fromarray(scene.clip(0, 255).astype(np.uint8)).resize(shape)
            _save(place, draft / "places365" / "data_large" / category[1:] / f"{number:08}.jpg")


def _paint_bird(rng: np.random.Generator, bird: str) -> tuple[Image.Image, Image.Image]:
    """A bird before a wall, and its mask, gray at the edges."""
    width, height = _SHAPES[int(rng.integers(len(_SHAPES)))]
    wall = 150 + 20 * _textures.noise(rng, grain=8)
    large = (width * _OVERSAMPLING, height * _OVERSAMPLING)
    picture = Image.fromarray(wall.clip(0, 255).astype(np.uint8)).convert("RGB").resize(large)
    mask = Image.new("L", large)
    parts = _birds.bird_parts(rng, bird=bird)
    _birds.draw_parts(picture, parts)
    _birds.draw_parts(mask, parts, white=True)
    return picture.reduce(_OVERSAMPLING), mask.reduce(_OVERSAMPLING)


def _save(picture: Image.Image, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    picture.save(file, quality=95)
