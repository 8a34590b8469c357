"""The zoom probe against a case worked by hand, loops over images, and DeLong; what it refuses."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from detection_reports import HEAD, made

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.stats.delong import paired_delong


def _set(config, logits, label, zoom_logits=None):
    n = len(logits)
    columns = {
        "example_id": [str(k) for k in range(n)],
        "split": ["test"] * n,
        "label": label,
        "logits": [np.array(one, np.float32) for one in logits],
    }
    if zoom_logits is not None:
        columns["zoom_logits"] = [np.array(one, np.float32) for one in zoom_logits]
    metadata = {
        "benchmark": "someone", "config": config, "version": "1.0.0", "model": {"id": "made"},
        "class_names": ["a", "b", "c"], "rows": {"test": n}, "zoom": {"factor": 1.2},
    }  # fmt: skip
    return Predictions(pa.table(columns), metadata)


def _by_hand():
    """Max-Logit of OOD: 1, 2, 3, 4. Five images of class a, b or c; the last two do not count."""
    inside = _set(
        "inside",
        [[5, 0, 0], [0, 3, 0], [0, 0, 2.5], [9, 0, 0], [0, 9, 0]],
        [0, 1, 2, 0, 2],  # the last is answered wrong
        [[2, 0, 0], [0, 3.5, 0], [0, 0, 0.5], [0, 8, 0], [0, 1, 0]],  # the fourth changes its answer
    )
    return [inside, _set("ood", [[1, 0, 0], [0, 2, 0], [0, 0, 3], [4, 0, 0]], [-1] * 4)]


def test_by_hand():
    """Ranks before 4/4, 2.5/4 (a tie counts half) and 2/4; after 1.5/4, 3/4 and 0."""
    report = oochub.evaluate(_by_hand(), detectors=["max_logit"], probes=["zoom"], metrics=["accuracy"])
    (row,) = to_json(report)["probes"]
    assert (row["probe"], row["factor"], row["detector"]) == ("zoom", 1.2, "max_logit")
    assert (row["id_set"], row["ood_set"], row["n_correct"], row["n_kept"], row["n_ood"]) == ("inside", "ood", 4, 3, 4)
    assert row["before"]["value"] == pytest.approx((1 + 2.5 / 4 + 2 / 4) / 3)
    assert row["after"]["value"] == pytest.approx((1.5 / 4 + 3 / 4 + 0) / 3)
    assert row["change"]["value"] == pytest.approx((1.5 - 4 + 3 - 2.5 + 0 - 2) / 4 / 3)
    assert row["change"]["n"] == 3 and row["change"]["low"] <= row["change"]["value"] <= row["change"]["high"]
    assert row["beyond_msp"] is None
    assert float(report["zoom/max_logit/inside/ood/change"]) == row["change"]["value"]


def _sets(seed=1, n=300, m=200):
    return [made("inside", n, seed=seed, zoom=1.2), made("ood", m, shift=0.4, seed=seed + 1, ood=True)]


@pytest.fixture(scope="module")
def probed():
    sets = _sets()
    detectors = [oochub.get("detector", name)() for name in ("msp", "energy", "max_cosine")]
    detectors[2].fit(**HEAD)
    return sets, to_json(oochub.evaluate(sets, detectors=detectors, probes=["zoom"]))["probes"], detectors


@pytest.mark.slow
def test_equals_a_loop_over_pictures_and_its_interval_that_of_delong(probed):
    """The mean change is a difference of two AUROCs on the same rows, whose variance DeLong gives another way."""
    (inside, ood), rows, detectors = probed
    zoomed = {k: np.stack(inside.column(f"zoom_{k}")) for k in ("logits", "features")}
    kept = (inside.prediction == inside.label) & (zoomed["logits"].argmax(1) == inside.label)
    for row, detector in zip(rows, detectors, strict=True):
        need = detector.score_needs
        before, after, out = (
            detector.score(**{name: source[name] for name in need})
            for source in (
                {"logits": inside.logits, "features": inside.features},
                zoomed,
                {"logits": ood.logits, "features": ood.features},
            )
        )
        changes = [
            np.mean(out < after[k]) + np.mean(out == after[k]) / 2 - np.mean(out < before[k])
            for k in np.flatnonzero(kept)
        ]
        assert row["n_kept"] == len(changes)
        assert row["change"]["value"] == pytest.approx(np.mean(changes), abs=1e-12)
        label = np.repeat([1, 0], [len(changes), len(out)])
        expected = paired_delong(label, np.append(after[kept], out), np.append(before[kept], out)).difference
        assert float(expected) == pytest.approx(row["change"]["value"], abs=1e-12)
        width, other = row["change"]["high"] - row["change"]["low"], expected.high - expected.low
        assert width == pytest.approx(other, rel=0.12)
        assert row["change"]["low"] == pytest.approx(expected.low, abs=0.12 * other)


def test_beyond_msp_is_the_difference_of_changes_and_paired(probed):
    _, rows, _ = probed
    changes = {row["detector"]: row["change"] for row in rows}
    for row in rows[1:]:
        beyond = row["beyond_msp"]
        assert beyond["value"] == pytest.approx(row["change"]["value"] - changes["msp"]["value"])
        assert beyond["low"] < beyond["value"] < beyond["high"]
    apart = np.hypot(*(changes[name]["high"] - changes[name]["low"] for name in ("msp", "energy")))
    paired = rows[1]["beyond_msp"]["high"] - rows[1]["beyond_msp"]["low"]
    assert rows[0]["beyond_msp"] is None and paired < apart


def test_undefined_is_said():
    inside, ood = _by_hand()
    none = Predictions(inside.table.slice(3, 1), replace(inside.metadata, rows={"test": 1}))
    report = oochub.evaluate([none, ood], detectors=["max_logit"], probes=["zoom"], metrics=["accuracy"])
    change = to_json(report)["probes"][0]["change"]
    assert change["value"] is None and change["n"] == 0 and "keeps its answer" in change["reason"]
    one = Predictions(inside.table.slice(0, 1), replace(inside.metadata, rows={"test": 1}))
    report = oochub.evaluate([one, ood], detectors=["max_logit"], probes=["zoom"], metrics=["accuracy"])
    change = to_json(report)["probes"][0]["change"]
    assert change["value"] == pytest.approx(-2.5 / 4) and change["low"] is None and "too few" in change["reason"]


def test_what_lacks_is_said():
    inside, ood = _by_hand()
    bare = Predictions(inside.table.drop_columns(["zoom_logits"]), inside.metadata)
    with pytest.raises(oochub.OochubError, match=r"Predict with zoom=1\.2\."):
        oochub.evaluate([bare, ood], detectors=["msp"], probes=["zoom"])
    with pytest.raises(oochub.OochubError, match="No probe named 'zom'"):
        oochub.evaluate([inside, ood], detectors=["msp"], probes=["zom"])
    with pytest.raises(oochub.OochubError, match="apply to detectors only"):
        oochub.evaluate(inside, probes=["zoom"])
    first, second = _sets()
    cosine = oochub.get("detector", "max_cosine")().fit(**HEAD)
    without = Predictions(first.table.drop_columns(["zoom_features"]), first.metadata)
    with pytest.raises(oochub.OochubError, match=r"max_cosine needs zoom_features.*zoom= and features=True"):
        oochub.evaluate([without, second], detectors=[cosine], probes=["zoom"])


def test_by_command(tmp_path, run):
    files = [one.save(tmp_path / f"{k}.parquet") for k, one in enumerate(_sets())]
    words = ["evaluate", *files, "--detector", "msp", "--detector", "energy", "--probe", "zoom"]
    code, shown, err = run(*words, "--out", tmp_path / "r.json")
    assert code == 0, err
    assert "Zoom, inside / ood" in shown and "After a zoom of 1.2" in shown
    report = oochub.Report.load(tmp_path / "r.json")
    assert [row["detector"] for row in to_json(report)["probes"]] == ["msp", "energy"]
    assert "--detector msp --detector energy --probe zoom" in to_json(report)["provenance"]["command"]
