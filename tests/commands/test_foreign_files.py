"""Each command that writes, twice into a place where others keep files: their files stay, and what is edited stops it.

Between the runs a file of somebody else is put beside each file that was written, with a link to elsewhere. Then one
of our files is edited: the next run must say so, and change nothing; with `--overwrite` it takes that file.
"""

import os
import shutil
from pathlib import Path

import pytest
from killed_command import End, ended
from writing_commands import COMMANDS

_FEW = ("audit", "leaderboard", "report", "report rows", "build", "evaluate", "train")
"""The commands of .ci/run; the campaign tries all."""
_NO_PLACE_FOR_A_MARK = ("imagenet_ood review",)  # --keep is a list of ids, which only --overwrite replaces
_EDITS_STOP_NOTHING = {  # what a run reads and keeps, and never replaces
    "example": "the images that are there are kept",
    "demo": "the worlds that are there are kept",
    "loading script": "it is not a command: no --overwrite",
}
_KEPT = ("cache/", "pixels/", "logs/", "checkpoints/", ".lock", ".oochub.jsonl", "stderr.txt")


def _read(folder: Path) -> dict[str, bytes]:
    """What each file below a folder holds, but caches, logs and manifests; where each link leads."""
    return {
        name: os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if not any(part in (name := path.relative_to(folder).as_posix()) for part in _KEPT)
        and (path.is_symlink() or path.is_file())
    }


def _put_beside(out: Path, outside: Path, written: dict[str, bytes]) -> dict[str, bytes]:
    """A file and a link of somebody else in each folder that a command wrote into."""
    mine = {}
    for folder in {Path(name).parent for name in written}:
        (out / folder / "mine.txt").write_text(f"mine of {folder}")
        (out / folder / "elsewhere").symlink_to(outside)
        mine[(folder / "mine.txt").as_posix()] = f"mine of {folder}".encode()
        mine[(folder / "elsewhere").as_posix()] = os.fsencode(outside)
    return mine


def _try_beside_others(name: str, inputs, tmp_path: Path, scratch: Path) -> None:
    out, outside, cache = tmp_path / "out", tmp_path / "outside", tmp_path / "cache"
    for folder in (outside, cache):
        folder.mkdir()
    (outside / "kept.txt").write_text("mine")
    words = COMMANDS[name](inputs, out)

    def run(*more: str) -> End:
        return ended([*words, *more], cache, scratch, ours=tmp_path / "ours")

    first = run()
    assert first.code == 0, first
    written = _read(out)
    assert written
    mine = _put_beside(out, outside, written)
    again = run(*(["--overwrite"] if name in _NO_PLACE_FOR_A_MARK else []))
    assert again.code == 0, again
    after = _read(out)
    assert mine.items() <= after.items() and {*written, *mine} == {*after}, {*written, *mine} ^ {*after}
    assert (outside / "kept.txt").read_text() == "mine" and len(list(outside.iterdir())) == 1
    if any(name.startswith(each) for each in _EDITS_STOP_NOTHING):
        return
    marked = [each for each in written if "/" in each or not each.endswith((".csv", ".txt", ".json", ".parquet"))]
    if not marked:  # files alone, known by a header or a key
        return
    edited = max(marked, key=lambda each: (not each.endswith((".parquet", ".json")), len(written[each])))
    with (out / edited).open("ab") as file:
        file.write(b"<!-- mine -->")
    before = _read(out)
    stopped = run()
    assert stopped.code == 2 and Path(edited).name in stopped.message.replace("\n", ""), (edited, stopped)
    assert "Traceback" not in stopped.message and _read(out) == before
    taken = run("--overwrite")
    assert taken.code == 0, taken
    assert mine.items() <= _read(out).items() and _read(out)[edited] != before[edited]


@pytest.mark.slow
@pytest.mark.parametrize("name", _FEW)
def test_others_keep_their_files(name, inputs, tmp_path, scratch):
    """Planted faults seen: a folder swapped whole; a file that is not listed; an edited file replaced."""
    _try_beside_others(name, inputs, tmp_path, scratch)
    shutil.rmtree(tmp_path)


@pytest.mark.campaign
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in _FEW])
def test_others_keep_their_files_with_every_command(name, inputs, tmp_path, scratch):
    """The same of all the others."""
    _try_beside_others(name, inputs, tmp_path, scratch)
    shutil.rmtree(tmp_path)
