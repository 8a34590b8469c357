"""The folder of a repair: never that of the given model, taken again if it is whole, and nothing of other settings."""

import hashlib
import json
from dataclasses import replace
from importlib import import_module

import pytest
from repair_rows_by_hand import rows_by_hand

import oochub
from oochub.errors import OochubError
from oochub.records.origin_records import provenance
from oochub.records.schema import to_json
from oochub.repairs.prove_repair import Judgment, measure_gap
from oochub.repairs.repair import Repair
from oochub.repairs.repair_data import count_parts, divide_rows
from oochub.repairs.repaired_folder import RepairedFolder
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.artifacts import REPAIR
from oochub.storage.files import lock_target, write_whole


@pytest.fixture
def made() -> Repair:
    """A repair by which nothing is shown."""
    rows = rows_by_hand({"train": (20, 6), "test": (10, 10)})
    parts = divide_rows(rows, trained=["train"])
    return Repair(
        **Judgment("not_shown", "Too few rows.", 90)._asdict(),
        gap=measure_gap(rows, parts),
        at_most_lost=0.05,
        parts=count_parts(rows, parts),
        key="k" * 40,
        provenance=provenance(seed=0),
    )


def write(folder, made):
    nothing = {"source": None, "how": ModelSettings(), "asked": PredictionSettings(), "data": {}}
    return folder.write(made, None, None, **nothing)


@pytest.mark.parametrize("given", ["out", "out/model"])
def test_the_given_model_is_never_replaced(given, tmp_path):
    """Also by another way to the same folder. Planted fault seen: the paths compared as they are typed."""
    model = tmp_path / given
    model.mkdir(parents=True)
    (model / "config.json").write_text("{}")
    (tmp_path / "out" / "repair.json").write_text("{}")
    (tmp_path / "link").symlink_to(tmp_path / "out")
    for out in (tmp_path / "out", tmp_path / "link", tmp_path / "out" / ".." / "out"):
        with pytest.raises(OochubError, match="a repair never changes it"):
            RepairedFolder.at(out, given=model)
    RepairedFolder.at(tmp_path / "other", given=model)


def test_a_folder_of_something_else_is_refused(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(OochubError, match="is not a repair"):
        RepairedFolder.at(tmp_path, given="model")
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_what_stands_there_is_taken_if_it_is_the_same_and_whole(made, tmp_path):
    """By its key. Planted faults seen: the key not compared; a model that is gone not missed."""
    folder = RepairedFolder.at(tmp_path / "out", given="model")
    with lock_target(folder.path, kind=REPAIR):
        write(folder, made)
    assert to_json(folder.read(made.key)) == to_json(made)
    assert folder.read("other") is None and folder.read(None) is None
    replace(made, model="model").save(tmp_path / "out" / "repair.json")
    assert folder.read(made.key) is None
    record = json.loads((tmp_path / "out" / "repair.json").read_text())
    (tmp_path / "out" / "repair.json").write_text(json.dumps({**record, "outcome": "wonderful"}))
    assert folder.read(made.key) is None
    with pytest.raises(OochubError, match="outcome"):
        Repair.load(tmp_path / "out" / "repair.json")


@pytest.mark.parametrize("fault", ["none", "a byte", "cut", "gone", "one more", "of an earlier version"])
def test_weights_that_are_damaged_or_gone_are_made_again(fault, made, tmp_path):
    """By the digest in the record, here by hand. Planted faults seen: config.json alone looked for; sizes compared."""
    folder = RepairedFolder.at(tmp_path / "out", given="model")
    with lock_target(folder.path, kind=REPAIR):
        write(folder, made)
    model, content = tmp_path / "out" / "model", bytes(range(256)) * 40
    model.mkdir()
    (model / "config.json").write_text("{}")
    weights = model / "model.safetensors"
    weights.write_bytes(content)
    digests = {} if fault == "of an earlier version" else {weights.name: hashlib.sha256(content).hexdigest()}
    whole = replace(made, outcome="better", model="model", weights=digests)
    whole.save(tmp_path / "out" / "repair.json")
    if fault == "a byte":
        weights.write_bytes(content[:99] + b"\0" + content[100:])
    elif fault == "cut":
        weights.write_bytes(content[:-1])
    elif fault == "gone":
        weights.unlink()
    elif fault == "one more":
        (model / "model-2.safetensors").write_bytes(content)
    assert (folder.read(made.key) is not None) == (fault == "none")


def test_nothing_of_other_settings_is_left(made, tmp_path):
    """Planted fault seen: the model of the run before left beside a record that says none was written."""
    folder = RepairedFolder.at(tmp_path / "out", given="model")
    with lock_target(folder.path, kind=REPAIR):
        for name in ("model/config.json", "before.parquet", "after.parquet", "features.parquet"):
            with write_whole(folder.path / name) as draft:
                draft.write_text("{}")
    (tmp_path / "out" / "notes.txt").write_text("mine")
    with lock_target(folder.path, kind=REPAIR):
        write(folder, made)
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == [
        ".oochub.jsonl",
        "features.parquet",
        "notes.txt",
        "repair.html",
        "repair.json",
    ]
    page = (tmp_path / "out" / "repair.html").read_text("utf-8")
    assert "There is no clear evidence that the model needs a repair." in page and "No model was written." in page
    assert isinstance(oochub.Repair.load(tmp_path / "out" / "repair.json"), oochub.Repair)


def test_folders_that_were_written_open_by_the_name_that_they_hold():
    """`repaired.py` of a user's folder imports this function. Fault seen: it stands in model_folder.py alone."""
    assert callable(import_module("oochub.repairs.repaired_module").open_repaired_module)
