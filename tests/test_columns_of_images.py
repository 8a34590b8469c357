"""The column of images holds what pyarrow makes of the same images, row by row."""

import datasets
import numpy as np
import pyarrow as pa
import pytest

from oochub import builder as module
from oochub.builder import _join_images

TYPE = datasets.Features({"image": datasets.Image()}).arrow_schema.field("image").type


def _pictures(count):
    rng = np.random.default_rng(0)
    return [{"bytes": rng.bytes(int(rng.integers(0, 99))), "path": f"{n}.jpg" if n % 3 else None} for n in range(count)]


@pytest.mark.parametrize("count", [0, 1, 2, 64, 500])
def test_it_is_the_array_that_pyarrow_builds(count: int) -> None:
    """Planted: ends without the 0 before the first, and names in place of None."""
    made = _join_images(_pictures(count))
    made.validate(full=True)
    assert made.type == TYPE
    assert made.equals(pa.array(_pictures(count), TYPE))


@pytest.mark.parametrize("last", [None, {"bytes": None, "path": "1.jpg"}, {"path": "1.jpg"}, "1.jpg"])
def test_what_has_no_bytes_is_left_to_datasets(last: object) -> None:
    """Planted: only the first image looked at."""
    pictures = [{"bytes": b"1", "path": "1.jpg"}, last]
    assert _join_images(pictures) is pictures


def test_bytes_that_one_array_cannot_hold_are_left_to_datasets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: no bound; ends of 2 GiB or more would come out negative."""
    pictures = [{"bytes": b"12345", "path": None}, {"bytes": b"12345", "path": None}]
    monkeypatch.setattr(module, "_LARGEST", 10)
    assert isinstance(_join_images(pictures), pa.StructArray)
    monkeypatch.setattr(module, "_LARGEST", 9)
    assert _join_images(pictures) is pictures
