"""Terminals that are narrow, know no more than ASCII, or are closed while a command prints."""

import os
import subprocess
import sys

import pytest

import oochub
from oochub.errors import unknown_name


def _run(*words, **environment):
    command = [sys.executable, "-m", "oochub.cli", *words]
    return subprocess.run(command, capture_output=True, env=os.environ | environment, check=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [("train", "--help"), pytest.param(("sweep", "nooch_suite", "--dry-run"), marks=pytest.mark.slow)]
)
def test_an_ascii_terminal_gets_ascii(words):
    """Planted fault: the streams left strict; then both ended with UnicodeEncodeError."""
    done = _run(*words, LC_ALL="C", PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr.decode()[-500:]
    assert done.stdout.decode("ascii").strip()


@pytest.mark.slow
def test_a_name_that_is_no_text_is_shown():
    """The bytes of a file's name need not be UTF-8."""
    done = _run("evaluate", os.fsdecode(b"\xff.parquet"), "--out", "report.json")
    assert done.returncode == 2 and b"Traceback" not in done.stderr, done.stderr.decode()[-500:]


@pytest.mark.slow
def test_a_narrow_terminal_gets_its_lines():
    """At a width of one column."""
    done = _run("list", "benchmark", COLUMNS="1")
    assert done.returncode == 0 and not done.stderr, done.stderr.decode()[-500:]


@pytest.mark.slow
def test_a_closed_pipe_gives_no_traceback():
    """As `oochub list | head -1` closes it."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        command = [sys.executable, "-m", "oochub.cli", "list", "--json"]
        done = subprocess.run(command, stdout=closed, stderr=subprocess.PIPE, check=False)
    assert done.returncode != 0 and not done.stderr, done.stderr.decode()[-500:]


def test_a_warning_of_ours_is_words_alone():
    """On standard error, as the warning about weights that a model has no place for. Fault planted: Python's format."""
    code = (
        "import warnings; from oochub.cli import prepare_terminal\n"
        "from oochub.errors import OochubWarning\n"
        "prepare_terminal(); warnings.warn('2 weights left out.', OochubWarning); warnings.warn('x')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not done.stdout
    assert done.stderr.startswith("Warning: 2 weights left out.\n") and "UserWarning: x" in done.stderr


def test_of_many_names_the_near_ones_are_shown():
    """Planted fault: all 343 configs of nooch listed."""
    names = [f"ce_{number:03}" for number in range(343)]
    near = str(unknown_name("config of nooch", "ce_12", names, "`oochub show benchmark nooch` says what they are."))
    assert "Did you mean" in near and "There are 343. `oochub show benchmark nooch`" in near and len(near) < 200
    far = str(unknown_name("config of nooch", "xyz", names))
    assert "There are 343: ce_000, ce_001" in far and len(far) < 200
    assert len(str(unknown_name("config of nooch", "x" * 10_000, names))) < 500


def test_a_wrong_config_names_the_near_ones(coco):
    """As the command line says it."""
    with pytest.raises(oochub.OochubError, match=r"'ce_cra'. Did you mean .*'ce_car'.* There are 423") as caught:
        oochub.load("nooch/ce_cra", data_dir=str(coco))
    assert len(str(caught.value)) < 250 and "`oochub show benchmark nooch`" in str(caught.value)


def test_json_redraws_no_terminal(capsys):
    """C1 controls and bidi controls are escapes that read back as the same text; other letters stay as they are.

    Before, `--json` printed U+009B (a control sequence) and U+202E as they stood in a name.
    """
    import json

    from oochub.commands._options import out_console, print_result

    names = {"name": "a\u009b2Jb\u202ec\u2066d\u200fé\x1b[31m\n"}
    print_result(names, as_json=True)
    out_console.print_json(data=names)
    said = capsys.readouterr().out
    assert not set(said) & set("\u009b\u202e\u2066\u200f\x1b") and said.count("é") == 2
    first = said.index("}") + 1
    assert [json.loads(said[:first]), json.loads(said[first:])] == [names, names]
