"""How the numbers of both sides go together where both show the same things, or have rows of the same clusters.

What rows share (`Benchmark.cluster`, or the things of `Benchmark.pair`) may have rows on both sides: a foreground on
its usual background and on another one, a patient in both hospitals. Their difference then has an interval of pairs:
each side keeps its own, and the square-and-add difference takes the correlation of both
(`oochub.stats.side_correlation`). A mean and the AUC have it of the influence of each row; every other metric of a
bootstrap that draws things with their rows of both sides. Things without a partner stay, unpaired.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows
from oochub.metric import read_facts
from oochub.records.report_records import Role, SidePairs
from oochub.records.sides import GroupsOfRows
from oochub.stats.array_checks import Array
from oochub.stats.bootstrap import draw_replicates
from oochub.stats.delong import compute_auc_influence
from oochub.stats.estimate import Sampling
from oochub.stats.side_correlation import SideCorrelation, side_correlation

if TYPE_CHECKING:
    from oochub.evaluation.row_sets import RowSet

Metric = Callable[..., object]
Rows = NDArray[np.int64]


def pair_sides(metric: Metric, sides: "Mapping[Role, RowSet]", models: Sequence[EvaluationRows]) -> SidePairs | None:
    """The pairs of two sides, with the correlation of the metric on them; None if they share nothing.

    Args:
        metric: A metric with one number.
        sides: The rows of either side by their role, "in" and "out".
        models: The evaluated rows of a model; or those of two models on the same rows, for the change from the first
            to the second.
    """
    evaluated, benchmark = models[-1], models[-1].benchmark
    if benchmark.cluster is None or isinstance(benchmark.out_of_context, GroupsOfRows):
        return None
    places = [np.flatnonzero(sides[role].mask) for role in ("in", "out")]
    column = evaluated.columns[benchmark.cluster]
    units = [np.asarray(getattr(column, "codes", column)[rows]) for rows in places]
    influences = [_find_influence(metric, rows, models) for rows in places]
    if not np.isin(units[0], units[1]).any():
        if benchmark.pair is None:
            return None
        found = SideCorrelation(0.0, 0, *(len(np.unique(each)) for each in units))
    elif influences[0] is None or influences[1] is None:
        found = _correlate_by_bootstrap(metric, places, units, models)
    else:
        found = side_correlation(
            influences[0].values,
            influences[1].values,
            first_unit=units[0],
            second_unit=units[1],
            are_shares=influences[0].are_shares and influences[1].are_shares,
        )
    return SidePairs(
        column=benchmark.cluster,
        both=found.both,
        only_in=found.only_first,
        only_out=found.only_second,
        correlation=found.value,
    )


class _Influence(NamedTuple):
    """What each row adds to a number (n,), and whether the number is a share of rows."""

    values: Array
    are_shares: bool


def _find_influence(metric: Metric, rows: Rows, models: Sequence[EvaluationRows]) -> _Influence | None:
    """That of the metric of one model, or of its change; None for a metric that is no mean and no AUC."""
    facts, found = read_facts(metric), []
    for each in models:
        arrays = each.arrays(metric, rows)
        if getattr(metric, "__name__", "") == "auc":
            label = arrays["label"]
            if label.all() or not label.any():  # no AUC, and nothing to correlate
                return _Influence(np.zeros(len(rows)), are_shares=False)
            found.append(_Influence(compute_auc_influence(label, arrays["score"]), are_shares=False))
        elif facts is not None and facts.row_numbers is not None:
            values, is_share = facts.row_numbers(arrays, **each.options(metric))[:2]
            if len(values) != len(rows):  # some rows have no number
                return None
            is_share = is_share and len(models) == 1 and bool(np.isin(values, (0, 1)).all())
            found.append(_Influence((values - values.mean()) / len(rows), is_share))
        else:
            return None
    return found[0] if len(found) == 1 else _Influence(found[1].values - found[0].values, are_shares=False)


def _correlate_by_bootstrap(
    metric: Metric, sides: Sequence[Rows], units: Sequence[Array], models: Sequence[EvaluationRows]
) -> SideCorrelation:
    """That of the metric on resamples of units with all their rows."""
    rows, is_outside = np.concatenate(sides), np.arange(sum(map(len, sides))) >= len(sides[0])

    def measure(place: Rows) -> Array:
        numbers = [np.nan, np.nan]
        for side, chosen in enumerate((place[~is_outside[place]], place[is_outside[place]])):
            if len(chosen):
                values = [float(each.value(metric, rows[chosen])) for each in models]
                numbers[side] = values[-1] - (values[0] if len(values) > 1 else 0.0)
        return np.array(numbers)

    sampling = Sampling(cluster=np.concatenate(units), **models[-1].sampling)
    drawn = draw_replicates(measure, {"place": np.arange(len(rows))}, sampling)
    kept = drawn[~np.isnan(drawn).any(axis=1)]
    varies = len(kept) > 2 and bool((np.ptp(kept, axis=0) > 0).all())
    counted = side_correlation(
        np.zeros(len(sides[0])), np.zeros(len(sides[1])), first_unit=units[0], second_unit=units[1]
    )
    return counted._replace(value=float(np.corrcoef(kept.T)[0, 1]) if varies else 0.0)
