"""A toy of PovertyMap-WILDS: drawn satellite images of eight bands, in the folder of WILDS."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_wilds_poverty", {"small": 2, "medium": 40}, 2, counts="places_per_country")
_COUNTRIES = (
    "angola benin burkina_faso cameroon cote_d_ivoire democratic_republic_of_congo ethiopia ghana guinea kenya lesotho "
    "malawi mali mozambique nigeria rwanda senegal sierra_leone tanzania togo uganda zambia zimbabwe"
).split()
_BANDS, _EDGE, _CELLS = 8, 224, 7
_LIGHTS = 7  # the band of the lights at night
_COLUMNS = ("lat", "lon", "wealthpooled", "country", "year", "urban", "nl_mean", "nl_center", "households")


def toy_wilds_poverty(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small PovertyMap-WILDS: `dhs_metadata.csv` and `images/`, arrays x of 8 x 224 x 224 float32.

    Files and columns are those of WILDS' folder, version 1.1. Wealth shows in the lights at night, weaker in rural
    places, and in the bands of the ground, whose level and meaning each country has its own.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (2 places in each of the 23 countries), "medium" (40), or a number of at least 2.
        seed: Another seed is another world; the same arguments give the same numbers.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_poverty(tempfile.mkdtemp() + "/poverty", size=4)
    >>> len(list(root.glob("images/landsat_poverty_img_*.npz")))
    92
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    places = [(country, number) for number in range(count) for country in range(len(_COUNTRIES))]
    rows: list[tuple[object, ...]] = []
    for country, number in _WORLD.follow(places):
        rng = np.random.default_rng([seed, country, number])
        is_urban = number % 2 == 0
        wealth = float(np.round(rng.normal(0.5 if is_urban else -0.3, 0.8), 6))
        bands = _make_bands(rng, country, wealth, is_urban=is_urban)
        file, lights = io.BytesIO(), bands[_LIGHTS]
        np.savez_compressed(file, x=bands)
        yield f"images/landsat_poverty_img_{len(rows)}.npz", file.getvalue()
        center = lights[_EDGE // 2, _EDGE // 2]
        place = (f"{rng.uniform(-25, 15):.4f}", f"{rng.uniform(-15, 45):.4f}")
        survey = (2009 + country % 9, is_urban, f"{lights.mean():.4f}", f"{center:.4f}", int(rng.integers(15, 30)))
        rows.append((*place, wealth, _COUNTRIES[country], *survey))
    yield "dhs_metadata.csv", write_table(_COLUMNS, *rows)


def _make_bands(rng: np.random.Generator, country: int, wealth: float, *, is_urban: bool) -> NDArray[np.float32]:
    """Squares of 32 pixels: the ground of the country, wealth in it and in the lights."""
    own = np.random.default_rng(country)
    level, slope = own.normal(0, 0.7, _BANDS), own.normal(0.2, 0.3, _BANDS)
    level[_LIGHTS], slope[_LIGHTS] = own.normal(0, 0.2), 0.9 if is_urban else 0.5
    cells = rng.normal(0, 0.5, (_BANDS, _CELLS, _CELLS)) + (level + slope * wealth)[:, None, None]
    return cells.round(2).astype(np.float32).repeat(_EDGE // _CELLS, axis=1).repeat(_EDGE // _CELLS, axis=2)
