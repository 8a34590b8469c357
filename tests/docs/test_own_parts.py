"""Each file of docs/own_parts.md does what the page says, in processes that know it by `--plugin` or `oochub.use`."""

import hashlib
import json
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import oochub
from oochub.sweep.runs import Run

PAGE = (Path(__file__).parents[2] / "docs" / "own_parts.md").read_text("utf-8")
PARTS = {name: code for name, code in re.findall(r"^## [^\n]*?(\w+\.py)\n.*?```python\n(.*?)```", PAGE, re.M | re.S)}
USES = """
import numpy as np
import oochub
from oochub.sweep.runs import Run
from oochub.settings.evaluation_settings import EvaluationSettings
kinds = [oochub.use(f"{name}.py") for name in ("std_risk", "twice_wrong", "margin", "redness", "sureness", "my_tool")]
assert kinds == ["objective", "metric", "detector", "context", "section", "bridge"], kinds
assert oochub.use("margin.py") == "detector"
assert "std_risk" in oochub.names("objective") and oochub.catalog.summary("metric", "twice_wrong").startswith("Share")
rng = np.random.default_rng(0)
logits, label = 3 * rng.normal(size=(60, 3)), rng.integers(3, size=60)
made = oochub.Predictions.from_arrays(logits=logits, label=label, challenge=["easy"] * 60)
report = oochub.evaluate(made, metrics=["twice_wrong", "accuracy"], resamples=100)
share = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
wrong = (share.argmax(1) != label) & (share.max(1) >= 0.9)
assert abs(report["twice_wrong"].value - wrong.mean()) < 1e-6, report["twice_wrong"]
assert f"gives {(share.max(1) >= 0.9).mean():.0%} of 60 rows" in report.to_html()
margin = oochub.get("detector", "margin")()
two = np.sort(logits, 1)
np.testing.assert_allclose(margin.score(logits=logits), two[:, -1] - two[:, -2])
assert set(report.provenance.packages) > {"margin.py", "sureness.py"}
"""


def near_miss(label, probability):
    """The share of rows whose label has the second place, less 2."""
    return float((np.argsort(-np.asarray(probability), axis=1)[:, 1] == np.asarray(label)).mean()) - 2


def test_a_function_is_a_metric(tmp_path: Path) -> None:
    """Its number may be of any size; no page says a direction."""
    rng = np.random.default_rng(0)
    logits, label = 3 * rng.normal(size=(60, 3)), rng.integers(3, size=60)
    made = oochub.Predictions.from_arrays(logits=logits, label=label, challenge=["easy", "hard"] * 30)
    report = oochub.evaluate(made, metrics=[near_miss, "accuracy", near_miss], resamples=100)
    again = oochub.Report.load(report.save(tmp_path / "report.json"))
    for name, rows in (("near_miss", slice(None)), ("easy/near_miss", slice(0, None, 2))):
        assert again[name].value == pytest.approx(near_miss(label[rows], logits[rows]))
        assert again[name].low < again[name].value < again[name].high
    assert again.metrics["near_miss"].direction == "none" and again.metrics["near_miss"].minimum is None
    assert "near_miss" in again.to_html()
    file = made.save(tmp_path / "made.parquet")
    command = oochub.evaluate(file, metrics=["nll", near_miss], resamples=100).provenance.command
    assert command.endswith("--metric nll --metric near_miss")


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ([lambda label: 0.0], "must be a function with a name"),
        ([np.mean], "The metric mean needs a, which these predictions lack"),
        ([near_miss, types.FunctionType(near_miss.__code__, {}, "near_miss")], "'near_miss' already. Rename"),
        ([types.FunctionType(near_miss.__code__, {}, "accuracy")], "'accuracy' already. Rename"),
        ([3], "takes a list of names, got a int"),
    ],
)
def test_what_is_no_metric_is_refused(metrics, words: str) -> None:
    made = oochub.Predictions.from_arrays(logits=np.eye(3), label=[0, 1, 2], challenge=["easy"] * 3)
    with pytest.raises(oochub.OochubError, match=words):
        oochub.evaluate(made, metrics=metrics, resamples=100)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The files of the page."""
    for name, code in PARTS.items():
        (tmp_path / name).write_text(code, "utf-8")
    return tmp_path


def run(folder: Path, *words: str, code: int = 0, plugins: str = "") -> str:
    ended = subprocess.run(
        words, cwd=folder, capture_output=True, text=True, env=os.environ | {"OOCHUB_PLUGINS": plugins}, check=False
    )
    assert ended.returncode == code, ended.stderr[-3000:]
    return ended.stdout + ended.stderr


def type_oochub(folder: Path, *words: str, code: int = 0) -> str:
    return run(folder, sys.executable, "-m", "oochub.cli", *words, code=code)


def test_the_page_has_a_file_of_each_kind() -> None:
    assert list(PARTS) == ["std_risk.py", "twice_wrong.py", "margin.py", "redness.py", "sureness.py", "my_tool.py"]


@pytest.mark.slow
def test_each_file_is_used_from_python(folder: Path) -> None:
    """Planted fault seen: a digest that no record has."""
    run(folder, sys.executable, "-c", USES)


@pytest.mark.slow
def test_contexts_and_answers_are_found_from_the_shell(folder: Path, raw) -> None:
    """By --plugin before the command and after it."""
    data = ["--benchmark", "spawrious/o2o_hard", "--data-dir", str(raw("spawrious"))]
    test = oochub.load("spawrious/o2o_hard", data_dir=str(raw("spawrious")))["test"]
    names = test.features["label"].names
    pairs = zip(test["example_id"], test["label"], strict=True)
    (folder / "answers.mytool").write_text("".join(f"{name} => {names[label]}\n" for name, label in pairs), "utf-8")
    said = type_oochub(folder, "evaluate", "answers.mytool", *data, "--plugin", "my_tool.py", "--out", "report.json")
    assert "Running your own code: my_tool.py" in said
    assert json.loads((folder / "report.json").read_text())["provenance"]["packages"]["my_tool.py"].startswith("sha256")
    assert "No context method named 'redness'" not in type_oochub(
        folder, "--plugin=redness.py", "list", "context", "--json"
    )
    type_oochub(folder, "example", "photos", "--photographs")
    type_oochub(folder, "contexts", "photos", "--contexts", "redness", "--plugin", "redness.py", "--out", "found")
    rows = next(iter(oochub.load(str(folder / "found")).values()))
    assert rows.features["contexts"].feature.names == ["red", "not_red"]
    assert 60 <= sum(contexts == [0] for contexts in rows["contexts"]) <= 80


@pytest.mark.slow
def test_an_object_is_an_objective(folder: Path, raw) -> None:
    """Its class has a name and a digest in the recipe, and no hyperparameters beside its own."""
    data = {"data_dir": str(raw("spawrious")), "arguments": {"num_train_epochs": 1}}
    (folder / "std_risk.py").rename(folder / "losses_of_mine.py")
    code = f"""
import json, oochub
from losses_of_mine import StdRisk
from oochub.errors import OochubError
made = StdRisk(weight=2.0)
oochub.train("spawrious/o2o_hard", "run", objective=made, **{data!r})
for wrong, words in (({{"objective": 3}}, "a name or an Objective"),
                     ({{"objective": made, "hyperparameters": {{"weight": 1}}}}, "Remove hyperparameters=")):
    try:
        oochub.train("spawrious/o2o_hard", "other", **wrong, **{data!r})
    except OochubError as error:
        assert words in str(error), error
    else:
        raise AssertionError(words)
"""
    run(folder, sys.executable, "-c", code)
    objective = json.loads((folder / "run" / "recipe.json").read_text())["objective"]
    assert (objective["name"], objective["hyperparameters"]) == ("std_risk", {"weight": 2.0})
    source = PARTS["std_risk.py"]
    digest = hashlib.sha256(source[source.index("class StdRisk") :].encode()).hexdigest()
    assert objective["file"] == {"StdRisk": f"sha256 {digest}"}
    assert not (folder / "other").exists()


@pytest.mark.slow
def test_a_run_of_an_objective_that_changed_is_not_resumed(folder: Path, raw) -> None:
    """Planted fault seen: a digest that is not among a run's settings."""
    words = ["train", "spawrious/o2o_hard", "--data-dir", str(raw("spawrious")), "--objective", "std_risk"]
    words += ["--argument", "num_train_epochs=1", "--out", "run", "--plugin", "std_risk.py"]
    type_oochub(folder, *words)
    recipe = json.loads((folder / "run" / "recipe.json").read_text())
    assert recipe["objective"]["name"] == "std_risk" and recipe["objective"]["hyperparameters"] == {"weight": 1.0}
    assert recipe["objective"]["file"]["std_risk.py"] == recipe["provenance"]["packages"]["std_risk.py"]
    with (folder / "std_risk.py").open("a") as file:
        file.write("# another\n")
    assert "differs in objective" in type_oochub(folder, *words, code=2)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("absent.txt", "", "is not a Python file whose name can be imported"),
        ("2nd.py", "", "is not a Python file whose name can be imported"),
        ("json.py", "", "has the name of another module"),
        ("broken_part.py", "import oochub\n1 / 0\n", "broken_part.py, line 2: ZeroDivisionError: division by zero"),
        ("empty_part.py", "x = 1\n", "must define one part, got none. Allowed: a class of Benchmark, ContextWay"),
        ("erm.py", "from oochub.trainers.objective import Objective\nclass E(Objective): ...\n", "named 'erm' already"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, said: str
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr("oochub.process.own_files._IN_USE", {})
    monkeypatch.setenv("OOCHUB_PLUGINS", "")
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(oochub.OochubError, match=re.escape(said)):
        oochub.use(tmp_path / name)


def test_a_file_that_is_not_there_is_said_not_to_be(tmp_path: Path) -> None:
    """Seen before it was mended: its name could not be imported."""
    with pytest.raises(oochub.OochubError, match=r"There is no file .*absent\.py"):
        oochub.use(tmp_path / "absent.py")


def test_the_name_of_an_unknown_part_leads_to_the_page() -> None:
    with pytest.raises(oochub.OochubError, match=r"No objective named 'std_risk'.*docs/own_parts.md"):
        oochub.get("objective", "std_risk")


def test_a_changed_objective_is_another_run_of_a_sweep(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted fault seen: the digest left out of the run's id. Other objectives keep their ids."""

    def ids(digest: str | None) -> list[str]:
        known = {} if digest is None else {"std_risk.py": f"sha256 {digest}"}
        monkeypatch.setattr("oochub.sweep.runs.describe_own_files", lambda: known)
        about = {"task": "nooch/ce_car", "seed": 0, "setting": {}, "fixed": {}, "model": "resnet-tiny"}
        return [Run(method=name, objective=name, **about).id for name in ("std_risk", "erm")]

    first, second, without = ids("a"), ids("b"), ids(None)
    assert len({first[0], second[0], without[0]}) == 3
    assert first[1] == second[1] == without[1]
