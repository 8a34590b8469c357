"""Whether contexts that nobody labelled matter: rows as usual and against, where nothing was chosen.

Rows stand beside a finding as a page shows them.
"""

import base64
import io
import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluation_rows import EvaluationRows, make_mistake
from oochub.prediction.context_roles import RowsWithContexts
from oochub.records.build_record import ANNOTATED, COARSER, FEW_OF_CLASS
from oochub.records.finding_records import (
    PICTURED,
    ClassInContext,
    ContextFinding,
    ContextFindings,
    ContextRole,
    ContextRow,
    Status,
)
from oochub.stats.context_effects import EffectByRole, effect_by_role, gap_under_wrong_contexts
from oochub.stats.estimate import Estimate, Sampling
from oochub.stats.lift import lift, lift_over_all
from oochub.stats.mean_interval import mean_estimate
from oochub.stats.p_values import Correction, adjusted_p_values
from oochub.stats.stratified_gap import StratifiedGap, stratified_gap

_LEVEL = 0.05
_ROLES: Mapping[int, ContextRole] = {1: "usual", -1: "unusual", 0: "neither"}
_STATUS: tuple[Status, ...] = ("shown", "harder for all", "easier for all", "not shown", "no direction", "too few")
_ALIKE = 0.8  # adjusted Rand index from which clusters are nearly what the model answers


_EDGE = 96  # pixels of a longer side: fifty photographs take about 113 kB of a page


def find_context_effects(evaluated: EvaluationRows, correction: Correction = "holm") -> ContextFindings | None:
    """The contexts that `oochub.contexts` found, each with its gap, tested on the rows on which nothing was chosen.

    What is usual for a class was chosen on other rows, by the interval of the lift there. A tested row is as usual if
    it has a context that is usual for its class, or lacks one that is unusual; the other rows are against it. The gap
    is the accuracy against minus as usual, class by class. A gap is shown where two tests agree: there is one, and the
    context does not change the odds of a right answer alike in every class, as images do that are simply harder. The
    larger p-value of the two is corrected over all contexts that could be tested. A context that has an effect of one
    direction on the classes for which it is usual and on the others is named as harder, or easier.

    Contexts that people annotated have no role for a class: the gap of each is the accuracy of the rows with it minus
    that of the others, class by class, its p-value is corrected over all of them, and its error ratio is that of
    `lift_over_all`.

    Args:
        evaluated: The rows.
        correction: "holm" or "benjamini_hochberg".

    Returns:
        None for rows without such contexts, and for a kind of output without one class per row.

    Source: the criteria of Madras and Zemel, NOOCH, Section 2, for contexts that are found; Mantel and Haenszel 1959
        for gaps over classes.
    """
    tested = RowsWithContexts.of(evaluated.predictions)
    if tested is None:
        return None
    facts, answered = tested.facts, evaluated.columns["prediction"][tested.rows]
    right, sampling = tested.label == answered, Sampling(cluster=evaluated.cluster(tested.rows), **evaluated.sampling)
    if facts.way == ANNOTATED:
        return _find_factor_effects(tested, right, sampling, correction)
    tests = [measure_context(tested, number, right, sampling) for number in range(len(facts.names))]
    untold = _explain_untold(tested, answered)
    if untold is not None:
        nan, nothing = math.nan, Estimate(math.nan, n=0, method="none", reason=untold)
        tests = [
            ContextTests(
                replace(test.gap, estimate=nothing, p_value=nan, mean_with=nan, mean_against=nan, reason=untold),
                replace(test.effect, alike=nan, p_value=nan),
                test.having,
                nan,
            )
            for test in tests
        ]
    p_values = [test.p_value for test in tests]
    adjusted = adjusted_p_values(p_values, correction=correction)
    alike = adjusted_p_values([test.effect.alike for test in tests], correction=correction)
    findings = {
        number: _make_finding(tested, number, right, own, (p_value, same), sampling)
        for number, (own, p_value, same) in enumerate(zip(tests, adjusted, alike, strict=True))
    }
    order = sorted(
        findings, key=lambda number: (_STATUS.index(findings[number].status), _rank_gap(findings[number].gap))
    )
    pictured = [number for number in order if untold is None and tested.signs[number].any()][:PICTURED]
    for number in pictured:
        usual, against = (_make_shown_rows(evaluated, rows) for rows in tested.shown(number))
        findings[number] = replace(findings[number], rows_usual=usual, rows_against=against)
    if untold is not None:
        findings = {number: replace(finding, status="no direction") for number, finding in findings.items()}
    return ContextFindings(
        way=facts.way,
        model=facts.model,
        n_chosen=facts.chosen_rows,
        n_tested=len(tested.rows),
        correction=correction,
        level=_LEVEL,
        n_tests=sum(not math.isnan(p_value) for p_value in p_values),
        contexts=tuple(findings[number] for number in order),
    )


def _find_factor_effects(
    tested: RowsWithContexts, right: NDArray[np.bool_], sampling: Sampling, correction: Correction
) -> ContextFindings:
    """The contexts that people annotated, each against the other rows of its classes."""
    facts, label, cluster = tested.facts, tested.label, sampling.cluster
    gaps = [stratified_gap(right, has, label, cluster=cluster) for has in tested.has.T]
    adjusted = adjusted_p_values([gap.p_value for gap in gaps], correction=correction)
    rows = []
    for number, (gap, p_value) in enumerate(zip(gaps, adjusted, strict=True)):
        status: Status = "too few" if math.isnan(p_value) else "not shown"
        if p_value <= _LEVEL:
            status = "harder for all" if gap.estimate < 0 else "easier for all"
        has = tested.has[:, number]
        finding = ContextFinding(
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
            adjusted_p_value=p_value,
            reason=gap.reason,
            classes=(),
            having=gap.estimate,
            alike_p_value=None if math.isnan(p_value) else p_value,
            error_ratio=lift_over_all(~right, has, sampling),
        )
        rows.append(finding)
    return ContextFindings(
        way=facts.way,
        model=facts.model,
        n_chosen=0,
        n_tested=len(tested.rows),
        correction=correction,
        level=_LEVEL,
        n_tests=sum(not math.isnan(gap.p_value) for gap in gaps),
        contexts=tuple(sorted(rows, key=lambda each: (_STATUS.index(each.status), _rank_gap(each.gap)))),
    )


class ContextTests(NamedTuple):
    """What is tested of one context.

    Attributes:
        gap: The rows against over those as usual, of the classes for which the context is one of the two.
        effect: The rows with the context over those without it, of the classes for which it is usual and of the others.
        having: The same of all classes.
        p_value: The larger of two: of no gap, and of an effect that is alike in every class.
    """

    gap: StratifiedGap
    effect: EffectByRole
    having: StratifiedGap
    p_value: float


def measure_context(
    tested: RowsWithContexts, number: int, right: NDArray[np.bool_], sampling: Sampling
) -> ContextTests:
    """The gap of one context on some rows, and what says that it matters by its role for the class.

    Args:
        tested: The rows.
        number: Number of the context.
        right: Whether the answer to each row is right (t,).
        sampling: Clusters of the rows.
    """
    sides, label, has = tested.sides(number), tested.label, tested.has[:, number]
    rows = np.flatnonzero(sides)
    gap = stratified_gap(right[rows], sides[rows] < 0, label[rows], cluster=sampling.of_rows(rows).cluster)
    effect = effect_by_role(right, has, label, tested.signs[number][label], cluster=sampling.cluster)
    having = stratified_gap(right, has, label, cluster=sampling.cluster)
    is_one = effect.trend * gap.estimate < 0  # having it helps where it is usual, and rows against are worse
    p_value = max(gap.p_value, effect.p_value if is_one else 1.0)
    return ContextTests(gap, effect, having, math.nan if math.isnan(effect.p_value) else p_value)


def _explain_untold(tested: RowsWithContexts, answered: NDArray[Any]) -> str | None:
    """Why contexts say nothing of a direction: clusters of whole images by the model itself, or one that answers so.

    On the rim alone, a model sees little of what it is to tell apart: there its clusters are contexts.
    """
    facts, by = tested.facts, tested.predictions.metadata.model
    if facts.way != "clusters" or facts.settings.get("region") != "picture" or not len(tested.rows):
        return None
    if by.revision is not None and facts.settings.get("model") == by.revision:
        whose = "the clusters come from the model under audit"
    elif facts.settings.get("knows_classes"):
        whose = f"the clusters come from {facts.model}, which itself separates these classes"
    else:
        from sklearn.metrics import adjusted_rand_score

        alike = adjusted_rand_score(answered, tested.has.argmax(axis=1))
        if alike < _ALIKE:
            return None
        whose = f"the clusters nearly match the answers of the model (adjusted Rand index {alike:.2f})"
    return f"{whose}, so rows against the usual context may be its mistakes: look at the rim, or use another encoder"


def _make_finding(
    tested: RowsWithContexts,
    number: int,
    right: NDArray[np.bool_],
    tests: ContextTests,
    adjusted: tuple[float, float],
    sampling: Sampling,
) -> ContextFinding:
    facts, gap, (p_value, alike) = tested.facts, tests.gap, adjusted
    status: Status = "too few" if math.isnan(p_value) else "shown" if p_value <= _LEVEL else "not shown"
    if alike <= _LEVEL:
        status = "harder for all" if tests.having.estimate < 0 else "easier for all"
    reason = gap.reason or tests.effect.reason
    if status == "not shown" and gap.p_value <= _LEVEL < tests.effect.p_value:
        reason = "the errors of other classes do not separate the gap from that of images that are harder for all"
    check = (facts.checks or {}).get(facts.names[number])
    if not tested.signs[number].any():
        reason = "the context is neither usual nor unusual for any class on the rows that decide this"
        if np.median([*facts.class_rows.values(), FEW_OF_CLASS]) < FEW_OF_CLASS:
            reason += f": most classes have fewer than {FEW_OF_CLASS} of these. {COARSER}"
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
        p_value=tests.p_value,
        adjusted_p_value=p_value,
        having=tests.having.estimate,
        alike_p_value=None if math.isnan(alike) else alike,
        reason=reason,
        classes=tuple(
            _test_class(tested, number, k, right, sampling) for k in range(len(tested.predictions.class_names))
        ),
    )
    if check is None:
        return finding
    # what the gap may be, where labels are as often wrong as people found
    sides, has = tested.sides(number), tested.has[:, number]
    of_with, of_against = (float(has[rows].mean()) if rows.any() else 0.0 for rows in (sides < 0, sides > 0))
    wrong = gap_under_wrong_contexts(
        gap,
        wrong_having=(check.wrong_with, check.checked_with),
        wrong_lacking=(check.wrong_without, check.checked_without),
        having_of_with=of_with,
        having_of_against=of_against,
    )
    return replace(finding, check=check, bounds=wrong.corrected, shrinkage=wrong.shrinkage, worst_case=wrong.worst_case)


def _test_class(
    tested: RowsWithContexts, number: int, label: int, right: NDArray[np.bool_], sampling: Sampling
) -> ClassInContext:
    own, has = tested.label == label, tested.has[:, number]
    return ClassInContext(
        label=tested.predictions.class_names[label],
        role=_ROLES[int(tested.signs[number, label])],
        lift=lift(has, own, sampling),
        accuracy_with=_estimate_accuracy(right, own & has, sampling),
        accuracy_without=_estimate_accuracy(right, own & ~has, sampling),
    )


def _estimate_accuracy(right: NDArray[np.bool_], rows: NDArray[np.bool_], sampling: Sampling) -> Estimate:
    if not rows.any():
        return Estimate(math.nan, n=0, method="none", reason="no rows")
    return mean_estimate(right[rows].astype(np.float64), sampling.of_rows(rows))


def _rank_gap(gap: Estimate) -> float:
    return math.inf if math.isnan(gap) else float(gap)


def _make_shown_rows(evaluated: EvaluationRows, rows: Iterable[int]) -> tuple[ContextRow, ...]:
    """The rows of these numbers as a reader sees them, with a small image where the predictions have one."""
    shown = (make_mistake(int(row), evaluated, is_out=False) for row in rows)
    return tuple(
        ContextRow(
            example_id=row.example_id,
            split=row.split,
            label=row.label,
            predicted=row.predicted,
            image=None if row.image is None else _shrink_image(row.image, f"the small image of {row.example_id}"),
            attribution=row.attribution,
        )
        for row in shown
    )


def _shrink_image(image: str, where: str) -> str:
    from oochub.inputs.pictures.preprocessing import decode

    picture = decode(base64.b64decode(image), where)
    if max(picture.size) <= _EDGE:
        return image
    picture.thumbnail((_EDGE, _EDGE))
    file = io.BytesIO()
    picture.save(file, "JPEG", quality=75)
    return base64.b64encode(file.getvalue()).decode("ascii")
