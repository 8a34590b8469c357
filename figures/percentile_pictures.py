"""Images at percentiles of a detector's score or of their distance, each beside the nearest one in distribution."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oochub.detection.detector_scores import ScoredSet
from oochub.detection.image_sets import (
    Nearest,
    choose_detector,
    choose_inside_part,
    choose_outside_part,
    find_nearest_inside,
)
from oochub.errors import OochubError, check_installed
from oochub.figures._picture_grid import Picture, draw_picture_grid, draw_side_by_side, name_class, select_pictures
from oochub.figures._style import name_detector
from oochub.report import format_numbers, wording
from oochub.stats.ranking import count_needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def percentile_pictures(
    scored_sets: Sequence[ScoredSet],
    *,
    datasets: Mapping[str, Any],
    nearest: Mapping[str, Nearest] | None = None,
    detectors: Sequence[str] | None = None,
    percentiles: Sequence[float] = (10, 30, 50, 70, 90),
    outside: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draws Fig. 2: a row for the distance and for each detector, a column for each percentile.

    An image at percentile q is the k-th of the n rows out of distribution, k = ceil(q n / 100), from the nearest to
    the farthest, or from the lowest score to the highest; of equal ones the first in the file comes first. The right
    half of each pair is the image in distribution whose features are nearest by cosine. Images are cut to squares.

    Args:
        scored_sets: What `oochub.detection.detector_scores.score_sets` returns; the nearest are of the first set in
            distribution without shift.
        datasets: Config to the data set that was predicted, for both sets; only the images shown are decoded.
        nearest: What `oochub.detection.image_sets.find_nearest_inside` returns, by any embedding; None takes the
            features of the scored predictions.
        detectors: Their keys or names; None takes all.
        percentiles: Percentiles in (0, 100].
        outside: The set out of distribution; None takes the first.
        ax: Axes to fill; None makes a new figure.

    Returns:
        The axes; `ax.child_axes` are the pairs, row by row, labeled "<row>/<percentile>/<example_id>/<nearest id>".

    Raises:
        OochubError: An unknown set or detector, a percentile outside (0, 100], a data set that is not given or lacks a
            image; what `find_nearest_inside` raises; matplotlib is not installed.

    Source: ImageNet-OOD, Fig. 2 (Section 3.3).

    >>> import datasets, matplotlib, pyarrow as pa
    >>> from PIL import Image
    >>> from oochub.prediction.predictions import Predictions
    >>> from oochub.detection.detector_scores import score_sets
    >>> told = {"model": {}, "class_names": ["car", "cow"], "rows": {"test": 2}, "benchmark": "mine", "version": "1.0"}
    >>> rows = {"example_id": ["1", "2"], "split": ["test"] * 2, "logits": [[3.0, 0.0], [2.0, 0.0]]}
    >>> known = {"label": [0, 1], "features": [[1.0, 0.0], [0.0, 1.0]]}
    >>> new = {"label": [-1, -1], "features": [[1.0, 0.1], [0.5, 1.0]]}
    >>> parts = [Predictions(pa.table(rows | known), told | {"config": "known"})]
    >>> parts += [Predictions(pa.table(rows | new), told | {"config": "new"})]
    >>> images = datasets.Dataset.from_dict(
    ...     {"example_id": ["1", "2"], "image": [Image.new("RGB", (8, 6))] * 2},
    ...     features=datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()}),
    ... )
    >>> ax = percentile_pictures(
    ...     score_sets(parts, ["max_logit"]), datasets={"known": images, "new": images}, percentiles=[50]
    ... )
    >>> [image.get_title(loc="left") for image in ax.child_axes]
    ['50th: 0.00496\nnew | car', '50th: 2\nnew | cow']
    """
    check_installed("matplotlib", "plots", "Drawing plots")
    keys = list(dict.fromkeys(choose_detector(scored_sets, name) for name in detectors or scored_sets[0].scores))
    familiar, new = choose_inside_part(scored_sets), choose_outside_part(scored_sets, outside)
    for percentile in percentiles:
        if not 0 < percentile <= 100:
            raise OochubError(f"A percentile must be above 0 and at most 100, got {percentile:g}.")
    near = (nearest if nearest is not None else find_nearest_inside(scored_sets))[new.scored.name]
    rows = np.flatnonzero(new.rows)
    orders = {"distance": near.distance[rows]} | {key: new.scored.scores[key][rows] for key in keys}
    picked = {
        name: [(percentile, rows[_find_percentile(values, percentile)]) for percentile in percentiles]
        for name, values in orders.items()
    }
    shown = sorted({int(row) for chosen in picked.values() for _, row in chosen})
    left = select_pictures(new.scored, shown, datasets)
    right = select_pictures(familiar.scored, sorted({int(near.row[row]) for row in shown}), datasets)
    ids = [part.scored.predictions.column("example_id") for part in (new, familiar)]
    grid = []
    for name, chosen in picked.items():
        values = near.distance if name == "distance" else new.scored.scores[name]
        pairs = []
        for percentile, row in chosen:
            other = int(near.row[row])
            words = " | ".join([name_class(new.scored, row) or new.name, name_class(familiar.scored, other)])
            label = f"{name}/{percentile:g}/{ids[0][row]}/{ids[1][other]}"
            title = f"{_format_ordinal(percentile)}: {_number(values[row])}\n{words}"
            pairs.append(Picture(name=label, title=title, image=draw_side_by_side(left[row], right[other])))
        grid.append((_format_heading(name, familiar.name), pairs))
    n, known_n = format_numbers.count(len(rows)), format_numbers.count(int(familiar.rows.sum()))
    note = (
        f"Left of each pair: {wording.name(new.name)} (n = {n}) at this percentile of the row's "
        f"number; right: the nearest of {wording.name(familiar.name)} (n = {known_n}) by the "
        "cosine of features. Higher scores are more in-distribution."
    )
    return draw_picture_grid(ax, grid, columns=len(percentiles), legend={}, note=note)


def _find_percentile(values: NDArray[np.float64], percentile: float) -> int:
    """The row at a percentile: an order statistic, never between two rows."""
    return int(np.argsort(values, kind="stable")[count_needed(len(values), percentile / 100) - 1])


def _format_heading(name: str, known: str) -> str:
    if name == "distance":
        return f"Distance to the nearest of {wording.name(known)} (1 − cosine)"
    return f"Score of {name_detector(name)}"


def _format_ordinal(percentile: float) -> str:
    whole = int(percentile)
    ending = {1: "st", 2: "nd", 3: "rd"}.get(whole % 10, "th") if whole % 100 not in (11, 12, 13) else "th"
    return f"{percentile:g}{ending if percentile == whole else 'th'}"


def _number(value: float) -> str:
    """Three figures, without an exponent where the number is large."""
    return (f"{value:.0f}" if 1000 <= abs(value) < 1e7 else f"{value:.3g}").replace("-", "−")
