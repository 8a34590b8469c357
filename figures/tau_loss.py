"""The mean loss of the positives and negatives that the gist criterion calls hard, over its threshold tau."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.scenes import Scenes
from oochub.figures._pairs import list_thresholds, sort_by_similarity
from oochub.figures._style import LINES, draw_legend, draw_title, hide_frame, make_axes
from oochub.report import format_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def tau_loss(predicted_scenes: Scenes, *, fewest: int = 20, ax: "Axes | None" = None) -> "Axes":
    """Draws the mean loss of the positives below tau and of the negatives above; thin lines are all of a side.

    Positives and negatives are the (image, class) pairs of all classes together; pairs of unknown similarity (nan, a
    class without training positives) are left out throughout.

    Args:
        predicted_scenes: Scenes of predictions, with gist similarities.
        fewest: A line is drawn where at least this number of pairs is hard; a mean of fewer says little.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: tau, a cosine, to the right, the loss in nats upward (lower is better).

    Raises:
        OochubError: Scenes without similarities or logits, or without a positive or negative pair.

    Source: NOOCH, Fig. 14 (Appendix B.3).

    >>> scenes = Scenes(
    ...     names=["car"], present=np.array([[True], [True], [False]]), area=np.zeros((3, 1)),
    ...     logit=np.array([[-1.0], [2.0], [0.0]]), similarity=np.array([[0.2], [0.8], [0.4]]),
    ...     surplus=np.full((1, 1), np.nan),
    ... )
    >>> tau, loss = tau_loss(scenes, fewest=1).lines[0].get_data()
    >>> float(loss[tau > 0.5][0].round(3)), float(scenes.loss[0, 0].round(3))
    (1.313, 1.313)
    """
    table, losses = _rows(predicted_scenes, fewest=fewest), predicted_scenes.loss
    ax = make_axes(ax, 5.5, 3.8)
    tau = table["tau"].to_numpy()
    for side in ("positive", "negative"):
        loss = losses[sort_by_similarity(predicted_scenes, side)[0]]
        word = "below" if side == "positive" else "above"
        label = (
            f"{side}s {word} τ (n = {format_numbers.count(len(loss))}; thin: all, {format_numbers.loss(loss.mean())})"
        )
        mean, half = (table[f"{name}_{side}s"].to_numpy() for name in ("loss_of_hard", "half_of_95_of"))
        (line,) = ax.plot(tau, mean, label=label, **LINES[side])
        ax.fill_between(tau, mean - half, mean + half, color=line.get_color(), alpha=0.12, linewidth=0)
        ax.axhline(loss.mean(), **LINES[side] | {"linewidth": 0.8})
    ax.set_xlim(tau[0], tau[-1])
    ax.set_ylim(bottom=0)
    ax.set_xlabel("τ, cosine to the class's average caption\nbands: 95% intervals (normal law)")
    ax.set_ylabel("mean loss, nats ↓")
    draw_legend(ax)
    draw_title(ax, "Mean loss of what τ calls hard", legend_rows=2)
    hide_frame(ax, grid="both")
    return ax


def _rows(predicted_scenes: Scenes, *, fewest: int = 20) -> "pd.DataFrame":
    """For each tau the mean loss of hard positives and of hard negatives, in nats, and half of its 95% interval."""
    import pandas as pd

    losses = predicted_scenes.loss
    similarities = {side: sort_by_similarity(predicted_scenes, side) for side in ("positive", "negative")}
    tau = list_thresholds(predicted_scenes)
    table = pd.DataFrame({"tau": tau})
    for side, (pairs, similarity) in similarities.items():
        mean, half = _mean_of_hard(similarity, losses[pairs], tau, side, fewest)
        table[f"loss_of_hard_{side}s"], table[f"half_of_95_of_{side}s"] = mean, half
    return table


def _mean_of_hard(
    similarity: NDArray[np.float64], loss: NDArray[np.float64], tau: NDArray[np.float64], side: str, fewest: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(t,) mean loss below (above) each tau, nan where fewer than `fewest` pairs, or none, are hard.

    And half of its 95% interval, nan of a single pair too.
    """
    order = np.argsort(similarity)
    up_to = np.concatenate([np.zeros((2, 1)), np.cumsum([loss[order], loss[order] ** 2], axis=1)], axis=1)
    if side == "positive":
        hard = np.searchsorted(similarity[order], tau, "left")
        total, squares = up_to[:, hard]
    else:
        easy = np.searchsorted(similarity[order], tau, "right")
        hard, (total, squares) = len(loss) - easy, up_to[:, -1:] - up_to[:, easy]
    mean, variance = np.full((2, len(tau)), np.nan)
    np.divide(total, hard, out=mean, where=hard >= max(fewest, 1))
    np.divide(squares - hard * mean**2, hard * (hard - 1.0), out=variance, where=(hard > 1) & ~np.isnan(mean))
    return mean, 1.96 * np.sqrt(np.maximum(variance, 0))
