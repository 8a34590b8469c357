"""The parts of a comparison of two models on the same rows: one frozen dataclass for each."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from oochub.records.records import Mistake, Role
from oochub.records.schema import Count, Share
from oochub.stats.estimate import Estimate

Model = Literal["first", "second"]


@dataclass(frozen=True, kw_only=True)
class ComparedNumber:
    """One number of both models on the same rows.

    Attributes:
        first: Of the first model.
        second: Of the second.
        difference: Second minus first, with a paired interval.
        p_value: That they do not differ, two-sided; nan where there is none.
        test: How it was found: "exact McNemar", "paired DeLong", "by its interval", ...
        is_clear: Whether the difference holds among all of its table together (Holm, 5%).
    """

    first: Estimate
    second: Estimate
    difference: Estimate
    p_value: float
    test: str
    is_clear: bool = False


@dataclass(frozen=True, kw_only=True)
class ComparedRows:
    """The numbers of both models on some rows: a slice of the benchmark, or a group.

    Attributes:
        name: Its key, as in a report: "all", "out_of_context", or the name of a group.
        role: What the rows are to the comparison; None for a group where there are no sides.
        title: What they are in the benchmark's words.
        split: The split that they are of.
        n: How many.
        numbers: By metric.
        only_first: Rows that the first model alone answers right; None for a kind of output without right and wrong.
        only_second: Rows that the second alone answers right.
    """

    name: str
    role: Role | None
    title: str
    split: str
    n: Count
    numbers: Mapping[str, ComparedNumber]
    only_first: Count | None
    only_second: Count | None


@dataclass(frozen=True, kw_only=True)
class Flip:
    """A row that one of the two models answers right and the other wrong.

    Attributes:
        right: Which model is right.
        change: The probability that it gives the truth minus that of the other; below 0 where it is right and less
            sure.
        probability: What the right one gives it.
        mistake: The other one's answer, with the row's id, picture and context.
    """

    right: Model
    change: float
    probability: Share
    mistake: Mistake
