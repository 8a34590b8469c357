"""Whether contexts that nobody labelled matter: rows as usual and against, where nothing was chosen."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.rows_to_show import rows_to_show
from oochub.found_contexts import ContextCheck
from oochub.prediction.rows_with_contexts import RowsWithContexts
from oochub.report.context_records import PICTURED, ClassInContext, ContextFinding, ContextFindings, Role, Status
from oochub.stats.adjusted_p_values import Correction, adjusted_p_values
from oochub.stats.estimate import Estimate
from oochub.stats.gap_under_wrong_contexts import gap_under_wrong_contexts
from oochub.stats.lift import lift_of_counts
from oochub.stats.proportion import wilson
from oochub.stats.stratified_gap import StratifiedGap, stratified_gap

_LEVEL = 0.05
_ROLES: Mapping[int, Role] = {1: "usual", -1: "unusual", 0: "neither"}
_ORDER: Mapping[Status, int] = {"shown": 0, "not shown": 1, "too few": 2}


def context_findings(evaluated: Evaluated, correction: Correction = "holm") -> ContextFindings | None:
    """The contexts that `oochub.contexts` found, each with its gap, tested on the rows on which nothing was chosen.

    What is usual for a class was chosen on other rows, by the interval of the lift there. Of the tested rows those
    that have a context which is usual for their class, or lack one that is unusual, are as usual; the others are
    against it. The gap is the accuracy against minus as usual, class by class; its p-values are corrected over all
    contexts that could be tested.

    Args:
        evaluated: The rows.
        correction: "holm" or "benjamini_hochberg".

    Returns:
        None for rows without such contexts, and for a kind of output without one class a row.

    Source: the criteria of Madras and Zemel, NOOCH, Section 2, for contexts that are found; Mantel and Haenszel 1959
        for gaps over classes.
    """
    tested = RowsWithContexts.of(evaluated.predictions)
    if tested is None:
        return None
    facts, answered = tested.facts, evaluated.columns["prediction"][tested.rows]
    right, cluster = tested.label == answered, evaluated.cluster(tested.rows)
    gaps = [_gap(tested.sides(number), tested.label, right, cluster) for number in range(len(facts.names))]
    p_values = [gap.p_value for gap in gaps]
    adjusted = adjusted_p_values(p_values, correction=correction)
    found = {
        number: _finding(tested, number, right, gap, p_value)
        for number, (gap, p_value) in enumerate(zip(gaps, adjusted, strict=True))
    }
    order = sorted(found, key=lambda number: (_ORDER[found[number].status], _by_gap(found[number].gap)))
    pictured = [number for number in order if tested.signs[number].any()][:PICTURED]
    for number in pictured:
        usual, against = (rows_to_show(evaluated, rows) for rows in tested.shown(number))
        found[number] = replace(found[number], rows_usual=usual, rows_against=against)
    return ContextFindings(
        way=facts.way,
        model=facts.model,
        n_chosen=facts.chosen_rows,
        n_tested=len(tested.rows),
        correction=correction,
        level=_LEVEL,
        n_tests=sum(not math.isnan(p_value) for p_value in p_values),
        contexts=tuple(found[number] for number in order),
    )


def _gap(sides: NDArray[np.int8], label: NDArray[Any], right: NDArray[np.bool_], cluster: Any) -> StratifiedGap:
    """Of the rows against over those as usual, of the classes for which the context is one of the two."""
    rows = np.flatnonzero(sides)
    return stratified_gap(right[rows], sides[rows] < 0, label[rows], cluster=None if cluster is None else cluster[rows])


def _finding(
    tested: RowsWithContexts, number: int, right: NDArray[np.bool_], gap: StratifiedGap, adjusted: float
) -> ContextFinding:
    facts, reason = tested.facts, gap.reason
    status: Status = "too few" if math.isnan(gap.p_value) else "shown" if adjusted <= _LEVEL else "not shown"
    check = (facts.checks or {}).get(facts.names[number])
    if not tested.signs[number].any():
        reason = "the context is neither usual nor unusual for any class on the rows where that was chosen"
    finding = ContextFinding(
        name=facts.names[number],
        words=facts.words[number],
        n=int(tested.has[:, number].sum()),
        status=status,
        gap=gap.estimate,
        accuracy_usual=gap.mean_against,
        accuracy_against=gap.mean_with,
        n_usual=gap.n_against,
        n_against=gap.n_with,
        p_value=gap.p_value,
        adjusted_p_value=adjusted,
        reason=reason,
        classes=tuple(_class(tested, number, k, right) for k in range(len(tested.predictions.class_names))),
    )
    return finding if check is None else _checked(finding, check, gap, tested.has[:, number], tested.sides(number))


def _checked(
    finding: ContextFinding,
    check: ContextCheck,
    gap: StratifiedGap,
    has: NDArray[np.bool_],
    sides: NDArray[np.int8],
) -> ContextFinding:
    """With what the gap may be, where labels are as often wrong as people found."""
    found = gap_under_wrong_contexts(
        gap,
        wrong_having=(check.wrong_with, check.checked_with),
        wrong_lacking=(check.wrong_without, check.checked_without),
        having_of_with=_share(has[sides < 0]),
        having_of_against=_share(has[sides > 0]),
    )
    return replace(finding, check=check, bounds=found.corrected, shrinkage=found.shrinkage, worst_case=found.worst_case)


def _share(has: NDArray[np.bool_]) -> float:
    return float(has.mean()) if len(has) else 0.0


def _class(tested: RowsWithContexts, number: int, label: int, right: NDArray[np.bool_]) -> ClassInContext:
    own, has = tested.label == label, tested.has[:, number]
    n, having = int(own.sum()), int((own & has).sum())
    return ClassInContext(
        label=tested.predictions.class_names[label],
        role=_ROLES[int(tested.signs[number, label])],
        lift=lift_of_counts(having, n, int(has.sum()) - having, len(has) - n),
        accuracy_with=_accuracy(right[own & has]),
        accuracy_without=_accuracy(right[own & ~has]),
    )


def _accuracy(right: NDArray[np.bool_]) -> Estimate:
    if not len(right):
        return Estimate(math.nan, n=0, method="wilson", reason="no rows")
    return wilson(int(right.sum()), len(right))


def _by_gap(gap: Estimate) -> float:
    return math.inf if math.isnan(gap) else float(gap)
