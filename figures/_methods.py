"""Reports of several methods, tasks and seeds as one number with bounds for each method and slice."""

from collections.abc import Sequence

import pandas as pd

from oochub.errors import OochubError, unknown_name
from oochub.report import wording
from oochub.report.report import Report
from oochub.stats.estimation import Estimate


def by_method(reports: Sequence[Report], metric: str, roles: Sequence[str]) -> tuple[pd.DataFrame, str]:
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
    made = pd.DataFrame(row for report in reports for row in _rows(report, metric, roles))
    tasks, seeds = _check_grid(made[made["role"] == roles[0]])
    over_tasks = made.groupby(["method", "role", "seed"], sort=False)[["value", "low", "high"]].agg(_mean)
    grouped = over_tasks.groupby(["method", "role"], sort=False)
    means = grouped.agg(_mean)
    if seeds > 1:
        spread = grouped["value"].std(ddof=1)
        means = means.assign(low=means["value"] - spread, high=means["value"] + spread)
    means["reason"] = made.groupby(["method", "role"], sort=False)["reason"].agg(lambda found: found[found != ""].min())
    families = ", ".join(dict.fromkeys(task.partition("_")[0] for task in tasks))  # nooch/ce, nooch/gist
    averaged = tasks[0] if len(tasks) == 1 else f"mean of {len(tasks)} tasks ({families})"
    interval = "95% interval" if len(tasks) == 1 else "mean of the tasks' 95% intervals"
    return means, f"{averaged}; {f'± standard deviation over {seeds} seeds' if seeds > 1 else interval}"


def _mean(values: pd.Series) -> float:
    return float(values.mean(skipna=False))


def _rows(report: Report, metric: str, roles: Sequence[str]) -> list[dict[str, object]]:
    data = report.data
    benchmark, model = data["benchmark"], data["model"]
    if metric not in data["metrics"]:
        raise unknown_name("metric in a report", metric, data["metrics"], "Evaluate with it: --metric.")
    rows = []
    for role in roles:
        part = wording.find_slice(data, role)
        if part is None or metric not in part["metrics"]:
            raise OochubError(
                f"The report of {model['id']} on {benchmark['name']}/{benchmark['config']} has no {metric} on a slice "
                f"{role!r}. Its slices: {', '.join(one['role'] for one in data['slices'])}."
            )
        number = Estimate.from_dict(part["metrics"][metric])
        rows.append(
            {
                "method": model["objective"] or model["id"],
                "task": f"{benchmark['name']}/{benchmark['config']}",
                "seed": tuple(model["seeds"]),
                "role": role,
                "value": number.value,
                "low": number.low,
                "high": number.high,
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
    for method, found in cells.groupby("method", sort=False):
        for seed in sorted(found["seed"].unique()):
            lacking = sorted(set(tasks) - set(found[found["seed"] == seed]["task"]))
            if lacking:
                raise OochubError(
                    f"A mean needs the same tasks of every method and seed: {method!s}, seeds {list(seed)}, lacks "
                    f"{', '.join(lacking)}. Add the reports, or leave out those of the others."
                )
    seeds = cells.groupby("method", sort=False)["seed"].nunique()
    if seeds.nunique() > 1:
        told = ", ".join(f"{method} {count}" for method, count in seeds.items())
        raise OochubError(f"Every method needs as many seeds as the others, got {told}. Add or leave out reports.")
    return tasks, int(seeds.iloc[0])
