"""Paints a thing of the toy ImageNet as a photograph, as a rendition or as a sketch."""

from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from oochub.builders.toy_worlds._imagenet_things import DrawnClass
from oochub.builders.toy_worlds._textures import COLORS, GROUNDS, LOCATIONS, PIXELS, Color, Picture, jitter

_COLOR_TELLS = 0.7
"""Share of things in the typical color of their class; the others take any color."""
_GROUND_SHARE = 0.6
"""How much of a ground is left; the rest is the common color below. Grounds say nothing of the class."""
_COMMON = np.array([130, 122, 108], np.float32)
_SCALE, _TURN = (0.55, 0.9), 15.0
_OVERSAMPLING = 2
_FIXED: dict[str, Color] = {
    "light": (232, 232, 224),
    "dark": (44, 38, 40),
    "red": (200, 52, 44),
    "yellow": (240, 200, 60),
    "green": (60, 130, 60),
    "brown": (146, 98, 56),
}


class Style(NamedTuple):
    """How a thing is painted.

    Attributes:
        ground: One color for the ground; None for a photograph's.
        line: Color of the lines around the parts; None for no lines.
        filled: Whether the parts are filled; if not, the ground shows.
        any_colors: Whether each part takes any color at all, never its own.
        smeared: Side of the window over which the most common color spreads, in pixels; 0 for none.
    """

    ground: Color | None = None
    line: Color | None = None
    filled: bool = True
    any_colors: bool = False
    smeared: int = 0


PHOTO = Style()
SKETCH = Style(ground=(244, 243, 238), line=(60, 60, 60), filled=False)
RENDITIONS: dict[str, Style] = {
    "art": Style(any_colors=True, smeared=3),
    "cartoon": Style(line=(10, 10, 10)),
    "sketch": Style(ground=(226, 214, 190), line=(84, 60, 44), filled=False),
    "tattoo": Style(ground=(222, 178, 146), line=(34, 52, 84), filled=False),
}
"""By the first word of a file's name in ImageNet-R."""


def paint(rng: np.random.Generator, thing: DrawnClass, style: Style) -> Image.Image:
    """An image of PIXELS x PIXELS; the same stream of numbers gives the same image."""
    side = PIXELS * _OVERSAMPLING
    canvas = Image.fromarray(_paint_ground(rng, style)).resize((side, side), Image.Resampling.NEAREST)
    draw = ImageDraw.Draw(canvas)
    main = COLORS[thing.color if rng.random() < _COLOR_TELLS else rng.integers(len(COLORS))]
    shade = jitter(rng, light=12, warmth=5)
    scale, turn = rng.uniform(*_SCALE), np.deg2rad(rng.uniform(-_TURN, _TURN))
    rotation = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    middle = 0.5 + (0.5 - scale / 2) * rng.uniform(-1, 1, 2)
    flip = np.array([rng.choice([-1, 1]), 1])
    for part in thing.parts:
        color = COLORS[rng.integers(len(COLORS))] if style.any_colors else {**_FIXED, "main": main}[part.paint]
        filled = tuple(int(value) for value in (color + shade).clip(0, 255))
        points = ((part.points - 0.5) * flip @ rotation.T + middle) * side
        corners = [(float(x), float(y)) for x, y in points]
        if style.filled:
            draw.polygon(corners, fill=filled)
        if style.line is not None:
            wobble = [
                (x + dx, y + dy) for (x, y), (dx, dy) in zip(corners, rng.normal(0, 0.8, points.shape), strict=True)
            ]
            draw.line([*wobble, wobble[0]], fill=style.line, width=3, joint="curve")
    picture = canvas.reduce(_OVERSAMPLING)
    return picture.filter(ImageFilter.ModeFilter(style.smeared)) if style.smeared else picture


def _paint_ground(rng: np.random.Generator, style: Style) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    grounds = [*LOCATIONS.values(), *GROUNDS.values()]
    drawn = grounds[rng.integers(len(grounds))](rng)
    scene: Picture = _COMMON + _GROUND_SHARE * (drawn - _COMMON)
    if style.ground is not None:
        scene = np.full_like(scene, style.ground)
    scene = scene + jitter(rng, light=12, warmth=6)
    return scene.clip(0, 255).astype(np.uint8)
