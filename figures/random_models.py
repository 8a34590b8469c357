"""The sanity check with untrained models: what a detector says of each set when there is nothing to be known."""

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, unknown_name
from oochub.figures._style import INK, INK2, OUT, draw_legend, hide_frame, make_axes, name_detector
from oochub.report import format_numbers, wording

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Goal = Literal["new_class", "failure"]
_TITLES = {
    "new_class": "new-class AUROC × 100 of {} against the set; 50 is chance",
    "failure": "failure AUROC × 100 on {} and the set; 50 is chance",
}
_COLUMNS = ("model", "seed", "detector", "in", "out", "metric", "value", "n")
_SEVERITIES = ("1", "2", "3", "4", "5")
_BETWEEN = 1.7  # from one corruption to the next, in steps of a severity


class _Place(NamedTuple):
    """A set by itself (severity ""), or a severity of a corruption."""

    group: str
    severity: str


def random_models(
    detection_numbers: "pd.DataFrame",
    *,
    detector: str | None = None,
    goal: Goal = "new_class",
    model: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws a panel of Figs. 4 and 11: one row per set, a ring for each untrained model, a diamond for their mean.

    A model that has learned nothing knows no distribution, so a sound detector stays at 50 on every set: below, it
    takes the set for more in-distribution than the set in distribution itself. The severities 1 to 5 of a corruption
    (sets named <corruption>_<severity>) stand below each other. Numbers that are undefined, such as the failure AUROC
    of a model that is never right, are left out and counted below the axis.

    Args:
        detection_numbers: Rows of numbers.csv of `oochub imagenet_ood detect ... --random 5`: model, seed (of
            the random weights), detector, in, out, metric, value, n. Rows without seed are left out.
        detector: Its key or name; None takes the first.
        goal: "new_class": the set in distribution against the other; "failure": right answers on both against all else.
        model: The architecture; None takes the first.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: sets downward, AUROC x 100 to the right; the bars are one standard deviation over models (ddof 1) on
        either side of the mean, the dotted line is chance.

    Raises:
        OochubError: Columns that are missing, no untrained model, an unknown detector, goal or architecture, several
            sets in distribution, a number that is there twice, no number that is defined.

    Source: ImageNet-OOD, Section 4.2, Fig. 4, and Appendix F, Fig. 11.

    >>> import pandas as pd
    >>> row = {"model": "resnet", "detector": "msp", "in": "imagenet_1k", "out": "fog_5", "metric": "auroc_new_class"}
    >>> ax = random_models(pd.DataFrame([row | {"seed": k, "value": 0.4 + 0.2 * k, "n": 90} for k in (0, 1)]))
    >>> ax.get_title(loc="left"), [round(float(x), 3) for x in ax.lines[1].get_xdata()]
    ('msp, 2 random copies of resnet', [50.0])
    """
    if goal not in get_args(Goal):
        raise unknown_name("goal", goal, get_args(Goal))
    rows = _select_rows(detection_numbers, detector, f"auroc_{goal}", model)
    values = 100 * rows.pivot(index="out", columns="seed", values="value")
    given = [_place(name) for name in dict.fromkeys(rows["out"])]
    order = list(dict.fromkeys(place.group for place in given))
    places = sorted(given, key=lambda place: (bool(place.severity), order.index(place.group), place.severity))
    names = ["_".join(filter(None, place)) for place in places]
    groups = np.array([place.group for place in places])
    down = np.cumsum([0.0, *np.where(groups[1:] == groups[:-1], 1.0, _BETWEEN)])
    ax = make_axes(ax, 6.0, 1.8 + 0.2 * (down[-1] + 2))
    _draw(ax, groups, down, values.loc[names].to_numpy())
    ax.axvline(50, color=INK2, linewidth=1, linestyle=":", zorder=1)
    ax.set_ylim(down[-1] + 1, -1)
    key, architecture, inside = (wording.name(str(rows[name].iloc[0])) for name in ("detector", "model", "in"))
    copies = f"{values.shape[1]} random cop{'ies' if values.shape[1] > 1 else 'y'} of {architecture}"
    ax.set_title(f"{name_detector(key)}, {copies}", loc="left", color=INK, fontsize="medium", pad=24)
    has_digits = any(place.severity for place in places)
    ax.set_yticks(down, [place.severity for place in places], fontsize="small")
    _name_groups(ax, groups, down, digits=has_digits)
    ends = [format_numbers.count(int(end)) for end in (min(rows["n"]), max(rows["n"]))]
    n = ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
    undefined = int(values.isna().sum().sum())
    notes = [
        _TITLES[goal].format(inside),
        f"n = {n} rows of both sets" + ("; digits: severity of the corruption" if has_digits else ""),
        f"{undefined} of {values.size} numbers are undefined and left out" if undefined else "",
    ]
    ax.set_xlabel("\n".join(filter(None, notes)))
    hide_frame(ax, grid="x")
    draw_legend(ax, ncols=3, fontsize="small")
    return ax


def _select_rows(frame: "pd.DataFrame", detector: str | None, metric: str, model: str | None) -> "pd.DataFrame":
    """The numbers of one detector and architecture on untrained models."""
    missing = [name for name in _COLUMNS if name not in frame.columns]
    if missing:
        raise OochubError(
            f"Numbers of untrained models need the columns {', '.join(_COLUMNS)}; {', '.join(missing)} missing. "
            "`oochub imagenet_ood detect MODELS --random 5 --out FOLDER` writes them as numbers.csv."
        )
    rows = frame[frame["seed"].notna() & (frame["metric"] == metric)]
    if not len(rows):
        raise OochubError(
            f"None of these {len(frame)} numbers is the {metric} of an untrained model (with the column seed filled "
            "in). `oochub imagenet_ood detect MODELS --random 5 --out FOLDER` makes five copies of each architecture."
        )
    for column, name in (("detector", detector), ("model", model)):
        words = list(dict.fromkeys(rows[column].astype(str)))
        taken = [word for word in words if name in (None, word)] or [
            value for value in words if value.partition(":")[0] == name
        ]
        if not taken:
            raise unknown_name(f"{column} in these numbers", str(name), words)
        rows = rows[rows[column] == taken[0]]
    if rows["in"].nunique() > 1:
        sets = ", ".join(map(str, rows["in"].unique()))
        raise OochubError(
            f"All sets must be compared with the same in-distribution set, got {sets}. Keep the rows of one of them."
        )
    doubled = rows[rows.duplicated(["seed", "out"])]
    if len(doubled):
        first = doubled.iloc[0]
        raise OochubError(f"{len(doubled)} numbers occur twice, first {first['out']} with seed {first['seed']}.")
    if rows["value"].isna().all():
        why = dict.fromkeys(rows["reason"].dropna().astype(str)) if "reason" in rows else ()
        raise OochubError(f"Every {metric} is undefined{': ' if why else ''}{', '.join(why)}. Use more images.")
    return rows


def _place(name: str) -> _Place:
    corruption, _, severity = str(name).rpartition("_")
    return _Place(corruption, severity) if corruption and severity in _SEVERITIES else _Place(str(name), "")


def _draw(ax: "Axes", groups: NDArray[Any], y: NDArray[np.float64], values: NDArray[np.float64]) -> None:
    """Rings, means and spreads of sets (k,) at y (k,) with values (k, models); the means of a group are joined."""
    is_finite = np.isfinite(values)
    middle, spread = (np.full(len(y), np.nan) for _ in range(2))
    for row, own in enumerate(is_finite):
        middle[row] = values[row, own].mean() if own.any() else np.nan
        spread[row] = values[row, own].std(ddof=1) if own.sum() > 1 else np.nan
    ring: dict[str, Any] = {"color": INK2, "markerfacecolor": "none", "markersize": 4, "markeredgewidth": 0.8}
    ax.plot(values.ravel(), np.repeat(y, values.shape[1]), "o", zorder=2, label="a model", **ring)
    for number, group in enumerate(dict.fromkeys(groups.tolist())):
        own = groups == group
        label = "_nolegend_" if number else "mean"
        ax.plot(middle[own], y[own], "-D", color=OUT, markersize=4.5, linewidth=1.2, zorder=4, label=label)
    for place in y[~is_finite.any(axis=1)]:
        ax.text(50, place, " n/a", color=INK2, ha="left", va="center", fontsize="small")
    if np.isfinite(spread).any():
        ends = middle - spread, middle + spread
        ax.hlines(y, *ends, color=OUT, linewidth=2, zorder=3, label="± one standard deviation")


def _name_groups(ax: "Axes", groups: NDArray[Any], y: NDArray[np.float64], *, digits: bool) -> None:
    """Names to the left of the digits of the severities."""
    beside = ax.secondary_yaxis("left")
    names = list(dict.fromkeys(groups.tolist()))
    beside.set_yticks([y[groups == name].mean() for name in names], [wording.name(name) for name in names])
    beside.tick_params(length=0, pad=16 if digits else 3, colors=INK)
    beside.spines["left"].set_visible(False)
