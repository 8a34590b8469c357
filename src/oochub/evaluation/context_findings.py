"""Whether contexts that nobody labelled matter: rows as usual and against, where nothing was chosen."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.found_contexts import CHOSEN_ON, COLUMN, ContextCheck, FoundContexts
from oochub.report.context_records import ClassInContext, ContextFinding, ContextFindings, Role, Status
from oochub.stats.adjusted_p_values import Correction, adjusted_p_values
from oochub.stats.context_signs import context_signs
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
    predictions = evaluated.predictions
    facts = predictions.metadata.facts.found_contexts
    is_there = {COLUMN, CHOSEN_ON} <= set(predictions.column_names)
    if facts is None or not is_there or not predictions.output.one_answer:
        return None
    has, readable = _has(predictions.rows.column(COLUMN), facts)
    tested = np.flatnonzero(readable & evaluated.known & ~_booleans(predictions.rows.column(CHOSEN_ON)))
    label = evaluated.columns["label"][tested]
    right = label == evaluated.columns["prediction"][tested]
    has, signs = has[tested], _signs(facts, predictions.class_names)
    cluster = evaluated.cluster(tested)
    gaps = [_gap(right, has[:, number], label, signs[number], cluster) for number in range(len(facts.names))]
    p_values = [gap.p_value for gap in gaps]
    adjusted = adjusted_p_values(p_values, correction=correction)
    found = [
        _finding(number, facts, gap, p_value, has[:, number], label, right, signs[number], predictions.class_names)
        for number, (gap, p_value) in enumerate(zip(gaps, adjusted, strict=True))
    ]
    return ContextFindings(
        way=facts.way,
        model=facts.model,
        n_chosen=facts.chosen_rows,
        n_tested=len(tested),
        correction=correction,
        level=_LEVEL,
        n_tests=sum(not math.isnan(p_value) for p_value in p_values),
        contexts=tuple(sorted(found, key=lambda each: (_ORDER[each.status], _by_gap(each.gap)))),
    )


def _has(column: pa.ChunkedArray, facts: FoundContexts) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Whether a row has a context (n, k), and whether its contexts are known (n,)."""
    whole = column.combine_chunks()
    has = np.zeros((len(whole), len(facts.names)), bool)
    named = whole.flatten()
    if pa.types.is_dictionary(named.type):
        named = named.cast(named.type.value_type)
    if pa.types.is_string(named.type) or pa.types.is_large_string(named.type):
        place = pc.index_in(named, pa.array(facts.names, named.type))
    else:
        place = named
    has[pc.list_parent_indices(whole).to_numpy(), place.to_numpy(zero_copy_only=False).astype(np.int64)] = True
    return has, np.asarray(whole.is_valid().to_numpy(zero_copy_only=False))


def _booleans(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    return np.asarray(column.combine_chunks().fill_null(True).to_numpy(zero_copy_only=False), bool)


def _signs(facts: FoundContexts, classes: Any) -> NDArray[np.int8]:
    """What each context is for each class (k, c): 1 usual, -1 unusual, 0 neither, by the lift where it was chosen."""
    counts = [facts.class_counts.get(context, {}) for context in facts.names]
    having = np.array([[of.get(name, 0) for of in counts] for name in classes], np.int64)
    return context_signs(
        having.reshape(len(classes), len(counts)), [facts.class_rows.get(name, 0) for name in classes]
    ).T


def _gap(
    right: NDArray[np.bool_], has: NDArray[np.bool_], label: NDArray[Any], signs: NDArray[np.int8], cluster: Any
) -> StratifiedGap:
    """Of the rows against over those as usual, of the classes for which the context is one of the two."""
    sign = signs[label]
    rows = np.flatnonzero(sign)
    against = has[rows] != (sign[rows] > 0)
    return stratified_gap(right[rows], against, label[rows], cluster=None if cluster is None else cluster[rows])


def _finding(
    number: int,
    facts: FoundContexts,
    gap: StratifiedGap,
    adjusted: float,
    has: NDArray[np.bool_],
    label: NDArray[Any],
    right: NDArray[np.bool_],
    signs: NDArray[np.int8],
    classes: Any,
) -> ContextFinding:
    status: Status = "too few" if math.isnan(gap.p_value) else "shown" if adjusted <= _LEVEL else "not shown"
    reason, check = gap.reason, (facts.checks or {}).get(facts.names[number])
    if not signs.any():
        reason = "the context is neither usual nor unusual for any class on the rows where that was chosen"
    return ContextFinding(
        name=facts.names[number],
        words=facts.words[number],
        n=int(has.sum()),
        status=status,
        gap=gap.estimate,
        accuracy_usual=gap.mean_against,
        accuracy_against=gap.mean_with,
        n_usual=gap.n_against,
        n_against=gap.n_with,
        p_value=gap.p_value,
        adjusted_p_value=adjusted,
        reason=reason,
        classes=tuple(_class(c, name, has, label, right, signs) for c, name in enumerate(classes)),
        check=check,
        bounds=None if check is None else _bounds(gap, check, has, signs[label]),
    )


def _bounds(gap: StratifiedGap, check: ContextCheck, has: NDArray[np.bool_], sign: NDArray[np.int8]) -> Estimate:
    """The gap behind the one seen, where labels are as often wrong as people found."""
    against = (sign != 0) & (has != (sign > 0))
    return gap_under_wrong_contexts(
        gap,
        wrong_having=(check.wrong_with, check.checked_with),
        wrong_lacking=(check.wrong_without, check.checked_without),
        having_of_with=_share(has[against]),
        having_of_against=_share(has[(sign != 0) & ~against]),
    ).corrected


def _share(has: NDArray[np.bool_]) -> float:
    return float(has.mean()) if len(has) else 0.0


def _class(
    number: int,
    name: str,
    has: NDArray[np.bool_],
    label: NDArray[Any],
    right: NDArray[np.bool_],
    signs: NDArray[np.int8],
) -> ClassInContext:
    own = label == number
    n, having = int(own.sum()), int((own & has).sum())
    return ClassInContext(
        label=name,
        role=_ROLES[int(signs[number])],
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
