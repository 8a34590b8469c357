"""What a page shows of a row beside its words: boxes over its image."""

import io
import re

import numpy as np
import pyarrow as pa
import pytest
import reports
from PIL import Image

import oochub
from oochub import Predictions
from oochub.records.schema import from_json, to_json
from oochub.report.mistake_cards import mistake_cards
from oochub.report.report import Report

_TRUE, _SAID, _UNSURE = [10.0, 20.0, 30.0, 60.0], [12.0, 20.0, 30.5, 60.0], [0.0, 0.0, 5.0, 5.0]
_PATHS = {"true": "M10.0 20.0h20.0v40.0h-20.0z", "said": "M12.0 20.0h18.5v40.0h-18.5z"}


def _report(**columns):
    """Of two images of 200 x 100 pixels, shown smaller: in the first a box is drawn twice, in the second none."""
    rows = Predictions.from_arrays(
        detected_boxes=[[_SAID, _SAID, _UNSURE], []],
        scores=[[0.9, 0.8, 0.5], []],
        boxes=[[_TRUE], [_TRUE]],
        class_names=["head"],
        **columns,
    )
    file = io.BytesIO()
    Image.new("RGB", (40, 20), "green").save(file, "JPEG")
    pictured = rows.rows.with_column("thumbnail", pa.array([file.getvalue()] * 2, pa.binary()))
    return oochub.evaluate(Predictions(pictured, rows.metadata), resamples=100)


def test_boxes_are_drawn_over_their_picture_in_its_own_pixels():
    """By hand."""
    report = _report(width=[200, 200], height=[100, 100])
    again = from_json(Report, to_json(report), what="again")
    assert again.mistakes == report.mistakes
    page = again.to_html()
    drawn = re.findall(r'<svg class="pic" viewBox="([^"]*)" aria-hidden="true">(.*?)</svg>', page)
    paths = [dict(re.findall(r'<path class="box (\w+)" d="([^"]*)"/>', inner)) for _, inner in drawn]
    assert {size for size, _ in drawn} == {"0 0 200 100"}
    assert sorted(paths, key=str) == sorted(
        [{"true": _PATHS["true"], "said": 2 * _PATHS["said"]}, {"true": _PATHS["true"], "said": ""}], key=str
    )
    assert page.count("true box (solid)") == 1
    assert "<svg class" not in again.to_html(images=False).partition('id="mistakes"')[2]


def test_pictures_of_unknown_size_have_no_boxes():
    """Planted and seen: a legend on a page without boxes."""
    page = _report().to_html()
    assert page.count("<img") == 2 and 'class="box' not in page.partition("</style>")[2]


@pytest.mark.slow
def test_boxes_beyond_the_budget_are_left_out_and_said():
    """Planted and seen: a budget that a left out image uses up."""
    report = _report(width=[200] * 2, height=[100] * 2)
    many = {"width": 200, "height": 100, "true": [], "answered": np.tile(_TRUE, (4000, 1)).tolist()}
    content = to_json(report)
    content["mistakes"][0]["boxes"] = many
    changed = reports.read(content)
    cards = mistake_cards(changed.mistakes, changed.benchmark)
    assert [card["left_out"] for card in cards] == ["boxes", ""]
    assert cards[0]["picture"] and not cards[0]["boxes"] and cards[1]["boxes"]
    assert changed.to_html().count("boxes left out: the page is full") == 1
