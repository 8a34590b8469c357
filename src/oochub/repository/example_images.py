"""Writes the sheet of six images that a repository's card shows: three in context above three out of context."""

import io
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import datasets
from PIL import Image

from oochub.errors import OochubError
from oochub.repository.repository_card import EXAMPLES, show_examples
from oochub.storage.picture_file import open_picture, scale_to_bytes, turn_upright

_SIDE = 200  # pixels of a tile
_PER_LINE = 3
_TRIED = 4  # images for a tile, where some cannot be read


def write_examples(folder: Path, data: datasets.DatasetDict) -> str:
    """Writes `examples.webp`, and gives the part of the card that shows it; "" for data without images.

    Args:
        folder: The repository, or a draft of it.
        data: Its splits; the images are those of the split test, else of the last.
    """
    split = "test" if "test" in data else list(data)[-1]
    part = data[split]
    if not isinstance(part.features.get("image"), datasets.Image):
        return ""
    part = part.cast_column("image", datasets.Image(decode=False))
    lines = [tiles for rows in _divide(part) if (tiles := list(_find_tiles(part, rows)))]
    if not lines:
        return ""
    sheet = Image.new("RGB", (_SIDE * _PER_LINE, _SIDE * len(lines)), "white")
    for line, tiles in enumerate(lines):
        for place, (tile, _) in enumerate(tiles):
            left, top = (_SIDE - tile.width) // 2, (_SIDE - tile.height) // 2
            sheet.paste(tile, (place * _SIDE + left, line * _SIDE + top))
    content = io.BytesIO()
    sheet.save(content, "WEBP", quality=80)
    (folder / EXAMPLES).write_bytes(content.getvalue())
    words = "; ".join(", ".join(words for _, words in tiles) for tiles in lines)
    return show_examples(split, f"Row by row: {words}.")


def _divide(part: datasets.Dataset) -> list[list[int]]:
    """The numbers of rows in context and out of context; where nothing says it, of the first half and the second."""
    feature = part.features.get("challenge")
    if isinstance(feature, datasets.ClassLabel):
        names = [feature.names[code] if code >= 0 else "" for code in part["challenge"][:]]
        sides = [[row for row, name in enumerate(names) if name == "easy"]]
        sides.append([row for row, name in enumerate(names) if name.startswith("hard")])
        if all(sides):
            return sides
    rows = list(range(len(part)))
    return [rows[: -(-len(rows) // 2)], rows[-(-len(rows) // 2) :]]


def _find_tiles(part: datasets.Dataset, rows: list[int]) -> Iterator[tuple[Image.Image, str]]:
    """Three images of some rows, of as many classes as they have, with what is said of each."""
    count = 0
    for row in _alternate(part, rows)[: _PER_LINE * _TRIED]:
        record = part[row]
        try:
            tile = _read_tile(record["image"])
        except (OochubError, OSError, ValueError, SyntaxError):
            continue
        yield tile, _describe(part, record)
        count += 1
        if count == _PER_LINE:
            return


def _alternate(part: datasets.Dataset, rows: list[int]) -> list[int]:
    """The rows in an order in which classes take turns."""
    if not isinstance(part.features.get("label"), datasets.ClassLabel):
        return rows
    labels, seen = part["label"][:], Counter[int]()
    turns = {}
    for row in rows:
        turns[row] = (seen[labels[row]], -1 if labels[row] is None else labels[row])
        seen[labels[row]] += 1
    return sorted(rows, key=turns.__getitem__)


def _read_tile(stored: Any) -> Image.Image:
    content = stored["bytes"] if stored["bytes"] is not None else Path(stored["path"]).read_bytes()
    image = scale_to_bytes(turn_upright(open_picture(content, name="image")), name="image").convert("RGB")
    image.thumbnail((_SIDE - 8, _SIDE - 8))
    return image


def _describe(part: datasets.Dataset, record: dict[str, Any]) -> str:
    """Label and context of a row, by name."""
    words = []
    for column in ("label", "context"):
        feature, value = part.features.get(column), record.get(column)
        if isinstance(feature, datasets.ClassLabel) and isinstance(value, int) and value >= 0:
            words.append(" ".join(str(feature.names[value]).split()))
    return words[0] + "".join(f" ({context})" for context in words[1:]) if words else str(record.get("example_id"))
