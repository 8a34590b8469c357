"""Which classes an answer may be: all that the model tells apart, or those that a set has images of.

ImageNet-R has 200 of ImageNet's 1,000 classes. Whether an answer outside these 200 counts as a mistake changes what is
"correct", and with it accuracy and failure detection: papers do either.
"""

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, unknown_name
from oochub.prediction.predictions import Predictions

Classes = Literal["all", "present"]


def check_classes(classes: str) -> None:
    """Refuses a rule that there is not.

    Raises:
        OochubError: `classes` is neither "all" nor "present".

    >>> check_classes("presnt")
    Traceback (most recent call last):
    oochub.errors.OochubError: No classes named 'presnt'. Did you mean 'present'? Allowed: all, present.
    """
    if classes not in get_args(Classes):
        raise unknown_name("classes", classes, get_args(Classes))


def find_allowed_classes(predictions: Predictions, classes: Classes = "all") -> NDArray[np.int64]:
    """The numbers of the classes that an answer may be, in order.

    Args:
        predictions: Predictions of one set.
        classes: "all" that the model tells apart; or "present", those of the set: what its builder recorded
            (`present_classes`), else the labels that occur.

    Returns:
        (k,) class numbers; all of them for a set without a labeled row.

    Raises:
        OochubError: Another rule.
    """
    check_classes(classes)
    every = np.arange(len(predictions.class_names))
    if classes == "all":
        return every
    recorded = predictions.metadata.facts.present_classes
    label = predictions.label
    present = np.union1d(np.array(recorded or [], np.int64), label[label >= 0])
    return present if len(present) else every


def find_allowed(predictions: Predictions, classes: Classes, match: str | None = None) -> NDArray[np.int64] | None:
    """The classes that an answer may be; None where the kind of output has no classes to choose among.

    Args:
        predictions: Predictions of one set, of any kind of output.
        classes: "all" or "present".
        match: Column to match on, which needs one class per row.

    Raises:
        OochubError: Another rule, or a rule or column that predictions of this kind cannot have.
    """
    is_chosen = predictions.output.one_answer and not predictions.output.has_confidence
    if predictions.output.one_answer and (not is_chosen or classes == "all"):
        return find_allowed_classes(predictions, classes)
    if is_chosen:
        raise OochubError(
            "classes= applies to predictions with logits, from which another class can be chosen; these are of the "
            f"kind {predictions.metadata.kind}. Let the model choose among the classes present."
        )
    if classes != "all" or match is not None:
        what = "match=" if match is not None else "classes="
        raise OochubError(
            f"{what} applies to predictions with one class per row; these are of the kind {predictions.metadata.kind}."
        )
    return None


def choose_answers(logits: NDArray[np.float32], allowed: NDArray[np.int64]) -> NDArray[np.int64]:
    """The answer to each row (n,): the allowed class with the largest logit, the first of equals.

    Args:
        logits: Logits of each row (n, c).
        allowed: (k,) class numbers, in order.

    >>> choose_answers(np.array([[3.0, 1.0, 2.0]]), np.array([1, 2])).tolist()
    [2]
    """
    chosen: NDArray[np.int64] = allowed[logits[:, allowed].argmax(axis=1)]
    return chosen
