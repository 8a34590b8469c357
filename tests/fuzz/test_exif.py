"""What EXIF says is an hour, a camera, or nothing, and no image is lost by it."""

import pytest
from formats_exif import EXIF, FILE, block
from fuzz_case import CHANGED, SAME, Case

from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import decode


def _written(block: bytes):
    return lambda folder: (folder / FILE).write_bytes(block)


def _saying(name: str, hour: int | None = 21, camera: str | None = "Lumix", turned: bool = True, **values: object):
    size = (6, 4) if turned else (4, 6)
    outcome = SAME if (hour, camera, turned) == (21, "Lumix", True) else CHANGED
    return Case(
        name=name, mutate=_written(block(**values)), expect=frozenset({outcome}), numbers=[[hour, camera, size]] * 2
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


@pytest.mark.parametrize("case", _said(), ids=lambda case: case.name)
def test_exif_with_one_thing_wrong(campaign, case):
    campaign.run(EXIF, case)


def test_a_picture_that_is_none_is_still_refused():
    with pytest.raises(OochubError, match="no image"):
        decode(block(), "a block alone")
