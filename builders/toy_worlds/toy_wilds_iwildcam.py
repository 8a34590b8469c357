"""A toy of iWildCam2020-wilds: drawn dogs in front of camera traps, in the folder of WILDS."""

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
from PIL import Image

from oochub.builders.toy_worlds import _animals, _painter
from oochub.builders.toy_worlds._folder import FINE, Files, World, write_table

_WORLD = World("toy_wilds_iwildcam", {"small": 12, "medium": 60}, 6, counts="events", saved=FINE)
_CLASSES = ("empty", *_animals.BREEDS)
_LOCATIONS = {"train": range(6), "val": range(6, 9), "test": range(9, 12), "id_val": range(6), "id_test": range(6)}
_EVENTS = {"train": 4, "val": 1, "test": 2, "id_val": 1, "id_test": 1}  # in units of the size
_BACKGROUND_SHARE, _COMMON = 0.35, (122, 122, 112)
_COLUMNS = (
    *("", "split", "location_remapped", "location", "sequence_remapped", "seq_id", "y", "category_id"),
    *("datetime", "filename", "image_id"),
)


def toy_wilds_iwildcam(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small iWildCam2020-wilds: `metadata.csv`, `categories.csv` and `train/`, JPEGs of 48 x 48 pixels.

    Files and columns are those of WILDS' folder, version 2.0. A trap has a ground and a light of its own, and at each
    some animals are frequent: half of its images show its own animal. An event, a sequence, is two images. Training
    has six traps, validation and test three others each; `id_val` and `id_test` are of the traps of training.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (12 events in the validation split, 108 in all), "medium" (60), or a number of at least
            6.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_iwildcam(tempfile.mkdtemp() + "/iwildcam", size=6)
    >>> (root / "metadata.csv").read_text("utf-8").splitlines()[1].partition(",2013")[0]
    '0,train,0,100,0,seq-0,2,20'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    events = [(split, event) for split, times in _EVENTS.items() for event in range(times * count)]
    rows: list[tuple[object, ...]] = []
    for sequence, (split, event) in enumerate(_WORLD.follow(events)):
        rng = np.random.default_rng([seed, list(_EVENTS).index(split), event])
        location = _LOCATIONS[split][event % len(_LOCATIONS[split])]
        is_usual = rng.random() < 0.5
        label = location % len(_CLASSES) if is_usual else int(rng.integers(len(_CLASSES)))
        begin = datetime(2013, 1, 1) + timedelta(minutes=int(rng.integers(500_000)))
        for picture in range(2):
            name = f"{seed}-{sequence:05}-{picture}.jpg"
            time = (begin + timedelta(seconds=picture)).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]
            ids = (location, 100 + location, sequence, f"seq-{sequence}", label, 10 * label)
            rows.append((len(rows), split, *ids, time, name, f"image-{len(rows)}"))
            yield f"train/{name}", _paint_picture(rng.spawn(1)[0], location, _CLASSES[label])
    yield "metadata.csv", write_table(_COLUMNS, *rows)
    names = ((y, 10 * y, name) for y, name in enumerate(_CLASSES))
    yield "categories.csv", write_table(("y", "category_id", "name"), *names, (99_999, 7, "cat"))
    yield "RELEASE_v2.0.txt", ""


def _paint_picture(rng: np.random.Generator, location: int, species: str) -> Image.Image:
    """What a trap sees: its own ground in its own light, and the animal."""
    trap = np.random.default_rng(location)
    ground = list(_painter.LOCATIONS.values())[location % len(_painter.LOCATIONS)](trap)
    shift = _painter.jitter(trap, light=15.0, warmth=8.0) + _painter.jitter(rng, light=8.0, warmth=3.0)
    canvas = _painter.make_canvas(_painter.fade(ground, _BACKGROUND_SHARE, _COMMON) + shift)
    parts = () if species == "empty" else _animals.make_dog(rng, species)
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING)
