"""The shapes of the toy ImageNet: 30 classes of ImageNet-1K."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from oochub.builders.toy_worlds._objects import SHAPES, Part, Points

_TURN = np.linspace(0, 2 * np.pi, 16, endpoint=False)


class DrawnClass(NamedTuple):
    """What a class looks like: its typical color, a number of `_imagenet_painting.COLORS`, and parts back to front."""

    color: int
    parts: Sequence[Part]


def path(paint: str, percents: str) -> Part:
    """A polygon from its corners "x y, x y, ..." in percent of a square, y down."""
    return Part(paint, np.array([corner.split() for corner in percents.split(",")], float) / 100)


def disks(paint: str, percents: str) -> list[Part]:
    """Disks "x y radius" or ellipses "x y across down" in percent, one after the other."""
    parts = []
    for disk in percents.split(","):
        x, y, across, *down = (float(number) / 100 for number in disk.split())
        parts.append(Part(paint, _round(x, y, across, down[0] if down else across)))
    return parts


def boxes(paint: str, percents: str) -> list[Part]:
    """Boxes "left top right bottom" in percent, one after the other."""
    parts = []
    for box in percents.split(","):
        left, top, right, bottom = box.split()
        parts.append(path(paint, f"{left} {top}, {right} {top}, {right} {bottom}, {left} {bottom}"))
    return parts


def _round(x: float, y: float, across: float, down: float) -> Points:
    return np.stack([x + across * np.cos(_TURN), y + down * np.sin(_TURN)], 1)


def star(paint: str, points: int, inner: float) -> Part:
    """A star of that many points whose inner corners are `inner` from the middle."""
    turn = np.linspace(0, 2 * np.pi, 2 * points, endpoint=False) - np.pi / 2
    radius = np.where(np.arange(2 * points) % 2, inner, 0.5)
    return Part(paint, np.stack([0.5 + radius * np.cos(turn), 0.5 + radius * np.sin(turn)], 1))


DOME = "0 52, 4 36, 14 20, 30 8, 50 3, 70 8, 86 20, 96 36, 100 52"

ID_THINGS: dict[str, DrawnClass] = {
    "n01443537": DrawnClass(  # goldfish
        6,
        (
            path("main", "60 50, 100 20, 92 50, 100 80"),
            path("main", "30 40, 55 12, 62 40"),
            *disks("main", "36 50 36 24"),
            *disks("light", "14 44 6"),
            *disks("dark", "13 44 3"),
            path("dark", "30 32, 34 32, 34 68, 30 68"),
        ),
    ),
    "n01910747": DrawnClass(  # jellyfish
        7,
        (
            path("main", f"{DOME}, 88 60, 76 52, 63 60, 50 52, 37 60, 24 52, 12 60"),
            *boxes("light", "20 56 26 96, 38 56 44 90, 56 56 62 98, 74 56 80 88"),
            *disks("light", "50 30 22 10"),
        ),
    ),
    "n01944390": DrawnClass(  # snail
        8,
        (
            path("light", "0 70, 8 52, 16 70, 70 84, 100 92, 10 96"),
            *boxes("light", "2 40 6 56, 11 40 15 56"),
            *disks("main", "58 48 34"),
            *disks("dark", "58 50 24"),
            *disks("main", "59 52 16"),
            *disks("dark", "60 54 8"),
        ),
    ),
    "n02165456": DrawnClass(  # ladybug
        0,
        (
            *disks("dark", "50 18 18 14"),
            *disks("main", "50 58 42 40"),
            *boxes("dark", "48 20 52 98"),
            *disks("dark", "30 46 8, 70 46 8, 26 68 8, 74 68 8, 38 84 6, 62 84 6"),
        ),
    ),
    "n02317335": DrawnClass(2, (star("main", 5, 0.2), *disks("light", "50 50 6, 50 24 4, 75 42 4, 66 72 4, 34 72 4"))),
    "n02403003": DrawnClass(8, SHAPES["cow"]),  # ox
    "n02690373": DrawnClass(4, SHAPES["airplane"]),  # airliner
    "n02769748": DrawnClass(1, SHAPES["backpack"]),
    "n02782093": DrawnClass(  # balloon
        0,
        (
            path("dark", "49 78, 51 78, 54 100, 50 100"),
            path("main", "44 78, 56 78, 50 68"),
            *disks("main", "50 38 32 38"),
            *disks("light", "38 24 7 10"),
        ),
    ),
    "n02793495": DrawnClass(  # barn
        0,
        (
            *boxes("main", "10 40 90 100"),
            path("dark", "2 44, 22 14, 50 0, 78 14, 98 44"),
            *boxes("light", "34 58 66 100, 42 22 58 36"),
            path("main", "34 58, 40 58, 66 100, 60 100"),
        ),
    ),
    "n02802426": DrawnClass(  # basketball
        6,
        (
            *disks("main", "50 50 46"),
            *boxes("dark", "47 4 53 96, 4 47 96 53"),
            path("dark", "16 18, 22 15, 34 50, 22 85, 16 82, 28 50"),
            path("dark", "84 18, 78 15, 66 50, 78 85, 84 82, 72 50"),
        ),
    ),
    "n02814860": DrawnClass(  # beacon, lighthouse
        4,
        (
            path("main", "38 24, 62 24, 72 100, 28 100"),
            path("dark", "35 42, 65 42, 67 56, 33 56"),
            path("dark", "31 72, 69 72, 71 86, 29 86"),
            *boxes("light", "40 10 60 24"),
            path("dark", "34 12, 50 0, 66 12"),
        ),
    ),
    "n02906734": DrawnClass(  # broom
        2,
        (
            *boxes("dark", "47 0 53 62"),
            path("main", "40 58, 60 58, 78 100, 22 100"),
            *boxes("dark", "37 64 63 69"),
        ),
    ),
    "n02948072": DrawnClass(  # candle
        4,
        (
            *boxes("main", "34 34 66 100"),
            *boxes("dark", "49 24 52 36"),
            path("light", "50 0, 60 18, 50 28, 40 18"),
            path("dark", "34 34, 66 34, 58 42, 50 38, 42 46"),
        ),
    ),
    "n03063599": DrawnClass(3, SHAPES["cup"]),  # coffee mug
    "n03481172": DrawnClass(  # hammer
        9,
        (
            *boxes("dark", "44 20 56 100"),
            path("main", "14 6, 30 2, 84 6, 84 30, 30 30, 14 22"),
            *boxes("light", "74 6 84 30"),
        ),
    ),
    "n03775546": DrawnClass(1, SHAPES["bowl"]),  # mixing bowl
    "n03888257": DrawnClass(  # parachute
        6,
        (
            path("dark", "0 50, 3 50, 50 88, 97 50, 100 50, 52 94, 48 94"),
            path("main", f"{DOME}, 84 46, 67 52, 50 46, 33 52, 16 46"),
            path("light", "50 3, 67 50, 33 50"),
            *boxes("dark", "44 86 56 100"),
        ),
    ),
    "n04254680": DrawnClass(4, SHAPES["sports ball"]),  # soccer ball
    "n04285008": DrawnClass(0, SHAPES["car"]),  # sports car
    "n04507155": DrawnClass(  # umbrella
        7,
        (
            *boxes("dark", "48 0 52 92"),
            path("dark", "48 88, 52 88, 54 94, 62 94, 64 84, 68 84, 66 100, 50 100"),
            path("main", f"{DOME}, 75 42, 50 52, 25 42"),
        ),
    ),
    "n04522168": DrawnClass(  # vase
        1,
        (
            path("main", "38 0, 62 0, 56 22, 84 52, 66 100, 34 100, 16 52, 44 22"),
            path("light", "20 46, 80 46, 84 56, 16 56"),
        ),
    ),
    "n04591157": DrawnClass(5, SHAPES["tie"]),  # Windsor tie
    "n04612504": DrawnClass(1, SHAPES["boat"]),  # yawl
    "n06874185": DrawnClass(  # traffic light
        5,
        (
            *boxes("dark", "46 78 54 100"),
            *boxes("main", "30 0 70 80"),
            *disks("red", "50 14 10"),
            *disks("yellow", "50 40 10"),
            *disks("green", "50 66 10"),
        ),
    ),
    "n07614500": DrawnClass(  # ice cream
        7,
        (
            path("brown", "26 42, 74 42, 50 100"),
            *disks("main", "38 32 20, 62 32 20"),
            *disks("light", "50 18 18"),
        ),
    ),
    "n07734744": DrawnClass(  # mushroom
        8,
        (
            path("light", "38 48, 62 48, 66 98, 34 98"),
            path("main", DOME),
            *disks("light", "28 32 8, 54 20 7, 74 36 8"),
        ),
    ),
    "n07749582": DrawnClass(2, (path("main", "0 52, 14 44, 30 28, 70 28, 86 44, 100 50, 86 62, 70 76, 30 76, 14 62"),)),
    "n07753275": DrawnClass(  # pineapple
        2,
        (
            path("green", "50 34, 26 20, 40 20, 34 0, 50 16, 66 0, 60 20, 74 20"),
            *disks("main", "50 66 26 34"),
            path("brown", "28 50, 32 46, 74 80, 70 84"),
            path("brown", "72 50, 68 46, 26 80, 30 84"),
            *boxes("brown", "24 64 76 67"),
        ),
    ),
    "n07873807": DrawnClass(  # pizza
        2,
        (
            *disks("brown", "50 50 48"),
            *disks("main", "50 50 40"),
            *disks("red", "34 34 9, 64 30 9, 72 58 9, 46 62 9, 28 60 8, 56 80 8"),
        ),
    ),
}
"""By wnid; 20 of them are classes of ImageNet-R too."""
