"""The image of docs/results.md."""

from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from results_numbers import TASKS, MethodResult, method_results

from oochub.report import theme
from oochub.storage.files import write_whole

_OUT = {"nooch": "AUC-hard", "spawrious": "accuracy out of context"}
_COLORS = {"labels": theme.LIGHT["ink"], "environments": theme.LIGHT["ink2"], "label x context": theme.LIGHT["h5"]}
_MARKS = {"labels": "o", "environments": "s", "label x context": "D"}
_INSIDE = {**_COLORS, "environments": theme.LIGHT["bg"]}


def draw(table: pd.DataFrame, target: Path) -> None:
    """Draws every method out of context, one panel per world.

    Args:
        table: The table of docs/results/runs.parquet.
        target: The PNG.
    """
    tasks = [task for task in TASKS if (table["task"] == task).any()]
    figure, panels = pyplot.subplots(
        1, len(tasks), figsize=(5.2 * len(tasks), 7.2), layout="constrained", squeeze=False
    )
    most = int(table.groupby("task")["method"].nunique().max())
    for ax, task in zip(panels[0], tasks, strict=True):
        _draw_panel(
            ax, method_results(table, task), most, f"{TASKS[task][0]} (toy)\n{_OUT[task.partition('/')[0]]} × 100"
        )
    marks = [Line2D([], [], label=f"given {source}", **_choose_style(source)) for source in _COLORS]
    figure.legend(handles=marks, loc="outside lower left", ncols=3, frameon=False)
    note = "mean of the seeds with its 95% interval; band and line: ERM"
    figure.text(0.99, 0.012, note, ha="right", va="bottom", fontsize=8, color=theme.LIGHT["ink2"])
    with write_whole(target) as draft:
        figure.savefig(draft, format="png", dpi=130, metadata={"Software": None})
    pyplot.close(figure)


def _draw_panel(ax: Axes, results: list[MethodResult], most: int, title: str) -> None:
    erm = next(result.outside for result in results if not result.against)
    ax.axvspan(100 * erm.low, 100 * erm.high, color=theme.LIGHT["grid"], zorder=0)
    ax.axvline(100 * erm.mean, color=theme.LIGHT["ink2"], linewidth=1, zorder=1)
    for y, result in enumerate(reversed(results)):
        style = _choose_style(result.source)
        ax.plot([100 * result.outside.low, 100 * result.outside.high], [y, y], zorder=2, **style | {"marker": ""})
        ax.plot(100 * result.outside.mean, y, zorder=3, **style)
    ax.set_yticks(range(len(results)), [result.title for result in reversed(results)])
    ax.set_ylim(len(results) - most - 0.6, len(results) - 0.4)  # rows as high as those of the longest panel
    ax.set_xlim(-2, 102)
    ax.set_title(title, loc="left", fontsize=10)
    ax.grid(axis="x", color=theme.LIGHT["rule"], linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)


def _choose_style(source: str) -> dict[str, Any]:
    return {
        "color": _COLORS[source],
        "marker": _MARKS[source],
        "markerfacecolor": _INSIDE[source],
        "markersize": 6,
        "linewidth": 1.6,
    }
