"""Files of chosen rows with one thing wrong: the file and line are named, or the same rows are scored."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from chosen_reports import snowy_predictions
from fuzz_case import CHANGED, REFUSED, SAFE, SAME, Case, Format, Used
from mutations import place_cases, text_cases

from oochub.evaluation.row_selection import RowsFile, select_rows

_FILE = "ids.txt"
_HEAD = ["# label=dog&context=grass", "# looked at: half", "# data: custom/snowy"]
_ROWS = [f"test\t0-{number}" for number in (3, 8, 21, 2)]


def _use(folder: Path, out: Path) -> Used:
    read = RowsFile.read(folder / _FILE)
    chosen = select_rows(snowy_predictions(40), read).chosen
    return Used(numbers=[chosen.n, chosen.digest, chosen.rule, read.is_of_half])


def _text(*, head: list[str] = _HEAD, rows: list[str] = _ROWS, end: str = "\n") -> str:
    return end.join([*head, *rows]) + end


ROW_FILES = Format(
    name="row_files",
    make=lambda folder: (folder / _FILE).write_text(_text()),
    use=_use,
    names=(_FILE,),
)


def _writing(text: str) -> Callable[[Path], object]:
    return lambda folder: (folder / _FILE).write_text(text, newline="")


def _changed() -> Iterator[tuple[str, str, frozenset[str]]]:
    refused, same = frozenset({REFUSED}), frozenset({SAME})
    yield "rows in another order", _text(rows=_ROWS[::-1]), same
    yield "ids alone", _text(rows=[row.partition("\t")[2] for row in _ROWS]), same
    yield "blank lines", _text(rows=["", *_ROWS, "", ""]), same
    yield "line ends of Windows", _text(end="\r\n"), same
    yield "no rows", _text(rows=[]), refused
    yield "a row twice", _text(rows=[*_ROWS, _ROWS[1]]), refused
    yield "a row twice, once without its split", _text(rows=[*_ROWS, "0-8"]), refused
    yield "an unknown id", _text(rows=[*_ROWS, "test\t0-99999"]), refused
    yield "an unknown split", _text(rows=[*_ROWS, "tset\t0-1"]), refused
    yield "blanks for a tab", _text(rows=["test 0-3"]), refused
    yield "a third column", _text(rows=["test\t0-3\tdog"]), refused
    yield "a long line", _text(rows=["a" * 1_000_000]), refused
    yield "other data", _text(head=[*_HEAD[:2], "# data: waterbirds/default"]), refused
    yield "another part", _text(head=[_HEAD[0], "# looked at: a third"]), refused
    yield "two tabs", _text(rows=["test\t\t0-3"]), refused
    yield "a tab alone", _text(rows=["\t"]), refused
    yield "an empty id", _text(rows=["test\t"]), refused
    yield "a split without a name", _text(rows=[row.replace("test", "") for row in _ROWS]), same
    yield "a comment below", _text(rows=[*_ROWS, "# looked at: nothing"]), refused
    yield "no comments", _text(head=[]), frozenset({CHANGED})
    yield "a rule that is none", _text(head=["# by hand; 50% \u202e <script>", *_HEAD[1:]]), frozenset({CHANGED})


CASES = [
    *text_cases(_FILE, blank=frozenset({REFUSED}), bom=SAFE),
    *place_cases(_FILE),
    *(Case(name=name, mutate=_writing(text), expect=expect) for name, text, expect in _changed()),
]


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_row_files(campaign, case):
    campaign.run(ROW_FILES, case)
