"""What every toy world is painted with: grounds as small float images, canvases, and polygons on them."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

PIXELS, OVERSAMPLING = 48, 2
"""The side of an image; a canvas is as many times as wide, and `Image.reduce` makes the image of it."""
Picture = NDArray[np.float32]
"""Float images are (PIXELS, PIXELS, 3); colors run from 0 to 255."""
Plane = NDArray[np.floating[Any]]
"""One number a pixel, (PIXELS, PIXELS), or a column, (PIXELS,)."""

Color = tuple[int, int, int]
Parts = Sequence[tuple[Color | int, NDArray[np.float64]]]
"""Colored polygons, (n, 2) points as fractions of the image's sides, y down, back to front."""
COLORS: tuple[Color, ...] = (
    *((204, 44, 40), (40, 70, 190), (236, 190, 40), (40, 140, 76), (238, 236, 230)),
    *((46, 44, 52), (226, 120, 36), (126, 66, 150), (120, 88, 56), (146, 146, 152)),
)
"""What things are painted in, whatever they are."""

_axis = (np.arange(PIXELS, dtype=np.float32) + 0.5) / PIXELS
X, Y = np.meshgrid(_axis, _axis)
_TAU = np.float32(2 * np.pi)


@cache
def _make_noise(grain: int) -> Picture:
    """A 256 x 256 sheet of value noise with unit deviation: octaves from `grain` cells per side to 128."""
    rng = np.random.default_rng(grain)
    sheet = np.zeros((256, 256), np.float32)
    cells = grain
    while cells <= 128:
        layer = Image.fromarray(rng.standard_normal((cells, cells)).astype(np.float32))
        sheet += np.asarray(layer.resize((256, 256), Image.Resampling.BICUBIC)) * (grain / cells) ** 0.7
        cells *= 2
    sheet /= sheet.std()
    return sheet


def noise(rng: np.random.Generator, *, grain: int = 16) -> Picture:
    """A random (PIXELS, PIXELS) window of value noise; a larger grain is finer."""
    top, left = rng.integers(0, 256 - PIXELS, 2)
    return _make_noise(grain)[top : top + PIXELS, left : left + PIXELS]


def flat(color: Color, plane: Plane) -> Picture:
    """One color, lighter and darker by `plane`."""
    return np.asarray(color, np.float32) + plane[..., None].astype(np.float32)


def jitter(rng: np.random.Generator, *, light: float, warmth: float) -> Picture:
    """A (3,) shift of all colors: brightness, and along the warm-cold axis only, so nothing turns pink."""
    shift = light * rng.standard_normal() + warmth * rng.standard_normal() * np.array([1, 0.1, -1])
    return np.asarray(shift, np.float32)


def mixed(under: Picture, over: Picture, coverage: Picture) -> Picture:
    """`over` on `under` where the (PIXELS, PIXELS) coverage is 1."""
    return under + coverage[..., None] * (over - under)


def below(edge: Plane) -> Picture:
    """Coverage of all below a height given for each column (PIXELS,), with a soft edge of one pixel."""
    return np.clip((Y - edge.astype(np.float32)) * PIXELS + 0.5, 0, 1)


def _road(rng: np.random.Generator) -> Picture:
    middle = rng.uniform(0.3, 0.7)
    dash = (np.abs(X - middle) < 0.012 + 0.012 * Y) & ((Y * 8 + rng.random()) % 1 < 0.55)
    return flat((92, 92, 98), 7 * noise(rng, grain=64) + 130 * dash)


def _pavement(rng: np.random.Generator) -> Picture:
    row = (Y * 9 + rng.random()) % 1
    shift = np.floor(Y * 9) % 2 * 0.5
    joint = (row < 0.14) | ((X * 5 + shift + rng.random()) % 1 < 0.09)
    return flat((172, 168, 158), 7 * noise(rng, grain=32) - 45 * joint)


def _sea(rng: np.random.Generator) -> Picture:
    swell = np.sin(_TAU * (Y * 11 + 0.25 * np.sin(_TAU * (X * 1.5 + rng.random()))))
    return flat((32, 98, 152), 12 * swell + 6 * noise(rng, grain=32))


def _playingfield(rng: np.random.Generator) -> Picture:
    stripes = np.sign(np.sin(_TAU * (X * 3 + rng.random())))
    slope, start = rng.uniform(-0.6, 0.6), rng.uniform(0.25, 0.75)
    line = (np.abs(X - start - slope * (Y - 0.8)) < 0.018) | (np.abs(Y - rng.uniform(0.72, 0.85)) < 0.013)
    return flat((40, 142, 88), 9 * stripes + 4 * noise(rng) + 110 * line)


def _desert(rng: np.random.Generator) -> Picture:
    dunes = np.sin(_TAU * (Y * 6 + 0.5 * np.sin(_TAU * (X * 1.3 + rng.random())) + rng.random()))
    return flat((214, 160, 88), 16 * dunes + 8 * noise(rng))


def _jungle(rng: np.random.Generator) -> Picture:
    leaves = flat((58, 112, 44), 26 * noise(rng, grain=16))
    trunks = np.zeros((PIXELS, PIXELS), np.float32)
    for middle in rng.uniform(0, 1, 4):
        trunks = np.maximum(trunks, np.clip(2.5 - np.abs(X - middle - 0.06 * (Y - 0.5)) * 70, 0, 1))
    return mixed(leaves, flat((62, 46, 30), 8 * noise(rng)), trunks)


def _dirt(rng: np.random.Generator) -> Picture:
    pebbles = noise(rng, grain=64) > 1.3
    return flat((128, 84, 58), 14 * noise(rng) + 45 * pebbles)


def _mountain(rng: np.random.Generator) -> Picture:
    picture = flat((150, 176, 196), 6 * noise(rng, grain=8))
    peak = np.full(PIXELS, 1.0, np.float32)
    for middle in rng.uniform(0, 1, 3):
        peak = np.minimum(peak, rng.uniform(0.08, 0.3) + rng.uniform(0.7, 1.1) * np.abs(_axis - middle))
    rock = flat((104, 104, 108), 14 * noise(rng))
    snowcap = below(peak) - below(peak + 0.06)
    picture = mixed(mixed(picture, rock, below(peak)), flat((226, 228, 232), 4 * noise(rng)), snowcap)
    meadow = below(0.5 + 0.03 * np.sin(_TAU * (_axis + rng.random())))
    return mixed(picture, flat((112, 116, 92), 12 * noise(rng, grain=32)), meadow)


def _snow(rng: np.random.Generator) -> Picture:
    drift = np.sin(_TAU * (Y * 2.2 + 0.3 * np.sin(_TAU * (X * 0.8 + rng.random())) + rng.random()))
    shadow = np.clip(drift, 0, 1)[..., None] ** 2 * np.array([70, 46, 12], np.float32)
    picture = flat((250, 252, 255), 6 * noise(rng, grain=8))
    picture -= shadow
    return picture


def _beach(rng: np.random.Generator) -> Picture:
    shore = rng.uniform(0.3, 0.45) + 0.025 * np.sin(_TAU * (_axis * 1.5 + rng.random()))
    sea = flat((52, 132, 172), 9 * np.sin(_TAU * Y * 13) + 5 * noise(rng, grain=32))
    foam = mixed(sea, flat((236, 240, 240), 4 * noise(rng)), below(shore - 0.03))
    return mixed(foam, flat((226, 204, 152), 7 * noise(rng, grain=64)), below(shore))


GROUNDS: dict[str, Callable[[np.random.Generator], Picture]] = {
    "road": _road,
    "pavement": _pavement,
    "grass": lambda rng: flat((92, 150, 62), 24 * noise(rng, grain=64)),
    "sea": _sea,
    "playingfield": _playingfield,
    "sky-other": lambda rng: flat((128, 180, 232), 40 * (Y - 0.3) + 6 * noise(rng, grain=8)),
}
"""Stuff of COCO by its name."""
LOCATIONS: dict[str, Callable[[np.random.Generator], Picture]] = {
    "desert": _desert,
    "jungle": _jungle,
    "dirt": _dirt,
    "mountain": _mountain,
    "snow": _snow,
    "beach": _beach,
}
"""Backgrounds of Spawrious, in the order of its `locations_list`."""
PLACES = LOCATIONS | GROUNDS


def paint_room(rng: np.random.Generator) -> Picture:
    """A wall and a floor."""
    wall = flat(((196, 184, 160), (168, 152, 130), (214, 206, 190))[rng.integers(3)], 4 * noise(rng))
    floor = flat((134, 96, 62), 9 * noise(rng))
    return mixed(wall, floor, below(np.full(PIXELS, rng.uniform(0.55, 0.75), np.float32)))


def fade(scene: Picture, share: float, color: Color) -> Picture:
    """The share of a scene that is left; the rest is one color."""
    common = np.asarray(color, np.float32)
    return common + share * (scene - common)


def make_picture(scene: Picture) -> Image.Image:
    """An image of a scene."""
    return Image.fromarray(scene.clip(0, 255).astype(np.uint8))


def make_canvas(
    scene: Picture, way: Image.Resampling = Image.Resampling.NEAREST, *, side: int = PIXELS * OVERSAMPLING
) -> Image.Image:
    """A canvas of a scene, enlarged in that way."""
    return make_picture(scene).resize((side, side), way)


def cover(canvas: Image.Image, parts: Parts) -> Image.Image:
    """A copy of the canvas with the polygons on it."""
    covered = canvas.copy()
    draw = ImageDraw.Draw(covered)
    for color, points in parts:
        draw.polygon((points * canvas.size).ravel().tolist(), fill=color)
    return covered


def make_ellipse(
    x: float, y: float, across: float, down: float | None = None, *, corners: int = 16
) -> NDArray[np.float64]:
    """A polygon around (x, y); a circle unless `down` is given."""
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False)
    return np.stack([x + across * np.cos(turn), y + (across if down is None else down) * np.sin(turn)], 1)


def make_box(left: float, top: float, right: float, bottom: float) -> NDArray[np.float64]:
    """A rectangle as a polygon."""
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)], float)
