"""Files of chosen rows with one thing wrong: the file and line are named, or the same rows are scored."""

from pathlib import Path

from chosen_reports import snowy_predictions
from fuzz_case import Format, Used

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


ROW_FILES = Format(name="row_files", make=lambda folder: (folder / _FILE).write_text(_text()), use=_use, names=(_FILE,))
