"""NOOCH's files of image ids and its official split, with one thing wrong: refused, or the same rows."""

from pathlib import Path

import numpy as np
from fuzz_case import Format, Used
from fuzz_coco import write_coco

from oochub.builders.sources.coco import read_coco
from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.split import nooch_split

_IDS = {
    f"nooch_ids_CE_car_hard_{side}_{split}.npy": np.arange(4) + 10 * k
    for k, (side, split) in enumerate((a, b) for a in ("positive", "negative") for b in ("valid", "test"))
}
_SPLIT = "cocostuff_split_image_ids.npz"
_PARTS = {"train_ids": np.arange(1, 15), "valid_ids": np.arange(15, 18), "test_ids": np.arange(18, 25)}


def _write_ids(folder: Path) -> None:
    for name, ids in _IDS.items():
        np.save(folder / name, ids)


def _write_split(folder: Path) -> None:
    write_coco(folder)
    np.savez(folder / _SPLIT, **_PARTS)


def _use_split(folder: Path, out: Path) -> Used:
    rows, notes = nooch_split(folder, read_coco(folder))
    return Used(numbers=rows, notes=tuple(notes))


IDS = Format(name="ids", make=_write_ids, use=lambda folder, out: Used(numbers=nooch_ids(folder, "car", "ce")))
SPLIT = Format(name="splits", make=_write_split, use=_use_split)
