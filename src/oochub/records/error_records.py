"""Where the errors go, context by context: to the class that training showed in the context of the image, or not."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

from oochub.records.records import SHOWN
from oochub.records.schema import Count, Share, ShareEstimate

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
        context: Its name.
        classes: The classes whose context it is in training.
        n: Rows.
        n_errors: Wrong answers.
        share: Of the errors that can tell, those to such a class; `n` is how many can tell.
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
        share: Of the errors that can tell, those to a class whose context it is; `n` is how many can tell.
        chance: The share if errors went to every other class alike.
        chance_of_answers: The share if errors went to the other classes as often as the model names these at all.
        contexts: Each context, most errors first; of more than 200 those with most errors.
    """

    split: str
    source: Literal["counts", "usual"]
    trained: Mapping[str, tuple[str, ...]]
    n_errors: Count
    share: ShareEstimate
    chance: Share
    chance_of_answers: Share
    contexts: Annotated[tuple[ContextErrors, ...], SHOWN]
