"""Every number of a report takes its clusters, and the seed and the number of resamples that its user gave.

Nine copies of each row, named as clusters, tell no more than one.
"""

import dataclasses
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared_reports import KINDS, Declared, predictions_of
from found_rows import predictions_of as found_rows
from found_rows import rows

import oochub
from oochub.comparison.compare import _compare_predictions as paired_comparison
from oochub.prediction.predictions import Predictions, count_rows
from oochub.records.metadata import ZoomSettings
from oochub.records.report_records import ConfidenceBin
from oochub.stats.estimate import Estimate

COPIES = 9
DRAWN = re.compile(r"(\d+) resamples$|(\d+) resamples, ")
LEAST = 0.7  # of the width of single rows; an interval that forgets the clusters has 1/3 of it
COLUMNS = ("hard rows", {"challenge"}), ("groups", {"group"}), ("usual contexts", {"challenge", "group"})
WORDS = {"choices", "classes"}  # kinds whose usual contexts are known
_READERS = [
    import_module(f"oochub.{name}")
    for name in ("evaluation.evaluate", "comparison.common_examples", "detection.detector_scores")
]


def numbers(part: Any, name: str = "") -> Iterator[tuple[str, Estimate]]:
    """Every number with an interval, by its path in the report."""
    if isinstance(part, Estimate):
        yield name, part
    elif isinstance(part, ConfidenceBin):
        ends = {"low": part.accuracy_low, "high": part.accuracy_high}
        yield f"{name}.accuracy", Estimate(part.accuracy, n=part.n, method="", **ends)
    elif dataclasses.is_dataclass(part):
        for field in dataclasses.fields(part):
            yield from numbers(getattr(part, field.name), f"{name}.{field.name}")
    elif isinstance(part, dict):
        for key, value in part.items():
            yield from numbers(value, f"{name}.{key}")
    elif isinstance(part, tuple):
        for k, value in enumerate(part):
            yield from numbers(value, f"{name}[{k}]")


def copied(predictions: Predictions, copies: int) -> Predictions:
    """Each row so many times, its copies one user."""
    rows = np.repeat(np.arange(len(predictions)), copies)
    table = predictions.table.take(rows)
    table = table.set_column(
        table.column_names.index("example_id"), "example_id", pa.array([f"{k:06d}" for k in range(len(rows))])
    )
    table = table.append_column("user", pa.array([f"u{k}" for k in rows]))
    return Predictions(table, dataclasses.replace(predictions.metadata, rows=count_rows(table.column("split"))))


def by_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Declares the column `user` as what rows share."""
    declared = _READERS[0].find_declaration
    for module in _READERS:
        monkeypatch.setattr(
            module, "find_declaration", lambda part: dataclasses.replace(declared(part), cluster="user")
        )


def narrow(single: Any, clustered: Any) -> list[str]:
    """The numbers whose interval is that of the copies."""
    widths, found = ({name: each.high - each.low for name, each in numbers(part)} for part in (single, clustered))
    assert found.keys() == widths.keys()
    assert any(wide > 0 for wide in widths.values())
    failed = []
    for name, own in found.items():
        wide = widths[name]
        if own < LEAST * wide:
            failed.append(f"{name}: {own:.4f} of {wide:.4f}")
    return failed


@pytest.mark.parametrize(
    ("kind", "title", "has"),
    [
        pytest.param(kind, *columns, marks=pytest.mark.slow if kind == "boxes" else ())
        for kind in KINDS
        for columns in COLUMNS
        if columns[0] != "usual contexts" or kind in WORDS
    ],
)
def test_every_number_takes_clusters(kind, title, has, monkeypatch):
    """Planted faults: clusters dropped in group_errors, in the worst group, in the gap."""
    by_user(monkeypatch)
    predictions = predictions_of(Declared(title, None, (None, None), kind, 4, frozenset(has)))
    single, clustered = (oochub.evaluate(copied(predictions, copies), resamples=300, seed=1) for copies in (1, COPIES))
    assert not narrow(single, clustered)


def test_what_is_matched_and_found_takes_clusters(monkeypatch):
    """The matched gap, contexts that were found, and errors by context. Planted faults: clusters dropped in each."""
    by_user(monkeypatch)
    area = pa.array(np.random.default_rng(2).random(240))
    predictions = predictions_of(Declared("own", None, (None, None), "classes", 4, frozenset({"challenge", "group"})))
    context = [group.partition("/")[2] for group in predictions.column("group")]
    table = predictions.table.append_column("area", area).append_column("context", pa.array(context))
    counts = {"dog/street": 9, "cat/forest": 9, "owl/street": 9, "hen/forest": 9}
    facts = dataclasses.replace(predictions.metadata.facts, group_counts=counts)
    matched = Predictions(table, dataclasses.replace(predictions.metadata, facts=facts))
    single, clustered = (oochub.evaluate(copied(matched, copies), match="area") for copies in (1, COPIES))
    assert single.matched_gap and single.errors
    assert not narrow(single.matched_gap, clustered.matched_gap)
    assert not narrow(single.errors, clustered.errors)
    contexts = [oochub.evaluate(copied(found_rows(rows(600)), copies)).contexts for copies in (1, COPIES)]
    assert not narrow(*contexts)


def test_detection_takes_clusters(monkeypatch):
    """Every metric of a pair of sets, the differences of detectors, the zoom probe."""
    by_user(monkeypatch)
    inside, outside = (_scored(config) for config in ("inside", "outside"))
    single, clustered = (
        oochub.evaluate(
            [copied(inside, copies), copied(outside, copies)], detectors=["max_logit", "msp"], probes=["zoom"]
        )
        for copies in (1, COPIES)
    )
    assert single.detection and single.probes
    for part in ("detection", "probes"):
        assert not narrow(getattr(single, part), getattr(clustered, part))


def test_comparisons_take_clusters(monkeypatch):
    """Every number of two models on the same rows."""
    by_user(monkeypatch)
    first = predictions_of(Declared("own", None, (None, None), "classes", 4, frozenset({"challenge", "group"})))
    logits = np.roll(first.logits, 4, axis=0)
    place = first.table.column_names.index("logits")
    second = first.with_table(first.table.set_column(place, "logits", pa.array(list(logits.astype(np.float32)))))
    pairs = [(copied(first, copies), copied(second, copies)) for copies in (1, COPIES)]
    assert not narrow(*(paired_comparison(*pair, resamples=300) for pair in pairs))


def _drawn(part: Any) -> dict[str, Estimate]:
    """Every number that was found by resamples, by its path in the report."""
    return {name: each for name, each in numbers(part) if DRAWN.search(each.method) and each.high > each.low}


def hold(make: Any, *, least: int) -> None:
    """Holds the numbers of `make(resamples, seed)` against what was asked for; shares of few rows may be equal once."""
    first, again, more = (_drawn(make(*each)) for each in ((130, 1), (130, 1), (170, 1)))
    others = [_drawn(make(130, seed)) for seed in (2, 3)]
    assert len(first) >= least and all(each.keys() == first.keys() for each in (again, more, *others))
    for name, estimate in first.items():
        assert "130 resamples" in estimate.method and "170 resamples" in more[name].method, name
        ends = (estimate.low, estimate.high)
        assert ends == (again[name].low, again[name].high), name
        is_perfect = estimate.value == 1 and "unseen rows" in estimate.method  # every resample is perfect too
        assert is_perfect or any(ends != (other[name].low, other[name].high) for other in others), name


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow if kind == "boxes" else ()) for kind in KINDS]
)
def test_reports_take_both(kind):
    """Planted faults: the seed, or the resamples, dropped on the way to a slice or a group."""
    predictions = predictions_of(Declared("own", None, (None, None), kind, 4, frozenset({"challenge", "group"})))
    least = 3 if kind == "labels" else 0  # shares of rows and means of numbers draw nothing
    hold(lambda resamples, seed: oochub.evaluate(predictions, resamples=resamples, seed=seed), least=least)


def test_numbers_of_detection_take_both():
    """Planted faults: either dropped for a pair of sets, the differences of detectors, or the zoom probe."""
    parts = [_scored(config) for config in ("inside", "outside")]
    hold(
        lambda resamples, seed: oochub.evaluate(
            parts, detectors=["max_logit", "msp"], probes=["zoom"], resamples=resamples, seed=seed
        ),
        least=6,
    )


def test_comparisons_take_both():
    """Planted faults: either dropped for a pair."""
    first = predictions_of(Declared("own", None, (None, None), "number", 4, frozenset({"challenge", "group"})))
    value = np.asarray(first.column("value")) + np.random.default_rng(0).normal(size=len(first)).astype(np.float32)
    place = first.table.column_names.index("value")
    second = first.with_table(first.table.set_column(place, "value", pa.array(value.astype(np.float32))))
    hold(lambda resamples, seed: oochub.compare(first, second, resamples=resamples, seed=seed), least=2)


def _scored(config: str) -> Predictions:
    rng, n = np.random.default_rng([5, len(config)]), 90
    label = rng.integers(0, 3, n)
    logits = rng.normal(size=(n, 3)) + (1.5 * np.eye(3)[label] if config == "inside" else 0)
    columns = {
        "is_ood": [config != "inside"] * n,
        "zoom_logits": list((logits + rng.normal(0, 0.3, (n, 3))).astype("f4")),
    }
    made = Predictions.from_arrays(logits=logits, label=label, class_names=["a", "b", "c"], config=config, **columns)
    return Predictions(made.table, dataclasses.replace(made.metadata, zoom=ZoomSettings(factor=1.2)))
