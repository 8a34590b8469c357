"""What `oochub compare` is given: reports, folders of them, or two predictions of the same examples."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from oochub.artifacts import PREDICTIONS, REPORT
from oochub.errors import OochubError


class ComparedFiles(NamedTuple):
    """Paths of one kind: reports, or two predictions; the other is empty."""

    reports: tuple[Path, ...]
    predictions: tuple[Path, ...]


def compared_files(sources: Sequence[str | Path]) -> ComparedFiles:
    """Tells reports from predictions, and finds the reports in folders; what is in a file is not read yet.

    Args:
        sources: Paths of report.json, of folders that hold some at any depth, or of two .parquet files.

    Raises:
        OochubError: Both kinds, one or more than two predictions, or a folder without a report.

    >>> compared_files(["a.parquet", "b.parquet"]).predictions
    (PosixPath('a.parquet'), PosixPath('b.parquet'))
    """
    paths = [Path(source).expanduser() for source in sources]
    named = [path for path in paths if path.suffix.lower() in PREDICTIONS.suffixes]
    predictions = [path for path in named if not path.is_dir() or PREDICTIONS.recognizes(path)]  # or one of parts
    others = [path for path in paths if path not in predictions]
    if predictions and others:
        raise OochubError(
            f"Predictions are compared with predictions, reports with reports, got {predictions[0]} and {others[0]}. "
            f"Make a report of the predictions: oochub evaluate {predictions[0]} --out report.json."
        )
    if predictions and len(predictions) != 2:
        raise OochubError(
            f"Exactly two files of predictions are compared, example by example, got {len(predictions)}. For more "
            "models make a report of each with `oochub evaluate`, and compare the reports."
        )
    reports = [report for path in others for report in (_reports_in(path) if path.is_dir() else [path])]
    return ComparedFiles(tuple(reports), tuple(predictions))


def _reports_in(folder: Path) -> list[Path]:
    found = [path for path in sorted(folder.rglob("*.json")) if path.is_file() and REPORT.recognizes(path)]
    if not found:
        raise OochubError(
            f"There is no report in {folder} or in its folders. `oochub evaluate PREDICTIONS --out "
            f"{folder / 'report.json'}` makes one."
        )
    return found
