"""EXIF with something wrong: no image is lost by it, and what it says is an hour, a camera, or nothing.

Faults planted: `SyntaxError` not among what a damaged block raises; an hour of 61 taken; an orientation turned wrongly.
"""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset, Features
from datasets import Image as ImageFeature
from fuzz_case import CHANGED, SAID, SAME, Case, Format, Used
from mutations import bytes_cases
from PIL import Image

from oochub.context_finding.finders.properties import Properties
from oochub.context_finding.measure_images import measure_images
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import decode

_FILE = "exif.bin"
_ORIENTATION, _MODEL, _IFD, _DATE = 0x0112, 272, 0x8769, 36867
_PIXELS = np.random.default_rng(0).integers(0, 256, (6, 4, 3), np.uint8)


def _block(**values: object) -> bytes:
    exif = Image.Exif()
    exif[_MODEL] = values.get("model", "Lumix")
    exif[_ORIENTATION] = values.get("orientation", 6)
    exif[_IFD] = {_DATE: values.get("date", "2024:05:06 21:08:09")}
    return exif.tobytes()


def _make(folder: Path) -> None:
    (folder / _FILE).write_bytes(_block())


def _use(folder: Path, out: Path) -> Used:
    """The image with the block, as JPEG and as PNG, decoded and measured."""
    block, numbers = (folder / _FILE).read_bytes(), []
    for form in ("JPEG", "PNG"):
        file = io.BytesIO()
        Image.fromarray(_PIXELS).save(file, form, exif=block)
        row = {"image": [{"bytes": file.getvalue(), "path": None}]}
        data = Dataset.from_dict(row, Features({"image": ImageFeature()}))
        table, readable = measure_images(data, Properties(), split="train", cache=False)
        found, size = table.to_pylist()[0], decode(file.getvalue(), _FILE).size
        assert readable.all() and size in ((4, 6), (6, 4)) and found["aspect"] == size[0] / size[1]
        assert found["hour"] is None or 0 <= found["hour"] < 24
        assert found["camera"] is None or 0 < len(found["camera"]) <= 60
        numbers.append([found["hour"], found["camera"], size])
    return Used(numbers=numbers)


EXIF = Format(name="exif", make=_make, use=_use)
_ANY = frozenset({SAME, SAID, CHANGED})


def _written(block: bytes):
    return lambda folder: (folder / _FILE).write_bytes(block)


def _saying(name: str, hour: int | None = 21, camera: str | None = "Lumix", turned: bool = True, **values: object):
    size = (6, 4) if turned else (4, 6)
    outcome = SAME if (hour, camera, turned) == (21, "Lumix", True) else CHANGED
    return Case(
        name=name, mutate=_written(_block(**values)), expect=frozenset({outcome}), numbers=[[hour, camera, size]] * 2
    )


def _said():
    yield _saying("no date", hour=None, date="")
    yield _saying("a date of words", hour=None, date="yesterday evening at nine")
    yield _saying("a date of blanks", hour=None, date="    :  :     :  :  ")
    yield _saying("an hour of 61", hour=None, date="2024:05:06 61:08:09")
    yield _saying("a negative hour", hour=None, date="2024:05:06 -1:08:09")
    yield _saying("midnight", hour=0, date="2024:05:06 00:00:00")
    yield _saying("a date that ends after the hour", hour=21, date="2024:05:06 21")
    yield _saying("superscripts", hour=None, date="2024:05:06 ²³:08:09")
    yield _saying("a camera of zero bytes", camera=None, model="\0\0\0")
    yield _saying("a camera of blanks", camera=None, model="    ")
    yield _saying("a camera with line ends", camera="Lumix", model="Lu\nmix\r\n")
    yield _saying("a long camera", camera="x" * 60, model="x" * 5000)
    yield _saying("an orientation of 9", turned=False, orientation=9)
    yield _saying("an orientation of 0", turned=False, orientation=0)
    for orientation in range(1, 9):
        yield _saying(f"an orientation of {orientation}", turned=orientation > 4, orientation=orientation)


def _of_bytes():
    """Every byte of the block's directories as 0, 255 and with its lowest bit flipped, and mutations of all files."""
    block = _block()
    for place in range(len(block)):
        for word, byte in (("0", 0), ("255", 255), ("flipped", block[place] ^ 1)):
            changed = block[:place] + bytes([byte]) + block[place + 1 :]
            yield Case(name=f"byte {place} {word}", mutate=_written(changed), expect=_ANY)
    rng = np.random.default_rng(0)
    for number in range(40):
        noise = rng.integers(0, 256, int(rng.integers(0, 300)), np.uint8).tobytes()
        head = (b"Exif\0\0II*\0\x08\0\0\0", b"Exif\0\0MM\0*\0\0\0\x08", b"Exif\0\0", b"")[number % 4]
        yield Case(name=f"noise {number}", mutate=_written(head + noise), expect=_ANY)


CASES = [*_said(), *[replace(case, expect=_ANY) for case in bytes_cases(_FILE, expect=_ANY)], *_of_bytes()]
_FEW = [*_said(), *[case for case in CASES if case.name.startswith(("noise", "byte 1"))][::9]]


@pytest.mark.parametrize("case", _FEW, ids=lambda case: case.name)
def test_exif_with_one_thing_wrong(campaign, case):
    campaign.run(EXIF, case)


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_exif(campaign, case):
    campaign.run(EXIF, case)


def test_a_picture_that_is_none_is_still_refused():
    with pytest.raises(OochubError, match="no image"):
        decode(_block(), "a block alone")
