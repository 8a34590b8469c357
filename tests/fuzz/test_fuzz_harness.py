"""The harness itself: it fails on a silent other number, a traceback, a hang, a file that is left or changed."""

import json
import os
import threading
import time
import warnings
from pathlib import Path
from random import Random

import hang_watch
import pytest
from fresh_cases import NUMBER, SEED, Reader, fresh
from fuzz_case import CHANGED, REFUSED, SAFE, SAID, SAME, Campaign, Case, Format, Used
from hang_watch import Hang

from oochub.errors import OochubError


def _make(folder: Path) -> None:
    (folder / "number.json").write_text("3")


def _careful(folder: Path, out: Path) -> Used:
    try:
        number = json.loads((folder / "number.json").read_text())
    except ValueError as error:
        raise OochubError(f"number.json is not JSON: {error}.") from error
    if number == 5:
        warnings.warn("five is odd", stacklevel=2)
    return Used(numbers=number, notes=("six",) if number == 6 else ())


def _writes(text: str):
    return lambda folder: (folder / "number.json").write_text(text)


def _ran(tmp_path: Path, text: str, expect: frozenset[str] = SAFE, use=_careful, **more: object) -> str:
    kind = Format(name="numbers", make=_make, use=use)
    return Campaign(tmp_path).run(kind, Case(name="a case", mutate=_writes(text), expect=expect, **more))


@pytest.mark.parametrize(
    "text, outcome", [("{", REFUSED), ("3", SAME), (" 3.0", SAME), ("5", SAID), ("6", SAID), ("4", CHANGED)]
)
def test_outcomes(tmp_path, text, outcome):
    assert _ran(tmp_path, text, frozenset({outcome})) == outcome


def test_another_number_without_a_word_fails(tmp_path):
    with pytest.raises(AssertionError, match="changed, expected refused or said or same"):
        _ran(tmp_path, "4")


def test_numbers_that_a_case_works_out_are_compared(tmp_path):
    assert _ran(tmp_path / "right", "4", frozenset({CHANGED}), numbers=4) == CHANGED
    with pytest.raises(AssertionError, match="other numbers than worked out"):
        _ran(tmp_path / "wrong", "4", frozenset({CHANGED}), numbers=7)


def test_a_traceback_fails(tmp_path):
    with pytest.raises(json.JSONDecodeError):
        _ran(tmp_path, "{", use=lambda folder, out: Used(numbers=json.loads((folder / "number.json").read_text())))


def test_an_error_that_names_no_file_fails(tmp_path):
    def use(folder: Path, out: Path) -> Used:
        if (folder / "number.json").read_text() != "3":
            raise OochubError("Something is wrong.")
        return Used(numbers=3)

    with pytest.raises(AssertionError, match="nothing is named"):
        _ran(tmp_path / "unnamed", "4", use=use)
    assert _ran(tmp_path / "named", "4", use=use, names=("Something",)) == REFUSED


def test_an_error_that_does_not_say_where_fails(tmp_path):
    with pytest.raises(AssertionError, match=r"no row 7 in: number\.json is not JSON"):
        _ran(tmp_path / "nowhere", "{", says="row 7")
    assert _ran(tmp_path / "said", "{", says=r"not JSON\b") == REFUSED


def _pauses(folder: Path) -> None:
    while True:
        time.sleep(0.01)


def _works(folder: Path) -> None:
    while True:
        pass


def _waits_for_a_writer(folder: Path) -> None:
    os.mkfifo(folder.parent.parent / "pipe")
    (folder.parent.parent / "pipe").read_text()


@pytest.mark.parametrize(
    "hang, says", [(_pauses, "asleep"), (_waits_for_a_writer, "asleep"), (_works, "million additions")]
)
def test_a_hang_fails(tmp_path, monkeypatch, hang, says):
    monkeypatch.setattr(hang_watch, "_PAUSE", 0.01)
    monkeypatch.setattr(hang_watch, "_LOOKS", 5)
    monkeypatch.setattr(hang_watch, "_LOOPS", 10)

    def use(folder: Path, out: Path) -> Used:
        if (folder / "number.json").read_text() != "3":
            hang(folder)
        return Used(numbers=3)

    with pytest.raises(Hang, match=f"a case: hangs, .*{says}"):
        _ran(tmp_path, "4", use=use)


@pytest.mark.slow
def test_work_on_a_slow_machine_is_no_hang(tmp_path, monkeypatch):
    """Two hundred looks at work in a thread that the reader awaits. Planted faults seen: a clock; who waits, sleeps."""
    monkeypatch.setattr(hang_watch, "_PAUSE", 0.001)
    monkeypatch.setattr(hang_watch, "_LOOKS", 50)
    looks = []
    look = hang_watch._all_sleep
    monkeypatch.setattr(hang_watch, "_all_sleep", lambda watcher: looks.append(look(watcher)) or looks[-1])

    def work() -> None:
        while len(looks) < 200:
            sum(range(100))

    def use(folder: Path, out: Path) -> Used:
        if (folder / "number.json").read_text() != "3":
            worker = threading.Thread(target=work)
            worker.start()
            worker.join()
        return _careful(folder, out)

    assert _ran(tmp_path, "4", frozenset({CHANGED}), use=use) == CHANGED
    assert len(looks) >= 200


def test_what_is_left_of_a_refusal_fails(tmp_path):
    def use(folder: Path, out: Path) -> Used:
        if (folder / "number.json").read_text() != "3":
            (out / "half.json").write_text("{")
            raise OochubError("number.json is wrong.")
        return Used(numbers=3)

    with pytest.raises(AssertionError, match=r"half.json'\] left"):
        _ran(tmp_path, "4", use=use)


def test_an_artifact_that_reading_changes_fails(tmp_path):
    def use(folder: Path, out: Path) -> Used:
        (folder / ".draft").write_text("")
        return Used(numbers=3)

    with pytest.raises(AssertionError, match="reading changed the artifact"):
        _ran(tmp_path, "3", use=use)


def test_a_seed_draws_the_same_changes_again(tmp_path, monkeypatch):
    def draw(folder: Path, rng: Random) -> str:
        (folder / "number.json").write_text(number := str(rng.random()))
        return number

    kind = Format(name="numbers", make=_make, use=_careful)
    drawn = {}
    for seed in ("1", "2", "1"):
        monkeypatch.setenv(SEED, seed)
        monkeypatch.setenv(NUMBER, "3")
        cases = [param.values[1] for param in fresh([Reader(kind=kind, changes={"number": draw})])]
        drawn.setdefault(seed, []).append([case.mutate(tmp_path) for case in cases])
    assert drawn["1"][0] == drawn["1"][1] != drawn["2"][0] and len(set(drawn["1"][0])) == 3
