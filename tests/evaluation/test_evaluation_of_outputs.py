"""Predictions that are numbers, or several labels a row, from arrays to a stored report, against scikit-learn."""

from pathlib import Path

import numpy as np
import pytest
from scipy.stats import pearsonr
from sklearn.metrics import average_precision_score, mean_absolute_error, mean_squared_error

import oochub
from oochub.evaluation.group_statistics import read_row_values

GROUPS = np.array(["north", "south", "west"])[np.arange(240) % 3]
_NAMES = ("accuracy", "error_rate", "nll", "mean_squared_error", "mean_absolute_error")


def same_when_stored(report: oochub.Report, folder: Path, names: tuple[str, ...]) -> None:
    report.save(folder / "report.json")
    stored = oochub.Report.load(folder / "report.json")
    for name in names:
        assert stored[name].to_dict() == report[name].to_dict(), name


def test_numbers_are_evaluated(tmp_path: Path) -> None:
    """Rows without a label are left out; the worst group is the one with the lowest correlation."""
    rng = np.random.default_rng(0)
    label = rng.normal(-2, 1, 240)
    value = (label + np.where(GROUPS == "west", 2, 0.5) * rng.normal(size=240)).astype(np.float32)
    unknown = np.arange(240) % 40 == 0
    predictions = oochub.Predictions.from_arrays(
        value=value, label=np.where(unknown, np.nan, label), group=GROUPS.tolist()
    )
    report = oochub.evaluate(predictions, resamples=100)
    known = label[~unknown], value[~unknown].astype(np.float64)
    correlation = pearsonr(*known).statistic
    assert report["pearson"] == pytest.approx(correlation, abs=1e-12) and report["pearson"].n == 234
    assert report["mean_absolute_error"] == pytest.approx(mean_absolute_error(*known))
    assert report["mean_squared_error"] == pytest.approx(mean_squared_error(*known))
    of_groups = {name: pearsonr(*(side[GROUPS[~unknown] == name] for side in known)).statistic for name in set(GROUPS)}
    assert min(of_groups, key=of_groups.get) == "west"
    assert report["gap"] == pytest.approx(of_groups["west"] - correlation, abs=1e-12)
    assert report["gap"].low < report["gap"] < report["gap"].high
    assert report.metrics["pearson"].unit == "correlation" and report.metrics["mean_absolute_error"].unit == "label"
    same_when_stored(report, tmp_path, ("pearson", "mean_absolute_error", "mean_squared_error", "gap"))


def test_several_labels_are_evaluated(tmp_path: Path) -> None:
    """Planted faults: unknown labels read as 0; probabilities by a softmax, which ranks rows otherwise."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, (240, 3)).astype(float)
    logits = rng.normal(np.where(GROUPS[:, None] == "west", 0, 2) * labels).astype(np.float32)
    labels[rng.random((240, 3)) < 0.2] = np.nan
    predictions = oochub.Predictions.from_arrays(logits=logits, labels=labels, kind="labels", group=GROUPS.tolist())
    report = oochub.evaluate(predictions, resamples=100)

    def expected(rows: np.ndarray) -> float:
        known = [rows & ~np.isnan(column) for column in labels.T]
        return np.mean([average_precision_score(labels[k, j], logits[k, j]) for j, k in enumerate(known)])

    everything = np.ones(240, bool)
    assert report["mean_average_precision"] == pytest.approx(expected(everything), abs=1e-12)
    assert report["gap"] == pytest.approx(expected(GROUPS == "west") - expected(everything), abs=1e-12)
    assert report["gap"].low < report["gap"] < report["gap"].high
    same_when_stored(report, tmp_path, ("mean_average_precision", "gap"))


@pytest.mark.parametrize("name", _NAMES)
def test_a_metric_with_row_values_is_their_mean(name: str) -> None:
    """Planted fault: the error of a row without its square, or without its size."""
    rng = np.random.default_rng(2)
    metric = oochub.get("metric", name)
    if name.startswith("mean_"):
        columns = {"label": rng.normal(size=50), "prediction": rng.normal(size=50)}
        value = metric(**columns)
    else:
        probability, label = rng.dirichlet([1, 1, 1], 50), rng.integers(0, 3, 50)
        columns = {"label": label, "prediction": probability.argmax(axis=1)}
        columns["loss"] = -np.log(probability[np.arange(50), label])
        value = metric(label, probability) if name == "nll" else metric(label, columns["prediction"])
    values = read_row_values(metric, columns)
    assert values is not None and values.shape == (50,) and values.mean() == pytest.approx(value, rel=1e-12)
