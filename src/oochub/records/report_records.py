"""The measured parts of a report: one frozen dataclass for each, from the evaluation to the page.

`docs/report.md` describes the JSON that `oochub.records.schema` makes of them. Shares and probabilities are in [0, 1];
an `Estimate` carries its interval, its n and the reason why it is nan. The parts of a comparison of two models on the
same rows and the verdict (its case, its sentences, its three facts) stand last; what a report found of contexts,
backgrounds, errors and detectors stands in `oochub.records.finding_records`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal, NamedTuple

from oochub.metric import MetricFacts
from oochub.records.schema import ShareEstimate, optional
from oochub.records.typed_values import Count, Length, Share
from oochub.stats.estimate import Estimate

SHOWN = Length(most=5_000)
"""How many rows of one kind a report holds; a terminal shows so many in seconds."""
Side = Literal["in", "out"]
Role = Literal["all", "in", "out", "hard_positive", "hard_negative", "split"]


@dataclass(frozen=True, kw_only=True)
class ChosenGroup:
    """The group that a worst value is of, and among how many it was the worst."""

    name: str
    among: Count


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Every metric on some rows of one split.

    Attributes:
        name: Its key: "all", "in_context", "out_of_context", "hard_positive", "hard_negative", or the split's name.
        role: What the rows are to the comparison.
        title: What they are in the benchmark's words.
        split: The split that they are of.
        n: How many they are.
        n_positive: For a binary task, how many show the object.
        metrics: Metrics by name; "worst_group.nll" is one number of a metric that gives several.
        examples: A hash of the rows' ids and labels: equal where two reports are of the same rows.
        worst_groups: The groups that the numbers of worst_group are of, by their names in `metrics`.
        none_of_them: How many answers are none of the classes, each counted as wrong; None for a kind of output whose
            answers always are a class, and for a side that is a statistic over groups.
    """

    name: str
    role: Role
    title: str
    split: str
    n: Count
    n_positive: Count | None
    metrics: Mapping[str, Estimate]
    examples: str | None = optional()
    worst_groups: Mapping[str, ChosenGroup] | None = optional()
    none_of_them: Count | None = optional()


@dataclass(frozen=True, kw_only=True)
class MetricDescription:
    """What a metric's numbers mean: its title, unit, bounds (None for no bound), and which direction is better."""

    title: str
    direction: str
    unit: str
    minimum: float | None
    maximum: float | None

    @classmethod
    def of(cls, facts: MetricFacts) -> "MetricDescription":
        """What a metric's file says of it."""
        return cls(
            title=facts.title,
            direction=facts.direction,
            unit=facts.unit,
            minimum=facts.minimum,
            maximum=facts.maximum,
        )


@dataclass(frozen=True, kw_only=True)
class SidePairs:
    """What has rows on both sides, by which the difference of the sides is one of pairs.

    Attributes:
        column: Column that names it, such as the foreground.
        both: Number of its values with rows on both sides.
        only_in: Number of values with rows in context alone; these rows count unpaired.
        only_out: Number of values with rows out of context alone; these rows count unpaired.
        correlation: Correlation of the two numbers that comes of it, in [-1, 1].
    """

    column: str
    both: Count
    only_in: Count
    only_out: Count
    correlation: float


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The primary metric out of context minus in context.

    Attributes:
        metric: Name of the metric.
        estimate: The difference with its interval.
        n_in: Rows in context.
        n_out: Rows out of context.
        n_out_smallest: Rows of the smallest part out of context: hard positives or hard negatives.
        pairs: What has rows on both sides; None if nothing has.
    """

    metric: str
    estimate: Estimate
    n_in: Count
    n_out: Count
    n_out_smallest: Count
    pairs: SidePairs | None = optional()


@dataclass(frozen=True, kw_only=True)
class Stratum:
    """The rows of one label between two values of the column that the sides were matched on.

    Attributes:
        label: The class number.
        low: Smallest value in it.
        high: Largest value in it.
        n_in: Rows in context.
        n_out: Rows out of context.
        mean_in: Mean of the column in context, nan without rows.
        mean_out: Mean of the column out of context, nan without rows.
    """

    label: int
    low: float
    high: float
    n_in: Count
    n_out: Count
    mean_in: float
    mean_out: float

    @property
    def kept(self) -> bool:
        """True where both sides have rows."""
        return self.n_in > 0 and self.n_out > 0


@dataclass(frozen=True, kw_only=True)
class MatchedGap:
    """A metric out of context minus in context, at equal values of a column.

    Attributes:
        column: The column.
        metric: Name of the metric.
        n_in: Rows in context.
        n_out: Rows out of context.
        share_out: Share of the rows out of context that have a counterpart in context.
        estimate: The difference with its interval.
        strata: The strata, by label and value.
    """

    column: str
    metric: str
    n_in: Count
    n_out: Count
    share_out: Share
    estimate: Estimate
    strata: tuple[Stratum, ...]


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """One group on one side of the comparison.

    Attributes:
        group: Name of the group.
        label: The label that it is of.
        context: The context that it is of.
        split: The split of its rows.
        role: Its side; None where there are no sides.
        trained: Whether the training split has it; None if unknown.
        n: Rows.
        accuracy: Share of right answers.
        error_rate: Share of wrong answers.
        nll: Mean negative log likelihood, in nats.
        metrics: Metrics of other kinds of output, by name; None without them.
        drop_p_value: Out of context: p-value of no difference in accuracy to all rows of this label in context, with
            the clusters of the rows; 1 where they are too few for a test, None where there is nothing to compare with.
    """

    group: str
    label: str
    context: str
    split: str
    role: Side | None
    trained: bool | None
    n: Count
    accuracy: ShareEstimate | None = optional()
    error_rate: ShareEstimate | None = optional()
    nll: Estimate | None = optional()
    metrics: Mapping[str, Estimate] | None = optional()
    drop_p_value: Share | None = optional()

    @property
    def headline(self) -> tuple[str, Estimate] | None:
        """The metric by which groups are told apart, with its name: the error, else the first of the kind's own."""
        if self.error_rate is not None:
            return "error_rate", self.error_rate
        return next(iter((self.metrics or {}).items()), None)


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The groups of the evaluation split, on each side: what they are made of, and a row for each.

    Attributes:
        columns: What a group is made of.
        split: The evaluation split.
        rows: The groups; of thousands those that are worst and best by their first metric.
        left_out: Number of the others. They are part of every number over groups, such as the worst one.
    """

    columns: tuple[str, ...]
    split: str
    rows: Annotated[tuple[GroupRow, ...], SHOWN]
    left_out: Count = optional(0)


@dataclass(frozen=True, kw_only=True)
class WorstValue:
    """The worst value of a metric over the groups, with the group that has it; the interval is simultaneous."""

    estimate: Estimate
    group: str


@dataclass(frozen=True, kw_only=True)
class ConfidenceBin:
    """Rows whose confidence is in (low, high]: how confident the model is, and how often it is right (Wilson 95%)."""

    low: Share
    high: Share
    n: Count
    confidence: Share
    accuracy: Share
    accuracy_low: Share
    accuracy_high: Share


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Confidence against accuracy on one side.

    Attributes:
        bins: The bins of confidence that have rows.
        ece: The expected calibration error.
        mean_confidence: Mean confidence over all rows.
        accuracy: Accuracy over all rows.
        overconfidence: Mean confidence minus accuracy.
        groups: For a side that is its worst group, how many rows of which group were measured. A group that is worst on
            one half of the rows is measured on the other, each half in turn. None for any other side.
    """

    bins: tuple[ConfidenceBin, ...]
    ece: ShareEstimate
    mean_confidence: Share
    accuracy: Share
    overconfidence: Estimate
    groups: Mapping[str, Count] | None = optional()


Box = tuple[float, float, float, float]
"""x1, y1, x2, y2 in pixels."""


@dataclass(frozen=True, kw_only=True)
class BoxesInPicture:
    """The boxes of one image.

    Attributes:
        width: Width of the image whose pixels the boxes count; the one that is shown may be smaller.
        height: Height of the same image.
        true: Boxes that are there.
        answered: Boxes that the model drew.
    """

    width: Count
    height: Count
    true: Annotated[tuple[Box, ...], SHOWN]
    answered: Annotated[tuple[Box, ...], SHOWN]


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One of the worst rows, as a reader sees it.

    Attributes:
        example_id: Id of the row.
        split: Split of the row.
        role: Side of the row; None if no row is out of context, or if the row is of neither side.
        label: What is true, in words.
        predicted: What the model answered, in words.
        probability: Probability that the model gave its answer; nan if its kind of output has none.
        loss: How wrong it is: negative log likelihood in nats, or the kind's own measure.
        kind: "missed", "false_alarm", "confused", "no_class", or the kind of output's own word.
        context: Context of the row, in words.
        group: Group of the row.
        challenge: Easy or hard by the benchmark's criterion.
        image: A small JPEG in base64; None for rows without an image.
        attribution: Source and license of the image.
        text: Text of the row, if it is one.
        boxes: Boxes of the image, if the answers are boxes and the image's size is known.
        wrote: What the model wrote, if it answers in its own words.
    """

    example_id: str
    split: str
    role: Side | None
    label: str
    predicted: str
    probability: Share
    loss: float
    kind: str
    context: str
    group: str | None
    challenge: str | None
    image: str | None
    attribution: str | None
    text: str | None = optional()
    boxes: BoxesInPicture | None = optional()
    wrote: str | None = optional()


ComparedModel = Literal["first", "second"]


@dataclass(frozen=True, kw_only=True)
class ComparedNumber:
    """One number of both models on the same rows.

    Attributes:
        first: Number of the first model.
        second: Number of the second model.
        difference: Second minus first, with a paired interval.
        p_value: p-value of no difference, two-sided; nan where there is none.
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
        n: Number of rows.
        numbers: Numbers by metric.
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
        probability: Probability that the right one gives the truth.
        mistake: The other one's answer, with the row's id, image and context.
    """

    right: ComparedModel
    change: float
    probability: Share
    mistake: Mistake


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


class Compared(NamedTuple):
    """Two numbers that a verdict compares, if they are not those of the benchmark's sides.

    Attributes:
        metric: What both are, as the head of a column.
        titles: What each is of.
        estimates: Each number, in [0, 1].
        gap_title: Title of their difference.
        gap: The difference.
    """

    metric: str
    titles: Mapping[Side, str]
    estimates: Mapping[Side, Estimate]
    gap_title: str
    gap: Estimate


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
        is_of_sides: False if there is no second side: the verdict is on what detectors or backgrounds tell apart.
        compared: The two numbers that it compares, if they are not those of the sides.
    """

    case: Case
    headline: str
    rest: str
    lead: str
    how_much: Fact
    on_what: Fact
    how_sure: Fact
    is_of_sides: bool = True
    compared: Compared | None = None

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
