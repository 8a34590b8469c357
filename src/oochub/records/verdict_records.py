"""What a verdict is: its case, its sentences, its three facts."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

Case = Literal["failed", "too_few", "relies", "slight", "no_effect", "reversed", "unclear", "detection"]


class Fact(NamedTuple):
    """One of the three facts below the headline.

    Attributes:
        title: The question.
        answer: The answer, printed bold.
        detail: What follows it, with its own leading space or punctuation; may be empty.
    """

    title: str
    answer: str
    detail: str

    @property
    def text(self) -> str:
        """The fact in one line of plain text."""
        return f"{self.title}: {self.answer}{self.detail}"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What the numbers of a report allow to be said.

    Attributes:
        case: The row of the table of cases that fits first.
        headline: The sentence that answers whether the model relies on context.
        rest: What must be said with it; empty in most cases.
        lead: Both sides in whole numbers, for a reader who does not know the metric.
        how_much: The gap with its interval.
        on_what: The context, or the groups that fall most.
        how_sure: What the interval says and covers.
    """

    case: Case
    headline: str
    rest: str
    lead: str
    how_much: Fact
    on_what: Fact
    how_sure: Fact

    @property
    def sentence(self) -> str:
        """Headline and rest: the first line of every rendering."""
        return f"{self.headline} {self.rest}".strip()

    @property
    def facts(self) -> tuple[Fact, Fact, Fact]:
        """The three facts in their order."""
        return self.how_much, self.on_what, self.how_sure

    @property
    def is_shown(self) -> bool:
        """False where the data do not settle the question: charts then draw hollow marks."""
        return self.case not in ("failed", "too_few", "unclear", "detection")

    @property
    def is_of_sides(self) -> bool:
        """False where there is no second side, and the verdict is on what detectors tell apart."""
        return self.case != "detection"
