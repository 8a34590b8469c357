"""The report of a model that was trained on toy Waterbirds, against loops over its predictions."""

from collections import Counter

import numpy as np
import pytest

import oochub


@pytest.mark.slow
def test_worst_group_and_auc_hard_by_brute_force(raw, tmp_path):
    """The report of a trained model against loops over its predictions; planted: groups cut after y alone."""
    folder, run = raw("waterbirds"), tmp_path / "run"
    method = {"objective": "group_dro", "environments": "group", "arguments": {"num_train_epochs": 12}}
    oochub.train("waterbirds", run, data_dir=folder, image_size=24, **method)
    data = oochub.load("waterbirds", data_dir=folder)
    predictions = oochub.predict(run, data, splits=["test"])
    report = oochub.evaluate(predictions, resamples=100)
    table = predictions.to_pandas()
    names = data["test"].features["group"].names
    truth = {
        row["example_id"]: (row["label"], names[row["group"]], row["challenge"])
        for row in data["test"].remove_columns("image")
    }
    right: dict[str, list[bool]] = {}
    hard = []
    for example, logits in zip(table["example_id"], np.stack(table["logits"]), strict=True):
        label, group, challenge = truth[example]
        right.setdefault(group, []).append((logits[1] > logits[0]) == (label == 1))
        if challenge:
            hard.append((label, float(logits[1]) - float(logits[0])))
    assert set(right) == {f"{bird}/{place}" for bird in ("landbird", "waterbird") for place in ("land", "water")}
    shares = [sum(each) / len(each) for each in right.values()]
    assert report["worst_group.accuracy"].value == pytest.approx(min(shares)) and len(set(shares)) > 2
    pairs = [(a > b) + (a == b) / 2 for y, a in hard for z, b in hard if y == 1 and z == 0]
    assert len(pairs) == 20 * 60
    assert report["auc_hard"].value == pytest.approx(sum(pairs) / len(pairs), abs=1e-6)
    counts = {name: 0 for name in names} | dict(Counter(names[k] for k in data["train"]["group"]))
    adjusted = sum(sum(each) / len(each) * counts[name] for name, each in right.items()) / sum(counts.values())
    assert report["adjusted_accuracy"].value == pytest.approx(adjusted)
