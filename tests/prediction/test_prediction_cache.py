"""The cache of predictions: the second time no model runs, and whatever they depend on makes them anew."""

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import torch
from datasets import DatasetDict, load_dataset
from model_folders import HEAD, SIZE, changed, edited, pictures, resnet
from PIL import Image
from transformers import ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.errors import OochubWarning
from oochub.models import model_source
from oochub.models.cache_key import cache_key
from oochub.models.mode import Mode
from oochub.prediction.predictions_file import head_file
from oochub.settings.data_settings import DataSettings
from oochub.studies.demo.example import example


@pytest.fixture
def model(tmp_path):
    return resnet(tmp_path / "model")


@pytest.fixture
def closed(monkeypatch):
    """Weights that cannot be opened from now on."""

    def close():
        def fails(*given, **more):
            raise AssertionError("the weights were opened")

        monkeypatch.setattr(model_source, "open_pretrained", fails)

    return close


def _folder(root: Path) -> Path:
    """Twelve images of two classes, in files."""
    rng = np.random.default_rng(0)
    for split in ("train", "test"):
        for number in range(6):
            file = root / split / "ab"[number % 2] / f"{number}.bmp"
            file.parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(rng.integers(0, 255, (20, 20, 3), dtype=np.uint8)).save(file)
    return root


def _when(predictions):
    return predictions.metadata.provenance["when"]


def test_the_second_time_no_weight_is_opened(model, closed, tmp_path):
    """Fault planted: a key that holds the time, so that the weights are opened again."""
    first = oochub.predict(model, pictures(), features=True, out=tmp_path / "first.parquet")
    closed()
    second = oochub.predict(model, pictures(), features=True, out=tmp_path / "second.parquet")
    assert second.table.equals(first.table)
    assert "cached" not in _when(first) and _when(second)["cached"] == _when(first)["created"]
    stored = oochub.Predictions.load(tmp_path / "second.parquet")
    assert stored.table.equals(first.table) and head_file(tmp_path / "second.parquet").is_file()
    np.testing.assert_array_equal(stored.head.weight, first.head.weight)
    assert _when(stored)["cached"] == _when(first)["created"]
    with pytest.raises(AssertionError, match="weights were opened"):
        oochub.predict(model, pictures(), features=True, cache=False)


def test_a_file_that_holds_them_already_stays(model, closed, tmp_path):
    """Also with the cache gone. Fault planted: the file written again."""
    out = tmp_path / "p.parquet"
    oochub.predict(model, pictures(), out=out)
    shutil.rmtree(os.environ["OOCHUB_CACHE"])
    before, state = out.read_bytes(), out.stat()
    closed()
    again = oochub.predict(model, pictures(), out=out)
    assert len(again) == 3 and out.read_bytes() == before and out.stat().st_mtime_ns == state.st_mtime_ns


_CHANGES = {
    "mode": "head",
    "features": True,
    "batch_size": 2,
    "splits": ["train", "test"],
    "preprocessing": "processor",
    "processor": ViTImageProcessorPil(size={"height": 24, "width": 24}),
    "image_processor": ViTImageProcessorPil(size={"height": 24, "width": 24}),
    "images": False,
    "odin": 0.01,
    "odin_temperature": 10.0,
    "zoom": 1.2,
    "device": "cpu",
    "dtype": "bfloat16",
    "limit": 4,
    "skip_broken": True,
}
"""Another value of each setting of `predict`."""
_NONE = {"model", "dataset", "out", "cache", "settings", "mode", "num_workers", "compile"}
_NONE |= {"engine", "actors", "ray_address"}  # the numbers are those of one process
_NONE |= {"threads"}  # the same bits: tests/models/test_pass_threads.py
_NONE |= {"calibrate_on"}  # its images are a part of the key: tests/models/test_quantization.py
_NONE |= {"runtime"}  # its versions are a part of the key: tests/models/test_exported_network.py
_NONE |= {*DataSettings.keywords()}  # of data that are named: the key is of their rows
_NONE |= {"revision"}  # of the model: tests/hub/test_revisions.py
_NONE |= {"class_names", "transform", "model_id"}  # of functions and modules: tests/models/test_callable_model.py
"""Those whose value changes no prediction, or that have a test of their own."""


def _key(*given, **settings):
    return oochub.predict(*given, **settings).metadata.provenance["key"]


@pytest.mark.slow
def test_every_setting_counts(model, tmp_path):
    """Faults planted, each alone: a setting left out of the key; a new keyword of predict that _CHANGES lacks."""
    data = load_dataset("imagefolder", data_dir=str(_folder(tmp_path / "pictures")))
    data = data.cast_column("label", pictures().features["label"])
    keywords = set(inspect.signature(oochub.predict).parameters)
    assert keywords - _NONE == set(_CHANGES) - _NONE, "say in _CHANGES what another value of the new keyword is"
    plain = {"splits": ["test"], "odin": 0.02}
    first = _key(model, data, **plain)
    assert _key(model, data, **plain) == first == _key(model, data, **plain, num_workers=0)
    for name, value in _CHANGES.items():
        same = name in ("mode", "device") and not torch.cuda.is_available()  # "auto" takes "head", and the CPU
        assert (_key(model, data, **{**plain, name: value}) == first) == same, name


def test_every_change_of_the_model_counts(model, tmp_path):
    """Faults planted, each alone: the weights, the small files, and the name left out of the key."""
    keys = [_key(model, pictures())]
    keys.append(_key(edited(model, "config.json", id2label={"0": "LABEL_1", "1": "LABEL_0"}), pictures()))
    keys.append(_key(edited(model, "preprocessor_config.json", image_mean=[0.1, 0.1, 0.1]), pictures()))
    keys.append(_key(changed(model, lambda weights: weights.update({HEAD: weights[HEAD] + 1})), pictures()))
    keys.append(_key(model.rename(tmp_path / "renamed"), pictures()))
    assert len(set(keys)) == len(keys)


def _loaded(root):
    data = load_dataset("imagefolder", data_dir=str(root))
    return data.cast_column("label", pictures().features["label"])


@pytest.mark.slow
def test_every_change_of_the_data_counts(model, tmp_path):
    """An image of the same name, size and time of writing, which `datasets` does not notice, included."""
    root = _folder(tmp_path / "pictures")
    keys = [_key(model, _loaded(root))]
    assert _key(model, _loaded(root)) == keys[0]
    file = root / "test" / "a" / "0.bmp"
    written = file.stat()
    Image.new("RGB", (20, 20), (0, 200, 0)).save(file)
    os.utime(file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert file.stat().st_size == written.st_size
    keys.append(_key(model, data := _loaded(root)))
    keys.append(_key(model, data["test"].select([1, 0])))
    keys.append(_key(model, data["test"].rename_column("label", "kind")))
    keys.append(_key(model, data["test"].cast_column("label", pictures().features["label"])))
    keys.append(_key(model, DatasetDict(validation=data["test"])))
    (root / "test" / "b" / "1.bmp").unlink()
    keys.append(_key(model, _loaded(root)))
    assert len(set(keys)) == len(keys)


def test_other_code_of_ours_counts(model, monkeypatch):
    """Fault planted: the code left out of the key."""
    key = _key(model, pictures())
    monkeypatch.setattr("oochub.models.cache_key.digest_code", lambda *rooms: "another")
    assert _key(model, pictures()) != key


def test_what_is_not_known_is_not_kept(model):
    """Model objects, streams, and whoever says so. Fault planted: the digest of an object's weights as its revision."""
    opened = ResNetForImageClassification.from_pretrained(model)
    processor = ViTImageProcessorPil(size={"height": SIZE, "width": SIZE})
    made = [
        oochub.predict(opened, pictures(), image_processor=processor),
        oochub.predict(model, pictures().to_iterable_dataset()),
        oochub.predict(model, pictures(), cache=False),
    ]
    source = model_source.ModelSource(model)
    inputs, splits = source.inputs(pictures()), {"test": pictures()}
    assert cache_key(source, inputs, splits, mode=Mode, settings={"tokenizer": object()}) is None
    assert cache_key(source, inputs, splits, mode=Mode, settings={"tokenizer": "words"}) is not None
    assert all("key" not in predictions.metadata.provenance for predictions in made)
    assert not Path(os.environ["OOCHUB_CACHE"]).exists()


@pytest.mark.parametrize("what", ["predictions", "head", "no head", "another's", "no seal"])
def test_damage_is_made_again(what, model):
    """A bit of the file or of its head, a head that is gone, another's predictions, a file without its seal."""
    first = oochub.predict(model, pictures(), features=True)
    (file,) = Path(os.environ["OOCHUB_CACHE"], "predictions").glob("*.parquet")
    target = head_file(file) if "head" in what else file
    whole = bytearray(target.read_bytes())
    if what == "no head":
        target.unlink()
    elif what == "another's":
        other = oochub.predict(model, pictures(5), features=True)
        other.save(file)
    elif what == "no seal":
        pq.write_table(pq.read_table(file), file)
    else:
        whole[len(whole) // 2] ^= 1
        target.write_bytes(whole)
    again = oochub.predict(model, pictures(), features=True)
    assert again.table.equals(first.table) and "cached" not in _when(again)
    assert "cached" in _when(oochub.predict(model, pictures(), features=True))


def test_a_cache_that_cannot_be_written_only_warns(model, tmp_path, monkeypatch):
    """A folder that is a file; a disk that is full. Fault planted: the error let through."""
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "file"))
    with pytest.warns(OochubWarning, match=r"could not be cached\. .*file is a file.*\$OOCHUB_CACHE"):
        made = oochub.predict(model, pictures(), out=tmp_path / "p.parquet")
    assert len(made) == 3 and len(oochub.Predictions.load(tmp_path / "p.parquet")) == 3
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    save = oochub.Predictions.save

    def full(predictions, path):
        if Path(path).parent.name == "predictions":
            raise oochub.OochubError(f"Could not write {path}: No space left on device. It is as it was before.")
        return save(predictions, path)

    monkeypatch.setattr(oochub.Predictions, "save", full)
    with pytest.warns(OochubWarning, match="No space left"):
        assert len(oochub.predict(model, pictures(), out=tmp_path / "q.parquet")) == 3


@pytest.mark.slow
def test_the_same_data_have_the_same_fingerprint_in_every_process(tmp_path):
    """Seen: one of two, by the order of a set of names, so that every second prediction ran the model again."""
    folder, _ = example(tmp_path / "example", size=8)
    code = "import sys, oochub; data = oochub.load(sys.argv[1], label='breed', context='background')\n"
    code += "print([part._fingerprint for part in data.values()])"
    printed = {
        subprocess.run(
            [sys.executable, "-c", code, str(folder)],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(6)
    }
    assert len(printed) == 1
