"""Every number of a report that resamples takes the seed and the number of resamples that its user gave."""

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from declared_reports import KINDS, Declared, predictions_of

import oochub
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import ZoomSettings
from oochub.stats.estimate import Estimate

DRAWN = re.compile(r"(\d+) resamples$|(\d+) resamples, ")


def drawn(part: Any, name: str = "") -> Iterator[tuple[str, Estimate]]:
    """Every number that was found by resamples, by its path in the report."""
    if isinstance(part, Estimate):
        if DRAWN.search(part.method) and part.high > part.low:
            yield name, part
    elif is_dataclass(part):
        for field in fields(part):
            yield from drawn(getattr(part, field.name), f"{name}.{field.name}")
    elif isinstance(part, dict):
        for key, value in part.items():
            yield from drawn(value, f"{name}.{key}")
    elif isinstance(part, tuple):
        for k, value in enumerate(part):
            yield from drawn(value, f"{name}[{k}]")


def hold(make: Any, *, least: int) -> None:
    """Holds the numbers of `make(resamples, seed)` against what was asked for; shares of few rows may be equal once."""
    first, again, more = (dict(drawn(make(*each))) for each in ((130, 1), (130, 1), (170, 1)))
    others = [dict(drawn(make(130, seed))) for seed in (2, 3, 4, 5)]
    assert len(first) >= least and all(each.keys() == first.keys() for each in (again, more, *others))
    for name, estimate in first.items():
        assert "130 resamples" in estimate.method and "170 resamples" in more[name].method, name
        ends = (estimate.low, estimate.high)
        assert ends == (again[name].low, again[name].high), name
        is_perfect = estimate.value == 1 and "unseen rows" in estimate.method  # every resample is perfect too
        assert is_perfect or any(ends != (other[name].low, other[name].high) for other in others), name


@pytest.mark.parametrize("kind", KINDS)
def test_reports_take_both(kind):
    """Planted faults: the seed, or the resamples, dropped on the way to a slice or a group."""
    predictions = predictions_of(Declared("own", None, (None, None), kind, 4, frozenset({"challenge", "group"})))
    least = {"labels": 3, "classes": 1}.get(kind, 0)  # those of a number draw nothing
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
    return Predictions(made.table, replace(made.metadata, zoom=ZoomSettings(factor=1.2)))
