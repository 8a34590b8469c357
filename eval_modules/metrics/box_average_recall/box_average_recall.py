"""Average recall of boxes: COCO's AR, the share of true boxes found by the first 1, 10 or 100 boxes of an image.

    AR@m = mean over 10 overlaps of 0.5 to 0.95 and over classes of (true boxes found) / (true boxes)

A true box is found if one of the m boxes of its class and image with the highest scores overlaps it enough and no
better one.

Interval: a percentile bootstrap of images, or of whole clusters; boxes are matched once, and each resample counts
again. With fewer than 100 images that show an object it covers about 0.9, and says that it may be too narrow.

Limitations: A box that matches nothing costs nothing: a detector that draws many boxes is not punished for it.

Source: Lin et al. 2014, "Microsoft COCO: Common Objects in Context", ECCV, and the evaluation of its benchmark,
`COCOeval` of pycocotools.
"""

from collections.abc import Sequence

import numpy as np

from oochub.eval_modules.metrics._box_rows import BoxRowsState, Measure
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array
from oochub.stats.image_boxes import BoxRanking, ObjectSize, RaggedRows

_MOST = {"ar1": 1, "ar10": 10, "ar100": 100}


def box_average_recall(
    boxes: RaggedRows,
    scores: RaggedRows,
    true_boxes: RaggedRows,
    box_categories: RaggedRows | None = None,
    true_categories: RaggedRows | None = None,
    true_crowd: RaggedRows | None = None,
    true_areas: RaggedRows | None = None,
    image_id: RaggedRows | None = None,
    object_size: ObjectSize = "all",
) -> dict[str, float]:
    """COCO's AR of boxes at 1, 10 and 100 boxes per image.

    Args:
        boxes: The boxes (m, 4) of each of n images, x1, y1, x2, y2 in pixels.
        scores: Their scores (m,) in each image, any real numbers.
        true_boxes: The true boxes (k, 4) of each image.
        box_categories: Whole numbers of the classes of the boxes (m,); None takes all boxes as of one class.
        true_categories: The same of the true boxes (k,).
        true_crowd: 1 where a true box holds a crowd, else 0 (k,): boxes in it do not count. None has no crowds.
        true_areas: Areas of the true objects (k,), by which `object_size` selects; None takes those of their boxes.
        image_id: Number of each image (n,): boxes of equal score are taken in its order, as in pycocotools. None takes
            the order of rows.
        object_size: Size of the objects that count: "all", "small" (up to 32 x 32 pixels), "medium" (96 x 96), "large".

    Returns:
        `ar1`, `ar10` and `ar100`, fractions in [0, 1], higher is better; nan if no true box counts.

    Raises:
        OochubError: As `oochub.stats.image_boxes`; ids that are no whole numbers; another size; no rows.

    >>> car, half = [0, 0, 10, 10], [0, 0, 10, 6]  # an overlap of 0.6 is a match at 3 of 10 overlaps
    >>> box_average_recall(boxes=[[half, car]], scores=[[0.9, 0.8]], true_boxes=[[car]])
    {'ar1': 0.3, 'ar10': 1.0, 'ar100': 1.0}
    """
    state = _State(object_size=object_size)
    state.update(boxes, scores, true_boxes, box_categories, true_categories, true_crowd, true_areas, image_id)
    recalls: dict[str, float] = state.compute()
    return recalls


def _measure(rankings: Sequence[BoxRanking]) -> Measure:
    if not rankings:  # no box is there and none was drawn
        return lambda times: np.full(len(_MOST), np.nan)
    true = np.array([ranking.true for ranking in rankings])
    counts = np.array([[ranking.count_found(most) for ranking in rankings] for most in _MOST.values()])

    def divide(times: Array) -> Array:
        wanted = true @ times
        if not wanted.any():
            return np.full(len(_MOST), np.nan)
        shares: Array = (counts @ times)[:, wanted > 0] / wanted[wanted > 0]
        means: Array = shares.mean(axis=1)
        return means

    return divide


class _State(BoxRowsState):
    keys = tuple(_MOST)
    measure = staticmethod(_measure)


FACTS = MetricFacts(
    title="AR",
    direction="higher",
    outputs=("boxes",),
    keys={key: MetricFacts(title=f"AR@{most}", direction="higher", outputs=("boxes",)) for key, most in _MOST.items()},
    interval=_State.estimate_columns,
    of_counts=_State.count_columns,
)


class BoxAverageRecall(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "box_average_recall"))
    >>> box = [0, 0, 10, 10]
    >>> module.compute(boxes=[[box], []], scores=[[0.9], []], true_boxes=[[box], [box]])
    {'ar1': 0.5, 'ar10': 0.5, 'ar100': 0.5}
    """

    state = _State
