"""What the figures share: new axes, bare spines, marks of sides and image sets, a heat map, names beside points."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from oochub.detection.image_sets import SetPart
from oochub.errors import check_installed
from oochub.report import format_numbers, theme, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

OUT, INK, INK2, GRID = (theme.LIGHT[name] for name in ("out", "ink", "ink2", "grid"))
LINES: dict[str, dict[str, Any]] = {
    "positive": {"color": OUT, "linestyle": "-", "linewidth": 2},
    "negative": {"color": OUT, "linestyle": (0, (2, 1)), "linewidth": 2},
}
"""Both sides are out of context, hence of one color; the dashes tell them apart."""
SHARES = (theme.LIGHT["bg"], OUT)
LOSSES = tuple(theme.LIGHT[f"h{step}"] for step in range(7))
COLORS: Mapping[str, str] = {"none": theme.LIGHT["inn"], "covariate": OUT, "semantic": INK}
MARKERS: Mapping[str, str] = {"none": theme.MARKERS["in"], "covariate": theme.MARKERS["out"], "semantic": "s"}
SHIFTS: Mapping[str, str] = {"none": "in distribution", "covariate": "covariate shift", "semantic": "semantic shift"}
"""A set of images has a color and a mark by its shift, and a dash of its own, so that gray paper tells them apart."""
_DASHES: Mapping[str, Sequence[Any]] = {
    "none": ("-", (0, (9, 1.5))),
    "covariate": ((0, (5, 1.5)), (0, (5, 1.5, 1, 1.5)), (0, (5, 1.5, 1, 1.5, 1, 1.5))),
    "semantic": ((0, (1, 1)), (0, (1, 2.5)), (0, (2, 2))),
}


def make_axes(ax: "Axes | None", width: float, height: float) -> "Axes":
    """The axes given, else those of a new figure of that size in inches."""
    if ax is not None:
        return ax
    check_installed("matplotlib", "plots", "Drawing plots")
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def hide_frame(
    ax: "Axes", *, keep: Sequence[str] = ("bottom", "left"), grid: Literal["x", "y", "both"] | None = None
) -> None:
    """Leaves the spines named, in the secondary ink, and no tick marks; draws the lines of a grid along `grid`."""
    if grid is not None:
        ax.grid(axis=grid, color=GRID)
    for name, spine in ax.spines.items():
        spine.set_visible(name in keep)
        spine.set_color(INK2)
    ax.tick_params(length=0, colors=INK2)
    ax.set_axisbelow(True)


def draw_legend(ax: "Axes", **options: Any) -> None:
    """A legend above the axes, where it covers no data."""
    ax.legend(**{"frameon": False, "loc": "lower left", "bbox_to_anchor": (0, 1), "borderaxespad": 0.3} | options)


def assign_line_styles(parts: Sequence[SetPart]) -> list[dict[str, Any]]:
    """A color, dash and width for each part; parts of one shift differ by their dash, wrong answers are thin."""
    seen: Counter[str] = Counter()
    of_set: dict[tuple[str, str], Any] = {}
    styles = []
    for part in parts:
        key = (part.scored.name, part.shift)
        if key not in of_set:
            of_set[key] = _DASHES[part.shift][seen[part.shift] % len(_DASHES[part.shift])]
            seen[part.shift] += 1
        width = 1.0 if part.correct is False else 2.0
        styles.append({"color": COLORS[part.shift], "linestyle": of_set[key], "linewidth": width})
    return styles


def label_part(part: SetPart) -> str:
    """The set in the legend, with its shift and its rows: "imagenet_ood: semantic shift, n = 960"."""
    shift = "" if part.name != part.scored.name and part.correct is None else f"{SHIFTS[part.shift]}, "
    return f"{wording.name(part.name)}: {shift}n = {format_numbers.count(int(part.rows.sum()))}"


def name_detector(key: str) -> str:
    """A detector's key in print: "max logit", "odin (epsilon=0.0014)"."""
    name, _, options = key.partition(":")
    return wording.words(name) + (f" ({wording.name(options)})" if options else "")


def draw_title(ax: "Axes", text: str, *, legend_rows: int = 0) -> None:
    """Writes what the axes show, above a legend of `legend_rows` rows."""
    ax.set_title(text, loc="left", color=INK, fontsize="medium", pad=6 + 18 * legend_rows)


def draw_heat_map(
    ax: "Axes",
    cells: NDArray[np.float64],
    texts: Sequence[Sequence[str]],
    *,
    alphas: Sequence[float],
    betas: Sequence[float],
    own: tuple[float, float],
    colors: Sequence[str],
    low: float | None = None,
    title: str,
    unit: str,
) -> None:
    """Cells (alphas, betas) with their numbers; nan is blank; the benchmark's own cell is outlined.

    Args:
        ax: Axes to draw on.
        cells: The values.
        texts: Text in each cell.
        alphas: Names of the rows, from below.
        betas: Names of the columns.
        own: (alpha, beta) of the benchmark.
        colors: Colors from low to high.
        low: Value at which the colors begin; None is the smallest cell.
        title: Title that says what the cells are.
        unit: Unit of the color bar.
    """
    from matplotlib.colors import LinearSegmentedColormap, to_rgb
    from matplotlib.patches import Rectangle
    from matplotlib.patheffects import withStroke

    ramp = LinearSegmentedColormap.from_list("oochub", list(colors)).with_extremes(bad=theme.LIGHT["surface"])
    shown = np.ma.masked_invalid(cells)
    image = ax.imshow(shown, cmap=ramp, vmin=low, origin="lower", aspect="auto")
    backs = image.to_rgba(shown)
    for row, column in np.ndindex(cells.shape):
        back = backs[row, column, :3].tolist()
        ink = max((INK, theme.LIGHT["bg"]), key=lambda color: _compute_contrast(to_rgb(color), back))
        ax.text(column, row, texts[row][column], ha="center", va="center", color=ink, fontsize="small")
    if own[0] in alphas and own[1] in betas:
        corner = (list(betas).index(own[1]) - 0.5, list(alphas).index(own[0]) - 0.5)
        halo = [withStroke(linewidth=4, foreground=theme.LIGHT["bg"])]
        ax.add_patch(Rectangle(corner, 1, 1, fill=False, edgecolor=INK, linewidth=2, path_effects=halo))
    ax.set_xticks(range(len(betas)), [f"{beta:g}" for beta in betas])
    ax.set_yticks(range(len(alphas)), [f"{alpha:g}" for alpha in alphas])
    ax.set_xlabel("β, fraction of the image")
    ax.set_ylabel("α, surplus of a context")
    ax.set_title(title, loc="left", color=INK, fontsize="medium")
    hide_frame(ax, keep=())
    bar = ax.figure.colorbar(image, ax=ax, label=unit)
    bar.outline.set_visible(False)  # type: ignore[operator]
    bar.ax.tick_params(length=0, colors=INK2)


def _compute_contrast(first: Sequence[float], second: Sequence[float]) -> float:
    """The contrast ratio of WCAG 2.2, 1 to 21."""
    lights = []
    for color in (first, second):
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in color]
        lights.append(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])
    return (max(lights) + 0.05) / (min(lights) + 0.05)


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
