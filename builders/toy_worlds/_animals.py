"""Dogs and birds of polygons: build tells the breed or the bird, color helps little or not at all."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._painter import Color, Parts, make_box, make_ellipse

COAT_TELLS = 0.8
"""Share of dogs in a coat of their breed; the others take any coat."""


class _Breed(NamedTuple):
    """Lengths as fractions of the side of the image at scale 1, those of body, height, leg and head first."""

    lengths: tuple[float, float, float, float]
    muzzle: tuple[float, float]
    tail: float
    upright_ears: bool
    white_belly: bool
    coats: tuple[Color, ...]


BREEDS: dict[str, _Breed] = {
    "bulldog": _Breed(
        (0.36, 0.225, 0.11, 0.135), (0.05, 0.085), 0.0, False, True, ((232, 208, 176), (244, 234, 220), (206, 168, 132))
    ),
    "corgi": _Breed(
        (0.37, 0.15, 0.09, 0.095), (0.1, 0.045), 0.045, True, True, ((226, 124, 42), (206, 104, 32), (234, 148, 74))
    ),
    "dachshund": _Breed(
        (0.54, 0.105, 0.075, 0.075), (0.12, 0.035), 0.2, False, False, ((96, 50, 28), (58, 36, 30), (128, 66, 36))
    ),
    "labrador": _Breed(
        (0.34, 0.14, 0.225, 0.09), (0.085, 0.05), 0.22, False, False, ((236, 206, 130), (222, 182, 98), (246, 226, 164))
    ),
}
"""The classes of Spawrious, in the order of its `class_list`."""
_ANY_COAT: tuple[Color, ...] = (
    *((236, 216, 184), (150, 92, 50), (36, 34, 36), (124, 122, 126)),
    *((222, 128, 52), (200, 164, 120), (246, 244, 238), (84, 52, 36)),
)
_WHITE, _DARK = (246, 240, 230), (24, 20, 22)

SPECIES = {
    "landbird": ("014.Indigo_Bunting", "017.Cardinal", "073.Blue_Jay"),
    "waterbird": ("087.Mallard", "101.White_Pelican", "059.California_Gull"),
}
"""Folders of CUB-200-2011."""
BIRD_PLACES = {"land": ("/b/bamboo_forest", "/f/forest/broadleaf"), "water": ("/o/ocean", "/l/lake/natural")}
"""Categories of Places365 that Waterbirds takes."""
_PLUMAGE: tuple[Color, ...] = (
    *((196, 60, 48), (60, 84, 176), (228, 206, 168)),
    *((238, 238, 232), (116, 84, 60), (70, 70, 78)),
)
_BILL: Color = (232, 168, 52)


def make_dog(rng: np.random.Generator, breed: str) -> Parts:
    """A dog somewhere in the image, looking left or right."""
    kind = BREEDS[breed]
    coats = kind.coats if rng.random() < COAT_TELLS else _ANY_COAT
    coat = _shade(coats[rng.integers(len(coats))], rng.uniform(0.88, 1.08))
    scale, angle = rng.uniform(0.8, 1.15), np.deg2rad(rng.uniform(-6, 6))
    middle = np.array([rng.uniform(0.32, 0.68), rng.uniform(0.36, 0.7)])
    mirror = np.array([rng.choice((-1.0, 1.0)), 1.0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    return [(color, points @ turn * mirror * scale + middle) for color, points in _make_body(kind, coat, rng)]


def make_bird(rng: np.random.Generator, bird: str) -> Parts:
    """A land bird perches, a water bird has a long neck and a long bill; looking left or right, in any plumage."""
    plumage = _PLUMAGE[int(rng.integers(len(_PLUMAGE)))]
    dark = _shade(plumage, 0.7)
    lean, lift = rng.uniform(-0.04, 0.04), rng.uniform(0.9, 1.1)
    if bird == "landbird":  # a round body, a tail, a short bill, two thin legs
        head = np.array([-0.15 + lean, -0.13 * lift])
        parts = [
            (dark, np.array([(0.1, -0.02), (0.36, -0.16 * lift), (0.34, -0.04 * lift), (0.12, 0.1)])),
            *((_BILL, make_box(x, 0.1, x + 0.02, 0.28 * lift)) for x in (-0.06, 0.03)),
            (plumage, _make_disk(0, 0, 0.19, 0.16)),
            (dark, _make_disk(0.05, 0.0, 0.12, 0.08)),
            (plumage, _make_disk(head[0], head[1], 0.095, 0.09)),
            (_BILL, head + np.array([(-0.15, 0.02), (-0.07, -0.03), (-0.07, 0.05)])),
        ]
    else:  # a flat body, a long neck, a long bill, no legs
        head = np.array([-0.25 + lean, -0.31 * lift])
        parts = [
            (plumage, np.array([(-0.2, 0.04), (-0.1, -0.02), (head[0] + 0.05, head[1]), (head[0] - 0.04, head[1])])),
            (plumage, _make_disk(0, 0.03, 0.27, 0.1)),
            (dark, _make_disk(0.05, 0.01, 0.17, 0.055)),
            (plumage, _make_disk(head[0], head[1], 0.065, 0.055)),
            (_BILL, head + np.array([(-0.23, 0.06), (-0.04, -0.035), (-0.04, 0.045)])),
        ]
    parts.append(((20, 20, 22), _make_disk(head[0] - 0.02, head[1] - 0.015, 0.014, 0.014)))
    middle = np.array([rng.uniform(0.42, 0.58), rng.uniform(0.48, 0.6)])
    mirror, scale = np.array([rng.choice((-1.0, 1.0)), 1.0]), rng.uniform(0.85, 1.1)
    return [(color, points * mirror * scale + middle) for color, points in parts]


def paint_bird_place(rng: np.random.Generator, place: str) -> _painter.Picture:
    """A scene of a category of `BIRD_PLACES`."""
    whole = {"/b/bamboo_forest": "jungle", "/f/forest/broadleaf": "grass", "/o/ocean": "sea"}
    if place in whole:
        return _painter.PLACES[whole[place]](rng)
    shore = np.full(_painter.PIXELS, rng.uniform(0.15, 0.35), np.float32)
    sky, lake = _painter.GROUNDS["sky-other"](rng), _painter.GROUNDS["sea"](rng) + 14
    return _painter.mixed(sky, lake, _painter.below(shore))


def _shade(color: Color, factor: float) -> Color:
    red, green, blue = (int(min(255, channel * factor)) for channel in color)
    return red, green, blue


def _make_disk(x: float, y: float, across: float, down: float) -> NDArray[np.float64]:
    return make_ellipse(x, y, across, down, corners=20)


def _make_limb(x: float, y: float, angle: float, length: float, width: float) -> NDArray[np.float64]:
    """A bar from (x, y), pointing down at angle 0, a little narrower at its end."""
    along, across = np.array([np.sin(angle), np.cos(angle)]), np.array([np.cos(angle), -np.sin(angle)]) * width / 2
    start = np.array([x, y])
    end = start + along * length
    return np.array([start - across, start + across, end + across * 0.8, end - across * 0.8])


def _make_body(breed: _Breed, coat: Color, rng: np.random.Generator) -> list[tuple[Color, NDArray[np.float64]]]:
    """Polygons of a dog that looks left, around the origin."""
    length, height, leg, head = np.array(breed.lengths) * rng.uniform(0.9, 1.1, 4)
    dark, light = _shade(coat, 0.72), _shade(coat, 1.12)
    swing = rng.uniform(-0.35, 0.35, 4)
    thick, reach = 0.04 + 0.12 * height, leg + 0.4 * height
    xs = (-0.36 * length + 0.03, 0.36 * length - 0.03, -0.36 * length, 0.36 * length)
    parts = [
        (dark if side < 2 else coat, _make_limb(x, 0.1 * height, swing[side], reach, thick))
        for side, x in enumerate(xs)
    ]
    if breed.tail > 0.1:
        parts.append((coat, _make_limb(0.42 * length, -0.2 * height, rng.uniform(1.9, 2.6), breed.tail, 0.035)))
    elif breed.tail:
        parts.append((coat, _make_disk(0.5 * length, -0.42 * height, breed.tail, breed.tail)))
    parts.append((coat, _make_disk(0, 0, 0.54 * length, 0.55 * height)))
    if breed.white_belly:
        parts.append((_WHITE, _make_disk(-0.05 * length, 0.32 * height, 0.32 * length, 0.22 * height)))
    lift = rng.uniform(0.55, 0.85)
    x, y = -0.5 * length - 0.25 * head, -0.35 * height - lift * head
    parts.append((coat, _make_limb(-0.36 * length, 0, np.arctan2(x + 0.36 * length, y), -y, 0.9 * head)))
    if breed.upright_ears:
        for shift in (-0.45, 0.5):
            ear = [(shift - 0.42, -0.6), (shift * 1.3, -2.1), (shift + 0.42, -0.6)]
            parts.append((dark, np.array([(x + across * head, y + up * head) for across, up in ear])))
    far, deep = breed.muzzle
    nose, eye = (x - 0.75 * head - 0.95 * far, y + 0.15 * head), (x - 0.35 * head, y - 0.25 * head)
    muzzle = _make_disk(x - 0.75 * head - 0.3 * far, y + 0.3 * head, 0.75 * far, deep)
    parts += [
        (coat, _make_disk(x, y, head, 0.95 * head)),
        (_WHITE if breed.white_belly else light, muzzle),
        (_DARK, _make_disk(*nose, 0.022, 0.018)),
        (_DARK, _make_disk(*eye, 0.015, 0.017)),
    ]
    if not breed.upright_ears:
        parts.append((dark, _make_disk(x + 0.5 * head, y + 0.25 * head, 0.3 * head, 0.78 * head)))
    return parts
