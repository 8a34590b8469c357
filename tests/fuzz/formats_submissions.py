"""WILDS' prediction files with one thing wrong: the line is named, or the answers are the same."""

import json
from collections.abc import Callable
from pathlib import Path

from fuzz_case import Format, Used

from oochub.studies.wilds.submission_file import SubmissionFile

_IDS = tuple(str(3 * row) for row in range(8))  # of the rows of a split, in their order
_CLASSES = ("a", "b", "c")
LINES: dict[str, tuple[str, list[str]]] = {
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
_KNOWN = ("iwildcam", "poverty_fold_a", "poverty_fold_b", "ogb_molpcba", "py150", "globalwheat")


def _make(kind: str) -> Callable[[Path], object]:
    name, lines = LINES[kind]
    return lambda folder: (folder / name).write_text("".join(f"{line}\n" for line in lines))


def _use(kind: str) -> Callable[[Path, Path], Used]:
    def use(folder: Path, out: Path) -> Used:
        path = next((path for path in folder.iterdir() if path.name != "pipe"), folder / LINES[kind][0])
        answers = SubmissionFile.of(path, _KNOWN).answers(_IDS, kind, _CLASSES if kind in ("classes", "labels") else ())
        return Used(numbers=answers.table.to_pydict())

    return use


SUBMITTED = {kind: Format(name=f"submitted {kind}", make=_make(kind), use=_use(kind)) for kind in LINES}
