"""Stores what people said of found contexts in the record of their repository."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oochub.context_finding.context_columns import TITLE, card_text
from oochub.data.load import load_columns
from oochub.data.write_repository import check_replaceable, write_repository
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord, ContextCheck, ContextRater, FoundContexts, without_build_column
from oochub.reviewing.context_page import HAS, LACKS, QUESTION, context_rows, facts_of_contexts
from oochub.reviewing.decisions import read_decisions
from oochub.reviewing.rater_scores import rater_scores
from oochub.settings.data_settings import DataSettings
from oochub.storage.files import sole_writer
from oochub.storage.reading import read_bytes


def checked_contexts(folder: str | Path, answers: Sequence[str | Path]) -> FoundContexts:
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
        raise OochubError(f"There is no {target}. Give the folder that oochub contexts wrote.")
    with sole_writer(target):
        data = without_build_column(load_columns(str(target), DataSettings()))
        facts = facts_of_contexts(data)
        files = {str(path): read_decisions(path, allowed=QUESTION.allowed) for path in answers}
        example, has, tested = context_rows(data, facts)
        known = {
            f"{name}/{HAS if has[row, number] else LACKS}/{example[row]}": number
            for number, name in enumerate(facts.names)
            for row in tested.nonzero()[0]
        }
        scores = rater_scores(files, [known])
        wrong = set(scores.wrong)
        judged = {each.id for of in files.values() for each in of.values() if each.decision != "open"}
        if not judged:
            raise OochubError("The files hold no answers. Open the page, press Right or Wrong, then save.")
        counts = Counter((known[card], _said(card, facts.names[known[card]]), card in wrong) for card in judged)
        checks = {}
        for number, name in enumerate(facts.names):
            of = {said: (counts[number, said, True], counts[number, said, False]) for said in (HAS, LACKS)}
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
        assert record is not None  # noqa: S101 facts_of_contexts found one
        record = replace(record, facts=replace(record.facts, found_contexts=stored))
        write_repository(target, data, record, card_text(data, record), tag="contexts")
    return stored


def _said(card: str, name: str) -> str:
    return card.removeprefix(f"{name}/").partition("/")[0]
