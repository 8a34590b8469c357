"""Average precision of boxes at one overlap: COCO's AP50 and AP75.

    AP50 = mean over classes and recalls r = 0, 0.01, ..., 1 of max_(r' >= r) precision(r'), at an overlap of 0.5

AP75 is the same at an overlap of 0.75; box_average_precision is the mean over ten of them. A low AP75 beside a high
AP50 says that objects are found, but not well enclosed.

Interval: a percentile bootstrap of images, or of whole clusters; boxes are matched once, and each resample counts
again. With fewer than 100 images that show an object it covers about 0.9, and says that it may be too narrow.

Limitations: As for box_average_precision: values of sets with other shares of images without an object do not compare.

Source: Lin et al. 2014, "Microsoft COCO: Common Objects in Context", ECCV, and the evaluation of its benchmark,
`COCOeval` of pycocotools.
"""

from collections.abc import Sequence

from oochub.eval_modules.metrics._box_rows import BoxRowsState, Measure, measure_precision
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.image_boxes import BoxRanking, ObjectSize, RaggedRows

_PLACES = {"ap50": 0, "ap75": 5}  # among the ten overlaps


def box_precision_at_iou(
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
    """COCO's AP50 and AP75 of boxes.

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
        `ap50` and `ap75`, fractions in [0, 1], higher is better; nan if no true box counts.

    Raises:
        OochubError: As `oochub.stats.image_boxes`; ids that are no whole numbers; another size; no rows.

    >>> car, half = [0, 0, 10, 10], [0, 0, 10, 6]
    >>> box_precision_at_iou(boxes=[[half]], scores=[[0.9]], true_boxes=[[car]])
    {'ap50': 1.0, 'ap75': 0.0}
    """
    state = _State(object_size=object_size)
    state.update(boxes, scores, true_boxes, box_categories, true_categories, true_crowd, true_areas, image_id)
    precisions: dict[str, float] = state.compute()
    return precisions


def _measure(rankings: Sequence[BoxRanking]) -> Measure:
    return lambda times: measure_precision(rankings, times)[list(_PLACES.values())]


class _State(BoxRowsState):
    keys = tuple(_PLACES)
    measure = staticmethod(_measure)


FACTS = MetricFacts(
    title="AP at one overlap",
    direction="higher",
    outputs=("boxes",),
    keys={key: MetricFacts(title=key.upper(), direction="higher", outputs=("boxes",)) for key in _PLACES},
    interval=_State.estimate_columns,
    of_counts=_State.count_columns,
)


class BoxPrecisionAtIou(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "box_precision_at_iou"))
    >>> module.compute(boxes=[[[0, 0, 10, 6]]], scores=[[0.9]], true_boxes=[[[0, 0, 10, 10]]])
    {'ap50': 1.0, 'ap75': 0.0}
    """

    state = _State
