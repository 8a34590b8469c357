"""A model whose card names where the tested rows come from: a warning in every form of the report."""

from dataclasses import replace

import numpy as np
import pytest
import reports

import oochub
from oochub import catalog
from oochub.evaluation.evaluate import _find_seen_sources as seen_sources
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import HubDataSet, PredictedBy, Training

MAY = "it may have seen rows that are tested here"


def report_of(trained_on, *, benchmark="nooch", config="ce_car", training=None, data_set=None, mode="head"):
    rng = np.random.default_rng(0)
    label = np.arange(80) % 2
    score = label + rng.normal(size=80)
    columns = {"challenge": ["easy"] * 40 + ["hard_negative", "hard_positive"] * 20, "group": ["a", "b"] * 40}
    made = Predictions.from_arrays(
        logits=np.stack([-score, score], 1), label=label, class_names=["no car", "car"], benchmark=benchmark,
        config=config, **(columns if benchmark == "nooch" else {}),
    )  # fmt: skip
    model = PredictedBy(id="x/y", mode=mode, trained_on=trained_on)
    told = replace(made.metadata, model=model, training=training, data_set=data_set)
    return oochub.evaluate(Predictions(made.table, told), resamples=100)


@pytest.mark.parametrize(
    ("names", "seen"),
    [
        (["imagenet-1k"], []),
        (["imagenet-1k", "phiyodr/coco2017"], ["phiyodr/coco2017"]),
        (["COCO 2017"], ["COCO 2017"]),
        (["detection-datasets/coco", "ms_coco"], ["detection-datasets/coco", "ms_coco"]),
        (["xinchen9/coconut", "coco-like", "pascal"], ["coco-like"]),
        (["cocoa/beans", "mococo"], []),
    ],
)
def test_names_of_coco(names, seen):
    """By hand, by what the names stand for. Planted fault: names compared without the bounds of words."""
    assert list(seen_sources(names, ("coco", "mscoco"))) == seen


def test_the_warning_is_in_every_form():
    """Planted fault: the note left out where the model has a recipe."""
    for training in (None, Training(objective="erm", seed=0)):
        report = report_of(("imagenet-1k", "detection-datasets/coco"), training=training)
        assert all(MAY in " ".join(text.split()) for text in map(reports.rendered(report).get, ("terminal", "page")))
        assert next(note for note in report.notes if MAY in note).startswith(
            "the model's card says that it was trained on detection-datasets/coco, which NOOCH takes rows from"
        )
        assert (
            "imagenet-1k and detection-datasets/coco, according to the model&#39;s card"
            in reports.rendered(report)["page"]
        )
    assert report.model.trained_on == ("imagenet-1k", "detection-datasets/coco")


def test_no_warning_without_a_reason():
    """Other data, no card, and own data from elsewhere. Planted fault: the name of any benchmark taken for a source."""
    for report in (report_of(("imagenet-1k",)), report_of(None), report_of(("coco",), benchmark=None, config=None)):
        assert not [note for note in report.notes if MAY in note]


def test_absence_is_not_said():
    """Page and terminal; nothing where the model was not opened. Planted fault: "none" for what is not said."""
    shown = reports.rendered(report_of(None))
    assert "Training data: not stated." in shown["terminal"]
    assert "<dt>Training data</dt><dd>not stated</dd>" in shown["page"]
    shown = reports.rendered(report_of(None, training=Training(data={"benchmark": "nooch", "config": "ce_car"})))
    assert "Training data: nooch/ce_car, according to the model's recipe." in shown["terminal"]
    shown = reports.rendered(report_of(None, mode=None))
    assert "Training data" not in shown["terminal"] + shown["page"]


def test_own_data_from_the_hub():
    """The same id on the Hub, whatever its name. Planted fault: the data set of the predictions not looked at."""
    here = HubDataSet(id="user/pets", revision="a" * 40)
    report = report_of(("User/Pets",), benchmark=None, config=None, data_set=here)
    assert [note for note in report.notes if MAY in note]


def test_every_benchmark_names_its_sources():
    """Planted fault: a benchmark without `sources`, which no card can name."""
    names = catalog.names("benchmark")
    assert len(names) >= 6
    for name in names:
        benchmark = catalog.get("benchmark", name)
        configs = [config for config in benchmark.configs if config != "folder"]  # which is anybody's data
        declared = [benchmark.of(config) for config in configs] if configs else [benchmark]
        assert all(each.sources for each in declared), name
