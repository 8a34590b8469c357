"""What a model says when a picture's object or background is taken away or exchanged."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from oochub.records.schema import AtMost, Bounds, Count, Share, ShareEstimate, optional
from oochub.stats.estimate import Estimate

Variant = Literal["original", "object_alone", "background_alone", "mixed_same", "mixed_rand"]


@dataclass(frozen=True, kw_only=True)
class VariantRow:
    """The answers to one kind of altered pictures.

    Attributes:
        name: "object_alone" is the object on gray, "background_alone" the picture with the object filled by tiles of
            background, "mixed_same" the object on the background of another row of its class, "mixed_rand" on that of
            a row of another class.
        accuracy: How often the answer is the row's class; of "background_alone" that class is not in the picture.
        accuracy_change: Less that of the same rows as they are, paired; None for "original".
        log_odds: The mean change of the log-odds of the row's class, its logit less the log of the summed exponentials
            of the others; paired; None for "original".
        logit: The mean change of the logit of the row's class; paired. All logits of a picture may move together,
            which changes no answer: the log-odds say what the answer goes by.
    """

    name: Variant
    accuracy: ShareEstimate
    accuracy_change: Annotated[Estimate, Bounds(-1, 1)] | None = optional()
    log_odds: Estimate | None = optional()
    logit: Estimate | None = optional()


@dataclass(frozen=True, kw_only=True)
class ProbedPicture:
    """One picture of the row that is shown.

    Attributes:
        name: Of the variant.
        answer: What the model answered.
        probability: Of the row's class.
        image: A small JPEG in base64.
    """

    name: Variant
    answer: str
    probability: Share
    image: str


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """The row whose pictures are shown: its change on the background of another class is the nearest to the mean.

    Attributes:
        example_id: Its id.
        label: Its class.
        attributions: Source and license of its picture, and of those that lent a background.
        pictures: As it is, and altered.
    """

    example_id: str
    label: str
    attributions: tuple[str, ...] = optional(())
    pictures: Annotated[tuple[ProbedPicture, ...], AtMost(5)]


@dataclass(frozen=True, kw_only=True)
class BackgroundProbe:
    """Rows whose object or background was taken away or exchanged.

    Attributes:
        area: What says where the object is.
        split: Of the rows.
        lenders: Whose backgrounds the mixed pictures have: of "all" rows, or of those "in_context" alone where the
            data tell them, since a class has its usual background there.
        n_lenders: How many rows lent one. Intervals hold for other rows and other backgrounds of the kind; in a report
            of before for these backgrounds alone.
        thing: What a task of two classes asks for: its rows alone are altered; None where all rows are.
        n: Rows that were altered.
        left_out: Rows that were not, by the reason.
        variants: The rows as they are, and each way in which they were altered.
        gap: How much more often the answer is the row's class on a background of that class than on one of another
            class ("BG gap"), over rows that have both; paired.
        gap_log_odds: The same of the log-odds.
        shown: One row as an example; None without pictures.
        seed: Of the rows and backgrounds that were drawn.
        most: How many rows were to be altered at most.
        options: The options of `oochub audit` that ask for it, paths by their last part; None in a report of before.
    """

    area: str
    split: str
    lenders: Literal["all", "in_context"]
    n_lenders: Count
    thing: str | None = optional()
    n: Count
    left_out: Mapping[str, Count]
    variants: Annotated[tuple[VariantRow, ...], AtMost(5)]
    gap: Annotated[Estimate, Bounds(-1, 1)]
    gap_log_odds: Estimate
    shown: ShownRow | None = optional()
    seed: Count
    most: Count
    options: tuple[str, ...] | None = optional()

    def variant(self, name: Variant) -> VariantRow:
        """The numbers of a variant."""
        return next(each for each in self.variants if each.name == name)

    def estimates(self) -> dict[str, Estimate]:
        """Every number by name: "background_gap", "background/mixed_rand/accuracy", ..."""
        found = {"background_gap": self.gap, "background_gap/log_odds": self.gap_log_odds}
        for each in self.variants:
            parts = {
                "accuracy": each.accuracy,
                "accuracy_change": each.accuracy_change,
                "log_odds": each.log_odds,
                "logit": each.logit,
            }
            found |= {f"background/{each.name}/{key}": value for key, value in parts.items() if value is not None}
        return found
