"""Saved detectors, and the head beside predictions, with one thing wrong: refused, or the same scores."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
from fuzz_case import Format, Used
from fuzz_predictions import arrays, evaluated, head, numbers_of, predictions

import oochub
from oochub.detector import Detector
from oochub.storage.tensor_file import save_tensors

_NAMES = {"mahalanobis": {}, "knn": {"k": 3}, "react": {}, "energy": {"temperature": 2.0}}
_STATE, _CARD, _HEAD = "state.safetensors", "detector.json", "in.head.safetensors"


def _make(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        given = arrays(1) | head()
        detector = oochub.get("detector", name)(**_NAMES[name])
        detector.fit(**{each: given[each] for each in detector.fit_needs}).save(folder / "saved")
        for file in (folder / "saved").iterdir():
            file.rename(folder / file.name)
        (folder / "saved").rmdir()

    return make


def _use(folder: Path, out: Path) -> Used:
    detector, given = Detector.load(folder), arrays(2)
    return Used(numbers=detector.score(**{each: given[each] for each in detector.score_needs}))


DETECTORS = {name: Format(name=f"detectors: {name}", make=_make(name), use=_use, names=("k is",)) for name in _NAMES}


def _make_head(folder: Path) -> None:
    predictions(1).save(folder / "in.parquet")
    outside = predictions(2, label=np.full(len(arrays()["label"]), -1), config="outside")
    outside.save(folder / "out.parquet")
    save_tensors(head(), folder / _HEAD)


def _use_head(folder: Path, out: Path) -> Used:
    files = [folder / "in.parquet", folder / "out.parquet"]
    report = evaluated(files, out, detectors=["react"], reference=folder / "in.parquet")
    return Used(numbers=numbers_of(report), notes=report.notes)


_THINGS = ("weight", "bias", ".head.safetensors")
HEADS = Format(name="heads", make=_make_head, use=_use_head, names=_THINGS)
