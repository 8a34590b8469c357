"""The page on which people judge images: one card per image, buttons that answer, and one that saves the answers.

What it asks, and the answers that it takes, is a `Question`; its images are small JPEGs of chosen examples.
"""

import base64
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from PIL import Image

from oochub.errors import OochubError
from oochub.report.self_contained_page import self_contained_page
from oochub.reviewing.decisions import Decisions

_MOST = 400_000_000  # bytes: a browser opens no text of half a gigabyte


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One button of a card.

    Attributes:
        decision: The word that is stored.
        label: Text of the button.
        past: What the page counts, in words ("kept").
        key: The key that presses it.
        scope: "image", or "class" where it decides on every image of the card's class.
        is_good: Whether the image stays; else its card is drawn as struck out.
    """

    decision: str
    label: str
    past: str
    key: str
    scope: str = "image"
    is_good: bool = True

    @property
    def name(self) -> str:
        """What tells the choices of a page apart.

        >>> Choice(decision="drop", label="Drop class", past="dropped", key="c", scope="class").name
        'class'
        """
        return self.decision if self.scope == "image" else self.scope


@dataclass(frozen=True, kw_only=True)
class Question:
    """What is asked of each card.

    Attributes:
        heading: The question itself.
        lead: A few sentences on what counts.
        then: What to do with the saved file, such as the command that takes it.
        choices: The answers; each can be taken back, which is stored as "open".
        file: The name of the file that the page saves.
    """

    heading: str
    lead: str
    then: str
    choices: tuple[Choice, ...]
    file: str = "decisions.csv"

    @property
    def allowed(self) -> dict[str, tuple[str, ...]]:
        """The words that a file of decisions may hold, by scope.

        >>> keep = Choice(decision="keep", label="Keep", past="kept", key="k")
        >>> Question(heading="Right?", lead="", then="", choices=(keep,)).allowed
        {'image': ('keep', 'open')}
        """
        scopes = dict.fromkeys(choice.scope for choice in self.choices)
        return {
            scope: (*(choice.decision for choice in self.choices if choice.scope == scope), "open") for scope in scopes
        }


RIGHT_OR_WRONG = (
    Choice(decision="right", label="Right", past="right", key="r"),
    Choice(decision="wrong", label="Wrong", past="wrong", key="w", is_good=False),
)
"""The answers where an image is held against what is said of it; `score_raters` counts them."""


class Shown(NamedTuple):
    """An image of a card.

    Attributes:
        side: What it is, before its title ("nearest ID"); "" for nothing.
        source: Its `data:` address.
        title: Its title, in bold.
        id: Its id.
    """

    side: str
    source: str
    title: str
    id: str


@dataclass(frozen=True, kw_only=True)
class Card:
    """What is judged by one answer.

    Attributes:
        id: The example's id.
        pictures: The judged image, and others beside it.
        class_id: The id of its class, "" for none.
        note: A few words beside the buttons.
    """

    id: str
    pictures: tuple[Shown, ...]
    class_id: str = ""
    note: str = ""


def make_review_page(
    cards: Sequence[Card],
    question: Question,
    *,
    title: str,
    about: str,
    store: str,
    decisions: Decisions | None = None,
    wide: bool = False,
) -> str:
    """The cards as one HTML file that asks for nothing.

    A page cannot write files. Answers stay in the browser (localStorage, under `store`), and a button downloads them
    with all `decisions` as a CSV, which `read_decisions` takes. If the browser and `decisions` disagree, the later
    holds. The page loads nothing; its policy names the hashes of its one style and its one script.

    Args:
        cards: Cards in the order in which they are shown.
        question: The question about each card, and its answers.
        title: Title of the page, plain text.
        about: Says what is shown, in the line at the top.
        store: The name of these answers in the browser: no two reviews share one.
        decisions: Earlier ones; those on other images are carried along.
        wide: Whether a card takes the width of the page, as one with sheets of many images does.

    Raises:
        OochubError: A page of more than 400 MB.
    """
    choices = [
        {
            "name": choice.name,
            "scope": choice.scope,
            "decision": choice.decision,
            "past": choice.past,
            "key": choice.key,
        }
        | {"good": choice.is_good}
        for choice in question.choices
    ]
    return self_contained_page(
        "review.html.jinja",
        own="review",
        most=_MOST,
        advice="Show fewer images on a page.",
        cards=cards,
        question=question,
        title=title,
        about=about,
        store=store,
        wide=wide,
        choices=json.dumps(choices),
        marks=json.dumps([list(decision) for decision in (decisions or {}).values()]),
    )


_EDGE = 256  # pixels of an image's longer side
_CELL, _COLUMNS = 64, 10  # pixels of an image on a sheet, and images beside each other


def make_thumbnails(data: object, ids: Sequence[str], *, what: str) -> dict[str, str]:
    """The images of these examples as `data:` addresses, at most 256 pixels per side; no other image is read.

    Args:
        data: A Dataset or a dict of splits, with `example_id` and `image`.
        ids: The examples.
        what: What messages call them ("OOD").

    Raises:
        OochubError: An example that is not in the data, or an image that cannot be read.
    """
    return {example: make_thumbnail(picture) for example, picture in _read_pictures(data, ids, what)}


def make_sheet(data: object, ids: Sequence[str], *, what: str) -> str:
    """The images of these examples, ten beside each other, as one image's `data:` address; see `make_thumbnails`."""
    sheet = Image.new("RGB", (_COLUMNS * _CELL, -(-len(ids) // _COLUMNS) * _CELL), "white")
    for number, (_, picture) in enumerate(_read_pictures(data, ids, what)):
        row, column = divmod(number, _COLUMNS)
        small = picture.convert("RGB")
        small.thumbnail((_CELL, _CELL))
        sheet.paste(small, (column * _CELL, row * _CELL))
    return _write_address(sheet)


def _read_pictures(data: Any, ids: Sequence[str], what: str) -> Iterator[tuple[str, Image.Image]]:
    import datasets

    from oochub.inputs.pictures.preprocessing import decode
    from oochub.inputs.pictures.stored_pictures import read_picture_bytes
    from oochub.process.follow import follow

    parts = list(data.values()) if isinstance(data, Mapping) else [data]
    row_of = {
        example: (number, row)
        for number, part in enumerate(parts)
        for row, example in enumerate(part.select_columns(["example_id"])["example_id"])
    }
    wanted = list(dict.fromkeys(ids))
    missing = [example for example in wanted if example not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing):,} of the {len(wanted):,} {what} images to show are not in the data, first {missing[0]}. "
            "Pass the data that were predicted (--data-dir)."
        )
    raw = [part.select_columns(["image"]).cast_column("image", datasets.Image(decode=False)) for part in parts]
    for example in follow(wanted, desc=f"{what} images", unit="img", delay=2, disable=None):
        number, row = row_of[example]
        where = f"{what} image {example}"
        yield example, decode(read_picture_bytes(raw[number][row]["image"], where), where)


def make_thumbnail(picture: Image.Image) -> str:
    """One image as a `data:` address of a JPEG, at most 256 pixels per side; the image itself is left as it is."""
    small = picture.convert("RGB")
    small.thumbnail((_EDGE, _EDGE))
    return _write_address(small)


def _write_address(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=80)
    return "data:image/jpeg;base64," + base64.b64encode(file.getvalue()).decode()
