"""Data and models by their ids on the Hub, as if they were folders: the real clients over a real socket."""

import shutil
from pathlib import Path

import datasets
import pytest
from huggingface_hub import HfApi
from loopback_hub import LoopbackHub
from model_folders import changed, resnet

import oochub
from oochub.errors import OochubError
from oochub.loading_scripts.build_repository import build_parquet
from oochub.remote.remote_repository import fetch_model_folder
from oochub.sweep.measurement import check_raw_folders
from oochub.sweep.sweep_recipe import read_recipe

_DATA = {"repo_id": "user/mine", "repo_type": "dataset"}


@pytest.fixture(scope="session")
def built(raw, tmp_path_factory) -> Path:
    """A built repository of a toy world, in a folder of another name."""
    folder = tmp_path_factory.mktemp("built") / "mine"
    return build_parquet("spawrious/o2o_easy", folder, data_dir=str(raw("spawrious")))


@pytest.fixture
def pushed(hub: LoopbackHub, built: Path) -> str:
    """Its id on the Hub."""
    HfApi().create_repo(**_DATA)
    HfApi().upload_folder(folder_path=built, **_DATA)
    return "user/mine"


@pytest.fixture
def model(hub: LoopbackHub, tmp_path: Path) -> Path:
    """A tiny model of its classes in a folder, which is also user/model."""
    folder = resnet(tmp_path / "model", classes=4)
    HfApi().create_repo("user/model")
    HfApi().upload_folder(folder_path=folder, repo_id="user/model")
    return folder


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Waits of a moment between tries."""
    monkeypatch.setattr("oochub.remote.hub_errors._WAIT", 0.01)


def _offline(monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_OFFLINE", True)


def _rows(data):
    return {name: part.cast_column("image", datasets.Image(decode=False)).to_list() for name, part in data.items()}


@pytest.mark.slow
def test_public_data_are_those_of_the_folder_with_and_without_a_token(hub, pushed, built, monkeypatch):
    """Row by row, the bytes of the images as well; then offline from the cache."""
    monkeypatch.delenv("HF_TOKEN")
    expected = oochub.load(built)
    loaded = oochub.load(pushed)
    assert _rows(loaded) == _rows(expected)
    assert loaded["train"].features == expected["train"].features
    assert {name: part.info.description for name, part in loaded.items()} == {
        name: part.info.description for name, part in expected.items()
    }
    asked = len(hub.requests)
    _offline(monkeypatch)
    assert _rows(oochub.load(pushed)) == _rows(expected)
    assert len(hub.requests) == asked


@pytest.mark.slow
def test_private_data_need_a_token_and_their_absence_is_said(hub, pushed, built, monkeypatch):
    """With what to do; what is missing is said the same way, and a token stands in no message."""
    HfApi().update_repo_settings(**_DATA, visibility="private")
    monkeypatch.setenv("HF_TOKEN", "hf_wrongone")
    with pytest.raises(OochubError, match=r"the Hub rejected your token \(Invalid credentials") as caught:
        oochub.load(pushed)
    assert "hf_wrongone" not in str(caught.value)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(OochubError, match=r"on the Hub that you have access to. If it is private.*HF_TOKEN"):
        oochub.load(pushed)
    monkeypatch.setenv("HF_TOKEN", hub.read_token)
    assert _rows(oochub.load(pushed)) == _rows(oochub.load(built))
    with pytest.raises(OochubError, match="on the Hub that you have access to") as caught:
        oochub.load("user/other")
    assert "Did you mean" not in str(caught.value)
    with pytest.raises(OochubError, match="Did you mean 'spawrious/o2o_easy'"):
        oochub.load("spawrous/o2o_easy")


def test_a_name_that_was_missing_is_found_when_it_is_there(hub, built):
    """In the same process: what is not there is asked for again."""
    with pytest.raises(OochubError, match="there is no dataset user/mine on the Hub"):
        oochub.load("user/mine")
    HfApi().create_repo(**_DATA)
    HfApi().upload_folder(folder_path=built, **_DATA)
    assert oochub.load("user/mine")["train"].num_rows


@pytest.mark.slow
def test_a_revision_is_loaded_and_a_wrong_one_refused(hub, pushed, built):
    """As an option of `load_dataset`: the rows of then."""
    first = HfApi().dataset_info(pushed).sha
    test = next(name for name in hub.files("datasets/user/mine") if "/test-" in name)
    changed_rows = datasets.Dataset.from_parquet(str(built / test)).select([0])
    changed_rows.to_parquet(built.parent / "test.parquet")
    HfApi().upload_file(path_or_fileobj=built.parent / "test.parquet", path_in_repo=test, **_DATA)
    assert oochub.load(pushed, options={"revision": first})["test"].num_rows == oochub.load(built)["test"].num_rows
    with pytest.raises(OochubError, match="'nope' doesn't exist"):
        oochub.load(pushed, options={"revision": "nope"})


@pytest.mark.slow
def test_streamed_data_are_predicted_as_those_in_memory(hub, pushed, built, model):
    """In ranges, without the package's own loading."""
    streamed = datasets.load_dataset(pushed, streaming=True)
    expected = oochub.load(built)
    shown = [{key: value for key, value in row.items() if key != "image"} for row in streamed["test"]]
    inside = datasets.load_dataset(str(built))["test"].remove_columns("image").to_list()
    assert shown == inside
    assert 206 in {seen.status for seen in hub.requests}
    told = oochub.predict("user/model", {"test": streamed["test"]})
    held = oochub.predict(str(model), {"test": expected["test"]})
    assert told.table.column("logits").to_pylist() == held.table.column("logits").to_pylist()


@pytest.mark.slow
def test_a_model_of_the_hub_predicts_as_its_folder(hub, pushed, built, model, monkeypatch):
    """Its commit is in the record; asked the same again no model runs; offline from the cache."""
    mine, theirs = oochub.predict("user/model", oochub.load(pushed)), oochub.predict(str(model), oochub.load(built))
    assert mine.table.column("logits").to_pylist() == theirs.table.column("logits").to_pylist()
    commit = HfApi().model_info("user/model").sha
    assert (mine.metadata.model.id, mine.metadata.model.revision) == ("user/model", commit)
    again = oochub.predict("user/model", oochub.load(pushed))
    assert "cached" in again.metadata.provenance["when"]
    _offline(monkeypatch)
    model_folder_forgotten()
    offline = oochub.predict("user/model", oochub.load(pushed), cache=False)
    assert offline.table.column("logits").to_pylist() == theirs.table.column("logits").to_pylist()


def test_all_files_of_a_model_are_of_one_commit(hub, model, monkeypatch):
    """What is pushed in the middle of a job is not read by it; the next job reads it."""
    before = fetch_model_folder("user/model")
    changed(model, lambda weights: weights["classifier.1.weight"].zero_())
    HfApi().upload_folder(folder_path=model, repo_id="user/model")
    assert fetch_model_folder("user/model") == before
    model_folder_forgotten()
    assert fetch_model_folder("user/model") != before
    assert Path(fetch_model_folder("user/model")).name == HfApi().model_info("user/model").sha


@pytest.mark.slow
def test_a_model_that_cannot_be_fetched_is_no_model_without_a_file(hub, model):
    """Planted fault: transformers given the id; a processor that the Hub failed to send was then "missing"."""
    hub.faults(rate=1.0, kinds=("error",))
    with pytest.raises(OochubError, match=r"files of user/model could not be downloaded.*try again"):
        fetch_model_folder("user/model")
    hub.faults(rate=0.4, seed=2, kinds=("error", "cut"))
    folder = fetch_model_folder("user/model")
    assert {path.name for path in Path(folder).iterdir()} == {path.name for path in model.iterdir()} - {"README.md"}


@pytest.mark.parametrize(
    ("seeds", "kinds"),
    [
        pytest.param(range(2), ("error", "cut"), marks=pytest.mark.slow),
        pytest.param(range(2, 12), ("error", "cut", "hang"), marks=pytest.mark.campaign),
    ],
)
def test_what_fails_at_a_fifth_of_all_requests_ends_right_or_in_words(hub, pushed, built, model, seeds, kinds):
    """Whatever the seed, and a second run of the same finishes it."""
    expected, ended = _rows(oochub.load(built)), []
    for seed in seeds:
        shutil.rmtree(hub.store.folder.parent / "home", ignore_errors=True)
        model_folder_forgotten()
        hub.faults(rate=0.2, seed=seed, kinds=kinds)
        hub.hang = 1.1
        try:
            assert _rows(oochub.load(pushed)) == expected
            fetch_model_folder("user/model")
            ended.append("right")
        except OochubError as error:
            assert "again" in str(error), error
            ended.append("in words")
        hub.faults(rate=0.0)
        assert _rows(oochub.load(pushed)) == expected
        assert Path(fetch_model_folder("user/model")).is_dir()
    assert "right" in ended


@pytest.mark.slow
def test_a_run_trains_on_data_of_the_hub(hub, pushed, tmp_path):
    """From a model of the Hub, whose id the new model's files name, and no path of this machine."""
    resnet(tmp_path / "start", classes=4)
    HfApi().create_repo("user/start")
    HfApi().upload_folder(folder_path=tmp_path / "start", repo_id="user/start")
    oochub.train(pushed, tmp_path / "run", model="user/start", arguments={"max_steps": 1, "num_train_epochs": 1})
    written = "".join(file.read_text() for file in (tmp_path / "run").glob("*.json"))
    assert "user/start" in written
    assert "snapshots" not in written


def test_tasks_of_a_sweep_are_ids_of_the_hub(hub, pushed, tmp_path):
    """Looked up before the first run; the misspelled benchmark is offered."""
    recipe = tmp_path / "own.toml"
    recipe.write_text('tasks = ["user/mine"]\nmodel = "resnet-tiny"\n[methods.ERM]\nobjective = "erm"\n')
    plan = read_recipe(recipe)
    assert plan.tasks == ("user/mine",)
    assert not plan.missing_benchmarks
    check_raw_folders(plan.tasks, None)
    with pytest.raises(OochubError, match="Did you mean 'nooch/ce_car'"):
        check_raw_folders(["noch/ce_car"], None)


def model_folder_forgotten():
    """As in a new process."""
    from oochub.remote import check_source
    from oochub.remote import remote_repository as module

    module._fetch_once.cache_clear()
    check_source._FOUND.clear()
