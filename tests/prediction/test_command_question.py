"""A command that was asked before is answered before torch is imported; whatever the answer depends on asks anew."""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from oochub.errors import OochubWarning
from oochub.prediction import command_question as recalling
from oochub.prediction.command_question import CommandQuestion
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage import cache_folder as code_digest
from oochub.storage.cache_folder import cache_folder
from oochub.studies.demo.example import example

_HEAVY = ("torch", "datasets", "transformers", "accelerate", "sklearn", "huggingface_hub")


@pytest.fixture
def world(tmp_path, monkeypatch):
    """A model's folder and a folder of data, written a minute ago."""
    model, data = tmp_path / "model", tmp_path / "data"
    for path, content in {
        model / "model.safetensors": b"weights",
        model / "config.json": b'{"a": 1}',
        model / "README.md": b"card",
        data / "metadata.csv": b"file_name,label\n1.jpg,cow\n",
        data / "1.jpg": b"pixels",
        data / "sub/2.jpg": b"pixels",
        tmp_path / "far.jpg": b"pixels",
    }.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    monkeypatch.setattr(recalling, "FRESH", -60.0)  # as if it had been written long ago
    return model, data


def _ask(world, **changes) -> CommandQuestion:
    model, data = world
    how = ModelSettings(**{name: changes.pop(name) for name in ("mode", "processor") if name in changes})
    columns = DataSettings(**{name: changes.pop(name) for name in ("label", "options") if name in changes})
    source = changes.pop("source", str(data))
    return CommandQuestion(
        changes.pop("command", "predict"), str(model), source, how, PredictionSettings(**changes), columns
    )


def _answer(question: CommandQuestion, *images: Path, key: str | None = "the key") -> None:
    with warnings.catch_warnings(record=True), question.answer():
        warnings.simplefilter("always")
        warnings.warn("said before", OochubWarning, stacklevel=1)
        question.note(key, map(str, images))
        warnings.warn("said after", OochubWarning, stacklevel=1)


def _rewrite(path: Path) -> None:
    """Other bytes of the same size and time, as a program that puts the time back leaves them."""
    about = path.stat()
    path.write_bytes(path.read_bytes()[::-1])
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))


_CHANGES = {
    "weights": lambda model, data: _rewrite(model / "model.safetensors"),
    "another weight file": lambda model, data: (model / "more.safetensors").touch(),
    "the config": lambda model, data: _rewrite(model / "config.json"),
    "the card": lambda model, data: _rewrite(model / "README.md"),
    "a tokenizer more": lambda model, data: (model / "vocab.txt").touch(),
    "an image": lambda model, data: _rewrite(data / "1.jpg"),
    "an image below": lambda model, data: _rewrite(data / "sub/2.jpg"),
    "the time of an image": lambda model, data: os.utime(data / "1.jpg", ns=(1, 1)),
    "an image more": lambda model, data: (data / "sub/3.jpg").touch(),
    "an image less": lambda model, data: (data / "sub/2.jpg").unlink(),
    "an image with another name": lambda model, data: (data / "1.jpg").rename(data / "0.jpg"),
    "a hidden file": lambda model, data: (data / ".huggingface.yaml").touch(),
    "the metadata": lambda model, data: _rewrite(data / "metadata.csv"),
    "an image elsewhere": lambda model, data: _rewrite(data.parent / "far.jpg"),
    "an image elsewhere is gone": lambda model, data: (data.parent / "far.jpg").unlink(),
}


@pytest.mark.parametrize("name", _CHANGES)
def test_what_the_answer_depends_on_asks_anew(name, world):
    """Planted faults seen: weights by their names alone, data without times, images elsewhere not looked at."""
    _answer(_ask(world), world[1] / "1.jpg", world[1].parent / "far.jpg")
    found = _ask(world).find()
    assert found is not None and found.key == "the key" and found.warned == ("said before",)
    _CHANGES[name](*world)
    assert _ask(world).find() is None


@pytest.mark.parametrize(
    "changes",
    [
        *({"mode": "head"}, {"label": "label"}, {"command": "audit"}, {"features": True}, {"splits": ["test"]}),
        *({"device": "cpu"}, {"limit": 3}, {"batch_size": 2}, {"dtype": "bfloat16"}, {"options": {"a": "b"}}),
    ],
)
def test_another_option_is_another_question(changes, world):
    """Planted fault seen: options that are not in the digest."""
    _answer(_ask(world))
    assert _ask(world).find() is not None and _ask(world, **changes).find() is None
    _answer(_ask(world, **changes), key="another key")
    found = _ask(world, **changes).find()
    assert found is not None and found.key == "another key"


@pytest.mark.parametrize(
    "changes",
    [
        *({"cache": False}, {"runtime": "onnxruntime"}, {"engine": "ray"}, {"compile": True}, {"processor": "else"}),
        *({"source": "nooch/ce_car"}, {"source": "somebody/on_the_hub"}, {"options": {"masks": __file__}}),
    ],
)
def test_what_no_digest_stands_for_is_never_recalled(changes, world):
    """A benchmark, the Hub, a file among the options, another runtime: the question is always answered anew."""
    _answer(_ask(world, **changes))
    assert _ask(world, **changes).find() is None and not cache_folder("predictions").exists()


def test_predictions_that_cannot_be_cached_and_other_warnings_are_not_kept(world):
    """A library's warning cannot be told again in its own way."""
    _answer(_ask(world), key=None)
    question = _ask(world)
    with warnings.catch_warnings(record=True), question.answer():
        warnings.simplefilter("always")
        warnings.warn("of a library", UserWarning, stacklevel=1)
        question.note("key", ())
    assert _ask(world).find() is None


def test_data_that_change_while_they_are_read_are_not_kept(world):
    """Nor what changed as the command began: a second change might have the same time."""
    question = _ask(world)
    with question.answer():
        question.note("key", ())
        (world[1] / "new.jpg").touch()
    assert _ask(world).find() is None
    (world[1] / "new.jpg").unlink()
    recalling.FRESH = 60.0  # the fixture puts it back
    _answer(_ask(world))
    assert _ask(world).find() is None


@pytest.mark.parametrize("change", ["variable", "versions", "code", "packages", "plug-in", "ranks"])
def test_another_machine_or_other_code_asks_anew(change, world, monkeypatch):
    """What provenance says, our own files, the folder of packages, and variables of the libraries."""
    _answer(_ask(world))
    assert _ask(world).find() is not None
    if change == "variable":
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    elif change == "versions":
        monkeypatch.setattr(recalling, "provenance", lambda: {"packages": {"torch": "0"}})
    elif change == "code":
        monkeypatch.setattr(recalling, "digest_code", lambda: "other")
    elif change == "packages":
        monkeypatch.setattr(sys, "path", [*sys.path, str(world[0].parent / "site-packages")])
    elif change == "plug-in":
        groups = type("Points", (), {"groups": {"oochub.mode"}})
        monkeypatch.setattr(recalling, "entry_points", lambda: groups)
    else:
        monkeypatch.setenv("WORLD_SIZE", "2")
    assert _ask(world).find() is None


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"key": "a", "warned": 3, "outside": []}', "\0"])
def test_a_damaged_file_is_no_answer(content, world):
    """It is written anew by the next answer."""
    _answer(_ask(world))
    (file,) = (cache_folder("predictions") / "asked").iterdir()
    file.write_text(content)
    assert _ask(world).find() is None
    _answer(_ask(world))
    assert _ask(world).find() is not None


def test_the_digest_of_the_code_reads_every_file_of_it():
    """Also those that `oochub.models.cache_key` reads. Planted fault seen: links to folders not followed."""
    read = []
    state, code_digest.describe_state = code_digest.describe_state, lambda path: read.append(path) or ""
    try:
        code_digest.digest_code()
    finally:
        code_digest.describe_state = state
    names = {str(Path(path).relative_to(Path(recalling.__file__).parents[1])) for path in read}
    assert {"models/cache_key.py", "builders/nooch.py", "models/modes/head.py", "storage/files.py"} <= names


@pytest.mark.slow
def test_the_folder_of_datasets_is_that_of_datasets(tmp_path):
    """By the same variables, in a process that has not imported `datasets`."""
    code = "from oochub.storage.cache_folder import datasets_folder as f; import sys; a = f(); "
    code += "assert 'datasets' not in sys.modules; from datasets import config; print(a == config.HF_DATASETS_CACHE)"
    given = {name: each for name, each in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
    for more in ({}, {"HF_HOME": "~/a"}, {"XDG_CACHE_HOME": "~/b"}, {"HF_DATASETS_CACHE": "c/d"}):
        made = subprocess.run([sys.executable, "-c", code], env={**given, **more}, capture_output=True, text=True)
        assert made.stdout == "True\n", (more, made.stderr)


def _run(words, env):
    """A command in a process of its own: what it printed, and what it imported."""
    code = "import atexit, sys; from oochub.cli import main\n"
    code += f"atexit.register(lambda: print('imported', *sorted(set(sys.modules) & set({_HEAVY})), file=sys.stderr))\n"
    code += f"sys.argv = {['oochub', *map(str, words)]!r}\nmain()"
    made = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
    said, _, imported = made.stderr.rpartition("imported")
    return made.stdout, said, imported.split()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["predict", "audit"])
@pytest.mark.parametrize("has_file", [True, False])
def test_the_second_time_nothing_heavy_is_imported_and_all_is_the_same(command, has_file, tmp_path):
    """Printed words and files are to the byte those of a second run that opens data and model.

    Planted faults seen: warnings that are not told again, a page that is not written.
    """
    folder, model = example(tmp_path / "example", size=16)
    words = [command, model, folder, "--label-column", "breed"]  # an audit warns that it guesses the context
    env = {**os.environ, "OOCHUB_CACHE": str(tmp_path / "cache")}
    out = tmp_path / ("p.parquet" if command == "predict" else "audit")
    _run([*words, "--out", out], env)
    kept = tmp_path / "kept"
    shutil.move(tmp_path / "cache/predictions/asked", kept)
    states = []
    for way in ("slow", "fast"):
        if way == "fast":
            shutil.rmtree(tmp_path / "cache/predictions/asked")
            shutil.move(kept, tmp_path / "cache/predictions/asked")
        if not has_file and command == "predict":
            out.unlink()
        elif not has_file:
            (out / "report.html").unlink()
        stdout, stderr, imported = _run([*words, "--out", out], env)
        files = [out] if out.is_file() else sorted(out.glob("[!.]*"))  # a manifest holds times
        states.append((stdout, stderr, {file.name: file.read_bytes() for file in files}))
        assert bool(imported) == (way == "slow"), imported
    assert states[0] == states[1]
    if command == "predict" or has_file:
        assert "No model was run" in states[1][1]
    if command == "audit":
        assert "The context is read from the column 'background'" in states[1][1]


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
