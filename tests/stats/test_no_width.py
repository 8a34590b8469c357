"""Rows that are all alike tell nothing of more rows: no number of a report has an interval of no width."""

import math
from typing import Any

import numpy as np
import pytest

import oochub
from oochub.evaluation.evaluation_rows import read_metric
from oochub.metric import read_facts
from oochub.stats.estimation import estimate

N = 40
LABEL = np.arange(N) % 2
BOX = np.tile(np.array([[[0.0, 0.0, 9.0, 9.0]]]), (N, 1, 1))
ALL_RIGHT: dict[str, dict[str, Any]] = {
    "classes": {
        "label": LABEL,
        "prediction": LABEL,
        "score": LABEL * 2.0 - 1,
        "probability": np.eye(2)[LABEL],
        "challenge": np.where(np.arange(N) % 3, "easy", np.where(LABEL, "hard_positive", "hard_negative")),
        "group": np.arange(N) % 8,
        "is_ood": LABEL == 0,
        "correct": LABEL == 1,
        "weights": None,
    },
    "number": {"label": LABEL * 1.0, "prediction": LABEL * 1.0, "group": np.arange(N) % 8 // 2},
    "labels": {"label": np.eye(2)[LABEL], "score": np.eye(2)[LABEL]},
    "boxes": {"boxes": BOX, "scores": np.full((N, 1), 0.9), "true_boxes": BOX, "group": np.arange(N) % 8},
    "tokens": {"label": np.eye(2, dtype=int)[LABEL], "prediction": np.eye(2, dtype=int)[LABEL]}
    | {"kind": np.zeros((N, 2), int)},
}


@pytest.mark.parametrize("cluster", [None, np.arange(N) % 8, np.arange(N) // 2], ids=["rows", "8", "20"])
@pytest.mark.parametrize("name", oochub.names("metric"))
def test_all_right_has_width_or_no_interval(name, cluster):
    """Faults seen: f1_macro, detection_accuracy, accuracy_percentile, token_accuracy, adjusted_accuracy."""
    metric = oochub.get("metric", name)
    columns = {
        key: value
        for key, value in ALL_RIGHT[read_facts(metric).outputs[0]].items()
        if key in read_metric(metric).arrays
    }
    options = {"weights": dict.fromkeys(range(8), 1.0)} if name == "adjusted_accuracy" else {}
    columns.pop("weights", None)
    found = estimate(metric, columns, cluster=cluster, options=options)
    for each in found.values() if isinstance(found, dict) else [found]:
        if math.isnan(each.low) or math.isnan(each.high):
            assert each.reason, repr(each)
        else:
            assert each.high - each.low > 1e-6, repr(each)
