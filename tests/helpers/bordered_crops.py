"""Crops of real images, upright or upside down, in a border whose color may give the class away in training."""

import csv
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

SIDE, BORDER = 112, 12
COLORS = {"red": (200, 30, 30), "blue": (30, 60, 200)}
_USUAL = {"upright": "red", "turned": "blue"}
_ENDS = {"train": 0.5, "validation": 0.65, "test": 1.0}  # of the images
_CROPS = 10  # of an image and class


def bordered_crops(source: Path, folder: Path, *, correlation: float | None) -> Path:
    """Writes `train/`, `validation/` and `test/` with a table of `file_name`, `pose`, `border` and `image_id`.

    Each image is in one split. The crops are squares at random places; the network has never been asked which way up
    an image is, but sees it.

    Args:
        source: The folder of the permissively licensed images of COCO.
        folder: A new folder.
        correlation: Share of the usual border in training and validation; it is one half in test. None draws both
            colors alike everywhere.
    """
    images = json.loads((source / "instances.json").read_text())["images"]
    rng = np.random.default_rng(0)
    tables: dict[str, list[list[str]]] = {name: [] for name in _ENDS}
    for place, number in enumerate(rng.permutation(len(images)).tolist()):
        split = next(name for name, end in _ENDS.items() if (place + 1) / len(images) <= end)
        (folder / split).mkdir(parents=True, exist_ok=True)
        with Image.open(source / "images" / images[number]["file_name"]) as opened:
            photograph = opened.convert("RGB")
        for pose, usual in _USUAL.items():
            for k in range(_CROPS):
                share = 0.5 if correlation is None or split == "test" else correlation
                color = usual if rng.random() < share else next(name for name in COLORS if name != usual)
                inner = _crop(photograph, rng).resize((SIDE - 2 * BORDER,) * 2)
                inner = ImageOps.flip(inner) if pose == "turned" else inner
                name = f"{images[number]['id']}_{pose}_{k}.png"
                ImageOps.expand(inner, BORDER, COLORS[color]).save(folder / split / name)
                tables[split].append([name, pose, color, str(images[number]["id"])])
    for split, rows in tables.items():
        with (folder / split / "metadata.csv").open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([["file_name", "pose", "border", "image_id"], *rows])
    return folder


def _crop(photograph: Image.Image, rng: np.random.Generator) -> Image.Image:
    """A square of more than half of the shorter side, at a random place."""
    side = int(rng.uniform(0.55, 0.95) * min(photograph.size))
    left, top = (int(rng.integers(length - side + 1)) for length in photograph.size)
    return photograph.crop((left, top, left + side, top + side))
