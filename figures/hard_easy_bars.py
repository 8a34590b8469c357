"""A metric on easy and on hard examples for each method, with intervals: bars that start at chance or at zero.

Reports of several methods, tasks and seeds become one number with bounds for each method and slice.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

from oochub.comparison.model_line import name_methods
from oochub.errors import OochubError, unknown_name
from oochub.figures._charts import label_metric, title_sides
from oochub.figures._style import INK, INK2, OUT, draw_legend, draw_title, hide_frame, make_axes
from oochub.records.report_records import Role
from oochub.report import format_numbers, theme, wording
from oochub.report.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_IN = theme.LIGHT["inn"]
_SIDES: tuple[Role, ...] = ("in", "out")
_HALVES: tuple[Role, ...] = ("hard_positive", "hard_negative")
_MARKS: dict[Role, dict[str, Any]] = {
    "in": {"color": _IN, "marker": theme.MARKERS["in"]},
    "out": {"color": OUT, "marker": theme.MARKERS["out"]},
    "hard_positive": {"color": OUT, "marker": "^", "label": "hard positives"},
    "hard_negative": {"color": OUT, "marker": "v", "label": "hard negatives"},
}
_SPLIT = ("nll", "error_rate")  # AUC is undefined on one class; calibration of one half means little
_STEP, _GAP = 0.8, 0.7


def _group_by_method(reports: Sequence[Report], metric: str, roles: Sequence[Role]) -> tuple[pd.DataFrame, str]:
    """Means over tasks; over several seeds the bounds are one standard deviation (ddof 1) to each side.

    Args:
        reports: A report for each method, task and seed; see `oochub.comparison.model_line.name_methods`.
        metric: A metric that all of them hold.
        roles: Roles of the slices to read.

    Returns:
        Rows by (method, role) in order of appearance, with value, low, high (nan where undefined) and reason; and
        what was averaged and what the bounds are, in words.

    Raises:
        OochubError: A slice or metric that a report lacks; methods with other tasks or numbers of seeds.
    """
    methods = name_methods(reports)
    cells = pd.DataFrame(row for pair in zip(reports, methods, strict=True) for row in _list_rows(*pair, metric, roles))
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


def _list_rows(report: Report, method: str, metric: str, roles: Sequence[Role]) -> list[dict[str, object]]:
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
                "method": method,
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
        raise OochubError(f"Two reports are for {method} on {task} with the same seeds, {list(seed)}. Remove one.")
    tasks = sorted(cells["task"].unique())
    if len({task.partition("/")[0] for task in tasks}) > 1:
        raise OochubError(f"A mean needs tasks of one benchmark, got {', '.join(tasks)}. Draw one figure for each.")
    for method, part in cells.groupby("method", sort=False):
        for seed in sorted(part["seed"].unique()):
            lacking = sorted(set(tasks) - set(part[part["seed"] == seed]["task"]))
            if lacking:
                raise OochubError(
                    f"A mean needs the same tasks for every method and seed: {method!s}, seeds {list(seed)}, lacks "
                    f"{', '.join(lacking)}. Add the reports, or remove those of the others."
                )
    seeds = cells.groupby("method", sort=False)["seed"].nunique()
    if seeds.nunique() > 1:
        counts = ", ".join(f"{method} {count}" for method, count in seeds.items())
        raise OochubError(f"Every method needs the same number of seeds, got {counts}. Add or remove reports.")
    return tasks, int(seeds.iloc[0])


def hard_easy_bars(reports: Sequence[Report], *, metric: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draws a bar for easy (in context) and one for hard (out of context) examples of each method.

    With several tasks a bar is the mean over them. With several seeds the error bar is the standard deviation over
    seeds of that mean, as in the paper; else it is the report's 95% interval, or the mean of the tasks' intervals,
    which is wide where tasks err independently. The axis says which. Loss and error also show hard positives and
    hard negatives, where all reports have them (as Figs. 5 and 6 do).

    Args:
        reports: A report for each method, task and seed; every method has the same tasks and as many
            seeds.
        metric: "auc", "error_rate", "nll", "ece", or another metric of the reports; None takes the benchmark's primary
            metric.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: methods downward in the order given, the metric to the right.

    Raises:
        OochubError: No report, reports that do not form a grid of methods, tasks and seeds, or lack the metric.

    Source: NOOCH, Figs. 4 (AUC), 5 (error), 6 (NLL) and 7 (ECE), Section 6.1.2.

    >>> import pyarrow as pa
    >>> import oochub
    >>> table = pa.table({
    ...     "example_id": list("abcdefgh"), "split": ["test"] * 8, "label": [0, 1] * 4,
    ...     "logits": [[0.0, score] for score in (-2.0, 3.0, -1.0, 2.0, 0.5, 1.0, 1.5, 2.0)],
    ...     "challenge": ["easy"] * 4 + ["hard_negative", "hard_positive"] * 2, "group": ["car/context"] * 8,
    ... })
    >>> metadata = {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", "model": {"id": "runs/erm"},
    ...             "class_names": ["no_car", "car"], "rows": {"test": 8}}
    >>> report = oochub.evaluate(oochub.Predictions(table, metadata), metrics=["auc"])
    >>> ax = hard_easy_bars([report])
    >>> [text.get_text() for text in ax.texts], [round(float(bar.get_width()), 3) for bar in ax.patches]
    (['100.0', '75.0'], [50.0, 25.0])
    """
    reports = list(reports)
    if not reports:
        raise OochubError("There are no reports. Pass at least one that `oochub evaluate` made.")
    metric = reports[0].benchmark.primary_metric if metric is None else metric
    split = metric in _SPLIT and all(report.slice_of(half) for report in reports for half in _HALVES)
    roles = [*_SIDES, *(_HALVES if split else ())]
    parts, averaged = _group_by_method(reports, metric, roles)
    names = list(dict.fromkeys(method for method, _ in parts.index))
    benchmark, described = reports[0].benchmark, reports[0].metrics[metric]
    scale = 100 if described.unit == "fraction" else 1
    base = 100 * benchmark.chance if metric.startswith("auc") else 0.0
    block = _STEP * len(roles) + _GAP
    ax = make_axes(ax, 7.0, 1.3 + 0.27 * block * len(names))
    for row, (method, role) in enumerate((method, role) for method in names for role in roles):
        y = block * (row // len(roles)) + _STEP * (row % len(roles))
        _draw_bar(ax, y, parts.loc[(method, role)], role, base, scale, described.unit)
    ax.set_yticks([block * k + _STEP * (len(roles) - 1) / 2 for k in range(len(names))], map(wording.words, names))
    ax.set_ylim(block * len(names) - _GAP - _STEP / 3, -2 * _STEP / 3)
    ax.margins(x=0.1)
    if not base:
        ax.set_xlim(left=0)
    ax.set_xlabel(f"{label_metric(reports[0], metric)}\n{averaged}")
    titles = title_sides(reports[0])
    for role in roles:
        ax.plot([], [], linestyle="", **({"label": titles.get(role)} | _MARKS[role]))
    draw_legend(ax, ncols=2)
    draw_title(ax, f"{wording.name(described.title)} by method", legend_rows=len(roles) // 2)
    ax.axvline(base, color=INK2, linewidth=1)
    hide_frame(ax, grid="x", keep=("bottom",))
    return ax


def _draw_bar(ax: "Axes", y: float, part: Any, role: Role, base: float, scale: float, unit: str) -> None:
    color, marker = _MARKS[role]["color"], _MARKS[role]["marker"]
    if format_numbers.is_undefined(part["value"]):
        ax.annotate(f"n/a, {part['reason']}", (base, y), (7, 0), textcoords="offset points", va="center", color=INK2)
        return
    value, low, high = (scale * part[key] for key in ("value", "low", "high"))
    tint = 0.12 if role in _HALVES else 0.25
    ax.barh(y, value - base, left=base, height=0.85 * _STEP, color=color, alpha=tint, zorder=1)
    ax.plot([value], [y], color=color, marker=marker, markersize=6, linestyle="", zorder=3)
    end = value
    if not format_numbers.is_undefined(low):
        ax.plot([low, high], [y, y], color=color, linewidth=2, zorder=2)
        end = max(value, high)
    ax.annotate(
        format_numbers.quantity(part["value"], unit), (end, y), (7, 0), textcoords="offset points", va="center",
        color=INK, fontsize="small",
    )  # fmt: skip
