"""What was found of the contexts of data that had none: by which way, what they are called, how they were checked."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from oochub.records.schema import optional

COLUMN = "contexts"
"""The column of the contexts that a row has, a list of class numbers; null for a picture that cannot be read."""

CHOSEN_ON = "chosen_on"
"""The column that says whether something was chosen on a row: thresholds, clusters, what is usual for which class."""


@dataclass(frozen=True, kw_only=True)
class ContextCheck:
    """What people said of sampled rows of one context.

    Attributes:
        wrong_with: Of the rows that are said to have it, how many do not.
        checked_with: How many of those were judged.
        wrong_without: Of the rows that are said to lack it, how many have it.
        checked_without: How many of those were judged.
    """

    wrong_with: int
    checked_with: int
    wrong_without: int
    checked_without: int


@dataclass(frozen=True, kw_only=True)
class ContextRater:
    """Who checked contexts.

    Attributes:
        name: That of the file of answers.
        answered: How many labels were judged.
        sha256: Of the file.
    """

    name: str
    answered: int
    sha256: str


@dataclass(frozen=True, kw_only=True)
class FoundContexts:
    """The contexts that a way found; they stand in the facts of a build record.

    Attributes:
        way: The name of the way, one of `oochub list context`.
        names: Of the contexts, those of the column `contexts`.
        words: Of each context what it means ("mean brightness below 0.31").
        chosen_rows: On how many rows something was chosen.
        class_rows: Of those rows, how many each class has; empty of data without classes.
        class_counts: Of each context, how many of these rows of each class have it.
        settings: Of the way, JSON types.
        model: What the way looked with; None for none.
        checks: Of each context that people checked, what they said.
        raters: Who checked them.
    """

    way: str
    names: tuple[str, ...]
    words: tuple[str, ...]
    chosen_rows: int
    class_rows: Mapping[str, int]
    class_counts: Mapping[str, Mapping[str, int]]
    settings: Mapping[str, Any]
    model: str | None = optional()
    checks: Mapping[str, ContextCheck] | None = optional()
    raters: tuple[ContextRater, ...] = optional(())
