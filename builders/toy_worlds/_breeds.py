"""Four dogs of articulated parts: build, legs, ears, tail and muzzle tell the breed, the coat only helps."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import ImageDraw

Color = tuple[int, int, int]

COAT_TELLS = 0.8
"""Share of dogs in a coat of their breed; the others take any coat."""


class _Breed(NamedTuple):
    """Lengths as fractions of the image's side at scale 1; coats as colors of 0 to 255."""

    body: tuple[float, float]
    leg: float
    head: float
    muzzle: tuple[float, float]
    upright_ears: bool
    tail: float
    white_belly: bool
    coats: tuple[Color, ...]


BREEDS: dict[str, _Breed] = {
    "bulldog": _Breed(
        body=(0.36, 0.225),
        leg=0.11,
        head=0.135,
        muzzle=(0.05, 0.085),
        upright_ears=False,
        tail=0.0,
        white_belly=True,
        coats=((232, 208, 176), (244, 234, 220), (206, 168, 132)),
    ),
    "corgi": _Breed(
        body=(0.37, 0.15),
        leg=0.09,
        head=0.095,
        muzzle=(0.1, 0.045),
        upright_ears=True,
        tail=0.045,
        white_belly=True,
        coats=((226, 124, 42), (206, 104, 32), (234, 148, 74)),
    ),
    "dachshund": _Breed(
        body=(0.54, 0.105),
        leg=0.075,
        head=0.075,
        muzzle=(0.12, 0.035),
        upright_ears=False,
        tail=0.2,
        white_belly=False,
        coats=((96, 50, 28), (58, 36, 30), (128, 66, 36)),
    ),
    "labrador": _Breed(
        body=(0.34, 0.14),
        leg=0.225,
        head=0.09,
        muzzle=(0.085, 0.05),
        upright_ears=False,
        tail=0.22,
        white_belly=False,
        coats=((236, 206, 130), (222, 182, 98), (246, 226, 164)),
    ),
}
"""The classes of Spawrious, in the order of its `class_list`."""

_ANY_COAT: tuple[Color, ...] = (
    (236, 216, 184),
    (150, 92, 50),
    (36, 34, 36),
    (124, 122, 126),
    (222, 128, 52),
    (200, 164, 120),
    (246, 244, 238),
    (84, 52, 36),
)
_WHITE: Color = (246, 240, 230)
_TURN = np.linspace(0, 2 * np.pi, 20, endpoint=False)
_COSINES, _SINES = np.cos(_TURN), np.sin(_TURN)


def _make_ellipse(middle: tuple[float, float], radii: tuple[float, float]) -> NDArray[np.float64]:
    points = np.empty((len(_TURN), 2))
    points[:, 0] = middle[0] + radii[0] * _COSINES
    points[:, 1] = middle[1] + radii[1] * _SINES
    return points


def _make_limb(start: tuple[float, float], angle: float, length: float, width: float) -> NDArray[np.float64]:
    """A bar from `start`, pointing down at angle 0."""
    down, right = float(np.cos(angle)), float(np.sin(angle))
    across = (down * width / 2, -right * width / 2)
    x, y = float(start[0]), float(start[1])
    far, low = x + right * length, y + down * length
    return np.array(
        [
            (x - across[0], y - across[1]),
            (x + across[0], y + across[1]),
            (far + across[0] * 0.8, low + across[1] * 0.8),
            (far - across[0] * 0.8, low - across[1] * 0.8),
        ]
    )


def _shade(color: Color, factor: float) -> Color:
    red, green, blue = (int(min(255, channel * factor)) for channel in color)
    return red, green, blue


def _make_parts(breed: _Breed, coat: Color, rng: np.random.Generator) -> list[tuple[Color, NDArray[np.float64]]]:
    """Colored polygons of a dog that looks left, around the origin, back to front."""
    length, height, leg, head = np.array([*breed.body, breed.leg, breed.head]) * rng.uniform(0.9, 1.1, 4)
    dark, light = _shade(coat, 0.72), _shade(coat, 1.12)
    swing = rng.uniform(-0.35, 0.35, 4)
    thick = 0.04 + 0.12 * height
    parts = []
    for side, (color, offset) in enumerate(((dark, 0.03), (coat, 0.0))):
        for end, x in enumerate((-0.36 * length + offset, 0.36 * length - offset)):
            parts.append((color, _make_limb((x, 0.1 * height), swing[2 * side + end], leg + 0.4 * height, thick)))
    if breed.tail > 0.1:
        rise = rng.uniform(1.9, 2.6)
        parts.append((coat, _make_limb((0.42 * length, -0.2 * height), rise, breed.tail, 0.035)))
    elif breed.tail:
        parts.append((coat, _make_ellipse((0.5 * length, -0.42 * height), (breed.tail, breed.tail))))
    parts.append((coat, _make_ellipse((0, 0), (0.54 * length, 0.55 * height))))
    if breed.white_belly:
        parts.append((_WHITE, _make_ellipse((-0.05 * length, 0.32 * height), (0.32 * length, 0.22 * height))))
    lift = rng.uniform(0.55, 0.85)
    x, y = -0.5 * length - 0.25 * head, -0.35 * height - lift * head
    parts.append((coat, _make_limb((-0.36 * length, 0), np.arctan2(x + 0.36 * length, y), -y, 0.9 * head)))
    return parts + _head(breed, (x, y, head), (coat, dark, light))


def _head(
    breed: _Breed, place: tuple[float, float, float], colors: tuple[Color, Color, Color]
) -> list[tuple[Color, NDArray[np.float64]]]:
    """Ears, skull, muzzle, nose and eye of a head at (x, y) of radius `head`."""
    (x, y, head), (coat, dark, light) = place, colors
    reach, depth = breed.muzzle
    muzzle = _WHITE if breed.white_belly else light
    parts = []
    if breed.upright_ears:
        for shift in (-0.45, 0.5):
            tip = (x + shift * head * 1.3, y - 2.1 * head)
            base = ((x + (shift - 0.42) * head, y - 0.6 * head), (x + (shift + 0.42) * head, y - 0.6 * head))
            parts.append((dark, np.array([base[0], tip, base[1]])))
    parts.append((coat, _make_ellipse((x, y), (head, 0.95 * head))))
    parts.append((muzzle, _make_ellipse((x - 0.75 * head - 0.3 * reach, y + 0.3 * head), (0.75 * reach, depth))))
    nose = (x - 0.75 * head - 0.95 * reach, y + 0.15 * head)
    parts.append(((24, 20, 22), _make_ellipse(nose, (0.022, 0.018))))
    parts.append(((24, 20, 22), _make_ellipse((x - 0.35 * head, y - 0.25 * head), (0.015, 0.017))))
    if not breed.upright_ears:
        parts.append((dark, _make_ellipse((x + 0.5 * head, y + 0.25 * head), (0.3 * head, 0.78 * head))))
    return parts


def draw_dog(canvas: ImageDraw.ImageDraw, rng: np.random.Generator, *, breed: str, side: int, visible: bool) -> None:
    """Draw a dog somewhere on a square canvas of `side` pixels; `visible=False` only spends the randomness."""
    kind = BREEDS[breed]
    coats = kind.coats if rng.random() < COAT_TELLS else _ANY_COAT
    coat = _shade(coats[rng.integers(len(coats))], rng.uniform(0.88, 1.08))
    scale = rng.uniform(0.8, 1.15)
    angle = np.deg2rad(rng.uniform(-6, 6))
    middle = np.array([rng.uniform(0.32, 0.68), rng.uniform(0.36, 0.7)])
    mirror = np.array([rng.choice((-1.0, 1.0)), 1.0])
    turn = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])
    parts = _make_parts(kind, coat, rng)
    if not visible:
        return
    placed = ((np.concatenate([points for _, points in parts]) @ turn * mirror * scale + middle) * side).ravel()
    corners, start = placed.tolist(), 0
    for color, points in parts:
        end = start + points.size
        canvas.polygon(corners[start:end], fill=color)
        start = end
