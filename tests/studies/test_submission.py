"""WILDS' prediction files: scored against scikit-learn, written and read back, each wrong line named."""

import math
import statistics
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score
from typed_commands import in_one_line

from oochub.builders.toy_worlds.toy_wilds_iwildcam import toy_wilds_iwildcam
from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.prediction.predictions import Predictions
from oochub.studies.wilds.submission_file import SubmissionFile
from oochub.studies.wilds.submission_scores import _build_table, _compute_numbers, _Number

KNOWN = ("iwildcam", "ogb_molpcba", "poverty_fold_a")
FOLDS = ("poverty_fold_a", "poverty_fold_b")
IDS = ("3", "7", "8")
CLASSES = ("cat", "dog")


@pytest.fixture(scope="module")
def raw(tmp_path_factory):
    return toy_wilds_iwildcam(tmp_path_factory.mktemp("raw"))


@pytest.fixture
def run(run, monkeypatch, tmp_path):
    """Runs `oochub wilds submission` in an empty folder; its exit code, output and errors on one line."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: in_one_line(*run("wilds", "submission", *words))


def _file(folder: Path, split: str, replicate: str, lines) -> Path:
    path = folder / "iwildcam" / f"iwildcam_split:{split}_{replicate}_epoch:best_pred.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def _truth(raw: Path, split: str) -> np.ndarray:
    table = pd.read_csv(raw / "metadata.csv")
    return table[table["split"] == split]["y"].to_numpy()


@pytest.mark.slow
def test_scores_are_those_of_scikit_learn(raw, run, tmp_path):
    """Mean and standard deviation of three seeds in numbers.csv and scores.csv; reports beside them."""
    rng, values = np.random.default_rng(0), []
    truth = _truth(raw, "test")
    for seed in range(3):
        answers = np.where(rng.random(len(truth)) < 0.6, truth, rng.integers(0, truth.max() + 1, len(truth)))
        _file(tmp_path / "files", "test", f"seed:{seed}", answers)
        values.append(f1_score(truth, answers, average="macro", labels=np.unique(truth)))
    code, output, error = run("files", "--data-dir", raw, "--out", "scored")
    assert code == 0, error
    scores = pd.read_csv(tmp_path / "scored" / "scores.csv").set_index("metric").loc["f1_macro"]
    assert scores["mean"] == pytest.approx(statistics.fmean(values), abs=1e-12)
    assert scores["sd"] == pytest.approx(np.std(values, ddof=1), abs=1e-12)
    numbers = pd.read_csv(tmp_path / "scored" / "numbers.csv")
    assert numbers[numbers["metric"] == "f1_macro"]["value"].to_list() == pytest.approx(values, abs=1e-12)
    assert f"{statistics.fmean(values):.4f}" in output and "3 of 3" in output
    assert len(list((tmp_path / "scored" / "reports").glob("*.json"))) == 3


def test_an_undefined_number_leaves_mean_and_deviation_undefined():
    """As a constant has no correlation, in one of two folds. Planted fault seen: `statistics.stdev` of nan."""
    numbers = {}
    for fold, value in (("A", math.nan), ("B", 0.5)):
        file = SubmissionFile.of(Path(f"poverty_split:test_fold:{fold}_epoch:best_pred.csv"), FOLDS)
        numbers[file] = [_Number(metric="pearson", value=value, wilds=0.5)]
    (record,) = _build_table(numbers).records
    assert math.isnan(record["mean"]) and math.isnan(record["sd"]) and record["replicates"] == 2
    assert (record["wilds_mean"], record["wilds_sd"]) == (0.5, 0.0)
    assert _build_table(numbers).rows[0][3:6] == ("n/a", "n/a", "0.5000")


@pytest.mark.parametrize(
    ("kind", "lines", "message"),
    [
        ("classes", "0\n1\n", r"has 2 lines, and the split val of iwildcam 3 rows: line 3, of row 8 of the raw table"),
        ("classes", "0\n1\n0\n1\n", r"has 4 lines, and .* 3 rows: line 4 is of no row"),
        ("classes", "0\n2\n1\n", r"line 2: it must be a class from 0 to 1, got '2'"),
        ("classes", "0\n\n0.5\n1\n", r"line 3: it must be a class from 0 to 1, got '0.5'"),
        ("classes", "0\n1\n-1\n", r"line 3: it must be a class from 0 to 1, got '-1'"),
        ("classes", "0\ncat\n1\n", r"line 2 \(row 7 of the raw table\): it must be one finite number, got 'cat'"),
        ("number", "0\n1\nnan\n", r"line 3 \(row 8 of the raw table\): it must be one finite number, got 'nan'"),
        ("labels", "0,1\n2\n1,1\n", r"line 2 \(row 7 of the raw table\): it must be 2 finite numbers with commas"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, kind, lines, message):
    """Planted fault: the count of lines with the empty ones, which WILDS skips."""
    path = tmp_path / "iwildcam_split:val_seed:0_epoch:best_pred.csv"
    path.write_text(lines)
    with pytest.raises(OochubError, match=message):
        SubmissionFile.of(path, KNOWN).answers(IDS, kind, CLASSES)


@pytest.mark.parametrize(
    ("kind", "lines", "expected"),
    [
        ("classes", "0\n1.0\n\n1\n", [0, 1, 1]),
        ("number", "0.5\n-1e-3\n2\n", [0.5, -0.001, 2.0]),
        ("labels", "[0.5, 1]\n2,3\n(4,5)\n", [[0.5, 1.0], [2.0, 3.0], [4.0, 5.0]]),
    ],
)
def test_lines_are_read_as_wilds_evaluates_them(tmp_path, kind, lines, expected):
    """`get_predictions` of WILDS evaluates each line as a literal of Python and skips empty ones."""
    path = tmp_path / "ogb-molpcba_split:val_seed:0_epoch:best_pred.csv"
    path.write_text(lines)
    table = SubmissionFile.of(path, KNOWN).answers(IDS, kind, CLASSES).table
    assert table.column("example_id").to_pylist() == list(IDS)
    assert table.column(1).to_pylist() == expected


def test_boxes_are_lines_of_json(tmp_path):
    """WILDS' own file of boxes is a pickle, which is refused."""
    path = tmp_path / "iwildcam_split:val_seed:0_epoch:best_pred.jsonl"
    path.write_text('{"boxes": [[0, 0, 2, 2]], "scores": [0.5]}\n{"boxes": [], "scores": []}\n{"boxes": [1]}\n')
    file = SubmissionFile.of(path, KNOWN)
    with pytest.raises(OochubError, match=r"line 3: it must be .*boxes"):
        file.answers(IDS, "boxes", ())
    path.write_text('{"boxes": [], "scores": []}\n' * 3)
    table = file.answers(IDS, "boxes", ()).table
    assert table.column("detected_boxes").to_pylist() == [[], [], []]
    with pytest.raises(OochubError, match="is a pickle, which can run any code"):
        SubmissionFile.of(path.with_suffix(".pth"), KNOWN)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("iwildcam_test.csv", "is not the name of a prediction file, such as iwildcam_split:test"),
        ("iwildcams_split:test_seed:0_epoch:best_pred.csv", "iwildcam"),
        ("iwildcam_split:test_seed:0_epoch:best_pred.txt", "must be .csv, or .jsonl for boxes"),
    ],
)
def test_a_wrong_name_is_said(name, message):
    with pytest.raises(OochubError, match=message):
        SubmissionFile.of(Path(name), KNOWN)


def test_a_folder_without_files_and_a_split_twice_are_said(raw, run, tmp_path):
    (tmp_path / "empty").mkdir()
    assert "contains no prediction file" in run("empty", "--out", "scored")[2]
    lines = [0] * len(_truth(raw, "val"))
    _file(tmp_path / "files", "val", "seed:0", lines)
    _file(tmp_path / "files" / "again", "val", "seed:0", lines)
    assert "are for the same split and replicate" in run("files", "--data-dir", raw, "--out", "scored")[2]
    _file(tmp_path / "short", "val", "seed:0", lines[1:])
    assert f"has {len(lines) - 1} lines" in run("short", "--data-dir", raw, "--out", "scored")[2]
    assert not (tmp_path / "scored").exists()


def test_predictions_are_written_in_the_order_of_the_raw_table(raw, run, tmp_path):
    """Given in reverse; a row less is said. Planted fault: the rows in the order of the predictions."""
    table = pd.read_csv(raw / "metadata.csv")
    rows = np.flatnonzero(table["split"] == "test")[::-1]
    classes = 1 + int(table["y"].max())
    answers = np.random.default_rng(0).integers(0, classes, len(rows))
    for count, file in ((len(rows), "whole.parquet"), (len(rows) - 1, "short.parquet")):
        Predictions.from_arrays(
            logits=np.eye(classes)[answers[:count]],
            label=table["y"].to_numpy()[rows[:count]],
            class_names=[f"class {number}" for number in range(classes)],
            example_id=[str(row) for row in rows[:count]],
            benchmark="wilds",
            config="iwildcam",
        ).save(tmp_path / file)
    code, _, error = run("whole.parquet", "--data-dir", raw, "--replicate", "seed:2", "--out", "written")
    assert code == 0, error
    file = tmp_path / "written" / "iwildcam" / "iwildcam_split:test_seed:2_epoch:best_pred.csv"
    assert [int(line) for line in file.read_text().splitlines()] == answers[::-1].tolist()
    assert f"lack 1 of them, first row {rows[-1]}" in run("short.parquet", "--data-dir", raw, "--out", "other")[2]
    assert "must be seed:0, seed:1" in run("whole.parquet", "--replicate", "2", "--data-dir", raw, "--out", "other")[2]


def test_fmow_has_the_worst_region_and_the_worst_year():
    """Worked by hand: the region Other is not among the worst, its rows are among those of their year."""
    region = ["Asia"] * 4 + ["Africa"] * 2 + ["Other"] * 2
    right = np.array([True, True, False, True, True, False, False, False])
    predictions = Predictions.from_arrays(
        logits=np.eye(62)[np.where(right, 5, 6)],
        label=[5] * 8,
        group=region,
        region=region,
        year=[2016, 2016, 2017, 2017, 2016, 2017, 2017, 2017],
        benchmark="wilds",
        config="fmow",
    )
    numbers = {number.metric: number.value for number in _compute_numbers(predictions)}
    assert numbers["accuracy"] == 4 / 8
    assert numbers["accuracy, worst region"] == numbers["worst_group.accuracy"] == 1 / 2  # Africa; Other is 0 / 2
    assert numbers["accuracy, worst year"] == 1 / 5  # 2017; 2016 is 3 / 3
    report = evaluate(predictions, resamples=100)
    assert report.worst_group["accuracy"].group == "Africa" and float(report.worst_group["accuracy"].estimate) == 1 / 2
    every = report.slice_of("all")
    assert float(every.metrics["worst_group.accuracy"]) == 1 / 2
    assert (every.worst_groups["worst_group.accuracy"].name, every.worst_groups["worst_group.accuracy"].among) == (
        "Africa",
        2,
    )
