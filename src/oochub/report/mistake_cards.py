"""Images within a page, for which no request is made, and their captions: rows that a model got wrong."""

import base64
import binascii
import re
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from oochub.errors import OochubError
from oochub.records.origin_records import EvaluatedBenchmark
from oochub.records.report_records import Box, BoxesInPicture, Mistake
from oochub.report import format_numbers, wording

PICTURE_BYTES = 12 * 20_000
"""Bytes of all images of a page."""
_BOX_BYTES = 60_000  # of the boxes of all images
_LONGEST_TEXT = 400  # characters of a mistake that is a text
_WRONG = re.compile("⟦([^⟦⟧]*)⟧")
LINK = re.compile(r"https://[A-Za-z0-9.-]+(?:/[A-Za-z0-9._~%/?#=&+,:@-]*)?")
"""An address that a page may link to."""


def mistake_cards(
    mistakes: Sequence[Mistake], benchmark: EvaluatedBenchmark, *, images: bool = True, budget: int = PICTURE_BYTES
) -> list[dict[str, Any]]:
    """What the template prints of each mistake; images beyond the budget are left out, the first ones kept.

    Boxes are drawn over their image, as long as there are few enough of them; then the captions say so.

    Args:
        mistakes: Mistakes in the order in which they are shown.
        benchmark: Benchmark whose words stand in the captions.
        images: False leaves all images out.
        budget: Bytes of all images.

    Raises:
        OochubError: An image that is not a base64 JPEG.
    """
    boxes_budget, cards = _BOX_BYTES, []
    for mistake in mistakes:
        picture, size = None, 0
        if images and mistake.image:
            picture, size = embed_picture(mistake.image, f"mistake {mistake.example_id}")
        fits, budget = size <= budget, budget - (size if size <= budget else 0)
        picture = picture if fits else None
        boxes = _draw_boxes(mistake.boxes) if picture and mistake.boxes else None
        length = sum(len(path) for path in boxes["paths"].values()) if boxes else 0
        drawn, boxes_budget = length <= boxes_budget, boxes_budget - (length if length <= boxes_budget else 0)
        left_out = "" if fits and drawn else "boxes" if fits else "image"
        cards.append(
            {"row": mistake, "picture": picture, "boxes": boxes if drawn else None, "left_out": left_out}
            | _write_caption(benchmark, mistake)
        )
    return cards


def embed_picture(image: str, what: str) -> tuple[Markup, int]:
    """The address of an image that holds its bytes, and how many there are.

    Args:
        image: A JPEG in base64.
        what: What the image belongs to, for the message ("mistake 7").

    Raises:
        OochubError: The image is not a base64 JPEG.

    >>> embed_picture("/9j/4AAQ", "mistake 7")
    (Markup('data:image/jpeg;base64,/9j/4AAQ'), 6)
    """
    try:
        data = base64.b64decode(image, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if not data.startswith(b"\xff\xd8\xff"):
        raise OochubError(
            f"The image of {wording.name(what)!r} must be a base64 JPEG, but is not. Make the report again with "
            "`oochub evaluate`, or render it without images."
        )
    return Markup("data:image/jpeg;base64,{}").format(image), len(data)


def _draw_boxes(boxes: BoxesInPicture) -> dict[str, Any]:
    """The size of the image and a path of SVG each for the true boxes and those of the model."""

    def path(several: Sequence[Box]) -> str:
        corners = ((x1, y1, x2 - x1, y2 - y1) for x1, y1, x2, y2 in several)
        return "".join(f"M{x:.1f} {y:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z" for x, y, width, height in corners)

    paths = {"true": path(boxes.true), "said": path(boxes.answered)}
    return {"width": boxes.width, "height": boxes.height, "paths": paths}


def _split_at_marks(text: str) -> list[tuple[str, bool]]:
    """A text in pieces, and of each whether it stood in ⟦brackets⟧: the model got it wrong."""
    return [(piece, place % 2 == 1) for place, piece in enumerate(_WRONG.split(text)) if piece]


def _write_caption(benchmark: EvaluatedBenchmark, mistake: Mistake) -> dict[str, Any]:
    label, predicted = wording.words(mistake.label), wording.words(mistake.predicted)
    kinds = {
        "missed": f"missed: {label}",
        "false_alarm": f"detected, but not there: {predicted}",
        "no_class": f"no class: {label}",
    }
    attribution = mistake.attribution or ""
    link = LINK.match(attribution)
    return {
        "kind": kinds.get(mistake.kind, f"{wording.words(mistake.kind)}: {label}"),
        "context": wording.say_context(benchmark, mistake.context) if mistake.context else "",
        "answer": predicted,
        "wrote": wording.name(" ".join((mistake.wrote or "").split()), _LONGEST_TEXT),
        "sure": ""
        if format_numbers.is_undefined(mistake.probability)
        else f" at {format_numbers.fraction(mistake.probability)}%",
        "text": _split_at_marks(wording.name(" ".join((mistake.text or "").split()), _LONGEST_TEXT)),
        "side": mistake.role,
        "right": "",
        "url": link[0] if link else None,
        "host": wording.name(link[0].split("/")[2], 40) if link else "",
        "license": wording.name(attribution[len(link[0]) if link else 0 :]),
    }
