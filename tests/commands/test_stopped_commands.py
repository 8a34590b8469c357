"""Ctrl-C and SIGTERM from the first moment on: the exit code, one sentence, no traceback and no draft.

Each case sends its signal at a certain place of the code, not after a time.
"""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from unittest.mock import patch

import pytest
from own_group import wait_for_the_last

from oochub.storage.files import make_scratch_folder

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_AT_AN_IMPORT = """
import os, signal, sys
class Finder:
    def find_spec(self, name, path, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            for _ in range(2):  # `timeout` sends two
                os.kill(os.getpid(), {number})
sys.meta_path.insert(0, Finder())
sys.argv[1:] = {words!r}
from oochub.cli import main
main()
"""
_WHILE_WRITING = """
import signal, sys, time
from pathlib import Path
import oochub.cli, oochub.process.program
from oochub.storage.files import write_whole
oochub.process.program._PATIENCE = 0.1
def stubborn():
    while True:
        try: yield
        except GeneratorExit: pass
class Destroyed:
    def __del__(self):
        signal.raise_signal({number})
def app():
    with write_whole(Path(sys.argv[1]) / "note.txt") as draft:
        draft.write_text("half")
        {stopped}
sys.modules["oochub.app"] = type(sys)("oochub.app")
sys.modules["oochub.app"].command_line = lambda: app
oochub.cli.main()
"""
_STOPPED = {
    "at once": "signal.raise_signal({number})",
    "in a destructor": "Destroyed(); time.sleep(600)",
    "with a generator that goes on": "rows = stubborn(); next(rows); signal.raise_signal({number})",
    "swallowed": """
        try: signal.raise_signal({number})
        except BaseException: pass
        time.sleep(600)""",
    "made another error": """
        try: signal.raise_signal({number})
        except BaseException as error: raise RuntimeError("a worker died") from error""",
}


def _ended(code: str, *words: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)], capture_output=True, text=True, timeout=300, check=False
    )
    return done.returncode, done.stderr


def _check(end: tuple[int, str], number: signal.Signals) -> None:
    code, message = end
    assert code == 128 + number, end
    assert "No partial files were left behind" in message and message.count("\n") == 1, message


@pytest.mark.slow
@pytest.mark.parametrize("number", _SIGNALS)
@pytest.mark.parametrize("module", ["typer", "rich", "oochub.commands.challenge", "datasets"])
def test_stopped_while_it_imports(module, number, tmp_path):
    """Planted fault: typer imported before the handlers are there."""
    words = ["challenge", "no/such", "--criterion", "mismatch", "--out", str(tmp_path / "out")]
    _check(_ended(_AT_AN_IMPORT.format(module=module, number=int(number), words=words)), number)


def test_stopped_while_it_takes_the_signals():
    """A kill at random found it. Planted fault: the handlers installed before the try."""
    code = """
import signal
import oochub.cli
from oochub.process.program import StopSignals
take = StopSignals.take
StopSignals.take = lambda self: (take(self), signal.raise_signal(15))
oochub.cli.main()
"""
    _check(_ended(code), signal.SIGTERM)


@pytest.mark.parametrize("number", _SIGNALS)
def test_stopped_again_at_its_end(number):
    """Two workers of a loader that stop their group found it. Planted fault: the default after a stop too."""
    code = f"""
import atexit, signal
import oochub.cli
from oochub.process.program import StopSignals
take = StopSignals.take
StopSignals.take = lambda self: (take(self), signal.raise_signal({int(number)}))
atexit.register(signal.raise_signal, {int(number)})
oochub.cli.main()
"""
    _check(_ended(code), number)


@pytest.mark.slow
@pytest.mark.parametrize("number", _SIGNALS)
@pytest.mark.parametrize("how", list(_STOPPED))
def test_stopped_while_it_writes(how, number, tmp_path):
    """Planted faults: no hook of what destructors drop, no second try, the error of a library shown as a bug."""
    stopped = _STOPPED[how].format(number=int(number))
    _check(_ended(_WHILE_WRITING.format(number=int(number), stopped=stopped), tmp_path), number)
    assert not list(tmp_path.iterdir())


def test_the_program_imports_next_to_nothing():
    """Planted fault: `import typer` at the head of cli.py."""
    code = "import sys, oochub.cli; print(*(name for name in ('typer', 'rich', 'numpy') if name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


_IN_A_WORKER = """
import os, sys, threading, time
import oochub.builder
import oochub.inputs.pictures.image_threads as batches
from oochub.cli import main
def wait(*_):
    if os.getpid() != os.getsid(0) or threading.current_thread() is not threading.main_thread():
        {kill}
        time.sleep(1)
    raise RuntimeError("it was to be done by processes or threads")
{place} = wait
main()
"""
_KILLS = {
    -signal.SIGKILL: "os.kill(os.getsid(0), 9)",
    128 + signal.SIGTERM: "os.kill(os.getsid(0), 15)",
    128 + signal.SIGINT: "os.killpg(0, 2)",  # as a terminal does
}
_PLACES = {
    "build": ("oochub.builder.BenchmarkBuilder._columns_of", ["--num-proc", "2"]),
    "train": ("batches.Preprocessing.pixels", ["--num-train-epochs", "1", "--argument", "cache_dir=PIXELS"]),
}


@pytest.fixture
def short_folder():
    """The path of a socket has 107 bytes at most; pytest's folders are longer."""
    with tempfile.TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "code"),
    [
        *(("build", code) for code in _KILLS),
        *(pytest.param("train", code, marks=pytest.mark.campaign) for code in _KILLS),
    ],
)
def test_processes_end_with_the_one_that_started_them(command, code, spawrious, tmp_path, short_folder):
    """Stopped while they build rows or decode images, they leave no process, message or folder."""
    scratch, out = short_folder, tmp_path / "out"
    place, more = _PLACES[command]
    words = [command, "spawrious/o2o_hard", "--data-dir", str(spawrious), "--out", str(out / "made")]
    process = subprocess.Popen(
        [
            *(sys.executable, "-c", _IN_A_WORKER.format(kill=_KILLS[code], place=place), *words),
            *(word.replace("PIXELS", str(out / "pixels")) for word in more),
        ],
        env={**os.environ, "TMPDIR": str(scratch)},
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    message = process.communicate(timeout=300)[1]
    wait_for_the_last(process.pid)
    assert process.returncode == code, message
    if code > 0:
        _check((process.returncode, message), signal.Signals(code - 128))
        assert not list(out.rglob("*draft*"))
        assert not list(scratch.iterdir())
    elif command == "build":
        left = [path.name for path in scratch.iterdir()]
        assert len(left) == 1 and not left[0].startswith("pymp-")
        with patch("tempfile.tempdir", str(scratch)), make_scratch_folder() as folder:
            assert [path.name for path in scratch.iterdir()] == [folder.name]
