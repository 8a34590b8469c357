"""A toy of OpenOOD's data: small drawn images in its folders, and its lists of them for each benchmark."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.sources.openood_sets import CLASSES, LISTS, SETS, ListedSet
from oochub.builders.toy_worlds._folder import Files, World

_WORLD = World("toy_openood", {"small": 20, "medium": 200}, 10)
_SIDE = 32
_SHOWN_CLASSES = 10


def toy_openood(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws `images_classic/`, `images_largescale/` and `benchmark_imglist/`: every list, with a few images each.

    A known class is a color, with its first ten classes drawn; a shifted image is darker, a near one a square of such
    a color and a far one stripes.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: Images of each list: "small" (20), "medium" (200), or a number of at least 10.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of `openood` takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_openood(tempfile.mkdtemp() + "/openood", size=10)
    >>> (root / "benchmark_imglist" / "cifar10" / "test_tin.txt").read_text().splitlines()[0]
    'tin/val/images/val_0.png -1'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    drawn = set()
    for listed in SETS.values():
        for split, file in listed.lists.items():
            lines = ""
            for k in range(count):
                label = k % _SHOWN_CLASSES
                path = _name_image(listed, split, label, k)
                lines += f"{path} {-1 if listed.shift == 'semantic' else label}\n"
                if (place := f"{listed.folder}/{path}") not in drawn:  # a set beside two benchmarks is drawn once
                    drawn.add(place)
                    rng = np.random.default_rng([seed, sum(path.encode()), k])
                    yield place, _paint(rng, label, listed.context)
            yield f"{LISTS}/{listed.benchmark}/{file}", lines


def _name_image(listed: ListedSet, split: str, label: int, k: int) -> str:
    """A path like those of OpenOOD's lists."""
    kind = "train" if split == "train" else "test"
    number = k if split != "validation" else 500 + k
    if listed.name.startswith("cifar"):
        return f"{listed.name}/{kind}/{CLASSES[listed.name][label]}/{number:04}.png"
    if listed.context == "known":
        part = "train" if split == "train" else "val"
        return f"imagenet_1k/{part}/ILSVRC2012_{part}_{listed.benchmark == 'imagenet':d}{number:07}.png"
    if listed.name == "imagenet_c":
        corruption, severity = ("fog", "snow")[k % 2], 1 + k % 5
        return f"imagenet_c/{corruption}/{severity}/ILSVRC2012_val_{listed.benchmark == 'imagenet':d}{k:07}.png"
    name = {"textures": "texture"}.get(listed.name, listed.name)
    place = {"tin": "val/images/val_", "mnist": "test/", "svhn": "test/"}.get(name, f"{label}/{listed.benchmark}_")
    return f"{name}/{place}{k}.png"


def _paint(rng: np.random.Generator, label: int, context: str) -> Image.Image:
    hue = int(255 * label / _SHOWN_CLASSES)
    light = 110 if context == "shifted" else 220
    image = Image.new("HSV", (_SIDE, _SIDE), (hue, 40, 255 - light)).convert("RGB")
    draw = ImageDraw.Draw(image)
    color = Image.new("HSV", (1, 1), (hue, 200, light)).convert("RGB").getpixel((0, 0))
    x, y = rng.integers(2, 14, 2).tolist()
    if context == "far":
        for k in range(0, _SIDE, 4):
            draw.line((k, 0, k + x, _SIDE), fill=(light, light, light))
    else:
        (draw.rectangle if context == "near" else draw.ellipse)((x, y, x + 14, y + 14), fill=color)
    noise = rng.normal(0, 8, (_SIDE, _SIDE, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))
