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


def _parse_path(percents: str) -> Points:
    """A polygon from its corners "x y, x y, ..." in percent of the square."""
    return np.array([corner.split() for corner in percents.split(",")], float) / 100


def _make_box(left: float, top: float, right: float, bottom: float) -> Points:
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom)], float)


def _make_disk(x: float, y: float, across: float, down: float | None = None) -> Points:
    return np.stack([x + across * np.cos(_TURN), y + (down or across) * np.sin(_TURN)], 1)


def _make_half_ellipse(x: float, y: float, across: float, down: float) -> Points:
    """The lower half of an ellipse; the upper one when `down` is negative."""
    turn = np.linspace(0, np.pi, 10)
    return np.stack([x + across * np.cos(turn), y + down * np.sin(turn)], 1)


SHAPES: dict[str, Sequence[Part]] = {
    "car": (
        Part("main", _parse_path("16 56, 30 30, 68 30, 84 56")),
        Part("main", _parse_path("0 60, 14 52, 88 52, 100 60, 100 78, 0 78")),
        Part("light", _parse_path("26 53, 35 37, 48 37, 48 53"), inner=True),
        Part("light", _parse_path("53 53, 53 37, 64 37, 74 53"), inner=True),
        Part("dark", _make_disk(0.23, 0.78, 0.13)),
        Part("dark", _make_disk(0.77, 0.78, 0.13)),
    ),
    "bowl": (
        Part("main", _make_half_ellipse(0.5, 0.46, 0.5, 0.46)),
        Part("main", _make_box(0.32, 0.84, 0.68, 0.98)),
        Part("main", _make_disk(0.5, 0.46, 0.5, 0.13)),
        Part("dark", _make_disk(0.5, 0.46, 0.42, 0.09), inner=True),
    ),
    "boat": (
        Part("main", _parse_path("0 70, 100 70, 82 98, 16 98")),
        Part("dark", _make_box(0.46, 0.02, 0.52, 0.72)),
        Part("light", _parse_path("56 6, 94 62, 56 62")),
        Part("light", _parse_path("42 16, 42 62, 14 62")),
    ),
    "fire hydrant": (
        Part("main", _make_box(0.33, 0.28, 0.67, 0.92)),
        Part("main", _make_half_ellipse(0.5, 0.28, 0.21, -0.22)),
        Part("main", _make_box(0.45, 0, 0.55, 0.1)),
        Part("main", _make_box(0.16, 0.42, 0.84, 0.6)),
        Part("main", _make_box(0.22, 0.88, 0.78, 1)),
        Part("dark", _make_disk(0.5, 0.51, 0.1), inner=True),
        Part("dark", _make_box(0.33, 0.27, 0.67, 0.33), inner=True),
    ),
    "airplane": (
        Part("main", _parse_path("0 50, 10 42, 90 42, 100 46, 90 56, 10 58")),
        Part("main", _parse_path("36 50, 54 50, 76 90, 64 90")),
        Part("main", _parse_path("40 46, 54 46, 70 14, 60 14")),
        Part("main", _parse_path("84 46, 92 22, 100 22, 98 48")),
        Part("light", _make_box(0.14, 0.455, 0.8, 0.495), inner=True),
    ),
    "cow": (
        Part("main", _make_box(0.22, 0.32, 0.92, 0.68)),
        Part("main", _make_box(0.26, 0.62, 0.36, 0.96)),
        Part("main", _make_box(0.44, 0.62, 0.53, 0.92)),
        Part("main", _make_box(0.68, 0.62, 0.77, 0.92)),
        Part("main", _make_box(0.82, 0.62, 0.92, 0.96)),
        Part("main", _parse_path("0 42, 6 22, 28 22, 30 46, 12 54")),
        Part("light", _parse_path("6 24, 0 10, 12 22")),
        Part("light", _parse_path("22 24, 30 10, 28 24")),
        Part("dark", _make_disk(0.45, 0.46, 0.09), inner=True),
        Part("dark", _make_disk(0.72, 0.44, 0.11, 0.09), inner=True),
        Part("dark", _parse_path("0 42, 2 35, 12 40, 12 54"), inner=True),
    ),
    "backpack": (
        Part("dark", _parse_path("38 16, 38 0, 62 0, 62 16, 55 16, 55 7, 45 7, 45 16")),
        Part("main", _parse_path("14 100, 14 34, 30 12, 70 12, 86 34, 86 100")),
        Part("dark", _make_box(0.26, 0.58, 0.74, 0.9), inner=True),
        Part("light", _make_box(0.26, 0.66, 0.74, 0.71), inner=True),
        Part("dark", _make_box(0.14, 0.4, 0.86, 0.45), inner=True),
    ),
    "cup": (
        Part("main", _parse_path("5 12, 67 12, 61 100, 11 100")),
        Part("main", _parse_path("62 28, 100 28, 100 74, 60 74, 60 62, 87 62, 87 40, 62 40")),
        Part("main", _make_disk(0.36, 0.12, 0.31, 0.09)),
        Part("dark", _make_disk(0.36, 0.12, 0.25, 0.055), inner=True),
    ),
    "surfboard": (
        Part("main", _parse_path("50 0, 62 18, 67 50, 62 84, 50 100, 38 84, 33 50, 38 18")),
        Part("dark", _make_box(0.475, 0.08, 0.525, 0.92), inner=True),
        Part("light", _parse_path("35 62, 65 50, 65 60, 35 72"), inner=True),
    ),
    "tie": (
        Part("main", _parse_path("36 0, 64 0, 57 18, 43 18")),
        Part("main", _parse_path("43 18, 57 18, 70 80, 50 100, 30 80")),
        Part("dark", _parse_path("40 36, 62 46, 63 54, 38 44"), inner=True),
        Part("dark", _parse_path("36 60, 66 70, 67 78, 33 68"), inner=True),
    ),
    "sports ball": (
        Part("main", _make_disk(0.5, 0.5, 0.44)),
        Part("dark", _parse_path("50 34, 65 45, 59 62, 41 62, 35 45"), inner=True),
        Part("dark", _parse_path("42 7, 58 7, 50 18"), inner=True),
        Part("dark", _parse_path("92 40, 90 60, 81 51"), inner=True),
        Part("dark", _parse_path("8 40, 19 51, 10 60"), inner=True),
        Part("dark", _parse_path("24 84, 29 74, 38 90"), inner=True),
        Part("dark", _parse_path("76 84, 71 74, 62 90"), inner=True),
    ),
    "kite": (
        Part("main", _parse_path("50 0, 84 30, 50 74, 16 30")),
        Part("dark", _parse_path("50 0, 84 30, 50 30"), inner=True),
        Part("light", _parse_path("50 30, 50 74, 16 30"), inner=True),
        Part("dark", _parse_path("48 72, 53 72, 62 86, 50 100, 45 100, 56 86")),
    ),
    "person": (
        Part("trousers", _parse_path("30 56, 70 56, 72 100, 53 100, 50 66, 47 100, 28 100")),
        Part("shirt", _parse_path("30 22, 70 22, 90 52, 80 56, 71 42, 71 60, 29 60, 29 42, 20 56, 10 52")),
        Part("skin", _make_box(0.44, 0.14, 0.56, 0.24)),
        Part("skin", _make_disk(0.5, 0.105, 0.12, 0.105)),
        Part("hair", _make_half_ellipse(0.5, 0.075, 0.115, -0.075), inner=True),
    ),
    "bust": (
        Part("shirt", _parse_path("28 46, 72 46, 98 66, 100 100, 0 100, 2 66")),
        Part("skin", _make_box(0.41, 0.34, 0.59, 0.5)),
        Part("skin", _make_disk(0.5, 0.22, 0.19, 0.22)),
        Part("hair", _make_half_ellipse(0.5, 0.15, 0.18, -0.15), inner=True),
    ),
    "dining table": (
        Part("legs", _make_box(0.06, 0.5, 0.15, 1)),
        Part("legs", _make_box(0.85, 0.5, 0.94, 1)),
        Part("edge", _make_box(0, 0.6, 1, 0.72)),
        Part("top", _parse_path("12 0, 88 0, 100 62, 0 62")),
        Part("grain", _parse_path("35 2, 36.5 2, 31 61, 29 61"), inner=True),
        Part("grain", _parse_path("63.5 2, 65 2, 71 61, 69 61"), inner=True),
    ),
}
"""Parts back to front. An object fills the width or the height of its square and stands on its lower side."""
