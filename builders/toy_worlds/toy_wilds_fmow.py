"""A toy of FMoW-WILDS: places seen from above, by region and year, in the folder of WILDS."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_wilds_fmow", {"small": 24, "medium": 120}, 24, counts="pictures")
_COUNTRIES = {  # alpha-3: (name, region, ground, share of all images)
    "USA": ("United States of America", "Americas", (150, 148, 110), 0.30),
    "FRA": ("France", "Europe", (104, 136, 84), 0.34),
    "IND": ("India", "Asia", (150, 124, 92), 0.20),
    "KEN": ("Kenya", "Africa", (196, 140, 84), 0.08),
    "AUS": ("Australia", "Oceania", (182, 106, 72), 0.06),
    "XKX": ("", "", (120, 120, 120), 0.02),  # has no row in the mapping: the region "Other"
}
_PARTS = {  # what each part of the table is: its column `split`, its years, in units of the size
    "train": ("train", (2002, 2013), 4),
    "id_val": ("val", (2002, 2013), 1),
    "id_test": ("test", (2002, 2013), 1),
    "unused": ("train", (2013, 2018), 2),
    "val": ("val", (2013, 2016), 1),
    "test": ("test", (2016, 2018), 2),
    "sequestered": ("seq", (2002, 2018), 1),
}
_COLUMNS = ("split", "category", "country_code", "timestamp", "cloud_cover")
_MAPPING = ("name", "alpha-2", "alpha-3", "country-code", "region", "sub-region")
_TANK = {"fill": (236, 236, 232), "outline": (90, 90, 90), "width": 3}
_CATEGORIES: dict[
    str, list[tuple[str, tuple[int, ...], dict[str, Any]]]
] = {  # the forms of each, their boxes around the middle and how they are painted
    "crop_field": [
        ("rectangle", (-34, 8 * k, 34, 8 * k + 8), {"fill": (88, 140, 60) if k % 2 else (150, 160, 84)})
        for k in range(-4, 4)
    ],
    "lake_or_pond": [("ellipse", (-34, -24, 34, 24), {"fill": (40, 76, 120)})],
    "road_bridge": [
        ("rectangle", (-200, -16, 200, 16), {"fill": (58, 92, 132)}),
        ("rectangle", (-6, -200, 6, 200), {"fill": (196, 192, 186)}),
    ],
    "solar_farm": [
        ("rectangle", (16 * column, 16 * row, 16 * column + 12, 16 * row + 12), {"fill": (28, 34, 74)})
        for row in range(-2, 2)
        for column in range(-2, 2)
    ],
    "stadium": [
        ("ellipse", (-36, -28, 36, 28), {"fill": (226, 224, 220)}),
        ("rectangle", (-18, -12, 18, 12), {"fill": (60, 150, 70)}),
    ],
    "storage_tank": [
        ("ellipse", (x - 13, y - 13, x + 13, y + 13), _TANK) for x, y in ((-20, -20), (20, -20), (-20, 20), (20, 20))
    ],
}


def toy_wilds_fmow(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small FMoW-WILDS: `rgb_metadata.csv`, `country_code_mapping.csv` and `images/`, PNGs of 48 x 48 pixels.

    Files and columns are those of WILDS' folder, version 1.1: images bear the row's number in the whole table, whose
    sequestered rows have none, and some times have fractions of a second. Six of the 62 categories are drawn, on the
    ground of their region. Africa and Oceania are rare, and the air is hazier from 2013 on.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (24 images of validation, 288 in all), "medium" (120), or a number of at least 24.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_fmow(tempfile.mkdtemp() + "/fmow")
    >>> (root / "rgb_metadata.csv").read_text("utf-8").splitlines()[0]
    'split,category,country_code,timestamp,cloud_cover'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    cells = [(split, years, number) for split, years, times in _PARTS.values() for number in range(times * count)]
    np.random.default_rng(seed).shuffle(cells)
    rows: list[tuple[object, ...]] = []
    for split, years, number in _WORLD.follow(cells):
        rng = np.random.default_rng([seed, len(rows)])
        category = list(_CATEGORIES)[number % len(_CATEGORIES)]
        country = str(rng.choice(list(_COUNTRIES), p=[share for *_, share in _COUNTRIES.values()]))
        first, end = (datetime(year, 1, 1, tzinfo=UTC) for year in years)
        time = first + timedelta(seconds=int(rng.integers(int((end - first).total_seconds()))))
        fraction = f".{number % 1000:03}" if number % 5 == 0 else ""
        rows.append((split, category, country, f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z", int(rng.integers(30))))
        if split != "seq":
            yield f"images/rgb_img_{len(rows) - 1}.png", _paint_picture(rng, category, country, time.year)
    yield "rgb_metadata.csv", write_table(_COLUMNS, *rows)
    listed = [(name, code[:2], code, k, region, "") for k, (code, (name, region, *_)) in enumerate(_COUNTRIES.items())]
    mapping = write_table(_MAPPING, *(row for row in listed if row[0]), ("Antarctica", "AQ", "ATA", 10, "", ""))
    yield "country_code_mapping.csv", mapping
    yield "RELEASE_v1.1.txt", ""


def _paint_picture(rng: np.random.Generator, category: str, country: str, year: int) -> Image.Image:
    """A place on the ground of its region, under the air of its year."""
    ground = np.array(_COUNTRIES[country][2], np.float32)
    land = ground + _painter.jitter(rng, light=8.0, warmth=4.0) + 12 * _painter.noise(rng)[..., None]
    scene = _painter.make_canvas(land, Image.Resampling.BILINEAR)
    middle, scale = rng.uniform(0.4 * scene.width, 0.6 * scene.width, 2), rng.uniform(0.8, 1.2)
    for form, box, look in _CATEGORIES[category]:
        getattr(ImageDraw.Draw(scene), form)((np.tile(middle, 2) + scale * np.array(box)).tolist(), **look)
    haze = 0.45 if year >= 2013 else 0.0
    return _painter.make_picture(np.asarray(scene.reduce(_painter.OVERSAMPLING), np.float32) * (1 - haze) + 205 * haze)
