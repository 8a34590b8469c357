"""`oochub.compare`: two predictions pair by pair, or any number of reports side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import overload

from oochub.errors import OochubError, either
from oochub.evaluation.paired_comparison import paired_comparison
from oochub.evaluation.tasks import task as task_of
from oochub.prediction.predictions import Predictions
from oochub.records.parameters import read_names
from oochub.report.comparing.compared_files import compared_files
from oochub.report.comparing.comparison import Comparison, comparison
from oochub.report.comparing.paired_report import PairedReport
from oochub.report.report import Report

Compared = Predictions | Report | str | Path
"""Predictions or a report, or the path of either; or a folder that holds reports at any depth."""


@overload
def compare(
    first: Predictions,
    second: Predictions,
    /,
    *,
    metric: str | Sequence[str] | None = None,
    task: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedReport: ...
@overload
def compare(
    first: Report,
    /,
    *others: Report,
    metric: str | Sequence[str] | None = None,
    slice: str | Sequence[str] | None = None,
    reported: bool = False,
    table: str | None = None,
    rows: str = "tasks",
) -> Comparison: ...
@overload
def compare(
    first: Compared,
    /,
    *others: Compared,
    metric: str | Sequence[str] | None = None,
    slice: str | Sequence[str] | None = None,
    reported: bool = False,
    table: str | None = None,
    rows: str = "tasks",
    task: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedReport | Comparison: ...
def compare(
    first: Compared,
    /,
    *others: Compared,
    metric: str | Sequence[str] | None = None,
    slice: str | Sequence[str] | None = None,
    reported: bool = False,
    table: str | None = None,
    rows: str = "tasks",
    task: str | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> PairedReport | Comparison:
    """Compares two predictions of the same examples by paired tests, or sets reports side by side.

    Args:
        first: Predictions, or the path of a .parquet of them: model A. Or a report, the path of a report.json, or a
            folder that holds some at any depth.
        *others: Of predictions those of model B, and no more: every difference is B minus A. Of reports any number.
        metric: Names of metrics, a table each. None takes the primary one; of predictions also the benchmark's other
            metrics that are means over rows.
        slice: Of reports: names of slices, such as "hard", side by side; None takes the rows out of context.
        reported: Of reports: adds the paper's numbers, of the model that was trained.
        table: Of reports: adds the paper's numbers of this table, such as "3".
        rows: Of reports: what a row is, "tasks" or "methods".
        task: Of predictions of many tasks: which one, such as "ce_car".
        resamples: Of predictions: bootstrap replicates of the differences that are bootstrapped.
        seed: Of predictions: of the bootstrap, and of random signs.

    Returns:
        Of predictions a PairedReport, see `oochub.evaluation.paired_comparison`; of reports a Comparison, see
        `oochub.report.comparing.comparison`. Both have `to_html()`, `to_markdown()`, `to_latex()` and `to_csv()`.

    Raises:
        OochubError: Predictions beside reports; one or more than two predictions, or two of other examples; an option
            of the other kind; a file that is neither; an unknown metric, slice, table or task.

    >>> import numpy as np
    >>> import oochub
    >>> rng = np.random.default_rng(0)
    >>> label = np.arange(200) % 2
    >>> a, b = (
    ...     oochub.Predictions.from_arrays(logits=np.eye(2)[label] * size + rng.normal(size=(200, 2)), label=label)
    ...     for size in (1, 3)
    ... )
    >>> number = oochub.compare(a, b, metric="accuracy").slices[0].numbers["accuracy"]
    >>> number.difference > 0, number.test, number.is_clear
    (True, 'exact McNemar', True)
    """
    given = compared_files((first, *others))
    metrics = None if metric is None else [metric] if isinstance(metric, str) else read_names("metric", metric)
    if given.predictions:
        if slice is not None or reported or table is not None or rows != "tasks":
            named = either("slice=, reported=, table= and rows=", "--slice, --reported, --table and --rows")
            raise OochubError(f"{named} are of reports; a pair of predictions shows every slice.")
        pair = given.predictions if task is None else [_of_task(part, task) for part in given.predictions]
        return paired_comparison(pair[0], pair[1], metrics=metrics, resamples=resamples, seed=seed)
    if task is not None:
        raise OochubError(f"{either('task=', '--task')} is of predictions of many tasks; each report is of one.")
    if (resamples, seed) != (1000, 0):
        raise OochubError("resamples= and seed= are of predictions; the intervals of reports are theirs.")
    return comparison(given.reports, metric=metrics, slice=slice, reported=reported, table=table, rows=rows)


def _of_task(part: Predictions | Path, name: str) -> Predictions:
    of_task: Predictions = task_of(Predictions.load(part) if isinstance(part, Path) else part, name)
    return of_task
