"""`studies.wilds.toys`: one quick data set from raw folder to page, wrong words, a folder of something else, Ctrl-C."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from oochub.errors import OochubError
from oochub.stats.estimate import Estimate
from oochub.studies.wilds import toys
from oochub.studies.wilds.toys import ToyResult, main

_QUICK = "civilcomments"


def _run(out):
    words = ["-m", "oochub.studies.wilds.toys", "--out", str(out), "--only", _QUICK]
    return subprocess.Popen([sys.executable, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.mark.campaign
def test_one_data_set_from_the_raw_folder_to_the_page_and_again_after_ctrl_c(tmp_path):
    """A stop in the middle, a run, and a second one, whose numbers are the same."""
    out = tmp_path / "wilds"
    stopped = _run(out)
    while stopped.poll() is None and not (out / "runs").exists():
        time.sleep(0.05)
    os.kill(stopped.pid, signal.SIGINT)
    said, _ = stopped.communicate(timeout=300)
    assert stopped.returncode == 130 and "Interrupted" in said and "Traceback" not in said
    assert not (out / "wilds.html").exists()
    reports = []
    for _ in range(2):
        done = _run(out)
        said, _ = done.communicate(timeout=600)
        assert done.returncode == 0 and _QUICK in said and "not beaten" not in said, said
        (file,) = (out / "runs").glob("*/report.json")
        reports.append(json.loads(file.read_text("utf-8")))
        page = (out / "wilds.html").read_text("utf-8")
        assert "Table 1" in page and _QUICK in page and file.with_name("report.html").is_file()
    first, second = ([part["metrics"] for part in report["slices"]] for report in reports)
    assert first == second


def test_wrong_words_are_said_before_anything_is_made(tmp_path):
    """Planted and seen: a name that is looked up when its turn comes."""
    with pytest.raises(OochubError, match=r"No config named 'camelyon'. Did you mean 'camelyon17'\?"):
        main(out=tmp_path / "new", only=["civilcomments", "camelyon"])
    assert not (tmp_path / "new").exists()
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(OochubError, match="what stands there is not the demo"):
        main(out=tmp_path, only=[_QUICK])
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


@pytest.mark.parametrize(("low", "is_better"), [(0.31, True), (0.3, False), (float("nan"), False)])
def test_a_model_is_better_where_its_whole_interval_is(low, is_better, monkeypatch):
    """Of 0.5 against a constant of 0.3. Planted and seen: the value for the lower end."""
    headline = Estimate(0.5, low=low, high=0.7, n=9, method="by hand")
    monkeypatch.setattr(ToyResult, "headline", headline)
    assert ToyResult(report=None, constant=0.3, seconds=1.0).is_better is is_better


def test_a_data_set_that_fails_does_not_stop_the_others(tmp_path, monkeypatch, capsys):
    """Planted and seen: exit 0 with a failure; names that come twice trained twice."""
    asked = []

    def result(config, folder, *, seed):
        asked.append(config)
        raise OochubError("The field is flooded.")

    monkeypatch.setattr(toys, "toy_result", result)
    with pytest.raises(SystemExit, match=r"2 failed \(camelyon17, fmow\), 0 not better"):
        main(out=tmp_path / "new", only=["camelyon17", "fmow", "camelyon17"])
    assert asked == ["camelyon17", "fmow"]
    assert capsys.readouterr().out.count("The field is flooded.") == 2
