"""The head of a model goes with its predictions: in memory, beside a file, and to the detectors that need it."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

import oochub
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import StoredHead

RNG = np.random.default_rng(5)
HEAD = StoredHead(weight=RNG.normal(size=(3, 8)).astype(np.float32), bias=RNG.normal(size=3).astype(np.float32))


def made(config, shift, *, head=HEAD):
    features = (RNG.normal(size=(50, 8)) + shift).astype(np.float32)
    label = RNG.integers(0, 3, 50) if config == "inside" else np.full(50, -1)
    logits = features @ HEAD.weight.T + HEAD.bias
    return replace(
        Predictions.from_arrays(logits=logits, label=label, features=features, config=config), stored_head=head
    )


def test_detectors_take_the_head_of_predictions_in_memory():
    """reference: ASH-B by hand."""
    inside, outside = made("inside", 0.0), made("outside", 0.8)
    report = oochub.evaluate([inside, outside], detectors=["ash_b"], resamples=100)
    scores = []
    for part in (inside, outside):
        for row in part.features.astype(np.float64):
            kept = np.sort(row)[-(8 - round(8 * 0.65)) :]
            shaped = np.where(row >= kept.min(), row.sum() / len(kept), 0.0)
            scores.append(np.logaddexp.reduce(shaped @ HEAD.weight.T.astype(np.float64) + HEAD.bias))
    truth = np.repeat([1, 0], 50)
    assert float(report["ash_b/inside/outside/auroc_new_class"]) == pytest.approx(roc_auc_score(truth, scores))


def test_a_head_is_written_beside_the_file_and_found_there(tmp_path):
    """Fault planted: `select` that drops the head."""
    file = made("inside", 0.0).save(tmp_path / "a.parquet")
    assert (tmp_path / "a.head.safetensors").is_file()
    again = Predictions.load(file)
    copy = Predictions.load(again.select(np.arange(50) < 20).save(tmp_path / "elsewhere" / "b.parquet"))
    for part in (again, copy):
        assert part.head.weight.tobytes() == HEAD.weight.tobytes() and part.head.bias.tobytes() == HEAD.bias.tobytes()
    assert len(copy) == 20 and oochub.prediction.predictions.concatenate_predictions([again]).head is not None
    bare = replace(again, stored_head=None)
    assert bare.head is None and Predictions.load(bare.save(tmp_path / "c.parquet")).head is None


def test_a_head_that_fits_nothing_is_said(tmp_path):
    with pytest.raises(OochubError, match=r"weight \(3, 8\) and bias \(2,\)"):
        StoredHead(weight=HEAD.weight, bias=HEAD.bias[:2])
    with pytest.raises(OochubError, match="ash_b needs weight, bias"):
        oochub.evaluate([made("inside", 0, head=None), made("outside", 1, head=None)], detectors=["ash_b"])
