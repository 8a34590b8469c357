"""Reports side by side: tables of tasks and methods with the spread over seeds, as Tables 3, 4 and 9 of NOOCH."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError
from oochub.report.comparison_table import ComparedRun, ComparisonTable, comparison_table
from oochub.report.report import Report

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Comparison:
    """What `comparison` returns.

    Attributes:
        tables: One for each metric and benchmark.
    """

    tables: tuple[ComparisonTable, ...]

    def to_frame(self) -> "pd.DataFrame":
        """Every number at full precision, one to a row; see `oochub.report.comparison_text.to_frame`."""
        from oochub.report.comparison_text import to_frame

        return to_frame(self.tables)

    def to_markdown(self) -> str:
        """The tables in Markdown, each with its caption and notes."""
        from oochub.report.comparison_text import to_markdown

        return to_markdown(self.tables)

    def to_latex(self) -> str:
        r"""The tables in LaTeX; they need `\usepackage{booktabs}`."""
        from oochub.report.comparison_text import to_latex

        return to_latex(self.tables)

    def to_csv(self) -> str:
        """`to_frame` as text."""
        text: str = self.to_frame().to_csv(index=False)
        return text


def comparison(
    reports: Iterable[Report | str | Path],
    *,
    metric: str | Sequence[str] | None = None,
    slice: str | None = None,
    reported: bool = False,
) -> Comparison:
    """Sets reports side by side: a row for each task, a column for each method, the mean over its seeds.

    A method is a training objective; a model that was not trained here goes by its id. Bold are the best mean of a row
    and all whose mean +- standard deviation (ddof 1, over seeds) overlaps with its; of a single seed the 95% interval
    over test images stands in its place. Reports hold no single predictions, so methods are compared unpaired.

    Args:
        reports: Reports, or paths of report.json.
        metric: Names of metrics, a table each; None takes the benchmark's primary metric.
        slice: Name of a slice ("out_of_context", or "hard"); None takes the rows out of context, and all rows for a
            metric that picks its own.
        reported: Adds the paper's numbers as columns of their own.

    Returns:
        The Comparison. Averages over tasks stand where a method has all of them; what was not measured stays empty.

    Raises:
        OochubError: No report; a metric or slice that no report of a benchmark has; two reports of one task, method
            and seed; reports of one task on other rows or of another version.

    Source:
        Madras and Zemel 2021, Tables 3, 4 and 9.

    >>> comparison([])
    Traceback (most recent call last):
    oochub.errors.OochubError: There are no reports to compare. Give paths of report.json.
    """
    runs = [_run(given, number) for number, given in enumerate(reports, 1)]
    if not runs:
        raise OochubError("There are no reports to compare. Give paths of report.json.")
    _check_seeds(runs)
    _check_versions(runs)
    asked = [metric] if metric is None or isinstance(metric, str) else list(metric)
    parts = [[run for run in runs if run.benchmark == name] for name in dict.fromkeys(run.benchmark for run in runs)]
    return Comparison(
        tuple(comparison_table(part, metric=one, slice=slice, reported=reported) for one in asked for part in parts)
    )


def _run(given: Report | str | Path, number: int) -> ComparedRun:
    report = given if isinstance(given, Report) else Report.load(given)
    benchmark, model = report.benchmark, report.model
    return ComparedRun(
        label=f"Report {number}" if isinstance(given, Report) else str(given),
        report=report,
        benchmark=benchmark.name,
        config=benchmark.config,
        method=str(model.objective or model.id),
        seeds=model.seeds,
    )


def _check_seeds(runs: Sequence[ComparedRun]) -> None:
    seen: dict[tuple[str, str, str, tuple[int, ...]], ComparedRun] = {}
    for run in runs:
        twin = seen.setdefault((run.benchmark, run.config, run.method, run.seeds), run)
        if twin is not run:
            seed = f"seed {', '.join(map(str, run.seeds))}" if run.seeds else "no seed"
            raise OochubError(
                f"{twin.label} and {run.label} are both {run.method} on {run.benchmark}/{run.config} with {seed}; "
                "a cell takes each seed once. Leave one out, or compare them in two tables."
            )


def _check_versions(runs: Sequence[ComparedRun]) -> None:
    seen: dict[tuple[str, str], ComparedRun] = {}
    for run in runs:
        other = seen.setdefault((run.benchmark, run.config), run)
        versions = [one.report.benchmark.version for one in (other, run)]
        if versions[0] != versions[1]:
            raise OochubError(
                f"{other.label} is of version {versions[0]} of {run.benchmark}/{run.config}, {run.label} of "
                f"{versions[1]}: a version has its own rows. Evaluate both on the same one."
            )
