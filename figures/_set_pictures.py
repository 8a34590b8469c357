"""Images of scored sets out of their data sets, one beside another, and what stands above them."""

from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from oochub.errors import OochubError
from oochub.evaluation.detector_scores import ScoredSet
from oochub.figures._read_pictures import read_pictures
from oochub.report import wording

_HEIGHT, _SEAM = 224, 6  # pixels of a pair


def select_pictures(scored: ScoredSet, rows: Sequence[int], datasets: Mapping[str, Any]) -> dict[int, Image.Image]:
    """The images of some rows of a set, by row; no other is decoded.

    Raises:
        OochubError: The data set is not given, or lacks an image.
    """
    if not rows:
        return {}
    if scored.name not in datasets:
        raise OochubError(
            f"There is no data set of {scored.name}, of which images are shown; given: {', '.join(datasets) or 'none'}."
        )
    split, ids = scored.predictions.split, scored.predictions.column("example_id")
    pictures: dict[int, Image.Image] = {}
    for name in dict.fromkeys(split[list(rows)].tolist()):
        here = sorted({row for row in rows if split[row] == name})
        read = read_pictures(datasets[scored.name], name, [str(ids[row]) for row in here])
        pictures |= {row: read[str(ids[row])] for row in here}
    return pictures


def name_class(scored: ScoredSet, row: int) -> str:
    """What is in the image: its column `class_name`, else the name of its label, else ""."""
    known = scored.predictions
    if "class_name" in known.column_names:
        return wording.words(str(known.column("class_name")[row]))
    label = int(known.label[row])
    return wording.words(known.class_names[label].partition(",")[0]) if label >= 0 else ""


def draw_side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    """Both images, cut to squares, on white with a seam."""
    pair = Image.new("RGB", (2 * _HEIGHT + _SEAM, _HEIGHT), "white")
    for picture, at in ((left, 0), (right, _HEIGHT + _SEAM)):
        side = min(picture.size)
        x, y = ((length - side) // 2 for length in picture.size)
        square = picture.convert("RGB").crop((x, y, x + side, y + side))
        pair.paste(square.resize((_HEIGHT, _HEIGHT), Image.Resampling.BICUBIC), (at, 0))
    return pair
