"""A signal at random moments of every command that writes: the next run ends with an undisturbed run's artefacts.

Each command runs in a child forked from a server that has imported everything, so that the moments fall into the work
and not into imports. One thread, deterministic algorithms. The everyday test says that no command is left out; the slow
tests stop a few commands once by each signal, `make campaign` every command 20 times by each.
"""

import json
import os
import random
import re
import shutil
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from killed_command import End, ended, left_in
from writing_commands import COMMANDS, INPUTS, PUSHING, READING, Inputs, command_of

import oochub
from oochub.records.origin_records import drop_when_and_where
from oochub.storage.ownership import MANIFEST, read_mark
from oochub.storage.parquet_file import read_parquet

_SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
_UNEQUAL = ("cache/", "pixels/", "/logs/", "checkpoints", "/.lock", MANIFEST)
_MOMENT = re.compile(rb"20\d\d-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?")
_MARK = re.compile(rb"Written by oochub, SHA-256 of the rest [0-9a-f]{32}")
_KEY = re.compile(rb'"key": ?"[0-9a-f]{40}",?')
_COUNTS: dict[str, Counter[str]] = {}


def artefacts(out: Path) -> dict[str, Any]:
    """Every file that a command leaves but caches, logs and checkpoints, without when, where and how long.

    Its mark is a digest of the rest, moments too: it must fit and is left out.
    """
    result: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if not path.is_file() or any(part in name for part in _UNEQUAL):
            continue
        if path.suffix == ".parquet":
            table = read_parquet(path).table
            metadata = {key: _record(value, name) for key, value in (table.schema.metadata or {}).items()}
            table = table.drop_columns([column for column in ("seconds",) if column in table.column_names])
            result[name] = (table.replace_schema_metadata(None).to_pydict(), metadata)
        elif path.suffix == ".json":
            result[name] = _record(path.read_bytes(), name)
        else:
            assert read_mark(path) is not False, f"{name} is not as it was when it was marked"
            result[name] = _MARK.sub(b"", _MOMENT.sub(b"", path.read_bytes()))
    return result


def _record(text: bytes, name: str) -> Any:
    if name.startswith("demo/"):  # it draws its raw files anew, and their times are in the keys of its predictions
        text = _KEY.sub(b"", text)
    try:
        record = drop_when_and_where(json.loads(text))
    except ValueError:
        return text
    return {key: value for key, value in record.items() if key != "seconds"} if isinstance(record, dict) else record


@pytest.fixture(scope="module", autouse=True)
def counts(request) -> Iterator[None]:
    """Prints at the end how often each command was hit by each signal, and how it ended."""
    yield
    lines = [f"{what}: {', '.join(f'{n} {end}' for end, n in ends.items())}" for what, ends in _COUNTS.items()]
    with request.config.pluginmanager.getplugin("capturemanager").global_and_fixture_disabled():
        print("", *lines, sep="\n")  # noqa: T201


def _check_finished(end: End) -> float:
    assert end.code == 0, end
    return end.seconds


def _stop_at_random(name: str, times: int, seed: int, *, inputs: Inputs, folder: Path, scratch: Path) -> None:
    """Stops a command so many times by each signal while it works, each time in a new folder; then lets it finish."""
    cache = folder / "cache"
    words = COMMANDS[name](inputs, folder)
    length = _check_finished(ended(words, cache, scratch))
    expected = artefacts(folder)
    assert expected
    shutil.rmtree(folder)
    moments = random.Random(seed)
    for number in _SIGNALS:
        ends = _COUNTS.setdefault(f"{name}, {number.name}, seed {seed}", Counter())
        hits = attempts = 0
        while hits < times:
            attempts += 1
            assert attempts <= 10 * times + 10, f"only {hits} of {attempts} signals hit, seed {seed}"
            end = ended(words, cache, scratch, number, moments.uniform(0, length))
            case = f"attempt {attempts} of {name}, {number.name}, seed {seed}: {end}"
            ends[_outcome(end, number, case)] += 1
            hits += end.code != 0
            if end.code == 0:  # this machine is faster now than it was undisturbed
                length = min(length, end.seconds)
            if end.code > 0 and _left(folder, scratch):
                ends["left a draft for the next run"] += 1
            _check_finished(ended(words, cache, scratch))
            assert artefacts(folder) == expected, case
            assert not _left(folder, scratch), (_left(folder, scratch), case)
            shutil.rmtree(folder)


def _outcome(end: End, number: signal.Signals, case: str) -> str:
    if end.code == 0:
        return "over before"
    if end.code == -number:
        return "killed" if number == signal.SIGKILL else "stopped after its work"
    assert end.code == 128 + number, case
    assert "Traceback" not in end.message and "No partial files were left behind" in end.message, case
    return f"exit {end.code}"


def _left(folder: Path, scratch: Path) -> list[Path]:
    """Drafts, locks and temporary folders that nobody holds any more."""
    hidden = [path for path in folder.rglob(".*") if "cache" not in path.parts or "draft-" in path.name]
    return [path for path in (*hidden, *left_in(scratch)) if path.name not in (".gitattributes", MANIFEST)]


_FEW = ("build", "train", "predict", "evaluate")
"""The commands that .ci/run stops; the campaign stops all of them, and more often."""


def test_every_command_that_writes_is_stopped():
    """Planted faults: a new command, or a new loading script, without words: TYPED in its test."""
    first = {command_of(name) for name in COMMANDS if not name.startswith("loading script")}
    others = {*READING, *PUSHING}
    lacking = set(oochub.names("command")) - first - others
    assert not lacking, f"say in the test of {lacking} what is typed: TYPED or READS_ONLY, see writing_commands.py"
    assert first | others == set(oochub.names("command")) and not first & others
    scripts = Path(oochub.__file__).parent / "loading_scripts"
    named = {file.stem for file in scripts.glob("*.py") if "__main__" in file.read_text("utf-8")}
    assert named == {name.rpartition(" ")[2] for name in COMMANDS if name.startswith("loading script")} and named


@pytest.mark.parametrize("name", list(COMMANDS))
def test_what_a_command_reads_can_be_made(name):
    """A campaign found one that could not: the loading script of WILDS read a folder that nothing draws."""
    read: list[str] = []

    class Named(Inputs):
        def __call__(self, name: str) -> str:
            read.append(name)
            return name

    COMMANDS[name](Named(Path("inputs"), lambda words: None), Path("out"))
    assert set(read) <= INPUTS.keys()


@pytest.mark.slow
@pytest.mark.parametrize("name", _FEW)
def test_stopped_once_by_each_signal(name, inputs, tmp_path, scratch):
    """Planted faults seen: a writer that sweeps nothing; a lock that a killed process goes on to hold."""
    _stop_at_random(name, 1, 0, inputs=inputs, folder=tmp_path / "out", scratch=scratch)


@pytest.mark.campaign
@pytest.mark.parametrize("name", list(COMMANDS))
def test_stopped_at_many_moments(name, inputs, tmp_path, scratch):
    """The same, 20 times by each; OOCHUB_KILL_SEED=N draws the moments of an earlier run."""
    seed = int(os.environ.get("OOCHUB_KILL_SEED", time.time_ns() % 1_000_000))
    _stop_at_random(name, 20, seed, inputs=inputs, folder=tmp_path / "out", scratch=scratch)
