"""Models and data at a revision of the Hub: what is read, what is recorded, what is printed, what is refused."""

import json
import shutil
from io import BytesIO
from pathlib import Path

import datasets
import numpy as np
import pytest
import transformers
from huggingface_hub import HfApi
from loopback_hub import LoopbackHub
from model_folders import changed, edited, needs_peft, peft_adapter, pictures, resnet
from PIL import Image
from test_from_the_hub import model_folder_forgotten
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.errors import OochubError
from oochub.models.model_source import ModelSource
from oochub.remote.check_source import check_source, name_revision, split_revision
from oochub.remote.remote_repository import fetch_model_folder
from oochub.report.report import Report
from oochub.sections.what_next import _list_steps

_DATA = {"repo_id": "user/birds", "repo_type": "dataset"}


@pytest.fixture
def model(hub: LoopbackHub, tmp_path: Path) -> dict[str, str]:
    """user/model with the commits of its first weights (tag v1) and of its second ones (main), a third as refs/pr/1."""
    api, folder, commits = HfApi(), resnet(tmp_path / "model", classes=2), {}
    api.create_repo("user/model")
    for name, factor in (("v1", 1.0), ("main", 2.0)):
        changed(folder, lambda weights, by=factor: weights["classifier.1.weight"].mul_(by))
        commits[name] = api.upload_folder(folder_path=folder, repo_id="user/model").oid
        if name == "v1":
            api.create_tag("user/model", tag="v1")
    changed(folder, lambda weights: weights["classifier.1.weight"].zero_())
    commits["refs/pr/1"] = api.upload_folder(folder_path=folder, repo_id="user/model", create_pr=True).oid
    commits["refs/pr/1"] = api.model_info("user/model", revision="refs/pr/1").sha
    assert len(set(commits.values())) == 3
    return commits


@pytest.fixture
def birds(hub: LoopbackHub, tmp_path: Path) -> dict[str, str]:
    """user/birds: sixteen rows at v1, eight at main."""
    api, commits = HfApi(), {}
    api.create_repo(**_DATA)
    for name, rows in (("v1", 16), ("main", 8)):
        places = ["sea", "sea", "sea", "land"] * 4
        table = {
            "image": [{"bytes": _png(number), "path": None} for number in range(rows)],
            "label": [number % 2 for number in range(rows)],
            "context": places[:rows],
        }
        kinds = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["class_0", "class_1"])}
        features = datasets.Features({**kinds, "context": datasets.Value("string")})
        file = tmp_path / "test.parquet"
        datasets.Dataset.from_dict(table, features).to_parquet(file)
        commits[name] = api.upload_file(path_or_fileobj=file, path_in_repo="data/test-0.parquet", **_DATA).oid
        if name == "v1":
            api.create_tag("user/birds", tag="v1", repo_type="dataset")
    return commits


def _png(shade: int) -> bytes:
    file = BytesIO()
    Image.new("RGB", (16, 16), (15 * shade, 90, 120)).save(file, "PNG")
    return file.getvalue()


def _rows(data: datasets.DatasetDict) -> int:
    return data["test"].num_rows


def test_a_revision_is_read_at_its_commit(hub, model, birds):
    """Tag, branch, refs/pr/N and commit, by the name and by the keyword, of models and data."""
    for revision, commit in [*model.items(), (model["v1"], model["v1"])]:
        assert Path(fetch_model_folder(f"user/model@{revision}")).name == commit
        assert ModelSource(f"user/model@{revision}").about("").id == "user/model"
        assert ModelSource(f"user/model@{revision}").revision == commit
    assert Path(fetch_model_folder("user/model")).name == model["main"]
    assert _rows(oochub.load("user/birds@v1")) == _rows(oochub.load("user/birds", revision="v1")) == 16
    assert _rows(oochub.load(f"user/birds@{birds['v1']}")) == 16
    assert _rows(oochub.load("user/birds")) == _rows(oochub.load("user/birds@main")) == 8


def test_what_is_no_revision_is_refused(hub, model, birds, tmp_path, monkeypatch):
    """Before any work, with what there is. Planted fault seen: a folder of the name that is not taken."""
    for check in (lambda: check_source("user/model@v3", kind="model", hint=""), lambda: oochub.load("user/birds@v3")):
        with pytest.raises(OochubError, match=r"No revision named 'v3'. .*Allowed: main, v1\..*refs/pr/N"):
            check()
    with pytest.raises(OochubError, match="there is no model user/mode on the Hub"):
        check_source("user/mode@v1", kind="model", hint="")
    monkeypatch.chdir(tmp_path)
    resnet(tmp_path / "erm", classes=2)
    with pytest.raises(OochubError, match=r"erm is a folder here, which has no revisions\. Remove @v1"):
        check_source("erm@v1", kind="model", hint="")
    with pytest.raises(OochubError, match=r"revision= selects a revision of a repository on the Hub, got erm"):
        name_revision("erm", "v1")
    with pytest.raises(OochubError, match="user/model@v1 names the revision v1, but revision= is v2"):
        name_revision("user/model@v1", "v2")
    with pytest.raises(OochubError, match="spawrious/o2o_easy is built from raw data"):
        oochub.load("spawrious/o2o_easy", revision="v1")
    for name in ("erm@v1", "user/model@v1"):
        shutil.copytree(tmp_path / "erm", tmp_path / name)
        assert split_revision(name) == (name, None)
        assert fetch_model_folder(name) == name


@pytest.mark.slow
def test_an_audit_records_and_prints_the_commits(hub, model, birds, tmp_path):
    """Its page's commands ask for the same weights and rows again; a tag and its commit share the cache, main does not.

    Planted faults seen: a command with the tag, which may move; a cache key without the revision.
    """
    out = tmp_path / "audit"
    typed = ["audit", "user/model", "user/birds@v1", "--revision", "v1", "--out", str(out)]
    result = CliRunner().invoke(app, typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    report = Report.load(out / "report.json")
    assert (report.model.id, report.model.revision) == ("user/model", model["v1"])
    assert (report.benchmark.data_set.id, report.benchmark.data_set.revision) == ("user/birds", birds["v1"])
    asked = report.provenance.asked
    assert asked.model == f"user/model@{model['v1']}"
    assert asked.source == f"user/birds@{birds['v1']}"
    commands = [step.command for step in _list_steps(report)]
    assert any(f"user/model@{model['v1']} user/birds@{birds['v1']}" in command for command in commands), commands
    data = oochub.load(asked.source)
    again = oochub.predict(asked.model, data, splits=["test"])
    assert "cached" in again.metadata.provenance["when"]
    by_tag = oochub.predict("user/model", data, revision="v1", splits=["test"])
    assert "cached" in by_tag.metadata.provenance["when"]
    newest = oochub.predict("user/model", data, splits=["test"])
    assert "cached" not in newest.metadata.provenance["when"]
    assert newest.metadata.model.revision == model["main"]
    assert newest.table.column("logits").to_pylist() != again.table.column("logits").to_pylist()


@pytest.mark.slow
def test_training_and_contexts_begin_at_a_revision(hub, model, birds, tmp_path, raw):
    """The recipe names base and commit; found contexts are those of the rows of then."""
    HfApi().create_repo("user/four")
    HfApi().upload_folder(folder_path=resnet(tmp_path / "four", classes=4), repo_id="user/four")
    HfApi().create_tag("user/four", tag="v1")
    commit = HfApi().model_info("user/four").sha
    HfApi().upload_file(path_or_fileobj=b"later", path_in_repo="README.md", repo_id="user/four")
    steps = {"arguments": {"max_steps": 1, "num_train_epochs": 1}, "data_dir": str(raw("spawrious"))}
    oochub.train("spawrious/o2o_easy", tmp_path / "run", model="user/four", revision="v1", **steps)
    base = json.loads((tmp_path / "run" / "recipe.json").read_text())["model"]
    assert (base["base"], base["revision"]) == ("user/four", commit)
    typed = ["contexts", "user/birds", "--revision", "v1", "--contexts", "properties", "--out", str(tmp_path / "found")]
    result = CliRunner().invoke(app, typed, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    assert sum(part.num_rows for part in oochub.load(tmp_path / "found").values()) == 16


@pytest.mark.slow
def test_a_revision_is_read_offline_from_the_cache(hub, model, monkeypatch):
    """What is cached of it is enough; another one is refused in words."""
    fetch_model_folder("user/model@v1")
    model_folder_forgotten()
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    check_source("user/model@v1", kind="model", hint="")
    assert Path(fetch_model_folder("user/model@v1")).name == model["v1"]
    with pytest.raises(OochubError, match="user/model@v2 is not in the Hub cache"):
        check_source("user/model@v2", kind="model", hint="")


@pytest.mark.slow
def test_a_pickle_names_the_pull_request_with_safetensors(hub, tmp_path):
    """Main holds a pickle, refs/pr/1 another pickle, refs/pr/2 safetensors: the message names 2, which opens."""
    folder = resnet(tmp_path / "model", classes=4)
    safe = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    api = HfApi()
    api.create_repo("user/old")
    api.upload_folder(folder_path=folder, repo_id="user/old")
    for name, content in (("notes.txt", b"1"), ("model.safetensors", safe), ("more.txt", b"3")):
        where = {"path_in_repo": name, "repo_id": "user/old", "create_pr": True}
        api.upload_file(path_or_fileobj=content, **where)
    data = datasets.Dataset.from_dict(
        {"image": [{"bytes": _png(1), "path": None}], "label": [0]},
        datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(num_classes=4)}),
    )
    data = data.cast_column("label", datasets.ClassLabel(names=[f"LABEL_{k}" for k in range(4)]))
    with pytest.raises(OochubError, match=r"user/old are a pickle.*pull request refs/pr/2 .*pass user/old@refs/pr/2"):
        oochub.predict("user/old", {"test": data})
    answers = oochub.predict("user/old@refs/pr/2", {"test": data})
    assert answers.metadata.model.revision == api.model_info("user/old", revision="refs/pr/2").sha
    with pytest.raises(OochubError, match=r"user/old@refs/pr/1 are a pickle.*user/old@refs/pr/2"):
        oochub.predict("user/old@refs/pr/1", {"test": data})


@needs_peft
@pytest.mark.slow
def test_an_adapter_of_the_hub_opens_on_its_base_of_the_revision_that_it_names(hub, tmp_path):
    """Main of the base has other weights since; both commits are recorded, and the adapter's is pinned."""
    folder, model = peft_adapter(tmp_path)
    api = HfApi()
    for name in ("base", "adapter"):
        api.create_repo(f"user/{name}")
    first = api.upload_folder(folder_path=tmp_path / "base", repo_id="user/base").oid
    changed(tmp_path / "base", lambda weights: weights["vit.embeddings.cls_token"].add_(5.0))
    api.upload_folder(folder_path=tmp_path / "base", repo_id="user/base")
    edited(folder, "adapter_config.json", base_model_name_or_path="user/base", revision=first)
    commit = api.upload_folder(folder_path=folder, repo_id="user/adapter").oid
    data = pictures()
    made = oochub.predict("user/adapter", data, label_map={"LABEL_0": "LABEL_0", "LABEL_1": "LABEL_1"}, cache=False)
    inputs = transformers.ViTImageProcessorPil.from_pretrained(tmp_path / "base")(data["image"][:], return_tensors="pt")
    expected = model(**inputs).logits.detach()[:, :2]
    np.testing.assert_allclose(made.logits, expected, atol=1e-4)
    about = made.metadata.model
    assert (about.id, about.revision, about.base) == ("user/adapter", commit, f"user/base@{first}")
    assert ModelSource("user/adapter").pin("user/adapter") == f"user/adapter@{commit}"
