"""A toy of GlobalWheat-WILDS: drawn heads of wheat in fields of several colors, in the folder of WILDS."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import Files, World, write_table

_SIZES = {"small": 8, "medium": 40}
_WORLD = World("toy_wilds_globalwheat", _SIZES, 3, counts="pictures", version={"drawing": 2})
_PIXELS = 96  # of a side of an image
_INSTITUTES = {
    "Arvalis": (12, "France", "Gréoux", "Filling"),
    "ETHZ": (1, "Switzerland", "Eschikon", "Filling"),
    "Inrae": (1, "France", "Toulouse", "Filling-Ripening"),
    "NMBU": (2, "Norway", "NMBU", "Ripening"),
    "Rres": (1, "UK", "Rothamsted", "Filling-Ripening"),
    "ULiège-GxABT": (1, "Belgium", "Gembloux", "Ripening"),
    "Utokyo": (3, "Japan", "NARO-Tsukuba", "Post-flowering"),
    "Ukyoto": (1, "Japan", "Kyoto", "Post-flowering"),
    "NAU": (3, "China", "Baima", "Post-flowering"),
    "ARC": (1, "Sudan", "Wad Medani", "Filling"),
    "UQ": (11, "Australia", "Gatton", "Filling"),
    "Terraref": (2, "US", "Maricopa, AZ", "Ripening"),
    "KSU": (4, "US", "KSU", "Post-flowering"),
    "CIMMYT": (3, "Mexico", "Ciudad Obregon", "Post-flowering"),
    "Usask": (1, "Canada", "Saskatchewan", "Filling-Ripening"),
}
_SESSIONS = [
    (f"{institute}_{number}", *place)
    for institute, (count, *place) in _INSTITUTES.items()
    for number in range(1, 1 + count)
]
_TRAIN, _VAL, _TEST = (0, 3, 12, 13, 14, 16), (26, 27, 30), (37, 39, 46)  # France to Belgium; Australia; America
# Each set of images: its sessions and its number, in units of the size; then the sets of each table of WILDS.
_SETS = {
    "train": (_TRAIN, 6),
    "val": (_VAL, 1),
    "test_train": (_TEST, 1),
    "test_test": (_TEST, 2),
    "id_val": (_TRAIN, 1),
    "id_test": (_TRAIN, 1),
}
_TABLES = {
    "official_train": ("train",),
    "official_val": ("val",),
    "official_test": ("test_train", "test_test"),
    "fixed_train_val": ("id_val",),
    "fixed_train_test": ("id_test",),
    "fixed_test_train": ("test_train",),
    "fixed_test_test": ("test_test",),
    "mixed_train_train": ("train", "test_train"),
    "mixed_train_test": ("test_test",),
}
_LOOKS = {  # heads and soil
    _TRAIN: ((226, 196, 96), (74, 84, 44)),
    _VAL: ((206, 200, 130), (96, 84, 60)),
    _TEST: ((176, 186, 96), (104, 98, 62)),
}
_EMPTY = 0.06  # of the images have no head


def toy_wilds_globalwheat(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small GlobalWheat-WILDS: the tables of all its splits and `images/`, PNGs of 96 x 96 pixels.

    Files and columns are those of WILDS' folder, version 1.1. An image has up to five heads of wheat, in rows and
    apart from each other. In training they are golden on dark soil, in six sessions; a session has a light of its own.
    In the sessions of the test they are greenish on lighter soil, so the contrast is less; validation is between.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (8 images in the validation split, 96 in all), "medium" (40), or a number of at least
            3.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_globalwheat(tempfile.mkdtemp() + "/globalwheat", size=3)
    >>> (root / "official_train.csv").read_text("utf-8").splitlines()[0]
    'image_name,BoxesString,domain'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    cells = [(name, number) for name, (_, times) in _SETS.items() for number in range(times * count)]
    rows: dict[str, list[tuple[str, str, int]]] = {name: [] for name in _SETS}
    for name, number in _WORLD.follow(cells):
        rng = np.random.default_rng([seed, list(_SETS).index(name), number])
        sessions = _SETS[name][0]
        session, file = sessions[number % len(sessions)], f"{seed}-{name}-{number:05}.png"
        picture, boxes = _paint_field(rng, session, *_LOOKS[sessions])
        rows[name].append((file, ";".join(" ".join(map(str, box)) for box in boxes) or "no_box", session))
        yield f"images/{file}", picture
    for table, sets in _TABLES.items():
        lines = (row for name in sets for row in rows[name])
        yield f"{table}.csv", write_table(("image_name", "BoxesString", "domain"), *lines)
    columns = ("name", "country", "location", "development_stage")
    yield "metadata_domain.csv", write_table(columns, *_SESSIONS, delimiter=";")


def _paint_field(
    rng: np.random.Generator, session: int, shade: _painter.Color, ground: _painter.Color
) -> tuple[Image.Image, list[tuple[int, ...]]]:
    """A field and the boxes of its heads, in pixels."""
    soil = np.asarray(ground, np.float32) + 9 * _painter.noise(rng, grain=16)[..., None]
    soil += _painter.jitter(np.random.default_rng(session), light=10.0, warmth=5.0)
    soil += _painter.jitter(rng, light=5.0, warmth=2.0)
    canvas = _painter.make_canvas(soil, Image.Resampling.BICUBIC, side=_PIXELS * _painter.OVERSAMPLING)
    boxes: list[tuple[int, ...]] = []
    cells = rng.permutation(9)[: 0 if rng.random() < _EMPTY else int(rng.integers(1, 6))]  # of a grid of 3 x 3
    for cell in sorted(cells.tolist()):
        width, height = rng.integers(13, 17).tolist(), rng.integers(24, 28).tolist()
        if rng.random() < 0.4:
            width, height = height, width
        step = _PIXELS // 3
        left, top = (
            step * corner + (step - length) // 2 + int(rng.integers(-2, 3))
            for corner, length in ((cell % 3, width), (cell // 3, height))
        )
        boxes.append((left, top, left + width, top + height))
        _paint_head(ImageDraw.Draw(canvas), boxes[-1], np.asarray(shade) + rng.integers(-10, 11))
    return canvas.reduce(_painter.OVERSAMPLING), boxes


def _paint_head(draw: ImageDraw.ImageDraw, box: tuple[int, ...], shade: np.ndarray) -> None:
    """An ear with darker rows of grains."""
    x1, y1, x2, y2 = (_painter.OVERSAMPLING * edge for edge in box)
    draw.ellipse((x1, y1, x2 - 1, y2 - 1), fill=tuple(shade.tolist()))
    upright = y2 - y1 > x2 - x1
    for place in range(8, max(x2 - x1, y2 - y1) - 6, 8):
        across, down = (x1 + 5, y1 + place, x2 - 6, y1 + place + 2), (x1 + place, y1 + 5, x1 + place + 2, y2 - 6)
        draw.rectangle(across if upright else down, fill=tuple((shade - 40).tolist()))
