"""A toy of Spawrious: four drawn dog breeds on six backgrounds, in the folders of the real release."""

from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import Files, World

_SIZES = {"small": 20, "medium": 200}
_WORLD = World("toy_spawrious", _SIZES, 1, counts="pictures_per_folder", saved={"compress_level": 1})
_BACKGROUND_SHARE, _COMMON = 0.35, (130, 122, 108)
"""The dial of the world. How much of a background is left: at 1 a small network looks at nothing else, at 0
nothing misleads it. The rest is the common ground color."""


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
    own: dict[str, Any] = {"seed": seed, "correlation": correlation, "dogs": dogs}
    if masks is not None:
        _WORLD._replace(saved={}).draw(masks, _draw_masks, size, **own, of="masks")
    return _WORLD.draw(folder, _draw, size, **own)


def _draw(count: int, *, seed: int, correlation: bool, dogs: bool) -> Files:
    for repeat, place, breed, number, cell in _list_cells(count):
        picture = _paint_picture(seed, cell, dogs=dogs, correlation=correlation)
        yield f"spawrious224/{repeat}/{place}/{breed}/{place}_{breed}_{number}.png", picture


def _draw_masks(count: int, *, seed: int, correlation: bool, dogs: bool, of: str) -> Files:
    """White where the dog changes a pixel of the image."""
    for repeat, place, breed, number, cell in _list_cells(count):
        own, empty = (
            np.asarray(_paint_picture(seed, cell, dogs=visible, correlation=correlation)) for visible in (dogs, False)
        )
        yield f"{repeat}/{place}/{breed}/{number}.png", Image.fromarray((own != empty).any(-1)).convert("L")


def _list_cells(count: int) -> Iterator[tuple[int, str, str, int, tuple[int, ...]]]:
    """The repeat, location, breed and number of each image, and all as numbers."""
    folders = list(product(range(2), enumerate(_painter.LOCATIONS), enumerate(_animals.BREEDS)))
    for repeat, (location, place), (label, breed) in _WORLD.follow(folders):
        for number in range(1, count + 1):
            yield repeat, place, breed, number, (repeat, location, label, number)


def _paint_picture(seed: int, cell: tuple[int, ...], *, dogs: bool, correlation: bool) -> Image.Image:
    """The image of a cell (repeat, location, class, number); it depends on nothing but these and the seed."""
    _, location, label, _ = cell
    rng = np.random.default_rng([seed, *cell])
    drawn = rng.integers(len(_painter.LOCATIONS))
    place = list(_painter.LOCATIONS.values())[location if correlation else drawn]
    shift = _painter.jitter(rng, light=15.0, warmth=7.5)
    dog, ground = rng.spawn(2)
    canvas = _painter.make_canvas(_painter.fade(place(ground), _BACKGROUND_SHARE, _COMMON) + shift)
    parts = _animals.make_dog(dog, list(_animals.BREEDS)[label]) if dogs else ()
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING)
