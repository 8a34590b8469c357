"""Rows that were chosen, and the rule of their choice tested on rows that nobody had looked at."""

from dataclasses import dataclass
from typing import Literal

from oochub.records.schema import Count, Share, ShareEstimate, optional
from oochub.stats.estimate import Estimate

SELECTION = "chosen_rows"
"""The name of the section, and of its record in `report.findings`."""
_LEVEL = 0.05


@dataclass(frozen=True, kw_only=True)
class TestedRule:
    """The rule by which rows were chosen, on rows that were not looked at.

    Attributes:
        unseen: "half" if the rows are the half that the page kept back, "others" if they are of other data.
        by: The column whose values were hashed to keep a half back; "" for other data.
        left_out: Conditions on the outcome, which are not applied because the test measures it: "outcome is wrong".
        n_rule: Number of rows that the rule holds for.
        n_others: Number of the other rows.
        accuracy_rule: Share of right answers on the rows that the rule holds for.
        accuracy_others: The same for the others.
        difference: Accuracy by the rule minus that of the others.
        p_value: p-value of no difference, two-sided, with the clusters of the rows; nan if the rows are too few.
    """

    __test__ = False  # it is no class of tests

    unseen: Literal["half", "others"]
    by: str
    left_out: tuple[str, ...]
    n_rule: Count
    n_others: Count
    accuracy_rule: ShareEstimate
    accuracy_others: ShareEstimate
    difference: Estimate
    p_value: Share

    @property
    def is_clear(self) -> bool:
        """Whether the difference is more than chance at 5%; False if the rows are too few for a test."""
        return self.p_value <= _LEVEL


@dataclass(frozen=True, kw_only=True)
class ChosenRows:
    """The rows that a report is of, when they are not all rows of its predictions.

    Attributes:
        file: Name of the file that names the rows.
        rule: The rule of their choice, in words; "" if the file says none.
        n: Number of rows that are scored.
        among: Number of rows that they were chosen from.
        digest: The first 16 digits of the SHA-256 of their sorted lines "SPLIT<tab>EXAMPLE_ID".
        tested: What the rule comes to on rows that were not looked at; None if the named rows themselves are scored.
    """

    file: str
    rule: str
    n: Count
    among: Count
    digest: str
    tested: TestedRule | None = optional()
