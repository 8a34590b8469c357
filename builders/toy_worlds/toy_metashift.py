"""A toy of MetaShift's cats and dogs: drawn animals in a room or on grass, in the folders of the release."""

from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _breeds, _folder, _textures
from oochub.builders.toy_worlds._things_on_grounds import OVERSAMPLING, make_canvas, paint_room

_SIZES = {"small": 24, "medium": 300}
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
    count = _folder.count_of(size, _SIZES, least=12)
    record = {"world": "toy_metashift", "drawing": 1, "count": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    for number, place in enumerate(_PLACES):
        target = draft / "MetaShift-Cat-Dog-indoor-outdoor" / place
        target.mkdir(parents=True)
        for k in range(count if place.startswith("train") else count // 6):
            rng = np.random.default_rng([seed, number, k])
            picture = _paint_picture(rng, place.split("/")[1], is_indoors="indoor" in place)
            picture.save(target / f"{2_000_000 + 10_000 * number + k}.jpg", "JPEG", quality=92)


def _paint_picture(rng: np.random.Generator, label: str, *, is_indoors: bool) -> Image.Image:
    ground, animal = rng.spawn(2)
    scene = paint_room(ground) if is_indoors else _textures.GROUNDS["grass"](ground)
    canvas = make_canvas(scene + _textures.jitter(rng, light=12.0, warmth=6.0))
    _breeds.draw_dog(ImageDraw.Draw(canvas), animal, breed=_DRAWN[label], side=canvas.width, visible=True)
    return canvas.reduce(OVERSAMPLING)
