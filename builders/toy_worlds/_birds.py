"""Two birds of polygons, by build alone: a land bird perches, a water bird has a long neck and a long bill."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _textures

Color = tuple[int, int, int]
Parts = list[tuple[Color, NDArray[np.float64]]]
"""Colored polygons, (n, 2) points as fractions of the image's side, back to front."""

SPECIES = {
    "landbird": ("014.Indigo_Bunting", "017.Cardinal", "073.Blue_Jay"),
    "waterbird": ("087.Mallard", "101.White_Pelican", "059.California_Gull"),
}
"""Folders of CUB-200-2011."""
PLACES = {"land": ("/b/bamboo_forest", "/f/forest/broadleaf"), "water": ("/o/ocean", "/l/lake/natural")}
"""Categories of Places365 that Waterbirds takes."""

_PLUMAGE: tuple[Color, ...] = (
    (196, 60, 48),
    (60, 84, 176),
    (228, 206, 168),
    (238, 238, 232),
    (116, 84, 60),
    (70, 70, 78),
)
_BILL: Color = (232, 168, 52)
_TURN = np.linspace(0, 2 * np.pi, 20, endpoint=False)


def bird_parts(rng: np.random.Generator, *, bird: str) -> Parts:
    """A bird somewhere in the image, looking left or right, in any plumage."""
    plumage = _PLUMAGE[int(rng.integers(len(_PLUMAGE)))]
    dark: Color = (int(0.7 * plumage[0]), int(0.7 * plumage[1]), int(0.7 * plumage[2]))
    lean, lift = rng.uniform(-0.04, 0.04), rng.uniform(0.9, 1.1)
    parts: Parts
    if bird == "landbird":  # a round body, a tail, a short bill, two thin legs
        head = (-0.15 + lean, -0.13 * lift)
        parts = [
            (dark, np.array([(0.1, -0.02), (0.36, -0.16 * lift), (0.34, -0.04 * lift), (0.12, 0.1)])),
            *((_BILL, _make_box(x, 0.1, x + 0.02, 0.28 * lift)) for x in (-0.06, 0.03)),
            (plumage, _make_ellipse(0, 0, 0.19, 0.16)),
            (dark, _make_ellipse(0.05, 0.0, 0.12, 0.08)),
            (plumage, _make_ellipse(*head, 0.095, 0.09)),
            (
                _BILL,
                np.array(
                    [
                        (head[0] - 0.15, head[1] + 0.02),
                        (head[0] - 0.07, head[1] - 0.03),
                        (head[0] - 0.07, head[1] + 0.05),
                    ]
                ),
            ),
        ]
    else:  # a flat body, a long neck, a long bill, no legs
        head = (-0.25 + lean, -0.31 * lift)
        neck = np.array([(-0.2, 0.04), (-0.1, -0.02), (head[0] + 0.05, head[1]), (head[0] - 0.04, head[1])])
        parts = [
            (plumage, neck),
            (plumage, _make_ellipse(0, 0.03, 0.27, 0.1)),
            (dark, _make_ellipse(0.05, 0.01, 0.17, 0.055)),
            (plumage, _make_ellipse(*head, 0.065, 0.055)),
            (
                _BILL,
                np.array(
                    [
                        (head[0] - 0.23, head[1] + 0.06),
                        (head[0] - 0.04, head[1] - 0.035),
                        (head[0] - 0.04, head[1] + 0.045),
                    ]
                ),
            ),
        ]
    parts.append(((20, 20, 22), _make_ellipse(head[0] - 0.02, head[1] - 0.015, 0.014, 0.014)))
    middle = np.array([rng.uniform(0.42, 0.58), rng.uniform(0.48, 0.6)])
    mirror, scale = np.array([rng.choice((-1.0, 1.0)), 1.0]), rng.uniform(0.85, 1.1)
    return [(color, points * mirror * scale + middle) for color, points in parts]


def draw_parts(canvas: Image.Image, parts: Parts, *, white: bool = False) -> None:
    """Draws the polygons on a canvas; `white` draws where they are, on one of gray values."""
    draw = ImageDraw.Draw(canvas)
    for color, points in parts:
        placed = (points * canvas.size).ravel().tolist()
        draw.polygon(placed, fill=255 if white else color)


def place_scene(rng: np.random.Generator, place: str) -> _textures.Picture:
    """A scene of a category of `PLACES`."""
    if place == "/b/bamboo_forest":
        scene = _textures.LOCATIONS["jungle"](rng)
    elif place == "/f/forest/broadleaf":
        scene = _textures.GROUNDS["grass"](rng)
    elif place == "/o/ocean":
        scene = _textures.GROUNDS["sea"](rng)
    else:
        shore = np.full(_textures.PIXELS, rng.uniform(0.15, 0.35), np.float32)
        sky, lake = _textures.GROUNDS["sky-other"](rng), _textures.GROUNDS["sea"](rng) + 14
        scene = _textures.mixed(sky, lake, _textures.below(shore))
    return scene


def _make_ellipse(x: float, y: float, across: float, down: float) -> NDArray[np.float64]:
    return np.stack([x + across * np.cos(_TURN), y + down * np.sin(_TURN)], 1)


def _make_box(left: float, top: float, right: float, bottom: float) -> NDArray[np.float64]:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
