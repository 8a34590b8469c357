"""Files whole or not at all: a full disk, a path below a file, what a killed writer leaves."""

import os
import re
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from oochub.errors import OochubError
from oochub.storage.artifacts import FileKind
from oochub.storage.files import check_writable, claim_folder, lock_target, write_whole, write_whole_folder
from oochub.storage.ownership import MANIFEST, make_manifest


def test_an_error_leaves_the_old_file(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), write_whole(target) as draft:
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
            with write_whole(target) as draft:
                draft.write_bytes(b"x" * 5000)
        except OochubError as error:
            os._exit(0 if "Could not write" in str(error) else 2)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert not list(tmp_path.iterdir())


def test_an_array_that_a_full_disk_cuts_short_is_said_so(tmp_path):
    """NumPy alone says how much of it was written, and no errno. Seen: "Could not write ...: 202 requested and 56"."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            with write_whole(tmp_path / "big.npy") as draft:
                np.save(draft, np.zeros(5000))
        except OochubError as error:
            os.write(writer, str(error).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as said:
        words = said.read()
    os.waitpid(child, 0)
    assert re.search(r"Could not write .*big\.npy: No space left on device \(\d+ requested and \d+ written\)\.", words)
    assert not list(tmp_path.iterdir())


def test_path_below_a_file(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OochubError, match="is a file, not a folder"):
        check_writable(tmp_path / "file" / "out.json")


THINGS = FileKind("things", (), lambda folder: False, is_folder=True)


def test_folder_takes_the_place_of_the_old_one(tmp_path):
    for text in ("first", "second"):
        with write_whole_folder(tmp_path / "run", kind=THINGS) as draft:
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


@pytest.mark.parametrize("what", [write_whole, write_whole_folder])
def test_the_next_writer_sweeps_what_a_killed_one_left(tmp_path, what):
    target = tmp_path / "out"
    _killed_while_writing(target, what)
    assert len(list(tmp_path.iterdir())) == 1
    with what(target) as draft:
        others = [p for p in tmp_path.iterdir() if p != draft]
    assert not others and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_the_next_claim_sweeps_the_manifest_of_a_killed_one(tmp_path):
    """A kill between the manifest's draft and its removal. Planted fault: no sweep of a folder that has a manifest."""
    folder = tmp_path / "out"
    with claim_folder(folder, THINGS), write_whole(folder / "a.txt") as draft:
        draft.write_text("a")
    child = os.fork()
    if not child:
        os.link = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        (folder / MANIFEST).rename(tmp_path / "manifest")
        make_manifest(folder, THINGS.name)
    os.waitpid(child, 0)
    (tmp_path / "manifest").rename(folder / MANIFEST)
    assert len([*folder.iterdir()]) == 3
    with claim_folder(folder, THINGS):
        pass
    assert {path.name for path in folder.iterdir()} == {"a.txt", MANIFEST}


def test_the_draft_of_an_ended_process_is_swept_before_its_parent_asks_for_it(tmp_path):
    """A process that has ended is a zombie until its parent waits for it. Planted fault seen: any id that exists."""
    target = tmp_path / "out"
    child = os.fork()
    if child == 0:
        with write_whole_folder(target):
            os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # ended, and not waited for
    try:
        assert len(list(tmp_path.iterdir())) == 1
        with write_whole_folder(target):
            pass
        assert [each.name for each in tmp_path.iterdir()] == ["out"]
    finally:
        os.waitpid(child, 0)


def test_a_living_writer_is_left_alone(tmp_path):
    """Planted fault seen: sweeping every draft, whoever writes it."""
    target = tmp_path / "out.txt"
    with write_whole(target) as first:
        first.write_text("first")
        with write_whole(target) as second:
            second.write_text("second")
        assert first.exists()
    assert target.read_text() == "first"


NOTE = FileKind("a note", (".txt",), lambda path: path.read_bytes().startswith(b"note"))
NOT_REPLACED = {
    "another suffix": ("a.json", None, "must end in .txt"),
    "another content": (
        "a.txt",
        lambda path: path.write_text("mine"),
        "not a note that oochub wrote, and is not replaced",
    ),
    "a folder": ("a.txt", lambda path: path.mkdir(), "it is a folder"),
    "a pipe": ("a.txt", os.mkfifo, "pipe, socket or device"),
    "a link to a pipe": (
        "a.txt",
        lambda path: (os.mkfifo(path.with_suffix(".pipe")), path.symlink_to(path.with_suffix(".pipe"))),
        "pipe, socket or device",
    ),
    "a loop of links": ("a.txt", lambda path: path.symlink_to(path), "loop"),
    "a link to another content": (
        "a.txt",
        lambda path: (path.with_suffix(".md").write_text("mine"), path.symlink_to(path.with_suffix(".md"))),
        "it is a link",
    ),
    "a name of 300 letters": (f"{'a' * 300}.txt", None, "too long"),
}


@pytest.mark.parametrize("name", NOT_REPLACED)
@pytest.mark.parametrize("checked", [check_writable, write_whole])
def test_what_is_something_else_is_not_replaced(tmp_path, name, checked):
    """Planted faults seen: `kind.check` left out, `S_ISREG` left out, `recognizes` that says yes."""
    file, make, words = NOT_REPLACED[name]
    target = tmp_path / file
    if make:
        make(target)
    before = _states(tmp_path)
    with pytest.raises(OochubError, match=words):
        if checked is check_writable:
            check_writable(target, kind=NOTE)
        else:
            with write_whole(target, kind=NOTE) as draft:
                draft.write_text("note")
    assert _states(tmp_path) == before


def _states(folder):
    """What lies in a folder; reading a link may change the time of its last reading."""
    states = {path.name: path.lstat() for path in folder.iterdir()}
    return {name: (state.st_mode, state.st_ino, state.st_size, state.st_mtime_ns) for name, state in states.items()}


def test_a_folder_of_another_kind_is_not_replaced(tmp_path):
    repository = FileKind("a repository", (), lambda path: (path / "README.md").is_file(), is_folder=True)
    for _ in range(2):
        with write_whole_folder(tmp_path / "made", kind=repository) as draft:
            (draft / "README.md").write_text("new")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "cat.jpg").write_text("cat")
    for target, content in (("photos", "not a repository"), ("photos/cat.jpg", "it is a file")):
        with pytest.raises(OochubError, match=content), write_whole_folder(tmp_path / target, kind=repository):
            raise AssertionError("nothing is made")
    assert (tmp_path / "photos" / "cat.jpg").read_text() == "cat"


def test_no_link_is_followed_to_something(tmp_path):
    """Planted fault seen: the file behind it replaced. A link to nothing makes what it points to."""
    there, absent = tmp_path / "there.txt", tmp_path / "absent.txt"
    there.write_text("old")
    for real in (there, absent):
        real.with_suffix(".link").symlink_to(real)
    with pytest.raises(OochubError, match=r"there\.link: it is a link"), write_whole(there.with_suffix(".link")):
        raise AssertionError("nothing is made")
    with write_whole(absent.with_suffix(".link")) as draft:
        draft.write_text("new")
    assert there.read_text() == "old" and absent.read_text() == "new" and absent.with_suffix(".link").is_symlink()


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o007])
def test_modes(tmp_path, umask):
    """An existing mode is kept, a new file follows the umask, in a folder too. Planted fault seen: mkstemp's 0600."""
    old_file, new_file, folder = tmp_path / "old", tmp_path / "new", tmp_path / "run"
    old_file.write_text("")
    old_file.chmod(0o640)
    before = os.umask(umask)
    try:
        for file in (old_file, new_file):
            with write_whole(file) as draft:
                draft.write_text("x")
        for mode in (None, 0o604):
            with write_whole_folder(folder, kind=THINGS) as draft:
                (draft / "model.safetensors").touch(mode=0o600)
            mode_of_file = (folder / "model.safetensors").stat().st_mode & 0o777
            assert mode_of_file == (mode or 0o666 & ~umask)
            (folder / "model.safetensors").chmod(0o604)
    finally:
        os.umask(before)
    assert old_file.stat().st_mode & 0o777 == 0o640
    assert new_file.stat().st_mode & 0o777 == 0o666 & ~umask


def test_standard_output_and_the_null_device(tmp_path):
    """Standard output goes on where it is, in a file too. Planted fault seen: /dev/null not known."""
    code = (
        "from oochub.storage.files import write_whole\n"
        "for name in ('/dev/stdout', '/dev/null'):\n"
        "    with write_whole(name) as draft: draft.write_text(name)\n"
    )
    with (tmp_path / "out.txt").open("w") as file:
        file.write("before ")
        file.flush()
        subprocess.run([sys.executable, "-c", code], stdout=file, check=True)
    assert (tmp_path / "out.txt").read_text() == "before /dev/stdout"
    assert Path("/dev/null").is_char_device()


@pytest.mark.skipif(os.getuid() != 0, reason="only root may write below /proc by its permissions")
def test_a_read_only_file_system_is_said_before_work():
    with pytest.raises(OochubError, match="Cannot write /proc"):
        check_writable("/proc/a.txt")


@pytest.mark.slow
def test_two_writers_notice_each_other(tmp_path):
    """Planted fault seen: a lock of each process's own. A killed holder holds nothing, and no lock file stays."""
    code = (
        "import sys, time; from oochub.storage.files import lock_target\n"
        "with lock_target(sys.argv[1]): print('held', flush=True); time.sleep(60)\n"
    )
    target = tmp_path / "run"
    holder = subprocess.Popen([sys.executable, "-c", code, str(target)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout and holder.stdout.readline() == "held\n"
    with pytest.raises(OochubError, match=rf"Another process writes .*run \(process {holder.pid} on .*, since "):
        with lock_target(target):
            raise AssertionError("held twice")
    holder.kill()
    holder.wait()
    with lock_target(target):
        pass
    assert not list(tmp_path.iterdir())


def test_a_block_that_fails_leaves_no_empty_folder(tmp_path):
    """Folders that were there stay, and those that hold something. Planted fault: the inner folder alone removed."""
    (tmp_path / "old").mkdir()
    for target in ("new/inner/target", "old/inner/target"):
        with pytest.raises(ValueError), lock_target(tmp_path / target):
            raise ValueError
    assert [path.name for path in tmp_path.rglob("*")] == ["old"]
    with pytest.raises(ValueError), lock_target(tmp_path / "kept" / "inner" / "target"):
        (tmp_path / "kept" / "other").touch()
        raise ValueError
    assert sorted(path.name for path in (tmp_path / "kept").iterdir()) == ["other"]
    with lock_target(tmp_path / "done" / "target"):
        pass
    assert (tmp_path / "done").is_dir()
