"""Names beside points, without overlaps."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from oochub.figures._style import INK, INK2

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_PLACES = [  # (points to the right, points up): beside the point first, then farther off
    (reach * x, reach * y)
    for reach in (5, 12, 24)
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1))
]
_ACROSS = {1: "left", -1: "right", 0: "center"}
_UPWARD = {1: "bottom", -1: "top", 0: "center"}
_ROOM = 3.0  # points around the middle of a mark


def label_points(ax: "Axes", points: NDArray[np.float64], names: Sequence[str]) -> None:
    """Names the first points, each where it covers no point and no name; one without room stays unnamed.

    Args:
        ax: Axes whose limits are final.
        points: (n, 2) all points.
        names: (k,) names of the first k points, most important first.
    """
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

    ax.figure.canvas.figure.draw_without_rendering()  # the layout settles where a point stands on the page
    room = _ROOM * ax.figure.dpi / 72
    taken = [Bbox([middle - room, middle + room]) for middle in ax.transData.transform(points)]
    frame = ax.get_window_extent()
    for name, point in zip(names, points, strict=False):
        for right, up in _PLACES:
            far = max(abs(right), abs(up)) > _PLACES[0][0]
            note = ax.annotate(
                name,
                point,
                (right, up),
                textcoords="offset points",
                ha=_ACROSS[int(np.sign(right))],
                va=_UPWARD[int(np.sign(up))],
                color=INK,
                fontsize="small",
                arrowprops={"arrowstyle": "-", "color": INK2, "linewidth": 0.5, "shrinkA": 0} if far else None,
            )
            note.get_window_extent()  # brings the text to its place
            box = Text.get_window_extent(note)  # without the line to its point
            inside = frame.x0 <= box.x0 and box.x1 <= frame.x1 and frame.y0 <= box.y0 and box.y1 <= frame.y1
            if inside and not any(box.overlaps(other) for other in taken):
                taken.append(box)
                break
            note.remove()
