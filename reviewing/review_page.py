"""The page on which people judge pictures: a card each, buttons that answer, and one that saves the answers."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from oochub.report.self_contained_page import self_contained_page
from oochub.reviewing.decisions import Decisions
from oochub.reviewing.question import Question

_MOST = 400_000_000  # bytes: a browser opens no text of half a gigabyte


class Shown(NamedTuple):
    """A picture of a card.

    Attributes:
        side: What it is, before its title ("nearest ID"); "" for nothing.
        source: Its `data:` address.
        title: What is said of it, in bold.
        id: What it is called.
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
        pictures: The judged picture, and others beside it.
        class_id: The id of its class, "" for none.
        note: A few words beside the buttons.
    """

    id: str
    pictures: tuple[Shown, ...]
    class_id: str = ""
    note: str = ""


def review_page(
    cards: Sequence[Card],
    question: Question,
    *,
    title: str,
    about: str,
    store: str,
    decisions: Decisions | None = None,
) -> str:
    """The cards as one HTML file that asks for nothing.

    A page cannot write files. Answers stay in the browser (localStorage, under `store`), and a button downloads them
    with all `decisions` as a CSV, which `read_decisions` takes. Where the browser and `decisions` disagree the later
    holds. The page loads nothing; its policy names the hashes of its one style and its one script.

    Args:
        cards: In the order in which they are shown.
        question: What is asked of each, and the answers.
        title: Of the page, plain text.
        about: What is shown, in the line at the top.
        store: The name of these answers in the browser: no two reviews share one.
        decisions: Earlier ones; those on other images are carried along.

    Raises:
        OochubError: A page of more than 400 MB.
    """
    choices = [
        {"name": each.name, "scope": each.scope, "decision": each.decision, "past": each.past, "key": each.key}
        | {"good": each.is_good}
        for each in question.choices
    ]
    return self_contained_page(
        "review.html.jinja",
        own="review",
        most=_MOST,
        advice="Show fewer pictures on a page.",
        cards=cards,
        question=question,
        title=title,
        about=about,
        store=store,
        choices=json.dumps(choices),
        marks=json.dumps([list(decision) for decision in (decisions or {}).values()]),
    )
