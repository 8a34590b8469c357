"""Two processes that write one folder: the second says who is there, and two configs of one repository both stand."""

import os
import sys
from multiprocessing import get_context
from pathlib import Path
from threading import BrokenBarrierError

import pytest
from huggingface_hub import DatasetCard

from oochub.cli import main
from oochub.files import sole_writer

_RECIPE = """
about = "A tiny sweep."
tasks = ["spawrious/o2o_hard"]
model = "resnet-tiny"
seeds = [0]
select = "validation_loss"
[methods.ERM]
objective = "erm"
"""
_DATA = ("--data-dir", "RAW", "--out", "OUT")
_COMMANDS = {
    "build": ("spawrious/o2o_hard", *_DATA),
    "challenge": ("spawrious/o2o_hard", "--criterion", "mismatch", "--context", "background", *_DATA),
    "contexts": ("spawrious/o2o_hard", "--by", "properties", *_DATA),
    "train": ("spawrious/o2o_hard", "--num-train-epochs", "1", *_DATA),
    "sweep": ("RECIPE", *_DATA),
    "sweep --features": ("RECIPE", "--features", *_DATA),
}


@pytest.mark.parametrize("name", list(_COMMANDS))
def test_the_second_says_who_is_there(name, spawrious, tmp_path, monkeypatch, capsys):
    """Planted fault: each of the commands without the lock. `detect` has a test beside its toy models."""
    recipe, out = tmp_path / "recipe.toml", tmp_path / "out"
    recipe.write_text(_RECIPE)
    places = {"RAW": str(spawrious), "RECIPE": str(recipe), "OUT": str(out)}
    words = [places.get(word, word) for word in _COMMANDS[name]]
    monkeypatch.setattr(sys, "argv", ["oochub", name.split()[0], *words])
    with sole_writer(out / "o2o_hard" if name == "build" else out), pytest.raises(SystemExit) as stopped:
        main()
    message = capsys.readouterr().err
    assert stopped.value.code == 2 and f"process {os.getpid()} " in message, message
    assert "Another process writes" in message and "since 20" in message


def _build(config: str, raw: Path, out: Path, both) -> None:
    """Builds; between reading the card and writing it, it waits until the other has read it too, if it ever does."""
    from oochub.loading_scripts import built_repository
    from oochub.loading_scripts.parquet_repository import parquet_repository

    original = built_repository.license_text

    def read(benchmark):
        try:
            both.wait(1)
        except BrokenBarrierError:
            pass
        return original(benchmark)

    built_repository.license_text = read
    parquet_repository(f"spawrious/{config}", out, data_dir=str(raw))


def test_two_builds_of_one_repository_both_stand_in_its_card(spawrious, tmp_path):
    """Planted fault: the card written without the lock; one of the two was lost."""
    context = get_context("forkserver")  # forks from a process without threads; pytest's own has some
    context.set_forkserver_preload(["oochub.loading_scripts.parquet_repository"])
    both = context.Barrier(2)
    processes = [
        context.Process(target=_build, args=(config, spawrious, tmp_path / "spawrious", both))
        for config in ("o2o_easy", "o2o_hard")
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    configs = DatasetCard.load(tmp_path / "spawrious" / "README.md").data.to_dict()["configs"]
    assert {config["config_name"] for config in configs} == {"o2o_easy", "o2o_hard"}
    assert not list((tmp_path / "spawrious").glob(".*"))
