"""The images on which two detectors disagree most: one takes them for out of distribution, the other does not."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from oochub.detection.detector_scores import ScoredSet
from oochub.detection.image_sets import choose_detector, split_scored_sets
from oochub.errors import OochubError, check_installed, choose_wording
from oochub.figures._picture_grid import Picture, draw_picture_grid, name_class, select_pictures
from oochub.figures._style import SHIFTS, name_detector
from oochub.report import format_numbers, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CELL = 1.5  # inches


def disagreement_pictures(
    scored_sets: Sequence[ScoredSet],
    *,
    datasets: Mapping[str, Any],
    detector: str | None = None,
    against: str = "msp",
    columns: int = 8,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draws Figs. 12 and 13: of each set the images that `detector` ranks low (out) and `against` ranks high (in).

    The percentile rank of an image is among the images of its own set, ties share their mean. The largest
    difference comes first, of equal ones the first in the file; images that `detector` ranks no lower are not shown.
    Swap the two detectors for the reverse.

    Args:
        scored_sets: What `oochub.detection.detector_scores.score_sets` returns.
        datasets: Config to the data set that was predicted, of every set; only the images shown are decoded.
        detector: Its key or name; None takes the first that is not `against`.
        against: The detector that it is compared with.
        columns: Images of each set; the paper shows 12.
        ax: Axes to fill; None makes a new figure.

    Returns:
        The axes; `ax.child_axes` are the images in order, labeled "<set>/<split>/<example_id>". Above each stand both
        ranks, 0 to 100, and what is in the image.

    Raises:
        OochubError: An unknown detector, twice the same, columns below 1, a data set that is not given or lacks a
            image, no disagreement at all; matplotlib is not installed.

    Source: ImageNet-OOD, Appendix G, Figs. 12 and 13.

    >>> import datasets, pyarrow as pa
    >>> from PIL import Image
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.detection.detector_scores import score_sets
    >>> told = {"model": {}, "class_names": ["car", "cow"], "rows": {"test": 2}, "benchmark": "mine", "version": "1.0"}
    >>> rows = {"example_id": ["1", "2"], "split": ["test"] * 2, "logits": [[3.0, 0.0], [5.0, 4.0]], "label": [0, 1]}
    >>> images = datasets.Dataset.from_dict(
    ...     {"example_id": ["1", "2"], "image": [Image.new("RGB", (8, 6))] * 2},
    ...     features=datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()}),
    ... )
    >>> scored = score_sets([Predictions(pa.table(rows), told | {"config": "known"})], ["max_logit", "msp"])
    >>> ax = disagreement_pictures(scored, datasets={"known": images})
    >>> [image.get_title(loc="left") for image in ax.child_axes]
    ['max logit 25, msp 75\ncar']
    """
    check_installed("matplotlib", "plots", "Drawing plots")
    baseline = choose_detector(scored_sets, against)
    key = choose_detector(scored_sets, detector, but=baseline)
    if key == baseline:
        other = choose_wording("detector=")
        raise OochubError(f"Two different detectors are needed, got {key} twice. Choose another with {other}.")
    if columns < 1:
        raise OochubError(f"columns must be a whole number, 1 or more, got {columns}.")
    parts = split_scored_sets(scored_sets)
    grid = []
    for part in parts:
        rows = np.flatnonzero(part.rows)
        own, others = (
            100 * (stats.rankdata(part.scored.scores[name][rows]) - 0.5) / len(rows) for name in (key, baseline)
        )
        order = np.argsort(own - others, kind="stable")[:columns]
        order = order[own[order] < others[order]]
        images = select_pictures(part.scored, [int(rows[place]) for place in order], datasets)
        split, ids = part.scored.predictions.split, part.scored.predictions.column("example_id")
        pictures = []
        for place in order.tolist():
            row = int(rows[place])
            ranks = f"{name_detector(key)} {own[place]:.0f}, {name_detector(baseline)} {others[place]:.0f}"
            title = "\n".join(filter(None, [ranks, name_class(part.scored, row)]))
            label = f"{part.scored.name}/{split[row]}/{ids[row]}"
            pictures.append(Picture(name=label, title=title, image=images[row]))
        heading = f"{wording.name(part.name)}: {SHIFTS[part.shift]} (n = {format_numbers.count(len(rows))})"
        grid.append((heading, pictures))
    if not any(pictures for _, pictures in grid):
        raise OochubError(f"{key} and {baseline} rank all images in the same order: there is no disagreement to show.")
    note = (
        f"{name_detector(key)} ranks these images lower (out of distribution) than {name_detector(baseline)} does, "
        "largest difference first; percentile ranks among the images of the same set, 100 is most in-distribution."
    )
    return draw_picture_grid(ax, grid, columns=columns, legend={}, note=note, cell=_CELL)
