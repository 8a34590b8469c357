"""The page on which people check contexts that a way found: rows that are said to have each, and to lack it."""

import hashlib
from collections.abc import Mapping

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.records.build_record import CHOSEN_ON, CONTEXTS_COLUMN, BuildRecord, FoundContexts
from oochub.reviewing.question import RIGHT_OR_WRONG, Question
from oochub.reviewing.review_page import Card, Shown, review_page
from oochub.reviewing.shown_pictures import shown_pictures

HAS, LACKS = "has", "lacks"
_BESIDE = 2  # pictures with the context on which it was chosen, to say what it is

QUESTION = Question(
    heading="Is what is written below each first picture right?",
    lead="Right: the picture has the context where it says so, or lacks it where it says so. Wrong: the other way "
    "round, or nobody could tell. The pictures beside it have the context, by the same program. A picture without a "
    "mark counts as not judged.",
    then="run: oochub check_contexts FOLDER contexts.csv",
    choices=RIGHT_OR_WRONG,
    file="contexts.csv",
)
"""What is asked of each picture."""


def context_page(data: Mapping[str, datasets.Dataset], *, rows: int, seed: int = 0) -> str:
    """A page with sampled rows of each context: half of those said to have it, half of those said to lack it.

    The rows are drawn from those on which nothing was chosen: the rows on which the report tests. Where one half has
    too few, there are fewer.

    Args:
        data: The splits, with contexts that `oochub.contexts` found.
        rows: Of each context, 2 or more.
        seed: Of the sample.

    Returns:
        The HTML.

    Raises:
        OochubError: Data in which no contexts were looked for or none found, fewer than 2 rows each, a picture that
            cannot be read.
    """
    if rows < 2:
        raise OochubError(f"A check needs 2 rows or more of each context, half of them without it; got {rows}.")
    facts = facts_of_contexts(data)
    if not facts.names:
        raise OochubError("No context was found in these data, so there is nothing to check.")
    generator = np.random.default_rng(seed)
    example, has, tested = context_rows(data, facts)
    asked, beside = list[tuple[str, int, str]](), dict[str, list[str]]()
    for number, name in enumerate(facts.names):
        halves = ((HAS, has[:, number], (rows + 1) // 2), (LACKS, ~has[:, number], rows // 2))
        own = [
            (said, number, example[row])
            for said, of, count in halves
            for row in generator.permutation(np.flatnonzero(of & tested))[:count]
        ]
        asked += [own[place] for place in generator.permutation(len(own))]
        chosen = generator.permutation(np.flatnonzero(has[:, number] & ~tested))[:_BESIDE]
        beside[name] = [example[row] for row in chosen]
    if not asked:
        raise OochubError("No rows to check: something was chosen on each row. Find contexts in data with other rows.")
    every = [row for *_, row in asked] + [row for of in beside.values() for row in of]
    pictures = _pictures(data, every)
    cards = []
    for said, number, row in asked:
        name, words = facts.names[number], facts.words[number]
        others = (Shown("has it", pictures[other], name, "") for other in beside[name] if other != row)
        judged = Shown("", pictures[row], f"{said} {name}: {words}", row)
        cards.append(Card(id=f"{name}/{said}/{row}", pictures=(judged, *others)))
    digest = hashlib.sha256("\n".join(card.id for card in cards).encode()).hexdigest()[:16]
    return review_page(
        cards,
        QUESTION,
        title=f"Contexts by {facts.way}",
        about=f"{len(cards):,} pictures of {len(facts.names):,} contexts",
        store=f"oochub check_contexts {digest}",
    )


def _pictures(data: Mapping[str, datasets.Dataset], rows: list[str]) -> dict[str, str]:
    """Of rows by split/id: splits may have the same ids."""
    pictures = dict[str, str]()
    for split, part in data.items():
        own = [row.removeprefix(f"{split}/") for row in rows if row.startswith(f"{split}/")]
        pictures |= {f"{split}/{name}": shown for name, shown in shown_pictures(part, own, what="sampled").items()}
    return pictures


def facts_of_contexts(data: Mapping[str, datasets.Dataset]) -> FoundContexts:
    """What the record of the data says of the contexts that were found.

    Raises:
        OochubError: Data without such contexts.
    """
    first = next(iter(data.values()))
    record = BuildRecord.of(first.info)
    facts = record.facts.found_contexts if record else None
    if facts is None or not {CONTEXTS_COLUMN, CHOSEN_ON, "example_id"} <= set(first.column_names):
        raise OochubError(
            "These data have no contexts that oochub found. Find them: oochub contexts SOURCE --contexts WAY --out "
            "FOLDER."
        )
    return facts


def context_rows(
    data: Mapping[str, datasets.Dataset], facts: FoundContexts
) -> tuple[list[str], NDArray[np.bool_], NDArray[np.bool_]]:
    """split/id of the rows whose picture could be read, which contexts each has (n, k), whether it is tested (n,)."""
    example, has, tested = list[str](), list[list[bool]](), list[bool]()
    for split, part in data.items():
        columns = part.select_columns(["example_id", CONTEXTS_COLUMN, CHOSEN_ON])[:]
        for name, of, chosen in zip(columns["example_id"], columns[CONTEXTS_COLUMN], columns[CHOSEN_ON], strict=True):
            if of is not None:
                example.append(f"{split}/{name}")
                has.append([number in of for number in range(len(facts.names))])
                tested.append(not chosen)
    return example, np.array(has, bool).reshape(-1, len(facts.names)), np.array(tested, bool)
