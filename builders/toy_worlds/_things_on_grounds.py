"""Drawn things on grounds that are painted apart from them, so that one of the two can be exchanged."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _textures
from oochub.builders.toy_worlds._imagenet_things import DrawnClass

OVERSAMPLING = 2
"""A canvas is as many times as wide as the image; `Image.reduce` makes the image of it."""
GROUNDS = tuple((_textures.LOCATIONS | _textures.GROUNDS).values())
_WALLS = ((196, 184, 160), (168, 152, 130), (214, 206, 190))
_FLOOR = (134, 96, 62)

Parts = list[tuple[_textures.Color, NDArray[np.float64]]]
"""Colored polygons, (n, 2) points in pixels of the canvas, back to front."""


def place_thing(rng: np.random.Generator, thing: DrawnClass) -> Parts:
    """The polygons of a thing somewhere on a canvas, in any color."""
    main = _textures.COLORS[int(rng.integers(len(_textures.COLORS)))]
    colors = {"main": main, "light": (232, 232, 224), "dark": (44, 38, 40), "red": (200, 52, 44)}
    scale, side = rng.uniform(0.5, 0.75), _textures.PIXELS * OVERSAMPLING
    middle = 0.5 + (0.5 - scale / 2) * rng.uniform(-1, 1, 2)
    flip = np.array([rng.choice([-1.0, 1.0]), 1.0])
    placed = [(part.paint, ((part.points - 0.5) * flip * scale + middle) * side) for part in thing.parts]
    return [(colors.get(paint, main), points) for paint, points in placed]


def paint_ground(rng: np.random.Generator, number: int) -> Image.Image:
    """A canvas of one of `GROUNDS`."""
    return make_canvas(GROUNDS[number](rng) + _textures.jitter(rng, light=12.0, warmth=6.0))


def paint_room(rng: np.random.Generator) -> _textures.Picture:
    """A wall and a floor."""
    wall = _textures.flat(_WALLS[int(rng.integers(len(_WALLS)))], 4 * _textures.noise(rng))
    floor = _textures.flat(_FLOOR, 9 * _textures.noise(rng))
    line = np.full(_textures.PIXELS, rng.uniform(0.55, 0.75), np.float32)
    return _textures.mixed(wall, floor, _textures.below(line))


def make_canvas(scene: _textures.Picture) -> Image.Image:
    """A canvas of a scene."""
    side = _textures.PIXELS * OVERSAMPLING
    return Image.fromarray(scene.clip(0, 255).astype(np.uint8)).resize((side, side), Image.Resampling.NEAREST)


def cover(ground: Image.Image, parts: Parts) -> Image.Image:
    """A copy of the canvas with the polygons on it."""
    canvas = ground.copy()
    for color, points in parts:
        ImageDraw.Draw(canvas).polygon(points.ravel().tolist(), fill=color)
    return canvas
