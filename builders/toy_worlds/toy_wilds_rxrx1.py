"""A toy of RxRx1-WILDS: fluorescent cells in experiments with light of their own, in the folder of WILDS."""

from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from oochub.builders.toy_worlds import _painter
from oochub.builders.toy_worlds._folder import Files, World, write_table

_TREATMENTS = 6
_WORLD = World("toy_wilds_rxrx1", {"small": 6, "medium": 30}, _TREATMENTS, counts="wells")
_CELL_TYPES = {"HEPG2": 5, "HUVEC": 8, "RPE": 11, "U2OS": 7}  # and how many cells an image shows
_SPLITS = {"01": "train", "02": "train", "03": "val", "04": "test"}  # by the number of the experiment
_COLUMNS = (
    *("site_id", "well_id", "cell_type", "dataset", "experiment", "plate"),
    *("well", "site", "well_type", "sirna", "sirna_id"),
)


def toy_wilds_rxrx1(folder: str | Path, *, size: str | int = "small", seed: int = 0) -> Path:
    """Draws a small RxRx1-WILDS: `metadata.csv` and `images/<experiment>/Plate<k>/`, PNGs of 48 x 48 pixels.

    Files and columns are those of WILDS' folder, version 1.0. Six siRNAs change the form of cells: their size, whether
    they are hollow, whether they are long. Each of four cell types has two experiments in training, one in validation
    and one in test. An experiment has gains of its own in the three channels: its batch effect.

    Args:
        folder: A new or empty folder, or one that already holds this very world, which is then left as it is.
        size: "small" (6 wells of an experiment, with two sites each, 192 images in all), "medium" (30), or
            a number of at least 6.
        seed: Another seed is another world; the same arguments give the same bytes.

    Returns:
        The folder; it is what `data_dir` of the WILDS builder takes.

    Raises:
        OochubError: An unknown size, or a folder with other content.

    >>> import tempfile
    >>> root = toy_wilds_rxrx1(tempfile.mkdtemp() + "/rxrx1")
    >>> (root / "metadata.csv").read_text("utf-8").splitlines()[1]
    'HEPG2-01_1_B02_1,HEPG2-01_1_B02,HEPG2,train,HEPG2-01,1,B02,1,treatment,s0,0'
    """
    return _WORLD.draw(folder, _draw, size, seed=seed)


def _draw(count: int, *, seed: int) -> Files:
    wells = [
        (cell_type, f"{cell_type}-{number}", split, k)
        for cell_type in _CELL_TYPES
        for number, split in _SPLITS.items()
        for k in range(count)
    ]
    rows: list[tuple[object, ...]] = [_COLUMNS]
    for place, (cell_type, experiment, split, k) in enumerate(_WORLD.follow(wells)):
        gains = np.random.default_rng([seed, place // count]).uniform(0.45, 1.0, 3)
        plate, well, treatment = 1 + k % 4, f"{'BCDEFG'[k // 22 % 6]}{2 + k % 22:02}", k % _TREATMENTS
        well_id = f"{experiment}_{plate}_{well}"
        for site in (1, 2):
            rng = np.random.default_rng([seed, place, site])
            picture = _paint_picture(rng, cell_type, treatment, gains)
            yield f"images/{experiment}/Plate{plate}/{well}_s{site}.png", picture
            about = (experiment, plate, well, site, "treatment", f"s{treatment}", treatment)
            rows.append((f"{well_id}_{site}", well_id, cell_type, split, *about))
    yield "metadata.csv", write_table(*rows)
    yield "RELEASE_v1.0.txt", ""


def _paint_picture(rng: np.random.Generator, cell_type: str, treatment: int, gains: np.ndarray) -> Image.Image:
    """Cells on black, their bodies in two channels and their nuclei in the third, as bright as the batch has them."""
    side = _painter.PIXELS * _painter.OVERSAMPLING
    channels = [Image.new("L", (side, side), 12) for _ in range(3)]
    bodies, rims, nuclei = map(ImageDraw.Draw, channels)
    is_large, form = treatment % 2 == 1, treatment // 2
    for x, y in rng.uniform(0.1 * side, 0.9 * side, (_CELL_TYPES[cell_type], 2)):
        across = (13.0 if is_large else 7.0) * rng.uniform(0.9, 1.1)
        down = across * (0.4 if form == 2 else 1.0)
        box = (x - across, y - down, x + across, y + down)
        bodies.ellipse(box, fill=20 if form == 1 else 150)
        rims.ellipse(box, outline=220, width=4)
        nuclei.ellipse((x - 3, y - 3, x + 3, y + 3), fill=230)
    blurred = [channel.filter(ImageFilter.GaussianBlur(1)).reduce(_painter.OVERSAMPLING) for channel in channels]
    lit = np.stack([np.asarray(channel, np.float32) for channel in blurred], axis=-1) * gains
    return _painter.make_picture(lit + rng.normal(0, 4, lit.shape))
