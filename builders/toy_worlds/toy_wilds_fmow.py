"""A toy of FMoW-WILDS: places seen from above, by region and year, in the folder of WILDS."""

import csv
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _folder, _textures
from oochub.process.follow import follow

_SIZES = {"small": 24, "medium": 120}
_CATEGORIES = ("crop_field", "lake_or_pond", "road_bridge", "solar_farm", "stadium", "storage_tank")
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
_PIXELS, _OVERSAMPLING = 48, 2
_COLUMNS = ("split", "category", "country_code", "timestamp", "cloud_cover")
_MAPPING = ("name", "alpha-2", "alpha-3", "country-code", "region", "sub-region")


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
    count = _folder.count_of(size, _SIZES, least=24)
    record = {"world": "toy_wilds_fmow", "drawing": 1, "pictures": count, "seed": seed}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed))


def _draw(draft: Path, *, count: int, seed: int) -> None:
    rows = [(split, years, number) for split, years, times in _PARTS.values() for number in range(times * count)]
    np.random.default_rng(seed).shuffle(rows)
    with (draft / "rgb_metadata.csv").open("w", encoding="utf-8", newline="") as file:
        (draft / "RELEASE_v1.1.txt").touch()
        table = csv.writer(file, lineterminator="\n")
        table.writerow(_COLUMNS)
        (draft / "images").mkdir()
        bar = follow(rows, desc="toy FMoW", unit="image", disable=None if count > _SIZES["small"] else True)
        for row, (split, (first, end), number) in enumerate(bar):
            rng = np.random.default_rng([seed, row])
            category = _CATEGORIES[number % len(_CATEGORIES)]
            country = str(rng.choice(list(_COUNTRIES), p=[share for *_, share in _COUNTRIES.values()]))
            span = datetime(end, 1, 1, tzinfo=UTC) - datetime(first, 1, 1, tzinfo=UTC)
            time = datetime(first, 1, 1, tzinfo=UTC) + timedelta(seconds=int(rng.integers(int(span.total_seconds()))))
            fraction = f".{number % 1000:03}" if number % 5 == 0 else ""
            stamp = f"{time:%Y-%m-%dT%H:%M:%S}{fraction}Z"
            table.writerow([split, category, country, stamp, int(rng.integers(30))])
            if split != "seq":
                _paint_picture(rng, category, country, time.year).save(draft / "images" / f"rgb_img_{row}.png")
        with (draft / "country_code_mapping.csv").open("w", encoding="utf-8", newline="") as mapping:
            known = [
                (n, code[:2], code, k, region, "") for k, (code, (n, region, *_)) in enumerate(_COUNTRIES.items()) if n
            ]
            csv.writer(mapping, lineterminator="\n").writerows(
                [_MAPPING, *known, ("Antarctica", "AQ", "ATA", 10, "", "")]
            )


def _paint_picture(rng: np.random.Generator, category: str, country: str, year: int) -> Image.Image:
    """A place on the ground of its region, under the air of its year."""
    ground = np.array(_COUNTRIES[country][2], np.float32)
    land = ground + _textures.jitter(rng, light=8.0, warmth=4.0) + 12 * _textures.noise(rng)[..., None]
    side = _PIXELS * _OVERSAMPLING
    scene = Image.fromarray(land.clip(0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.BILINEAR)
    x, y = rng.uniform(0.4 * side, 0.6 * side, 2)
    _PAINTERS[category](ImageDraw.Draw(scene), x, y, rng.uniform(0.8, 1.2))
    haze = 0.45 if year >= 2013 else 0.0
    seen = np.asarray(scene.reduce(_OVERSAMPLING), np.float32) * (1 - haze) + 205 * haze
    return Image.fromarray(seen.clip(0, 255).astype(np.uint8))


def _crop_field(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    for k in range(-4, 4):
        color = (88, 140, 60) if k % 2 else (150, 160, 84)
        canvas.rectangle((x - 34 * scale, y + 8 * k * scale, x + 34 * scale, y + 8 * (k + 1) * scale), fill=color)


def _paint_lake(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    canvas.ellipse((x - 34 * scale, y - 24 * scale, x + 34 * scale, y + 24 * scale), fill=(40, 76, 120))


def _paint_bridge(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    canvas.rectangle((0, y - 16 * scale, 200, y + 16 * scale), fill=(58, 92, 132))
    canvas.rectangle((x - 6 * scale, 0, x + 6 * scale, 200), fill=(196, 192, 186))


def _paint_solar_farm(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    for row in range(-2, 2):
        for column in range(-2, 2):
            left, top = x + 16 * column * scale, y + 16 * row * scale
            canvas.rectangle((left, top, left + 12 * scale, top + 12 * scale), fill=(28, 34, 74))


def _paint_stadium(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    canvas.ellipse((x - 36 * scale, y - 28 * scale, x + 36 * scale, y + 28 * scale), fill=(226, 224, 220))
    canvas.rectangle((x - 18 * scale, y - 12 * scale, x + 18 * scale, y + 12 * scale), fill=(60, 150, 70))


def _paint_tanks(canvas: ImageDraw.ImageDraw, x: float, y: float, scale: float) -> None:
    for dx, dy in ((-20, -20), (20, -20), (-20, 20), (20, 20)):
        canvas.ellipse(
            (x + (dx - 13) * scale, y + (dy - 13) * scale, x + (dx + 13) * scale, y + (dy + 13) * scale),
            fill=(236, 236, 232),
            outline=(90, 90, 90),
            width=3,
        )


_PAINTERS: dict[str, Callable[[ImageDraw.ImageDraw, float, float, float], None]] = dict(
    zip(
        _CATEGORIES,
        (_crop_field, _paint_lake, _paint_bridge, _paint_solar_farm, _paint_stadium, _paint_tanks),
        strict=True,
    )
)
