"""Contexts that nobody labelled: what goes with each class, and whether it matters to the model."""

from dataclasses import dataclass
from typing import Annotated, Literal

from oochub.records.found_contexts import ContextCheck
from oochub.records.records import SHOWN
from oochub.records.schema import Bounds, Count, Share, ShareEstimate, optional
from oochub.stats.adjusted_p_values import Correction
from oochub.stats.estimate import Estimate

Status = Literal["shown", "not shown", "too few", "harder for all", "easier for all", "no direction"]
Role = Literal["usual", "unusual", "neither"]
PICTURED = 5
"""Contexts of which a report has rows to show: the first ones, whose pictures fill a screen."""


@dataclass(frozen=True, kw_only=True)
class ClassInContext:
    """One class, with one context and without it.

    Attributes:
        label: The class.
        role: What the context is for the class, chosen on other rows: the interval of their lift lies above 1
            ("usual"), below 1 ("unusual"), or holds 1 ("neither").
        lift: P(context | class) / P(context | other classes) over the tested rows.
        accuracy_with: Of the rows of the class that have the context.
        accuracy_without: Of those that lack it.
    """

    label: str
    role: Role
    lift: Estimate
    accuracy_with: ShareEstimate
    accuracy_without: ShareEstimate


@dataclass(frozen=True, kw_only=True)
class ContextRow:
    """One tested row, as a reader sees it: drawn whatever the model answered, see `RowsWithContexts.shown`.

    Attributes:
        example_id: Its id.
        split: Its split.
        label: What is true, in words.
        predicted: What the model answered.
        image: A small JPEG in base64; None where the predictions have none.
        attribution: Source and license of the picture.
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

    Rows are as usual where they have a context that is usual for their class or lack one that is unusual, and
    otherwise against it; rows of a class for which the context is neither are left out.

    Attributes:
        name: Of the context.
        words: What it means.
        n: Tested rows that have it.
        status: "shown" where the gap is not 0 and goes with what is usual for the class, corrected over all contexts
            that could be tested; "harder for all" or "easier for all" where the context goes with errors, or with right
            answers, both in classes for which it is usual and in the others, which is no reliance on it; "no direction"
            where contexts go by the answers of the model, so that a gap would say nothing; "too few" where there are
            too few rows to test, or no other classes to compare with.
        gap: The accuracy of the rows against minus that of the rows as usual, class by class (Mantel and Haenszel);
            below 0 the model is worse against.
        accuracy_usual: Of the rows as usual, at the weights of the gap.
        accuracy_against: Of the rows against.
        n_usual: Rows as usual.
        n_against: Rows against.
        p_value: Of no gap, or of a context that changes the odds of a right answer alike in every class, the larger of
            the two (`oochub.stats.effect_by_role`); nan where it cannot be tested.
        adjusted_p_value: Corrected over all contexts that could be tested.
        reason: Why it is "too few" or "no direction", or why a gap cannot be told from one of harder pictures.
        classes: Each class.
        having: Accuracy of rows with the context minus that of rows without it, class by class, over all classes;
            None in reports of before.
        alike_p_value: Of no such effect on the classes for which the context is usual, or none on the others, the
            larger of the two, corrected; None where they differ in direction or cannot be tested.
        check: What people said of sampled rows; None where nobody checked.
        bounds: The gap if context labels are as often wrong as they said, whatever the model answers; None without a
            check.
        shrinkage: What share of that gap then shows, 1 where no label is wrong; None without a check.
        worst_case: The gap; its interval holds those that are possible if wrong labels depend on the answers; None
            without a check.
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
    rows_usual: Annotated[tuple[ContextRow, ...], SHOWN] = optional(())
    rows_against: Annotated[tuple[ContextRow, ...], SHOWN] = optional(())


@dataclass(frozen=True, kw_only=True)
class ContextFindings:
    """What goes with each class, and whether the model needs it.

    Attributes:
        way: What found the contexts, one of `oochub list context`.
        model: What it looked with; None for none.
        n_chosen: Rows on which contexts, and what is usual for which class, were chosen.
        n_tested: Rows on which nothing was chosen, and which alone are tested.
        correction: Over all contexts that could be tested: "holm" or "benjamini_hochberg".
        level: Of all tests together.
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
