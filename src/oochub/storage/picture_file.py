"""Images as bytes and as pixels: the one place that lets Pillow look at what a file holds."""

import io
import os
import struct
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, UnidentifiedImageError

from oochub.errors import OochubError
from oochub.storage.reading import read_bytes

FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM")
"""The raster formats that are opened, whatever a file's suffix says; others, such as EPS, run foreign programs."""
_BEGINNINGS = (
    b"\xff\xd8\xff",
    b"\x89PNG\r\n\x1a\n",
    b"RIFF",
    b"BM",
    b"GIF8",
    *(b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"),
    *(b"P%d" % k for k in range(1, 7)),
)
_OTHERS = {  # formats by the bytes from a place on; none of them is opened
    "AVIF": ((4, b"ftypavif"), (4, b"ftypavis")),
    "HEIC": ((4, b"ftyphei"), (4, b"ftyphev"), (4, b"ftypmif1"), (4, b"ftypmsf1")),
    "JPEG 2000": ((4, b"jP  "), (0, b"\xff\x4f\xff\x51")),
    "JPEG XL": ((4, b"JXL "), (0, b"\xff\x0a")),
    "ICO": ((0, b"\0\0\1\0"), (0, b"\0\0\2\0")),
    "ICNS": ((0, b"icns"),),
    "PSD": ((0, b"8BPS"),),
    "EPS": ((0, b"%!PS"), (0, b"\xc5\xd0\xd3\xc6")),
    "PDF": ((0, b"%PDF"),),
    "SVG": ((0, b"<svg"), (0, b"<?xml")),
    "DDS": ((0, b"DDS "),),
    "QOI": ((0, b"qoif"),),
    "PCX": ((0, b"\n\5\1"), (0, b"\n\3\1")),
    "SGI": ((0, b"\x01\xda"),),
    "Sun raster": ((0, b"\x59\xa6\x6a\x95"),),
    "XPM": ((0, b"/* XPM */"),),
    "FITS": ((0, b"SIMPLE  ="),),
    "OpenEXR": ((0, b"\x76\x2f\x31\x01"),),
    "Radiance HDR": ((0, b"#?RADIANCE"),),
    "DICOM": ((128, b"DICM"),),
}
_BYTES = ("1", "L", "P", "LA", "PA", "La", "RGB", "RGBA", "RGBX", "RGBa", "CMYK", "YCbCr", "HSV")
"""Modes of Pillow in which a channel of a pixel is a byte, or an index into colors of bytes."""
_OF_65535 = ("PNG", "PPM")  # formats whose whole numbers Pillow gives as shares of 65535
_DAMAGED = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    OSError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
)
"""What Pillow raises on EXIF that is not what it should be."""
_ORIENTATION = 0x0112
_TURNS = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
_FOLLOW = "If the links of this folder are yours, give follow_links=True (--option follow_links=true)"


def open_picture(content: bytes, *, name: str) -> Image.Image:
    """The image in `content`, its header read and its pixels not yet.

    Args:
        content: The bytes of a file.
        name: What errors call it.

    Raises:
        OochubError: The content does not begin as an image in one of `FORMATS`, or it has more than
            `Image.MAX_IMAGE_PIXELS` pixels.

    >>> file = io.BytesIO()
    >>> Image.new("RGB", (3, 2)).save(file, "WEBP")
    >>> open_picture(file.getvalue(), name="tie.jpg").size
    (3, 2)
    >>> open_picture(b"%!PS-Adobe-3.0 EPSF-3.0", name="tie.jpg")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    oochub.errors.OochubError: tie.jpg: 23 bytes that are no image in JPEG, PNG, WEBP, BMP, GIF, TIFF, PPM, but one ...
    """
    too_large = OochubError(
        f"{name}: its header says more than {Image.MAX_IMAGE_PIXELS} pixels, so it is not decoded. Make it smaller, or "
        "raise PIL.Image.MAX_IMAGE_PIXELS if you know where it is from."
    )
    try:
        picture: Image.Image = Image.open(io.BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError:
        raise too_large from None
    except UnidentifiedImageError:
        raise OochubError(_explain_no_picture(name, content)) from None
    except (OSError, SyntaxError, ValueError, struct.error) as error:
        raise OochubError(f"{name}: the image cannot be read ({error}). Download the file again.") from error
    if Image.MAX_IMAGE_PIXELS and picture.width * picture.height > Image.MAX_IMAGE_PIXELS:
        raise too_large
    return picture


def read_exif_value(picture: Image.Image, tag: int, *, block: int | None = None) -> Any:
    """A value of an image's EXIF; None where it has none, or where its EXIF is damaged: no image is lost by that.

    Args:
        picture: Image, as `open_picture` gives it.
        tag: Number of the value.
        block: Number of the directory that it stands in; None for the first.
    """
    try:
        exif = picture.getexif()
        return (exif if block is None else exif.get_ifd(block)).get(tag)
    except _DAMAGED:
        return None


def turn_upright(picture: Image.Image) -> Image.Image:
    """The image turned by its EXIF tag, as `ImageOps.exif_transpose` does; itself where that is damaged or none.

    >>> turn_upright(Image.new("L", (3, 2))).size
    (3, 2)
    """
    turn = read_exif_value(picture, _ORIENTATION)
    return picture.transpose(_TURNS[turn]) if isinstance(turn, int) and turn in _TURNS else picture


def read_picture(file: Path | str, *, root: Path | str, follow_links: bool = False) -> bytes:
    """The untouched bytes of an image of a raw folder.

    Args:
        file: The image, below `root`.
        root: The raw folder, which may itself be a link.
        follow_links: Whether a link may lead out of `root`.

    Raises:
        OochubError: The file cannot be read, is not a regular file, is empty, does not begin as an image in one of
            `FORMATS`, or lies outside `root` and `follow_links` is False.
    """
    path = file if isinstance(file, Path) else Path(file)
    if not follow_links:
        check_inside(path, root=root)
    content = read_bytes(path)
    if not content:
        raise OochubError(f"{path} is empty. Unpack it again from its archive.")
    check_beginning(content, name=str(path))
    return content


def check_beginning(content: bytes, *, name: str) -> None:
    """Checks that bytes begin as an image in one of `FORMATS` does.

    Raises:
        OochubError: They do not; `name` is what it calls them.
    """
    if not content.startswith(_BEGINNINGS):
        raise OochubError(_explain_no_picture(name, content))


def check_inside(path: Path, *, root: Path | str) -> None:
    """Checks that a file or folder of a raw folder lies in it, wherever its links lead.

    Raises:
        OochubError: The file or folder lies outside `root`, or its links lead in a circle.
    """
    real, folder = _resolve_path(path), _resolve_folder(str(root))
    if real != folder and not real.startswith(folder.rstrip("/") + "/"):
        raise OochubError(f"{path} is a link that leads out of {root}, to {real}: it is not read. {_FOLLOW}.")


def _resolve_path(path: Path) -> str:
    """The path without links, as text; one lookup a folder, since images share theirs."""
    folder, name = os.path.split(path)
    try:
        return str(path.resolve()) if path.is_symlink() else f"{_resolve_folder(folder)}/{name}"
    except RuntimeError:
        raise OochubError(f"Cannot read {path}: its links lead in a circle. Download the file again.") from None


@lru_cache(maxsize=4096)
def _resolve_folder(folder: str) -> str:
    return os.path.realpath(folder)


def is_of_bytes(picture: Image.Image) -> bool:
    """Whether a channel of a pixel is a byte, or an index into colors of bytes."""
    return picture.mode in _BYTES


def scale_to_bytes(picture: Image.Image, *, name: str, format: str | None = None) -> Image.Image:
    """The image with pixels of 8 bits: itself where they are, and the upper 8 of 16 bits.

    With 16 bits 0 stays black and 65535 becomes white, whatever an image uses of them. Whole numbers of 32 bits and
    floats have no such range, so they are refused: Pillow would cut them off at 0 and 255.

    Args:
        picture: Image, its pixels read.
        name: What errors call it.
        format: Format of its file, as Pillow names it.

    Raises:
        OochubError: Its pixels are whole numbers of 32 bits, floats, or of a color space that Pillow does not convert.

    >>> scale_to_bytes(Image.new("I;16", (1, 1), 65535), name="x.png").getpixel((0, 0))
    255
    """
    if is_of_bytes(picture):
        return picture
    if picture.mode.startswith("I;16") or (picture.mode == "I" and format in _OF_65535):
        return Image.fromarray((np.asarray(picture) >> 8).astype(np.uint8))
    kinds = {"I": "whole numbers of 32 bits", "F": "floats", "LAB": "colors of CIELAB"}
    raise OochubError(
        f"{name}: its pixels are {kinds.get(picture.mode, f'of the mode {picture.mode}')}, which have no range from "
        "black to white that is known. Save it as a PNG of 8 bits, scaled as the images that the model was trained on."
    )


def _explain_no_picture(name: str, content: bytes) -> str:
    wrong = f"{name}: {len(content)} bytes that are no image in {', '.join(FORMATS)}"
    for other, marks in _OTHERS.items():
        if any(content[place : place + len(mark)] == mark for place, mark in marks):
            return f"{wrong}, but one in {other}. Save it as PNG."
    return f"{wrong}. Download the file again; if it is an image in another format, save it as PNG."
