"""What a report is made of: one frozen dataclass for each part, from the evaluation to the page.

`docs/report.md` describes the JSON that `oochub.schema` makes of them. Shares and probabilities are in [0, 1]; an
`Estimate` carries its interval, its n and the reason why it is nan.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from oochub.prediction.metadata import Training
from oochub.schema import optional
from oochub.sides import Form
from oochub.stats.estimate import Estimate
from oochub.vocabulary import Vocabulary

Side = Literal["in", "out"]
Role = Literal["all", "in", "out", "hard_positive", "hard_negative", "split"]


@dataclass(frozen=True, kw_only=True)
class License:
    """The licence of `what`: "images" or "labels"."""

    what: str
    license: str


@dataclass(frozen=True, kw_only=True)
class SideRows:
    """The rows of one side of the comparison.

    Attributes:
        name: What the rows are, in the benchmark's words ("easy").
        split: The split that they are of.
        where: Column name to allowed values; empty for the whole split.
        form: What of these rows is compared: the metric on all of them, on the worst of their groups, or a percentile
            of its values on their groups; see `oochub.sides`.
    """

    name: str
    split: str
    where: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Form = optional("rows")


@dataclass(frozen=True, kw_only=True)
class EvaluatedBenchmark:
    """The benchmark that a report is about, as its declaration says.

    Attributes:
        name: The name that `load_dataset` takes; a name of their own for a user's data.
        config: Its configuration.
        title: Its name in print.
        version: Version of its rows.
        summary: One sentence on what is out of context in it.
        homepage: Where the authors publish it.
        citation: BibTeX.
        licenses: Of pictures and labels.
        primary_metric: The metric of the gap.
        metric_direction: "higher" or "lower" is better.
        chance: The primary metric of guessing; nan where there is none.
        practical_gap: A gap smaller than this does not matter in practice.
        context_column: Column that holds the context.
        object: What is to be recognized, in a binary task.
        contexts: Its usual contexts.
        in_context: The rows on which context helps.
        out_of_context: The rows on which it misleads.
        words: What report, page and terminal call all this; neutral where a report does not say.
    """

    name: str
    config: str
    title: str
    version: str
    summary: str
    homepage: str
    citation: str
    licenses: tuple[License, ...]
    primary_metric: str
    metric_direction: str
    chance: float
    practical_gap: float
    context_column: str
    object: str | None
    contexts: tuple[str, ...]
    in_context: SideRows
    out_of_context: SideRows
    words: Vocabulary = optional(Vocabulary())


@dataclass(frozen=True, kw_only=True)
class EvaluatedModel:
    """The model that a report is about.

    Attributes:
        id: As typed; a folder by its name. None where nobody said.
        revision: Hash of the weights, or the commit on the Hub.
        mode: How its outputs were made: "head", "features", ...
        class_names: What it tells apart.
        objective: It was trained with; None for a model that was not trained here.
        seeds: Of its training.
    """

    id: str | None = None
    revision: str | None = None
    mode: str | None = None
    class_names: tuple[str, ...] = ()
    objective: str | None = None
    seeds: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Slice:
    """Every metric on some rows of one split.

    Attributes:
        name: Its key: "all", "in_context", "out_of_context", "hard_positive", "hard_negative", or the split's name.
        role: What the rows are to the comparison.
        title: What they are in the benchmark's words.
        split: The split that they are of.
        n: How many they are.
        n_positive: Of a binary task, how many show the object.
        metrics: By name; "worst_group.nll" is one number of a metric that gives several.
        examples: A hash of the rows' ids and labels: equal where two reports are of the same rows.
    """

    name: str
    role: Role
    title: str
    split: str
    n: int
    n_positive: int | None
    metrics: Mapping[str, Estimate]
    examples: str | None = optional()


@dataclass(frozen=True, kw_only=True)
class MetricDescription:
    """What a metric's numbers mean: its title, unit, bounds (None for no bound), and which direction is better."""

    title: str
    direction: str
    unit: str
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, kw_only=True)
class Gap:
    """The primary metric out of context minus in context.

    Attributes:
        metric: Its name.
        estimate: The difference with its interval.
        n_in: Rows in context.
        n_out: Rows out of context.
        n_out_smallest: Rows of the smallest part out of context: hard positives or hard negatives.
    """

    metric: str
    estimate: Estimate
    n_in: int
    n_out: int
    n_out_smallest: int


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
    n_in: int
    n_out: int
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
    n_in: int
    n_out: int
    share_out: float
    estimate: Estimate
    strata: tuple[Stratum, ...]


@dataclass(frozen=True, kw_only=True)
class GroupRow:
    """One group on one side of the comparison.

    Attributes:
        group: Its name.
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
    """

    group: str
    label: str
    context: str
    split: str
    role: Side | None
    trained: bool | None
    n: int
    accuracy: Estimate | None = optional()
    error_rate: Estimate | None = optional()
    nll: Estimate | None = optional()
    metrics: Mapping[str, Estimate] | None = optional()


@dataclass(frozen=True, kw_only=True)
class Groups:
    """The groups of the evaluation split, on each side: what they are made of, and a row for each."""

    columns: tuple[str, ...]
    split: str
    rows: tuple[GroupRow, ...]


@dataclass(frozen=True, kw_only=True)
class WorstValue:
    """The worst value of a metric over the groups, with the group that has it; the interval is simultaneous."""

    estimate: Estimate
    group: str


@dataclass(frozen=True, kw_only=True)
class ConfidenceBin:
    """Rows whose confidence is in (low, high]: how confident the model is, and how often it is right (Wilson 95%)."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float
    accuracy_low: float
    accuracy_high: float


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """Confidence against accuracy on one side.

    Attributes:
        bins: The bins of confidence that have rows.
        ece: The expected calibration error.
        mean_confidence: Over all rows.
        accuracy: Over all rows.
        overconfidence: Mean confidence minus accuracy.
    """

    bins: tuple[ConfidenceBin, ...]
    ece: Estimate
    mean_confidence: float
    accuracy: float
    overconfidence: Estimate


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One of the worst rows, as a reader sees it.

    Attributes:
        example_id: Its id.
        split: Its split.
        role: Its side.
        label: What is true, in words.
        predicted: What the model answered, in words.
        probability: That the model gave its answer; nan where its kind of output has none.
        loss: How wrong it is: negative log likelihood in nats, or the kind's own measure.
        kind: "missed", "false_alarm", "confused", or the kind of output's own word.
        context: Its context, in words.
        group: Its group.
        challenge: Easy or hard by the benchmark's criterion.
        image: A small JPEG in base64; None for rows without a picture.
        attribution: Source and licence of the picture.
        text: What the row reads, where it is a text.
    """

    example_id: str
    split: str
    role: Side
    label: str
    predicted: str
    probability: float
    loss: float
    kind: str
    context: str
    group: str | None
    challenge: str | None
    image: str | None
    attribution: str | None
    text: str | None = optional()


@dataclass(frozen=True, kw_only=True)
class AllowedClasses:
    """What an answer may be: `rule` "all" or "present", and of how many classes."""

    rule: str
    n: int


@dataclass(frozen=True, kw_only=True)
class DetectorDifference:
    """The AUROC of a detector minus that of `other` on the same rows; DeLong's paired test, two-sided, uncorrected."""

    estimate: Estimate
    p_value: float
    other: str


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
    """

    detector: str
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    id_set: str
    ood_set: str
    n_id: int
    n_ood: int
    n_incorrect: int
    metrics: Mapping[str, Estimate]
    against_best: Mapping[str, DetectorDifference] = field(default_factory=dict)
    against_msp: Mapping[str, DetectorDifference] = field(default_factory=dict)
    classes: AllowedClasses | None = optional()


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
    n_correct: int
    n_kept: int
    n_ood: int
    before: Estimate
    after: Estimate
    change: Estimate
    beyond_msp: Estimate | None


@dataclass(frozen=True, kw_only=True)
class PredictionsSource:
    """The predictions that were evaluated: file name, rows, the data's fingerprint, and a digest of what was said."""

    file: str
    rows: int
    fingerprint: str
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a report comes from; two equal runs differ in `when` and `where` alone.

    Attributes:
        oochub: Version of oochub.
        python: Version of Python.
        packages: Versions of the packages that matter.
        seed: Of the bootstrap.
        resamples: Of the bootstrap.
        predictions: What was evaluated.
        command: That makes the report again.
        training: How the model was trained; None if unknown.
        prediction: The provenance of the predictions.
        when: Times.
        where: Platform and device.
    """

    oochub: str = ""
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    seed: int
    resamples: int
    predictions: PredictionsSource
    command: str
    training: Training | None = None
    prediction: Mapping[str, Any] = field(default_factory=dict)
    when: Mapping[str, Any] = field(default_factory=dict)
    where: Mapping[str, Any] = field(default_factory=dict)
