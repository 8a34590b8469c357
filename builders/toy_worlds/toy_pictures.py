"""A toy of a user's own images: dogs of two breeds in a plain folder, with a background that gives the breed away."""

from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_pictures", {"small": 200, "medium": 800}, 8, saved={"compress_level": 1})
_USUAL = {"bulldog": ("beach", "desert"), "dachshund": ("jungle", "snow")}


def toy_pictures(
    folder: str | Path, *, size: str | int = "small", seed: int = 0, correlation: float | None = 0.95
) -> Path:
    """Draws `train/`, `validation/` and `test/`, each with images of 48 x 48 pixels and a `metadata.csv`.

    The table has the columns `file_name`, `breed` and `background`, as `datasets` reads a folder of images. A
    share `correlation` of the dogs of each breed stands on one of its two usual backgrounds; in `test` it is one half,
    so that a model which looks at the background alone is right half of the time.

    Args:
        folder: New or empty, or one that already holds this very world, which is then left as it is. Written whole.
        size: Images of each breed in `train`, as many in `test`, a quarter in `validation`: "small" (200), "medium"
            (800), or a number of at least 8.
        seed: Another seed is another world; the same arguments give the same bytes.
        correlation: Share of each breed's dogs on its usual backgrounds, in [0.5, 1]; None draws every background
            alike, in every split: the control.

    Returns:
        The folder.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_pictures(tempfile.mkdtemp() + "/pictures", size=8)
    >>> (root / "test" / "metadata.csv").read_text("utf-8").splitlines()[:2]
    ['file_name,breed,background', 'bulldog_0001.png,bulldog,desert']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed, correlation=correlation)


def _draw(count: int, *, seed: int, correlation: float | None) -> Files:
    splits = (
        ("train", count, correlation),
        ("test", count, None if correlation is None else 0.5),
        ("validation", count // 4, correlation),
    )
    for part, (split, rows, share) in enumerate(splits):
        table = [("file_name", "breed", "background")]
        for label, (breed, usual) in enumerate(_USUAL.items()):
            other = next(places for name, places in _USUAL.items() if name != breed)
            for number in range(rows):
                rng = np.random.default_rng([seed, part, label, number])
                among = (*usual, *other) if share is None else usual if number < share * rows else other
                background = among[int(rng.integers(len(among)))]
                table.append((f"{breed}_{number + 1:04}.png", breed, background))
                yield f"{split}/{breed}_{number + 1:04}.png", _paint_picture(rng, breed, background)
        yield f"{split}/metadata.csv", write_table(*table)


def _paint_picture(rng: np.random.Generator, breed: str, background: str) -> Image.Image:
    ground, dog = rng.spawn(2)
    scene = _painter.LOCATIONS[background](ground) + _painter.jitter(rng, light=15.0, warmth=7.5)
    return _painter.cover(_painter.make_canvas(scene), _animals.make_dog(dog, breed)).reduce(_painter.OVERSAMPLING)
