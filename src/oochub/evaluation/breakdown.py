"""Where the errors sit: by group, by confidence."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.evaluation.evaluated import Evaluated
from oochub.records.report_records import Calibration, ConfidenceBin, GroupRow, Groups, Side, WorstValue
from oochub.records.sides import GroupsOfRows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.mean_interval import Answers, mean_estimate
from oochub.stats.proportion import wilson
from oochub.stats.unpaired_shares import unpaired_shares

_BINS = 10
_NAMED = ("accuracy", "error_rate", "nll")  # fields of a GroupRow; other metrics stand in its `metrics`


def groups(evaluated: Evaluated, sides: Mapping[Side, NDArray[np.bool_]], split: str) -> Groups | None:
    """The metrics of each group on each side of the comparison; None without a column of groups.

    Args:
        evaluated: The rows; `group` holds a name a row, `groups` a list of them.
        sides: "in" and "out" to the rows (n,) of that side; without them all rows of `split`.
        split: The evaluation split.
    """
    column = evaluated.benchmark.group_column
    if column not in evaluated.columns:
        return None
    facts = evaluated.predictions.metadata.facts
    trained = facts.trained_groups
    metrics = {name: catalog.get("metric", name) for name in evaluated.predictions.output.group_metrics}
    rows = []
    inside = _rows_by_label(evaluated, sides["in"]) if {"in", "out"} <= set(sides) and "accuracy" in metrics else {}
    every: list[tuple[Side | None, NDArray[np.bool_]]] = [*sides.items()]
    if isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):  # both sides are the same rows
        every = [(side, mask) for side, mask in every if side == "out"]
    for side, mask in every or [(None, evaluated.columns["split"] == split)]:
        for group, members in evaluated.members(mask).items():
            values = {name: evaluated.of(metric, members) for name, metric in metrics.items()}
            rows.append(
                GroupRow(
                    group=group,
                    label=group.partition("/")[0],
                    context=evaluated.benchmark.describe_context({"group": group}, facts),
                    split=str(evaluated.columns["split"][members[0]]),
                    role=side,
                    trained=None if trained is None else group in trained,
                    n=len(members),
                    metrics={name: value for name, value in values.items() if name not in _NAMED} or None,
                    drop_p_value=_drop_p_value(evaluated, members, inside.get(group.partition("/")[0]))
                    if side == "out"
                    else None,
                    **{name: value for name, value in values.items() if name in _NAMED},
                )
            )
    return Groups(columns=("label", "context"), split=split, rows=tuple(rows))


def _rows_by_label(evaluated: Evaluated, inside: NDArray[np.bool_]) -> dict[str, NDArray[np.int64]]:
    """The rows of the groups in context, by the label that their group is of."""
    of: dict[str, list[NDArray[np.int64]]] = {}
    for group, members in evaluated.members(inside).items():
        of.setdefault(group.partition("/")[0], []).append(members)
    return {label: np.concatenate(rows) for label, rows in of.items()}


def _drop_p_value(evaluated: Evaluated, members: NDArray[np.int64], inside: NDArray[np.int64] | None) -> float | None:
    if inside is None:
        return None
    rows = np.concatenate([members, inside])
    right = evaluated.columns["prediction"][rows] == evaluated.columns["label"][rows]
    p_value = unpaired_shares(right, np.arange(len(rows)) < len(members), cluster=evaluated.cluster(rows))
    return 1.0 if np.isnan(p_value) else p_value  # a report keeps no nan apart from what it lacks


def worst_groups(evaluated: Evaluated, split: str) -> dict[str, WorstValue] | None:
    """The worst accuracy, error and NLL over the groups of the evaluation split, each with its group.

    The interval is simultaneous over the groups, so it covers the minimum, whichever group attains it. None without
    groups, or for a kind of output without accuracy.
    """
    if "group" not in evaluated.columns or not evaluated.predictions.output.one_answer:
        return None
    rows = (evaluated.columns["split"] == split) & evaluated.known
    metric = catalog.get("metric", "worst_group")
    if not evaluated.has_groups(metric, rows):
        return None
    intervals, values = evaluated.of(metric, rows), evaluated.value(metric, rows)
    return {key: WorstValue(estimate=each, group=str(values[f"{key}_group"])) for key, each in intervals.items()}


def calibration(
    evaluated: Evaluated,
    mask: NDArray[np.bool_],
    ece: Estimate | None = None,
    groups: Mapping[str, int] | None = None,
) -> Calibration:
    """Confidence against accuracy in ten equal bins (lo, hi], each with its interval.

    Args:
        evaluated: The rows.
        mask: Those of one side (n,).
        ece: Their calibration error, where it is known already.
        groups: Of a side that is its worst group: see `Calibration`.
    """
    probability = evaluated.columns["probability"][slice(None) if mask.all() else mask]  # of all nothing is copied
    confidence, correct = probability.confidence, probability.prediction == probability.label
    sampling = Sampling(cluster=evaluated.cluster(mask), **evaluated.sampling)
    is_right = correct.astype(np.float64)
    number = confidence * _BINS
    number = np.ceil(number, out=number).astype(np.int8).clip(1, _BINS) - 1
    bins = []
    for k in np.unique(number):
        inside = number == k
        own = sampling.of_rows(inside)
        right = is_right[inside]
        share = wilson(right.sum(), len(right)) if own.cluster is None else mean_estimate(right, own)
        bins.append(
            ConfidenceBin(
                low=k / _BINS,
                high=(k + 1) / _BINS,
                n=share.n,
                confidence=float(confidence[inside].mean()),
                accuracy=float(share),
                accuracy_low=share.low,
                accuracy_high=share.high,
            )
        )
    if ece is None:
        ece = evaluated.of(catalog.get("metric", "ece"), mask)
    return Calibration(
        bins=tuple(bins),
        ece=ece,
        mean_confidence=float(confidence.mean()),
        accuracy=float(correct.mean()),
        overconfidence=mean_estimate(
            confidence - is_right,
            sampling,
            are_shares=False,
            answers=Answers(if_right=confidence - 1, if_wrong=confidence),
            within=(-1.0, 1.0),
        ),
        groups=groups,
    )
