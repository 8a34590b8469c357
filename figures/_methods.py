"""Reports of several methods, tasks and seeds as one number with bounds for each method and slice."""

from collections.abc import Sequence

import pandas as pd

from oochub.errors import OochubError, unknown_name
from oochub.records.report_records import Role
from oochub.report import format_numbers
from oochub.report.report import Report


def group_by_method(reports: Sequence[Report], metric: str, roles: Sequence[Role]) -> tuple[pd.DataFrame, str]:
    """Means over tasks; over several seeds the bounds are one standard deviation (ddof 1) to each side.

    Args:
        reports: A report for each method, task and seed; a method is its objective, else the model's id.
        metric: A metric that all of them hold.
        roles: Roles of the slices to read.

    Returns:
        Rows by (method, role) in order of appearance, with value, low, high (nan where undefined) and reason; and
        what was averaged and what the bounds are, in words.

    Raises:
        OochubError: A slice or metric that a report lacks; methods with other tasks or numbers of seeds.
    """
    cells = pd.DataFrame(row for report in reports for row in _list_rows(report, metric, roles))
    tasks, seeds = _check_grid(cells[cells["role"] == roles[0]])
    over_tasks = cells.groupby(["method", "role", "seed"], sort=False)[["value", "low", "high"]].agg(_mean)
    grouped = over_tasks.groupby(["method", "role"], sort=False)
    means = grouped.agg(_mean)
    if seeds > 1:
        spread = grouped["value"].std(ddof=1)
        means = means.assign(low=means["value"] - spread, high=means["value"] + spread)
    means["reason"] = cells.groupby(["method", "role"], sort=False)["reason"].agg(
        lambda words: words[words != ""].min()
    )
    families = ", ".join(dict.fromkeys(task.partition("_")[0] for task in tasks))  # nooch/ce, nooch/gist
    averaged = tasks[0] if len(tasks) == 1 else f"mean of {len(tasks)} tasks ({families})"
    interval = "95% interval" if len(tasks) == 1 else "mean of the tasks' 95% intervals"
    spread_words = f"± standard deviation over {seeds} seeds" if seeds > 1 else interval
    return means, f"{averaged}; {spread_words}\nn = {format_numbers.span(cells['n'])} rows"


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))


def _list_rows(report: Report, metric: str, roles: Sequence[Role]) -> list[dict[str, object]]:
    benchmark, model = report.benchmark, report.model
    task = f"{benchmark.name}/{benchmark.config}"
    if metric not in report.metrics:
        raise unknown_name("metric in a report", metric, report.metrics, "Evaluate with it: --metric.")
    rows: list[dict[str, object]] = []
    for role in roles:
        part = report.slice_of(role)
        if part is None or metric not in part.metrics:
            raise OochubError(
                f"The report of {model.id} on {task} has no {metric} on a slice {role!r}. Its slices: "
                f"{', '.join(part.role for part in report.slices)}."
            )
        number = part.metrics[metric]
        rows.append(
            {
                "method": model.objective or model.id,
                "task": task,
                "seed": model.seeds,
                "role": role,
                "value": number.value,
                "low": number.low,
                "high": number.high,
                "n": number.n,
                "reason": (number.reason or "") if number.value != number.value else "",
            }
        )
    return rows


def _check_grid(cells: pd.DataFrame) -> tuple[list[str], int]:
    """The tasks and the number of seeds that every method has, each pair once."""
    doubled = cells[cells.duplicated(["method", "task", "seed"])]
    if len(doubled):
        method, task, seed = doubled.iloc[0][["method", "task", "seed"]]
        raise OochubError(f"Two reports are of {method} on {task} with the same seeds, {list(seed)}. Leave one out.")
    tasks = sorted(cells["task"].unique())
    if len({task.partition("/")[0] for task in tasks}) > 1:
        raise OochubError(f"A mean is over tasks of one benchmark, got {', '.join(tasks)}. Draw one figure for each.")
    for method, part in cells.groupby("method", sort=False):
        for seed in sorted(part["seed"].unique()):
            lacking = sorted(set(tasks) - set(part[part["seed"] == seed]["task"]))
            if lacking:
                raise OochubError(
                    f"A mean needs the same tasks of every method and seed: {method!s}, seeds {list(seed)}, lacks "
                    f"{', '.join(lacking)}. Add the reports, or leave out those of the others."
                )
    seeds = cells.groupby("method", sort=False)["seed"].nunique()
    if seeds.nunique() > 1:
        counts = ", ".join(f"{method} {count}" for method, count in seeds.items())
        raise OochubError(f"Every method needs as many seeds as the others, got {counts}. Add or leave out reports.")
    return tasks, int(seeds.iloc[0])
