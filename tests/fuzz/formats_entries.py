"""A leaderboard of three entries, one of them with something wrong: the site is made, and says which it verified."""

from pathlib import Path

from fuzz_case import Format, Used
from leaderboard_entries import made_predictions, sent_entry

from oochub.leaderboard.site import Site

CHANGED_ENTRY = "results/changed"


def _make(folder: Path) -> None:
    for name, skill in (("changed", 1.5), ("first", 2.0), ("second", 0.8)):
        entry = sent_entry(folder / "results", predictions=made_predictions(skill, rows=60), model=name)
        entry.rename(folder / "results" / name)


def _use(folder: Path, out: Path) -> Used:
    site = Site.write(folder / "results", out / "site")
    rows = [row for board in site.boards for row in board.rows]
    numbers = {row.name: [None if row.reason else float(row.report["accuracy"]), row.rank, row.reason] for row in rows}
    return Used(numbers={**numbers, "unread": [each.name for each in site.unread]})


ENTRIES = Format(name="leaderboard", make=_make, use=_use)
