"""Where the errors sit: by group, by confidence."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from oochub import catalog
from oochub.evaluation.evaluated import Evaluated
from oochub.report.records import Calibration, ConfidenceBin, GroupRow, Groups, Side, WorstValue
from oochub.sides import GroupsOfRows
from oochub.stats.bootstrap import mean_estimate
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.estimation import estimate
from oochub.stats.proportion import wilson

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
    every: list[tuple[Side | None, NDArray[np.bool_]]] = [*sides.items()]
    if isinstance(evaluated.benchmark.out_of_context, GroupsOfRows):  # both sides are the same rows
        every = [(side, mask) for side, mask in every if side == "out"]
    for side, mask in every or [(None, evaluated.columns["split"] == split)]:
        for group, members in evaluated.members(mask).items():
            values = {name: estimate(metric, evaluated.arrays(metric, members)) for name, metric in metrics.items()}
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
                    **{name: value for name, value in values.items() if name in _NAMED},
                )
            )
    return Groups(columns=("label", "context"), split=split, rows=tuple(rows))


def worst_groups(evaluated: Evaluated, split: str) -> dict[str, WorstValue] | None:
    """The worst accuracy, error and NLL over the groups of the evaluation split, each with its group.

    The interval is simultaneous over the groups, so it covers the minimum, whichever group attains it. None without
    groups, or for a kind of output without accuracy.
    """
    if "group" not in evaluated.columns or not evaluated.predictions.output.one_answer:
        return None
    rows = (evaluated.columns["split"] == split) & evaluated.known
    metric = catalog.get("metric", "worst_group")
    arrays = evaluated.arrays(metric, rows)
    intervals, values = estimate(metric, arrays), metric(**arrays)
    return {key: WorstValue(estimate=each, group=str(values[f"{key}_group"])) for key, each in intervals.items()}


def calibration(evaluated: Evaluated, mask: NDArray[np.bool_], ece: Estimate | None = None) -> Calibration:
    """Confidence against accuracy in ten equal bins (lo, hi], with Wilson intervals.

    Args:
        evaluated: The rows.
        mask: Those of one side (n,).
        ece: Their calibration error, where it is known already.
    """
    probability = evaluated.columns["probability"][slice(None) if mask.all() else mask]  # of all nothing is copied
    confidence, correct = probability.confidence, probability.prediction == probability.label
    sampling = Sampling(cluster=evaluated.cluster(mask), **evaluated.sampling)
    number = confidence * _BINS
    number = np.ceil(number, out=number).astype(np.int8).clip(1, _BINS) - 1
    bins = []
    for k in np.unique(number):
        inside = number == k
        n, right = int(inside.sum()), int(correct[inside].sum())
        share = wilson(right, n)
        bins.append(
            ConfidenceBin(
                low=k / _BINS,
                high=(k + 1) / _BINS,
                n=n,
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
        overconfidence=mean_estimate(confidence - correct, sampling),
    )
