"""What a reviewer decided on images and classes: read and checked, merged by time, written."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from oochub.errors import OochubError
from oochub.storage.artifacts import CSV
from oochub.storage.files import write_whole
from oochub.storage.reading import read_text

_LONGEST = 10_000  # characters of a first line


class Decision(NamedTuple):
    """One line of a file of decisions.

    Attributes:
        scope: "image" or "class".
        id: The example's id, or the class's (its wnid).
        decision: A word of the page's question ("keep", "right"), or "open": an earlier decision was taken back.
        at: When, in ISO 8601 with a time zone; of two decisions on the same the later one holds.
    """

    scope: str
    id: str
    decision: str
    at: str


Decisions = Mapping[tuple[str, str], Decision]
"""(scope, id) to the decision that holds."""


def read_decisions(path: str | Path, *, allowed: Mapping[str, Sequence[str]]) -> Decisions:
    r"""Decisions as the page of a review saves them: a CSV with the columns scope, id, decision and at.

    Args:
        path: The file.
        allowed: The words of each scope, `Question.allowed`.

    Raises:
        OochubError: No such file, other columns, a line that is not a decision, or two on the same; the line is named.

    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "decisions.csv"
    >>> _ = file.write_text("scope,id,decision,at\nimage,n02666943_12,drop,2026-01-31T12:00:00Z\n")
    >>> read_decisions(file, allowed={"image": ("keep", "drop")})["image", "n02666943_12"].decision
    'drop'
    """
    file = Path(path).expanduser()
    if not file.exists():
        raise OochubError(
            f"There are no decisions at {file}. Pass the file that the page saves: press its button to download."
        )
    decisions: dict[tuple[str, str], Decision] = {}
    text = read_text(file)
    rows = csv.reader(io.StringIO(text, newline=""))
    try:
        is_long = len(text) > _LONGEST and "\n" not in text[:_LONGEST]
        if is_long or tuple(next(rows, ())) != Decision._fields:
            raise OochubError(
                f"{file} is not a file of decisions: its first line must be {','.join(Decision._fields)}."
            )
        for row in filter(None, rows):
            where = f"{file}, line {rows.line_num}"
            decision = _check_row(row, where, allowed)
            if (decision.scope, decision.id) in decisions:
                raise OochubError(f"{where}: a second decision on {decision.scope} {decision.id}. Keep one of them.")
            decisions[decision.scope, decision.id] = decision
    except csv.Error as error:
        raise OochubError(f"{file}, line {rows.line_num}: {error}. Save the page's decisions again.") from error
    return decisions


def _check_row(row: list[str], where: str, allowed: Mapping[str, Sequence[str]]) -> Decision:
    if len(row) != len(Decision._fields):
        raise OochubError(f"{where}: expected {len(Decision._fields)} values, got {len(row)}.")
    decision = Decision(*row)
    if decision.decision not in allowed.get(decision.scope, ()):
        words = "; ".join(f"{scope}: {', '.join(words_allowed)}" for scope, words_allowed in allowed.items())
        raise OochubError(
            f"{where}: {decision.decision!r} is not a decision on {decision.scope!r}. Allowed are {words}."
        )
    try:
        written = datetime.fromisoformat(decision.at)
        time = written.astimezone(UTC) if written.tzinfo else None
    except (ValueError, OverflowError):  # no time, or one that is beyond the years 1 to 9999 in UTC
        time = None
    if time is None:
        raise OochubError(f"{where}: {decision.at!r} is not a time with a time zone, such as 2026-01-31T12:00:00Z.")
    return decision._replace(at=time.isoformat(timespec="milliseconds").replace("+00:00", "Z"))


def merge_decisions(parts: Iterable[Decisions]) -> Decisions:
    """The latest decision on each image and class; of equal times that of the later part.

    >>> early, late = Decision("image", "a", "drop", "2026-01-01T00:00:00.000Z"), "2026-01-02T00:00:00.000Z"
    >>> last = early._replace(decision="keep", at=late)
    >>> merge_decisions([{("image", "a"): last}, {("image", "a"): early}])["image", "a"][2]
    'keep'
    """
    latest: dict[tuple[str, str], Decision] = {}
    for part in parts:
        for key, decision in part.items():
            if key not in latest or decision.at >= latest[key].at:
                latest[key] = decision
    return latest


def check_known(decisions: Decisions, known: Mapping[str, Set[str]], where: str) -> None:
    """Refuses decisions on images and classes that are not there.

    Args:
        decisions: The decisions.
        known: The ids of each scope.
        where: Where they are missing, and what to do: the end of the sentence.

    Raises:
        OochubError: It names the first three and counts them.
    """
    unknown = [f"{scope} {name}" for scope, name in decisions if name not in known[scope]]
    if unknown:
        more = f" and {len(unknown) - 3:,} more" if len(unknown) > 3 else ""
        raise OochubError(f"{len(unknown):,} decisions refer to nothing {where}: {', '.join(unknown[:3])}{more}.")


def write_decisions(path: str | Path, decisions: Decisions) -> None:
    """Writes what `read_decisions` reads, sorted by scope and id."""
    with write_whole(path, kind=CSV) as draft, draft.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(Decision._fields)
        rows.writerows(decisions[key] for key in sorted(decisions))
