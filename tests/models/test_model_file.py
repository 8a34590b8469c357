"""`--model-file my_model.py:load`: the numbers of Python, what names its predictions, each mistake in one line."""

import json
import sys

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, Features, Image
from PIL import Image as Pictures

import oochub
from oochub.cli import main

NAMES = ["corgi", "labrador"]
FILE = """
import numpy as np
import torch
from torch import nn

from beside import SIDE


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Flatten(), nn.Linear(3 * SIDE * SIDE, 5))
        self.top = nn.Linear(5, 2)

    def forward(self, images):
        return self.top(self.body(images))


def scale(image):
    return np.asarray(image.resize((SIDE, SIDE)), np.float32) / 255


def shrink(image):
    return torch.from_numpy(scale(image)).permute(2, 0, 1)


def load():
    print("loading weights")
    return {"model": Net(), "class_names": ["labrador", "corgi"], "transform": shrink, "model_id": "mine"}


def with_features():
    return {**load(), "features": "body"}


def alone():
    return lambda images: images.mean((2, 3))[:, :2]


def fails():
    return {}["weights"]


def returns_nothing():
    pass


def returns_text():
    return {"model": Net(), "class_name": ["a"]}


def returns_no_model():
    return {"class_names": ["a"]}


def stops():
    raise SystemExit("no GPU here")


net = Net()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder with the user's files and rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("beside", "oochub_model_file_my_model"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "my_model.py").write_text(FILE)
    (tmp_path / "beside.py").write_text("SIDE = 4\n")
    rng = np.random.default_rng(0)
    pictures = [Pictures.fromarray(rng.integers(0, 255, (8, 6, 3), np.uint8)) for _ in range(6)]
    features = Features(image=Image(), label=ClassLabel(names=NAMES))
    Dataset.from_dict({"image": pictures, "label": [0, 1] * 3}, features).to_parquet(tmp_path / "rows.parquet")
    return tmp_path


@pytest.fixture
def said(place, monkeypatch, capsys):
    """Runs a command; gives the exit code, what it printed, and what it said on stderr in one line."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["oochub", *words])
        with pytest.raises(SystemExit) as stopped:
            main()
        printed = capsys.readouterr()
        return stopped.value.code, printed.out, " ".join(printed.err.split())

    return call


def test_its_numbers_are_those_of_python(said, place):
    """Planted faults: names by place; what the file says of features left out; prints among the JSON."""
    words = ("predict", "rows.parquet", "--out", "p.parquet", "--json", "--model-file")
    code, out, error = said(*words, "my_model.py:load")
    assert code == 0 and json.loads(out)["rows"] == 6
    assert "Running your own code: my_model.py:load" in error and "loading weights" in error
    made = oochub.Predictions.load("p.parquet")
    module = sys.modules["oochub_model_file_my_model"]
    net, names = module.Net(), ["labrador", "corgi"]
    rows = Dataset.from_parquet("rows.parquet", cache_dir=str(place / "cache"))
    expected = oochub.predict(net, rows, class_names=names, transform=module.shrink, cache=False)
    assert np.array_equal(made.logits, expected.logits) and made.metadata.model.id == "mine"
    assert list(made.class_names) == NAMES and made.features is None
    assert said(*words, "my_model.py:with_features")[0] == 0
    assert oochub.Predictions.load("p.parquet").features.shape == (6, 5)


def test_a_change_in_the_file_is_predicted_again(said, place):
    """A function that the transform calls; planted fault: the text of the file left out of the key."""
    words = ("predict", "rows.parquet", "--model-file", "my_model.py", "--out", "p.parquet")
    assert "Reusing " not in said(*words)[2]
    assert "Reusing " in said(*words)[2]
    (place / "my_model.py").write_text(FILE.replace("np.float32) / 255", "np.float32) / 51"))
    assert "Reusing " not in said(*words)[2]


def test_audit_takes_it(said, place):
    """Planted fault: the option not looked for in the form --model-file=FILE."""
    code, _, error = said("audit", "rows.parquet", "--model-file=my_model.py", "--context-column", "label")
    assert code == 0 and "Running your own code" in error
    assert "mine" in (place / "audit" / "report.html").read_text("utf-8")
    names = ("--class-names", "corgi,labrador")
    code, _, error = said("predict", "rows.parquet", "--model-file", "my_model.py:load", *names, "--out", "p.parquet")
    assert code == 2 and "--class-names was typed, and load() of my_model.py says class_names too" in error


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py:load"], "There is no file nowhere.py. --model-file must have the form FILE.py:FUNCTION"),
        (["."], "names the folder .; it must be a Python file"),
        (["rows.parquet"], "rows.parquet is not a Python file"),
        (["my_model.py:laod"], "No function of my_model.py named 'laod'. Did you mean 'load'?"),
        (["my_model.py:net"], "net of my_model.py is a Net, but must be a function"),
        (["my_model.py:fails"], "my_model.py, line {}, in fails(): KeyError: 'weights'. The error is in your code"),
        (["my_model.py:stops"], "in stops(): SystemExit: no GPU here"),
        (["my_model.py:returns_nothing"], "returned nothing. It must return a module of PyTorch"),
        (["my_model.py:returns_text"], "named 'class_name'. Did you mean 'class_names'"),
        (["my_model.py:returns_no_model"], "returned a mapping without 'model'"),
        (["my_model.py:shrink"], "TypeError: shrink() missing 1 required positional argument"),
        (["my_model.py:alone"], "does not have class names. Pass them in output order: --class-names cat,dog"),
        (["my_model.py:alone", "--class-names", "a,b"], 'as in what the function of --model-file returns, "transform"'),
        (["broken.py"], "broken.py, line 2: SyntaxError"),
        (["imports.py"], "imports.py, line 1: ModuleNotFoundError: No module named 'no_such_package'"),
        (["my_model.py", "--engine", "ray"], "--engine ray starts processes that do not have the code"),
    ],
)
def test_what_is_wrong_is_one_line(said, place, words, message):
    (place / "broken.py").write_text("def load():\n    return (\n")
    (place / "imports.py").write_text("import no_such_package\n")
    line = FILE.split("\n").index('    return {}["weights"]') + 1
    code, out, error = said("predict", "rows.parquet", "--out", "p.parquet", "--model-file", *words)
    assert code == 2 and message.format(line).replace("[]", "{}") in error and out == ""
    assert "Traceback" not in error


@pytest.mark.parametrize(
    "words",
    [
        ("predict", "a_model", "rows.parquet", "--model-file", "my_model.py", "--out", "p.parquet"),
        ("predict", "rows.parquet", "--out", "p.parquet"),
        ("predict", "--model-file=my_model.py", "--out", "p.parquet"),
    ],
)
def test_both_or_none_is_said(said, words):
    code, _, error = said(*words)
    assert code == 2 and f"`oochub {words[0]} SOURCE --model-file FILE.py:NAME`" in error and "not both" in error


def test_without_the_option_nothing_of_the_user_runs(said, place):
    """A folder with Python files beside its weights."""
    from model_folders import resnet

    folder = resnet(place / "model")
    for name in ("modeling.py", "my_model.py", "load.py"):
        (folder / name).write_text("raise SystemExit('it ran')\n")
    error = said("predict", str(folder), "rows.parquet", "--out", "p.parquet")[2]
    assert "it ran" not in error and "Running your own code" not in error


def test_help_says_it(said):
    code, out, _ = said("predict", "--help")
    assert (
        code == 0
        and "--model-file" in out
        and "Omit it when you pass --model-file" in " ".join(out.replace("│", "").split())
    )
