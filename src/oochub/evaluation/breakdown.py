"""Where the errors sit: by group, by confidence."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.stats.estimation import Estimate, estimate, wilson

if TYPE_CHECKING:
    from oochub.benchmark import Benchmark
    from oochub.prediction.predictions import Predictions

_BINS = 10


def groups(
    columns: Mapping[str, NDArray[Any]],
    predictions: "Predictions",
    benchmark: "Benchmark",
    sides: Mapping[str, NDArray[np.bool_]],
    split: str,
) -> dict[str, Any] | None:
    """Accuracy, error and NLL of each group on each side of the comparison; None without a column `group`.

    Args:
        columns: The predictions' columns by name, with `loss` and `prediction`.
        predictions: Where the benchmark's facts stand.
        benchmark: Names a group's context.
        sides: "in" and "out" to the rows (n,) of that side; without them all rows of `split`.
        split: The evaluation split.

    Returns:
        The field `groups` of a report.
    """
    if "group" not in columns:
        return None
    facts = predictions.metadata.facts
    trained = facts.trained_groups
    rows = []
    for side, mask in (sides or {"": columns["split"] == split}).items():
        for name in sorted(set(columns["group"][mask].tolist())):
            chosen = mask & (columns["group"] == name)
            label = name.partition("/")[0]
            rows.append(
                {
                    "group": name,
                    "label": label,
                    "context": benchmark.describe_context({"group": name}, facts),
                    "split": str(columns["split"][chosen][0]),
                    "role": side or None,
                    "trained": None if trained is None else name in trained,
                    "n": int(chosen.sum()),
                    **_errors(columns, chosen),
                }
            )
    return {"columns": ["label", "context"], "split": split, "rows": rows}


def worst_groups(columns: Mapping[str, NDArray[Any]], split: str) -> dict[str, Any] | None:
    """The worst accuracy, error and NLL over the groups of the evaluation split, each with its group.

    The interval is simultaneous over the groups, so it covers the minimum, whichever group attains it.
    """
    if "group" not in columns:
        return None
    chosen = (columns["split"] == split) & (columns["label"] >= 0)
    metric = catalog.get("metric", "worst_group")
    arrays = {key: columns[key][chosen] for key in ("label", "prediction", "group", "probability")}
    intervals, values = estimate(metric, arrays), metric(**arrays)
    return {key: {**one.to_dict(), "group": str(values[f"{key}_group"])} for key, one in intervals.items()}


def calibration(
    columns: Mapping[str, NDArray[Any]], mask: NDArray[np.bool_], sampling: Mapping[str, Any]
) -> dict[str, Any]:
    """Confidence against accuracy in ten equal bins (lo, hi], with Wilson intervals, of the rows in `mask`."""
    probability = columns["probability"][mask]
    label = columns["label"][mask]
    confidence = probability.max(axis=1)
    correct = columns["prediction"][mask] == label
    number = np.ceil(confidence * _BINS).astype(int).clip(1, _BINS) - 1
    bins = []
    for k in np.unique(number):
        inside = number == k
        n, right = int(inside.sum()), int(correct[inside].sum())
        share = wilson(right, n)
        bins.append(
            {
                "low": k / _BINS,
                "high": (k + 1) / _BINS,
                "n": n,
                "confidence": float(confidence[inside].mean()),
                "accuracy": float(share),
                "accuracy_low": share.low,
                "accuracy_high": share.high,
            }
        )
    ece = estimate(catalog.get("metric", "ece"), {"label": label, "probability": probability}, **sampling)
    excess = estimate(_overconfidence, {"confidence": confidence, "correct": correct}, **sampling)
    return {
        "bins": bins,
        "ece": ece.to_dict(),
        "mean_confidence": float(confidence.mean()),
        "accuracy": float(correct.mean()),
        "overconfidence": excess.to_dict(),
    }


def _overconfidence(confidence: NDArray[Any], correct: NDArray[Any]) -> float:
    return float(np.mean(confidence) - np.mean(correct))


def _errors(columns: Mapping[str, NDArray[Any]], chosen: NDArray[np.bool_]) -> dict[str, Any]:
    arrays = {key: columns[key][chosen] for key in ("label", "prediction", "probability")}
    found: dict[str, Estimate] = {}
    for name in ("accuracy", "error_rate", "nll"):
        other = "probability" if name == "nll" else "prediction"
        found[name] = estimate(catalog.get("metric", name), {"label": arrays["label"], other: arrays[other]})
    return {name: one.to_dict() for name, one in found.items()}
