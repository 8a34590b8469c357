"""A toy of SpuriVerse: shapes on grounds that go with them, in the tables and folders of the authors' repository."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import FINE, Files, World, write_table

_WORLD = World("toy_spuriverse", {"small": 2, "medium": 8}, 1, counts="anchors_of_a_source", saved=FINE)
_OF_ANCHOR = 10
_USUAL = {"circle": "sea", "square": "sand", "triangle": "grass", "cross": "night"}
_SHAPES = tuple(_USUAL)
_GROUNDS = {"sea": (52, 104, 168), "sand": (206, 178, 120), "grass": (84, 148, 66), "night": (38, 36, 58)}
_TABLES = {  # of each source: the table, the folder and the names of its images, its own column, the first number
    "aokvqa": ("aokvqa_train_meta", "aokvqa/datasets/coco/train2017/{:012}.jpg", "split", 100_000),
    "seedbench_img": ("seedbench_meta", "LMUData/images/SEEDBench_IMG/{}.jpg", "category", 200_000),
    "seedbench2": ("seedbench_2_meta", "LMUData/images/SEEDBench2/{}.jpg", "category", 300_000),
    "naturalbench": ("naturalbench_meta", "LMUData/images/NaturalBenchDataset/{}.jpg", "type", 0),
}
_CODES = {"split": "train", "category": "Instance Identity", "type": "yes_no"}


def toy_spuriverse(folder: str | Path, *, size: str | int = "small", seed: int = 0, shapes: bool = True) -> Path:
    """Draws a small SpuriVerse: `meta/`, `output/`, `aokvqa/` and `LMUData/` as after the authors' preparation.

    Each question asks which shape is there (of four, in any order), or in the toy NaturalBench whether it is a shape
    (yes or no). A shape's usual ground is its own; an anchor and its ten drawn images show it on that of another one,
    which is an option. A table has twenty rows for each anchor, all others with the usual ground. An image depends on
    the seed, its source and its number only, so a smaller world is a part of a larger one.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (2 anchors of each of the four sources), "medium" (8), or a number of at least 1.
        seed: Another seed is another world; the same arguments give the same bytes.
        shapes: Whether shapes are drawn; without them the ground alone says something.

    Returns:
        The folder; it is what `data_dir` of the SpuriVerse builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_spuriverse(tempfile.mkdtemp() + "/spuriverse", size=1)
    >>> (root / "output/eval_human_accepted/reference_anchor_set.csv").read_text("utf-8").splitlines()[:2]
    ['sample_ids,benchmark', '100000,aokvqa']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed, shapes=shapes)


def _draw(count: int, *, seed: int, shapes: bool) -> Files:
    anchors = [("sample_ids", "benchmark")]
    for place, (source, (table, name, code, first)) in enumerate(_TABLES.items()):
        rows: list[tuple[object, ...]] = [("index", "question", "answer", *"ABCD", code, "spuriousAttr", "isSpurious")]
        for number in _WORLD.follow(range(2 * _OF_ANCHOR * count)):
            rng = np.random.default_rng([seed, place, number])
            example, is_anchor = first + number, number % (2 * _OF_ANCHOR) == 0
            shape, other = (_SHAPES[k] for k in rng.permutation(len(_SHAPES))[:2])
            ground = _USUAL[other if is_anchor else shape]
            if source == "naturalbench":
                named = (shape, other)[int(rng.integers(2))]
                question, options, answer = f"Is there a {named}?", ["Yes", "No", "", ""], "AB"[named != shape]
            else:
                question, options = "Which shape is in the image?", [_SHAPES[k] for k in rng.permutation(4)]
                answer = "ABCD"[options.index(shape)]
            spurious = f"Yes, the {ground} goes with a {other}." if is_anchor else ""
            rows.append((example, question, answer, *options, _CODES[code], spurious, is_anchor))
            yield name.format(example), _paint(rng, shape, ground, visible=shapes)
            if is_anchor:
                anchors.append((str(example), source))
                for k in range(1, _OF_ANCHOR + 1):
                    file = f"output/group_generation_prod/{source}/{example}/{example}_{k}.png"
                    yield file, _paint(rng, shape, ground, visible=shapes)
        yield f"meta/{table}.csv", write_table(*rows)
    yield "output/eval_human_accepted/reference_anchor_set.csv", write_table(*anchors)


def _paint(rng: np.random.Generator, shape: str, ground: str, *, visible: bool) -> Image.Image:
    plane = _painter.flat(_GROUNDS[ground], 12 * _painter.noise(rng, grain=8))
    picture = _painter.make_picture(plane + _painter.jitter(rng, light=18.0, warmth=8.0))
    side = _painter.PIXELS
    x, y, size = side * rng.uniform(0.35, 0.65), side * rng.uniform(0.35, 0.65), side * rng.uniform(0.16, 0.26)
    color = _painter.COLORS[int(rng.integers(len(_painter.COLORS)))]
    if not visible:
        return picture
    draw = ImageDraw.Draw(picture)
    if shape == "circle":
        draw.ellipse((x - size, y - size, x + size, y + size), fill=color)
    elif shape == "square":
        draw.rectangle((x - size, y - size, x + size, y + size), fill=color)
    elif shape == "triangle":
        draw.polygon([(x, y - size), (x - size, y + size), (x + size, y + size)], fill=color)
    else:
        draw.rectangle((x - size, y - size / 3, x + size, y + size / 3), fill=color)
        draw.rectangle((x - size / 3, y - size, x + size / 3, y + size), fill=color)
    return picture
