"""Whether a gap by declared contexts is reliance on them, or contexts that are harder for every class."""

from dataclasses import dataclass
from typing import Annotated, Literal

from oochub.records.report_records import SHOWN
from oochub.records.schema import Count, Share, ShareEstimate
from oochub.stats.estimate import Estimate

Difficulty = Literal["harder for all", "easier for all", "not shown", "too few"]


@dataclass(frozen=True, kw_only=True)
class DeclaredContext:
    """One context of the data, beside all others.

    Attributes:
        name: Its name.
        n: Rows in it.
        accuracy: Accuracy in it.
        having: Accuracy in it minus that of the same classes elsewhere, class by class (Mantel and Haenszel).
        alike_p_value: p-value of no such effect on the classes for which it is usual, or of none on the others: the
            larger of two, corrected over the contexts (Holm); None where it could not be tested.
        status: "harder for all" or "easier for all" if that is at most 5%, "not shown" if more, "too few" if no class
            could be tested.
    """

    name: str
    n: Count
    accuracy: ShareEstimate
    having: Estimate
    alike_p_value: Share | None
    status: Difficulty


@dataclass(frozen=True, kw_only=True)
class Reliance:
    """The interaction of class and context on the rows of the evaluation split.

    Attributes:
        gap: Accuracy in unusual contexts minus that in usual ones, of one class in one context; nan with a reason where
            the rows do not tell. See `oochub.stats.effect_of_side`.
        log_odds: The logarithm of the ratio of odds of a right answer, usual over unusual, likewise.
        p_value: The p-value of no interaction; None where the rows do not tell.
        is_identified: Whether two classes share two contexts that differ in side for them.
        n_usual: Rows in contexts that are usual for their class.
        n_unusual: Rows in unusual ones.
        n_neither: Rows in contexts that are neither; they are on no side.
        contexts: The contexts, the hardest for all first.
        wanted: The groups, label/context, of which more rows would tell most.
    """

    gap: Estimate
    log_odds: Estimate
    p_value: Share | None
    is_identified: bool
    n_usual: Count
    n_unusual: Count
    n_neither: Count
    contexts: Annotated[tuple[DeclaredContext, ...], SHOWN]
    wanted: tuple[str, ...]

    @property
    def has_sides(self) -> bool:
        """Whether a row is in a context that is usual or unusual for its class."""
        return self.n_usual + self.n_unusual > 0
