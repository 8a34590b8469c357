"""The numbers that the page computes are those of `oochub.stats`, to 1e-9, on random selections in real Chromium."""

import json
import math
from urllib.parse import urlencode

import numpy as np
import pytest
from browsed import CLASSES, PLACES, At, browsed_predictions, write_browsed
from scipy import special

from oochub.prediction.predictions import Predictions
from oochub.stats.estimate import Sampling
from oochub.stats.estimation import difference
from oochub.stats.mean_interval import Answers, mean_estimate
from oochub.stats.proportion import wilson


def _draw_filters(rng):
    """Some of the filters at random; the outcome among them, which the numbers leave out."""
    choices = {
        "split": ("test", "validation"),
        "label": CLASSES,
        "answered": CLASSES,
        "context": PLACES,
        "challenge": ("easy", "hard"),
        "outcome": ("right", "wrong"),
    }
    asked = {name: str(rng.choice(values)) for name, values in choices.items() if rng.random() < 0.3}
    if rng.random() < 0.4:
        low, high = sorted(rng.uniform(0.3, 1, 2).round(3).tolist())
        asked["confidence"] = f"{low}..{high}"
    return asked


def _select(predictions, asked):
    """The rows of some filters (n,), read from the predictions themselves."""
    confidence = predictions.summary.confidence
    columns = {name: predictions.column(name) for name in ("split", "context", "challenge")}
    columns["label"] = np.array(CLASSES)[predictions.label]
    columns["answered"] = np.array(CLASSES)[predictions.prediction]
    mask = np.ones(len(predictions), bool)
    for name, values in columns.items():
        if name in asked:
            mask &= values == asked[name]
    if "confidence" in asked:
        low, high = map(float, asked["confidence"].split(".."))
        mask &= (confidence >= low) & (confidence <= high)
    return mask


def _estimate_all(predictions, mask, looked):
    """Accuracy, confidence minus accuracy and NLL of some rows, by `oochub.stats`."""
    level = 1 - 0.05 / max(looked, 1)
    right = (predictions.label == predictions.prediction)[mask].astype(np.float64)
    confidence, loss = predictions.summary.confidence[mask], predictions.summary.loss[mask]
    cluster = predictions.column("hospital")[mask] if "hospital" in predictions.column_names else None
    if cluster is not None and len(np.unique(cluster)) == len(cluster):
        cluster = None
    sampling = Sampling(cluster=cluster, confidence=level)
    if not len(right):
        return [None] * 3
    share = wilson(right.sum(), len(right), confidence=level) if cluster is None else mean_estimate(right, sampling)
    over = Answers(if_right=confidence - 1, if_wrong=confidence)
    lost = Answers(if_right=-np.log(confidence), if_wrong=-np.log(np.maximum(1 - confidence, np.finfo(float).eps)))
    return [
        share,
        mean_estimate(confidence - right, sampling, are_shares=False, answers=over, within=(-1.0, 1.0)),
        mean_estimate(loss, sampling, are_shares=False, answers=lost, within=(0.0, math.inf)),
    ]


def _check_same(shown, expected):
    if expected is None:
        assert shown["n"] == 0
        return
    assert shown["n"] == expected.n
    for name in ("value", "low", "high"):
        value = getattr(expected, name)
        assert (shown[name] is None and math.isnan(value)) or shown[name] == pytest.approx(value, rel=1e-9, abs=1e-9)
    assert (shown["reason"] or "") == (expected.reason or "")


def _read_numbers(browser, asked, looked):
    fragment = json.dumps("#" + urlencode(asked))
    return json.loads(browser.evaluate(f"JSON.stringify(oochubBrowse.numbers({fragment}, {looked}))"))


@pytest.mark.parametrize(
    ("n", "cluster", "times"),
    [
        (240, None, 40),
        (240, 30, 10),
        pytest.param(600, 3, 40, marks=pytest.mark.slow),
        pytest.param(5, 1, 10, marks=pytest.mark.slow),
        pytest.param(24_000, None, 10, marks=pytest.mark.slow),
        pytest.param(24_000, 900, 10, marks=pytest.mark.slow),
    ],
)
def test_numbers_are_those_of_python(browser, tmp_path, n, cluster, times):
    """Value, ends, n and reason of each number, the other rows and the difference."""
    rng = np.random.default_rng(n + (cluster or 0))
    predictions = browsed_predictions(n, cluster=cluster, images=False)
    browser.show(At(write_browsed(tmp_path, predictions)), width=1280)
    seen = 0
    for _ in range(times):
        asked, looked = _draw_filters(rng), int(rng.integers(0, 200))
        asked = {name: value for name, value in asked.items() if _select(predictions, {name: value}).any()}
        mask = _select(predictions, {name: value for name, value in asked.items() if name != "outcome"})
        rest = ~mask & _select(predictions, {name: value for name, value in asked.items() if name == "split"})
        numbers = _read_numbers(browser, asked, looked)
        own, other = (_estimate_all(predictions, rows, looked) for rows in (mask, rest))
        assert [each["measure"]["name"] for each in numbers] == ["accuracy", "overconfidence", "nll"]
        for shown, first, second in zip(numbers, own, other, strict=True):
            _check_same(shown["own"], first)
            _check_same(shown["other"], second)
            if cluster is not None or first is None or second is None:
                assert shown["apart"] is None
            else:
                _check_same(shown["apart"], difference(first, second))
            seen += shown["own"]["n"] > 0
    assert seen > times


def test_a_number_has_the_interval_of_t(browser, tmp_path):
    """For rows whose truth is a number, whose errors no answer bounds."""
    rng = np.random.default_rng(0)
    label, split = rng.normal(size=90), np.where(rng.random(90) < 0.5, "test", "validation")
    predictions = Predictions.from_arrays(value=label + rng.normal(size=90), label=label, split=split.tolist())
    browser.show(At(write_browsed(tmp_path, predictions)), width=1280)
    numbers = {each["measure"]["name"]: each for each in _read_numbers(browser, {"split": "test"}, 3)}
    assert numbers
    errors = label - predictions.prediction
    by_name = {"mean_squared_error": errors**2, "mean_absolute_error": np.abs(errors)}
    for name in numbers.keys() & by_name.keys():
        sampling = Sampling(confidence=1 - 0.05 / 3)
        expected = mean_estimate(by_name[name][split == "test"], sampling, are_shares=False, within=(0.0, math.inf))
        _check_same(numbers[name]["own"], expected)
    assert numbers.keys() & by_name.keys()


def test_quantiles_are_those_of_scipy(browser, tmp_path):
    """Of the normal, Student's and beta laws, far into the tails and for many rows."""
    browser.show(At(write_browsed(tmp_path, browsed_predictions(6, images=False))), width=1280)
    rng, cases = np.random.default_rng(0), []
    for _ in range(300):
        n, p = 10 ** rng.uniform(0.3, 5.3), 10 ** rng.uniform(-6, -1.3)
        ones = rng.uniform(0.001, 1) * n
        cases += [("beta", ones, n - ones + 1, p), ("beta", n - ones + 1, ones, 1 - p), ("normal", p)]
        cases += [("student", 10 ** rng.uniform(-0.2, 5.3), p)]
    script = "JSON.stringify({}.map(([name, ...at]) => oochubBrowse.quantiles[name](...at)))"
    found = json.loads(browser.evaluate(script.format(json.dumps(cases))))
    laws = {"beta": special.betaincinv, "student": special.stdtrit, "normal": special.ndtri}
    expected = [float(laws[name](*at)) for name, *at in cases]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-11)
