"""The things of the toy worlds as polygons, and how they are painted: as photographs, renditions or sketches."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFilter

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import Files
from oochub.builders.toy_worlds._painter import COLORS, PLACES, Color, Parts, jitter

_COLOR_TELLS = 0.7
"""Share of things in the typical color of their class; the others take any color."""
_GROUND_SHARE, _COMMON = 0.6, (130, 122, 108)
"""How much of a ground is left; the rest is one color. Grounds say nothing of the class."""
_PAINTS: dict[str, Color] = {
    "light": (232, 232, 224),
    "dark": (44, 38, 40),
    "red": (200, 52, 44),
    "yellow": (240, 200, 60),
    "green": (60, 130, 60),
    "brown": (146, 98, 56),
}


class Part(NamedTuple):
    """One polygon of a thing: (n, 2) points in a unit square, y down, painted with the paint of that name.

    A part that is `inner` lies within the others and is left out of the outline.
    """

    paint: str
    points: NDArray[np.float64]
    inner: bool


class Thing(NamedTuple):
    """What a class looks like: its typical color, a number of `COLORS`, and its parts back to front."""

    color: int
    parts: Sequence[Part]


def _make_half(x: float, y: float, across: float, down: float) -> NDArray[np.float64]:
    """The lower half of an ellipse; the upper one when `down` is negative."""
    turn = np.linspace(0, np.pi, 10)
    return np.stack([x + across * np.cos(turn), y + down * np.sin(turn)], 1)


def _make_star(percent: float, inner: float) -> NDArray[np.float64]:
    """A star of that many points whose inner corners are `inner` from the middle."""
    corners = 2 * round(100 * percent)
    turn = np.linspace(0, 2 * np.pi, corners, endpoint=False) - np.pi / 2
    radius = np.where(np.arange(corners) % 2, inner, 0.5)
    return np.stack([0.5 + radius * np.cos(turn), 0.5 + radius * np.sin(turn)], 1)


def _make_ring(thickness: float) -> NDArray[np.float64]:
    """A ring as one polygon: around outside, then back inside."""
    turn = np.linspace(0, 2 * np.pi, 24)
    circle = np.stack([np.cos(turn), np.sin(turn)], 1)
    return 0.5 + np.concatenate([0.48 * circle, (0.48 - thickness) * circle[::-1]])


_FORMS: dict[str, Callable[..., NDArray[np.float64]]] = {
    "box": _painter.make_box,
    "disk": _painter.make_ellipse,
    "half": _make_half,
    "star": _make_star,
    "ring": _make_ring,
}


def _read_parts(text: str) -> Iterator[Part]:
    """Parts "paint: x y, x y, ..." or "paint form: numbers, ..." in percent; those of a (paint) are inner."""
    for piece in text.split(";"):
        head, numbers = piece.split(":")
        paint, *form = head.split()
        groups = [[[float(n) / 100 for n in own.split()] for own in group.split(",")] for group in numbers.split("/")]
        outlines = [_FORMS[form[0]](*own) for own in groups[0]] if form else map(np.array, groups)
        yield from (Part(paint.strip("()"), points, paint.startswith("(")) for points in outlines)


def _read_things(sheet: str) -> dict[str, Thing]:
    """Things "name, color, what it is = parts" or "... = as name", one a line; an indented line goes on."""
    things = {}
    for entry in sheet.strip().replace("\n  ", " ").splitlines():
        head, text = entry.split(" = ")
        name, *color = head.split(", ")
        parts = SHAPES[text[3:]].parts if text.startswith("as ") else tuple(_read_parts(text))
        things[name] = Thing(int(color[0]) if color else 0, parts)
    return things


SHAPES = _read_things("""
car = main: 16 56, 30 30, 68 30, 84 56 / 0 60, 14 52, 88 52, 100 60, 100 78, 0 78; (light): 26 53, 35 37, 48 37, 48 53
  / 53 53, 53 37, 64 37, 74 53; dark disk: 23 78 13, 77 78 13
bowl = main half: 50 46 50 46; main box: 32 84 68 98; main disk: 50 46 50 13; (dark) disk: 50 46 42 9
boat = main: 0 70, 100 70, 82 98, 16 98; dark box: 46 2 52 72; light: 56 6, 94 62, 56 62 / 42 16, 42 62, 14 62
fire hydrant = main box: 33 28 67 92; main half: 50 28 21 -22; main box: 45 0 55 10, 16 42 84 60, 22 88 78 100;
  (dark) disk: 50 51 10; (dark) box: 33 27 67 33
airplane = main: 0 50, 10 42, 90 42, 100 46, 90 56, 10 58 / 36 50, 54 50, 76 90, 64 90 / 40 46, 54 46, 70 14, 60 14 /
  84 46, 92 22, 100 22, 98 48; (light) box: 14 45.5 80 49.5
cow = main box: 22 32 92 68, 26 62 36 96, 44 62 53 92, 68 62 77 92, 82 62 92 96; main: 0 42, 6 22, 28 22, 30 46, 12 54;
  light: 6 24, 0 10, 12 22 / 22 24, 30 10, 28 24; (dark) disk: 45 46 9, 72 44 11 9; (dark): 0 42, 2 35, 12 40, 12 54
backpack = dark: 38 16, 38 0, 62 0, 62 16, 55 16, 55 7, 45 7, 45 16; main: 14 100, 14 34, 30 12, 70 12, 86 34, 86 100;
  (dark) box: 26 58 74 90; (light) box: 26 66 74 71; (dark) box: 14 40 86 45
cup = main: 5 12, 67 12, 61 100, 11 100 / 62 28, 100 28, 100 74, 60 74, 60 62, 87 62, 87 40, 62 40;
  main disk: 36 12 31 9; (dark) disk: 36 12 25 5.5
surfboard = main: 50 0, 62 18, 67 50, 62 84, 50 100, 38 84, 33 50, 38 18; (dark) box: 47.5 8 52.5 92; (light): 35 62,
  65 50, 65 60, 35 72
tie = main: 36 0, 64 0, 57 18, 43 18 / 43 18, 57 18, 70 80, 50 100, 30 80; (dark): 40 36, 62 46, 63 54, 38 44 / 36 60,
  66 70, 67 78, 33 68
sports ball = main disk: 50 50 44; (dark): 50 34, 65 45, 59 62, 41 62, 35 45 / 42 7, 58 7, 50 18 / 92 40, 90 60, 81 51
  / 8 40, 19 51, 10 60 / 24 84, 29 74, 38 90 / 76 84, 71 74, 62 90
kite = main: 50 0, 84 30, 50 74, 16 30; (dark): 50 0, 84 30, 50 30; (light): 50 30, 50 74, 16 30; dark: 48 72, 53 72,
  62 86, 50 100, 45 100, 56 86
person = trousers: 30 56, 70 56, 72 100, 53 100, 50 66, 47 100, 28 100; shirt: 30 22, 70 22, 90 52, 80 56, 71 42,
  71 60, 29 60, 29 42, 20 56, 10 52; skin box: 44 14 56 24; skin disk: 50 10.5 12 10.5; (hair) half: 50 7.5 11.5 -7.5
bust = shirt: 28 46, 72 46, 98 66, 100 100, 0 100, 2 66; skin box: 41 34 59 50; skin disk: 50 22 19 22;
  (hair) half: 50 15 18 -15
dining table = legs box: 6 50 15 100, 85 50 94 100; edge box: 0 60 100 72; top: 12 0, 88 0, 100 62, 0 62;
  (grain): 35 2, 36.5 2, 31 61, 29 61 / 63.5 2, 65 2, 71 61, 69 61
""")
"""The twelve objects of NOOCH, people and tables. Objects fill their square's width or height and stand on its foot."""

ID_THINGS = _read_things("""
n01443537, 6, goldfish = main: 60 50, 100 20, 92 50, 100 80 / 30 40, 55 12, 62 40; main disk: 36 50 36 24;
  light disk: 14 44 6; dark disk: 13 44 3; dark: 30 32, 34 32, 34 68, 30 68
n01910747, 7, jellyfish = main: 0 52, 4 36, 14 20, 30 8, 50 3, 70 8, 86 20, 96 36, 100 52, 88 60, 76 52, 63 60, 50 52,
  37 60, 24 52, 12 60; light box: 20 56 26 96, 38 56 44 90, 56 56 62 98, 74 56 80 88; light disk: 50 30 22 10
n01944390, 8, snail = light: 0 70, 8 52, 16 70, 70 84, 100 92, 10 96; light box: 2 40 6 56, 11 40 15 56;
  main disk: 58 48 34; dark disk: 58 50 24; main disk: 59 52 16; dark disk: 60 54 8
n02165456, 0, ladybug = dark disk: 50 18 18 14; main disk: 50 58 42 40; dark box: 48 20 52 98; dark disk: 30 46 8,
  70 46 8, 26 68 8, 74 68 8, 38 84 6, 62 84 6
n02317335, 2, starfish = main star: 5 20; light disk: 50 50 6, 50 24 4, 75 42 4, 66 72 4, 34 72 4
n02403003, 8, ox = as cow
n02690373, 4, airliner = as airplane
n02769748, 1, backpack = as backpack
n02782093, 0, balloon = dark: 49 78, 51 78, 54 100, 50 100; main: 44 78, 56 78, 50 68; main disk: 50 38 32 38;
  light disk: 38 24 7 10
n02793495, 0, barn = main box: 10 40 90 100; dark: 2 44, 22 14, 50 0, 78 14, 98 44; light box: 34 58 66 100,
  42 22 58 36; main: 34 58, 40 58, 66 100, 60 100
n02802426, 6, basketball = main disk: 50 50 46; dark box: 47 4 53 96, 4 47 96 53; dark: 16 18, 22 15, 34 50, 22 85,
  16 82, 28 50 / 84 18, 78 15, 66 50, 78 85, 84 82, 72 50
n02814860, 4, beacon = main: 38 24, 62 24, 72 100, 28 100; dark: 35 42, 65 42, 67 56, 33 56 / 31 72, 69 72, 71 86,
  29 86; light box: 40 10 60 24; dark: 34 12, 50 0, 66 12
n02906734, 2, broom = dark box: 47 0 53 62; main: 40 58, 60 58, 78 100, 22 100; dark box: 37 64 63 69
n02948072, 4, candle = main box: 34 34 66 100; dark box: 49 24 52 36; light: 50 0, 60 18, 50 28, 40 18; dark: 34 34,
  66 34, 58 42, 50 38, 42 46
n03063599, 3, coffee mug = as cup
n03481172, 9, hammer = dark box: 44 20 56 100; main: 14 6, 30 2, 84 6, 84 30, 30 30, 14 22; light box: 74 6 84 30
n03775546, 1, mixing bowl = as bowl
n03888257, 6, parachute = dark: 0 50, 3 50, 50 88, 97 50, 100 50, 52 94, 48 94; main: 0 52, 4 36, 14 20, 30 8, 50 3,
  70 8, 86 20, 96 36, 100 52, 84 46, 67 52, 50 46, 33 52, 16 46; light: 50 3, 67 50, 33 50; dark box: 44 86 56 100
n04254680, 4, soccer ball = as sports ball
n04285008, 0, sports car = as car
n04507155, 7, umbrella = dark box: 48 0 52 92; dark: 48 88, 52 88, 54 94, 62 94, 64 84, 68 84, 66 100, 50 100;
  main: 0 52, 4 36, 14 20, 30 8, 50 3, 70 8, 86 20, 96 36, 100 52, 75 42, 50 52, 25 42
n04522168, 1, vase = main: 38 0, 62 0, 56 22, 84 52, 66 100, 34 100, 16 52, 44 22; light: 20 46, 80 46, 84 56, 16 56
n04591157, 5, Windsor tie = as tie
n04612504, 1, yawl = as boat
n06874185, 5, traffic light = dark box: 46 78 54 100; main box: 30 0 70 80; red disk: 50 14 10; yellow disk: 50 40 10;
  green disk: 50 66 10
n07614500, 7, ice cream = brown: 26 42, 74 42, 50 100; main disk: 38 32 20, 62 32 20; light disk: 50 18 18
n07734744, 8, mushroom = light: 38 48, 62 48, 66 98, 34 98; main: 0 52, 4 36, 14 20, 30 8, 50 3, 70 8, 86 20, 96 36,
  100 52; light disk: 28 32 8, 54 20 7, 74 36 8
n07749582, 2, lemon = main: 0 52, 14 44, 30 28, 70 28, 86 44, 100 50, 86 62, 70 76, 30 76, 14 62
n07753275, 2, pineapple = green: 50 34, 26 20, 40 20, 34 0, 50 16, 66 0, 60 20, 74 20; main disk: 50 66 26 34;
  brown: 28 50, 32 46, 74 80, 70 84 / 72 50, 68 46, 26 80, 30 84; brown box: 24 64 76 67
n07873807, 2, pizza = brown disk: 50 50 48; main disk: 50 50 40; red disk: 34 34 9, 64 30 9, 72 58 9, 46 62 9, 28 60 8,
  56 80 8
""")
"""30 classes of ImageNet-1K by wnid; 20 of them are classes of ImageNet-R too."""

OOD_THINGS = _read_things("""
n02725872, 9, anvil = main: 0 22, 30 14, 100 14, 100 36, 70 44, 66 66, 88 90, 12 90, 34 66, 34 48;
  light box: 40 18 96 22
n02882647, 4, bowling pin = main disk: 50 16 13 16; main: 43 26, 57 26, 68 62, 60 100, 40 100, 32 62;
  red box: 41 28 59 33, 40 37 60 42
n02928608, 1, button = main disk: 50 50 46; light disk: 50 50 36; main disk: 50 50 33; dark disk: 39 39 7, 61 39 7,
  39 61 7, 61 61 7
n03075097, 5, comb = main box: 0 24 100 42, 2 40 8 80, 16 40 22 80, 30 40 36 80, 44 40 50 80, 58 40 64 80, 72 40 78 80,
  90 40 98 80
n03158885, 9, dagger = light: 42 34, 58 34, 58 80, 50 100, 42 80; main box: 22 26 78 35; brown box: 44 4 56 27;
  main disk: 50 5 8
n03331077, 0, fez = main: 28 18, 72 18, 86 90, 14 90; dark disk: 50 18 22 6; dark: 50 16, 94 24, 98 60, 92 60, 90 28,
  50 20
n07843636, 4, fried egg = main: 8 40, 28 14, 54 22, 84 14, 96 48, 80 82, 54 78, 30 92, 8 72; yellow disk: 52 48 18
n07758680, 7, grape = green: 46 0, 54 0, 54 20, 76 12, 60 28, 46 24; main disk: 28 34 14, 52 32 14, 74 36 14, 38 54 14,
  62 54 14, 50 74 14, 50 90 10; light disk: 24 30 4, 48 28 4, 70 32 4, 34 50 4, 58 50 4, 46 70 4
n03490884, 8, hanger = dark: 46 30, 46 18, 54 14, 54 8, 46 8, 40 14, 36 8, 44 0, 58 0, 62 14, 54 22, 54 30;
  main: 50 26, 100 68, 100 80, 0 80, 0 68, 50 34, 12 70, 88 70
n03548402, 7, hula-hoop = main ring: 10
n04011827, 2, propeller = main: 50 50, 36 26, 40 0, 60 0, 58 26 / 50 50, 78 50, 100 70, 90 86, 66 74 / 50 50, 34 74,
  10 86, 0 70, 22 50; dark disk: 50 50 12
n04233124, 9, skyscraper = main box: 30 14 70 100, 48 0 52 16; yellow box: 36 22 44 32, 56 22 64 32, 36 40 44 50,
  56 40 64 50, 36 58 44 68, 56 58 64 68, 36 76 44 86; dark box: 56 76 64 86
n04284869, 6, sport kite = as kite
n04326896, 8, stool = dark: 22 20, 30 20, 20 100, 10 100 / 70 20, 78 20, 90 100, 80 100; dark box: 20 60 80 66;
  main disk: 50 18 42 14
n04335886, 5, streetlight = main: 28 100, 28 8, 84 8, 84 20, 76 20, 76 15, 36 15, 36 100; yellow disk: 80 24 14 9;
  main box: 20 92 44 100
n07686873, 6, toast = brown: 6 26, 14 8, 36 4, 64 4, 86 8, 94 26, 86 42, 86 96, 14 96, 14 42; main: 14 26, 22 14,
  78 14, 86 26, 78 40, 78 88, 22 88, 22 40; yellow box: 38 42 58 58
""")
"""16 classes of ImageNet-OOD, which no class of ImageNet-1K is, by wnid."""

OPEN_THINGS = _read_things("""
board, 6 = as surfboard
hydrant, 0 = as fire hydrant
daisy, 3 = main star: 12 36; brown disk: 50 50 20
spark, 1 = main star: 4 14; light disk: 50 50 9
cassette, 5 = main box: 4 30 96 70; light disk: 28 50 14, 72 50 14; dark box: 44 42 56 58
""")
"""Things of no list."""


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
DOMAINS: dict[str, Style] = {
    "photo": PHOTO,
    "sketch": SKETCH,
    "art": RENDITIONS["art"],
    "cartoon": RENDITIONS["cartoon"],
    "clipart": Style(ground=(250, 250, 250), line=(30, 30, 30)),
    "product": Style(ground=(236, 240, 244)),
    "quickdraw": Style(ground=(255, 255, 255), line=(0, 0, 0), filled=False),
    "poster": Style(ground=(250, 224, 120), any_colors=True),
    "night": Style(ground=(36, 40, 58)),
    "meadow": Style(ground=(118, 142, 82)),
    "sand": Style(ground=(206, 186, 142)),
    "snow": Style(ground=(222, 228, 234)),
}
"""The ways in which a domain may draw things."""


def paint(rng: np.random.Generator, thing: Thing, style: Style = PHOTO) -> Image.Image:
    """An image of a thing; the same stream of numbers gives the same image."""
    scene = _painter.fade(list(PLACES.values())[rng.integers(len(PLACES))](rng), _GROUND_SHARE, _COMMON)
    if style.ground is not None:
        scene = np.full_like(scene, style.ground)
    canvas = _painter.make_canvas(scene + jitter(rng, light=12, warmth=6))
    draw = ImageDraw.Draw(canvas)
    main = COLORS[thing.color if rng.random() < _COLOR_TELLS else rng.integers(len(COLORS))]
    shade = jitter(rng, light=12, warmth=5)
    scale, turn = rng.uniform(0.55, 0.9), np.deg2rad(rng.uniform(-15, 15))
    rotation = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
    middle = 0.5 + (0.5 - scale / 2) * rng.uniform(-1, 1, 2)
    flip = np.array([rng.choice([-1, 1]), 1])
    for part in thing.parts:
        color = COLORS[rng.integers(len(COLORS))] if style.any_colors else {**_PAINTS, "main": main}[part.paint]
        points = ((part.points - 0.5) * flip @ rotation.T + middle) * canvas.size
        if style.filled:
            draw.polygon(points.ravel().tolist(), fill=tuple(map(int, (color + shade).clip(0, 255))))
        if style.line is not None:
            corners = (points + rng.normal(0, 0.8, points.shape)).ravel().tolist()
            draw.line([*corners, *corners[:2]], fill=style.line, width=3, joint="curve")
    picture = canvas.reduce(_painter.OVERSAMPLING)
    return picture.filter(ImageFilter.ModeFilter(style.smeared)) if style.smeared else picture


def place_thing(rng: np.random.Generator, thing: Thing) -> Parts:
    """The polygons of a thing somewhere in the image, in any color, to cover a ground that is painted apart."""
    main = COLORS[int(rng.integers(len(COLORS)))]
    scale = rng.uniform(0.5, 0.75)
    middle = 0.5 + (0.5 - scale / 2) * rng.uniform(-1, 1, 2)
    flip = np.array([rng.choice([-1.0, 1.0]), 1.0])
    colors = {"main": main} | {paint: _PAINTS[paint] for paint in ("light", "dark", "red")}
    return [(colors.get(part.paint, main), (part.points - 0.5) * flip * scale + middle) for part in thing.parts]


def paint_ground(rng: np.random.Generator, place: str) -> Image.Image:
    """A canvas of one of `PLACES`."""
    return _painter.make_canvas(PLACES[place](rng) + jitter(rng, light=12.0, warmth=6.0))


def draw_domains(domains: str, classes: str, *, count: int, stream: tuple[int, int]) -> Files:
    """Draws `<domain>/<class>/<image>`: each class is a shape, which need not be its likeness.

    Args:
        domains: "domain=way, domain=way, ...": the way of drawing of each, one of `DOMAINS`.
        classes: The names of the classes, apart by spaces.
        count: Images of each class in each domain.
        stream: The seed, and the number of the data set, so that two of a world are not alike.
    """
    for place, (domain, way) in enumerate(own.split("=") for own in domains.split(", ")):
        for label, (name, thing) in enumerate(zip(classes.split(), ID_THINGS.values(), strict=False)):
            for k in range(count):
                rng = np.random.default_rng([*stream, place, label, k])
                yield f"{domain}/{name}/{k + 1:05}.jpg", paint(rng, thing, DOMAINS[way])
