"""Images without the object: the shares of the metric false_alarms at each threshold, and what the report says."""

import numpy as np
import pytest

import oochub
from oochub.report.report import Report
from oochub.stats.estimation import estimate

_FALSE_ALARMS = oochub.get("metric", "false_alarms")
_BOX = [0.0, 0.0, 5.0, 5.0]


def _columns(hard_share):
    """200 images, half empty; a box of 0.6 in a tenth of the easy ones, and in `hard_share` of the hard ones."""
    rows = np.arange(200)
    is_empty, is_hard = rows % 2 == 0, rows % 4 < 2
    drawn = np.where(is_hard, rows // 4 % 10 < 10 * hard_share, rows // 4 % 10 < 1)
    return {
        "detected_boxes": [[_BOX] if each else [] for each in drawn],
        "scores": [[0.6] if each else [] for each in drawn],
        "boxes": [[] if each else [_BOX] for each in is_empty],
        "challenge": np.where(is_hard, np.where(is_empty, "hard_negative", "hard_positive"), "easy"),
    }


@pytest.mark.parametrize(("hard_share", "said"), [(0.5, "is clear (95% interval +"), (0.1, "is not clear (95%")])
def test_shares_are_those_of_the_metric_and_the_sentence_follows_its_interval(hard_share, said, tmp_path):
    columns = _columns(hard_share)
    made = oochub.Predictions.from_arrays(**columns, class_names=["car"], benchmark="nooch", config="boxes_car")
    report = Report.load(oochub.evaluate(made, resamples=100).save(tmp_path / "report.json"))
    for side, word in (("in_context", "easy"), ("out_of_context", "hard")):
        rows = np.flatnonzero(np.char.startswith(columns["challenge"], word))
        own = {
            name: [columns[column][row] for row in rows]
            for name, column in (("boxes", "detected_boxes"), ("scores", "scores"), ("true_boxes", "boxes"))
        }
        for threshold in (0.3, 0.5, 0.7, 0.9):
            expected = estimate(_FALSE_ALARMS, own, options={"threshold": threshold}, resamples=100)
            found = report[f"empty_images/{threshold:g}/{side}"]
            assert found.to_dict() == expected.to_dict()
    text = report.to_markdown().replace("\\", "")
    assert f"is drawn in {100 * hard_share:.1f}% of 50 images" in text and "in 10.0% of 50 images" in text
    assert said in text


def test_no_empty_image_and_no_boxes_have_no_such_finding():
    columns = {**_columns(0.5), "boxes": [[_BOX]] * 200}
    made = oochub.Predictions.from_arrays(**columns, class_names=["car"])
    assert "empty_images" not in (oochub.evaluate(made, resamples=100).findings or {})
