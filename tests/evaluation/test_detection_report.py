"""Detectors through `oochub.evaluate`: both goals against scikit-learn, sets never pooled, what lacks is said."""

import numpy as np
import pyarrow as pa
import pytest
from safetensors.numpy import save_file
from sklearn.metrics import roc_auc_score

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.schema import from_json, to_json

_CLASSES, _D = 12, 16


def _made(config, n, *, shift, seed, split="test", features=True):
    """Features around class means, moved by `shift`, with the logits of a linear head."""
    rng = np.random.default_rng(seed)
    weight, bias = np.random.default_rng(0).normal(size=(_CLASSES, _D)), np.zeros(_CLASSES)
    label = rng.integers(0, _CLASSES, n)
    f = (weight[label] * 0.7 + rng.normal(size=(n, _D)) + shift).astype(np.float32)
    logits = (f @ weight.T + bias).astype(np.float32)
    ood = config.endswith("ood")
    columns = {
        "example_id": [f"{config}{k}" for k in range(n)],
        "split": [split] * n,
        "label": [-1] * n if ood else label.tolist(),
        "logits": list(logits),
        "is_ood": [ood] * n,
    }
    if features:
        columns["features"] = list(f)
    metadata = {
        "benchmark": "someone",
        "config": config,
        "version": "1.0.0",
        "model": {"id": "made"},
        "class_names": [f"c{k}" for k in range(_CLASSES)],
        "rows": {split: n},
    }
    return Predictions(pa.table(columns), metadata), {
        "weight": weight.astype(np.float32),
        "bias": bias.astype(np.float32),
    }


@pytest.fixture(scope="module")
def sets(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    inside, head = _made("inside", 300, shift=0.0, seed=1)
    train, _ = _made("inside", 800, shift=0.0, seed=2, split="train")
    files = {"train": train.save(folder / "train.parquet"), "inside": inside.save(folder / "inside.parquet")}
    save_file(head, folder / "train.head.safetensors")
    for name, shift in (("near_ood", 0.6), ("far_ood", 3.0)):
        files[name] = _made(name, 200, shift=shift, seed=3)[0].save(folder / f"{name}.parquet")
    return files


@pytest.mark.slow
def test_every_detector_on_every_pair(sets):
    """Planted fault seen: the classifier's errors taken from the OOD rows."""
    names = [name for name in oochub.names("detector") if name != "knn"]
    knn = oochub.get("detector", "knn")(k=10)
    report = oochub.evaluate(
        [sets["inside"], sets["near_ood"], sets["far_ood"]], detectors=[*names, knn], reference=sets["train"]
    )
    rows = to_json(report)["detection"]
    assert len(rows) == 2 * (len(names) + 1)
    parts = {name: Predictions.load(path) for name, path in sets.items()}
    correct = parts["inside"].prediction == parts["inside"].label
    for row in rows:
        assert (row["id_set"], row["n_id"], row["n_ood"]) == ("inside", 300, 200)
        assert row["n_incorrect"] == (~correct).sum()
    fitted = oochub.get("detector", "max_logit")()
    inside, outside = (fitted.score(logits=parts[name].logits) for name in ("inside", "near_ood"))
    score = np.concatenate([inside, outside])
    truth = np.repeat([1, 0], [300, 200])
    assert float(report["max_logit/inside/near_ood/auroc_new_class"]) == pytest.approx(roc_auc_score(truth, score))
    right = np.concatenate([correct, np.zeros(200, bool)])
    assert float(report["max_logit/inside/near_ood/auroc_failure"]) == pytest.approx(roc_auc_score(right, score))
    far = report["mahalanobis/inside/far_ood/auroc_new_class"]
    assert float(far) > 0.95 and far.low <= float(far) <= far.high
    assert float(far) > float(report["mahalanobis/inside/near_ood/auroc_new_class"])
    assert report["accuracy"].n == 300  # the classifier itself, on the set in distribution alone
    again = from_json(oochub.Report, to_json(report), what="the report")
    assert again["msp/inside/far_ood/fpr_at_tpr_id"].n == 500


def test_what_lacks_is_said(sets):
    both = [sets["inside"], sets["near_ood"]]
    with pytest.raises(oochub.OochubError, match="reference="):
        oochub.evaluate(both, detectors=["mahalanobis"])
    with pytest.raises(oochub.OochubError, match="rows in and out of distribution"):
        oochub.evaluate(sets["inside"], detectors=["msp"])
    with pytest.raises(oochub.OochubError, match="Did you mean 'msp'"):
        oochub.evaluate(both, detectors=["mps"])
    with pytest.raises(oochub.OochubError, match="pairs= names 'elsewhere'"):
        oochub.evaluate(both, detectors=["msp"], pairs=[("inside", "elsewhere")])
    with pytest.raises(oochub.OochubError, match="has no rows in distribution"):
        oochub.evaluate(both, detectors=["msp"], pairs=[("near_ood", "inside")])
    with pytest.raises(oochub.OochubError, match="Two of the predictions are for inside"):
        oochub.evaluate([*both, _made("inside", 50, shift=0.0, seed=4)[0]], detectors=["msp"])
    bare = _made("near_ood", 50, shift=1.0, seed=4, features=False)[0]
    with pytest.raises(oochub.OochubError, match="features, which the predictions for near_ood lack"):
        oochub.evaluate([sets["inside"], bare], detectors=["mahalanobis"], reference=sets["train"])


@pytest.mark.slow
def test_by_command(sets, tmp_path, run):
    words = ["evaluate", sets["inside"], sets["far_ood"], "--reference", sets["train"], "--out", tmp_path / "r.json"]
    code, shown, err = run(*words, "--detector", "msp", "--detector", "vim", "--pair", "inside:far_ood")
    assert code == 0 and "inside / far_ood" in shown, err
    assert [row["detector"] for row in to_json(oochub.Report.load(tmp_path / "r.json"))["detection"]] == ["msp", "vim"]
    code, _, err = run(*words, "--detector", "msp", "--pair", "inside")
    assert code == 2 and "IN:OUT" in err


def test_what_an_index_found_stands_in_the_report_and_its_words(sets, monkeypatch):
    """Measured on both sets of the pair. Planted faults: that of the first set alone; a share of 1."""
    pytest.importorskip("faiss", reason="faiss-cpu is not installed")
    from oochub.eval_modules.detectors import _graph

    monkeypatch.setattr(_graph, "_LOOK", (0, 1))
    keys = ["knn:k=5", "knn:k=5,index=faiss"]
    two = [sets["inside"], sets["far_ood"]]
    report = oochub.evaluate(two, detectors=keys, reference=sets["train"], resamples=100)
    exact, found = (next(row for row in report.detection if row.detector == key) for key in keys)
    detector = oochub.get("detector", "knn")(k=5, index="faiss").fit(features=Predictions.load(sets["train"]).features)
    shares = [detector.search_recall(features=Predictions.load(file).features).share for file in two]
    assert exact.recall is None and "recall" not in to_json(exact)
    assert found.recall.queries == 500 and 0.2 < found.recall.share < 1 and shares[0] != shares[1]
    assert found.recall.share == pytest.approx(0.6 * shares[0] + 0.4 * shares[1])
    assert from_json(type(found), to_json(found), what="row") == found
    words = f"found {100 * found.recall.share:.1f}% of the exact k nearest neighbors on 500 queries"
    assert words in report.to_markdown() and words in report.to_html()
