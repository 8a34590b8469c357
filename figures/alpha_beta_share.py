"""A heat map: the share of positives or negatives that co-occurrence calls hard, over alpha and beta."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from oochub.evaluation.scenes import Scenes
from oochub.figures._pairs import ALPHAS, BETAS, Side, judge_pairs, select_side
from oochub.figures._style import SHARES, draw_heat_map, make_axes
from oochub.report import format_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def alpha_beta_share(
    scenes: Scenes,
    *,
    side: Side = "positive",
    alphas: Sequence[float] = ALPHAS,
    betas: Sequence[float] = BETAS,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draws which share of all positives (or negatives) is (alpha, beta)-hard, with the number in each cell.

    Positives and negatives are the (image, class) pairs of all classes together; those of a class without a context
    at that alpha count among all and are never hard. The cell of the benchmark's own alpha and beta is outlined.

    Args:
        scenes: Scenes of `nooch/all`.
        side: "positive", the class is in the image, or "negative".
        alphas: Rows: how much more of the image a context takes than the object, at least 0.
        betas: Columns: the fraction of the image above which a context counts as present.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes; cells are in %.

    Raises:
        OochubError: An unknown side, a negative alpha, or scenes without such a pair.

    Source: NOOCH, Fig. 12 (Appendix B.3).

    >>> import numpy as np
    >>> scenes = Scenes(
    ...     names=["car", "road"], present=np.array([[True, False], [True, True]]),
    ...     area=np.array([[0.1, 0.0], [0.1, 0.6]]), similarity=None, logit=None,
    ...     surplus=np.array([[np.nan, 0.2], [np.nan, np.nan]]),
    ... )
    >>> ax = alpha_beta_share(scenes, alphas=[0.05], betas=[0.1, 0.7])
    >>> [text.get_text() for text in ax.texts]
    ['33.3', '66.7']
    """
    cells = _rows(scenes, side=side, alphas=alphas, betas=betas)
    share = cells["share"].to_numpy().reshape(len(alphas), len(betas))
    ax = make_axes(ax, 6.0, 4.2)
    draw_heat_map(
        ax,
        100 * share,
        [[format_numbers.fraction(cell) for cell in row] for row in share],
        alphas=alphas,
        betas=betas,
        own=(scenes.alpha, scenes.beta),
        colors=SHARES,
        low=0.0,
        title=f"hard {side}s, % of all {format_numbers.count(cells['n_all'][0])}",
        unit="%",
    )
    return ax


def _rows(
    scenes: Scenes, *, side: str = "positive", alphas: Sequence[float] = ALPHAS, betas: Sequence[float] = BETAS
) -> "pd.DataFrame":
    """The cells: how many pairs are hard, of how many, and their share, a fraction."""
    import pandas as pd

    pairs = select_side(scenes, side)
    rows = [
        {"alpha": alphas[row], "beta": betas[column], "n_hard": hard.sum(), "n_all": hard.size, "share": hard.mean()}
        for row, column, hard in judge_pairs(scenes, pairs, side, alphas, betas)
    ]
    return pd.DataFrame(rows)
