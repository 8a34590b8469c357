"""A toy of SpuriVerse: shapes on grounds that go with them, in the tables and folders of the authors' repository."""

import csv
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _folder, _textures
from oochub.process.follow import follow

_SIZES = {"small": 2, "medium": 8}
_OF_ANCHOR = 10
_SHAPES = ("circle", "square", "triangle", "cross")
_USUAL = {"circle": "sea", "square": "sand", "triangle": "grass", "cross": "night"}
_GROUNDS = {"sea": (52, 104, 168), "sand": (206, 178, 120), "grass": (84, 148, 66), "night": (38, 36, 58)}
_ID_OF = {"aokvqa": 100_000, "seedbench_img": 200_000, "seedbench2": 300_000, "naturalbench": 0}
_TABLES = {
    "aokvqa": ("aokvqa_train_meta.csv", "aokvqa/datasets/coco/train2017", "{:012}.jpg", ("split",)),
    "seedbench_img": ("seedbench_meta.csv", "LMUData/images/SEEDBench_IMG", "{}.jpg", ("category",)),
    "seedbench2": ("seedbench_2_meta.csv", "LMUData/images/SEEDBench2", "{}.jpg", ("category",)),
    "naturalbench": ("naturalbench_meta.csv", "LMUData/images/NaturalBenchDataset", "{}.jpg", ("type",)),
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
    count = _folder.count_of(size, _SIZES, least=1)
    record = {"world": "toy_spuriverse", "drawing": 1, "anchors_of_a_source": count, "seed": seed, "shapes": shapes}
    return _folder.toy_world(folder, record, partial(_draw, count=count, seed=seed, shapes=shapes))


def _draw(draft: Path, *, count: int, seed: int, shapes: bool) -> None:
    anchors = [["sample_ids", "benchmark"]]
    cells = [(source, number) for source in _TABLES for number in range(2 * _OF_ANCHOR * count)]
    tables: dict[str, list[list[str]]] = {source: [] for source in _TABLES}
    for source, number in follow(cells, desc="toy SpuriVerse", unit="image", disable=None if count > 2 else True):
        file, images, name, codes = _TABLES[source]
        rng = np.random.default_rng([seed, list(_TABLES).index(source), number])
        example = _ID_OF[source] + number
        is_anchor = number % (2 * _OF_ANCHOR) == 0
        order = rng.permutation(len(_SHAPES)).tolist()
        shape, other = _SHAPES[order[0]], _SHAPES[order[1]]
        ground = _USUAL[other if is_anchor else shape]
        if source == "naturalbench":
            asked = (shape, other)[int(rng.integers(2))]
            question, options, answer = f"Is there a {asked}?", ["Yes", "No", "", ""], "AB"[asked != shape]
        else:
            question, options = "Which shape is in the image?", [_SHAPES[k] for k in rng.permutation(4).tolist()]
            answer = "ABCD"[options.index(shape)]
        spurious = f"Yes, the {ground} goes with a {other}." if is_anchor else ""
        tables[source].append(
            [str(example), question, answer, *options, *(_CODES[code] for code in codes), spurious, str(is_anchor)]
        )
        place = draft / images
        place.mkdir(parents=True, exist_ok=True)
        _paint(rng, shape, ground, visible=shapes).save(place / name.format(example), quality=95, subsampling=0)
        if is_anchor:
            anchors.append([str(example), source])
            drawn = draft / "output" / "group_generation_prod" / source / str(example)
            drawn.mkdir(parents=True)
            for k in range(1, _OF_ANCHOR + 1):
                _paint(rng, shape, ground, visible=shapes).save(drawn / f"{example}_{k}.png")
    (draft / "meta").mkdir()
    (draft / "output" / "eval_human_accepted").mkdir()
    for source, (file, _, _, codes) in _TABLES.items():
        header = ["index", "question", "answer", *"ABCD", *codes, "spuriousAttr", "isSpurious"]
        _write(draft / "meta" / file, [header, *tables[source]])
    _write(draft / "output" / "eval_human_accepted" / "reference_anchor_set.csv", anchors)


def _write(file: Path, rows: list[list[str]]) -> None:
    with file.open("w", encoding="utf-8", newline="") as text:
        csv.writer(text, lineterminator="\n").writerows(rows)


def _paint(rng: np.random.Generator, shape: str, ground: str, *, visible: bool) -> Image.Image:
    plane = _textures.flat(_GROUNDS[ground], 12 * _textures.noise(rng, grain=8))
    picture = Image.fromarray((plane + _textures.jitter(rng, light=18.0, warmth=8.0)).clip(0, 255).astype(np.uint8))
    side = _textures.PIXELS
    x, y, size = side * rng.uniform(0.35, 0.65), side * rng.uniform(0.35, 0.65), side * rng.uniform(0.16, 0.26)
    color = _textures.COLORS[int(rng.integers(len(_textures.COLORS)))]
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
