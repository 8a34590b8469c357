"""A sheet of small images: two of each breed on each background."""

from collections.abc import Iterable
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from oochub.report import theme
from oochub.storage.picture_file import open_picture, read_picture
from oochub.studies.spawrious.generation.dog_prompts import BACKGROUNDS, BREEDS
from oochub.studies.spawrious.generation.tried_image import TriedImage

_SIDE, _GAP, _COLUMNS = 112, 4, 2  # pixels; images of a cell side by side
_LEFT, _TOP = 90, 24
_PAPER, _EMPTY, _INK = (theme.LIGHT[name] for name in ("bg", "rule", "ink"))


def contact_sheet(folder: Path, tried: Iterable[TriedImage]) -> Image.Image:
    """The sheet: a row for each breed, two columns for each background; gray where there is no image.

    Args:
        folder: Folder of the generation.
        tried: Its images; the first fit ones of each half are shown, repeat 0 above repeat 1.

    Raises:
        OochubError: An image that cannot be read.
    """
    shown: dict[tuple[str, str, int], list[str]] = {}
    for row in tried:
        if row.accepted:
            shown.setdefault((row.breed, row.background, row.repeat), []).append(row.file)
    width = _LEFT + len(BACKGROUNDS) * (_COLUMNS * (_SIDE + _GAP) + _GAP)
    sheet = Image.new("RGB", (width, _TOP + len(BREEDS) * (2 * (_SIDE + _GAP) + _GAP)), _PAPER)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for line, breed in enumerate(BREEDS):
        for repeat in (0, 1):
            middle = _TOP + line * (2 * (_SIDE + _GAP) + _GAP) + repeat * (_SIDE + _GAP) + _SIDE // 2
            draw.text(
                (_LEFT - 8, middle), f"{breed}\nrepeat {repeat}", fill=_INK, font=font, anchor="rm", align="right"
            )
    for column, background in enumerate(BACKGROUNDS):
        left = _LEFT + column * (_COLUMNS * (_SIDE + _GAP) + _GAP)
        draw.text((left, _TOP - 4), background, fill=_INK, font=font, anchor="ls")
        for line, breed in enumerate(BREEDS):
            top = _TOP + line * (2 * (_SIDE + _GAP) + _GAP)
            for repeat in (0, 1):
                files = [*shown.get((breed, background, repeat), []), *[""] * _COLUMNS][:_COLUMNS]
                for place, file in enumerate(files):
                    spot = (left + place * (_SIDE + _GAP), top + repeat * (_SIDE + _GAP))
                    sheet.paste(_shrink_picture(folder, file), spot)
    return sheet


def _shrink_picture(folder: Path, file: str) -> Image.Image:
    if not file:
        return Image.new("RGB", (_SIDE, _SIDE), _EMPTY)
    picture = open_picture(read_picture(folder / file, root=folder), name=file)
    return picture.convert("RGB").resize((_SIDE, _SIDE), Image.Resampling.LANCZOS)
