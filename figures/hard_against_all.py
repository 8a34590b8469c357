"""Each task's mean loss on hard positives or negatives against that on all of them: one point per task."""

from typing import TYPE_CHECKING, Literal

from oochub.errors import OochubError, unknown_name
from oochub.figures._pairs import SIDES, Side
from oochub.figures._style import INK, INK2, OUT, hide_frame, label_points, make_axes
from oochub.report import theme, wording
from oochub.stats.proportion import wilson

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_CRITERIA = {"ce": "co-occurrence", "gist": "gist"}
_COLUMNS = ("task", "criterion", "side", "loss_all", "loss_hard")
_NAMED = 8


def hard_against_all(
    losses: "pd.DataFrame",
    *,
    criterion: Literal["ce", "gist"] = "ce",
    side: Side = "positive",
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws one panel of Fig. 3: one point per task, above the diagonal if its hard examples have the higher loss.

    Tasks above the diagonal are filled, the others hollow; the eight farthest above are named as far as there is
    room. A task without hard examples of that side has no such loss and is left out and counted below the axis.

    Args:
        losses: Rows of `oochub.evaluation.scenes`: task, criterion, side, loss_all and loss_hard in nats.
        criterion: "ce" or "gist".
        side: "positive" or "negative".
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: the mean loss on all positives (negatives) to the right, on hard ones upward; lower is better.

    Raises:
        OochubError: An unknown criterion or side, columns that are missing, or no task with both losses.

    Source: NOOCH, Fig. 3 (Section 3.2.2).

    >>> import pandas as pd
    >>> losses = pd.DataFrame(
    ...     {"task": ["car", "cow", "tie"], "criterion": "ce", "side": "positive",
    ...      "loss_all": [0.4, 0.5, 0.6], "loss_hard": [0.9, 0.3, float("nan")]}
    ... )
    >>> ax = hard_against_all(losses)
    >>> ax.get_title(loc="left")
    '1 of 2 tasks above the diagonal'
    """
    rows = _rows(losses, criterion=criterion, side=side)
    measured = rows.dropna(subset=["loss_all", "loss_hard"])
    if not len(measured):
        raise OochubError(f"No task has a loss on hard {side}s by {criterion}: {len(rows)} such rows in {len(losses)}.")
    ax = make_axes(ax, 5.0, 5.2)
    measured = measured.assign(above=measured["loss_hard"] - measured["loss_all"]).sort_values("above", ascending=False)
    x, y = measured["loss_all"].to_numpy(float), measured["loss_hard"].to_numpy(float)
    for higher, face in ((True, OUT), (False, "none")):
        part = (y > x) == higher
        ax.plot(x[part], y[part], theme.MARKERS["out"], color=OUT, markerfacecolor=face, markersize=5, zorder=3)
    end = 1.08 * max(x.max(), y.max())
    ax.plot([0, end], [0, end], color=INK2, linewidth=1, linestyle=":", zorder=1)
    ax.set_xlim(0, end)
    ax.set_ylim(0, end)
    ax.set_aspect("equal")
    above = int((y > x).sum())
    ax.set_title(f"{above} of {len(measured)} tasks above the diagonal", loc="left", color=INK, fontsize="medium")
    without = len(rows) - len(measured)
    left_out = f"\n(without hard {side}s: {without} of {len(rows)} tasks)" if without else ""
    share = wilson(above, len(measured))
    ends = f"{100 * share.low:.0f} to {100 * share.high:.0f}"
    ax.set_xlabel(
        f"mean loss on all {side}s, nats ↓{left_out}\n95% interval of the share above: {ends}% (n = {len(measured)})"
    )
    ax.set_ylabel(f"mean loss on those hard by {_CRITERIA[criterion]}, nats ↓")
    hide_frame(ax, grid="both")
    farthest = measured[measured["above"] > 0].head(_NAMED)
    label_points(
        ax, measured[["loss_all", "loss_hard"]].to_numpy(float), [wording.words(task) for task in farthest["task"]]
    )
    return ax


def _rows(losses: "pd.DataFrame", *, criterion: str = "ce", side: str = "positive") -> "pd.DataFrame":
    """The tasks of a panel, with and without a loss on hard examples."""
    for kind, name, allowed in (("criterion", criterion, _CRITERIA), ("side", side, SIDES)):
        if name not in allowed:
            raise unknown_name(kind, name, allowed)
    missing = [name for name in _COLUMNS if name not in losses.columns]
    if missing:
        raise OochubError(
            f"Losses of tasks need the columns {', '.join(_COLUMNS)}; {', '.join(missing)} missing. "
            "oochub.evaluation.scenes.measure_task_losses computes them from predictions for nooch/all."
        )
    return losses[(losses["criterion"] == criterion) & (losses["side"] == side)]
