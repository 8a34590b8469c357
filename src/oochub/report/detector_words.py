"""What a report says of its detectors in words: closed templates, and nothing that the paired tests do not carry.

The questions are those of ImageNet-OOD, Section 4.3: which detector finds new classes best, and does any find failures
better than MSP.
"""

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

from oochub.records.finding_records import DetectionRow, DetectorDifference, ProbeRow
from oochub.report import numbers, wording
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import holm

if TYPE_CHECKING:
    from oochub.report.report import Report

NEW_CLASS, FAILURE = "auroc_new_class", "auroc_failure"
_BASELINE = "msp"
_LEVEL = 0.05
_LISTED = 4  # names in one sentence

Row = TypeVar("Row", DetectionRow, ProbeRow)


class PairRows(NamedTuple, Generic[Row]):
    """The rows of a report's `detection` or `probes` that are of one pair of sets."""

    id_set: str
    ood_set: str
    rows: Sequence[Row]

    def title(self, between: str, limit: int = 60) -> str:
        """The pair in print.

        >>> PairRows("imagenet_1k", "imagenet_ood", []).title(" against ")
        'imagenet_1k against imagenet_ood'
        """
        return f"{wording.name(self.id_set, limit)}{between}{wording.name(self.ood_set, limit)}"


def detection_pairs(report: "Report") -> list[PairRows[DetectionRow]]:
    """The rows by pair, pairs in order of appearance, detectors by their new-class AUROC, best first, n/a last."""
    return [pair._replace(rows=sorted(pair.rows, key=_order)) for pair in _by_pair(report.detection or ())]


def probe_pairs(report: "Report") -> list[PairRows[ProbeRow]]:
    """The probes by pair, in order of appearance."""
    return _by_pair(report.probes or ())


def goal_estimate(row: DetectionRow, goal: str) -> Estimate:
    """The AUROC of a detector for a goal; nan where it was not evaluated."""
    return row.metrics.get(goal, Estimate(math.nan, n=0, method="none", reason="not evaluated"))


def new_class_words(rows: Sequence[DetectionRow]) -> str:
    """Which detector finds new classes best: it leads only if the test against each other one says so (Bonferroni).

    Bonferroni, and not Holm, since the leader is chosen by the same data.

    Args:
        rows: Of one pair.

    >>> from oochub.stats.estimate import Estimate
    >>> auroc = Estimate(0.8, low=0.7, high=0.9, n=300, method="delong")
    >>> row = DetectionRow(detector="msp", id_set="a", ood_set="b", n_id=200, n_ood=100, n_incorrect=20,
    ...                    metrics={"auroc_new_class": auroc})
    >>> new_class_words([row])
    'New classes: msp has AUROC 80.0.'
    """
    estimates = {row.detector: goal_estimate(row, NEW_CLASS) for row in rows}
    known = {detector: auroc for detector, auroc in estimates.items() if not numbers.is_undefined(auroc)}
    if not known:
        return f"New classes: n/a, {wording.name(goal_estimate(rows[0], NEW_CLASS).reason or 'no value')}."
    best = max(known, key=lambda detector: known[detector])
    value, name = numbers.fraction(known[best]), _name(best)
    if len(known) == 1:
        return f"New classes: {name} has AUROC {value}."
    tests = {row.detector: row.against_best.get(NEW_CLASS) for row in rows if row.detector in known}
    tests.pop(best)
    if any(test is None for test in tests.values()):
        return f"New classes: {name} has the highest AUROC, {value}; the differences were not tested."
    undecided = [detector for detector, test in tests.items() if not _is_below(test, _LEVEL / len(tests))]
    if not undecided:
        return f"New classes: {name} leads with AUROC {value}, above every other detector."
    others = _names(undecided, "or")
    return f"New classes: {name} has the highest AUROC, {value}, but no difference from {others} is shown."


def failure_words(rows: Sequence[DetectionRow]) -> str:
    """Whether any detector finds failures better than MSP (Holm over the detectors); "" where MSP is alone or absent.

    Args:
        rows: Of one pair.
    """
    compared = {row.detector: row.against_msp.get(FAILURE) for row in rows if row.detector != _BASELINE}
    tests = {key: test for key, test in compared.items() if test and not numbers.is_undefined(test.estimate)}
    if not tests:
        return ""
    clear = holm([test.p_value for test in tests.values()], level=_LEVEL)
    shown = {key: test.estimate > 0 for (key, test), is_clear in zip(tests.items(), clear, strict=True) if is_clear}
    better, worse = ([key for key, is_above in shown.items() if is_above is side] for side in (True, False))
    if better:
        also = f"; {_names(worse)} {_is(worse)} worse" if worse else ""
        return f"Failures: {_names(better)} {'beat' if len(better) > 1 else 'beats'} msp{also}."
    if len(worse) == len(tests):
        every = "every other detector" if len(worse) > 1 else _names(worse)
        return f"Failures: msp is shown to be better than {every}."
    if worse:
        return f"Failures: no detector is shown to beat msp; {_names(worse)} {_is(worse)} worse."
    return "Failures: no difference from msp is shown."


def findings(rows: Sequence[DetectionRow]) -> list[str]:
    """Both sentences of a pair; that on failures only where there is one."""
    return [sentence for sentence in (new_class_words(rows), failure_words(rows)) if sentence]


def among_the_best(rows: Sequence[DetectionRow], goal: str) -> set[str]:
    """The detectors that print in bold: the best of a goal, and those not shown to be below it (Bonferroni).

    Args:
        rows: Of one pair.
        goal: "auroc_new_class" or "auroc_failure".
    """
    known = [row for row in rows if not numbers.is_undefined(goal_estimate(row, goal))]
    if not known:
        return set()
    highest = max(goal_estimate(row, goal) for row in known)
    tests = {row.detector: row.against_best.get(goal) for row in known}
    level = _LEVEL / max(len(known) - 1, 1)
    together = {detector for detector, test in tests.items() if test and not _is_below(test, level)}
    return together | {row.detector for row in known if goal_estimate(row, goal) == highest}


def counts_words(rows: Sequence[DetectionRow]) -> str:
    """How many rows stand behind a pair, what an answer may be, and what approximate searches found.

    Args:
        rows: Of one pair.
    """
    row = rows[0]
    rule = ""
    if row.classes is not None and row.classes.rule != "all":
        rule = f" An answer is one of the {numbers.count(row.classes.n)} classes present."
    wrong = f"{numbers.count(row.n_incorrect)} of them answered wrong"
    found = [
        f" {_name(each.detector)} found {numbers.fraction(each.recall.share)}% of the exact k nearest on "
        f"{numbers.count(each.recall.queries)} queries."
        for each in rows
        if each.recall
    ]
    return "".join(
        [f"{numbers.count(row.n_id)} in distribution, {wrong}; {numbers.count(row.n_ood)} out of it.{rule}", *found]
    )


def probe_words(rows: Sequence[ProbeRow]) -> str:
    """Which detectors a zoom that changes no answer moves further down than MSP, by the interval of the difference.

    Args:
        rows: Of one pair.
    """
    first, kept = rows[0], f"{numbers.count(rows[0].n_kept)} of {numbers.count(rows[0].n_correct)}"
    factor = "" if first.factor is None else f" of {first.factor:g}"
    start = f"After a zoom{factor}, {kept} right answers stay as they were"
    tests = {row.detector: row.beyond_msp for row in rows if row.beyond_msp is not None}
    if all(numbers.is_undefined(test.high) for test in tests.values()):
        return f"{start}."
    falls = [detector for detector, test in tests.items() if test.high < 0]
    among = f"among the scores of {wording.name(first.ood_set, 60)}"
    if falls:
        return f"{start}; {among} {_names(falls)} {'fall' if len(falls) > 1 else 'falls'} further than msp."
    return f"{start}; {among} no detector is shown to fall further than msp."


def _by_pair(rows: Iterable[Row]) -> list[PairRows[Row]]:
    pairs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        pairs.setdefault((row.id_set, row.ood_set), []).append(row)
    return [PairRows(*sets, several) for sets, several in pairs.items()]


def _order(row: DetectionRow) -> tuple[bool, float]:
    value = goal_estimate(row, NEW_CLASS)
    return (True, 0.0) if numbers.is_undefined(value) else (False, -value)


def _is_below(test: DetectorDifference | None, level: float) -> bool:
    return test is not None and test.estimate < 0 and test.p_value <= level


def _name(detector: str) -> str:
    return wording.name(detector, 60)


def _names(detectors: Sequence[str], last: str = "and") -> str:
    shown = [_name(detector) for detector in detectors[:_LISTED]]
    if len(detectors) > _LISTED:
        shown = [*shown[: _LISTED - 1], f"{len(detectors) - _LISTED + 1} others"]
    return wording.listed(shown, last)


def _is(detectors: Sequence[str]) -> str:
    return "are" if len(detectors) > 1 else "is"
