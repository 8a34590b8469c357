"""Files whole or not at all: a full disk, a path below a file, what a killed writer leaves."""

import os
import resource
import signal
import time
from pathlib import Path

import pytest

from oochub.errors import OochubError
from oochub.files import check_writable, folder_written_whole, written_whole


def test_an_error_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), written_whole(target) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert target.read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["a.txt"]


def test_full_disk_is_said_and_leaves_nothing(tmp_path):
    """RLIMIT_FSIZE in a child process: the write fails as on a full disk."""
    target = tmp_path / "big.bin"
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            with written_whole(target) as draft:
                draft.write_bytes(b"x" * 5000)
        except OochubError as error:
            os._exit(0 if "Could not write" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert not list(tmp_path.iterdir())


def test_path_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OochubError, match="is a file, not a folder"):
        check_writable(tmp_path / "file" / "out.json")


def test_folder_takes_the_place_of_the_old_one(tmp_path):
    for text in ("first", "second"):
        with folder_written_whole(tmp_path / "run") as draft:
            (draft / "a.txt").write_text(text)
    assert (tmp_path / "run" / "a.txt").read_text() == "second"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def _killed_while_writing(target: Path, what) -> None:
    child = os.fork()
    if not child:
        with what(target):
            time.sleep(60)
    while not any(p.name.startswith(f".{target.name}.draft-") for p in target.parent.iterdir()):
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


@pytest.mark.parametrize("what", [written_whole, folder_written_whole])
def test_the_next_writer_sweeps_what_a_killed_one_left(tmp_path, what):
    target = tmp_path / "out"
    _killed_while_writing(target, what)
    assert len(list(tmp_path.iterdir())) == 1
    with what(target) as draft:
        others = [p for p in tmp_path.iterdir() if p != draft]
    assert not others and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_living_writer_is_left_alone(tmp_path):
    """Planted fault seen: sweeping every draft, whoever writes it."""
    target = tmp_path / "out.txt"
    with written_whole(target) as first:
        first.write_text("first")
        with written_whole(target) as second:
            second.write_text("second")
        assert first.exists()
    assert target.read_text() == "first"
