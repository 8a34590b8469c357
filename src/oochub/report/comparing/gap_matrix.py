"""Models by benchmarks: the gap of each, or any one number of its report, with its interval and its n."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from oochub.errors import OochubError, unknown_name
from oochub.report import numbers
from oochub.report.comparing.model_names import model_names
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

GAP = "gap"


@dataclass(frozen=True, kw_only=True)
class MatrixCell:
    """One number.

    Attributes:
        estimate: The number.
        unit: Of it.
        lost: By how much the metric is worse out of context, of a gap of shares; nan for every other number.
    """

    estimate: Estimate
    unit: str
    lost: float


@dataclass(frozen=True, kw_only=True)
class GapMatrix:
    """What the table and the figure show.

    Attributes:
        number: "gap", or a key of the reports.
        models: The rows, in order of appearance.
        benchmarks: The columns: "nooch/ce_car", in order of appearance.
        metrics: What the number of each column is: the title of its metric.
        cells: By row and column; a model that was not evaluated there has none.
    """

    number: str
    models: tuple[str, ...]
    benchmarks: tuple[str, ...]
    metrics: Mapping[str, str]
    cells: Mapping[tuple[str, str], MatrixCell]


def gap_matrix(reports: Sequence[Report], *, number: str = GAP) -> GapMatrix:
    """The matrix of reports.

    Args:
        reports: At most one a model and config.
        number: "gap", or what `report[number]` takes: "out_of_context/accuracy", "auc", "worst_group".

    Raises:
        OochubError: No reports, two of one model on one config, or a number that no report has.
    """
    if not reports:
        raise OochubError("There are no reports. Give at least one of `oochub evaluate`.")
    names = model_names(reports)
    cells: dict[tuple[str, str], MatrixCell] = {}
    metrics: dict[str, str] = {}
    for name, report in zip(names, reports, strict=True):
        column = f"{report.benchmark.name}/{report.benchmark.config}"
        key = report.benchmark.primary_metric if number == GAP else number.rpartition("/")[2]
        described = report.description(key)
        metrics.setdefault(column, described.title)
        if number not in report:
            continue
        if (name, column) in cells:
            raise OochubError(f"Two reports are of {name} on {column}. Leave one out: a cell holds one number.")
        estimate, lost = report[number], float("nan")
        if number == GAP and described.unit == "fraction" and not numbers.is_undefined(estimate):
            lost = max(0.0, estimate.value if described.direction == "lower" else -estimate.value)
        cells[name, column] = MatrixCell(estimate=estimate, unit=described.unit, lost=lost)
    if not cells:
        raise unknown_name("number in these reports", number, {key for report in reports for key in report})
    return GapMatrix(
        number=number,
        models=tuple(dict.fromkeys(names)),
        benchmarks=tuple(metrics),
        metrics=metrics,
        cells=cells,
    )
