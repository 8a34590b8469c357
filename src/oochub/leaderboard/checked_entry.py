"""An entry of a leaderboard with the outcome of its check; what was checked before is not computed again."""

import hashlib
import json
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from oochub.caches import cache_folder
from oochub.errors import OochubError, OochubWarning
from oochub.files import written_whole
from oochub.leaderboard.leaderboard_entry import LeaderboardEntry
from oochub.leaderboard.recomputation import Recomputation, recomputation
from oochub.reading import read_json
from oochub.report.report import Report
from oochub.schema import from_json, to_json

_BLOCK = 1 << 22


@dataclass(frozen=True, kw_only=True)
class CheckedEntry:
    """What a folder of a leaderboard holds.

    Attributes:
        name: The name of the folder.
        entry: What its sender says; None where that cannot be read.
        report: Of the numbers that its predictions give, else as it was sent; None where it cannot be read.
        reason: Why it is not verified, in words; "" where it is.
        difference: The largest difference between a number that was sent and the same computed again.
        numbers: How many were compared.
    """

    name: str
    entry: LeaderboardEntry | None
    report: Report | None
    reason: str
    difference: float = 0.0
    numbers: int = 0

    @classmethod
    def of(cls, folder: Path) -> "CheckedEntry":
        """Checks the entry in a folder; what is wrong with it is its `reason`, never an error.

        The outcome is kept in `$OOCHUB_CACHE/checks` under the content of report and predictions and the version of
        oochub.
        """
        try:
            entry = LeaderboardEntry.load(folder)
            sent = Report.load(folder / "report.json")
        except OochubError as error:
            return cls(name=folder.name, entry=None, report=None, reason=str(error).replace(f"{folder}/", ""))
        predictions = [folder / name for name in entry.predictions]
        missing = next((path.name for path in predictions if not path.exists()), None)
        if missing is not None:
            return cls(name=folder.name, entry=entry, report=sent, reason=f"its file {missing} is missing")
        outcome = _kept(sent, [folder / "report.json", *predictions])
        return cls(
            name=folder.name,
            entry=entry,
            report=outcome.report or sent,
            reason=outcome.reason,
            difference=outcome.difference,
            numbers=outcome.numbers,
        )


def _kept(sent: Report, files: Sequence[Path]) -> Recomputation:
    """The outcome of before for the same bytes, else a new one."""
    try:
        kept = cache_folder("checks") / f"{_digest(files)}.json"
    except OSError as error:
        return Recomputation(reason=f"its files cannot be read: {error.strerror}")
    try:
        found = from_json(Recomputation, read_json(kept), what=str(kept))
        kept.touch()
        return found
    except (OochubError, OSError):  # none, or one that is not whole
        found = recomputation(sent, files[1:])
    try:
        with written_whole(kept) as draft:
            draft.write_text(json.dumps(to_json(found)), "utf-8")
    except OochubError as error:
        warnings.warn(f"The check is not kept for the next time. {error}", OochubWarning, stacklevel=3)
    return found


def _digest(files: Sequence[Path]) -> str:
    digest = hashlib.sha256(f"oochub {version('oochub')}".encode())
    for file in files:
        for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
            if part.is_file():
                digest.update(f"\0{part.name}\0{part.stat().st_size}\0".encode())
                with part.open("rb") as content:
                    while block := content.read(_BLOCK):
                        digest.update(block)
    return digest.hexdigest()[:32]
