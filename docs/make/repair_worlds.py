"""The worlds of docs/repair.md: folders of drawn images in which a context is planted, or says nothing."""

import csv
import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _animals, _painter, _scenes
from oochub.storage.files import write_whole_folder

CORRELATIONS = (0.8, 0.85, 0.9, 0.95, 0.99)
KINDS = ("resnet", "vit", "probe")
SPLITS = ("train", "validation", "test")
_CONTRAST = {
    "dogs": (0.3, 0.3, 0.3, 0.6, 0.8),
    "coco": (0.9, 0.5, 0.75, 1.0, 0.5),
    "birds": (0.2, 0.25, 0.5, 0.25, 0.8),
    "shapes": (0.5, 0.8, 0.5, 0.95, 1.0),
}
"""The dial of the worlds, for each correlation: how much a thing stands out from the place behind it, from 0 to 1."""
_STREET_SIDE = 0.45  # of a car or a cow
_FIRST_SEED = 200  # no way to repair was made or chosen with a look at these


@dataclass(frozen=True, kw_only=True)
class World:
    """One world and the kind of model that is trained in it.

    Attributes:
        family: "dogs", "coco", "birds" or "shapes".
        correlation: Share of the training rows of a class that stand in its usual context; one half is a control.
        kind: Kind of model, one of `KINDS`.
        contrast: How much a thing stands out from the place behind it, from 0 to 1.
        seed: Random seed for the images and the training.
        rows: Training rows of each class.
        balanced: Whether the validation rows stand in both contexts alike; else they are drawn as the training rows.
    """

    family: str
    correlation: float
    kind: str
    contrast: float
    seed: int
    rows: int
    balanced: bool

    @property
    def is_planted(self) -> bool:
        """Whether the context goes with the label."""
        return self.correlation > 0.5

    def __str__(self) -> str:
        name = "control" if not self.is_planted else f"{self.correlation:.2f}".lstrip("0.")
        return f"{self.family}-{name}-{self.kind}-{self.seed}"


def _list_worlds() -> tuple[World, ...]:
    """20 planted worlds, one for each family and correlation, and 20 controls; kinds of models take turns."""
    worlds = []
    for planted in (True, False):
        for place, family in enumerate(FAMILIES):
            for step, correlation in enumerate(CORRELATIONS):
                number = len(CORRELATIONS) * place + step
                worlds.append(
                    World(
                        family=family,
                        correlation=correlation if planted else 0.5,
                        kind=KINDS[(place + step) % len(KINDS)],
                        contrast=_CONTRAST[family][step],
                        seed=_FIRST_SEED + number + (0 if planted else 100),
                        rows=1000 if planted and correlation > 0.95 else 500,
                        balanced=family in ("birds", "coco"),
                    )
                )
    return tuple(worlds)


def write_world(world: World, folder: Path, *, test_rows: int = 400) -> Path:
    """Writes the images of a world with a `metadata.csv` per split; one that is there is left as it is.

    Args:
        world: What is drawn.
        folder: The folder of the world.
        test_rows: Test rows of each class, half of them in each context.
    """
    if not folder.exists():
        with write_whole_folder(folder) as draft:
            for part, split in enumerate(SPLITS):
                share = (
                    world.correlation if split == "train" or (split, world.balanced) == ("validation", False) else 0.5
                )
                rows = {"train": world.rows, "validation": world.rows // 4, "test": test_rows}[split]
                _write_split(draft / split, world, share=share, rows=rows, stream=(world.seed, part))
            (draft / "world.json").write_text(json.dumps(asdict(world)) + "\n", "utf-8")
    return folder


def draw_cell(family: str, rng: np.random.Generator, *, label: int, context: int, contrast: float) -> Image.Image:
    """An image of 48 x 48 pixels of a class in a context, each 0 or 1; they are usual together if they are equal."""
    stream = int(rng.integers(2**32))
    place, whole = (
        _DRAWN[family].picture(np.random.default_rng(stream), label, context, visible) for visible in (False, True)
    )
    return Image.blend(place, whole, contrast)


def names_of(family: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """The names of the two classes and those of the two contexts."""
    return _DRAWN[family].classes, _DRAWN[family].contexts


def _write_split(target: Path, world: World, *, share: float, rows: int, stream: tuple[int, int]) -> None:
    classes, contexts = names_of(world.family)
    target.mkdir()
    with (target / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["file_name", "label", "context"])
        for label, name in enumerate(classes):
            for number in range(rows):
                rng = np.random.default_rng([*stream, label, number])
                is_usual = number < round(share * rows) if world.is_planted else rng.random() < share
                context = label if is_usual else 1 - label
                picture = draw_cell(world.family, rng, label=label, context=context, contrast=world.contrast)
                picture.save(target / f"{name}_{number:04}.png", compress_level=1)
                table.writerow([f"{name}_{number:04}.png", name, contexts[context]])


def _draw_dog(rng: np.random.Generator, label: int, context: int, visible: bool) -> Image.Image:
    ground, dog = rng.spawn(2)
    place = (("beach", "desert"), ("jungle", "snow"))[context][int(rng.integers(2))]
    canvas = _make_canvas(rng, _painter.LOCATIONS[place](ground))
    parts = _animals.make_dog(dog, ("bulldog", "dachshund")[label]) if visible else ()
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING)


def _draw_bird(rng: np.random.Generator, label: int, context: int, visible: bool) -> Image.Image:
    ground, bird = rng.spawn(2)
    kinds = _animals.BIRD_PLACES[("land", "water")[context]]
    canvas = _make_canvas(rng, _animals.paint_bird_place(ground, kinds[int(rng.integers(len(kinds)))]))
    parts = _animals.make_bird(bird, ("landbird", "waterbird")[label]) if visible else ()
    return _painter.cover(canvas, parts).reduce(_painter.OVERSAMPLING)


def _make_canvas(rng: np.random.Generator, scene: _painter.Picture) -> Image.Image:
    return _painter.make_canvas(scene + _painter.jitter(rng, light=15.0, warmth=7.5))


def _draw_street(rng: np.random.Generator, label: int, context: int, visible: bool) -> Image.Image:
    """A scene of the toy COCO with a car, which is a cow in the other class, on a road or on grass."""
    scene = _scenes.make_scene(rng, correlation=1.0, focus="car")
    while [thing.name for thing in scene.things] != ["car"]:
        scene = _scenes.make_scene(rng, correlation=1.0, focus="car")
    car = scene.things[0]
    foot, left = car.top + car.height, min(car.left, 1 - _STREET_SIDE)
    placed = {"left": left, "top": foot - _STREET_SIDE, "width": _STREET_SIDE, "height": _STREET_SIDE}
    thing = car._replace(name=("car", "cow")[label], **placed)
    scene = scene._replace(contexts=(("road", "grass")[context],), things=(thing,))
    return _scenes.paint_scene(rng, scene, objects=visible).picture


def _draw_shape(rng: np.random.Generator, label: int, context: int, visible: bool) -> Image.Image:
    """A disc or a triangle of any color and place, on a ground of fine grain or of stripes."""
    color = np.array(_painter.COLORS[int(rng.integers(len(_painter.COLORS)))], np.float32)
    grain = 20 * _painter.noise(rng, grain=64)
    stripes = 20 * np.sign(np.sin(2 * np.pi * (rng.uniform(5, 7) * _painter.Y + rng.random())))
    ground = _painter.flat((128, 128, 128), (grain, stripes)[context].astype(np.float32))
    ground += _painter.jitter(rng, light=15.0, warmth=7.5)
    canvas = _painter.make_canvas(ground, Image.Resampling.BICUBIC)
    radius = rng.uniform(0.2, 0.3) * canvas.width
    across, down = rng.uniform(radius, canvas.width - radius, 2)
    draw = ImageDraw.Draw(canvas)
    fill = tuple(int(value) for value in color)
    if visible:
        shape = (draw.ellipse, draw.polygon)[label]
        left, top, right, bottom = across - radius, down - radius, across + radius, down + radius
        shape([(left, top), (right, bottom)] if label == 0 else [(left, bottom), (across, top), (right, bottom)], fill)
    return canvas.reduce(_painter.OVERSAMPLING)


@dataclass(frozen=True)
class _Family:
    """How a family is drawn, and its names: class and context of the same number are usual together."""

    picture: Callable[[np.random.Generator, int, int, bool], Image.Image]
    classes: tuple[str, str]
    contexts: tuple[str, str]


_DRAWN = {
    "dogs": _Family(_draw_dog, ("bulldog", "dachshund"), ("sand", "jungle_or_snow")),
    "coco": _Family(_draw_street, ("car", "cow"), ("road", "grass")),
    "birds": _Family(_draw_bird, ("landbird", "waterbird"), ("land", "water")),
    "shapes": _Family(_draw_shape, ("disc", "triangle"), ("grain", "stripes")),
}
FAMILIES = tuple(_DRAWN)
WORLDS = _list_worlds()
"""All that the table shows."""
