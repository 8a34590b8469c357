"""The bar of a job: what a terminal, a pipe and a notebook see of it."""

import io
import subprocess
import sys
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from oochub.process.follow import follow, is_in_notebook


class ZMQInteractiveShell:
    """A kernel's shell, by its name."""


@pytest.fixture
def notebook(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))
    monkeypatch.setattr("oochub.process.follow.find_spec", lambda name: None)


def test_a_pipe_sees_no_bar_and_a_notebook_sees_one_that_goes(notebook, monkeypatch):
    """Without ipywidgets, as text. Planted fault seen: `disable=None` left to tqdm, which asks the stream."""
    stream = io.StringIO()
    assert is_in_notebook()
    assert list(follow(range(3), desc="Predicting", disable=None, file=stream)) == [0, 1, 2]
    assert "Predicting" in stream.getvalue() and stream.getvalue().rstrip(" ").endswith("\r")
    monkeypatch.delitem(sys.modules, "IPython")
    stream = io.StringIO()
    assert not is_in_notebook() and list(follow(range(3), disable=None, file=stream)) == [0, 1, 2]
    assert not stream.getvalue()


@pytest.mark.parametrize("shell", [None, object()])
def test_another_shell_is_no_notebook(monkeypatch, shell):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert not is_in_notebook()


def test_what_is_not_to_be_shown_is_not(notebook):
    stream = io.StringIO()
    assert sum(follow([1, 2], disable=True, file=stream)) == 3 and not stream.getvalue()


def test_a_job_inside_another_has_no_bar_of_its_own_until_that_ends(notebook):
    """Planted fault seen: a bar for each. A job that failed leaves no bar that hides those after it."""
    stream = io.StringIO()
    with follow(total=2, desc="Outer", disable=None, file=stream) as outer:
        assert list(follow(range(2), desc="Inner", disable=None, file=stream)) == [0, 1]
    assert list(follow(range(2), desc="Next", disable=None, file=stream)) == [0, 1] and outer.disable
    assert "Next" in stream.getvalue()
    assert "Outer" in stream.getvalue() and "Inner" not in stream.getvalue()
    kept = []

    def fail():
        kept.append(follow(total=2, desc="Failed", disable=None, file=stream))
        raise ValueError

    with pytest.raises(ValueError):
        fail()
    list(follow(range(2), desc="Later", disable=None, file=stream))
    assert "Later" in stream.getvalue() and not kept[0].disable


BOOK = """
import json, nbformat
from nbclient import NotebookClient
book = nbformat.v4.new_notebook()
book.cells = [nbformat.v4.new_code_cell(text) for text in (
    "from oochub.studies.demo.example import example\\nimages, model = example('toy', size=24)",
    "import oochub\\nfrom oochub.process import follow as module\\n"
    "open_bars, most, names = set(), 0, []\\n"
    "from tqdm import tqdm\\n"
    "class Seen(tqdm):\\n"
    "    def __init__(self, *given, **settings):\\n"
    "        global most\\n"
    "        super().__init__(*given, **settings)\\n"
    "        if not self.disable:\\n"
    "            open_bars.add(id(self)); names.append(self.desc); most = max(most, len(open_bars))\\n"
    "    def close(self):\\n"
    "        open_bars.discard(id(self)); super().close()\\n"
    "import tqdm as package\\n"
    "package.tqdm = Seen\\n"
    "module.find_spec = lambda name: None\\n"
    "report = oochub.audit(model, images, label='breed', context='background', cache=False)",
    "print('most', most, names)",
)]
NotebookClient(book, kernel_name="python3", timeout=200).execute()
print(json.dumps([[str(output.get("text") or output.get("data")) for output in cell.outputs] for cell in book.cells]))
"""


@pytest.mark.slow
@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("nbclient", "ipykernel")),
    reason="nbclient or ipykernel is not installed: `make test` installs both",
)
def test_an_audit_in_a_real_kernel_has_one_bar_at_a_time(tmp_path):
    """The bars are those of the work, and none of loading weights."""
    done = subprocess.run([sys.executable, "-c", BOOK], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert "most 1 [" in done.stdout and "Predicting" in done.stdout
    assert "Loading weights" not in done.stdout
