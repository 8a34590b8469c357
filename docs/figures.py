"""Draws the pictures of the docs from the measured numbers beside them; run by `make figures`."""

import json
from pathlib import Path
from typing import Any

from matplotlib import pyplot
from matplotlib.axes import Axes

from oochub import theme

_DOCS = Path(__file__).parent
_TITLES = {"nooch": "NOOCH ce_car (toy): AUC × 100", "spawrious": "Spawrious o2o_hard (toy): accuracy %"}
_CHANCE = {"nooch": 50, "spawrious": 25}


def effect(rows: list[dict[str, Any]], ax: Axes) -> Axes:
    """Each training of a benchmark in and out of context, with intervals over the test images.

    Args:
        rows: Rows of docs/effect.json of one benchmark.
        ax: Axes to draw on.
    """
    for y, row in enumerate(reversed(rows)):
        ends = {side: [100 * row[side][key] for key in ("mean", "low", "high")] for side in ("in", "out")}
        ax.plot([ends["in"][0], ends["out"][0]], [y, y], color=theme.LIGHT["rule"], linewidth=4, zorder=1)
        for side, color, above in (("in", theme.LIGHT["inn"], 8), ("out", theme.LIGHT["out"], -17)):
            mean, low, high = ends[side]
            ax.plot([low, high], [y, y], color=color, linewidth=1.4, zorder=2)
            ax.plot(mean, y, theme.MARKERS[side], color=color, markersize=7, zorder=3)
            ax.annotate(f"{mean:.1f}", (mean, y), (0, above), textcoords="offset points", ha="center", color=color)
    ax.set_yticks(range(len(rows)), [f"{row['title']}\n{row['world']}" for row in reversed(rows)])
    ax.set_ylim(-0.6, len(rows) - 0.3)
    ax.axvline(_CHANCE[rows[0]["benchmark"]], color=theme.LIGHT["ink2"], linestyle=":", linewidth=1)
    ax.set_title(_TITLES[rows[0]["benchmark"]], loc="left", fontsize=11)
    ax.set_xlim(20, 104)
    ax.grid(axis="x", color=theme.LIGHT["grid"])
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(length=0)
    return ax


def main() -> None:
    """Writes docs/figures/*.png."""
    content = json.loads((_DOCS / "effect.json").read_text("utf-8"))
    shown = [row for row in content["rows"] if row["objects"] and row["environments"] != "environment"]
    figure, axes = pyplot.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
    for ax, benchmark in zip(axes, _TITLES, strict=True):
        effect([row for row in shown if row["benchmark"] == benchmark], ax)
    sides = [
        pyplot.Line2D([], [], marker=theme.MARKERS[side], color=color, linestyle="", label=theme.SIDES[side])
        for side, color in (("in", theme.LIGHT["inn"]), ("out", theme.LIGHT["out"]))
    ]
    note = f"mean of {content['seeds']} seeds; bars: 95% interval over test images; dotted: chance"
    figure.legend(handles=sides, loc="outside lower left", ncols=2, frameon=False)
    figure.text(0.99, 0.01, note, ha="right", va="bottom", fontsize=8, color=theme.LIGHT["ink2"])
    (_DOCS / "figures").mkdir(exist_ok=True)
    figure.savefig(_DOCS / "figures" / "effect.png", dpi=150, metadata={"Software": None})


if __name__ == "__main__":
    main()
