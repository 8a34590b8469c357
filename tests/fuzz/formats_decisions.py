"""A reviewer's file of decisions with one thing wrong: the line is named, or the decisions are the same."""

import csv
import io
from pathlib import Path

from fuzz_case import Format, Used

from oochub.reviewing.decisions import read_decisions
from oochub.studies.imagenet_ood.review import QUESTION

_FILE = "decisions.csv"
_HEADER = ["scope", "id", "decision", "at"]
_ROWS = [
    ["image", "n02666943_12", "drop", "2026-01-31T12:00:00Z"],
    ["image", "n02666943_13", "keep", "2026-01-31T12:00:01Z"],
    ["class", "n02666943", "drop", "2026-01-31T12:00:02Z"],
]


def _text(rows: list[list[str]]) -> str:
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows(rows)
    return file.getvalue()


def _use(folder: Path, out: Path) -> Used:
    decisions = read_decisions(folder / _FILE, allowed=QUESTION.allowed)
    return Used(numbers=[[*key, each.decision, each.at] for key, each in decisions.items()])


DECISIONS = Format(
    name="decisions", make=lambda folder: (folder / _FILE).write_text(_text([_HEADER, *_ROWS])), use=_use
)
