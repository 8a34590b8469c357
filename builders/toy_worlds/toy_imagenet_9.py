"""A toy of ImageNet-9: nine drawn things on a ground of their class, of another class, and alone."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _folder
from oochub.builders.toy_worlds._imagenet_things import ID_THINGS
from oochub.builders.toy_worlds._things_on_grounds import OVERSAMPLING, cover, paint_ground, place_thing

_SIZES = {"small": 3, "medium": 40}
_FOLDERS = (
    *("00_dog", "01_bird", "02_wheeled vehicle", "03_reptile", "04_carnivore"),
    *("05_insect", "06_musical instrument", "07_primate", "08_fish"),
)
_WNIDS = (
    *("n02084071", "n01503061", "n04576211", "n01661091", "n02075296"),
    *("n02159955", "n03800933", "n02469914", "n02512053"),
)
"""Of the nine classes, by which images are named."""
_THINGS = tuple(ID_THINGS.values())[: len(_FOLDERS)]
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
    count = _folder.count_of(size, _SIZES, least=1)
    record = {"world": "toy_imagenet_9", "drawing": 2, "foregrounds_per_class": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    for label, name in enumerate(_FOLDERS):
        for k in range(count):
            for variant, picture in _list_variants(np.random.default_rng([seed, label, k]), label):
                target = draft / variant / "val" / name
                target.mkdir(parents=True, exist_ok=True)
                picture.save(target / f"{_name_image(variant, label, k, count)}.JPEG", "JPEG", quality=92)


def _name_image(variant: str, label: int, k: int, count: int) -> str:
    own = f"{_WNIDS[label]}_{k + 1:04}"
    if not variant.startswith("mixed"):
        return own
    ground = label if variant == "mixed_same" else (label + 1) % len(_FOLDERS)  # also that of mixed_rand, as there
    return f"fg_{own}_bg_{_WNIDS[ground]}_{(k + 1) % count + 1:04}"


def _list_variants(rng: np.random.Generator, label: int) -> Iterator[tuple[str, Image.Image]]:
    """The variants of one foreground by name."""
    parts = place_thing(rng, _THINGS[label])
    own, same, random, following = (
        paint_ground(rng, number)
        for number in (label, label, int(rng.integers(len(_FOLDERS))), (label + 1) % len(_FOLDERS))
    )
    yield "original", _finish(cover(own, parts))
    yield "mixed_same", _finish(cover(same, parts))
    yield "mixed_rand", _finish(cover(random, parts))
    yield "mixed_next", _finish(cover(following, parts))
    yield "only_fg", _finish(cover(Image.new("RGB", own.size, _BLACK), parts))
    corners = np.concatenate([points for _, points in parts])
    boxed = own.copy()
    (left, top), (right, bottom) = corners.min(0), corners.max(0)
    ImageDraw.Draw(boxed).rectangle((float(left), float(top), float(right), float(bottom)), fill=_BLACK)
    yield "only_bg_b", _finish(boxed)
    yield "only_bg_t", _finish(own)
    yield "no_fg", _finish(cover(own, [(_BLACK, points) for _, points in parts]))


def _finish(canvas: Image.Image) -> Image.Image:
    return canvas.reduce(OVERSAMPLING)
