"""A toy of ImageNet-9: nine drawn things on a ground of their class, of another class, and alone."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds._folder import Files, World
from oochub.builders.toy_worlds._painter import OVERSAMPLING, PLACES, cover, make_box
from oochub.builders.toy_worlds._things import ID_THINGS, paint_ground, place_thing

_WORLD = World("toy_imagenet_9", {"small": 3, "medium": 40}, 1, counts="foregrounds_per_class", version={"drawing": 2})
_FOLDERS = (
    *("00_dog", "01_bird", "02_wheeled vehicle", "03_reptile", "04_carnivore"),
    *("05_insect", "06_musical instrument", "07_primate", "08_fish"),
)
_WNIDS = "n02084071 n01503061 n04576211 n01661091 n02075296 n02159955 n03800933 n02469914 n02512053".split()
"""Of the nine classes, by which images are named."""
_THINGS, _GROUNDS = tuple(ID_THINGS.values())[: len(_FOLDERS)], tuple(PLACES)[: len(_FOLDERS)]
_BLACK = (0, 0, 0)


def toy_imagenet_9(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws the eight variants of ImageNet-9, `<variant>/val/<class>/<image>`, each of the same foregrounds.

    A class is a shape, which need not be its likeness, and has a ground of its own; the variants put the foreground on
    another ground, leave it away or cut it out, as those of the release do. Images are named as there: by the original,
    mixed ones by that of the foreground and one of the background.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Foregrounds of each class: "small" (3), "medium" (40), or a number.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `imagenet_9` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_imagenet_9(tempfile.mkdtemp() + "/imagenet_9", size=1)
    >>> len(list(root.glob("*/val/*/*.JPEG")))
    72
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    for label, name in enumerate(_FOLDERS):
        for k in range(count):
            for variant, picture in _list_variants(np.random.default_rng([seed, label, k]), label):
                file = f"{_name_image(variant, label, k, count)}.JPEG"
                yield f"{variant}/val/{name}/{file}", picture.reduce(OVERSAMPLING)


def _name_image(variant: str, label: int, k: int, count: int) -> str:
    own = f"{_WNIDS[label]}_{k + 1:04}"
    if not variant.startswith("mixed"):
        return own
    ground = label if variant == "mixed_same" else (label + 1) % len(_FOLDERS)  # also that of mixed_rand, as there
    return f"fg_{own}_bg_{_WNIDS[ground]}_{(k + 1) % count + 1:04}"


def _list_variants(rng: np.random.Generator, label: int) -> Iterator[tuple[str, Image.Image]]:
    """The canvases of the variants of one foreground by name."""
    parts = place_thing(rng, _THINGS[label])
    own, same, random, following = (
        paint_ground(rng, _GROUNDS[number])
        for number in (label, label, int(rng.integers(len(_FOLDERS))), (label + 1) % len(_FOLDERS))
    )
    yield "original", cover(own, parts)
    yield "mixed_same", cover(same, parts)
    yield "mixed_rand", cover(random, parts)
    yield "mixed_next", cover(following, parts)
    yield "only_fg", cover(Image.new("RGB", own.size, _BLACK), parts)
    corners = np.concatenate([points for _, points in parts])
    yield "only_bg_b", cover(own, [(_BLACK, make_box(*corners.min(0), *corners.max(0)))])
    yield "only_bg_t", own
    yield "no_fg", cover(own, [(_BLACK, points) for _, points in parts])
