"""Rows of images with headings, titles and outlines within one axes, and the images of data sets and scored sets."""

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from PIL import Image

from oochub.detection.detector_scores import ScoredSet
from oochub.errors import OochubError, unknown_name
from oochub.figures._style import INK, INK2, make_axes
from oochub.report import theme, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL, _GAP, _LINE, _HEAD_LINE = 2.5, 0.12, 0.155, 0.2  # inches: an image's width, its margin, lines of text
_SMALL, _LARGE = 8, 10  # points
_LETTER = {_SMALL: 0.56, _LARGE: 0.67}  # width of a letter, as a part of its size; the large ones are bold
LINES: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "context": {"color": theme.OUTLINES["context"], "linestyle": (0, (3, 1.5)), "linewidth": 1.6},
        "object": {"color": theme.OUTLINES["object"], "linestyle": "-", "linewidth": 1.6},
    }
)


@dataclass(frozen=True, kw_only=True)
class Picture:
    """One image.

    Attributes:
        name: The label of its axes.
        title: Text above it.
        image: Its pixels.
        outlines: A key of `LINES` to contours (m, 2) of x and y in pixels.
    """

    name: str
    title: str
    image: Image.Image
    outlines: Mapping[str, Sequence[NDArray[Any]]] = field(default_factory=dict)


def draw_picture_grid(
    ax: "Axes | None",
    rows: Sequence[tuple[str, Sequence[Picture]]],
    *,
    columns: int,
    legend: Mapping[str, str],
    note: str,
    cell: float = _CELL,
) -> "Axes":
    """Fills the axes (those of a new figure for None) with rows of images below their headings.

    Args:
        ax: Axes to fill.
        rows: (heading, images); a row without images says so.
        columns: The most images of a row; where it is 1 the rows stand side by side.
        legend: A key of `LINES` to what it outlines, in words; may be empty.
        note: Stands below all.
        cell: Width of an image in inches, on new axes.
    """
    across, down = (len(rows), 1) if columns == 1 else (columns, len(rows))
    width = cell * across if ax is None else _measure_axes(ax)[0]
    cell = width / across
    heads = [_wrap(head, cell if columns == 1 else width, _LARGE) for head, _ in rows]
    titles = {picture.name: _wrap(picture.title, cell, _SMALL) for _, pictures in rows for picture in pictures}
    below = _wrap(note, width, _SMALL)
    above = _HEAD_LINE * _count_most_lines(heads) + _LINE * _count_most_lines(titles.values()) + 1.5 * _GAP
    foot = _LINE * (_count_most_lines([below]) + 1.8 * bool(legend)) + _GAP
    if ax is None:
        shape = median(picture.image.height / picture.image.width for _, pictures in rows for picture in pictures)
        ax = make_axes(None, width, down * (above + shape * (cell - _GAP)) + foot)
    ax.axis("off")
    width, height = _measure_axes(ax)
    cell = width / across
    picture = (height - foot) / down - above
    for number, (_, pictures) in enumerate(rows):
        line, first = (0, number) if columns == 1 else (number, 0)
        top = height - line * (above + picture) - _GAP
        words: dict[str, Any] = {"transform": ax.transAxes, "va": "top"}
        ax.text(first * cell / width, top / height, heads[number], color=INK, fontsize=_LARGE, weight="bold", **words)
        if not pictures:
            ax.text(first * cell / width, (top + _GAP - above) / height, "none", color=INK2, fontsize=_SMALL, **words)
        for column, shown in enumerate(pictures, first):
            corner = column * cell / width, (top + _GAP - above - picture) / height
            inset = ax.inset_axes((*corner, (cell - _GAP) / width, picture / height), label=shown.name)
            _show(inset, shown, titles[shown.name])
    ax.text(0, 0, below, color=INK2, fontsize=_SMALL, va="bottom", transform=ax.transAxes)
    if legend:
        at = (0, _LINE * (_count_most_lines([below]) + 0.4) / height)
        _draw_legend(ax, legend, at)
    return ax


def _measure_axes(ax: "Axes") -> tuple[float, float]:
    """Width and height in inches, once the layout is settled."""
    root = ax.figure.canvas.figure
    root.draw_without_rendering()
    box = ax.get_window_extent()
    return box.width / root.dpi, box.height / root.dpi


def _wrap(text: str, inches: float, points: int) -> str:
    letters = max(8, int((inches - _GAP) * 72 / (_LETTER[points] * points)))
    return "\n".join(textwrap.fill(line, letters, break_on_hyphens=False) for line in text.splitlines())


def _count_most_lines(texts: Any) -> int:
    return max((text.count("\n") + 1 for text in texts), default=1)


def _show(ax: "Axes", picture: Picture, title: str) -> None:
    from matplotlib.collections import LineCollection

    ax.imshow(picture.image)
    for role, style in LINES.items():
        if picture.outlines.get(role):
            lines = LineCollection(list(picture.outlines[role]), label=role, path_effects=_make_seam(), **style)
            ax.add_collection(lines, autolim=False)
    ax.set_anchor("NW")
    ax.axis("off")
    ax.set_title(title, loc="left", fontsize=_SMALL, color=INK, pad=3)


def _make_seam() -> list[Any]:
    from matplotlib.patheffects import withStroke

    return [withStroke(linewidth=3, foreground=INK, dashes={"dash_offset": 0, "dash_list": None})]  # never dashed


def _draw_legend(ax: "Axes", legend: Mapping[str, str], at: tuple[float, float]) -> None:
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=words, path_effects=_make_seam(), **LINES[role]) for role, words in legend.items()]
    ax.legend(
        handles=handles, loc="lower left", bbox_to_anchor=at, ncols=len(handles), frameon=False, fontsize=_SMALL,
        borderaxespad=0, borderpad=0, labelcolor=INK,
    )  # fmt: skip


def read_pictures(dataset: Any, split: str, ids: Sequence[str]) -> dict[str, Image.Image]:
    """The images of these examples by their example_id; no other is decoded.

    Args:
        dataset: A data set or its splits, with columns example_id and image.
        split: The split, where there are several.
        ids: Their example_id.

    Raises:
        OochubError: No such split, column or example; an image that is missing or cannot be read.
    """
    import datasets

    from oochub.inputs.pictures.preprocessing import decode
    from oochub.inputs.pictures.stored_pictures import read_picture_bytes

    if isinstance(dataset, Mapping) and split not in dataset:
        raise unknown_name("split of the dataset", split, dataset)
    part = dataset[split] if isinstance(dataset, Mapping) else dataset
    for column in ("example_id", "image"):
        if column not in part.column_names:
            raise OochubError(f"The dataset has no column {column!r}, only {', '.join(part.column_names)}.")
    row_of = {name: row for row, name in enumerate(part.select_columns(["example_id"])["example_id"])}
    missing = [name for name in ids if name not in row_of]
    if missing:
        raise OochubError(
            f"{len(missing)} of the {len(ids)} examples to show are not in the dataset, first {missing[0]}. Pass the "
            f"dataset that was predicted, with its split {split}."
        )
    rows = part.select([row_of[name] for name in ids]).select_columns(["image"])
    pictures = {}
    for name, row in zip(ids, rows.cast_column("image", datasets.Image(decode=False)), strict=True):
        where = f"split {split}, example {name}"
        pictures[name] = decode(read_picture_bytes(row["image"], where), where)
    return pictures


_HEIGHT, _SEAM = 224, 6  # pixels of a pair


def select_pictures(scored: ScoredSet, rows: Sequence[int], datasets: Mapping[str, Any]) -> dict[int, Image.Image]:
    """The images of some rows of a set, by row; no other is decoded.

    Raises:
        OochubError: The data set is not given, or lacks an image.
    """
    if not rows:
        return {}
    if scored.name not in datasets:
        raise OochubError(
            f"There is no dataset for {scored.name}, whose images are to be shown; given: "
            f"{', '.join(datasets) or 'none'}."
        )
    split, ids = scored.predictions.split, scored.predictions.column("example_id")
    pictures: dict[int, Image.Image] = {}
    for name in dict.fromkeys(split[list(rows)].tolist()):
        here = sorted({row for row in rows if split[row] == name})
        read = read_pictures(datasets[scored.name], name, [str(ids[row]) for row in here])
        pictures |= {row: read[str(ids[row])] for row in here}
    return pictures


def name_class(scored: ScoredSet, row: int) -> str:
    """What is in the image: its column `class_name`, else the name of its label, else ""."""
    predictions = scored.predictions
    if "class_name" in predictions.column_names:
        return wording.words(str(predictions.column("class_name")[row]))
    label = int(predictions.label[row])
    return wording.words(predictions.class_names[label].partition(",")[0]) if label >= 0 else ""


def draw_side_by_side(left: Image.Image, right: Image.Image) -> Image.Image:
    """Both images, cut to squares, on white with a seam."""
    pair = Image.new("RGB", (2 * _HEIGHT + _SEAM, _HEIGHT), "white")
    for picture, at in ((left, 0), (right, _HEIGHT + _SEAM)):
        side = min(picture.size)
        x, y = ((length - side) // 2 for length in picture.size)
        square = picture.convert("RGB").crop((x, y, x + side, y + side))
        pair.paste(square.resize((_HEIGHT, _HEIGHT), Image.Resampling.BICUBIC), (at, 0))
    return pair
