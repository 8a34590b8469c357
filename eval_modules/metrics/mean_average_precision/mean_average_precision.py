"""Mean average precision: the mean of each label's average precision, for rows with several labels.

    mAP = 1/|K| sum_(k in K) AP_k,    AP_k = 1/n_k sum_(i positive) (positives from s_i up) / (rows from s_i up)

AP_k ranks the rows whose label k is known by their score s of it, n_k of them positive; rows of equal score are taken
together. K are the labels with at least one known positive and one known negative row: the others say nothing of a
ranking and are left out, as in the evaluator of the Open Graph Benchmark.

Interval: the basic bootstrap of rows, 2 mAP less the quantiles of the resamples. Average precision of few rows is too
high, and more so of resamples: of 10 labels held by 2% of 1,000 rows it covers 0.93, the percentile bootstrap 0.41.
From 10,000 independent rows on, if each label has 100 known rows of either kind, it is made of the resamples' normal
law and bias. With fewer than 300 rows it is made of Student's t and the resamples' spread, which cover 0.86 of 10 rows,
where the basic one covers 0.61. The lower end leaves room for a row that no sample has shown, as that of
`average_precision` does.

Limitations: Every label counts once, the rare ones too, and chance is the share of positives of each: values of
different labels, or of different rows, do not compare. With few positives a label's average precision is biased
upwards.

Source: Hu et al. 2020, "Open Graph Benchmark: Datasets for Machine Learning on Graphs", NeurIPS (ogbg-molpcba), and its
evaluator; WILDS, Section 4.1 (OGB-MolPCBA).
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from oochub.errors import OochubError
from oochub.eval_modules.metrics._ranking import ScoreState
from oochub.metric import MetricFacts, MetricShell
from oochub.stats.array_checks import Array, check_labels
from oochub.stats.bootstrap import bootstrap, note_few_rows
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.ranking import precision_area, resampled_precision_area
from oochub.stats.unseen_rows import (
    UNITS,
    Unseen,
    count_together,
    extend_by_unseen,
    find_variance,
    unseen_of_precision,
)

_MANY = 10_000  # independent rows from here, with as many positives and negatives of each label as below,
_SURE = 300  # rows; below, average precision is too high, and the interval may be too narrow
_FEW = 100  # a test shows the ends of the bootstrap of rows
_OF_BIAS = 200  # resamples of each label


def mean_average_precision(label: Any, score: Any) -> float:
    """Mean over the labels of the average precision of finding the rows where a label holds, from high scores down.

    Args:
        label: 1 where a label holds, 0 where not, nan where nobody knows (n, k).
        score: Any real number (n, k), higher = the label holds more likely; infinities are fine.

    Returns:
        A fraction in [0, 1], higher is better. nan if no label has both a known positive and a known negative row.

    Raises:
        OochubError: No rows, no labels, different shapes, labels other than 1, 0 and nan, NaN scores.

    >>> nan = float("nan")
    >>> label = [[1, 1, 1], [0, nan, 1], [1, 0, nan]]  # the third label has no negative row
    >>> score = [[0.9, 0.2, 0.3], [0.5, 0.8, 0.1], [0.1, 0.4, 0.6]]
    >>> round(mean_average_precision(label=label, score=score), 4)  # of (1 + 2/3) / 2 and 1/2
    0.6667
    """
    label, score = check_labels(label, score)
    return _mean(_rank_labels(label, score), np.ones(len(label), np.int64))


class _Ranking(NamedTuple):
    """The rows of one label from the highest score down.

    Attributes:
        rows: Numbers of the known rows (m,).
        positive: Numbers of the positive rows (p,).
        last: For each positive, the place in `rows` of the last row of its score (p,).
        last_positive: The same in `positive` (p,).
    """

    rows: Array
    positive: Array
    last: Array
    last_positive: Array


def _rank_labels(label: Array, score: Array) -> list[_Ranking]:
    """The rankings of the labels that have a known positive and a known negative row."""
    rankings = []
    for of_label, of_score in zip(label.T, score.T, strict=True):
        rows = np.flatnonzero(~np.isnan(of_label))
        rows = rows[np.argsort(of_score[rows], kind="stable")[::-1]]
        positives = np.flatnonzero(of_label[rows] == 1)
        if not 0 < len(positives) < len(rows):
            continue
        ordered = of_score[rows]
        ends = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True))  # of rows of equal score
        end = np.searchsorted(ends, positives)
        rankings.append(_Ranking(rows, rows[positives], ends[end], np.searchsorted(end, end, side="right") - 1))
    return rankings


def _mean(rankings: list[_Ranking], times: Array) -> float:
    """The metric where row i is there `times[i]` times (n,): of the rows themselves, or of a resample."""
    areas = []
    for ranking in rankings:
        taken, right = np.cumsum(times[ranking.rows]), np.cumsum(times[ranking.positive])
        if 0 < right[-1] < taken[-1]:
            precision = right[ranking.last_positive] / np.maximum(taken[ranking.last], 1)
            areas.append(float(times[ranking.positive] @ precision) / float(right[-1]))
    return math.fsum(areas) / len(areas) if areas else math.nan


class _State(ScoreState):
    metric = staticmethod(mean_average_precision)

    def update(self, *, label: Any, score: Any) -> None:
        label, score = check_labels(label, score)
        self._add([(label.copy(), score.copy())])

    def merge(self, other: ScoreState) -> None:
        self._add(other._batches)

    def _add(self, batches: list[tuple[Array, ...]]) -> None:
        widths = sorted({label.shape[1] for label, _ in [*self._batches, *batches]})
        if len(widths) > 1:
            raise OochubError(
                f"All batches must have the same number k of labels per row, got {' and '.join(map(str, widths))}."
            )
        self._batches += batches


def _compute_influence(ranking: _Ranking, n: int) -> Array:
    """What one more copy of each row (n,) adds to a label's average precision."""
    right, taken = ranking.last_positive + 1, ranking.last + 1
    precision, count = right / taken, len(right)
    below = [np.append(np.cumsum(gain[::-1])[::-1], 0) for gain in ((taken - right) / taken**2, right / taken**2)]
    influence = np.zeros(n)
    influence[ranking.rows] = -below[1][np.searchsorted(ranking.last, np.arange(len(ranking.rows)))]
    of_its_score = np.searchsorted(ranking.last, ranking.last)  # the first positive of the same score
    influence[ranking.positive] = precision - precision.mean() + below[0][of_its_score]
    return influence / count


def _estimate_bias(ranking: _Ranking, sampling: Sampling) -> float:
    """How much higher a label's average precision is of resamples, on average."""
    last, first = np.unique(ranking.last, return_index=True)
    right = ranking.last_positive[first] + 1
    all_right = len(ranking.positive)
    positive = np.concatenate([[0], right, [all_right]])
    negative = np.concatenate([[0], last + 1 - right, [len(ranking.rows) - all_right]])
    drawn = resampled_precision_area(positive, negative, sampling)
    return float(drawn.mean()) - precision_area(positive, negative)


def _estimate_normal_interval(rankings: list[_Ranking], n: int, sampling: Sampling) -> Estimate:
    """The basic bootstrap without resampling rows: its spread from each row's influence, its bias label by label."""
    value, bias, influence = _mean(rankings, np.ones(n, np.int64)), 0.0, np.zeros(n)
    for seed, ranking in enumerate(rankings, start=sampling.seed):
        influence += _compute_influence(ranking, n) / len(rankings)
        bias += _estimate_bias(ranking, Sampling(resamples=_OF_BIAS, seed=seed)) / len(rankings)
    half = -special.ndtri(sampling.tail) * math.sqrt(influence @ influence)
    low, high = np.clip((min(value - bias - half, value), max(value - bias + half, value)), 0.0, 1.0)
    method = f"normal law of the resamples, bias of {_OF_BIAS} resamples of cells of scores"
    return Estimate(value, low=low, high=high, n=n, method=method)


def _estimate_interval(columns: dict[str, Array], sampling: Sampling) -> Estimate:
    label, score = check_labels(**columns)
    rankings, n = _rank_labels(label, score), len(label)
    if not rankings:
        return Estimate(math.nan, n=n, method="none", reason="no label has a known positive and a known negative row")
    few = min(min(len(ranking.positive), len(ranking.rows) - len(ranking.positive)) for ranking in rankings)
    if sampling.cluster is None and n >= _MANY and few >= _FEW:
        drawn = _estimate_normal_interval(rankings, n, sampling)
        return extend_by_unseen(drawn, _list_unseen(rankings, drawn, sampling), sampling)

    def of_resample(row: Array) -> float:
        return _mean(rankings, np.bincount(row, minlength=n))  # sorted once, not in every resample

    drawn = bootstrap(of_resample, {"row": np.arange(n)}, sampling, basic_within=(0.0, 1.0), by_t=n < _SURE)
    if drawn.value == 1 and math.isnan(drawn.low):  # a perfect order, in every resample too
        drawn = Estimate(1.0, low=1.0, high=1.0, n=n, method=drawn.method, reason=sampling.warning)
    extended = extend_by_unseen(drawn, _list_unseen(rankings, drawn, sampling), sampling)
    return note_few_rows(extended, at_least=_SURE)


def _list_unseen(rankings: list[_Ranking], drawn: Estimate, sampling: Sampling) -> list[Unseen]:
    """What average precision may lack in one of the labels, each as likely."""
    labels, together, count = len(rankings), (1.0, 1.0), 1.0
    if sampling.cluster is not None:
        influence = sum(_compute_influence(ranking, drawn.n) for ranking in rankings) / labels
        alone = float(np.sum(influence**2))
        rows = count_together(find_variance(drawn, sampling) / alone if alone else math.inf, sampling.cluster)
        together, count = (rows, rows), float(UNITS)
    unseen = []
    for ranking in rankings:
        positives = len(ranking.positive)
        of_label = unseen_of_precision(
            positives, len(ranking.rows) - positives, together=together, count=count / labels
        )
        unseen += [Unseen(part.times, min(1.0, part.loss) / labels) for part in of_label]
    return unseen


FACTS = MetricFacts(
    title="Mean average precision",
    direction="higher",
    ranking=True,
    outputs=("labels",),
    interval=_estimate_interval,
)


class MeanAveragePrecision(MetricShell):
    """The metric as a module of `evaluate`, which also takes batches.

    >>> import evaluate
    >>> from importlib.resources import files
    >>> module = evaluate.load(str(files("oochub.eval_modules") / "metrics" / "mean_average_precision"))
    >>> module.compute(references=[[1, 0], [0, 1]], predictions=[[0.9, 0.3], [0.2, 0.1]])
    {'mean_average_precision': 0.75}
    """

    state = _State
