"""A toy of Waterbirds: drawn land and water birds in front of land or water, in the folder of the release."""

from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import FINE, Files, World, write_table

_WORLD = World("toy_waterbirds", {"small": 40, "medium": 200}, 20, counts="waterbirds", saved=FINE)
_BACKGROUND_SHARE, _COMMON = 0.35, (120, 124, 122)
"""The dial of the world: how much of a place is left. At 1 a small network looks at nothing else."""
_LANDBIRDS = 3  # for each water bird, as in the release


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
    return _WORLD.draw(folder, _draw, size, seed=seed, correlation=correlation, birds=birds)


def _draw(count: int, *, seed: int, correlation: bool, birds: bool) -> Files:
    cells = [
        (split, bird, number)
        for split, many in enumerate((count, count // 3, count))
        for bird, times in (("landbird", _LANDBIRDS), ("waterbird", 1))
        for number in range(many * times)
    ]
    rows: list[tuple[object, ...]] = [("img_id", "img_filename", "y", "split", "place", "place_filename")]
    for split, bird, number in _WORLD.follow(cells):
        label = int(bird == "waterbird")
        species = _animals.SPECIES[bird][number % 3]
        name = f"{species}/{species.partition('.')[2]}_{number // 3 + 1:04}_{number + 1 + 100_000 * split}.jpg"
        is_other = number % 20 == 19 if split == 0 and correlation else number % 2 == 1
        rng = np.random.default_rng([seed, split, label, number])
        category = _animals.BIRD_PLACES["land" if label == is_other else "water"][int(rng.integers(2))]
        place = f"{category}/{int(rng.integers(1, 5_001)):08}.jpg"
        rows.append((len(rows), name, label, split, int(label != is_other), place))
        yield name, _paint_picture(rng, bird, category, visible=birds)
    yield "metadata.csv", write_table(*rows)


def _paint_picture(rng: np.random.Generator, bird: str, place: str, *, visible: bool) -> Image.Image:
    ground, own = rng.spawn(2)
    scene = _painter.fade(_animals.paint_bird_place(ground, place), _BACKGROUND_SHARE, _COMMON)
    canvas = _painter.make_canvas(scene + _painter.jitter(ground, light=12.0, warmth=6.0))
    return _painter.cover(canvas, _animals.make_bird(own, bird) if visible else ()).reduce(_painter.OVERSAMPLING)
