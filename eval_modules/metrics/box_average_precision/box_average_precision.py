"""Average precision of boxes: COCO's AP, the mean over overlaps of 0.5 to 0.95 and over classes.

    AP = mean over 10 overlaps, classes and recalls r = 0, 0.01, ..., 1 of max_(r' >= r) precision(r')

Boxes are ranked by score, the 100 of an image and class with the highest scores. A box is right if it overlaps a true
box of its class that no better box has taken. Classes without a true box do not count.

Interval: a percentile bootstrap of images, or of whole clusters; boxes are matched once, and each resample counts
again. With fewer than 100 images that show an object it covers about 0.9, and says that it may be too narrow.

Limitations: AP depends on how many images show no object of the class, so values of sets with other shares of them do
not compare. With few true boxes AP is biased upwards.

Source: Lin et al. 2014, "Microsoft COCO: Common Objects in Context", ECCV, and the evaluation of its benchmark,
`COCOeval` of pycocotools.
"""

from collections.abc import Sequence

from oochub.eval_modules.metrics._box_rows import BoxRowsState, Measure, measure_precision
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.image_boxes import BoxRanking, ObjectSize, RaggedRows


def box_average_precision(
    boxes: RaggedRows,
    scores: RaggedRows,
    true_boxes: RaggedRows,
    box_categories: RaggedRows | None = None,
    true_categories: RaggedRows | None = None,
    true_crowd: RaggedRows | None = None,
    true_areas: RaggedRows | None = None,
    image_id: RaggedRows | None = None,
    object_size: ObjectSize = "all",
) -> float:
    """COCO's AP of boxes, the first number that pycocotools prints.

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
        A fraction in [0, 1], higher is better; nan if no true box counts.

    Raises:
        OochubError: As `oochub.stats.image_boxes`; ids that are no whole numbers; another size; no rows.

    >>> car, half = [0, 0, 10, 10], [0, 0, 10, 6]  # an overlap of 0.6 is a match at 3 of 10 overlaps
    >>> round(box_average_precision(boxes=[[half], [car]], scores=[[0.9], [0.8]], true_boxes=[[car], [car]]), 4)
    0.4767
    """
    state = _State(object_size=object_size)
    state.update(boxes, scores, true_boxes, box_categories, true_categories, true_crowd, true_areas, image_id)
    precision: float = state.compute()
    return precision


def _measure(rankings: Sequence[BoxRanking]) -> Measure:
    return lambda times: measure_precision(rankings, times).mean(keepdims=True)


class _State(BoxRowsState):
    measure = staticmethod(_measure)


FACTS = MetricFacts(
    title="AP", direction="higher", outputs=("boxes",), interval=_State.estimate_columns, of_counts=_State.count_columns
)


class BoxAveragePrecision(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "box_average_precision"))
    >>> box = [0, 0, 10, 10]
    >>> module.compute(boxes=[[box]], scores=[[0.9]], true_boxes=[[box]])
    {'box_average_precision': 1.0}
    """

    state = _State
