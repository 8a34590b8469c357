"""Which mistakes to look at: out of context, of one class taken for one other."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.errors import OochubError, either, unknown_name
from oochub.evaluation.declaration import find_declaration
from oochub.evaluation.evaluation_rows import EvaluationColumns
from oochub.prediction.predictions import Predictions
from oochub.records.sides import GroupsOfRows


class ChosenMistakes(NamedTuple):
    """Mistakes of one model.

    Attributes:
        label: The name of their class.
        answer: Of the class that they were taken for.
        rows: Their numbers, those with the highest loss first.
        looked_at: (n,) True for the rows that they were chosen from.
        words: Which rows these are.
    """

    label: str
    answer: str
    rows: NDArray[np.int64]
    looked_at: NDArray[np.bool_]
    words: str


def chosen_mistakes(
    predictions: Sequence[Predictions], *, label: str | None = None, answer: str | None = None
) -> ChosenMistakes:
    """The mistakes of the first model, which the second gets right where there is one.

    Args:
        predictions: Of one split by one or two models.
        label: The class of the rows; None and None take the most frequent pair, of equal ones the first by class.
        answer: The class that they were taken for.

    Raises:
        OochubError: An unknown class, answers that are no class, models of other rows or classes, no such mistake.

    >>> rows = {"logits": [[0.0, 1.0], [0.0, 3.0], [2.0, 0.0]], "label": [0, 0, 0], "class_names": ["cat", "dog"]}
    >>> found = chosen_mistakes([Predictions.from_arrays(**rows)])
    >>> found.label, found.answer, found.rows.tolist(), found.words
    ('cat', 'dog', [1, 0], 'all of test')
    """
    first = predictions[0]
    names = first.class_names
    for each in predictions:
        if not each.output.one_answer:
            raise OochubError(
                f"A mistake is one class taken for another, and {each.metadata.model.id} answers with "
                f"{each.metadata.kind}. Take a model and data of one class a row."
            )
        if each.class_names != names or list(each.column("example_id")) != list(first.column("example_id")):
            raise OochubError(
                f"{each.metadata.model.id} answers for other classes or rows than {first.metadata.model.id}. Compare "
                "models of the same classes."
            )
    for name in (label, answer):
        if name is not None and name not in names:
            raise unknown_name("class", name, names)
    if label is not None and label == answer:
        raise OochubError(f"{label} taken for {answer} is no mistake. Name two classes.")
    looked_at, words = _looked_at(first)
    right = [each.prediction == first.label for each in predictions]
    chosen = looked_at & ~right[0] & np.logical_and.reduce(right[1:]) if right[1:] else looked_at & ~right[0]
    if label is not None:
        chosen &= first.label == names.index(label)
    if answer is not None:
        chosen &= first.prediction == names.index(answer)
    pairs = Counter(zip(first.label[chosen].tolist(), first.prediction[chosen].tolist(), strict=True))
    if not pairs:
        raise OochubError(_none(first, predictions[1:], label, answer, words))
    wrong, taken = min(pairs, key=lambda pair: (-pairs[pair], pair))
    rows = np.flatnonzero(chosen & (first.label == wrong) & (first.prediction == taken))
    loss = first.output.arrays(first)["loss"][rows]
    return ChosenMistakes(names[wrong], names[taken], rows[np.argsort(-loss, kind="stable")], looked_at, words)


def _looked_at(predictions: Predictions) -> tuple[NDArray[np.bool_], str]:
    """The rows out of context with a known class, else all such rows; in words."""
    output, declared = predictions.output, find_declaration(predictions)
    columns = EvaluationColumns(predictions, output.arrays(predictions))
    known = output.known(predictions.label)
    side = declared.out_of_context
    if not isinstance(side, GroupsOfRows) and set(side.where) <= set(columns):
        out = known & side.mask(columns)
        if out.any():
            return out, f"{side.name} ({side.description})"
    return known, f"all of {next(iter(predictions.metadata.rows))}"


def _none(first: Predictions, others: Sequence[Predictions], label: str | None, answer: str | None, words: str) -> str:
    asked = f"of {label or 'any class'} taken for {answer or 'another'}" if label or answer else "of any class"
    beside = f" that {others[0].metadata.model.id} gets right" if others else ""
    named = f"Name other classes with {either('label= and answer=', '--label and --answer')}"
    hint = named if label or answer else "Look at another split, or at another model"
    return f"{first.metadata.model.id} makes no mistake {asked}{beside} among {words}. {hint}."
