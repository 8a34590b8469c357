"""Metrics as Spaces, over the tests' Hub: what `evaluate.load("user/<name>")` gives."""

import json
import subprocess
import sys

import pytest
import yaml
from few_of import few_of
from hub_client import point_evaluate
from metric_subjects import CASES, same, subject

import oochub
from oochub.errors import OochubError
from oochub.hub.push_metric import push_metric

_CHILD = """
import json, sys
class Refusing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "oochub":
            raise ModuleNotFoundError("there is no oochub here")
sys.meta_path.insert(0, Refusing())
import evaluate
columns = json.load(sys.stdin)
print(json.dumps(evaluate.load("user/auc_hard").compute(**columns)))
assert not [name for name in sys.modules if name.partition(".")[0] == "oochub"]
"""


@pytest.fixture
def evaluate(hub):
    import evaluate

    point_evaluate(hub.endpoint)
    return evaluate


@pytest.mark.slow
@pytest.mark.parametrize(("name", "kind"), few_of(sorted(CASES, key=lambda case: case[0] != "ece"), few=3))
def test_evaluate_loads_every_metric_from_its_space(name, kind, hub, evaluate):
    """It gives the number of our function on random columns, and shows what the file says of itself."""
    push_metric(name, f"user/{name}")
    module, metric = evaluate.load(f"user/{name}"), subject(name, kind)
    assert isinstance(module, evaluate.Metric) and module.name == name and module.citation
    for seed in range(2):
        columns = metric.columns(50, seed)
        same(module.compute(**columns), metric(columns))


@pytest.mark.slow
def test_it_loads_where_there_is_no_oochub(hub):
    """A process of its own, in which importing oochub is an error. Planted fault seen: one import left in the file."""
    push_metric("auc_hard", "user/auc_hard")
    columns = subject("auc_hard").columns(50, 0)
    run = subprocess.run(
        [sys.executable, "-c", _CHILD],
        input=json.dumps({name: column.tolist() for name, column in columns.items()}),
        env={**hub.env, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout.splitlines()[-1]) == {"auc_hard": oochub.get("metric", "auc_hard")(**columns)}


def test_the_space_shows_its_card(hub):
    """A static Space: its card's front matter says so, and its page loads nothing."""
    assert push_metric("ece", "user/ece").is_change and not push_metric("ece", "user/ece").is_change
    assert set(hub.files("spaces/user/ece")) - {".gitattributes"} == {"README.md", "ece.py", "index.html"}
    readme = hub.content("spaces/user/ece", "README.md").decode()
    assert yaml.safe_load(readme.split("---")[1])["sdk"] == "static"
    assert 'evaluate.load("user/ece")' in readme and "importlib" not in readme
    assert readme.index("evaluate.load") < readme.index("oochub.get")
    page = hub.content("spaces/user/ece", "index.html").decode()
    assert "<h2>Limitations</h2>" in page and "default-src &#39;none&#39;" in page and "sdk: static" not in page


def test_what_is_no_space_of_a_metric_is_said(hub):
    for name, to, words in [
        ("auc_hrd", "user/auc_hrd", "Did you mean 'auc_hard'"),
        ("auc", "user/my_auc", "must have the same name, user/auc, got 'user/my_auc'"),
    ]:
        with pytest.raises(OochubError, match=words):
            push_metric(name, to)
    assert not hub.requests


def test_no_token_is_said(hub, monkeypatch):
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(OochubError, match="Not logged in"):
        push_metric("auc", "user/auc")
    assert not hub.requests
    assert push_metric("auc", "user/auc", dry_run=True).added.keys() >= {"auc.py", "README.md", "index.html"}
