"""`oochub repair` as its user types it: what it prints, its exit codes, what it refuses, and a second run."""

import csv
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import oochub
from oochub.errors import OochubError
from oochub.storage import artifacts
from oochub.studies.demo.example import Example, example

COLUMNS = ("--label-column", "breed", "--context-column", "background")
TYPED = {
    "repair": lambda i, o: ["repair", f"{i('dogs')}/model", f"{i('dogs')}/pictures", *COLUMNS, "--out", f"{o}/repaired"]
}
WRITTEN = {("repair", "--out"): artifacts.REPAIR}

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(run: Run) -> Run:
    return lambda *words: run("repair", *words)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("planted") / "example", size=60)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("whole") / "example")


@pytest.fixture(scope="module")
def control(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("control") / "example", correlation=None)


@pytest.mark.slow
def test_the_last_line_says_better(run: Run, planted: Example, tmp_path: Path) -> None:
    """The paths, then the verdict, whose numbers are those of repair.json; a second run gives the same as JSON."""
    words = (planted.model, planted.pictures, *COLUMNS, "--out", tmp_path / "out")
    code, out, err = run(*words)
    assert code == 0, err
    draws = json.loads((tmp_path / "out" / "repair.json").read_text("utf-8"))["draws"]
    changes = [100 * draw["outside"]["difference"]["value"] if draw["outside"] else 0.0 for draw in draws]
    low, high = (f"{each:+.1f}".replace("-", "−") if each else "0.0" for each in (min(changes), max(changes)))
    assert len(changes) > 1 and out.strip().splitlines()[-1] == (
        "The repaired model is better in unusual contexts, "
        f"by {low} to {high} points over {len(changes)} divisions of the rows."
    )
    assert str(tmp_path / "out" / "model") in out and str(tmp_path / "out" / "repair.html") in out
    weights = (tmp_path / "out" / "model" / "model.safetensors").stat().st_mtime_ns
    record = (tmp_path / "out" / "repair.json").stat().st_mtime_ns
    code, out, err = run(*words, "--json")
    said = json.loads(out)
    assert code == 0 and said["outcome"] == "better" and said["outside"]["difference"]["low"] > 0
    assert (tmp_path / "out" / "model" / "model.safetensors").stat().st_mtime_ns == weights
    assert (tmp_path / "out" / "repair.json").stat().st_mtime_ns == record


MODULE = """
import torch
from transformers import AutoModelForImageClassification


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.net = AutoModelForImageClassification.from_pretrained({model!r})

    def forward(self, images):
        return self.net(pixel_values=images).logits


def make():
    return {{"model": Net(), "class_names": {names!r}}}
"""


@pytest.mark.slow
def test_a_module_is_repaired_as_its_folder_is(run: Run, planted: Example, tmp_path: Path) -> None:
    """The same network by its folder and by --model-file: the same numbers, and the same logits of the repaired one.

    What is printed last but one is the file that opens it, by the same door; it needs no option of the model. So it is
    for an ONNX file of the network.
    """
    from transformers import AutoModelForImageClassification

    from oochub.inputs.pictures.image_processor import load_image_processor as make_processor
    from oochub.models.callable_model import make_model
    from oochub.settings.model_settings import ModelSettings
    from oochub.settings.prediction_settings import PredictionSettings

    classes = json.loads((planted.model / "config.json").read_text("utf-8"))["id2label"]
    names = [classes[str(k)] for k in range(len(classes))]
    file = tmp_path / "net.py"
    file.write_text(MODULE.format(model=str(planted.model), names=names), "utf-8")
    code, _, err = run(planted.model, planted.pictures, *COLUMNS, "--out", tmp_path / "folder", "--json")
    assert code == 0, err
    door = ("--model-file", f"{file}:make", planted.pictures, *COLUMNS, "--image-processor", planted.model)
    code, out, err = run(*door, "--out", tmp_path / "module")
    assert code == 0, err
    records = [json.loads((tmp_path / each / "repair.json").read_text("utf-8")) for each in ("folder", "module")]
    for part in ("gap", "draws", "inside", "outside"):
        assert records[0].get(part) == records[1].get(part), part
    assert records[1]["command"] == (
        "oochub repair pictures --label-column breed --context-column background --model-file net.py:make "
        "--image-processor model --out module"
    )

    repaired = tmp_path / "module/model/repaired.py"
    assert out.strip().splitlines()[-2] == str(repaired)
    made = make_model(str(repaired), ModelSettings(), PredictionSettings())
    data = oochub.load(planted.pictures, label="breed", context="background")["test"]
    own = {"class_names": list(made.how.class_names), "image_processor": made.how.image_processor}
    after = oochub.predict(made.model, data, cache=False, **own)
    wanted = oochub.predict(tmp_path / "folder/model", data, cache=False)
    assert list(after.class_names) == list(wanted.class_names)
    assert np.abs(after.logits - wanted.logits).max() < 1e-4
    before = oochub.predict(planted.model, data, cache=False)
    assert np.abs(after.logits - before.logits).max() > 0.1

    network, onnx_file = made.model.eval(), tmp_path / "net.onnx"
    with torch.no_grad():
        network.net = AutoModelForImageClassification.from_pretrained(planted.model)  # as it was given
    axes = {"x": {0: "n"}, "logits": {0: "n"}}
    shown = {"input_names": ["x"], "output_names": ["logits"], "dynamic_axes": axes, "dynamo": False}
    size = make_processor(str(planted.model)).size
    torch.onnx.export(network, torch.rand(2, 3, size["height"], size["width"]), str(onnx_file), **shown)
    own = ("--image-processor", planted.model, "--class-names", ",".join(names))
    code, out, err = run(onnx_file, planted.pictures, *COLUMNS, *own, "--out", tmp_path / "onnx")
    assert code == 0, err
    assert out.strip().splitlines()[-2] == str(tmp_path / "onnx/model/model.onnx")
    by_onnx = oochub.predict(tmp_path / "onnx/model/model.onnx", data, cache=False)  # names and processor are beside it
    assert list(by_onnx.class_names) == list(wanted.class_names)
    assert np.abs(by_onnx.logits - wanted.logits).max() < 0.02 * np.ptp(wanted.logits)
    assert run(onnx_file, planted.pictures, *COLUMNS, *own, "--out", tmp_path / "onnx")[0] == 0

    assert run(*door, "--out", tmp_path / "module")[0] == 0  # reused: its files are whole
    file.write_text(file.read_text("utf-8").replace(".logits", ".logits * 2"), "utf-8")
    with pytest.raises(OochubError, match="makes another model than the one that was repaired"):
        make_model(str(repaired), ModelSettings(), PredictionSettings())


def test_what_cannot_be_repaired_is_refused_before_work(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\ndef load(): return {'model': torch.nn.Linear(2, 2), 'class_names': ['a', 'b'], 'transform': len}"
        "\ndef function(): return {'model': len, 'class_names': ['a', 'b'], 'transform': len}\n",
        "utf-8",
    )
    (tmp_path / "net.onnx").write_bytes(b"x")
    for words, message in (
        ((tmp_path / "net.onnx", "--deep"), "--deep fine-tunes models of transformers only"),
        ((tmp_path / "net.onnx",), "is not a valid ONNX file"),
        (
            ("--model-file", f"{file}:function"),
            "a function has none that can be replaced. Pass a module of PyTorch with",
        ),
        (("--model-file", file, "--deep"), "--deep fine-tunes models of transformers only"),
    ):
        code, _, err = run(*words, tmp_path / "nowhere", "--out", tmp_path / "out")
        assert code == 2 and message in " ".join(err.split()), err
    net = torch.nn.Linear(2, 2)
    with pytest.raises(OochubError, match="a module in memory has none"):
        oochub.repair(net, "nowhere", class_names=["a", "b"], transform=len, out=tmp_path / "out")


@pytest.mark.slow
def test_a_control_is_left_alone(run: Run, control: Example, tmp_path: Path) -> None:
    """Its background says nothing, so usual ones must be named.

    No model is written then, and the exit code says whether that is decided.
    """
    words = (control.model, control.pictures, *COLUMNS, "--out", tmp_path / "out", "--json")
    code, out, err = run(*words)
    assert code == 2 and not out and not (tmp_path / "out").exists()
    assert "no context is clearly more frequent with a class than without it" in err and "--usual CLASS=CONTEXT" in err
    usual = ("--usual", "bulldog=beach,desert", "--usual", "dachshund=jungle,snow")
    code, out, err = run(*words, *usual)
    said = json.loads(out)
    assert said["outcome"] in ("nothing_to_repair", "not_shown"), err
    assert code == (0 if said["outcome"] == "nothing_to_repair" else 3)
    assert said["outcome"] == "nothing_to_repair" or said["needed"] > 0
    assert not (tmp_path / "out" / "model").exists() and "model" not in said


@pytest.mark.slow
def test_rows_to_collect_are_named_and_unlabeled_images_are_ranked(run: Run, whole: Example, tmp_path: Path) -> None:
    """A broken image is an error that names it, or is left out and named; a second run ranks again and repairs not."""
    pool = tmp_path / "pool" / "deep"
    pool.mkdir(parents=True)
    taken = sorted(Path(whole.pictures).rglob("*.png"))[:12]
    for number, image in enumerate(taken):
        shutil.copy(image, pool / f"image{number}.png")
    (tmp_path / "pool" / "broken.png").write_bytes(b"nothing")
    words = (whole.model, whole.pictures, *COLUMNS, "--draws", 1, "--out", tmp_path / "out")
    code, _, err = run(*words, "--unlabeled", tmp_path / "pool")
    assert code == 2 and "--unlabeled says what is collected: pass --collect too" in err
    code, _, err = run(*words, "--collect", "--unlabeled", tmp_path / "nowhere")
    assert code == 2 and "nowhere" in err and not (tmp_path / "out").exists()
    code, _, err = run(*words, "--collect", "--unlabeled", tmp_path / "pool")
    assert code == 2 and "example broken" in err
    asked = (*words, "--collect", "--more-rows", 40, "--unlabeled", tmp_path / "pool", "--skip-broken")
    code, out, err = run(*asked)
    assert code == 0, err
    assert "skipped: broken" in " ".join(out.split())
    code, out, err = run(*asked, "--json")
    said = json.loads(out)
    assert said["collection"]["more"] == 40 and said["collection"]["ranked"] == 12
    assert said["ranking"] == str(tmp_path / "out" / "collect.csv")
    first = [cell["name"] for cell in said["collection"]["cells"] if (cell["gain"]["value"] or 0) >= 0.005][:3]
    with (tmp_path / "out" / "collect.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [line["cell"] for line in lines] == [name for name in first for _ in range(12)]
    assert {line["path"] for line in lines} <= {f"deep/image{number}.png" for number in range(12)}
    page = (tmp_path / "out" / "repair.html").read_text("utf-8")
    assert (
        "Rows to collect" in page
        and "What more rows should gain" in page
        and "--unlabeled pool" in page
        and str(tmp_path) not in page
    )
