"""The tasks of a benchmark's repository, and the numbers of reports that fill them."""

import base64

import datasets
import numpy as np
import pytest
import yaml
from datasets import get_dataset_config_names
from reports import nooch_report, read, spawrious_report

import oochub
from oochub.hub.push_repository import _format_eval_yaml
from oochub.hub.push_results import _make_result_entries


def _tasks(name: str, configs: list[str]) -> list[dict[str, str]]:
    text = _format_eval_yaml(oochub.get("benchmark", name), configs)
    return yaml.safe_load(text)["tasks"] if text else []


def test_the_tasks_of_a_nooch_task_by_hand() -> None:
    """Written from the declaration by hand: its metrics of which higher is better, and the AUC of either side."""
    assert _tasks("nooch", ["ce_car"]) == [
        {"id": f"ce_car_{name}", "config": "ce_car", "split": "test"}
        for name in ("auc", "auc_hard", "accuracy", "worst_group_accuracy", "auc_in_context", "auc_out_of_context")
    ]
    assert _format_eval_yaml(oochub.get("benchmark", "nooch"), ["all"]) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", oochub.names("benchmark"))
def test_every_config_has_tasks_of_its_own(name: str) -> None:
    """Ids are unique over all configs, and splits are those of the sides."""
    benchmark, configs = oochub.get("benchmark", name), get_dataset_config_names(name)
    content = yaml.safe_load(_format_eval_yaml(benchmark, configs) or "")
    assert {"name", "description", "tasks"} == set(content)
    ids = [task["id"] for task in content["tasks"]]
    assert len(ids) == len(set(ids)) >= len(configs)
    declared = [benchmark.of(config) for config in configs]
    sides = {split for each in declared for split in (each.in_context.split, each.out_of_context.split)}
    assert {task["split"] for task in content["tasks"]} == sides
    assert {task["config"] for task in content["tasks"]} <= set(configs)


def test_a_framework_is_named_only_if_it_is_asked_for() -> None:
    """The Hub has a closed list of frameworks, and oochub is not on it: such a file is marked as invalid."""
    benchmark = oochub.get("benchmark", "spawrious")
    without = yaml.safe_load(_format_eval_yaml(benchmark, ["o2o_hard"]) or "")
    content = yaml.safe_load(_format_eval_yaml(benchmark, ["o2o_hard"], framework="inspect-ai") or "")
    assert content.pop("evaluation_framework") == "inspect-ai" and content == without


@pytest.mark.parametrize(("name", "content"), [("nooch", nooch_report()), ("spawrious", spawrious_report())])
def test_what_a_report_gives_are_tasks_of_its_benchmark(name: str, content: dict) -> None:
    """Planted fault seen: a side's suffix in one of the two places alone."""
    report = read(content)
    found = _make_result_entries(report, dataset="user/data", revision=None, source="https://example.org")
    ids = {task["id"] for task in _tasks(name, [report.benchmark.config])}
    assert len(found.entries) > 1 and {entry.task_id for entry in found.entries} <= ids


def test_a_report_of_the_default_metrics_fills_every_task() -> None:
    """Of answers drawn at random, evaluated with what the declaration names; but for what is undefined."""
    rng = np.random.default_rng(0)
    sign = ["hard_negative", "hard_positive"]
    label = rng.integers(0, 2, 400)
    challenge = ["easy" if rng.random() < 0.5 else sign[k] for k in label]
    predictions = oochub.Predictions.from_arrays(
        logits=rng.normal(size=(400, 2)),
        label=label,
        class_names=["no_car", "car"],
        benchmark="nooch",
        config="ce_car",
        challenge=challenge,
        group=[f"{k}/{c}" for k, c in zip(label, challenge, strict=True)],
    )
    report = oochub.evaluate(predictions, resamples=100)
    found = _make_result_entries(report, dataset="user/data", revision=None, source="https://example.org")
    assert {entry.task_id for entry in found.entries} == {task["id"] for task in _tasks("nooch", ["ce_car"])}


@pytest.mark.slow
def test_questions_have_a_configuration_for_inspect(hub, raw) -> None:
    """Images as data URIs of the untouched bytes, the answer as a number of an option; a second push changes nothing.

    Planted faults seen: the tasks of oochub beside it, which Inspect refuses; the path in place of the bytes.
    """
    given = {"data_dir": str(raw("spuriverse/default")), "evaluation_framework": "inspect-ai"}
    oochub.push("spuriverse", "user/asked", **given)
    content = yaml.safe_load(hub.content("datasets/user/asked", "eval.yaml"))
    (task,) = content["tasks"]
    assert content["evaluation_framework"] == "inspect-ai" and task["solvers"] == [{"name": "multiple_choice"}]
    spec = task["field_spec"]
    asked = datasets.load_dataset("user/asked", task["config"], split=task["split"])
    rows = datasets.load_dataset("user/asked", "default", split="test").cast_column(
        "image", datasets.Image(decode=False)
    )
    assert len(asked) == len(rows)
    for one, row in zip(asked, rows, strict=True):
        assert (one[spec["input"]], one[spec["choices"]], one[spec["target"]]) == (
            row["question"], row["options"], row["label"]
        )  # fmt: skip
        head, _, text = one[spec["input_image"]].partition(",")
        assert head.startswith("data:image/") and base64.b64decode(text) == row["image"]["bytes"]
    assert not oochub.push("spuriverse", "user/asked", **given).is_change
    assert "as text, for Inspect: 0." in hub.content("datasets/user/asked", "README.md").decode()
    assert len(oochub.load("user/asked", config="default")["test"]) == len(rows)
