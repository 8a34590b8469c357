"""Pictures turned as their EXIF says."""

from PIL import Image

from oochub.storage.picture_file import exif_value

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


def upright(picture: Image.Image) -> Image.Image:
    """The picture turned by its EXIF tag, as `ImageOps.exif_transpose` does; itself where that is damaged or none.

    >>> upright(Image.new("L", (3, 2))).size
    (3, 2)
    """
    turn = exif_value(picture, _ORIENTATION)
    return picture.transpose(_TURNS[turn]) if isinstance(turn, int) and turn in _TURNS else picture
