"""A report as figures for papers and notebooks, with the colors, marks, order and words of the page."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError, unknown_name
from oochub.figures._detection_plot import detection_rows_drawn, draw_detection
from oochub.report import numbers, theme, wording
from oochub.report.verdict import verdict

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLORS = {"in": theme.LIGHT["inn"], "out": theme.LIGHT["out"]}
_INK, _INK2, _RULE, _GRID = (theme.LIGHT[name] for name in ("ink", "ink2", "rule", "grid"))
_FEWEST = 20
_LISTED_GROUPS = 20


def plot(report: Mapping[str, Any], kind: str = "gap", ax: "Axes | None" = None) -> "Axes":
    """Draw one figure of a report; numbers are printed beside their marks, no global style is touched.

    Args:
        report: A report of schema version 1.
        kind: "gap" (the head chart), "slices" (the primary metric, or the error where that is undefined on a slice),
            "groups" (the error of each group), "reliability" (share right against confidence) or "detection" (both
            goals of every detector).
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes.

    Raises:
        OochubError: matplotlib is missing, the kind is unknown, or the report lacks what the kind shows.
    """
    drawings = {"gap": _gap, "slices": _slices, "groups": _groups, "reliability": _reliability}
    drawings["detection"] = draw_detection
    if kind not in drawings:
        raise unknown_name("kind of plot", kind, drawings)
    if ax is None:
        ax = _new_axes(5.0 if kind == "reliability" else 7.0, _height(report, kind))
    drawings[kind](report, ax)
    return ax


def _new_axes(width: float, height: float) -> "Axes":
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise OochubError('Plots need matplotlib, which is not installed. Run: pip install "oochub[plots]"') from error
    _, ax = pyplot.subplots(figsize=(width, height), layout="constrained")
    return ax


def _height(report: Mapping[str, Any], kind: str) -> float:
    groups = min(len((report.get("groups") or {"rows": []})["rows"]), _LISTED_GROUPS)
    heights = {"gap": 2.6, "slices": 1.2 + 0.45 * len(report["slices"]), "groups": 1.2 + 0.4 * groups}
    heights["detection"] = 1.2 + 0.42 * detection_rows_drawn(report)
    return heights.get(kind, 5.6)


def _gap(report: Mapping[str, Any], ax: "Axes") -> None:
    said, benchmark, metric = verdict(report), report["benchmark"], report["benchmark"]["primary_metric"]
    known = {}
    for side in ("in", "out"):
        part = wording.find_slice(report, side)
        if (
            part is not None
            and metric in part["metrics"]
            and not numbers.is_undefined(part["metrics"][metric]["value"])
        ):
            known[side] = part["metrics"][metric]
    if len(known) == 2:
        ends = [100 * known[side]["value"] for side in ("in", "out")]
        ax.plot(ends, [0, 0], color=_RULE, linewidth=7, solid_capstyle="butt", zorder=1)
        gap = report["gap"]
        label = f"{numbers.points(gap['value'])} points\n{numbers.interval_points(gap)}"
        ax.annotate(
            label, (sum(ends) / 2, 0), (0, 14), textcoords="offset points", ha="center", va="bottom", color=_INK
        )
    left = min(known, key=lambda side: known[side]["value"], default=None)
    for side, estimate in known.items():
        _point(ax, 100 * estimate["value"], 0, estimate, side, size=12, hollow=not said.is_shown)
        text = f"{theme.SIDES[side]}\n{numbers.fraction(estimate['value'])}\n{numbers.interval(estimate)}"
        align = "right" if side == left else "left"
        at = (100 * estimate["value"], 0)
        ax.annotate(text, at, (0, -14), textcoords="offset points", ha=align, va="top", color=_INK)
    ax.axvline(100 * benchmark["chance"], color=_INK2, linewidth=1, linestyle=":")
    ax.annotate("chance", (100 * benchmark["chance"], 1), (3, -2), textcoords="offset points", va="top", color=_INK2)
    ax.set_title(said.sentence, loc="left", color=_INK, fontsize="medium", fontweight="bold", wrap=True)
    ax.set_xlim(100 * min([benchmark["chance"], *(e["low"] or e["value"] for e in known.values())]) - 3, 103)
    ax.set_ylim(-1, 1)
    ax.set_yticks([])
    n = f"n = {numbers.count(report['gap']['n_in'])} in context, {wording.out_count(report)} out of context"
    chance = numbers.whole_points(benchmark["chance"])
    ax.set_xlabel(f"{_metric_label(report, metric)}; chance is {chance}, perfect is 100\n{n}")
    _bare(ax, keep=("bottom",))


def _slices(report: Mapping[str, Any], ax: "Axes") -> None:
    parts = sorted(report["slices"], key=lambda part: theme.ROLES.index(part["role"]))
    metric = report["benchmark"]["primary_metric"]
    if any(part["metrics"].get(metric, {"value": None})["value"] is None for part in parts):
        metric = "error_rate"
    rows = [(part, part["metrics"][metric]) for part in parts if metric in part["metrics"]]
    if not rows:
        raise OochubError(f"No slice of this report has {metric!r}. Evaluate with it, or plot another kind.")
    sides = {"in": "in", "out": "out", "hard_positive": "out", "hard_negative": "out"}
    titles = [f"{wording.slice_words(report, part)} (n = {numbers.count(part['n'])})" for part, _ in rows]
    _rows(ax, titles, [estimate for _, estimate in rows], [sides.get(part["role"]) for part, _ in rows])
    ax.set_xlabel(f"{_metric_label(report, metric)}, with 95% interval")


def _groups(report: Mapping[str, Any], ax: "Axes") -> None:
    rows = (report.get("groups") or {"rows": []})["rows"]
    rows = sorted(rows, key=lambda row: (row["role"] != "out", -(row["error_rate"]["value"] or 0.0)))[:_LISTED_GROUPS]
    if not rows:
        raise OochubError(
            "This report has no groups. Evaluate predictions with a `group` column, or plot another kind."
        )
    titles = [f"{wording.group_words(report, row)} (n = {numbers.count(row['n'])})" for row in rows]
    _rows(ax, titles, [row["error_rate"] for row in rows], [row["role"] for row in rows], bars=True)
    ax.set_xlabel("Error % ↓ (lower is better), with 95% interval")


def _rows(
    ax: "Axes",
    titles: Sequence[str],
    estimates: Sequence[Mapping[str, Any]],
    sides: Sequence[str | None],
    *,
    bars: bool = False,
) -> None:
    for y, (estimate, side) in enumerate(zip(estimates, sides, strict=True)):
        if numbers.is_undefined(estimate["value"]):
            ax.annotate(f"n/a, {estimate['reason']}", (0, y), va="center", color=_INK2)
            continue
        value = 100 * estimate["value"]
        if bars:
            ax.barh(y, value, height=0.5, color=_COLORS.get(side or "", _INK2), alpha=0.3, zorder=1)
        _point(ax, value, y, estimate, side, size=7)
        high = value if numbers.is_undefined(estimate["high"]) else 100 * estimate["high"]
        ax.annotate(
            numbers.fraction(estimate["value"]), (high, y), (7, 0), textcoords="offset points", va="center", color=_INK
        )
    ax.set_yticks(range(len(titles)), titles)
    ax.set_ylim(len(titles) - 0.4, -0.6)
    ax.margins(x=0.12)
    if bars:
        ax.set_xlim(left=0)
    ax.grid(axis="x", color=_GRID, linewidth=1)
    ax.set_axisbelow(True)
    _legend(ax, [side for side in ("in", "out") if side in sides])
    _bare(ax, keep=("bottom",))


def _reliability(report: Mapping[str, Any], ax: "Axes") -> None:
    calibration = {side: part for side, part in (report.get("calibration") or {}).items() if part is not None}
    if not calibration:
        raise OochubError(
            "This report has no calibration. Evaluate predictions with probabilities, or plot another kind."
        )
    lowest = 100.0
    for side in (side for side in ("in", "out") if side in calibration):
        bins = [b for b in calibration[side]["bins"] if b["n"] >= _FEWEST]
        n = sum(b["n"] for b in calibration[side]["bins"])
        ece = numbers.fraction(calibration[side]["ece"]["value"])
        x, y = [100 * b["confidence"] for b in bins], [100 * b["accuracy"] for b in bins]
        band = [100 * b["accuracy_low"] for b in bins], [100 * b["accuracy_high"] for b in bins]
        ax.fill_between(x, *band, color=_COLORS[side], alpha=0.18, linewidth=0)
        label = f"{theme.SIDES[side]}, ECE {ece}% (n = {numbers.count(n)})"
        ax.plot(x, y, color=_COLORS[side], marker=theme.MARKERS[side], label=label)
        lowest = min([lowest, *x, *band[0]])
    low = 10 * (lowest // 10)
    ax.plot([low, 100], [low, 100], color=_INK2, linewidth=1, linestyle=":", label="ideal")
    ax.set_xlim(low, 101)
    ax.set_ylim(low, 101)
    ax.set_aspect("equal")
    ax.set_xlabel("confidence, %")
    ax.set_ylabel("right, % (band: Wilson 95% interval)")
    ax.grid(color=_GRID, linewidth=1)
    ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
    _bare(ax, keep=("bottom", "left"))


def _point(
    ax: "Axes", x: float, y: float, estimate: Mapping[str, Any], side: str | None, *, size: float, hollow: bool = False
) -> None:
    color = _COLORS.get(side or "", _INK2)
    if not (numbers.is_undefined(estimate["low"]) or numbers.is_undefined(estimate["high"])):
        ax.plot([100 * estimate["low"], 100 * estimate["high"]], [y, y], color=color, linewidth=2, zorder=2)
    face = theme.LIGHT["bg"] if hollow else color
    marker = theme.MARKERS.get(side or "", "s")
    ax.plot([x], [y], marker=marker, markersize=size, color=color, markerfacecolor=face, linestyle="", zorder=3)


def _legend(ax: "Axes", sides: Sequence[str]) -> None:
    for side in sides:
        ax.plot([], [], color=_COLORS[side], marker=theme.MARKERS[side], linestyle="", label=theme.SIDES[side])
    if sides:
        ax.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1), ncols=len(sides))


def _metric_label(report: Mapping[str, Any], metric: str) -> str:
    described = report["metrics"][metric]
    unit, direction = numbers.unit_of(metric, described["unit"]), described["direction"]
    return f"{wording.name(described['title'])} {unit} {numbers.arrow(direction)} ({direction} is better)"


def _bare(ax: "Axes", *, keep: Sequence[str]) -> None:
    for name, spine in ax.spines.items():
        spine.set_visible(name in keep)
        spine.set_color(_INK2)
    ax.tick_params(length=0, colors=_INK2)
