"""Paints a scene, and says where everything in it came to lie."""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds._objects import SHAPES
from oochub.builders.toy_worlds._scenes import USUAL, Placed, Scene
from oochub.builders.toy_worlds._textures import (
    COLORS,
    GROUNDS,
    PIXELS,
    Color,
    Picture,
    X,
    Y,
    below,
    flat,
    jitter,
    mixed,
    noise,
)

Mask = NDArray[np.bool_]

OBJECT_CONTRAST = 0.7
"""Share of an object's own color; the rest is the color of what it stands before. See `_scenes.OBJECT_SIZES`."""

_OVERSAMPLING = 2
_NEUTRALS: tuple[Color, ...] = (
    (196, 184, 160),
    (168, 152, 130),
    (134, 128, 118),
    (112, 116, 122),
    (92, 88, 78),
    (214, 206, 190),
    (150, 144, 120),
    (122, 104, 84),
    (180, 176, 172),
    (104, 98, 104),
)
_SKINS: tuple[Color, ...] = ((238, 200, 170), (208, 156, 118), (150, 100, 70), (92, 60, 44))
_FIXED: dict[str, Color] = {
    "light": (232, 236, 240),
    "dark": (34, 34, 38),
    "hair": (44, 34, 30),
    "top": (186, 124, 66),
    "edge": (140, 88, 44),
    "legs": (112, 68, 36),
    "grain": (158, 102, 52),
}


class Thing(NamedTuple):
    """A countable object as painted: its COCO name and its outline, (n, 2) points in pixels per polygon."""

    name: str
    outline: list[NDArray[np.float64]]


class Painted(NamedTuple):
    """An image (PIXELS, PIXELS, 3) and what lies where in it; stuff includes what things hide."""

    picture: Image.Image
    things: list[Thing]
    crowd: list[Thing]
    stuff: dict[str, Mask]


def _paint_grounds(rng: np.random.Generator, scene: Scene) -> tuple[Picture, dict[str, Mask]]:
    """The background: a wall or a sky down to the horizon, a floor or a ground below it."""
    kinds = [context for context in scene.contexts if context in GROUNDS]
    wall, floor = rng.choice(len(_NEUTRALS), 2, replace=False)
    wave = rng.uniform(0, 0.015) * np.sin(2 * np.pi * (rng.uniform(0.5, 2) * X[0] + rng.random()))
    lower = below(scene.horizon + wave)
    stuff: dict[str, Mask] = {}
    upper_paint = flat(_NEUTRALS[wall], 5 * noise(rng))
    lower_paint = flat(_NEUTRALS[floor], 8 * noise(rng))
    middle, height, spread = rng.uniform(0.2, 0.8), rng.uniform(0.06, 0.14), rng.uniform(0.14, 0.24)
    for kind in kinds:
        texture = GROUNDS[kind](rng)
        if kind != "sky-other":
            lower_paint, stuff[kind] = texture, lower > 0.5
            continue
        upper_paint, stuff[kind] = texture, lower <= 0.5
        if scene.clouds:
            far = ((X - middle) / spread) ** 2 + ((Y - height) / 0.07) ** 2 + 0.25 * noise(rng)
            cloud = np.clip(1.5 - far, 0, 1).astype(np.float32)
            upper_paint = mixed(upper_paint, flat((244, 246, 250), 3 * noise(rng)), cloud)
            stuff["clouds"] = (cloud > 0.5) & stuff[kind]
            stuff[kind] = stuff[kind] & ~stuff["clouds"]
    background = mixed(upper_paint, lower_paint, lower) + jitter(rng, light=10, warmth=4)
    return background.clip(0, 255), stuff


def _choose_paints(rng: np.random.Generator) -> dict[str, Color]:
    """The colors of one thing; those of an object do not depend on what it is."""
    main, shirt, trousers = (COLORS[index] for index in rng.integers(len(COLORS), size=3))
    skin = _SKINS[rng.integers(len(_SKINS))]
    return {**_FIXED, "main": main, "shirt": shirt, "trousers": trousers, "skin": skin}


class _Shape(NamedTuple):
    """The parts of `SHAPES` joined, so that one thing is one computation.

    Attributes:
        points: (n, 2), those of all parts.
        places: Where the points of each part are.
        paints: The paint of each part.
        outer: Which parts are in the outline.
    """

    points: NDArray[np.float64]
    places: list[slice]
    paints: list[str]
    outer: list[slice]


@cache
def _join_parts(name: str) -> _Shape:
    parts = SHAPES[name]
    ends = np.cumsum([len(part.points) for part in parts]).tolist()
    places = [slice(end - len(part.points), end) for part, end in zip(parts, ends, strict=True)]
    outer = [place for part, place in zip(parts, places, strict=True) if not part.inner]
    return _Shape(np.concatenate([part.points for part in parts]), places, [part.paint for part in parts], outer)


def _convert_to_pixels(points: NDArray[np.float64], placed: Placed) -> NDArray[np.float64]:
    """Points of the unit square in pixels of the image, clipped to its frame."""
    pixels = np.empty_like(points)
    across = 1 - points[:, 0] if placed.mirrored else points[:, 0]
    pixels[:, 0] = placed.left + placed.width * across
    pixels[:, 1] = placed.top + placed.height * points[:, 1]
    np.minimum(np.maximum(pixels, 0, out=pixels), 1, out=pixels)
    pixels *= PIXELS
    return pixels


def _paint(canvas: Image.Image, rng: np.random.Generator, placed: Placed, *, visible: bool) -> Thing:
    """Paint one thing; an invisible one only spends its randomness and leaves its outline."""
    paints, shape = _choose_paints(rng), _join_parts(placed.name)
    points = _convert_to_pixels(shape.points, placed)
    if visible:
        colors = np.array([paints[paint] for paint in shape.paints])
        if placed.name in USUAL:
            left, top = int(placed.left * canvas.width), int(max(placed.top, 0) * canvas.height)
            side = int(placed.width * canvas.width)
            crop = canvas.crop((left, top, left + side, top + side))
            behind = np.asarray(crop).reshape(-1, 3).sum(0, np.float64) / (side * side)
            colors = (OBJECT_CONTRAST * colors + (1 - OBJECT_CONTRAST) * behind).astype(int)
        draw = ImageDraw.Draw(canvas)
        corners = (points * _OVERSAMPLING).ravel().tolist()
        for place, (red, green, blue) in zip(shape.places, colors.tolist(), strict=True):
            draw.polygon(corners[2 * place.start : 2 * place.stop], fill=(red, green, blue))
    outline = [points[place] for place in shape.outer]
    return Thing("person" if placed.name == "bust" else placed.name, outline)


def paint(rng: np.random.Generator, scene: Scene, *, objects: bool) -> Painted:
    """Paint `scene`; with `objects=False` the twelve NOOCH objects are left out of the image only."""
    background, stuff = _paint_grounds(rng, scene)
    side = PIXELS * _OVERSAMPLING
    canvas = Image.fromarray(background.astype(np.uint8)).resize((side, side), Image.Resampling.NEAREST)
    crowd = [_paint(canvas, rng, placed, visible=True) for placed in scene.crowd]
    things = [_paint(canvas, rng, placed, visible=objects or placed.name not in USUAL) for placed in scene.things]
    return Painted(canvas.reduce(_OVERSAMPLING), things, crowd, stuff)
