"""Detectors fitted by blocks of a file and by several processes, against a fit at once on all rows."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import oochub
from oochub.detection import detector_scores as fitting
from oochub.detection.detector_scores import make_detector
from oochub.errors import OochubError
from oochub.prediction import stored_columns
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead

WIDTH, CLASSES = 12, 5
ALL = [f"{name}:tail=5,alpha=3" if name == "open_max" else name for name in oochub.names("detector") if name != "knn"]
KEYS = [*ALL, "knn:k=10"]
WEIGHT = np.random.default_rng(0).normal(size=(CLASSES, WIDTH)).astype(np.float32)
HEAD = StoredHead(weight=WEIGHT, bias=np.zeros(CLASSES, np.float32))


def made(n: int, seed: int) -> Predictions:
    rng = np.random.default_rng(seed)
    label = np.arange(n) % CLASSES
    features = (WEIGHT[label] + rng.normal(size=(n, WIDTH))).astype(np.float32)
    return Predictions.from_arrays(logits=4 * features @ WEIGHT.T, label=label, features=features, split="train")


def fitted(reference: Predictions | None) -> dict[str, Any]:
    return fitting.fit_detectors({key: make_detector(key) for key in KEYS}, reference, HEAD)


def scores(detectors: dict[str, Any]) -> np.ndarray:
    test = made(60, 9)
    return np.stack([each.score(features=test.features, logits=test.logits) for each in detectors.values()])


def at_once(reference: Predictions) -> np.ndarray:
    rows = {"features": reference.features, "logits": reference.logits, "label": reference.label}
    return scores({key: make_detector(key).fit(**rows, weight=HEAD.weight, bias=HEAD.bias) for key in KEYS})


@pytest.fixture
def by_few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of some 30 rows."""
    monkeypatch.setattr(stored_columns, "_BYTES", 30 * 4 * WIDTH)


@pytest.mark.usefixtures("by_few")
def test_blocks_of_a_file_give_the_detectors_of_all_rows(tmp_path: Path) -> None:
    """Planted faults: labels of the first block for all; the last block forgotten."""
    reference = made(400, 1)
    opened = Predictions.load(reference.save(tmp_path / "train.parquet"))
    assert len(list(opened.blocks("features"))) > 5
    before = {key: make_detector(key) for key in KEYS}
    found = fitting.fit_detectors(before, opened, HEAD)
    np.testing.assert_allclose(scores(found), at_once(reference), rtol=1e-9, atol=1e-12)
    assert not before["vim"].is_fitted and before["msp"] is found["msp"]


@pytest.mark.slow
@pytest.mark.usefixtures("by_few")
@pytest.mark.parametrize("processes", [2, 3, 7])
def test_shares_of_several_processes_are_merged(processes: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each tells is carried as bytes. Planted faults: a share left out; all take the first share."""
    reference, told = made(400, 1), []

    def keep(one: dict[str, Any], work: Callable[[list[Any]], Any]) -> Any:
        told.append(pickle.dumps(one))
        return work([pickle.loads(each) for each in told]) if len(told) == processes else {}  # noqa: S301

    monkeypatch.setattr(fitting, "gather_to_first", keep)
    monkeypatch.setenv("WORLD_SIZE", str(processes))
    for number in range(processes):
        monkeypatch.setenv("RANK", str(number))
        found = fitted(reference)
    np.testing.assert_allclose(scores(found), at_once(reference), rtol=1e-9, atol=1e-12)


def test_one_that_cannot_be_fitted_leaves_the_others() -> None:
    """By what is missing, by a row, and at the end. Planted fault: an error that stops all."""
    reference = made(8, 1)
    found = fitted(reference)
    reasons = {key: str(each) for key, each in found.items() if isinstance(each, OochubError)}
    assert "largest k allowed is 8" in reasons["knn:k=10"] and "tail is 5" in reasons["open_max:tail=5,alpha=3"]
    assert found["energy"].is_fitted and found["react"].is_fitted
    assert "fitted to the training split" in str(fitted(None)["vim"]) and fitted(None)["ash_b"].is_fitted
    bare = fitting.fit_detectors({"vim": make_detector("vim")}, reference, None)
    assert "needs weight, bias" in str(bare["vim"])
