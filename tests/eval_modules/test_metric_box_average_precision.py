"""AP, AP50, AP75 and AR of boxes against pycocotools, on drawn worlds with crowds, sizes and ties and on real COCO."""

import json

import numpy as np
import pytest
from coco_boxes_worlds import STATS, draw_detections, draw_truth, list_columns, measure_with_pycocotools

import oochub
from oochub.errors import OochubError
from oochub.metric import read_facts
from oochub.stats.bootstrap import draw_replicates
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import estimate

_PRECISION = oochub.get("metric", "box_average_precision")
_AT_IOU = oochub.get("metric", "box_precision_at_iou")
_RECALL = oochub.get("metric", "box_average_recall")


def _measure(columns):
    sizes = {f"ap_{size}": _PRECISION(**columns, object_size=size) for size in ("small", "medium", "large")}
    return {"ap": _PRECISION(**columns), **_AT_IOU(**columns), **sizes, **_RECALL(**columns)}


def _compare(truth, seed, ids, decimals):
    found = draw_detections(truth, seed, decimals=decimals)
    expected = measure_with_pycocotools(truth, found, sorted(ids))
    measured = _measure(list_columns(truth, found, ids))
    for name in STATS:
        assert measured[name] == pytest.approx(expected[name], abs=1e-9, nan_ok=True), name


@pytest.mark.parametrize("seed", range(4))
def test_it_is_that_of_pycocotools(seed):
    """Rows come in another order than the ids, by which pycocotools orders boxes of equal score."""
    truth = draw_truth(seed)
    ids = [image["id"] for image in truth["images"]]
    _compare(truth, seed, np.random.default_rng(seed).permutation(ids).tolist(), decimals=1 + seed % 3)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["permissive_subset/instances.json", "annotations/instances_slice569.json"])
def test_it_is_that_of_pycocotools_on_real_coco(name, real_data):
    truth = json.loads((real_data / "coco" / name).read_bytes())
    _compare(truth, 0, [image["id"] for image in truth["images"]], decimals=2)


def test_more_than_100_boxes_of_a_class_count_as_pycocotools_counts_them():
    """130 boxes, the last of which is the only one that is right."""
    truth = draw_truth(0, images=3)
    image = truth["images"][0]["id"]
    truth["annotations"] = [
        {"id": 1, "image_id": image, "category_id": 1, "bbox": [0, 0, 50, 50], "area": 2500.0, "iscrowd": 0}
    ]
    found = [
        {"image_id": image, "category_id": 1, "bbox": [60, 60, 20, 20], "score": 0.9 - k / 1000} for k in range(130)
    ]
    for place in (99, 100, 129):
        moved = [dict(each, bbox=[0, 0, 50, 50]) if k == place else each for k, each in enumerate(found)]
        ids = [each["id"] for each in truth["images"]]
        expected = measure_with_pycocotools(truth, moved, sorted(ids))
        measured = _measure(list_columns(truth, moved, ids))
        assert measured["ap"] == pytest.approx(expected["ap"], abs=1e-9)
        assert measured["ar100"] == expected["ar100"] == (place < 100)


def test_a_case_by_hand():
    """One of two cars is found at three of ten overlaps: AP is 1 there, and at the others the other car's 51 of 101."""
    car, most = [0, 0, 10, 10], [0, 0, 10, 6]
    columns = {"boxes": [[most], [car]], "scores": [[0.9], [0.8]], "true_boxes": [[car], [car]]}
    assert _PRECISION(**columns) == pytest.approx(0.3 + 0.7 * 51 / 101 / 2)
    assert _AT_IOU(**columns) == pytest.approx({"ap50": 1.0, "ap75": 51 / 101 / 2})
    assert _RECALL(**columns) == pytest.approx({"ar1": 0.65, "ar10": 0.65, "ar100": 0.65})


@pytest.mark.slow
def test_the_bootstrap_is_that_of_whole_images():
    """reference: the metric itself of drawn rows, image ids anew."""
    truth = draw_truth(7, images=25)
    ids = [image["id"] for image in truth["images"]]
    columns = list_columns(truth, draw_detections(truth, 7, decimals=4), ids)
    arrays = {name: np.array([*values, None], object)[:-1] for name, values in columns.items() if name != "image_id"}

    def of_rows(row):
        return _PRECISION(**{name: array[row] for name, array in arrays.items()}, image_id=row)

    for cluster in (None, np.arange(25) % 22):
        sampling = Sampling(cluster=cluster, resamples=100, seed=3)
        drawn = draw_replicates(of_rows, {"row": np.arange(25)}, sampling)
        found = estimate(_PRECISION, columns, cluster=cluster, resamples=100, seed=3)
        assert (found.low, found.high) == pytest.approx(tuple(np.quantile(drawn, (0.025, 0.975))), abs=1e-9)
        assert "22 clusters" in found.method if cluster is not None else "bootstrap of images" in found.method
        assert "images have a true box: the interval may be too narrow" in found.reason


def test_counts_of_images_stand_for_drawn_images():
    """A bootstrap of two models counts images in place of drawing rows: the same numbers, for each of the metrics."""
    truth = draw_truth(3, images=20)
    columns = list_columns(truth, draw_detections(truth, 3, decimals=6), [image["id"] for image in truth["images"]])
    for metric in (_PRECISION, _AT_IOU, _RECALL):
        compute = read_facts(metric).of_counts(columns)
        for seed in range(5):
            drawn = np.random.default_rng(seed).integers(20, size=20)
            rows = {name: [values[row] for row in drawn] for name, values in columns.items()}
            assert compute(np.bincount(drawn, minlength=20)) == pytest.approx(metric(**rows), abs=1e-12)


def test_images_without_a_true_box_have_no_number():
    columns = {"boxes": [[[0, 0, 1, 1]]] * 3, "scores": [[0.5]] * 3, "true_boxes": [[]] * 3}
    found = estimate(_PRECISION, columns)
    assert np.isnan(found.value) and found.reason == "no image has a true box" and found.n == 3
    assert all(np.isnan(value) for value in {**_AT_IOU(**columns), **_RECALL(**columns)}.values())


@pytest.mark.parametrize("metric", [_PRECISION, _AT_IOU, _RECALL])
def test_rows_in_which_no_box_is_and_none_was_drawn_have_no_number(metric):
    """A slice of empty images and a detector that draws nothing there; a class that is never drawn counts 0."""
    columns = {"boxes": [[]] * 3, "scores": [[]] * 3, "true_boxes": [[]] * 3}
    found = estimate(metric, columns)
    for each in found.values() if isinstance(found, dict) else [found]:
        assert np.isnan(each.value) and each.reason == "no image has a true box" and each.n == 3
    classes = {"box_categories": [[0], []], "true_categories": [[0], [1]]}
    box = [0, 0, 1, 1]
    number = metric(boxes=[[box], []], scores=[[1.0], []], true_boxes=[[box], [box]], **classes)
    assert set(number.values() if isinstance(number, dict) else [number]) == {0.5}


def test_a_perfect_detector_is_evaluated_where_images_have_no_box():
    """Images out of context are empty, and it draws nothing there: AP and AR are 1 on all rows, and none out there."""
    box = [0.0, 0.0, 4.0, 4.0]
    true = [[box], [box], [], []] * 5
    predictions = oochub.Predictions.from_arrays(
        detected_boxes=true,
        scores=[[0.9] * len(row) for row in true],
        boxes=true,
        kind="boxes",
        challenge=["easy", "easy", "hard", "hard"] * 5,
    )
    asked = ["box_average_precision", "box_precision_at_iou", "box_average_recall"]
    report = oochub.evaluate(predictions, metrics=asked)
    names = ("box_average_precision", "box_precision_at_iou.ap75", "box_average_recall.ar100")
    assert [report[name].value for name in names] == [1.0] * 3
    inside, outside = report.slice_of("in").metrics, report.slice_of("out").metrics
    assert [inside[name].value for name in names] == [1.0] * 3
    assert all(np.isnan(outside[name].value) for name in names), outside


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"object_size": "tiny"}, "object_size.*tiny"),
        ({"box_categories": [[0]]}, "box_categories needs true_categories"),
        ({"true_crowd": [[2]]}, "true_crowd must be 0 or 1, got 2 at row 0"),
        ({"box_categories": [[0.5]], "true_categories": [[0]]}, "box_categories must be whole numbers, got 0.5 at row"),
        ({"true_areas": [[1.0, 2.0]]}, "true_areas must have one value per box"),
        ({"image_id": [1.5]}, "image_id"),
    ],
)
def test_what_is_wrong_is_named(more, words):
    with pytest.raises(OochubError, match=words):
        _PRECISION(boxes=[[[0, 0, 1, 1]]], scores=[[0.5]], true_boxes=[[[0, 0, 1, 1]]], **more)
