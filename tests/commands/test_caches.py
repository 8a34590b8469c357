"""What is listed and removed of the caches: all that is ours, and nothing else."""

import os
import time
from pathlib import Path

import pytest
from datasets import config, load_dataset
from model_folders import pictures, resnet

import oochub
from oochub.commands.cache import _name_builders
from oochub.inputs.pictures.image_threads import cache_pixels
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.storage.cache import cache_folder, clear, list_caches


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
    assert {kind: len(cache.entries) for kind, cache in found.items()} == {
        **{
            "predictions": 2,
            "features": 0,
            "pixels": 1,
            "embeddings": 0,
            "contexts": 0,
            "checks": 0,
            "pushes": 0,
            "shards": 0,
            "compiled": 0,
            "runtimes": 0,
            "builds": 1,
        }
    }
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
