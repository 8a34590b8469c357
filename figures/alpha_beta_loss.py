"""A heat map: the mean loss of the positives or negatives that co-occurrence calls hard, over alpha and beta."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from oochub.errors import OochubError
from oochub.evaluation.scenes import Scenes
from oochub.figures._pairs import ALPHAS, BETAS, Side, judge_pairs, select_side
from oochub.figures._style import LOSSES, draw_heat_map, make_axes
from oochub.report import format_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def alpha_beta_loss(
    predicted_scenes: Scenes,
    *,
    side: Side = "positive",
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws the mean loss of the (alpha, beta)-hard positives (or negatives), with the number in each cell.

    Positives and negatives are the (image, class) pairs of all classes together. A cell without a hard pair is blank.
    The title gives the mean of the whole side; the cell of the benchmark's own alpha and beta is outlined.

    Args:
        predicted_scenes: Scenes of predictions.
        side: "positive", the class is in the image, or "negative".
        alphas: Rows: how much more of the image a context takes than the object, at least 0.
        betas: Columns: the fraction of the image above which a context counts as present.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes; cells are in nats, lower is better.

    Raises:
        OochubError: Scenes without logits, an unknown side, a negative alpha, or no hard pair at all.

    Source: NOOCH, Fig. 13 (Appendix B.3).

    >>> scenes = Scenes(
    ...     names=["car", "road"], present=np.array([[True, False], [True, True]]),
    ...     area=np.array([[0.1, 0.0], [0.1, 0.6]]), similarity=None, logit=np.array([[-1.0, 0.0], [2.0, 0.0]]),
    ...     surplus=np.array([[np.nan, 0.2], [np.nan, np.nan]]),
    ... )
    >>> ax = alpha_beta_loss(scenes, alphas=[0.05, 0.3], betas=[0.1, 0.7])
    >>> [text.get_text() for text in ax.texts]
    ['1.313', '0.720', '', '']
    """
    cells = _rows(predicted_scenes, side=side, alphas=alphas, betas=betas)
    loss = predicted_scenes.loss[select_side(predicted_scenes, side)]
    mean = cells["loss"].to_numpy().reshape(len(alphas), len(betas))
    sizes, halves = cells["n_hard"][cells["n_hard"] > 0].tolist(), cells["half_of_95"].dropna().tolist()
    if np.isnan(mean).all():
        raise OochubError(f"No {side} is hard at any of these alphas and betas. Use smaller alphas or other betas.")
    ax = make_axes(ax, 6.0, 4.2)
    draw_heat_map(
        ax,
        mean,
        [["" if np.isnan(cell) else format_numbers.loss(cell) for cell in row] for row in mean],
        alphas=alphas,
        betas=betas,
        own=(predicted_scenes.alpha, predicted_scenes.beta),
        colors=LOSSES,
        title=f"mean loss of hard {side}s (all {side}s: {format_numbers.loss(loss.mean())})",
        unit="nats ↓",
    )
    widths = f"±{min(halves):.2f} to ±{max(halves):.2f}" if halves else "none"
    ax.set_xlabel(f"{ax.get_xlabel()}\nn = {format_numbers.span(sizes)} {side}s of a cell; 95% intervals: {widths}")
    return ax


def _rows(
    predicted_scenes: Scenes,
    *,
    side: str = "positive",
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
) -> "pd.DataFrame":
    """The cells: how many pairs are hard, their mean loss in nats, and half of its 95% interval; nan without any."""
    import pandas as pd

    losses = predicted_scenes.loss
    pairs = select_side(predicted_scenes, side)
    loss, rows = losses[pairs], []
    for row, column, hard in judge_pairs(predicted_scenes, pairs, side, alphas, betas):
        n, own = int(hard.sum()), loss[hard]
        half = float(1.96 * own.std(ddof=1) / np.sqrt(n)) if n > 1 else np.nan
        mean = own.mean() if n else np.nan
        rows.append({"alpha": alphas[row], "beta": betas[column], "n_hard": n, "loss": mean, "half_of_95": half})
    return pd.DataFrame(rows)
