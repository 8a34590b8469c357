"""The share of positives and of negatives that the gist criterion calls hard, over its threshold tau."""

from typing import TYPE_CHECKING

import numpy as np

from oochub.evaluation.scenes import Scenes
from oochub.figures._pairs import list_thresholds, sort_by_similarity
from oochub.figures._style import LINES, draw_legend, draw_title, hide_frame, make_axes
from oochub.report import format_numbers

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def tau_curves(scenes: Scenes, *, ax: "Axes | None" = None) -> "Axes":
    """Draws the positives below tau, as a share of all positives, and the negatives above, of all negatives.

    Positives and negatives are the (image, class) pairs of all classes together. A pair whose similarity is unknown
    (nan, a class without training positives) is left out of both.

    Args:
        scenes: Scenes with gist similarities.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: tau, a cosine, to the right, the share in % upward.

    Raises:
        OochubError: Scenes without similarities, or without a positive or negative pair.

    Source: NOOCH, Fig. 11 (Appendix B.3).

    >>> scenes = Scenes(
    ...     names=["car"], present=np.array([[True], [True], [False]]), area=np.zeros((3, 1)), logit=None,
    ...     similarity=np.array([[0.2], [0.8], [0.4]]), surplus=np.full((1, 1), np.nan),
    ... )
    >>> ax = tau_curves(scenes)
    >>> tau, share = ax.lines[0].get_data()
    >>> float(share[tau > 0.5][0]), ax.get_legend().get_texts()[0].get_text()
    (50.0, 'positives below τ (n = 2)')
    """
    table = _rows(scenes)
    ax = make_axes(ax, 5.5, 3.8)
    tau = table["tau"].to_numpy()
    for side in ("positive", "negative"):
        n, hard = table[f"n_{side}s"][0], table[f"hard_{side}s"].to_numpy()
        words = f"{side}s {'below' if side == 'positive' else 'above'} τ (n = {format_numbers.count(n)})"
        ax.plot(tau, 100 * hard / n, label=words, **LINES[side])
    ax.set_xlim(tau[0], tau[-1])
    ax.set_ylim(0, 100)
    ax.set_xlabel("τ, cosine to the class's average caption")
    ax.set_ylabel("τ-hard, % of the side")
    draw_legend(ax)
    draw_title(ax, "What τ calls hard", legend_rows=2)
    hide_frame(ax, grid="both")
    return ax


def _rows(scenes: Scenes) -> "pd.DataFrame":
    """For each tau how many positives and negatives are hard, and how many there are of each."""
    import pandas as pd

    similarities = {side: np.sort(sort_by_similarity(scenes, side)[1]) for side in ("positive", "negative")}
    tau = list_thresholds(scenes)
    table = pd.DataFrame({"tau": tau})
    for side, similarity in similarities.items():
        below, up_to = (np.searchsorted(similarity, tau, end) for end in ("left", "right"))
        table[f"hard_{side}s"] = below if side == "positive" else len(similarity) - up_to
        table[f"n_{side}s"] = len(similarity)
    return table
