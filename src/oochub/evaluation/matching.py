"""The gap at equal values of a column: in-context rows are reweighted until it is spread as it is out of context.

Rows out of context may also differ in something that alone makes them hard: objects without their context are smaller.
Strata are the quartiles of the column over the rows of both sides, within each label (a NOOCH negative has no object
and area 0, so negatives are one stratum). Within a label an in-context row of stratum s gets the weight

    share of s out of context / share of s in context

so that both sides hold each stratum equally often, and labels as often as before. This is standardization, or
post-stratification, to the rows out of context. What differs within a quartile stays.

Matched on `label`, the strata are the labels themselves and the weights are taken over all rows: both sides hold each
label as often as the rows out of context do. A model that is worse at a class which is common there has no gap by that.

Source: Holt and Smith 1979, Post Stratification (J. R. Statist. Soc. A 142:33-46).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.evaluation.group_statistics import WEIGHTED, make_weighted_form, read_row_values
from oochub.records.report_records import MatchedGap, Stratum
from oochub.report import wording
from oochub.stats import RESAMPLES
from oochub.stats.array_checks import Array
from oochub.stats.bootstrap import draw_counts
from oochub.stats.estimate import Estimate, Sampling, effective_clusters
from oochub.stats.mean_interval import hall_interval

_OF_THE_MODEL = {
    "label",
    "prediction",
    "probability",
    "score",
    "loss",
    "correct",
}  # columns of a report that are no cause
LABEL = "label"
"""What to match on for equal shares of the classes."""
_QUARTILES = (0.25, 0.5, 0.75)
_FEW = 10  # a bootstrap of rows that count as fewer is too narrow
_MOST_SKEWED = 0.3  # beyond, the transformation reaches further than Wilson's interval does for 5 of 90 rows
_ROUNDING = 1e-12  # sums of weights are exact to about 1e-16: a smaller difference is none
_BLOCK = 1 << 18  # weights held at once
_MANY = 10_000  # independent rows of a side from here: cells of rows are drawn, which a test sets beside rows


_CELLS = 512  # of ranks; and so many of the largest values that each are a cell


def check_match(column: str, columns: Mapping[str, Any]) -> None:
    """Checks that the column can be matched on, before anything is scored.

    Args:
        column: Name of the column.
        columns: Every column (n, ...) by name.

    Raises:
        OochubError: No such column, or one that is not a number per row or that the model made.

    >>> check_match("area", {"area": np.zeros(3), "label": np.zeros(3)})
    """
    if column == LABEL:
        return
    if not isinstance(column, str):
        raise OochubError(f"match must be the name of a column, got a {type(column).__name__}.")

    def is_able(name: str) -> bool:
        return name not in _OF_THE_MODEL and columns[name].ndim == 1 and columns[name].dtype.kind in "biuf"

    if column not in columns or not is_able(column):
        able = list(filter(is_able, columns))
        if not able:
            option = choose_wording(f"match={column!r}")
            raise OochubError(f"{option}: these predictions have no auxiliary column of numbers to match on.")
        raise unknown_name("numeric auxiliary column to match on", column, able)


def estimate_matched_gap(
    metric: str,
    in_columns: Mapping[str, Array],
    out_columns: Mapping[str, Array],
    *,
    column: str,
    titles: tuple[str, str] = ("in context", "out of context"),
    in_cluster: Array | None = None,
    out_cluster: Array | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
    confidence: float = 0.95,
) -> MatchedGap:
    """The metric out of context minus in context, with the column spread on both sides as out of context.

    The interval is Student's t with the spread and the skewness of a bootstrap of both sides
    (`oochub.stats.mean_interval`); strata stay, weights are made anew in each resample. Clusters with rows on both
    sides are drawn with all of them. If a side has 10,000 independent rows or more, cells of rows with like values are
    drawn (`oochub.evaluation.matching`).

    Args:
        metric: auc, accuracy, error_rate or nll; for others the gap is nan with the reason.
        in_columns: The rows in context: `label`, what the metric reads (`score`; `prediction`; `loss`, the nats of
            each row), and the column.
        out_columns: The same of the rows out of context.
        column: The column of numbers to match on; rows where it is not finite are left out. "label" matches the shares
            of the classes.
        titles: Names of both sides in a reason, as in "there are no rows in context".
        in_cluster: What the rows in context share, if anything.
        out_cluster: What the rows out of context share, if anything.
        resamples: Bootstrap replicates.
        seed: Seed of the bootstrap.
        confidence: Level of the interval.

    Returns:
        The MatchedGap, in [-1, 1] (nll: in nats); where the column is the whole cause of the gap it is near 0.

    Raises:
        OochubError: See `check_match`.

    >>> small, large = {"label": [1] * 40, "prediction": [0] * 40}, {"label": [1] * 40, "prediction": [1] * 40}
    >>> both = {name: np.array(small[name] + large[name]) for name in small} | {"area": np.repeat([0.1, 0.9], 40)}
    >>> few = {name: array[:50] for name, array in both.items()}
    >>> round(estimate_matched_gap("accuracy", both, few, column="area").estimate, 12)  # the plain gap is 0.2 - 0.5
    0.0
    """
    check_match(column, in_columns)
    sides, samplings, clusters = [], [], []
    for columns, cluster, own in ((in_columns, in_cluster, seed), (out_columns, out_cluster, seed + 1)):
        is_finite = np.isfinite(columns[column].astype(np.float64))
        sides.append({name: array[is_finite] for name, array in columns.items()})
        shared = None if cluster is None or not is_finite.any() else cluster[is_finite]
        clusters.append(shared)
        samplings.append(Sampling(cluster=shared, resamples=resamples, seed=own, confidence=confidence))
    codes, strata = _make_strata(*(side["label"] for side in sides), *(side[column] for side in sides))
    parts = zip(titles, (in_columns, out_columns), sides, strict=True)
    missing = _explain_missing_values(column, [(title, len(of[LABEL]), len(kept[LABEL])) for title, of, kept in parts])
    within = np.array([0 if column == LABEL else stratum.label for stratum in strata])
    n_out, n_kept = len(out_columns["label"]), sum(stratum.n_out for stratum in strata if stratum.kept)
    return MatchedGap(
        column=column,
        metric=metric,
        n_in=sum(stratum.n_in for stratum in strata),
        n_out=sum(stratum.n_out for stratum in strata),
        share_out=n_kept / n_out if n_out else np.nan,
        estimate=_estimate_gap(metric, sides, codes, within, samplings, missing, _number_units(clusters)),
        strata=strata,
    )


def _explain_missing_values(column: str, sides: Sequence[tuple[str, int, int]]) -> str:
    """Which side, of title, rows, and rows with a value, has none in the column; "" if both have some."""
    empty = [title for title, rows, _ in sides if not rows]
    lines = [f"there are no rows {' and none '.join(empty)}"] if empty else []
    lines += [f"no row {title} has a value in {column}" for title, rows, kept in sides if rows and not kept]
    return " and ".join(lines)


def _make_strata(
    in_label: Array, out_label: Array, in_value: Array, out_value: Array
) -> tuple[tuple[Array, Array], tuple[Stratum, ...]]:
    """The stratum of each row of both sides, and the strata."""
    label, value = np.concatenate([in_label, out_label]), np.concatenate([in_value, out_value]).astype(np.float64)
    inside = np.arange(len(label)) < len(in_label)
    codes = np.zeros(len(label), np.int64)
    strata: list[Stratum] = []
    for number in np.unique(label):
        rows = np.flatnonzero(label == number)
        quarter = np.searchsorted(np.quantile(value[rows], _QUARTILES), value[rows])
        for part in np.unique(quarter):
            chosen = rows[quarter == part]
            codes[chosen] = len(strata)
            of_in, of_out = value[chosen[inside[chosen]]], value[chosen[~inside[chosen]]]
            strata.append(
                Stratum(
                    label=int(number),
                    low=float(value[chosen].min()),
                    high=float(value[chosen].max()),
                    n_in=len(of_in),
                    n_out=len(of_out),
                    mean_in=float(of_in.mean()) if len(of_in) else float("nan"),
                    mean_out=float(of_out.mean()) if len(of_out) else float("nan"),
                )
            )
    return (codes[inside], codes[~inside]), tuple(strata)


def _estimate_gap(
    metric: str,
    sides: list[dict[str, Array]],
    codes: tuple[Array, Array],
    within: Array,
    samplings: list[Sampling],
    missing: str,
    units_of_both: list[Array] | None,
) -> Estimate:
    n, sampling = sum(len(rows) for rows in codes), samplings[0]
    method = f"t interval, bootstrap of {sampling.unit}, {sampling.resamples} resamples, reweighted by stratum"
    if metric not in WEIGHTED:
        able = wording.join_names(WEIGHTED)
        return Estimate(np.nan, n=n, method="none", reason=f"{metric} has no weighted form; {able} have one")
    if missing:
        return Estimate(np.nan, n=n, method=method, reason=missing)
    forms = [make_weighted_form(metric, side) for side in sides]
    whole = _compute_weights(codes, within, [np.ones((1, len(rows))) for rows in codes])
    value = float(_compute_differences(forms, whole)[0])
    if np.isnan(value):
        return Estimate(value, n=n, method=method, reason="the two sides have no rows with similar values to compare")
    classes = [side["label"] if metric == "auc" else np.zeros(len(side["label"])) for side in sides]
    few = min(_count_effective(rows[0], of, None) for rows, of in zip(whole, classes, strict=True))
    if few < _FEW:
        why = f"the weighted rows are equivalent to {few:.1f} unweighted ones, too few for an interval"
        return Estimate(value, n=n, method=method, reason=why)
    drawn = _resample_gap(metric, sides, codes, within, samplings, value, units_of_both)
    kept = drawn[~np.isnan(drawn)]
    reasons = [f"undefined in {len(drawn) - len(kept)} of {len(drawn)} resamples"] if len(kept) < len(drawn) else []
    reasons += [warning for warning in dict.fromkeys(sampling.warning for sampling in samplings) if warning]
    if metric in ("accuracy", "error_rate"):
        right = [side["label"] == side["prediction"] for side in sides]
        fewest = min(int(min(rows.sum(), (~rows).sum())) for rows in right)
        reasons += (
            [f"a side has {fewest} errors or right answers: the interval may be too narrow"] if fewest < _FEW else []
        )
    low, high = np.nan, np.nan
    if 2 * len(kept) < len(drawn) or np.ptp(kept) < _ROUNDING:
        reasons.append("too few resamples have a value or differ: no interval")
    else:
        units = min(
            _count_effective(rows[0], of, sampling.cluster)
            for rows, of, sampling in zip(whole, classes, samplings, strict=True)
        )
        low, high = _find_ends(kept, value, units, sampling.tail)
    return Estimate(value, low=low, high=high, n=n, method=method, reason="; ".join(reasons) or None)


def _find_ends(drawn: Array, value: float, units: float, tail: float) -> tuple[float, float]:
    """Both ends from the resamples' spread and skewness, by Student's t of as many units as the side with fewer has.

    Percentiles err on one side: a share near 1 that is too large by chance has a spread that is too small.
    """
    apart, freedom = drawn - drawn.mean(), max(units - 1, 1.0)
    skewness = float(np.clip((apart**3).mean() / (apart**2).mean() ** 1.5, -_MOST_SKEWED, _MOST_SKEWED))
    error = float(drawn.std(ddof=1)) * ((freedom + 1) / freedom) ** 0.5
    return hall_interval(value, error, skewness, freedom, tail)


def _resample_gap(
    metric: str,
    sides: list[dict[str, Array]],
    codes: tuple[Array, Array],
    within: Array,
    samplings: list[Sampling],
    value: float,
    units_of_both: list[Array] | None,
) -> Array:
    """The gap of each resample (k,): of rows, or of cells of many rows."""
    units = []
    for side, code, sampling in zip(sides, codes, samplings, strict=True):
        if sampling.cluster is not None or len(code) < _MANY:
            units.append(RowCells(side, code, np.ones(len(code), np.int64)))
        elif metric == "auc":
            units.append(_make_row_cells(side, code, "score"))
        else:
            values = read_row_values(metric, side)
            assert values is not None  # noqa: S101 every metric with a weighted form is the AUC or a mean
            units.append(_make_row_cells({"loss": values}, code, "loss"))
    # The value of a cell is any number, so that its weighted form is that of a loss.
    forms = [make_weighted_form("nll" if set(unit.columns) == {"loss"} else metric, unit.columns) for unit in units]
    strata = [unit.stratum for unit in units]
    own = _compute_differences(
        forms, _compute_weights(strata, within, [unit.rows[None].astype(np.float64) for unit in units])
    )[0]
    together = max(1, _BLOCK // max(len(code) for code in strata))
    blocks: Iterable[Sequence[Array]]
    if units_of_both is None:
        own_blocks = (_draw_counts(unit.rows, s, together) for unit, s in zip(units, samplings, strict=True))
        blocks = zip(*own_blocks, strict=True)
    else:  # each unit is drawn with its rows of both sides
        every = np.arange(max(int(unit_of.max()) for unit_of in units_of_both) + 1)
        drawn_units = _draw_counts(np.ones(len(every)), replace(samplings[0], cluster=every), together)
        blocks = ([counts[:, unit_of] for unit_of in units_of_both] for counts in drawn_units)
    drawn: Array = np.concatenate(
        [_compute_differences(forms, _compute_weights(strata, within, counts)) for counts in blocks]
    )
    drawn += value - own  # scores of one cell are ties, which moves the AUC of the cells a little
    return drawn


def _compute_weights(codes: Sequence[Array], within: Array, counts: Sequence[Array]) -> list[Array]:
    """The weights (k, n) of both sides for k resamples, given as the counts (k, n) of their rows.

    `within` numbers the rows among which each stratum has its share, in order; the weights are those of the resample's
    own strata.
    """
    first, place = np.unique(within, return_index=True, return_inverse=True)[1:]

    def of_all(totals: Array) -> Array:
        spread: Array = np.add.reduceat(totals, first, axis=1)[:, place]
        return spread

    totals, strata = [], len(within)
    for code, count in zip(codes, counts, strict=True):
        places = code + strata * np.arange(len(count))[:, None]
        sums = np.bincount(places.ravel(), count.ravel(), strata * len(count))
        totals.append(sums.reshape(len(count), strata))
    inside, outside = totals
    matched = np.where((inside > 0) & (outside > 0), outside, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = matched / of_all(matched)
        factors = [np.nan_to_num(share * of_all(total) / total) for total in totals]  # 0 / 0: a stratum left out
    return [count * factor[:, code] for count, factor, code in zip(counts, factors, codes, strict=True)]


def _compute_differences(forms: Sequence[Callable[[Array], Array]], weights: Sequence[Array]) -> Array:
    """Out minus in (k,)."""
    inside, outside = (form(rows) for form, rows in zip(forms, weights, strict=True))
    return np.where(np.abs(outside - inside) < _ROUNDING, 0.0, outside - inside)


def _count_effective(weights: Array, label: Array, cluster: Array | None) -> float:
    """How many equal rows or clusters the weights (n,) of the scarcest label are worth (Kish 1965)."""
    units = np.arange(len(weights)) if cluster is None else cluster
    parts = [label == number for number in np.unique(label)]
    return min(effective_clusters(units[part], weights[part]) for part in parts if weights[part].any())


def _draw_counts(rows: Array, sampling: Sampling, together: int) -> Iterator[Array]:
    """Blocks (k, n), k at most `together`, of how often each row is drawn, or the rows of each cell."""
    cells = rows if len(rows) < int(rows.sum()) else None
    for counts in draw_counts(sampling.clusters or len(rows), sampling, together, cells=cells):
        yield counts if sampling.cluster is None else counts[:, sampling.cluster]


def _number_units(clusters: Sequence[Array | None]) -> list[Array] | None:
    """The unit of each row of both sides, numbered together; None if none has rows on both sides."""
    inside, outside = clusters
    if inside is None or outside is None or not np.isin(inside, outside).any():
        return None
    codes = np.unique(np.concatenate([np.asarray(inside), np.asarray(outside)]), return_inverse=True)[1]
    return np.split(codes, [len(inside)])


class RowCells(NamedTuple):
    """Cells (m,): what a weighted metric reads of them, the stratum and the number of rows of each."""

    columns: dict[str, Array]
    stratum: Array
    rows: Array


def _make_row_cells(columns: Mapping[str, Array], stratum: Array, value: str) -> RowCells:
    """The cells of many rows: a stratum and one of 512 ranks of a value, or one of the 512 largest values.

    A resample of independent rows holds multinomial numbers of each cell. Rows of one cell differ by less than the
    resamples do: `value` of a cell is the mean of its rows (a loss), or its place among all (a score, whose order alone
    counts: rows of one place are ties). If the values are few, such as 0 and 1, nothing is lost.

    Args:
        columns: `value`; with `label` of each row (n,), which is the same within a stratum.
        stratum: Numbers (n,).
        value: The name of the column, "loss" or "score".

    >>> _make_row_cells({"loss": np.array([0.0, 1.0, 1.0])}, np.array([0, 0, 0]), "loss")
    RowCells(columns={'loss': array([0., 1.])}, stratum=array([0, 0]), rows=array([1, 2]))
    """
    values = np.asarray(columns[value], dtype=np.float64)
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) > 2 * _CELLS:
        below = np.cumsum(np.bincount(place)) - 1  # the rank of the last row of each distinct value
        largest = len(values) - _CELLS
        place = np.where(below < largest, below * _CELLS // len(values), _CELLS + below - largest)[place]
    together = stratum * (int(place.max()) + 1) + place
    first, cell, rows = np.unique(together, return_index=True, return_inverse=True, return_counts=True)[1:]
    taken = place[first] if value == "score" else np.bincount(cell, values) / rows
    label = {"label": columns["label"][first]} if "label" in columns else {}
    return RowCells({value: taken, **label}, stratum[first], rows)
