"""A disk that gets full, at each command that writes: exit code 2, words, and the output as it was before.

A small tmpfs stands for it, as the folder of the output, of the caches or of temporary files.
"""

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from killed_command import End, ended
from small_disk import SmallDisk, small_disk
from test_kills import artefacts
from writing_commands import COMMANDS, Inputs

from oochub.storage.ownership import MANIFEST

_FREE = (0, 8192, 131072)
_WORDS = re.compile(
    "No space left on device|Not enough disk space|MB left. Free disk space|runs failed"
)  # or in the table
_COUNTS: Counter[str] = Counter()


@pytest.fixture
def disk(scratch) -> Iterator[SmallDisk]:
    """A file system with 64 MB."""
    with small_disk(scratch / "disk") as mounted:
        yield mounted
    (scratch / "disk").rmdir()


def _run(name: str, inputs: Inputs, scratch: Path, disk: SmallDisk, place: str) -> End:
    """Runs a command with one of its places on the disk, the others in `scratch`."""
    roots = {each: (disk.root if each == place else scratch) / each for each in ("out", "caches", "temporary")}
    for root in roots.values():
        root.mkdir(exist_ok=True)
    for each in ("caches", "temporary"):
        if each != place:
            shutil.rmtree(roots[each])
            roots[each].mkdir()
    words = COMMANDS[name](inputs, roots["out"])
    return ended(
        words,
        *(roots["caches"] / "datasets", roots["temporary"]),
        **{"ours": roots["caches"] / "ours", "said": scratch / "said.txt"},
    )


def _check_refused(end: End, case: str) -> None:
    assert end.code in (0, 2), f"{case}: {end}"
    if end.code == 2:
        assert _WORDS.search(end.message) and "Traceback" not in end.message, f"{case}: {end.message}"
    _COUNTS[f"{case.partition(',')[0]}: exit {end.code}"] += 1


def _hidden(folder: Path) -> list[Path]:
    return [path for path in folder.rglob(".*") if path.name not in (".gitattributes", MANIFEST)]


def _fill_at(name: str, place: str, sizes: tuple[int, ...], *, inputs: Inputs, scratch: Path, disk: SmallDisk) -> None:
    out = (disk.root if place == "out" else scratch) / "out"
    shutil.rmtree(out, ignore_errors=True)
    (disk.root / place).mkdir()
    codes = []
    for free in sizes:
        case = f"{name}, {free} bytes free for {place}"
        disk.fill(free)
        end = _run(name, inputs, scratch, disk, place)
        disk.clear()
        _check_refused(end, case)
        codes.append(end.code)
        assert end.code == 0 or not _hidden(out), (case, _hidden(out))
        if place != "out":
            shutil.rmtree(out)
    end = _run(name, inputs, scratch, disk, place)
    assert end.code == 0, end
    expected = artefacts(out)
    for free in sizes if place == "out" else ():
        case = f"{name}, {free} bytes free beside the earlier {place}"
        disk.fill(free)
        end = _run(name, inputs, scratch, disk, place)
        disk.clear()
        _check_refused(end, case)
        assert artefacts(out) == expected, case
    assert _run(name, inputs, scratch, disk, place).code == 0
    assert artefacts(out) == expected
    assert place != "out" or 2 in codes, "nothing was ever refused"
    shutil.rmtree(out)


@pytest.mark.campaign
@pytest.mark.parametrize("name", ["evaluate", "predict", "train"])
def test_a_full_disk(name, inputs, scratch, disk):
    _fill_at(name, "out", (8192,), inputs=inputs, scratch=scratch, disk=disk)


@pytest.mark.campaign
@pytest.mark.parametrize("place", ["out", "caches", "temporary"])
@pytest.mark.parametrize("name", list(COMMANDS))
def test_each_disk_of_each_command(name, place, inputs, scratch, disk):
    _fill_at(name, place, _FREE, inputs=inputs, scratch=scratch, disk=disk)
