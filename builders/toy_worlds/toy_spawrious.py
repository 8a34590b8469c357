"""A toy of Spawrious: four drawn dog breeds on six backgrounds, in the folders of the real release."""

from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _breeds, _folder, _textures
from oochub.process.follow import follow

_SIZES = {"small": 20, "medium": 200}
_BACKGROUND_SHARE = 0.35
"""The dial of the world. How much of a background is left: at 1 a small network looks at nothing else, at 0
nothing misleads it. The rest is the common ground color below."""
_COMMON = np.array([130, 122, 108], np.float32)
_LIGHT, _WARMTH = 15.0, 7.5
_OVERSAMPLING = 2
_CELLS = list(product(range(2), enumerate(_textures.LOCATIONS), enumerate(_breeds.BREEDS)))
"""Repeat, background and breed, the last two with their numbers."""


def _paint_picture(seed: int, cell: tuple[int, int, int, int], *, dogs: bool, correlation: bool) -> Image.Image:
    """The image of a cell (repeat, location, class, number); it depends on nothing but these and the seed."""
    _, location, label, _ = cell
    rng = np.random.default_rng([seed, *cell])
    drawn = rng.integers(len(_textures.LOCATIONS))
    place = list(_textures.LOCATIONS.values())[location if correlation else drawn]
    shift = _textures.jitter(rng, light=_LIGHT, warmth=_WARMTH)
    dog, ground = rng.spawn(2)
    scene = _COMMON + _BACKGROUND_SHARE * (place(ground) - _COMMON) + shift
    picture = Image.fromarray(scene.clip(0, 255).astype(np.uint8))
    side = _textures.PIXELS * _OVERSAMPLING
    canvas = picture.resize((side, side), Image.Resampling.NEAREST)
    breed = list(_breeds.BREEDS)[label]
    _breeds.draw_dog(ImageDraw.Draw(canvas), dog, breed=breed, side=side, visible=dogs)
    return canvas.reduce(_OVERSAMPLING)


def _mask(seed: int, cell: tuple[int, int, int, int], *, dogs: bool, correlation: bool) -> Image.Image:
    """White where the dog changes a pixel of the image."""
    own, empty = (
        np.asarray(_paint_picture(seed, cell, dogs=visible, correlation=correlation)) for visible in (dogs, False)
    )
    return Image.fromarray((own != empty).any(-1)).convert("L")


def toy_spawrious(
    folder: str | Path,
    *,
    size: str | int = "small",
    seed: int = 0,
    correlation: bool = True,
    dogs: bool = True,
    masks: str | Path | None = None,
) -> Path:
    """Render a small Spawrious: 48 folders of dogs, `spawrious224/<repeat>/<location>/<class>/`.

    The layout, the folder and file names, the classes and the locations are those of the release (Lynch et al.
    2023, section 3); the images are drawings of 48 x 48 pixels, equally many in every folder. A file's number
    starts at 1 and its image depends on the seed and its own path only, so a smaller world is a part of a
    larger one. Breeds differ in build, legs, ears, tail and muzzle; the coat is typical in 80% of the dogs.

    The images are the same whatever composition (`o2o_hard`, `m2m_easy`, ...) is later built from them: the
    link between breed and background comes from the composition. A world without that link is therefore
    rendered, not composed: with `correlation=False` each image's background is drawn from all six locations
    alike, whatever its path says. The location in the path is then only a name, and every composition gives a
    data set in which the background says nothing about the breed.

    Args:
        folder: Folder of the world: a new or empty one, or one that already holds this very world, which
            is then left as it is. Written under a temporary name and renamed at the end.
        size: "small" (20 images per folder, 960 in all), "medium" (200, 9,600 in all), or any number per folder.
        seed: Another seed is another world; the same arguments give the same bytes.
        correlation: Whether an image's background is the location of its path.
        dogs: Whether the dogs are visible; without them only the context is left to learn from.
        masks: Another folder, for a mask of the dog of each image, white on it, named by the builder's `example_id`:
            `<repeat>/<location>/<class>/<number>.png`. None writes none. The images are the same either way.

    Returns:
        The folder; it is what `data_dir` of the Spawrious builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_spawrious(Path(tempfile.mkdtemp()) / "spawrious", size=1)
    >>> len(sorted(root.glob("spawrious224/*/*/*/*.png")))
    48
    >>> sorted(path.name for path in root.glob("spawrious224/0/snow/*/*.png"))[0]
    'snow_bulldog_1.png'
    """
    count = _folder.count_of(size, _SIZES, least=1)
    own: dict[str, Any] = {"seed": seed, "correlation": correlation, "dogs": dogs}
    record = {"world": "toy_spawrious", "drawing": 1, "pictures_per_folder": count, **own}
    if masks is not None:
        _folder.toy_world(masks, record | {"of": "masks"}, partial(_draw_masks, count=count, **own))
    return _folder.toy_world(folder, record, partial(_draw, count=count, **own))


def _draw(draft: Path, *, count: int, seed: int, correlation: bool, dogs: bool) -> None:
    bar = follow(_CELLS, desc="toy Spawrious", unit="folder", disable=None if count > _SIZES["small"] else True)
    for repeat, (location, place), (label, breed) in bar:
        target = draft / "spawrious224" / str(repeat) / place / breed
        target.mkdir(parents=True)
        for number in range(1, count + 1):
            cell = (repeat, location, label, number)
            picture = _paint_picture(seed, cell, dogs=dogs, correlation=correlation)
            picture.save(target / f"{place}_{breed}_{number}.png", compress_level=1)


def _draw_masks(draft: Path, *, count: int, seed: int, correlation: bool, dogs: bool) -> None:
    for repeat, (location, place), (label, breed) in _CELLS:
        target = draft / str(repeat) / place / breed
        target.mkdir(parents=True)
        for number in range(1, count + 1):
            cell = (repeat, location, label, number)
            _mask(seed, cell, dogs=dogs, correlation=correlation).save(target / f"{number}.png")
