"""`oochub cache`: what is listed and cleared, all that is ours and nothing else, and what is refused."""

import json
import os
import time
from pathlib import Path

import pytest
from datasets import config, load_dataset
from model_folders import pictures, resnet
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.commands.cache import _name_builders
from oochub.inputs.pictures.image_threads import cache_pixels
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.storage.cache import CACHES, cache_folder, clear, list_caches


def _said(*words):
    done = CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)
    assert done.exit_code == 0
    return done.stdout


@pytest.fixture
def files(tmp_path):
    """Predictions of today, and those of ten days ago."""
    folder = resnet(tmp_path / "model")
    oochub.predict(folder, pictures(5), images=False)
    ((old,),) = (cache.entries for cache in list_caches("predictions"))
    oochub.predict(folder, pictures(3), images=False)
    long_ago = time.time() - 10 * 24 * 60 * 60
    os.utime(old.path, (long_ago, long_ago))
    (entries,) = (cache.entries for cache in list_caches("predictions"))
    return [entry.path for entry in entries]


def test_the_list_says_size_age_and_place(files):
    row = json.loads(_said("--json"))[0]
    assert row["cache"] == "predictions" and row["entries"] == 2 and row["oldest_days"] == pytest.approx(10, abs=0.01)
    assert row["bytes"] == sum(file.stat().st_size for file in files)
    shown = _said().splitlines()
    assert shown[0].split() == ["cache", "contents", "entries", "MB", "oldest", "(days)", "path"]
    assert shown[1].split()[0] == "predictions" and shown[1].split()[-3:] == ["0.0", "10.0", str(files[0].parent)]


def test_the_old_ones_are_cleared(files):
    """Fault planted: the younger ones."""
    old, new = files
    size = old.stat().st_size
    assert _said("clear", "predictions", "--older-than", "9", "--dry-run").splitlines() == [
        str(old),
        f"{size / 1e6:.1f} MB would be freed, 1 entries.",
    ]
    assert old.exists()
    assert json.loads(_said("clear", "predictions", "--older-than", "9", "--json")) == {
        **{"cleared": True, "bytes": size, "paths": [str(old)]}
    }
    assert not old.exists() and new.exists()
    assert "freed, 1 entries" in _said("clear", "predictions") and not new.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["clean"], "No action named 'clean'. Did you mean 'clear'"),
        (["clear", "pixel"], "No cache named 'pixel'. Did you mean 'pixels'"),
        (["--dry-run"], "--dry-run requires the action clear: oochub cache clear --dry-run"),
        (["--older-than", "3"], "--older-than requires the action clear"),
    ],
)
def test_wrong_words_are_said(words, message):
    with pytest.raises(oochub.OochubError) as refused:
        CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)
    assert message in str(refused.value)


@pytest.mark.parametrize("place", ["~nobody_has_this_name/caches", "x" * 5000, "y" * 300])
@pytest.mark.parametrize("words", [[], ["clear"], ["clear", "--dry-run"]])
def test_a_folder_that_cannot_be_is_said(monkeypatch, place, words):
    """Faults planted: no look at the home of nobody; no look at a name that is too long."""
    monkeypatch.setenv("OOCHUB_CACHE", place)
    with pytest.raises(oochub.OochubError, match="OOCHUB_CACHE names no folder that can be"):
        CliRunner().invoke(app, ["cache", *words], catch_exceptions=False)


def _all(root: Path) -> set[Path]:
    return {path for path in root.rglob("*") if path.is_file()}


@pytest.fixture
def filled(tmp_path, monkeypatch, spawrious):
    """Caches as their makers fill them, and beside each what is somebody else's."""
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "ours"))
    monkeypatch.setattr(config, "HF_DATASETS_CACHE", tmp_path / "datasets")
    oochub.predict(resnet(tmp_path / "model"), pictures(), features=True)
    cache_pixels(pictures(), Preprocessing(resize=(8, 8)), cache_dir=cache_folder("pixels"))
    build = load_dataset(
        "spawrious", "o2o_hard", data_dir=str(spawrious), split="test", cache_dir=tmp_path / "datasets"
    )
    assert len(build)
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "spawrious.csv").write_text("a,b\n1,2\n")
    load_dataset("csv", data_files=str(tmp_path / "own" / "spawrious.csv"), cache_dir=tmp_path / "datasets")
    others = [
        *(path for path in _all(tmp_path / "datasets" / "csv")),
        *(path for path in _all(tmp_path / "model")),
        tmp_path / "ours" / "predictions" / "notes.txt",
        tmp_path / "ours" / "pixels" / "holiday.npy",
        tmp_path / "ours" / "predictions" / ".now.parquet.draft-00000000-1.x.parquet",
        tmp_path / "datasets" / "spawrious" / "mine" / "1.0.0" / "hash" / "dataset_info.json",
    ]
    for path in others:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            path.write_text('{"builder_name": "imagefolder"}')
    return tmp_path, set(others)


def test_all_that_is_ours_goes_and_nothing_else(filled):
    """Faults planted: a pattern of every file; a builder's name not looked at; drafts taken with the rest."""
    root, others = filled
    found = {cache.kind: cache for cache in list_caches(builders=_name_builders())}
    counts = {kind: len(cache.entries) for kind, cache in found.items()}
    assert counts == dict.fromkeys(CACHES, 0) | {"predictions": 2, "passes": 1, "pixels": 1, "builds": 1}
    for cache in found.values():
        for entry in cache.entries:
            files = [entry.path] if entry.path.is_file() else [path for path in entry.path.rglob("*") if path.is_file()]
            assert entry.size == sum(path.stat().st_size for path in files) > 0 and 0 <= entry.age < 1
            clear([entry])
            assert not entry.path.exists()
    assert others <= _all(root)
    assert not [path for path in _all(root) - others if path.suffix in (".parquet", ".safetensors", ".npy", ".arrow")]
    assert not any(cache.entries for cache in list_caches(builders=_name_builders()))


def test_what_lay_there_before_the_folder_was_named_is_listed_too(filled, monkeypatch):
    """Fault planted: $OOCHUB_CACHE alone."""
    root, _ = filled
    monkeypatch.setenv("OOCHUB_CACHE", "")
    cache_pixels(pictures(), Preprocessing(resize=(8, 8)), cache_dir=cache_folder("pixels"))
    assert cache_folder("pixels") == root / "datasets" / "oochub" / "pixels"
    monkeypatch.setenv("OOCHUB_CACHE", str(root / "ours"))
    assert [len(cache.entries) for cache in list_caches("pixels")] == [1, 1]


def test_a_draft_of_a_killed_process_is_ours(filled):
    """No manifest lists it. Fault planted: what a manifest lists, alone."""
    root, _ = filled
    draft = root / "ours" / "predictions" / ".now.parquet.draft-00000000-1.x.parquet"
    long_ago = time.time() - 3 * 24 * 60 * 60
    os.utime(draft, (long_ago, long_ago))
    (first, *_), *_ = (cache.entries for cache in list_caches("predictions"))
    assert first.path == draft and first.age == pytest.approx(3, abs=0.01)
    assert clear([first]) == [first] and not draft.exists()
