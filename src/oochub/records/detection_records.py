"""The parts of a report on detectors: each detector on each pair of sets, and how far a zoom moves its scores."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from oochub.records.schema import Count, Share, ShareEstimate, optional
from oochub.stats.estimate import Estimate


@dataclass(frozen=True, kw_only=True)
class AllowedClasses:
    """What an answer may be: `rule` "all" or "present", and of how many classes."""

    rule: str
    n: Count


@dataclass(frozen=True, kw_only=True)
class DetectorDifference:
    """The AUROC of a detector minus that of `other` on the same rows; DeLong's paired test, two-sided, uncorrected."""

    estimate: Estimate
    p_value: Share
    other: str


@dataclass(frozen=True, kw_only=True)
class Recall:
    """Of the nearest training rows of `queries` rows, the share that an approximate search found."""

    share: Share
    queries: Count


@dataclass(frozen=True, kw_only=True)
class DetectionRow:
    """One detector on one pair of sets.

    Attributes:
        detector: Its key: its name and the hyperparameters that differ from their defaults.
        hyperparameters: All of them.
        id_set: The set in distribution.
        ood_set: The set out of distribution.
        n_id: Rows in distribution.
        n_ood: Rows out of distribution.
        n_incorrect: Rows in distribution that the classifier gets wrong.
        metrics: By name: auroc_new_class, auroc_failure, "ood_breakdown.…", ...
        against_best: By goal, the difference to the best detector of the pair; not for the best itself.
        against_msp: By goal, the difference to MSP.
        classes: What "correct" is.
        recall: Of an approximate search among the training rows; None where it is exact.
    """

    detector: str
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    id_set: str
    ood_set: str
    n_id: Count
    n_ood: Count
    n_incorrect: Count
    metrics: Mapping[str, Estimate]
    against_best: Mapping[str, DetectorDifference] = field(default_factory=dict)
    against_msp: Mapping[str, DetectorDifference] = field(default_factory=dict)
    classes: AllowedClasses | None = optional()
    recall: Recall | None = optional()


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """How far a zoom moves the scores of one detector among those of the set out of distribution.

    Attributes:
        probe: "zoom".
        factor: Of the zoom.
        detector: See `DetectionRow`.
        id_set: See `DetectionRow`.
        ood_set: See `DetectionRow`.
        n_correct: Rows in distribution that the classifier gets right.
        n_kept: Those of them that keep their answer.
        n_ood: Rows out of distribution.
        before: Mean share of the scores out of distribution below those of the pictures, in [0, 1].
        after: The same of the zoomed pictures.
        change: `after` minus `before`.
        beyond_msp: The change less that of MSP; None for MSP itself, or without it.
    """

    probe: str
    factor: float | None
    detector: str
    id_set: str
    ood_set: str
    n_correct: Count
    n_kept: Count
    n_ood: Count
    before: ShareEstimate
    after: ShareEstimate
    change: Estimate
    beyond_msp: Estimate | None
