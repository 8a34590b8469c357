"""The page on which people check contexts that a way found, and what they said, stored in the record of the repository.

The page shows rows that are said to have each context, and to lack it.
"""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import datasets
import numpy as np
from numpy.typing import NDArray

from oochub.context_finding.context_columns import TITLE, write_card_text
from oochub.data.load import open_data
from oochub.errors import OochubError
from oochub.records.build_record import (
    CHOSEN_ON,
    CONTEXTS_COLUMN,
    BuildRecord,
    ContextCheck,
    ContextRater,
    FoundContexts,
    drop_build_column,
)
from oochub.repository.write_repository import check_replaceable, write_repository
from oochub.reviewing.decisions import read_decisions
from oochub.reviewing.rater_scores import score_raters
from oochub.reviewing.review_page import RIGHT_OR_WRONG, Card, Question, Shown, make_review_page, make_thumbnails
from oochub.settings.data_settings import DataSettings
from oochub.storage.files import lock_target
from oochub.storage.reading import read_bytes

HAS, LACKS = "has", "lacks"
_BESIDE = 2  # images with the context on which it was chosen, to say what it is

QUESTION = Question(
    heading="Is the caption below each first image right?",
    lead="Right: the image has the context if the caption says so, or lacks it if the caption says so. Wrong: the "
    "opposite, or nobody could tell. The images beside it have the context according to the same program. An image "
    "without a mark counts as not judged.",
    then="run: oochub contexts FOLDER --checked contexts.csv",
    choices=RIGHT_OR_WRONG,
    file="contexts.csv",
)
"""What is asked of each image."""


def context_page(data: Mapping[str, datasets.Dataset], *, rows: int, seed: int = 0) -> str:
    """A page with sampled rows of each context: half of those said to have it, half of those said to lack it.

    The rows are drawn from those on which nothing was chosen: the rows on which the report tests. If one half has
    too few, there are fewer.

    Args:
        data: The splits, with contexts that `oochub.contexts` found.
        rows: Number of rows for each context, 2 or more.
        seed: Random seed for the sample.

    Returns:
        The HTML.

    Raises:
        OochubError: Data in which no contexts were looked for or none found, fewer than 2 rows each, an image that
            cannot be read.
    """
    if rows < 2:
        raise OochubError(f"A check needs at least 2 rows of each context, half of them without it; got {rows}.")
    facts = collect_context_facts(data)
    if not facts.names:
        raise OochubError("No contexts were found in these data, so there is nothing to check.")
    generator = np.random.default_rng(seed)
    example, has, tested = select_context_rows(data, facts)
    asked, beside = list[tuple[str, int, str]](), dict[str, list[str]]()
    for number, name in enumerate(facts.names):
        halves = ((HAS, has[:, number], (rows + 1) // 2), (LACKS, ~has[:, number], rows // 2))
        own = [
            (answer, number, example[row])
            for answer, of, count in halves
            for row in generator.permutation(np.flatnonzero(of & tested))[:count]
        ]
        asked += [own[place] for place in generator.permutation(len(own))]
        chosen = generator.permutation(np.flatnonzero(has[:, number] & ~tested))[:_BESIDE]
        beside[name] = [example[row] for row in chosen]
    if not asked:
        raise OochubError(
            "There are no rows to check: every row was used to choose something. Find contexts in data with other rows."
        )
    every = [row for *_, row in asked] + [row for of in beside.values() for row in of]
    pictures = _load_pictures(data, every)
    cards = []
    for answer, number, row in asked:
        name, words = facts.names[number], facts.words[number]
        others = (Shown("has it", pictures[other], name, "") for other in beside[name] if other != row)
        judged = Shown("", pictures[row], f"{answer} {name}: {words}", row)
        cards.append(Card(id=f"{name}/{answer}/{row}", pictures=(judged, *others)))
    digest = hashlib.sha256("\n".join(card.id for card in cards).encode()).hexdigest()[:16]
    return make_review_page(
        cards,
        QUESTION,
        title=f"Contexts by {facts.way}",
        about=f"{len(cards):,} images of {len(facts.names):,} contexts",
        store=f"oochub check_contexts {digest}",
    )


def _load_pictures(data: Mapping[str, datasets.Dataset], rows: list[str]) -> dict[str, str]:
    """The thumbnails of rows by split/id, since splits may have the same ids."""
    pictures = dict[str, str]()
    for split, part in data.items():
        own = [row.removeprefix(f"{split}/") for row in rows if row.startswith(f"{split}/")]
        pictures |= {f"{split}/{name}": shown for name, shown in make_thumbnails(part, own, what="sampled").items()}
    return pictures


def collect_context_facts(data: Mapping[str, datasets.Dataset]) -> FoundContexts:
    """What the record of the data says of the contexts that were found.

    Raises:
        OochubError: Data without such contexts.
    """
    first = next(iter(data.values()))
    record = BuildRecord.of(first.info)
    facts = record.facts.found_contexts if record else None
    if facts is None or not {CONTEXTS_COLUMN, CHOSEN_ON, "example_id"} <= set(first.column_names):
        raise OochubError(
            "These data have no contexts that oochub found. Find them: oochub contexts SOURCE --contexts METHOD --out "
            "FOLDER."
        )
    return facts


def select_context_rows(
    data: Mapping[str, datasets.Dataset], facts: FoundContexts
) -> tuple[list[str], NDArray[np.bool_], NDArray[np.bool_]]:
    """split/id of the rows whose image could be read, which contexts each has (n, k), whether it is tested (n,)."""
    example, has, tested = list[str](), list[list[bool]](), list[bool]()
    for split, part in data.items():
        columns = part.select_columns(["example_id", CONTEXTS_COLUMN, CHOSEN_ON])[:]
        for name, of, chosen in zip(columns["example_id"], columns[CONTEXTS_COLUMN], columns[CHOSEN_ON], strict=True):
            if of is not None:
                example.append(f"{split}/{name}")
                has.append([number in of for number in range(len(facts.names))])
                tested.append(not chosen)
    return example, np.array(has, bool).reshape(-1, len(facts.names)), np.array(tested, bool)


def store_answers(folder: str | Path, answers: Sequence[str | Path]) -> FoundContexts:
    """Counts wrong labels by the answers of one or several raters, and stores the counts in the repository.

    A row on which raters differ is right where more than half of its answers say so. The answers take the place of
    those stored before. The repository is written whole or not at all; its rows stay as they are.

    Args:
        folder: What `oochub contexts` wrote.
        answers: The files that the page saved, one a rater.

    Returns:
        The record, with `checks` and `raters`.

    Raises:
        OochubError: A folder of something else; no answer; answers on rows or contexts that are not there, or of
            which the repository says otherwise by now.
    """
    target = check_replaceable(folder, title=TITLE, what="data with contexts")
    if not target.exists():
        raise OochubError(f"There is no {target}. Pass the folder that oochub contexts wrote.")
    with lock_target(target):
        data = drop_build_column(open_data(target, DataSettings()).rows)
        facts = collect_context_facts(data)
        files = {str(path): read_decisions(path, allowed=QUESTION.allowed) for path in answers}
        example, has, tested = select_context_rows(data, facts)
        number_of = {
            f"{name}/{HAS if has[row, number] else LACKS}/{example[row]}": number
            for number, name in enumerate(facts.names)
            for row in tested.nonzero()[0]
        }
        scores = score_raters(files, [number_of])
        wrong = set(scores.wrong)
        judged = {decision.id for of in files.values() for decision in of.values() if decision.decision != "open"}
        if not judged:
            raise OochubError("The files hold no answers. Open the page, press Right or Wrong, then save.")
        counts = Counter(
            (number_of[card], _parse_answer(card, facts.names[number_of[card]]), card in wrong) for card in judged
        )
        checks = {}
        for number, name in enumerate(facts.names):
            of = {answer: (counts[number, answer, True], counts[number, answer, False]) for answer in (HAS, LACKS)}
            if any(map(sum, of.values())):
                checks[name] = ContextCheck(
                    wrong_with=of[HAS][0],
                    checked_with=sum(of[HAS]),
                    wrong_without=of[LACKS][0],
                    checked_without=sum(of[LACKS]),
                )
        raters = tuple(
            ContextRater(
                name=Path(rater.name).stem,
                answered=rater.answered,
                sha256=hashlib.sha256(read_bytes(rater.name)).hexdigest(),
            )
            for rater in scores.raters
        )
        stored = replace(facts, checks=checks, raters=raters)
        record = BuildRecord.of(next(iter(data.values())).info)
        assert record is not None  # noqa: S101 collect_context_facts found one
        record = replace(record, facts=replace(record.facts, found_contexts=stored))
        write_repository(target, data, record, write_card_text(data, record), tag="contexts")
    return stored


def _parse_answer(card: str, name: str) -> str:
    return card.removeprefix(f"{name}/").partition("/")[0]
