"""A benchmark of another package, with one config and the splits of WILDS, by command and by `load_dataset`.

`tests/helpers/plugin` is such a package: one file and its entry point. Nothing of the hub names it.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import oochub

PLUGIN = Path(__file__).parents[1] / "helpers" / "plugin"
_SESSION = """
import sys
from pathlib import Path
import oochub
from datasets import load_dataset
from oochub.cli import main

def run(*words):
    sys.argv = ["oochub", *map(str, words)]
    try:
        main()
    except SystemExit as stopped:
        assert not stopped.code, words

folder = Path.cwd()
raw = oochub.get("benchmark", "signs").render_toy_world(folder / "raw" / "signs")
data = load_dataset("signs", data_dir=raw)
print(dict(data.num_rows), data["test"].features["group"].dtype)
run("list", "benchmark")
run("show", "benchmark", "signs")
run("build", "signs", "--data-dir", raw, "--out", folder / "built")
small = ("--image-size", 16, "--num-train-epochs", 1, "--per-device-train-batch-size", 16)
run("train", "signs", "--data-dir", raw, "--out", folder / "run", *small)
run("predict", folder / "run", "signs", "--data-dir", raw, "--out", folder / "p.parquet")
run("evaluate", folder / "p.parquet", "--out", folder / "report.json")
"""


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """What a session printed, and the folder that it left."""
    folder = tmp_path_factory.mktemp("plugin")
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(PLUGIN), *filter(None, [os.environ.get("PYTHONPATH")])]),
        "HF_DATASETS_CACHE": str(folder / "cache"),
    }
    done = subprocess.run(
        [sys.executable, "-c", _SESSION], capture_output=True, text=True, env=environment, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout, folder


@pytest.mark.slow
def test_it_loads_without_naming_the_config(session):
    """Its groups are text: where there are very many names a ClassLabel is not forced."""
    assert session[0].startswith("{'train': 64, 'val': 24, 'id_test': 24, 'test': 24} string\n")


@pytest.mark.slow
def test_list_and_show_have_it(session):
    shown, _ = session
    assert re.search(r"(?m)^signs +Signs: round and square signs", shown)
    assert 'load_dataset("signs", data_dir=...)' in shown
    assert "split id_test" in shown and "towns of training" in shown


@pytest.mark.slow
def test_build_writes_its_only_config(session):
    from datasets import load_dataset

    data = load_dataset(str(session[1] / "built"))
    assert list(data) == ["train", "val", "id_test", "test"]
    assert "a drawn toy world" in (session[1] / "built" / "README.md").read_text("utf-8")


@pytest.mark.slow
def test_training_selects_by_its_own_validation_split(session):
    """Planted fault seen: `train` asks for a split "validation"."""
    import json

    recipe = json.loads((session[1] / "run" / "recipe.json").read_text("utf-8"))
    assert set(recipe["data"]["rows"].values()) == {64, 24} and recipe["data"]["benchmark"] == "signs"


@pytest.mark.slow
def test_the_report_compares_its_sides(session):
    report = oochub.Report.load(session[1] / "report.json")
    assert (report.benchmark.in_context.split, report.benchmark.out_of_context.split) == ("id_test", "test")
    assert report["in_context/accuracy"].n == report["out_of_context/accuracy"].n == 24
    assert report.benchmark.words.outside == "in new ones"


@pytest.mark.slow
def test_a_changed_plugin_is_built_again(tmp_path):
    """A plug-in's own code is part of the cache key; planted fault seen: the key of the hub's sources alone."""
    plugin = tmp_path / "plugin"
    shutil.copytree(PLUGIN, plugin)
    oochub_first = "import oochub; from datasets import load_dataset_builder; "
    code = f"{oochub_first}print(load_dataset_builder('signs', cache_dir='cache').cache_dir)"
    path = os.pathsep.join([str(plugin), *filter(None, [os.environ.get("PYTHONPATH")])])
    places = []
    for line in ("", "", "# changed\n"):
        file = plugin / "signs.py"
        file.write_text(file.read_text("utf-8") + line, "utf-8")
        run = [sys.executable, "-c", code]
        done = subprocess.run(
            run, capture_output=True, text=True, cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}, check=True
        )
        places.append(done.stdout)
    assert places[0] == places[1] != places[2]
