"""The detectors of a report as a figure of matplotlib: the twin of the page's chart."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError
from oochub.report import detector_words as said
from oochub.report import numbers, theme, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_INK, _INK2, _GRID = (theme.LIGHT[name] for name in ("ink", "ink2", "grid"))
_OFFSET = 0.17  # of a row: new classes above its middle, failures below


def detection_rows_drawn(report: Mapping[str, Any]) -> int:
    """How many rows the figure has: each detector of each pair, and each pair's title.

    >>> detection_rows_drawn({})
    0
    """
    return sum(len(pair.rows) + 1 for pair in said.pairs(report.get("detection")))


def draw_detection(report: Mapping[str, Any], ax: "Axes") -> None:
    """Both AUROCs of each detector with their intervals, pair by pair, best for new classes first.

    Args:
        report: A report of schema version 1.
        ax: Where to draw.

    Raises:
        OochubError: The report has no detectors.
    """
    pairs = said.pairs(report.get("detection"))
    if not pairs:
        raise OochubError(
            "This report has no detectors. Evaluate with detectors=[...] (--detector), or plot another kind."
        )
    y, places, names, titles = 0, [], [], []
    for pair in pairs:
        titles.append(y)
        places.append(y)
        row = pair.rows[0]
        counts = f"n = {numbers.count(row['n_id'])} ({numbers.count(row['n_incorrect'])} wrong)"
        title = f"{wording.name(pair.id_set, 40)} against {wording.name(pair.ood_set, 40)}"
        names.append(f"{title}, {counts} and {numbers.count(row['n_ood'])}")
        for row in pair.rows:
            y += 1
            places.append(y)
            names.append(wording.name(row["detector"], 40))
            for goal, offset in zip(theme.GOALS, (-_OFFSET, _OFFSET), strict=True):
                _point(ax, row["metrics"][goal], y + offset, goal)
        y += 1
    for place, name in zip(places, names, strict=True):
        if place in titles:
            box = {"facecolor": theme.LIGHT["bg"], "edgecolor": "none", "pad": 1}
            ax.annotate(
                name, (0, place), xycoords=("axes fraction", "data"), va="center", color=_INK, weight="bold", bbox=box
            )
    ticks = [(place, name) for place, name in zip(places, names, strict=True) if place not in titles]
    ax.set_yticks([place for place, _ in ticks], [name for _, name in ticks])
    ax.set_ylim(y - 0.4, -0.6)
    ax.axvline(50, color=_INK2, linewidth=1, linestyle=":", zorder=1)
    ax.grid(axis="x", color=_GRID, linewidth=1)
    ax.set_axisbelow(True)
    ax.margins(x=0.1)
    ax.set_xlabel("AUROC × 100 ↑ (higher is better), with 95% interval; 50 is chance")
    for goal, color in theme.GOALS.items():
        marker, label = theme.GOAL_MARKERS[goal], theme.GOAL_WORDS[goal]
        ax.plot([], [], color=theme.LIGHT[color], marker=marker, linestyle="", label=label)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=2)
    for name, spine in ax.spines.items():
        spine.set_visible(name == "bottom")
        spine.set_color(_INK2)
    ax.tick_params(length=0, colors=_INK2)


def _point(ax: "Axes", estimate: Mapping[str, Any], y: float, goal: str) -> None:
    color = theme.LIGHT[theme.GOALS[goal]]
    if numbers.is_undefined(estimate["value"]):
        reason = wording.name(estimate["reason"] or "no value")
        ax.annotate(f"n/a, {reason}", (50, y), (4, 0), textcoords="offset points", va="center", color=_INK2)
        return
    high = value = 100 * estimate["value"]
    if not (numbers.is_undefined(estimate["low"]) or numbers.is_undefined(estimate["high"])):
        high = 100 * estimate["high"]
        ax.plot([100 * estimate["low"], high], [y, y], color=color, linewidth=2, zorder=2)
    ax.plot([value], [y], marker=theme.GOAL_MARKERS[goal], markersize=6, color=color, linestyle="", zorder=3)
    text = numbers.fraction(estimate["value"])
    ax.annotate(text, (high, y), (6, 0), textcoords="offset points", va="center", color=_INK, fontsize="small")
