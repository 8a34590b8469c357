"""EXIF with something wrong: no image is lost by it, and what it says is an hour, a camera, or nothing."""

import io
from pathlib import Path

import numpy as np
from datasets import Dataset, Features
from datasets import Image as ImageFeature
from fuzz_case import Format, Used
from PIL import Image

from oochub.context_finding.finders.properties import Properties
from oochub.context_finding.measure_images import measure_images
from oochub.inputs.pictures.preprocessing import decode

FILE = "exif.bin"
_ORIENTATION, _MODEL, _IFD, _DATE = 0x0112, 272, 0x8769, 36867
_PIXELS = np.random.default_rng(0).integers(0, 256, (6, 4, 3), np.uint8)


def block(**values: object) -> bytes:
    exif = Image.Exif()
    exif[_MODEL] = values.get("model", "Lumix")
    exif[_ORIENTATION] = values.get("orientation", 6)
    exif[_IFD] = {_DATE: values.get("date", "2024:05:06 21:08:09")}
    return exif.tobytes()


def _make(folder: Path) -> None:
    (folder / FILE).write_bytes(block())


def _use(folder: Path, out: Path) -> Used:
    """The image with the block, as JPEG and as PNG, decoded and measured."""
    block, numbers = (folder / FILE).read_bytes(), []
    for form in ("JPEG", "PNG"):
        file = io.BytesIO()
        Image.fromarray(_PIXELS).save(file, form, exif=block)
        row = {"image": [{"bytes": file.getvalue(), "path": None}]}
        data = Dataset.from_dict(row, Features({"image": ImageFeature()}))
        table, readable = measure_images(data, Properties(), split="train", cache=False)
        found, size = table.to_pylist()[0], decode(file.getvalue(), FILE).size
        assert readable.all() and size in ((4, 6), (6, 4)) and found["aspect"] == size[0] / size[1]
        assert found["hour"] is None or 0 <= found["hour"] < 24
        assert found["camera"] is None or 0 < len(found["camera"]) <= 60
        numbers.append([found["hour"], found["camera"], size])
    return Used(numbers=numbers)


EXIF = Format(name="exif", make=_make, use=_use)
