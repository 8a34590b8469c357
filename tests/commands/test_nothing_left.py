"""What a program leaves on the machine when it is over, or was ended: no process, no folder in TMPDIR, no semaphore."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from killed_command import short_folder
from own_group import wait_for_the_last
from writing_commands import COMMANDS, Inputs

from oochub.trainers.backbone import open_backbone

_FORKED_AND_KILLED = """
import os, signal, sys, time
from pathlib import Path
from oochub.process.program import program
parent = os.getpid()
def late():
    while os.getppid() == parent:
        time.sleep(0.01)
os.register_at_fork(after_in_child=late)
def work():
    if os.fork():
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(600)
program(work)
"""
_RANK = """
import os, sys, time
from pathlib import Path
from oochub.process.program import program
def work():
    folder = Path(sys.argv[1])
    (folder / "draft").with_suffix("." + os.environ["RANK"]).write_text(str(os.getpid()))
    (folder / "draft").with_suffix("." + os.environ["RANK"]).replace(folder / os.environ["RANK"])
    try:
        time.sleep(600)
    finally:
        (folder / os.environ["RANK"]).unlink()
program(work)
"""
_LONGEST = 600.0  # seconds that a test waits for what must come


def _started(words: list[str], scratch: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, *words],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def _wait(is_so, process: "subprocess.Popen[str]") -> None:
    until = time.monotonic() + _LONGEST
    while not is_so():
        assert process.poll() is None and time.monotonic() < until, process.communicate()[1]
        time.sleep(0.02)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory) -> Inputs:
    """What the commands read."""

    def finish(words: list[str]) -> None:
        subprocess.run([sys.executable, "-m", "oochub.cli", *words], check=True, capture_output=True)

    folder = tmp_path_factory.mktemp("inputs")
    model, processor = open_backbone("resnet-tiny", class_names=("bulldog", "corgi", "dachshund", "labrador"), seed=1)
    model.save_pretrained(folder / "run")  # none of these programs needs one that was trained
    processor.save_pretrained(folder / "run")
    return Inputs(folder, finish)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    ["audit", "build by two", *(pytest.param(name, marks=pytest.mark.campaign) for name in ("predict", "sweep"))],
)
def test_a_program_that_is_over_leaves_nothing(name, inputs, tmp_path):
    """Fault seen: TMPDIR/torchinductor_<user>, which torch makes as soon as transformers is imported."""
    words = [*COMMANDS[name](inputs, tmp_path / "out"), *(("--jobs", "2") if name == "sweep" else ())]
    with short_folder() as scratch:
        process = _started(["-m", "oochub.cli", *words], scratch)
        message = process.communicate(timeout=600)[1]
        wait_for_the_last(process.pid)
        assert process.returncode == 0 and "leaked" not in message, message
        assert not list(scratch.iterdir())


@pytest.mark.campaign
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_sweep_that_is_stopped_leaves_nothing(number, inputs, tmp_path):
    """In its trainings. Fault seen: two leaked semaphores, those of the workers' bars of progress."""
    words = ["-m", "oochub.cli", *COMMANDS["sweep"](inputs, tmp_path), "--jobs", "2"]
    recipe = tmp_path / "long.toml"
    recipe.write_text(Path(inputs("recipe.toml")).read_text().replace("epochs = 1", "epochs = 10000"))
    words[words.index(inputs("recipe.toml"))] = str(recipe)
    with short_folder() as scratch:
        process = _started(words, scratch)
        _wait(lambda: len(list(tmp_path.glob("*/runs/*/*"))) > 1, process)
        process.send_signal(number)
        message = process.communicate(timeout=_LONGEST)[1]
        wait_for_the_last(process.pid)
        assert process.returncode == (-number if number == signal.SIGKILL else 128 + number), message
        assert "leaked" not in message, message
        if number == signal.SIGKILL:  # then the next program clears up
            assert _started(["-m", "oochub.cli", "list"], scratch).wait(_LONGEST) == 0
        assert not list(scratch.iterdir())


def test_a_forked_process_whose_parent_is_gone_already_ends(tmp_path):
    """Fault seen: killed between the fork and the look for it, a program left the process for good."""
    process = _started(["-c", _FORKED_AND_KILLED], tmp_path)
    process.wait(_LONGEST)
    wait_for_the_last(process.pid)


@pytest.mark.slow  # torchrun imports torch
def test_the_processes_of_a_killed_torchrun_stop(tmp_path):
    """They clear up. Fault seen: both went on."""
    script = tmp_path / "rank.py"
    script.write_text(_RANK)
    words = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", str(script), str(tmp_path)]
    with short_folder() as scratch:
        process = _started(words, scratch)
        files = [tmp_path / "0", tmp_path / "1"]
        _wait(lambda: all(file.exists() for file in files), process)
        ranks = [int(file.read_text()) for file in files]
        process.kill()
        process.wait()
        for rank in ranks:
            wait_for_the_last(os.getsid(rank) if Path(f"/proc/{rank}").exists() else rank)
        assert not any(file.exists() for file in files)
