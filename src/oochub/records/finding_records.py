"""What a report found beyond the gap: one frozen dataclass for each part of each finding.

Contexts that nobody labelled: what goes with each class, and whether it matters to the model. Backgrounds: what a model
says when an image's object or background is taken away or exchanged. Errors: where they go, context by context, to the
class that training showed in the context of the image, or not. Detectors: each on each pair of sets, and how far a zoom
moves its scores; on groups of sets, near and far, with and without shifted images of known classes. Empty images: what
an object detector draws in images without an object. Chosen rows: the rule of their choice, tested on rows that nobody
had looked at. Reliance: whether a gap by declared contexts is reliance on them, or contexts that are harder for every
class.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from oochub.records.build_record import ANNOTATED, ContextCheck
from oochub.records.report_records import SHOWN
from oochub.records.schema import ShareEstimate, optional
from oochub.records.sides import Reading
from oochub.records.typed_values import Bounds, Count, Length, Share
from oochub.stats.estimate import Estimate
from oochub.stats.p_values import Correction

Status = Literal["shown", "not shown", "too few", "harder for all", "easier for all", "no direction"]
ContextRole = Literal["usual", "unusual", "neither"]
PICTURED = 5
"""Contexts of which a report has rows to show: the first ones, whose images fill a screen."""


SELECTION = "chosen_rows"
"""The name of the section, and of its record in `report.findings`."""
_LEVEL = 0.05


Difficulty = Literal["harder for all", "easier for all", "not shown", "too few"]


@dataclass(frozen=True, kw_only=True)
class ClassInContext:
    """One class, with one context and without it.

    Attributes:
        label: The class.
        role: What the context is for the class, chosen on other rows: the interval of their lift lies above 1
            ("usual"), below 1 ("unusual"), or holds 1 ("neither").
        lift: P(context | class) / P(context | other classes) over the tested rows.
        accuracy_with: Accuracy on the rows of the class that have the context.
        accuracy_without: Accuracy on those that lack it.
    """

    label: str
    role: ContextRole
    lift: Estimate
    accuracy_with: ShareEstimate
    accuracy_without: ShareEstimate


@dataclass(frozen=True, kw_only=True)
class ContextRow:
    """One tested row, as a reader sees it: drawn whatever the model answered, see `RowsWithContexts.shown`.

    Attributes:
        example_id: Id of the row.
        split: Split of the row.
        label: What is true, in words.
        predicted: What the model answered.
        image: A small JPEG in base64; None where the predictions have none.
        attribution: Source and license of the image.
    """

    example_id: str
    split: str
    label: str
    predicted: str
    image: str | None = optional()
    attribution: str | None = optional()


@dataclass(frozen=True, kw_only=True)
class ContextFinding:
    """Whether one context matters.

    Rows are as usual if they have a context that is usual for their class or lack one that is unusual, and otherwise
    against it; rows of a class for which the context is neither are left out. A context that people annotated has no
    such role: rows with it stand for those against, the others of their class for those as usual.

    Attributes:
        name: Name of the context.
        words: Meaning of the context.
        n: Tested rows that have it.
        status: "shown" where the gap is not 0 and goes with what is usual for the class, corrected over all contexts
            that could be tested; "harder for all" or "easier for all" where the context goes with errors, or with right
            answers, both in classes for which it is usual and in the others, which is no reliance on it; "no direction"
            where contexts go by the answers of the model, so that a gap would say nothing; "too few" where there are
            too few rows to test, or no other classes to compare with.
        gap: The accuracy of the rows against minus that of the rows as usual, class by class (Mantel and Haenszel);
            below 0 the model is worse against.
        accuracy_usual: Accuracy on the rows as usual, at the weights of the gap.
        accuracy_against: Accuracy on the rows against, at the same weights.
        n_usual: Rows as usual.
        n_against: Rows against.
        p_value: p-value of no gap, or of a context that changes the odds of a right answer alike in every class, the
            larger of the two (`oochub.stats.context_effects`); nan if it cannot be tested.
        adjusted_p_value: Corrected over all contexts that could be tested.
        reason: Why it is "too few" or "no direction", or why a gap cannot be told from one of harder images.
        classes: Each class.
        having: Accuracy of rows with the context minus that of rows without it, class by class, over all classes; None
            in older reports.
        alike_p_value: p-value of no such effect on the classes for which the context is usual, or of none on the
            others, the larger of the two, corrected; None if they differ in direction or cannot be tested.
        check: What people said of sampled rows; None where nobody checked.
        bounds: The gap if context labels are as often wrong as they said, whatever the model answers; None without a
            check.
        shrinkage: Share of that gap that then shows, 1 where no label is wrong; None without a check.
        worst_case: The gap; its interval holds those that are possible if wrong labels depend on the answers; None
            without a check.
        error_ratio: Error of the rows with the context over that of all rows; for contexts that people annotated.
        rows_usual: A few of the rows as usual, of each class as many as it counts in the gap.
        rows_against: A few of the rows against.
    """

    name: str
    words: str
    n: Count
    status: Status
    gap: Annotated[Estimate, Bounds(-1, 1)]
    accuracy_usual: Share
    accuracy_against: Share
    n_usual: Count
    n_against: Count
    p_value: Share
    adjusted_p_value: Share
    reason: str | None = None
    classes: Annotated[tuple[ClassInContext, ...], SHOWN]
    having: Annotated[Estimate, Bounds(-1, 1)] | None = optional()
    alike_p_value: Share | None = optional()
    check: ContextCheck | None = optional()
    bounds: Estimate | None = optional()
    shrinkage: Estimate | None = optional()
    worst_case: Estimate | None = optional()
    error_ratio: Estimate | None = optional()
    rows_usual: Annotated[tuple[ContextRow, ...], SHOWN] = optional(())
    rows_against: Annotated[tuple[ContextRow, ...], SHOWN] = optional(())

    @property
    def is_alike(self) -> bool:
        """Whether the context goes with errors, or with right answers, whatever it is to the class."""
        return self.status in ("harder for all", "easier for all")


@dataclass(frozen=True, kw_only=True)
class ContextFindings:
    """Contexts associated with each class, and whether the model needs it.

    Attributes:
        way: Way that found the contexts, one of `oochub list context`.
        model: Model that it looked with; None for none.
        n_chosen: Rows on which contexts, and what is usual for which class, were chosen.
        n_tested: Rows on which nothing was chosen, and which alone are tested.
        correction: Over all contexts that could be tested: "holm" or "benjamini_hochberg".
        level: Level of all tests together.
        n_tests: Contexts that could be tested.
        contexts: Shown first, by the gap; then not shown, then too few.
    """

    way: str
    model: str | None = None
    n_chosen: Count
    n_tested: Count
    correction: Correction
    level: Share
    n_tests: Count
    contexts: Annotated[tuple[ContextFinding, ...], SHOWN]

    @property
    def is_annotated(self) -> bool:
        """Whether people annotated the contexts, so that none is usual or unusual for a class."""
        return self.way == ANNOTATED


Variant = Literal["original", "mixed_same", "mixed_rand", "object_alone", "background_alone", "pasted_back"]


@dataclass(frozen=True, kw_only=True)
class VariantRow:
    """The answers to one kind of altered images.

    Attributes:
        name: "object_alone" is the object on gray, "background_alone" the image with the object filled by tiles of
            background, "mixed_same" the object on the background of another row of its class, "mixed_rand" on that of
            a row of another class, "pasted_back" on its own filled background: what filling and pasting alone cost.
        accuracy: How often the answer is the row's class; in "background_alone" that class is not in the image.
        accuracy_change: Less that of the same rows as they are, paired; None for "original".
        log_odds: The mean change of the log-odds of the row's class, its logit less the log of the summed exponentials
            of the others; paired; None for "original".
        logit: The mean change of the logit of the row's class; paired. All logits of an image may move together,
            which changes no answer: the log-odds say what the answer relies on.
    """

    name: Variant
    accuracy: ShareEstimate
    accuracy_change: Annotated[Estimate, Bounds(-1, 1)] | None = optional()
    log_odds: Estimate | None = optional()
    logit: Estimate | None = optional()


@dataclass(frozen=True, kw_only=True)
class ProbedPicture:
    """One image of the row that is shown.

    Attributes:
        name: Name of the variant.
        answer: Answer of the model.
        probability: Probability of the row's class; None for a model that gives none.
        image: A small JPEG in base64.
    """

    name: Variant
    answer: str
    probability: Share | None = optional()
    image: str


@dataclass(frozen=True, kw_only=True)
class ShownRow:
    """The row whose images are shown: its change on the background of another class is the nearest to the mean.

    Attributes:
        example_id: Id of the row.
        label: Class of the row.
        attributions: Source and license of its image, and of those that lent a background.
        images: The image as it is, and altered.
    """

    example_id: str
    label: str
    attributions: tuple[str, ...] = optional(())
    pictures: Annotated[tuple[ProbedPicture, ...], Length(most=6)]


@dataclass(frozen=True, kw_only=True)
class BackgroundProbe:
    """Rows whose object or background was taken away or exchanged.

    Attributes:
        area: What tells where the object is.
        split: Split of the rows.
        lenders: Rows whose backgrounds the mixed images have: "all" rows, or those "in_context" alone if the data tell
            them, since a class has its usual background there.
        n_lenders: How many rows lent one. Intervals hold for other rows and other backgrounds of the kind; in an older
            report for these backgrounds alone.
        thing: Thing that a task of two classes asks for: its rows alone are altered; None where all rows are.
        n: Rows that were altered.
        left_out: Rows that were not, by the reason.
        variants: The rows as they are, and each way in which they were altered.
        gap: How much more often the answer is the row's class on a background of that class than on one of another
            class ("BG gap"), over rows that have both, each the mean of its backgrounds; paired.
        gap_log_odds: The same of the log-odds; nan for a model that names one class per row without a score.
        backgrounds: Number of backgrounds of each kind that a row was put on.
        draw_deviation: Standard deviation of the gap of one background a row and kind, over these; None for one.
        is_whole: Whether the areas are known to hold all objects of the class, so that no background shows another;
            None in an older report.
        shown: One row as an example; None without images.
        seed: Random seed for the rows and backgrounds that were drawn.
        most: Maximum number of rows that were to be altered.
        options: The options of `oochub audit` that ask for it, paths by their last part; None in an older report.
    """

    area: str
    split: str
    lenders: Literal["all", "in_context"]
    n_lenders: Count
    thing: str | None = optional()
    n: Count
    left_out: Mapping[str, Count]
    variants: Annotated[tuple[VariantRow, ...], Length(most=6)]
    gap: Annotated[Estimate, Bounds(-1, 1)]
    gap_log_odds: Estimate
    backgrounds: Count = optional(1)
    draw_deviation: float | None = optional()
    is_whole: bool | None = optional()
    shown: ShownRow | None = optional()
    seed: Count
    most: Count
    options: tuple[str, ...] | None = optional()

    def variant(self, name: Variant) -> VariantRow:
        """The numbers of a variant."""
        return next(variant for variant in self.variants if variant.name == name)

    @property
    def pasted_back(self) -> VariantRow | None:
        """The numbers of objects on their own filled backgrounds; None in an older report."""
        return next((variant for variant in self.variants if variant.name == "pasted_back"), None)

    def estimates(self) -> dict[str, Estimate]:
        """Every number by name: "background_gap", "background/mixed_rand/accuracy", ..."""
        numbers = {"background_gap": self.gap, "background_gap/log_odds": self.gap_log_odds}
        for variant in self.variants:
            parts = {
                "accuracy": variant.accuracy,
                "accuracy_change": variant.accuracy_change,
                "log_odds": variant.log_odds,
                "logit": variant.logit,
            }
            numbers |= {f"background/{variant.name}/{key}": value for key, value in parts.items() if value is not None}
        return numbers


ONE_PLACE = "of two classes an error has one place to go"
"""Why the share of errors is undefined where there are two classes."""


@dataclass(frozen=True, kw_only=True)
class ConfusionCell:
    """How many rows of a class got an answer, right or wrong; pairs without a row have no cell."""

    label: str
    predicted: str
    n: Count


@dataclass(frozen=True, kw_only=True)
class ContextErrors:
    """The answers in one context.

    Attributes:
        context: Name of the context.
        classes: The classes whose context it is in training.
        n: Rows.
        n_errors: Wrong answers.
        share: Among the errors that can tell, the share to such a class; `n` is how many can tell.
        chance: The share if errors went to every other class alike.
        confusion: The matrix of true class and answer; empty where it would be more than a report holds.
    """

    context: str
    classes: tuple[str, ...]
    n: Count
    n_errors: Count
    share: ShareEstimate
    chance: Share
    confusion: Annotated[tuple[ConfusionCell, ...], SHOWN]


@dataclass(frozen=True, kw_only=True)
class ErrorsByContext:
    """Whether errors go to the class whose context in training is that of the image (Spawrious, Section 5.2).

    An error can tell where its context is that of some of the other classes, and not of all of them.

    Attributes:
        split: The split of the rows.
        source: What says which context is a class's own: "counts" of the training rows, of which the most frequent
            contexts count, or the "usual" contexts of own data.
        trained: Class to these contexts.
        n_errors: Wrong answers in all contexts.
        share: Among the errors that can tell, the share to a class whose context it is; `n` is how many can tell.
        chance: The share if errors went to every other class alike.
        chance_of_answers: The share if errors went to the other classes as often as the model names these at all.
        contexts: Each context, most errors first; if more than 200, those with most errors.
    """

    split: str
    source: Literal["counts", "usual"]
    trained: Mapping[str, tuple[str, ...]]
    n_errors: Count
    share: ShareEstimate
    chance: Share
    chance_of_answers: Share
    contexts: Annotated[tuple[ContextErrors, ...], SHOWN]


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
    """The share of the nearest training rows of `queries` rows that an approximate search found."""

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
        metrics: Metrics by name: auroc_new_class, auroc_failure, "ood_breakdown.…", ...
        against_best: Difference to the best detector of the pair, by goal; not for the best itself.
        against_msp: Difference to MSP, by goal.
        classes: What "correct" is.
        recall: Recall of an approximate search among the training rows; None if it is exact.
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

    def auroc(self, goal: str) -> Estimate:
        """The AUROC for a goal, "auroc_new_class" or "auroc_failure"; nan where it was not evaluated."""
        return self.metrics.get(goal, Estimate(math.nan, n=0, method="none", reason="not evaluated"))


@dataclass(frozen=True, kw_only=True)
class ProbeRow:
    """How far a zoom moves the scores of one detector among those of the set out of distribution.

    Attributes:
        probe: "zoom".
        factor: Factor of the zoom.
        detector: See `DetectionRow`.
        id_set: See `DetectionRow`.
        ood_set: See `DetectionRow`.
        n_correct: Rows in distribution that the classifier gets right.
        n_kept: How many of them keep their answer.
        n_ood: Rows out of distribution.
        before: Mean share of the scores out of distribution below those of the images, in [0, 1].
        after: The same of the zoomed images.
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


@dataclass(frozen=True, kw_only=True)
class FalseAlarmRow:
    """The false alarms at one threshold.

    Attributes:
        threshold: Score above which a box counts.
        inside: Share of the images without an object, in context, in which a box is drawn.
        outside: The same out of context.
        difference: Out of context minus in context.
    """

    threshold: Share
    inside: ShareEstimate
    outside: ShareEstimate
    difference: Estimate


@dataclass(frozen=True, kw_only=True)
class EmptyImageNumbers:
    """False alarms at each threshold.

    Attributes:
        rows: A row for each threshold, from the lowest up.
        n_in: Images without an object in context.
        n_out: Images without an object out of context.
        are_contexts: Whether those out of context are the usual contexts of the object, without it.
    """

    rows: Annotated[tuple[FalseAlarmRow, ...], SHOWN]
    n_in: Count
    n_out: Count
    are_contexts: bool


@dataclass(frozen=True, kw_only=True)
class GroupOfSetsRow:
    """One detector on one group of sets in one reading.

    Attributes:
        detector: Its key: its name and the hyperparameters that differ from their defaults.
        group: The group of the sets with new classes: "near" or "far".
        reading: "standard" has the known set alone in distribution, "full_spectrum" the shifted ones too.
        known: The sets in distribution, pooled.
        new: The sets of the group, each set against all of `known`.
        n_id: Rows in distribution.
        n_ood: Rows out of distribution, of all sets of the group.
        metrics: Mean over the sets of the group: auroc_new_class, fpr_at_tpr_ood, aupr_in and aupr_out.
        of_sets: AUROC of each set of the group.
    """

    detector: str
    group: str
    reading: Reading
    known: tuple[str, ...]
    new: tuple[str, ...]
    n_id: Count
    n_ood: Count
    metrics: Mapping[str, ShareEstimate]
    of_sets: Mapping[str, ShareEstimate]


@dataclass(frozen=True, kw_only=True)
class NearAndFarNumbers:
    """Every detector on every group of sets that a benchmark declares.

    Attributes:
        rows: A row for each detector, group and reading, groups and readings together.
        not_given: The declared sets that there are no predictions for, by "shifted" or their group.
        published: The shifted sets that the published full spectrum has.
        source: What published it.
    """

    rows: Annotated[tuple[GroupOfSetsRow, ...], SHOWN]
    not_given: Mapping[str, tuple[str, ...]]
    published: tuple[str, ...]
    source: str


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


@dataclass(frozen=True, kw_only=True)
class FewLabelRow:
    """One number from few labels, and with the images that have none.

    Attributes:
        name: "accuracy", "in_context", "out_of_context", "gap" or "worst_group".
        alone: From the images with a label; nan with a reason if it cannot be estimated.
        together: From all images; equal to `alone` if the others save nothing.
        saved: Share of the variance that they save, in [0, 1): as precise as n / (1 - saved) labels.
    """

    name: str
    alone: Estimate
    together: Estimate
    saved: Share


@dataclass(frozen=True, kw_only=True)
class FewLabelNumbers:
    """What few labels and many images without one say of a model.

    Attributes:
        rows: The numbers.
        n_labeled: Images with a label.
        n_unlabeled: Images without one.
        n_contexts: Images without a label that have a context: those that count for sides, gap and worst group.
        proxies: Names of the models whose probability of the answer was used; () for that of the model itself.
        correlation: Correlation of that probability with being right, over the images with a label; None if one of the
            two does not vary.
        p_value: p-value of no difference between that probability with a label and without one (Kolmogorov, Smirnov),
            which says whether the labeled images look like a random choice; None without other images.
    """

    rows: Annotated[tuple[FewLabelRow, ...], SHOWN]
    n_labeled: Count
    n_unlabeled: Count
    n_contexts: Count
    proxies: tuple[str, ...]
    correlation: float | None
    p_value: Share | None
