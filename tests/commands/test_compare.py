"""`oochub compare` as its user types it: two predictions, reports, folders of them, and what must not be mixed."""

import io
import json

import numpy as np
import pytest
from parsed_page import ParsedPage
from rich.console import Console

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.records.schema import to_json


@pytest.fixture
def run(run):
    return lambda *words: run("compare", *words)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two models on 300 examples, and their reports in folders."""
    folder = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    label = rng.integers(2, size=300)
    challenge = np.where(rng.random(300) < 0.6, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    for name, lost in (("erm", 3.0), ("dro", 1.0)):
        score = (2 * label - 1) * (2 - lost * (challenge != "easy")) + rng.normal(size=300)
        logits = np.stack([np.zeros(300), score], 1)
        part = oochub.Predictions.from_arrays(logits=logits, label=label, challenge=challenge, model=name)
        oochub.evaluate(part.save(folder / f"{name}.parquet")).save(_made(folder / "reports" / name) / "report.json")
    (folder / "reports" / "config.json").write_text("{}")
    return folder


def _made(folder):
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.mark.slow
def test_two_predictions(run, files, tmp_path):
    """Every form holds the numbers of the function. Planted fault: the files in the other order."""
    pair = [files / "erm.parquet", files / "dro.parquet"]
    outputs = {"html": "pair.html", "markdown": "pair.md", "latex": "pair.tex", "csv": "pair.csv"}
    options = [word for name, path in outputs.items() for word in (f"--{name}", tmp_path / path)]
    code, out, err = run(*pair, *options)
    assert code == 0 and "B does better than A" in out and out.strip().endswith("pair.csv"), err
    report = paired_comparison(*pair)
    assert (tmp_path / "pair.csv").read_text() == report.to_csv()
    change = f"+{100 * report.slice('hard').numbers['auc'].difference:.1f}"
    texts = [out, *((tmp_path / path).read_text() for path in ("pair.md", "pair.tex", "pair.html"))]
    assert all(change in text for text in texts)
    code, out, _ = run(*pair, "--json")
    content = json.loads(out)["comparison"]
    assert code == 0 and content["slices"] == json.loads(json.dumps(to_json(report.slices)))


def test_a_folder_of_reports_is_a_page(run, files, tmp_path):
    code, out, err = run(files / "reports", "--html", tmp_path / "all.html")
    assert code == 0 and "AUC" in out, err
    words = ParsedPage((tmp_path / "all.html").read_text()).words
    assert "2 models on custom/default" in words and "2 models; a line needs at least 5." in words


def test_best_is_a_word_if_bold_cannot_be_seen(run, files, tmp_path):
    """Of 300 rows out of context DRO is right more often by far, so that one cell of the row is the best.

    In a pipe it says so, in a terminal and in files it is bold.
    """
    code, out, err = run(files / "reports", "--markdown", tmp_path / "all.md")
    (head,) = [line for line in out.splitlines() if line.startswith("Task")]
    (row,) = [line for line in out.splitlines() if line.startswith("default")]
    assert code == 0 and row.count("best") == 1, err
    assert head.split() == ["Task", "dro", "erm"] and row.split()[1] == "best"
    assert '"best": the interval overlaps that of the best in the row.' in out and "Bold" not in out
    assert "Bold: the" in (text := (tmp_path / "all.md").read_text()) and '"best"' not in text and "**" in text
    compared = oochub.compare(files / "reports")
    seen = Console(file=io.StringIO(), force_terminal=True, width=100)
    seen.print(compared.to_terminal(width=100))
    assert "Bold: the interval" in seen.file.getvalue() and " best " not in seen.file.getvalue().split("Bold")[0]


def test_clear_is_a_word_if_bold_cannot_be_seen(run, files):
    """Of two predictions the differences that are clear among all say so in a pipe, as many as are bold in Markdown."""
    pair = [files / "erm.parquet", files / "dro.parquet"]
    _, out, _ = run(*pair)
    text, _, caveat = out.partition("A difference is B minus A")
    first, *_ = paired_comparison(*pair).to_markdown().split("\n\n**", 1)[1].split("\n\n**")
    bold = sum("| **" in line for line in first.splitlines())
    assert text.count("clear +") == bold > 0 and '"clear": the difference holds after' in caveat and "Bold" not in out


def test_what_is_not_compared(run, files, tmp_path):
    """Each is said before anything is written. Planted faults: each check left out."""
    erm, dro = files / "erm.parquet", files / "dro.parquet"
    page = tmp_path / "page.html"
    for words, message in (
        ((erm, files / "reports"), "reports with reports"),
        ((erm,), "A single file of predictions has nothing to be compared with"),
        ((erm, dro, erm, "--slice", "outside"), "No slice of these predictions named 'outside'"),
        ((erm, tmp_path / "no.parquet"), "Prediction file not found"),
        ((erm, dro, "--slice", "hard"), "--slice does not apply to two predictions"),
        ((erm, dro, "--rows", "methods"), "--reported, --table, --version and --rows apply to reports"),
        ((files / "reports", "--task", "ce_car"), "--task applies to predictions"),
        ((erm, dro, "--metric", "acuracy"), "Did you mean 'accuracy'"),
        ((_made(tmp_path / "empty"),), "There is no report in"),
    ):
        code, out, err = run(*words, "--html", page)
        assert code == 2 and message in " ".join(err.split()) and not out, (words, err)
    assert not page.exists()


def test_the_function_takes_what_the_command_takes(files):
    """From memory or files, in any order of kinds. Planted faults: the pair turned around where one is in memory."""
    erm, dro = (oochub.Predictions.load(files / f"{name}.parquet") for name in ("erm", "dro"))
    expected = to_json(paired_comparison(erm, dro).slices)
    for pair in ((erm, dro), (erm, files / "dro.parquet"), (str(files / "erm.parquet"), dro)):
        assert to_json(oochub.compare(*pair).slices) == expected
    (only,) = oochub.compare(erm, dro, metric="accuracy", resamples=100, seed=3).slices[0].numbers
    assert only == "accuracy"
    reports = [oochub.Report.load(files / "reports" / name / "report.json") for name in ("dro", "erm")]
    assert oochub.compare(*reports).to_csv() == oochub.compare(files / "reports").to_csv()
    for given, options, message in (
        ((erm, reports[0]), {}, "reports with reports, got predictions and a report"),
        ((erm,), {}, "A single file of predictions"),
        ((erm, 3), {}, "got a int"),
        ((erm, dro), {"table": "3"}, "table=, version= and rows= apply to reports"),
        ((reports[0],), {"task": "ce_car"}, "task= applies to predictions"),
        ((reports[0],), {"seed": 1}, "seed= apply to predictions"),
        ((erm, dro), {"metric": 3}, "metric= takes a list"),
    ):
        with pytest.raises(oochub.OochubError, match=message):
            oochub.compare(*given, **options)
