"""Mistakes of a model out of context, and what it looked at in each; a second model may stand below it."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from oochub.attention.attention import Attention
from oochub.attention.attention_map import AttentionMap
from oochub.errors import check_installed
from oochub.figures._picture_grid import Picture, draw_picture_grid
from oochub.report import format_numbers, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEAT = "inferno"
_COVER = 0.75  # of a pixel, where the map is 1


def saliency(attention: Attention, *, ax: "Axes | None" = None) -> "Axes":
    """Draws a row of images and a row of maps for each model, one column per example.

    A map lies over the gray image, the brighter the more a place speaks for the answer above it; the answer has its
    probability beside it. If masks were given, the object is outlined, and the share of the map on it stands
    beside its share of the image.

    Args:
        attention: What `oochub.attention.attention.attention` returns.
        ax: Axes to fill; None makes a new figure.

    Returns:
        The axes; `ax.child_axes` are the images and then the maps of each model, labeled "<row>/<example_id>".

    Raises:
        OochubError: matplotlib is not installed.

    Source: Lynch et al., Spawrious, Appendix D, Figures 6 to 8.

    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> seen = AttentionMap(
    ...     example_id="7", label="corgi", context="snow", model="erm", answer="bulldog", probability=0.9, shown=True,
    ...     picture=np.zeros((8, 8, 3), np.uint8), map=np.eye(8, dtype=np.float32), mask=None,
    ... )
    >>> found = Attention(
    ...     models=("erm",), split="test", rows="all of test", label="corgi", answer="bulldog", n=1, maps=(seen,),
    ...     settings={"samples": 4, "noise": 0.3, "variant": "paper", "seed": 0},
    ... )
    >>> [image.get_title(loc="left") for image in saliency(found).child_axes]
    ['corgi, snow', 'bulldog (wrong) 90%']
    """
    check_installed("matplotlib", "plots", "Drawing plots")
    shown = [mapping for mapping in attention.maps if mapping.shown]
    first = [mapping for mapping in shown if mapping.model == attention.models[0]]
    rows = [
        (
            f"{wording.words(attention.label)} taken for {wording.words(attention.answer)} by {attention.models[0]}",
            [_decode_picture(mapping) for mapping in first],
        )
    ]
    for name in attention.models:
        own = [_map(mapping) for mapping in shown if mapping.model == name]
        rows.append((f"Evidence for the answer of {name}", own))
    has_masks = any(mapping.mask is not None for mapping in shown)
    legend = {"object": "the object"} if has_masks else {}
    return draw_picture_grid(ax, rows, columns=max(len(first), 2), legend=legend, note=_note(attention, has_masks))


def _decode_picture(each: AttentionMap) -> Picture:
    words = wording.words(each.label) + (f", {wording.words(each.context)}" if each.context else "")
    image = Image.fromarray(each.picture)
    return Picture(name=f"picture/{each.example_id}", title=words, image=image, outlines=_outline_mask(each.mask))


def _map(each: AttentionMap) -> Picture:
    wrong = "" if each.is_right else " (wrong)"
    title = f"{wording.words(each.answer)}{wrong} {100 * each.probability:.0f}%"
    if each.area is not None:
        share = "nothing" if each.share is None else f"{100 * each.share:.0f}%"
        title += f"\n{share} on the object ({100 * each.area:.0f}%)"
    image = Image.fromarray(_overlay_map(each))
    return Picture(name=f"{each.model}/{each.example_id}", title=title, image=image, outlines=_outline_mask(each.mask))


def _overlay_map(each: AttentionMap) -> NDArray[np.uint8]:
    from matplotlib import colormaps

    gray = np.asarray(Image.fromarray(each.picture).convert("L").convert("RGB"), np.float64) / 255
    heat, cover = colormaps[_HEAT](each.map)[..., :3], _COVER * each.map[..., None]
    mixed: NDArray[np.uint8] = (255 * ((1 - cover) * gray + cover * heat)).round().astype(np.uint8)
    return mixed


def _outline_mask(mask: NDArray[np.bool_] | None) -> dict[str, Sequence[NDArray[Any]]]:
    if mask is None or not mask.any():
        return {}
    from contourpy import contour_generator

    lines = contour_generator(z=np.pad(mask, 1).astype(np.float64)).lines(0.5)
    return {"object": [np.asarray(line, dtype=np.float64) - 1 for line in lines]}


def _note(attention: Attention, has_masks: bool) -> str:
    settings = attention.settings
    way = "as torchcam computes it, " if settings["variant"] == "torchcam" else ""
    copies = f"{settings['samples']} noisy {'copy' if settings['samples'] == 1 else 'copies'}"
    text = (
        f"Smooth Grad-CAM++ ({way}{copies}, noise {settings['noise']:g}) of the last spatial layer, over the "
        "image as the model sees it. Each map is divided by its largest value, so two maps are not on one scale. The "
        f"surest of {format_numbers.count(attention.n)} such mistakes, from {attention.rows}."
    )
    return text + (" In brackets: the share of the image that the object covers." * has_masks)
