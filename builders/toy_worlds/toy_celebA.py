"""A toy of CelebA: drawn faces with blond or other hair, women's and men's, in the folder of WILDS and Kaggle."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import FINE, Files, World, write_table

_WORLD = World("toy_celebA", {"small": 120, "medium": 800}, 20, counts="faces_in_training", saved=FINE)
_CYCLE = 20
_BLOND, _MALE = 4 + 1, 7  # of 20 faces: 4 blond women, 1 blond man, 7 other men, 8 other women
_ATTRIBUTES = """5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair
Blond_Hair Blurry Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones
Male Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks
Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace
Wearing_Necktie Young""".split()
_BLONDS = ((216, 184, 116), (200, 168, 104), (228, 202, 146))
_OTHERS = ((62, 44, 34), (38, 34, 36), (112, 74, 48), (150, 146, 142), (146, 84, 50))
_SKINS = ((238, 204, 178), (214, 168, 134), (160, 112, 82), (104, 70, 52))


def toy_celebA(folder: str | Path, *, size: str | int = "small", seed: int = 0, faces: bool = True) -> Path:
    """Draws a small CelebA: `list_attr_celeba.csv`, `list_eval_partition.csv` and `img_align_celeba/`.

    Tables, names and codes are those of the release; an image has 48 x 48 pixels. In every split, 4 of 20 faces are
    blond women, 1 is a blond man, 7 are other men and 8 other women (in the release blond men are 1 of 117). Women have
    long hair, men short hair and often a beard; all attributes but `Blond_Hair` and `Male` are drawn by lot. An image
    depends on the seed, its split and its number only, so a smaller world is a part of a larger one.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (120 faces in training, as many in the test, a half in validation), "medium" (800), or a number
            of at least 20.
        seed: Another seed is another world; the same arguments give the same bytes.
        faces: Whether faces are drawn; without them nothing tells the groups.

    Returns:
        The folder; it is what `data_dir` of the CelebA builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_celebA(tempfile.mkdtemp() + "/celebA", size=20)
    >>> (root / "list_eval_partition.csv").read_text("utf-8").splitlines()[:2]
    ['image_id,partition', '000001.jpg,0']
    """
    return _WORLD.draw(folder, _draw, size, seed=seed, faces=faces)


def _draw(count: int, *, seed: int, faces: bool) -> Files:
    cells = [(split, number) for split, many in enumerate((count, count // 2, count)) for number in range(many)]
    attributes, partition = [["image_id", *_ATTRIBUTES]], [("image_id", "partition")]
    for split, number in _WORLD.follow(cells):
        place = number % _CYCLE
        blond, male = place < _BLOND, place == 0 or place in range(_BLOND, _BLOND + _MALE)
        rng = np.random.default_rng([seed, split, number])
        name = f"{100_000 * split + number + 1:06}.jpg"
        yield f"img_align_celeba/{name}", _paint_picture(rng, blond=blond, male=male, visible=faces)
        drawn = dict(zip(_ATTRIBUTES, rng.random(len(_ATTRIBUTES)) < 0.5, strict=True))
        drawn |= {"Blond_Hair": blond, "Male": male}
        attributes.append([name, *("1" if drawn[attribute] else "-1" for attribute in _ATTRIBUTES)])
        partition.append((name, str(split)))
    yield "list_attr_celeba.csv", write_table(*attributes)
    yield "list_eval_partition.csv", write_table(*partition)


def _paint_picture(rng: np.random.Generator, *, blond: bool, male: bool, visible: bool) -> Image.Image:
    ground = _painter.flat((140, 138, 142), 14 * _painter.noise(rng, grain=8))
    canvas = _painter.make_canvas(ground + _painter.jitter(rng, light=25.0, warmth=15.0))
    hairs, side = _BLONDS if blond else _OTHERS, canvas.width
    hair, skin = hairs[int(rng.integers(len(hairs)))], _SKINS[int(rng.integers(len(_SKINS)))]
    x, y = side * rng.uniform(0.46, 0.54), side * rng.uniform(0.5, 0.58)
    width, height = side * rng.uniform(0.19, 0.22) * (1.1 if male else 1), side * rng.uniform(0.25, 0.28)
    has_beard = male and bool(rng.random() < 0.5)
    draw = ImageDraw.Draw(canvas)

    def box(left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        """A box around the face, in its halves."""
        return x + left * width, y + top * height, x + right * width, y + bottom * height

    if visible and male:
        draw.pieslice(box(-1.12, -1.25, 1.12, 0.75), 180, 360, fill=hair)
    elif visible:
        draw.ellipse(box(-1.4, -1.3, 1.4, 0.9), fill=hair)
        draw.rectangle(box(-1.4, -0.2, 1.4, 1.35), fill=hair)
    if visible:
        draw.ellipse(box(-1, -1, 1, 1), fill=skin)
        if has_beard:
            draw.chord(box(-0.85, -0.2, 0.85, 1), 20, 160, fill=hair)
        for middle in (x - 0.4 * width, x + 0.4 * width):
            draw.ellipse((middle - 3, y - 0.2 * height - 2, middle + 3, y - 0.2 * height + 2), fill=(30, 30, 34))
        draw.ellipse(box(-0.35, 0.5, 0.35, 0.6), fill=(150, 84, 76) if male else (190, 60, 70))
    return canvas.reduce(_painter.OVERSAMPLING)
