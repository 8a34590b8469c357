"""The data set of the Hub that rows came from: from loading to the report of what was predicted."""

import warnings

import pytest
import yaml
from datasets import DatasetDict
from huggingface_hub import HfApi
from trainings import made_split, with_group_norm

import oochub
from oochub.errors import OochubError
from oochub.hub.push_results import push_results
from oochub.records.metadata import HubDataSet
from oochub.report.report import Report


def test_results_name_the_data_set_and_commit_that_was_loaded(hub, tmp_path):
    """Over the tests' Hub, with a name that `datasets` writes otherwise in its cache."""
    DatasetDict({"train": made_split(8, 1), "test": made_split(24, 0)}).push_to_hub("user/My-Birds")
    commit = hub.repository("datasets/user/My-Birds").at("main").id
    data = oochub.load("user/My-Birds")
    origin = HubDataSet(id="user/My-Birds", revision=commit)
    assert {HubDataSet.of(part.info) for part in data.values()} == {origin}
    network, processor = with_group_norm()
    predictions = oochub.predict(network, data, image_processor=processor, out=tmp_path / "p.parquet")
    report = oochub.evaluate(tmp_path / "p.parquet", resamples=100)
    assert predictions.metadata.data_set == report.benchmark.data_set == origin
    file = report.save(tmp_path / "report.json")
    assert Report.load(file).benchmark.data_set == origin
    HfApi().create_repo("user/net")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        push_results(file, "user/net")
    (path,) = [path for path in hub.files("user/net") if path.endswith(".yaml")]
    entries = yaml.safe_load(hub.content("user/net", path))
    assert path == ".eval_results/My-Birds.yaml" and len(entries) > 1
    assert {(entry["dataset"]["id"], entry["dataset"]["revision"]) for entry in entries} == {("user/My-Birds", commit)}
    with pytest.raises(OochubError, match=r"is for user/My-Birds, not user/other\. Remove dataset="):
        push_results(file, "user/net", dataset="user/other")


def test_rows_of_here_name_none_and_rows_of_two_name_none(tmp_path):
    """Planted fault: the data set of the first part for all."""
    split = made_split(8, 0)
    assert HubDataSet.of(split.info) is None
    network, processor = with_group_norm()
    parts = []
    for number, name in enumerate("ab"):
        part = made_split(8, number)
        HubDataSet(id=f"user/{name}", revision=name * 40).note(part.info)
        parts.append(oochub.predict(network, part, image_processor=processor))
    assert [part.metadata.data_set.id for part in parts] == ["user/a", "user/b"]
    assert oochub.evaluate(parts, resamples=100).benchmark.data_set is None
    assert oochub.evaluate(parts[:1], resamples=100).benchmark.data_set.id == "user/a"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::oochub.errors.OochubWarning")
def test_from_a_pushed_benchmark_to_results_that_fill_its_tasks(hub, raw, tmp_path):
    """Every entry is of a task of the `eval.yaml` that was pushed, with the commit of the data."""
    oochub.push("spawrious/o2o_hard", "user/data", data_dir=str(raw("spawrious/o2o_hard")))
    data = oochub.load("user/data", config="o2o_hard")
    network, processor = with_group_norm(outputs=4)
    predictions = oochub.predict(network, data, image_processor=processor, splits=["validation", "test"])
    report = oochub.evaluate(predictions, resamples=100).save(tmp_path / "report.json")
    HfApi().create_repo("user/net")
    oochub.push(report, "user/net")
    tasks = {task["id"] for task in yaml.safe_load(hub.content("datasets/user/data", "eval.yaml"))["tasks"]}
    entries = yaml.safe_load(hub.content("user/net", ".eval_results/spawrious.yaml"))
    assert {entry["dataset"]["task_id"] for entry in entries} == tasks
    commit = hub.repository("datasets/user/data").at("main").id
    assert {(entry["dataset"]["id"], entry["dataset"]["revision"]) for entry in entries} == {("user/data", commit)}
