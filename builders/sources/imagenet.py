"""Finds the images of ImageNet and its kin where they lie, and the class of each.

A tree of class folders, a tar for each class, one tar of them all (with images or with class tars in it) and the
shards of a WebDataset are read alike; see `oochub.builders.sources.stored`.
"""

import re
from collections.abc import Iterator
from pathlib import Path

from oochub.builders.sources.stored import Enter, Stored, stored_pictures
from oochub.errors import OochubError
from oochub.storage.picture_file import open_picture

WNID = re.compile(r"n[0-9]{8}")


def is_wnid(name: str) -> bool:
    """Whether a folder of that name holds the images of one class, and no folders.

    >>> is_wnid("n01440764"), is_wnid("train")
    (True, False)
    """
    return WNID.fullmatch(name) is not None


def imagenet_pictures(
    place: Path, *, enter: Enter = lambda name: True, within: Path | None = None, passed: list[str] | None = None
) -> Iterator[Stored]:
    """Every image below `place` with its class, as `stored_pictures` finds it.

    The class is that of the last folder that a wnid names, else the wnid that the file's own name begins with.

    Args:
        place: A folder.
        enter: Tells whether to look into a folder or an archive below it.
        within: The folder that no link may lead out of; None follows every link.
        passed: Takes the names of links and devices in archives.

    Raises:
        OochubError: As for `stored_pictures`; a name that is not UTF-8, so that no data set can hold it.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "n01440764"
    >>> folder.mkdir()
    >>> _ = (folder / "n01440764_10026.JPEG").write_bytes(b"...")
    >>> [stored[:2] for stored in imagenet_pictures(folder.parent)]
    [('n01440764/n01440764_10026.JPEG', 'n01440764')]
    """
    for stored in stored_pictures(place, enter=enter, is_last=is_wnid, within=within, passed=passed):
        try:
            stored.name.encode()
        except UnicodeEncodeError:
            where = f" in {stored.archive}" if stored.archive else ""
            raise OochubError(f"The name of {stored.name!r}{where} is not UTF-8. Rename it.") from None
        *folders, name = stored.name.split("/")
        names = [name.partition("_")[0], *folders]
        yield stored._replace(label=next(filter(is_wnid, reversed(names)), ""))


def codec_and_size(data: bytes, where: str) -> tuple[str, int, int]:
    """What the bytes of an image are, whatever its file is called: (codec, width, height); pixels are not decoded.

    Raises:
        OochubError: The bytes do not begin as any image does, or promise too many pixels; `where` names them.

    >>> codec_and_size(b"%!PS-Adobe-3.0", "n01440764_1.JPEG")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    oochub.errors.OochubError: n01440764_1.JPEG: 14 bytes that are no image in JPEG, PNG, ...
    """
    picture = open_picture(data, name=where)
    return str(picture.format), picture.width, picture.height
