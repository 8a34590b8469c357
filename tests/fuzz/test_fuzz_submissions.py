"""WILDS' prediction files with one thing wrong: the line is named, or the answers are the same."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from mutations import json_cases, place_cases, text_cases

from oochub.studies.wilds.submission_file import SubmissionFile

_IDS = tuple(str(3 * row) for row in range(8))  # of the rows of a split, in their order
_CLASSES = ("a", "b", "c")
_LINE = 3  # that is changed, the first is 1
_LINES: dict[str, tuple[str, list[str]]] = {
    "classes": ("iwildcam_split:test_seed:0_epoch:best_pred.csv", ["0", "2", "1", "0", "1", "2", "0", "1"]),
    "number": ("poverty_split:val_fold:B_epoch:best_pred.csv", [str(0.25 * row - 1) for row in range(8)]),
    "labels": (
        "ogb-molpcba_split:test_seed:1_epoch:best_pred.csv",
        [f"{row / 4},-{row / 8},{row}" for row in range(8)],
    ),
    "tokens": ("py150_split:test_seed:2_epoch:best_pred.csv", [f"{row},{row + 9},{row + 1}" for row in range(8)]),
    "boxes": (
        "globalwheat_split:test_seed:0_epoch:best_pred.jsonl",
        [json.dumps({"boxes": [[1, 2, 3 + row, 4], [5, 6, 7, 8]], "scores": [0.75, 0.5]}) for row in range(8)],
    ),
}
_WRONG = {
    "classes": ("3", "-1", "0.5", "nan", "inf", "x", "a", "1,1", "True", "1_0", "١", "9" * 400, '"1', "1;2", "0x1"),
    "number": ("nan", "inf", "-inf", "x", "1,1", "None", "1_0", "١", "1e999", '"1', "0,5", "1 2"),
    "labels": ("1,2", "1,2,3,4", "1,,3", "1,nan,3", "1,x,3", "1,inf,3", "1,2,3,", "1,2,٣", "1,2,3_0", '"1,2,3'),
    "tokens": ("1,2", "1,2,3,4", "1,,3", "1,nan,3", "1,-1,3", "1,0.5,3", "1,1e30,3", "1,2,٣", "1,2,3_0"),
    "boxes": (
        *("{", "[]", "null", "3", '"x"', "{}", '{"boxes": []}', '{"scores": []}', '{"boxes": [], "scores": [0.5]}'),
        *('{"boxes": [[1, 2, 3]], "scores": [0.5]}', '{"boxes": [[3, 2, 1, 4]], "scores": [0.5]}'),
        *('{"boxes": [[1, 2, 3, NaN]], "scores": [0.5]}', '{"boxes": [[1, 2, 3, 4]], "scores": [NaN]}'),
        *('{"boxes": [["1", "2", "3", "4"]], "scores": ["0.5"]}', '{"boxes": [[1, 2, 3, 4]], "scores": [null]}'),
        *('{"boxes": [[1, 2, 3, 1e39]], "scores": [0.5]}', '{"boxes": [[true, 2, 3, 4]], "scores": [0.5]}'),
        *('{"boxes": [[1, 2, 3, 4]], "scores": 0.5}', '{"boxes": [[1, 2, 3, 4]], "scores": [[0.5]]}'),
    ),
}
_NAMES = (
    *("iwildcam_split:test_seed:0_epoch:best_pred.pth", "iwildcam_split:test_seed:0_epoch:last_pred.csv"),
    *("iwildcam_split:test_seed:-1_epoch:best_pred.csv", "iwildcam_split:test_seed:x_epoch:best_pred.csv"),
    *("iwildcam_split:test_seed:0_epoch:best_pred.csv.gz", "iwildcams_split:test_seed:0_epoch:best_pred.csv"),
    *("iwildcam_split:test_fold:A_epoch:best_pred.csv", "poverty_split:val_seed:0_epoch:best_pred.csv"),
    *("poverty_split:val_fold:F_epoch:best_pred.csv", "iwildcam_split:te st_seed:0_epoch:best_pred.csv", "a.csv"),
    *("IWILDCAM_split:test_seed:0_epoch:best_pred.csv", "iwildcam_split:test_seed:0_epoch:best_pred.csv\n"),
)  # fmt: skip
_KNOWN = ("iwildcam", "poverty_fold_a", "poverty_fold_b", "ogb_molpcba", "py150", "globalwheat")


def _make(kind: str) -> Callable[[Path], object]:
    name, lines = _LINES[kind]
    return lambda folder: (folder / name).write_text("".join(f"{line}\n" for line in lines))


def _use(kind: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        path = next((path for path in folder.iterdir() if path.name != "pipe"), folder / _LINES[kind][0])
        answers = SubmissionFile.of(path, _KNOWN).answers(_IDS, kind, _CLASSES if kind in ("classes", "labels") else ())
        return Used(numbers=answers.table.to_pydict())

    return use


def _cases(kind: str) -> Iterator[Case]:
    file, lines = _LINES[kind]
    for case in text_cases(file, blank=frozenset({REFUSED}), bom=frozenset({SAME})):
        is_end = case.name.endswith("without its last byte") and kind in ("number", "labels", "tokens")
        yield replace(case, expect=case.expect | {CHANGED}) if is_end else case
    yield from place_cases(file)
    for text in _WRONG[kind]:
        yield Case(name=f"{kind} {text[:30]!r}", mutate=_replaced(file, text), says=rf"line {_LINE}\b")
    if kind == "boxes":
        for case in json_cases("line.json", json.loads(lines[_LINE - 1]), _of_numbers):
            yield replace(case, mutate=_of_line(file, case), says=rf"line {_LINE}\b")
    for word, change in {
        "a line less": lambda lines: lines.pop(),
        "a line more": lambda lines: lines.append(lines[0]),
        "no line": lambda lines: lines.clear(),
        "a head": lambda lines: lines.insert(0, "prediction"),
    }.items():
        yield Case(name=f"{kind} {word}", mutate=_lines(file, change), says="line|rows")
    for word, change in {
        "an empty line": lambda lines: lines.insert(_LINE, ""),
        "spaces at an end": lambda lines: lines.append(lines.pop() + "  "),
    }.items():
        yield Case(name=f"{kind} {word}", mutate=_lines(file, change), expect=frozenset({SAME}))


def _of_numbers(place: str, word: str) -> frozenset[str]:
    """Another number is another answer, where a box still has its corners in order and 32 bits hold it."""
    is_number = place.startswith(("boxes[0][0]", "scores[0]")) and word in ("a fraction", "negative", "huge")
    return frozenset({CHANGED, REFUSED} if is_number else {REFUSED})


def _lines(file: str, change: Callable[[list[str]], object]) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        lines = (folder / file).read_text("utf-8").splitlines()
        change(lines)
        (folder / file).write_text("".join(f"{line}\n" for line in lines), "utf-8")

    return mutate


def _replaced(file: str, text: str) -> Callable[[Path], None]:
    return _lines(file, lambda lines: lines.__setitem__(_LINE - 1, text))


def _of_line(file: str, case: Case) -> Callable[[Path], None]:
    """A mutation of a file of JSON made on one of its lines."""

    def mutate(folder: Path) -> None:
        one = folder / "line.json"
        one.write_text((folder / file).read_text().splitlines()[_LINE - 1])
        case.mutate(folder)
        _replaced(file, one.read_text())(folder)
        one.unlink()

    return mutate


CASES = [
    (Format(name=f"submitted {kind}", make=_make(kind), use=_use(kind)), case)
    for kind in _LINES
    for case in _cases(kind)
]
CASES += [
    (
        CASES[0][0],
        Case(
            name=f"named {name!r}",
            mutate=lambda folder, name=name: next(folder.iterdir()).rename(folder / name),
        ),
    )
    for name in _NAMES
]
_EVERY_DAY = ("1,2,3_0", "1,-1,3", "nan", "null")


@pytest.mark.campaign
@pytest.mark.parametrize("kind, case", CASES, ids=lambda each: each.name)
def test_submissions(campaign, kind, case):
    campaign.run(kind, case)


@pytest.mark.parametrize(
    "kind, case",
    [each for each in CASES if each[1].name.partition(" ")[2].strip("'") in _EVERY_DAY],
    ids=lambda each: each.name,
)
def test_submissions_every_day(campaign, kind, case):
    campaign.run(kind, case)
