"""The scenes of the toy COCO: which context and which objects share an image, where each stands, and their paint."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._painter import COLORS, GROUNDS, PIXELS, Color, X, Y, flat, noise
from oochub.builders.toy_worlds._things import SHAPES

Mask = NDArray[np.bool_]
USUAL: dict[str, tuple[str, ...]] = {
    "car": ("road",),
    "bowl": ("dining table",),
    "boat": ("sea",),
    "fire hydrant": ("pavement",),
    "airplane": ("sky-other",),
    "cow": ("grass",),
    "backpack": ("person",),
    "cup": ("dining table", "person"),
    "surfboard": ("sea", "sky-other"),
    "tie": ("person",),
    "sports ball": ("person", "playingfield"),
    "kite": ("grass", "sky-other"),
}
"""The twelve objects of NOOCH and the contexts that NOOCH names for them (Section 3.2.1, Appendix B.3)."""
OBJECTS = tuple(USUAL)
_SINGLE = tuple(dict.fromkeys((context,) for contexts in USUAL.values() for context in contexts))
SCENES: tuple[tuple[str, ...], ...] = tuple(dict.fromkeys([*USUAL.values(), *_SINGLE]))
"""Every set of contexts that an image can show."""

OBJECT_SIZES, OBJECT_CONTRAST = (0.18, 0.32), 0.7
"""The dials of the world: smaller objects, and a smaller share of an object's own color in that of what it stands
before, make the context the easier cue."""
_FOCUSED, _FOCUSED_EMPTY = 0.5, 0.15
_HAS_MAIN, _HAS_EXTRA, _HAS_CLOUDS, _HAS_CROWD = 0.75, 0.3, 0.3, 0.3
_HORIZONS: dict[tuple[str, ...], float] = {("sea", "sky-other"): 0.8, ("grass", "sky-other"): 1.15}
"""The sea is the larger of a surfboard's contexts, and the sky that of a kite's: NOOCH lists these first."""
_AIRBORNE = ("airplane", "kite")

_NEUTRALS: tuple[Color, ...] = (
    *((196, 184, 160), (168, 152, 130), (134, 128, 118), (112, 116, 122), (92, 88, 78)),
    *((214, 206, 190), (150, 144, 120), (122, 104, 84), (180, 176, 172), (104, 98, 104)),
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


class Placed(NamedTuple):
    """A shape in its square of the image; lengths as fractions of the image's side."""

    name: str
    left: float
    top: float
    width: float
    height: float
    mirrored: bool


class Scene(NamedTuple):
    """An image before any paint: contexts, the height of the horizon, and the things from back to front."""

    contexts: tuple[str, ...]
    horizon: float
    clouds: bool
    crowd: tuple[Placed, ...]
    things: tuple[Placed, ...]


class Drawn(NamedTuple):
    """A countable object as painted: its COCO name and its outline, (n, 2) points in pixels per polygon."""

    name: str
    outline: list[NDArray[np.float64]]


class Painted(NamedTuple):
    """An image (PIXELS, PIXELS, 3) and what lies where in it; stuff includes what things hide."""

    picture: Image.Image
    things: list[Drawn]
    crowd: list[Drawn]
    stuff: dict[str, Mask]


def make_scene(rng: np.random.Generator, *, correlation: float | None, focus: str | None = None) -> Scene:
    """Draw a scene; `correlation` is the share of objects in their usual context, None for any context alike.

    With `focus`, half of the images with an object show that one, and its context is empty a little more often.

    With None the context is drawn without a look at the objects, from every scene equally often, so that
    P(context | object) = P(context | no such object).
    """
    contexts, objects = _draw_contents(rng, correlation, focus)
    horizon = float(rng.uniform(0.4, 0.65)) * _HORIZONS.get(contexts, 1.0)
    things = _make_figures(rng, contexts, horizon)
    for name in objects:
        proposals = [_propose_place(rng, name, horizon, things) for _ in range(6)]
        others = [thing for thing in things if thing.name != "dining table"]
        things.append(min(proposals, key=lambda proposal: sum(_compute_overlap(proposal, other) for other in others)))
    clouds = bool(rng.random() < _HAS_CLOUDS) and "sky-other" in contexts
    crowd: tuple[Placed, ...] = ()
    if rng.random() < _HAS_CROWD and contexts == ("person", "playingfield"):
        row = rng.uniform(0, 0.9, 5)
        crowd = tuple(Placed("person", float(left), horizon - 0.1, 0.09, 0.13, False) for left in row)
    return Scene(contexts, horizon, clouds, crowd, tuple(things))


def paint_scene(rng: np.random.Generator, scene: Scene, *, objects: bool) -> Painted:
    """Paint `scene`; with `objects=False` the twelve NOOCH objects are left out of the image only."""
    background, stuff = _paint_grounds(rng, scene)
    canvas, drawn = _painter.make_canvas(background), []
    for placed in (*scene.crowd, *scene.things):
        canvas, own = _paint_thing(canvas, rng, placed, visible=objects or placed.name not in USUAL)
        drawn.append(own)
    crowd = len(scene.crowd)
    return Painted(canvas.reduce(_painter.OVERSAMPLING), drawn[crowd:], drawn[:crowd], stuff)


def _draw_contents(
    rng: np.random.Generator, correlation: float | None, focus: str | None
) -> tuple[tuple[str, ...], list[str]]:
    """The contexts of an image and its objects: none, one or two."""
    main = OBJECTS[rng.integers(len(OBJECTS))] if rng.random() < _HAS_MAIN else None
    if focus is not None and main is not None and rng.random() < _FOCUSED:
        main = focus
    usual = correlation is not None and rng.random() < correlation
    if correlation is None:
        contexts = SCENES[rng.integers(len(SCENES))]
    elif main is None:
        contexts = _SINGLE[rng.integers(len(_SINGLE))]
        if focus is not None and rng.random() < _FOCUSED_EMPTY:
            contexts = USUAL[focus]
    elif usual:
        contexts = USUAL[main]
    else:
        foreign = [scene for scene in _SINGLE if scene[0] not in USUAL[main]]
        contexts = foreign[rng.integers(len(foreign))]
    objects = [] if main is None else [main]
    if rng.random() < _HAS_EXTRA:
        at_home = correlation is not None and rng.random() < correlation
        pool = [
            name
            for name, home in USUAL.items()
            if name != main and (correlation is None or (set(home) <= set(contexts)) == at_home)
        ]
        if pool:
            objects.append(pool[rng.integers(len(pool))])
    return contexts, objects


def _compute_overlap(first: Placed, other: Placed) -> float:
    """The area that two squares share."""
    across = min(first.left + first.width, other.left + other.width) - max(first.left, other.left)
    down = min(first.top + first.height, other.top + other.height) - max(first.top, other.top)
    return max(across, 0.0) * max(down, 0.0)


def _propose_place(rng: np.random.Generator, name: str, horizon: float, things: list[Placed]) -> Placed:
    """One proposal for an object: in the air, worn by a person, or with its foot on the ground."""
    side = rng.uniform(*OBJECT_SIZES)
    mirrored = bool(rng.random() < 0.5)
    wearer = next((thing for thing in things if thing.name in ("person", "bust")), None)
    left = rng.uniform(0.01, 0.99 - side)
    if name in _AIRBORNE:
        return Placed(name, left, rng.uniform(0.02, max(0.04, horizon - 0.8 * side)), side, side, mirrored)
    if wearer is not None and name in ("tie", "backpack"):
        neck = 0.24 if wearer.name == "person" else 0.5
        middle, shoulder = wearer.left + wearer.width / 2, wearer.top + neck * wearer.height
        shift = 0.0 if name == "tie" else rng.choice((-1, 1)) * rng.uniform(0.1, 0.2)
        left = float(np.clip(middle + shift - side / 2, 0, 1 - side))
        return Placed(name, left, shoulder, side, side, mirrored)
    table = next((thing for thing in things if thing.name == "dining table"), None)
    lowest = 0.97 if table is None else table.top + 0.55 * table.height
    foot = rng.uniform(min(horizon + 0.07, lowest - 0.02), lowest)
    return Placed(name, left, foot - side, side, side, mirrored)


def _make_figures(rng: np.random.Generator, contexts: tuple[str, ...], horizon: float) -> list[Placed]:
    """The person and the table of an image, if its contexts ask for them."""
    things = []
    has_table = "dining table" in contexts
    if "person" in contexts:
        middle, mirrored = rng.uniform(0.25, 0.75), bool(rng.random() < 0.5)
        if has_table:
            height = horizon - rng.uniform(0.0, 0.05)
            width = rng.uniform(0.42, 0.5)
        else:
            height = rng.uniform(0.82, 0.92)
            width = height * rng.uniform(0.62, 0.72)
        name, foot = ("bust", horizon + 0.03) if has_table else ("person", 0.97)
        things.append(Placed(name, middle - width / 2, foot - height, width, height, mirrored))
    if has_table:
        left = rng.uniform(-0.06, 0.06)
        things.append(Placed("dining table", left, horizon, rng.uniform(0.92, 1.0), 1.02 - horizon, False))
    return things


def _paint_grounds(rng: np.random.Generator, scene: Scene) -> tuple[_painter.Picture, dict[str, Mask]]:
    """The background: a wall or a sky down to the horizon, a floor or a ground below it."""
    wall, floor = rng.choice(len(_NEUTRALS), 2, replace=False)
    wave = rng.uniform(0, 0.015) * np.sin(2 * np.pi * (rng.uniform(0.5, 2) * X[0] + rng.random()))
    lower = _painter.below(scene.horizon + wave)
    stuff: dict[str, Mask] = {}
    upper_paint = flat(_NEUTRALS[wall], 5 * noise(rng))
    lower_paint = flat(_NEUTRALS[floor], 8 * noise(rng))
    middle, height, spread = rng.uniform(0.2, 0.8), rng.uniform(0.06, 0.14), rng.uniform(0.14, 0.24)
    for kind in (context for context in scene.contexts if context in GROUNDS):
        texture = GROUNDS[kind](rng)
        if kind != "sky-other":
            lower_paint, stuff[kind] = texture, lower > 0.5
            continue
        upper_paint, stuff[kind] = texture, lower <= 0.5
        if scene.clouds:
            far = ((X - middle) / spread) ** 2 + ((Y - height) / 0.07) ** 2 + 0.25 * noise(rng)
            cloud = np.clip(1.5 - far, 0, 1).astype(np.float32)
            upper_paint = _painter.mixed(upper_paint, flat((244, 246, 250), 3 * noise(rng)), cloud)
            stuff["clouds"] = (cloud > 0.5) & stuff[kind]
            stuff[kind] = stuff[kind] & ~stuff["clouds"]
    return _painter.mixed(upper_paint, lower_paint, lower) + _painter.jitter(rng, light=10, warmth=4), stuff


def _paint_thing(
    canvas: Image.Image, rng: np.random.Generator, placed: Placed, *, visible: bool
) -> tuple[Image.Image, Drawn]:
    """The canvas with one thing, its colors drawn by lot; an invisible one spends its lot and leaves its outline."""
    main, shirt, trousers = (COLORS[index] for index in rng.integers(len(COLORS), size=3))
    paints = {**_FIXED, "main": main, "shirt": shirt, "trousers": trousers, "skin": _SKINS[rng.integers(len(_SKINS))]}
    parts, outline = [], []
    left, top = int(placed.left * canvas.width), int(max(placed.top, 0) * canvas.height)
    side = int(placed.width * canvas.width)
    behind = np.asarray(canvas.crop((left, top, left + side, top + side)), float).mean((0, 1))
    share = OBJECT_CONTRAST if placed.name in USUAL else 1
    for part in SHAPES[placed.name].parts:
        across = 1 - part.points[:, 0] if placed.mirrored else part.points[:, 0]
        points = np.stack([placed.left + placed.width * across, placed.top + placed.height * part.points[:, 1]], 1)
        points = points.clip(0, 1)
        red, green, blue = (share * np.array(paints[part.paint]) + (1 - share) * behind).astype(int).tolist()
        parts.append(((red, green, blue), points))
        if not part.inner:
            outline.append(points * PIXELS)
    name = "person" if placed.name == "bust" else placed.name
    return _painter.cover(canvas, parts) if visible else canvas, Drawn(name, outline)
