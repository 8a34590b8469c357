"""Which context and which objects share an image, and where each of them stands."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

OBJECT_SIZES = (0.18, 0.32)
"""With the contrast of `_painting`, the dial of the world: smaller objects make the context the easier cue."""

_FOCUSED, _FOCUSED_EMPTY = 0.5, 0.15
_HAS_MAIN, _HAS_EXTRA, _HAS_CLOUDS, _HAS_CROWD = 0.75, 0.3, 0.3, 0.3
_HORIZONS: dict[tuple[str, ...], float] = {("sea", "sky-other"): 0.8, ("grass", "sky-other"): 1.15}
"""The sea is the larger of a surfboard's contexts, and the sky that of a kite's: NOOCH lists these first."""
_AIRBORNE = ("airplane", "kite")


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
    if "person" in contexts:
        middle, mirrored = rng.uniform(0.25, 0.75), bool(rng.random() < 0.5)
        if "dining table" in contexts:
            height = horizon - rng.uniform(0.0, 0.05)
            width = rng.uniform(0.42, 0.5)
            things.append(Placed("bust", middle - width / 2, horizon + 0.03 - height, width, height, mirrored))
        else:
            height = rng.uniform(0.82, 0.92)
            width = height * rng.uniform(0.62, 0.72)
            things.append(Placed("person", middle - width / 2, 0.97 - height, width, height, mirrored))
    if "dining table" in contexts:
        left = rng.uniform(-0.06, 0.06)
        things.append(Placed("dining table", left, horizon, rng.uniform(0.92, 1.0), 1.02 - horizon, False))
    return things


def scene(rng: np.random.Generator, *, correlation: float | None, focus: str | None = None) -> Scene:
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


def outline_box(points: NDArray[np.float64]) -> list[float]:
    """[left, top, width, height] around (n, 2) points, as COCO writes it."""
    low, high = points.min(axis=0), points.max(axis=0)
    return [round(float(value), 2) for value in (*low, *(high - low))]
