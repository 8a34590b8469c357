"""One sort of the scores, from which every metric of out-of-distribution detection is read.

The sort gives tallies: for each kind of row, how many rows score at most each distinct score, in ascending order and
from none at all. Rows of equal score are never taken apart. A score is higher the more a row is in-distribution.

The area under precision over recall is resampled from a few hundred cells of scores, without drawing rows: a resample
needs of a cell only how many of its positives and negatives it draws. These are Poisson numbers (Hanley and MacGibbon
2006, "Creating non-parametric bootstrap samples using Poisson frequencies"); given them, the mean position of a drawn
positive within its cell is known.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal, get_args

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_label, check_same_length, check_score
from oochub.stats.estimate import Sampling

Positive = Literal["id", "ood"]
Form = Literal["step", "trapezoid"]

_PIECE = 8192  # distinct scores looked at together: they stay in the cache, and BLAS starts no threads for so few


_CELLS = 512
_FINE = 25.0  # at both ends of the order cells hold a row or two; from here they grow with the distance to the end
_TOGETHER = 64  # resamples looked at together: they stay in the processor's cache


def check_kinds(score: Any, is_ood: Any, correct: Any = None) -> tuple[Array, Array]:
    """Checked scores, and the kind of each row.

    Args:
        score: Real numbers (n,), higher = more in-distribution; infinities are fine.
        is_ood: Whether the class of a row is outside the label set (n,), bool or 0 and 1.
        correct: Whether the classifier was right (n,), bool or 0 and 1; not looked at where `is_ood` holds.

    Returns:
        Scores float32 or float64 (n,), and uint8 (n,): 0 is OOD and 1 ID; with `correct` 1 is incorrect ID and 2
        correct ID.

    Raises:
        OochubError: No rows, different lengths, NaN, or flags other than 0 and 1.

    >>> check_kinds([3, 2, 1], [False, False, True], [True, False, False])[1]
    array([2, 1, 0], dtype=uint8)
    """
    score, outside = check_score(score), check_label(is_ood, name="is_ood", classes=2).astype(bool)
    right = None if correct is None else check_label(correct, name="correct", classes=2).astype(bool)
    check_same_length(score=score, is_ood=outside, correct=right)
    inside = ~outside
    return score, inside.view(np.uint8) if right is None else np.add(inside, right & inside, dtype=np.uint8)


def count_by_score(score: Any, is_ood: Any, correct: Any = None) -> Array:
    """For each kind of row, how many score at most each distinct score.

    Args:
        score: See `check_kinds`.
        is_ood: See `check_kinds`.
        correct: See `check_kinds`.

    Returns:
        float64 (2, d + 1): OOD and ID; with `correct` (3, d + 1): OOD, incorrect ID and correct ID. d is the number of
        distinct scores, which ascend; the first column is 0, the last counts all rows of a kind.

    Raises:
        OochubError: What `check_kinds` raises.

    >>> count_by_score([0.1, 0.5, 0.5, 0.9], [True, True, False, False])
    array([[0., 1., 2., 2.],
           [0., 0., 1., 2.]])
    """
    score, kind = check_kinds(score, is_ood, correct)
    # Taking the places of True is much faster than indexing with the mask.
    runs = [np.sort(score[np.flatnonzero(kind == number)]) for number in range(2 if correct is None else 3)]
    ranked = np.concatenate(runs)
    order = np.argsort(ranked, kind="stable")  # timsort merges what is sorted already in one pass
    ranked = ranked[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    del ranked
    counts, whole = np.zeros((len(runs), len(last) + 1)), np.min_scalar_type(len(order))
    for i, end in enumerate(np.cumsum([len(run) for run in runs[:-1]])):
        counts[i, 1:] = np.cumsum(order < end, dtype=whole)[last]  # of this kind and those before it
    np.add(last, 1, out=counts[-1, 1:])
    for i in range(len(runs) - 1, 0, -1):
        counts[i] -= counts[i - 1]
    return counts


def order_tallies(ood: Array, inside: Array, positive: Positive) -> tuple[Array, Array]:
    """The tallies of positives and negatives in the order in which rows are taken as positive.

    ID rows are taken from the highest score down, OOD rows from the lowest up.

    Args:
        ood: Tally (d + 1,) of the OOD rows.
        inside: Tally (d + 1,) of the ID rows.
        positive: "id" or "ood".

    Raises:
        OochubError: Another `positive`.

    >>> ood, inside = count_by_score([0.1, 0.5, 0.5, 0.9], [True, True, False, False])
    >>> order_tallies(ood, inside, "id")
    (array([0., 1., 2., 2.]), array([0., 0., 1., 2.]))
    """
    check_choice(positive, Positive, "positive")
    if positive == "ood":
        return ood, inside
    return (inside[-1] - inside)[::-1], (ood[-1] - ood)[::-1]


def auroc(ahead: Array, behind: Array) -> float:
    """The chance that a row of `ahead` scores higher than a row of `behind`; ties count one half.

    Args:
        ahead: Tally (d + 1,).
        behind: Tally (d + 1,) of the same scores.

    Returns:
        A fraction in [0, 1], exact but for its one division (below 2^52 pairs); nan if either has no row.

    >>> ood, inside = count_by_score([0.1, 0.5, 0.5, 0.9], [True, True, False, False])
    >>> auroc(ahead=inside, behind=ood)
    0.875
    """
    pairs = float(ahead[-1]) * float(behind[-1])
    if pairs == 0:
        return math.nan
    return sum(float(np.diff(a) @ (b[1:] + b[:-1])) for a, b in _split_into_pieces(ahead, behind)) / (2 * pairs)


def precision_area(positive: Array, negative: Array, form: Form = "step") -> float:
    """The area under precision over recall, as rows are taken along the tallies.

    Args:
        positive: Tally (d + 1,).
        negative: Tally (d + 1,) of the same scores.
        form: "step" is the average precision; "trapezoid" joins the points by lines, from precision 1 at recall 0.

    Returns:
        A fraction in [0, 1]; nan if either has no row.

    Raises:
        OochubError: Another `form`.

    >>> positive, negative = np.array([0.0, 4.0]), np.array([0.0, 3.0])  # all scores are equal
    >>> precision_area(positive, negative), precision_area(positive, negative, "trapezoid")
    (0.5714285714285714, 0.7857142857142857)
    """
    check_choice(form, Form, "form")
    if not (positive[-1] and negative[-1]):
        return math.nan
    area = 0.0
    for p, n in _split_into_pieces(positive, negative):
        taken = p + n
        precision = p / np.maximum(taken, 1)
        if form == "trapezoid":
            precision[taken == 0] = 1
            precision[1:] = (precision[1:] + precision[:-1]) / 2
        area += float(np.diff(p) @ precision[1:])
    return area / float(positive[-1])


def resampled_precision_area(positive: Array, negative: Array, sampling: Sampling, form: Form = "step") -> Array:
    """The area of each bootstrap resample of independent rows; see `oochub.stats.ranking.precision_area`.

    Up to 512 distinct scores are a cell each, and nothing is approximated but the number of rows, which varies by its
    root. Above, neighbors share a cell, within which precision changes by 2% or less.

    Args:
        positive: Tally (d + 1,) of the positives, in the order in which rows are taken.
        negative: Tally (d + 1,) of the negatives at the same scores.
        sampling: Number of resamples and seed.
        form: As in `precision_area`.

    Returns:
        float64 (resamples,); nan where a resample has no positive or no negative.

    Raises:
        OochubError: Another `form`.

    >>> rows = np.arange(101.0)
    >>> drawn = resampled_precision_area(rows, rows, Sampling(resamples=200))  # chance, 100 of either kind
    >>> len(drawn), round(float(drawn.mean()), 1)
    (200, 0.5)
    """
    check_choice(form, Form, "form")
    ends = _find_ends(positive + negative)
    starts = np.append(0, ends[:-1])
    of_score = np.diff(positive)
    rows = np.stack([np.diff(positive[np.append(0, ends)]), np.diff(negative[np.append(0, ends)])])
    share = of_score / np.repeat(np.maximum(rows[0], 1), np.diff(np.append(0, ends)))
    others = (1 - np.add.reduceat(share**2, starts)) / 2  # of a cell's other positives, how many are before one of them
    base, width = np.repeat(negative[starts], ends - starts), np.maximum(rows[1], 1)
    after = np.add.reduceat(share * (negative[1:] - base), starts) / width
    before = np.add.reduceat(share * (negative[:-1] - base), starts) / width
    generator = np.random.default_rng(sampling.seed)
    areas = np.empty(sampling.resamples)
    for start in range(0, sampling.resamples, _TOGETHER):
        count = min(_TOGETHER, sampling.resamples - start)
        p, n = generator.poisson(rows, (count, *rows.shape)).astype(np.float64).swapaxes(0, 1)
        p_before, n_before = np.cumsum(p, axis=1) - p, np.cumsum(n, axis=1) - n
        apart = others * (p - 1)
        precision = _compute_precision(p_before + p - apart, n_before + after * n)
        if form == "trapezoid":
            precision = (precision + _compute_precision(p_before + apart, n_before + before * n)) / 2
        with np.errstate(invalid="ignore"):
            areas[start : start + count] = (p * precision).sum(axis=1) / p.sum(axis=1)
        areas[start : start + count][n.sum(axis=1) == 0] = np.nan
    return areas


def _find_ends(taken: Array) -> Array:
    """The ends of the cells, as places in the tallies."""
    distinct = len(taken) - 1
    if distinct <= _CELLS:
        return np.arange(1, distinct + 1)
    place = np.arcsinh(taken[1:] / _FINE) - np.arcsinh((taken[-1] - taken[1:]) / _FINE)
    ends: Array = np.flatnonzero(np.append(np.diff(np.floor(_CELLS / 2 * place / place[-1])) > 0, True)) + 1
    return ends


def _compute_precision(positive: Array, negative: Array) -> Array:
    taken = positive + negative
    precision: Array = np.divide(positive, taken, out=np.ones_like(taken), where=taken > 0)
    return precision


def count_needed(n: float, share: float) -> int:
    """The smallest k with k / n >= share: ceil(share n) of the decimal that was written.

    >>> count_needed(100, 0.07), 0.07 * 100  # in floats the product is above 7
    (7, 7.000000000000001)
    """
    k = math.ceil(share * n)
    return k - ((k - 1) / n >= share)


def take_share(of: Array, until: Array, share: float) -> float:
    """The share of `of` that is taken along the tallies once `share` of `until` is.

    The threshold is an order statistic, the k-th row of `until` with k = `count_needed`, never interpolated; rows that
    tie with it are taken as well.

    Args:
        of: Tally (d + 1,).
        until: Tally (d + 1,) of the same scores.
        share: Share of `until` that is taken, in (0, 1].

    Returns:
        A fraction in [0, 1]; nan if either has no row.

    >>> take_share(of=np.array([0, 1, 2, 4]), until=np.array([0, 1, 3, 4]), share=0.75)
    0.5
    """
    if not (of[-1] and until[-1]):
        return math.nan
    return float(of[np.searchsorted(until, count_needed(until[-1], share))] / of[-1])


def check_choice(value: Any, choices: Any, name: str) -> None:
    """Checks an option that is one of the words of a Literal.

    Raises:
        OochubError: The option is another word.

    >>> check_choice("in", Positive, "positive")
    Traceback (most recent call last):
    oochub.errors.OochubError: positive must be 'id' or 'ood', got 'in'.
    """
    if value not in get_args(choices):
        raise OochubError(f"{name} must be {' or '.join(map(repr, get_args(choices)))}, got {value!r}.")


def check_share(share: Any, name: str) -> None:
    """Checks a share of rows.

    Raises:
        OochubError: The share is no number in (0, 1].

    >>> check_share(95, "tpr")
    Traceback (most recent call last):
    oochub.errors.OochubError: tpr must be a share of rows, above 0 and at most 1, got 95. Such as 0.95.
    """
    if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 < share <= 1:
        raise OochubError(f"{name} must be a share of rows, above 0 and at most 1, got {share!r}. Such as 0.95.")


def ood_numbers(
    score: Any, is_ood: Any, correct: Any = None, *, tpr: float = 0.95, rejected: float = 0.75
) -> dict[str, float]:
    """All metrics of the protocol from one sort, without intervals.

    Args:
        score: See `check_kinds`.
        is_ood: See `check_kinds`.
        correct: See `check_kinds`; None leaves out what needs it.
        tpr: See the metric fpr_at_tpr.
        rejected: See the metric correct_discarded.

    Returns:
        By name: auroc_new_class; fpr_at_tpr and average_precision, each with _id and _ood for what is positive;
        with `correct` also auroc_failure, the three of ood_breakdown, and correct_discarded. nan is undefined.

    Raises:
        OochubError: What `check_kinds` raises, or a share outside (0, 1].

    >>> ood_numbers([1, 3, 2, 4], [True, True, False, False])["auroc_new_class"]
    0.75
    """
    check_share(tpr, "tpr")
    check_share(rejected, "rejected")
    ood, *parts = count_by_score(score, is_ood, correct)
    inside = parts[0] if correct is None else parts[0] + parts[1]
    numbers = {"auroc_new_class": auroc(inside, ood)}
    for positive in ("id", "ood"):
        sides = order_tallies(ood, inside, positive)
        numbers[f"fpr_at_tpr_{positive}"] = take_share(of=sides[1], until=sides[0], share=tpr)
        numbers[f"average_precision_{positive}"] = precision_area(*sides)
    if correct is None:
        return numbers
    wrong, right = parts
    return numbers | {
        "auroc_failure": auroc(right, ood + wrong),
        "correct_vs_ood": auroc(right, ood),
        "incorrect_vs_ood": auroc(wrong, ood),
        "correct_vs_incorrect": auroc(right, wrong),
        "correct_discarded": take_share(of=right, until=ood, share=rejected),
    }


def _split_into_pieces(*tallies: Array) -> Iterator[tuple[Array, ...]]:
    """The tallies in pieces that share their end points."""
    for start in range(0, len(tallies[0]) - 1, _PIECE):
        yield tuple(tally[start : start + _PIECE + 1] for tally in tallies)
