"""A toy of Waterbirds: drawn land and water birds in front of land or water, in the folder of the release."""

import csv
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _birds, _folder, _textures
from oochub.process.follow import follow

_SIZES = {"small": 40, "medium": 200}
_BACKGROUND_SHARE = 0.35
"""The dial of the world: how much of a place is left. At 1 a small network looks at nothing else."""
_COMMON = np.array([120, 124, 122], np.float32)
_LANDBIRDS = 3  # for each water bird, as in the release
_OVERSAMPLING = 2


def toy_waterbirds(
    folder: str | Path,
    *,
    size: str | int = "small",
    seed: int = 0,
    correlation: bool = True,
    birds: bool = True,
) -> Path:
    """Draws a small Waterbirds: `metadata.csv` beside folders of species, images of 48 x 48 pixels.

    Columns, codes, folders and the shares are those of the release: 95% of the training birds of each kind stand before
    their own place, half of them in validation and test; three land birds for each water bird. Build tells the birds,
    not color. An image depends on the seed, its split, its kind and its number only, so a smaller world is a part of a
    larger one.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (40 water birds in training, as many in the test, a third in validation), "medium" (200), or a
            number of at least 20.
        seed: Another seed is another world; the same arguments give the same bytes.
        correlation: Whether the places of training go with the birds; without, half of them do, as in the test.
        birds: Whether the birds are visible; without them only the place is left to learn from.

    Returns:
        The folder; it is what `data_dir` of the Waterbirds builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_waterbirds(tempfile.mkdtemp() + "/waterbirds", size=20)
    >>> (root / "metadata.csv").read_text("utf-8").splitlines()[1].partition(",0,0,0,")[0]
    '1,014.Indigo_Bunting/Indigo_Bunting_0001_1.jpg'
    """
    count = _folder.count_of(size, _SIZES, least=20)
    record = {
        "world": "toy_waterbirds",
        "drawing": 1,
        "waterbirds": count,
        "seed": seed,
        "correlation": correlation,
        "birds": birds,
    }
    return _folder.toy_world(
        folder, record, partial(_draw, count=count, seed=seed, correlation=correlation, birds=birds)
    )


def _draw(draft: Path, *, count: int, seed: int, correlation: bool, birds: bool) -> None:
    rows = [
        (split, bird, number)
        for split, many in enumerate((count, count // 3, count))
        for bird, times in (("landbird", _LANDBIRDS), ("waterbird", 1))
        for number in range(many * times)
    ]
    with (draft / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["img_id", "img_filename", "y", "split", "place", "place_filename"])
        bar = follow(rows, desc="toy Waterbirds", unit="image", disable=None if count > _SIZES["small"] else True)
        for img_id, (split, bird, number) in enumerate(bar, 1):
            label = int(bird == "waterbird")
            species = _birds.SPECIES[bird][number % 3]
            name = f"{species.partition('.')[2]}_{number // 3 + 1:04}_{number + 1 + 100_000 * split}.jpg"
            is_other = number % 20 == 19 if split == 0 and correlation else number % 2 == 1
            rng = np.random.default_rng([seed, split, label, number])
            category = _birds.PLACES["land" if label == is_other else "water"][int(rng.integers(2))]
            place = f"{category}/{int(rng.integers(1, 5_001)):08}.jpg"
            (draft / species).mkdir(exist_ok=True)
            _paint_picture(rng, bird, category, visible=birds).save(draft / species / name, quality=95, subsampling=0)
            table.writerow([img_id, f"{species}/{name}", label, split, int(label != is_other), place])


def _paint_picture(rng: np.random.Generator, bird: str, place: str, *, visible: bool) -> Image.Image:
    ground, own = rng.spawn(2)
    scene = _COMMON + _BACKGROUND_SHARE * (_birds.place_scene(ground, place) - _COMMON)
    scene += _textures.jitter(ground, light=12.0, warmth=6.0)
    side = _textures.PIXELS * _OVERSAMPLING
    canvas = Image.fromarray(scene.clip(0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.NEAREST)
    if visible:
        _birds.draw_parts(canvas, _birds.bird_parts(own, bird=bird))
    return canvas.reduce(_OVERSAMPLING)
