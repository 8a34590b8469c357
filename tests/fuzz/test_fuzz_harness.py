"""The harness itself: it fails on a silent other number, a traceback, a hang, a file that is left or changed."""

import json
import os
import time
import warnings
from pathlib import Path

import hang_watch
import pytest
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
