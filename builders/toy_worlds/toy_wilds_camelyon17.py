"""A toy of Camelyon17-WILDS: stained cells of five hospitals, in the folder of WILDS."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import Files, World, write_table

_WORLD = World("toy_wilds_camelyon17", {"small": 24, "medium": 120}, 20, counts="patches")
_TRAINED = (0, 3, 4)  # hospitals
_TUMOR_SHARE = {0: 0.85, 3: 0.15, 4: 0.5}  # at hospitals of training: there the color tells of the class
_COLUMNS = ("", "patient", "node", "x_coord", "y_coord", "tumor", "slide", "center", "split")
_SLIDES = 10  # of a hospital
_STAINS = ((226, 150, 196), (214, 172, 206), (166, 122, 204), (172, 130, 206), (200, 144, 198))


def toy_wilds_camelyon17(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small Camelyon17-WILDS: `metadata.csv` and `patches/`, PNGs of 48 x 48 pixels.

    Files and columns are those of WILDS' folder, version 1.0. Nuclei in the middle are large and dark in a tumor, small
    and pale elsewhere. Each hospital has a stain of its own, and at those of training the shares of tumor differ, so
    that the stain tells of the class there; at the hospitals of validation and test half of the patches show a tumor.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (24 patches of a hospital in each split that it is in, 192 in all), "medium" (120), or
            an even number of at least 20.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_camelyon17(tempfile.mkdtemp() + "/camelyon17", size=20)
    >>> (root / "metadata.csv").read_text("utf-8").splitlines()[1]
    '0,000,0,0,0,1,0,0,0'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    splits = {center: range(2 if center in _TRAINED else 1) for center in range(len(_STAINS))}
    cells = [(center, split, k) for center, parts in splits.items() for split in parts for k in range(count)]
    rows: list[tuple[object, ...]] = []
    for center, split, k in _WORLD.follow(cells):
        rng = np.random.default_rng([seed, center, split, k])
        tumor = int(k < round(_TUMOR_SHARE.get(center, 0.5) * count))
        slide = center * _SLIDES + k % _SLIDES
        patient, node = f"{slide // 2:03}", slide % 2
        x, y = 32 * (k // _SLIDES), 32 * split
        rows.append((len(rows), patient, node, x, y, tumor, slide, center, split))
        name = f"patches/patient_{patient}_node_{node}/patch_patient_{patient}_node_{node}_x_{x}_y_{y}.png"
        yield name, _paint_patch(rng, center, has_tumor=bool(tumor))
    yield "metadata.csv", write_table(_COLUMNS, *rows)
    yield "RELEASE_v1.0.txt", ""


def _paint_patch(rng: np.random.Generator, center: int, *, has_tumor: bool) -> Image.Image:
    """Tissue in a hospital's stain, with small nuclei all over and those that count in the middle."""
    stain = np.array(_STAINS[center], np.float32)
    tissue = stain + _painter.jitter(rng, light=6.0, warmth=3.0) + 9 * _painter.noise(rng)[..., None]
    patch = _painter.make_canvas(tissue, Image.Resampling.BILINEAR)
    draw, side = ImageDraw.Draw(patch), patch.width
    pale, dark = (tuple(int(part) for part in stain * share) for share in (0.78, 0.5))
    nuclei = [(x, y, rng.uniform(1.5, 3.0), pale) for x, y in rng.uniform(0, side, (22, 2))]
    for x, y in rng.uniform(side / 3, 2 * side / 3, (6, 2)):
        nuclei.append((x, y, rng.uniform(5, 8), dark) if has_tumor else (x, y, rng.uniform(1.5, 3.0), pale))
    for x, y, radius, color in nuclei:
        draw.ellipse((x - radius, y - radius, x + radius, y + radius), fill=color)
    return patch.reduce(_painter.OVERSAMPLING)
