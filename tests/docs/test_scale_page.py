"""docs/scale.md says what its script writes from the committed slopes, and its arithmetic is that of a loop by hand."""

import json
import math
from pathlib import Path

import pytest
import scale_numbers as numbers
from scale_page import page

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def content():
    return json.loads((DOCS / "scale" / "slopes.json").read_text("utf-8"))


def test_the_page_is_what_the_script_writes(content):
    """Fault planted: a number of the page changed by hand."""
    assert page(content) == (DOCS / "scale.md").read_text("utf-8")


def test_every_slope_counts(content):
    """Slopes of real sizes, and one for each detector of ImageNet-OOD: a short run must not be committed."""
    from oochub.studies.imagenet_ood.plan import TABLES

    found = numbers.slopes(content)
    keys = {key for table in TABLES.values() for key in table.detectors}
    assert {f"{key.partition(':')[0]}_score" for key in keys} <= set(found) and len(keys) == 13  # ODIN in two forms
    assert "2,048 features and 1,000 classes" in found["knn_score"]["what"]
    assert found["decode"]["sizes"][1] > 200 and all(math.isfinite(each["cpu"]) for each in found.values())


def slope(name, cpu, **more):
    return {"name": name, "what": name, "cpu": cpu, "start": 0.0, "bytes": 100.0, **more}


def test_times_are_those_worked_by_hand():
    """Round slopes, so that a person can follow. Faults planted: one machine's cores of many, a GPU that never waits.

    Decoding takes 1 ms and the pass 9 ms: a billion images are 10^7 core-seconds, 5 x 10^6 s on 2 cores. With a GPU
    the pass is off the cores: 16 cores decode 16,000 images a second, more than its 3,729.86. 64 cores decode 64,000,
    8 GPUs take 29,838.88. Of EfficientNet-Lite0 a GPU takes 9,657.18, and 16 cores of 2 ms give 8,000: a wall.
    """
    named = {"decode": 1e-3, "resnet50_float32": 9e-3, "evaluate_1000": 1e-6, "knn_score": 2.0}
    others = ("store_features", "store_logits", "fine_tune", "build", "annotations", "heads", "evaluate_2", "vim_fit")
    slopes = {name: slope(name, cpu) for name, cpu in named.items()} | {name: slope(name, 0.0) for name in others}
    slopes["knn_score"]["what"] = "score of knn, bank of 1,000"
    billion = numbers.jobs(slopes)["a billion web images"]
    sizes = {size.name: size for size in numbers.SIZES}
    assert billion[0].seconds(sizes["2 cores"]) == pytest.approx(5e6)
    assert billion[0].seconds(sizes["one GPU"]) == pytest.approx(1e9 / 3729.86)
    assert billion[0].seconds(sizes["8 GPUs"]) == pytest.approx(1e9 / 29838.88)
    assert billion[0].seconds(sizes["100 machines"]) == pytest.approx(1e9 / 372986)
    assert billion[0].bytes == 1e11
    assert billion[1].seconds(sizes["100 machines"]) == pytest.approx(1000)  # one process, wherever
    few = numbers.jobs(slopes)["NOOCH"][4]  # 24,657 rows are 4 parts
    assert few.seconds(sizes["100 machines"]) == pytest.approx(24_657 / 3729.86 / 4)
    knn = numbers.jobs(slopes)["ImageNet-OOD"][-1]
    assert knn.core_seconds == pytest.approx(13 * 111_802 * 1_281_167 * 2e-3)
    assert knn.seconds(sizes["100 machines"]) == pytest.approx(knn.core_seconds / (13 * 16))  # a model a machine
    from scale_walls import walls as walls_of

    slopes["decode"]["cpu"] = 2e-3
    memory = {name: {"sizes": (100, 200), "peaks": (1000, 11_000)} for name in ("predict_1000", "evaluate_2")}
    walls = {wall.name: wall for wall in walls_of(slopes, memory, sizes["one GPU"])}
    assert walls["EfficientNet-Lite0: cores that decode for the GPUs"].ratio == pytest.approx(9657.18 / 8000)
    assert walls["a billion web images: the rows of one file in memory"].ratio == pytest.approx(100e9 / 64e9)
    slopes["decode"]["cpu"] = 5e-3  # 16 cores decode 3,200 images a second: the GPU waits
    assert numbers.jobs(slopes)["a billion web images"][0].seconds(sizes["one GPU"]) == pytest.approx(1e9 / 3200)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "under 1 s"), (45.2, "45 s"), (119, "120 s"), (600, "10 min"), (7200, "2 h"), (2e5, "2.3 days")],
)
def test_times_read_well(seconds, words):
    assert numbers.days(seconds) == words
