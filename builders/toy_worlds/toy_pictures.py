"""A toy of a user's own images: dogs of two breeds in a plain folder, with a background that gives the breed away."""

import csv
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _breeds, _folder, _textures

_SIZES = {"small": 200, "medium": 800}
_USUAL = {"bulldog": ("beach", "desert"), "dachshund": ("jungle", "snow")}
_OVERSAMPLING = 2


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
    count = _folder.count_of(size, _SIZES, least=8)
    record = {"world": "toy_pictures", "drawing": 1, "count": count, "seed": seed, "correlation": correlation}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed, correlation=correlation))


def _draw(draft: Path, *, count: int, seed: int, correlation: float | None) -> None:
    splits = (
        ("train", count, correlation),
        ("test", count, None if correlation is None else 0.5),
        ("validation", count // 4, correlation),
    )
    for part, (split, rows, share) in enumerate(splits):
        target = draft / split
        target.mkdir()
        with (target / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["file_name", "breed", "background"])
            for label, breed in enumerate(_USUAL):
                for number in range(rows):
                    name = f"{breed}_{number + 1:04}.png"
                    rng = np.random.default_rng([seed, part, label, number])
                    usual, other = _USUAL[breed], next(own for key, own in _USUAL.items() if key != breed)
                    among = (*usual, *other) if share is None else usual if number < share * rows else other
                    background = among[int(rng.integers(len(among)))]
                    _paint_picture(rng, breed, background).save(target / name, compress_level=1)
                    table.writerow([name, breed, background])


def _paint_picture(rng: np.random.Generator, breed: str, background: str) -> Image.Image:
    ground, dog = rng.spawn(2)
    scene = _textures.LOCATIONS[background](ground) + _textures.jitter(rng, light=15.0, warmth=7.5)
    side = _textures.PIXELS * _OVERSAMPLING
    canvas = Image.fromarray(scene.clip(0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.NEAREST)
    _breeds.draw_dog(ImageDraw.Draw(canvas), dog, breed=breed, side=side, visible=True)
    return canvas.reduce(_OVERSAMPLING)
