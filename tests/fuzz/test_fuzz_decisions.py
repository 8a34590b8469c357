"""A reviewer's file of decisions with one thing wrong: the line is named, or the decisions are the same."""

import csv
import io
from collections.abc import Callable
from pathlib import Path

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mutations import place_cases, text_cases

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


def _writing(rows: list[list[str]]) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(_text(rows), "utf-8")


def _field(column: int, value: str) -> Callable[[Path], object]:
    row = [*_ROWS[0][:column], value, *_ROWS[0][column + 1 :]]
    return _writing([_HEADER, row, *_ROWS[1:]])


_WRONG = {
    0: ["", "Image", "picture", " image", "image\n", "class"],
    2: ["", "Drop", "dropped", "drop ", "0", "true", "keep;drop"],
    3: [
        *("", "yesterday", "2026-01-31", "2026-01-31T12:00:00", "2026-13-31T12:00:00Z", "12:00:00Z", "1769860800"),
        *("2026-01-31T25:00:00Z", "2026-01-31T12:00:00+99:00", "0000-01-01T00:00:00Z", "10000-01-01T00:00:00Z"),
        *("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00", "2026-01-31T12:00:00Ž", "٢٠٢٦-01-31T12:00:00Z"),
    ],
}
_SAME_TIME = ["2026-01-31T13:00:00+01:00", "2026-01-31 12:00:00Z", "20260131T120000Z", "2026-01-31T12:00:00.000Z"]
CASES = [
    *(
        case
        for case in text_cases(_FILE, blank=frozenset({REFUSED}), bom=frozenset({SAME}))
        if "zero byte" not in case.name  # an id of another name, which no prediction has
    ),
    *place_cases(_FILE),
    *(
        Case(name=f"{_HEADER[column]} {value!r}", mutate=_field(column, value))
        for column, values in _WRONG.items()
        for value in values
        if (column, value) != (0, "class")
    ),
    *(
        Case(name=f"at {value!r}, the same time", mutate=_field(3, value), expect=frozenset({SAME}))
        for value in _SAME_TIME
    ),
    *(
        Case(name=f"header {header}", mutate=_writing([header, *_ROWS]))
        for header in (
            *([*_HEADER[:k], *_HEADER[k + 1 :]] for k in range(4)),
            *([*_HEADER, "note"], _HEADER[::-1], ["Scope", *_HEADER[1:]], [" scope", *_HEADER[1:]], [""], ["x"] * 4),
        )
    ),
    Case(name="no header", mutate=_writing(_ROWS)),
    Case(name="header twice", mutate=_writing([_HEADER, _HEADER, *_ROWS])),
    Case(name="one value more", mutate=_writing([_HEADER, [*_ROWS[0], ""]])),
    Case(name="one value less", mutate=_writing([_HEADER, _ROWS[0][:3]])),
    Case(name="a decision twice", mutate=_writing([_HEADER, _ROWS[0], _ROWS[0]])),
    Case(name="a class that is kept", mutate=_writing([_HEADER, ["class", "n02666943", "keep", _ROWS[0][3]]])),
    Case(
        name="empty lines between",
        mutate=_writing([_HEADER, _ROWS[0], [], *_ROWS[1:], [], []]),
        expect=frozenset({SAME}),
    ),
    Case(
        name="no decision",
        mutate=_writing([_HEADER]),
        expect=frozenset({CHANGED}),
        numbers=[],
    ),
    Case(
        name="a field of a million letters",
        mutate=_writing([_HEADER, ["image", "n" * 1_000_000, "drop", _ROWS[0][3]]]),
        expect=frozenset({REFUSED, CHANGED}),
    ),
    Case(
        name="a quote that never ends",
        mutate=lambda folder: (folder / _FILE).write_text(_text([_HEADER]) + 'image,"n02666943,drop,2026\n'),
    ),
    Case(
        name="semicolons", mutate=lambda folder: (folder / _FILE).write_text(_text([_HEADER, *_ROWS]).replace(",", ";"))
    ),
    Case(name="tabs", mutate=lambda folder: (folder / _FILE).write_text(_text([_HEADER, *_ROWS]).replace(",", "\t"))),
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_decisions(campaign, case):
    campaign.run(DECISIONS, case)


@pytest.mark.campaign
@settings(max_examples=80, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck), database=None)
@given(name=st.text(st.characters(codec="utf-8"), min_size=1, max_size=20))
def test_any_id_comes_back_as_it_was_typed(campaign, name):
    """The review page writes what `csv` writes; a line end in an id is one of `csv`'s own."""
    rows = [["image", name, "drop", "2026-01-31T12:00:00Z"]]
    case = Case(
        name=f"the id {name!r}",
        mutate=_writing([_HEADER, *rows]),
        expect=frozenset({CHANGED, REFUSED}),
        numbers=[["image", name, "drop", "2026-01-31T12:00:00.000Z"]],
    )
    campaign.run(DECISIONS, case)
