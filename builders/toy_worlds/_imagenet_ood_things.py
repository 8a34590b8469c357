"""The shapes of the toy ImageNet that no class of ImageNet-1K has: 16 classes of ImageNet-OOD, and of Open Images."""

import numpy as np

from oochub.builders.toy_worlds._imagenet_things import DrawnClass, boxes, disks, path, star
from oochub.builders.toy_worlds._objects import SHAPES, Part

_TURN = np.linspace(0, 2 * np.pi, 24)


def _make_ring(paint: str, thickness: float) -> Part:
    """A ring as one polygon: around outside, then back inside."""
    circle = np.stack([np.cos(_TURN), np.sin(_TURN)], 1)
    return Part(paint, 0.5 + np.concatenate([0.48 * circle, (0.48 - thickness) * circle[::-1]]))


OOD_THINGS: dict[str, DrawnClass] = {
    "n02725872": DrawnClass(  # anvil
        9,
        (
            path("main", "0 22, 30 14, 100 14, 100 36, 70 44, 66 66, 88 90, 12 90, 34 66, 34 48"),
            *boxes("light", "40 18 96 22"),
        ),
    ),
    "n02882647": DrawnClass(  # bowling pin
        4,
        (
            *disks("main", "50 16 13 16"),
            path("main", "43 26, 57 26, 68 62, 60 100, 40 100, 32 62"),
            *boxes("red", "41 28 59 33, 40 37 60 42"),
        ),
    ),
    "n02928608": DrawnClass(  # button
        1,
        (
            *disks("main", "50 50 46"),
            *disks("light", "50 50 36"),
            *disks("main", "50 50 33"),
            *disks("dark", "39 39 7, 61 39 7, 39 61 7, 61 61 7"),
        ),
    ),
    "n03075097": DrawnClass(  # comb
        5,
        (
            *boxes("main", "0 24 100 42"),
            *boxes("main", "2 40 8 80, 16 40 22 80, 30 40 36 80, 44 40 50 80, 58 40 64 80, 72 40 78 80, 90 40 98 80"),
        ),
    ),
    "n03158885": DrawnClass(  # dagger
        9,
        (
            path("light", "42 34, 58 34, 58 80, 50 100, 42 80"),
            *boxes("main", "22 26 78 35"),
            *boxes("brown", "44 4 56 27"),
            *disks("main", "50 5 8"),
        ),
    ),
    "n03331077": DrawnClass(  # fez
        0,
        (
            path("main", "28 18, 72 18, 86 90, 14 90"),
            *disks("dark", "50 18 22 6"),
            path("dark", "50 16, 94 24, 98 60, 92 60, 90 28, 50 20"),
        ),
    ),
    "n07843636": DrawnClass(  # fried egg
        4,
        (
            path("main", "8 40, 28 14, 54 22, 84 14, 96 48, 80 82, 54 78, 30 92, 8 72"),
            *disks("yellow", "52 48 18"),
        ),
    ),
    "n07758680": DrawnClass(  # grape
        7,
        (
            path("green", "46 0, 54 0, 54 20, 76 12, 60 28, 46 24"),
            *disks("main", "28 34 14, 52 32 14, 74 36 14, 38 54 14, 62 54 14, 50 74 14, 50 90 10"),
            *disks("light", "24 30 4, 48 28 4, 70 32 4, 34 50 4, 58 50 4, 46 70 4"),
        ),
    ),
    "n03490884": DrawnClass(  # hanger
        8,
        (
            path("dark", "46 30, 46 18, 54 14, 54 8, 46 8, 40 14, 36 8, 44 0, 58 0, 62 14, 54 22, 54 30"),
            path("main", "50 26, 100 68, 100 80, 0 80, 0 68, 50 34, 12 70, 88 70"),
        ),
    ),
    "n03548402": DrawnClass(7, (_make_ring("main", 0.1),)),  # hula-hoop
    "n04011827": DrawnClass(  # propeller
        2,
        (
            path("main", "50 50, 36 26, 40 0, 60 0, 58 26"),
            path("main", "50 50, 78 50, 100 70, 90 86, 66 74"),
            path("main", "50 50, 34 74, 10 86, 0 70, 22 50"),
            *disks("dark", "50 50 12"),
        ),
    ),
    "n04233124": DrawnClass(  # skyscraper
        9,
        (
            *boxes("main", "30 14 70 100, 48 0 52 16"),
            *boxes(
                "yellow", "36 22 44 32, 56 22 64 32, 36 40 44 50, 56 40 64 50, 36 58 44 68, 56 58 64 68, 36 76 44 86"
            ),
            *boxes("dark", "56 76 64 86"),
        ),
    ),
    "n04284869": DrawnClass(6, SHAPES["kite"]),  # sport kite
    "n04326896": DrawnClass(  # stool
        8,
        (
            path("dark", "22 20, 30 20, 20 100, 10 100"),
            path("dark", "70 20, 78 20, 90 100, 80 100"),
            *boxes("dark", "20 60 80 66"),
            *disks("main", "50 18 42 14"),
        ),
    ),
    "n04335886": DrawnClass(  # streetlight
        5,
        (
            path("main", "28 100, 28 8, 84 8, 84 20, 76 20, 76 15, 36 15, 36 100"),
            *disks("yellow", "80 24 14 9"),
            *boxes("main", "20 92 44 100"),
        ),
    ),
    "n07686873": DrawnClass(  # toast
        6,
        (
            path("brown", "6 26, 14 8, 36 4, 64 4, 86 8, 94 26, 86 42, 86 96, 14 96, 14 42"),
            path("main", "14 26, 22 14, 78 14, 86 26, 78 40, 78 88, 22 88, 22 40"),
            *boxes("yellow", "38 42 58 58"),
        ),
    ),
}
"""By wnid."""

OPEN_THINGS: tuple[DrawnClass, ...] = (
    DrawnClass(6, SHAPES["surfboard"]),
    DrawnClass(0, SHAPES["fire hydrant"]),
    DrawnClass(3, (star("main", 12, 0.36), *disks("brown", "50 50 20"))),
    DrawnClass(1, (star("main", 4, 0.14), *disks("light", "50 50 9"))),
    DrawnClass(5, (*boxes("main", "4 30 96 70"), *disks("light", "28 50 14, 72 50 14"), *boxes("dark", "44 42 56 58"))),
)
"""Things of no list."""
