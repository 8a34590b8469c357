"""How many tasks have at least one, two, ... five contexts, over the strength alpha that makes a context."""

from typing import TYPE_CHECKING

import numpy as np

from oochub.errors import OochubError
from oochub.evaluation.scenes import Scenes
from oochub.figures._style import INK2, draw_title, hide_frame, make_axes
from oochub.report import theme

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ALPHAS = np.arange(61) / 200
_MARKERS = "osD^v"


def contexts_over_alpha(scenes: Scenes, *, ax: "Axes | None" = None) -> "Axes":
    """Draws the number of tasks (classes) with at least 1, 2, 3, 4 and 5 alpha-contexts, alpha from 0 to 0.3.

    A class C is an alpha-context of Y where, in the training images that show Y, it takes on average more than alpha
    of the image more than Y. The legend holds the counts at alpha 0 and at the benchmark's own.

    Args:
        scenes: Scenes of `nooch/all`; only their `surplus` is read.
        ax: Axes to draw on; None makes a new figure.

    Returns:
        The axes: alpha, a fraction of the image, to the right, tasks upward.

    Raises:
        OochubError: No class has a context at alpha 0.

    Source: NOOCH, Fig. 10 (Appendix B.3).

    >>> nan = float("nan")
    >>> scenes = Scenes(
    ...     names=["car", "road", "cow"], present=np.eye(3, dtype=bool), area=np.eye(3), similarity=None, logit=None,
    ...     surplus=np.array([[nan, 0.3, 0.01], [nan, nan, nan], [nan, 0.02, nan]]),
    ... )
    >>> ax = contexts_over_alpha(scenes)
    >>> [text.get_text() for text in ax.get_legend().get_texts()][:2]
    ['1: 2 at α = 0, 1 at 0.05', '2: 1 at α = 0, 0 at 0.05']
    """
    if not scenes.contexts(0.0).any():
        raise OochubError("No class has a context, even at alpha 0: the surplus of these scenes is empty.")
    ax = make_axes(ax, 6.0, 4.0)
    from matplotlib.ticker import MaxNLocator

    counts = np.stack([scenes.contexts(alpha).sum(axis=1) for alpha in _ALPHAS])
    own = scenes.contexts(scenes.alpha).sum(axis=1)
    for least, (color, marker) in enumerate(zip(theme.SHADES, _MARKERS, strict=True), start=1):
        tasks = (counts >= least).sum(axis=1)
        label = f"{least}: {tasks[0]} at α = 0, {(own >= least).sum()} at {scenes.alpha:g}"
        drawn = slice(np.count_nonzero(tasks) + 1)  # down to the first zero
        ax.plot(_ALPHAS[drawn], tasks[drawn], color=color, lw=2, marker=marker, markevery=10, ms=5, label=label)
    ax.axvline(scenes.alpha, color=INK2, linestyle=":", linewidth=1)
    ax.set_xlim(0, _ALPHAS[-1])
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_locator(MaxNLocator(integer=True))
    ax.set_xlabel("α: surplus of the context's area over the object's, fraction of the image")
    draw_title(ax, "Tasks by their number of contexts")
    ax.set_ylabel(f"tasks, of {len(scenes.names)}")
    ax.legend(frameon=False, title="tasks by contexts, at least", alignment="left")
    hide_frame(ax, grid="both")
    return ax
