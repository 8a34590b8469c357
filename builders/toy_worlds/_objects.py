"""The shapes of the twelve NOOCH objects, of people and of tables, as polygons in a unit square."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

_TURN = np.linspace(0, 2 * np.pi, 16, endpoint=False)


class Part(NamedTuple):
    """One polygon of a shape: (n, 2) points with y down, painted with the paint of that name.

    A part that is `inner` lies within the others and is left out of the outline.
    """

    paint: str
    points: Points
    inner: bool = False


def _polygon(*points: tuple[float, float]) -> Points:
    return np.array(points, float)


def _box(left: float, top: float, right: float, bottom: float) -> Points:
    return _polygon((left, top), (right, top), (right, bottom), (left, bottom))


def _disk(x: float, y: float, across: float, down: float | None = None) -> Points:
    return np.stack([x + across * np.cos(_TURN), y + (down or across) * np.sin(_TURN)], 1)


def _half(x: float, y: float, across: float, down: float) -> Points:
    """The lower half of an ellipse; the upper one when `down` is negative."""
    turn = np.linspace(0, np.pi, 10)
    return np.stack([x + across * np.cos(turn), y + down * np.sin(turn)], 1)


SHAPES: dict[str, Sequence[Part]] = {
    "car": (
        Part("main", _polygon((0.16, 0.56), (0.3, 0.3), (0.68, 0.3), (0.84, 0.56))),
        Part("main", _polygon((0, 0.6), (0.14, 0.52), (0.88, 0.52), (1, 0.6), (1, 0.78), (0, 0.78))),
        Part("light", _polygon((0.26, 0.53), (0.35, 0.37), (0.48, 0.37), (0.48, 0.53)), inner=True),
        Part("light", _polygon((0.53, 0.53), (0.53, 0.37), (0.64, 0.37), (0.74, 0.53)), inner=True),
        Part("dark", _disk(0.23, 0.78, 0.13)),
        Part("dark", _disk(0.77, 0.78, 0.13)),
    ),
    "bowl": (
        Part("main", _half(0.5, 0.46, 0.5, 0.46)),
        Part("main", _box(0.32, 0.84, 0.68, 0.98)),
        Part("main", _disk(0.5, 0.46, 0.5, 0.13)),
        Part("dark", _disk(0.5, 0.46, 0.42, 0.09), inner=True),
    ),
    "boat": (
        Part("main", _polygon((0, 0.7), (1, 0.7), (0.82, 0.98), (0.16, 0.98))),
        Part("dark", _box(0.46, 0.02, 0.52, 0.72)),
        Part("light", _polygon((0.56, 0.06), (0.94, 0.62), (0.56, 0.62))),
        Part("light", _polygon((0.42, 0.16), (0.42, 0.62), (0.14, 0.62))),
    ),
    "fire hydrant": (
        Part("main", _box(0.33, 0.28, 0.67, 0.92)),
        Part("main", _half(0.5, 0.28, 0.21, -0.22)),
        Part("main", _box(0.45, 0, 0.55, 0.1)),
        Part("main", _box(0.16, 0.42, 0.84, 0.6)),
        Part("main", _box(0.22, 0.88, 0.78, 1)),
        Part("dark", _disk(0.5, 0.51, 0.1), inner=True),
        Part("dark", _box(0.33, 0.27, 0.67, 0.33), inner=True),
    ),
    "airplane": (
        Part("main", _polygon((0, 0.5), (0.1, 0.42), (0.9, 0.42), (1, 0.46), (0.9, 0.56), (0.1, 0.58))),
        Part("main", _polygon((0.36, 0.5), (0.54, 0.5), (0.76, 0.9), (0.64, 0.9))),
        Part("main", _polygon((0.4, 0.46), (0.54, 0.46), (0.7, 0.14), (0.6, 0.14))),
        Part("main", _polygon((0.84, 0.46), (0.92, 0.22), (1, 0.22), (0.98, 0.48))),
        Part("light", _box(0.14, 0.455, 0.8, 0.495), inner=True),
    ),
    "cow": (
        Part("main", _box(0.22, 0.32, 0.92, 0.68)),
        Part("main", _box(0.26, 0.62, 0.36, 0.96)),
        Part("main", _box(0.44, 0.62, 0.53, 0.92)),
        Part("main", _box(0.68, 0.62, 0.77, 0.92)),
        Part("main", _box(0.82, 0.62, 0.92, 0.96)),
        Part("main", _polygon((0, 0.42), (0.06, 0.22), (0.28, 0.22), (0.3, 0.46), (0.12, 0.54))),
        Part("light", _polygon((0.06, 0.24), (0, 0.1), (0.12, 0.22))),
        Part("light", _polygon((0.22, 0.24), (0.3, 0.1), (0.28, 0.24))),
        Part("dark", _disk(0.45, 0.46, 0.09), inner=True),
        Part("dark", _disk(0.72, 0.44, 0.11, 0.09), inner=True),
        Part("dark", _polygon((0, 0.42), (0.02, 0.35), (0.12, 0.4), (0.12, 0.54)), inner=True),
    ),
    "backpack": (
        Part("dark", _polygon((0.38, 0.16), (0.38, 0), (0.62, 0), (0.62, 0.16), (0.55, 0.16), (0.55, 0.07), (0.45, 0.07), (0.45, 0.16))),  # noqa: E501
        Part("main", _polygon((0.14, 1), (0.14, 0.34), (0.3, 0.12), (0.7, 0.12), (0.86, 0.34), (0.86, 1))),
        Part("dark", _box(0.26, 0.58, 0.74, 0.9), inner=True),
        Part("light", _box(0.26, 0.66, 0.74, 0.71), inner=True),
        Part("dark", _box(0.14, 0.4, 0.86, 0.45), inner=True),
    ),
    "cup": (
        Part("main", _polygon((0.05, 0.12), (0.67, 0.12), (0.61, 1), (0.11, 1))),
        Part("main", _polygon((0.62, 0.28), (1, 0.28), (1, 0.74), (0.6, 0.74), (0.6, 0.62), (0.87, 0.62), (0.87, 0.4), (0.62, 0.4))),  # noqa: E501
        Part("main", _disk(0.36, 0.12, 0.31, 0.09)),
        Part("dark", _disk(0.36, 0.12, 0.25, 0.055), inner=True),
    ),
    "surfboard": (
        Part("main", _polygon((0.5, 0), (0.62, 0.18), (0.67, 0.5), (0.62, 0.84), (0.5, 1), (0.38, 0.84), (0.33, 0.5), (0.38, 0.18))),  # noqa: E501
        Part("dark", _box(0.475, 0.08, 0.525, 0.92), inner=True),
        Part("light", _polygon((0.35, 0.62), (0.65, 0.5), (0.65, 0.6), (0.35, 0.72)), inner=True),
    ),
    "tie": (
        Part("main", _polygon((0.36, 0), (0.64, 0), (0.57, 0.18), (0.43, 0.18))),
        Part("main", _polygon((0.43, 0.18), (0.57, 0.18), (0.7, 0.8), (0.5, 1), (0.3, 0.8))),
        Part("dark", _polygon((0.4, 0.36), (0.62, 0.46), (0.63, 0.54), (0.38, 0.44)), inner=True),
        Part("dark", _polygon((0.36, 0.6), (0.66, 0.7), (0.67, 0.78), (0.33, 0.68)), inner=True),
    ),
    "sports ball": (
        Part("main", _disk(0.5, 0.5, 0.42)),
        Part("dark", _box(0.47, 0.1, 0.53, 0.9), inner=True),
        Part("dark", _box(0.1, 0.47, 0.9, 0.53), inner=True),
        Part("dark", _disk(0.5, 0.5, 0.14), inner=True),
    ),
    "kite": (
        Part("main", _polygon((0.5, 0), (0.84, 0.3), (0.5, 0.74), (0.16, 0.3))),
        Part("dark", _polygon((0.5, 0), (0.84, 0.3), (0.5, 0.3)), inner=True),
        Part("light", _polygon((0.5, 0.3), (0.5, 0.74), (0.16, 0.3)), inner=True),
        Part("dark", _polygon((0.48, 0.72), (0.53, 0.72), (0.62, 0.86), (0.5, 1), (0.45, 1), (0.56, 0.86))),
    ),
    "person": (
        Part("trousers", _polygon((0.3, 0.56), (0.7, 0.56), (0.72, 1), (0.53, 1), (0.5, 0.66), (0.47, 1), (0.28, 1))),  # noqa: E501
        Part("shirt", _polygon((0.3, 0.22), (0.7, 0.22), (0.9, 0.52), (0.8, 0.56), (0.71, 0.42), (0.71, 0.6), (0.29, 0.6), (0.29, 0.42), (0.2, 0.56), (0.1, 0.52))),  # noqa: E501
        Part("skin", _box(0.44, 0.14, 0.56, 0.24)),
        Part("skin", _disk(0.5, 0.105, 0.12, 0.105)),
        Part("hair", _half(0.5, 0.085, 0.12, -0.085), inner=True),
    ),
    "bust": (
        Part("shirt", _polygon((0.28, 0.46), (0.72, 0.46), (0.98, 0.66), (1, 1), (0, 1), (0.02, 0.66))),
        Part("skin", _box(0.41, 0.34, 0.59, 0.5)),
        Part("skin", _disk(0.5, 0.22, 0.19, 0.22)),
        Part("hair", _half(0.5, 0.18, 0.19, -0.18), inner=True),
    ),
    "dining table": (
        Part("legs", _box(0.06, 0.5, 0.15, 1)),
        Part("legs", _box(0.85, 0.5, 0.94, 1)),
        Part("edge", _box(0, 0.6, 1, 0.72)),
        Part("top", _polygon((0.12, 0), (0.88, 0), (1, 0.62), (0, 0.62))),
        Part("grain", _polygon((0.35, 0.02), (0.365, 0.02), (0.31, 0.61), (0.29, 0.61)), inner=True),
        Part("grain", _polygon((0.635, 0.02), (0.65, 0.02), (0.71, 0.61), (0.69, 0.61)), inner=True),
    ),
}
"""Parts back to front. An object fills the width or the height of its square and stands on its lower side."""
