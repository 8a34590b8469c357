"""The name of a set of examples: that of its sorted lines, as reports of before have it."""

import hashlib

import numpy as np
import pyarrow as pa
import pytest

import oochub
from oochub.evaluation import evaluation_rows
from oochub.evaluation.evaluation_rows import ExampleDigest

KINDS = {
    "classes": lambda n, rng: {"logits": rng.normal(size=(n, 12)), "label": rng.integers(-1, 12, n)},
    "labels": lambda n, rng: {"logits": rng.normal(size=(n, 2)), "labels": rng.integers(0, 2, (n, 2)).astype(float)},
    "number": lambda n, rng: {"value": rng.normal(size=n), "label": rng.normal(size=n).round(1)},
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_the_digest_of_the_sorted_lines(kind, monkeypatch):
    """reference: Python's sorted over the lines, as before."""
    monkeypatch.setattr(evaluation_rows, "_LINES_TOGETHER", 16)
    n, rng = 200, np.random.default_rng(0)
    ids = [f"{'aäz海'[k % 4]} {k // 2}" for k in rng.permutation(n)]
    split = ["test", "validation"] * (n // 2)
    predictions = oochub.Predictions.from_arrays(**KINDS[kind](n, rng), example_id=ids, split=split)
    parts = [predictions.table.slice(0, 70), predictions.table.slice(70)]
    predictions = predictions.with_table(pa.concat_tables(parts))
    digest = ExampleDigest(predictions)
    for mask in (np.ones(n, bool), rng.random(n) < 0.4, np.arange(n) == 3, np.zeros(n, bool)):
        chosen = zip(predictions.label[mask].tolist(), np.array(ids)[mask].tolist(), strict=True)
        lines = "\n".join(sorted(f"{label} {example}" for label, example in chosen))
        assert digest.of(mask) == hashlib.sha256(lines.encode()).hexdigest()[:16]
