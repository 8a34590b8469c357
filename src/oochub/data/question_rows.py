"""Own data whose rows ask a question of their own: which option is right, as a number, whatever the table calls it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import datasets

from oochub.data.user_columns import get_column_array
from oochub.records.question_options import ANSWER, OPTIONS, ask_each_row, number_options, parse_options

_TEXTS = ("string", "large_string")


class QuestionRows(NamedTuple):
    """Rows with options of their own.

    Attributes:
        data: The splits; a column `answer` that is not the truth is called `own_answer`, as predictions have their own.
        column: The column that says the right option.
        made: `label`, and `options` where they stood as text: how `datasets` calls the column, and its values by split.
    """

    data: datasets.DatasetDict
    column: str
    made: Mapping[str, tuple[object, Mapping[str, Sequence[object]]]]


def read_questions(
    data: datasets.DatasetDict, features: Mapping[str, object], label: str | None
) -> QuestionRows | None:
    """The number of each row's right option, of its number, letter or text.

    Args:
        data: The splits.
        features: The columns that all splits have.
        label: The column of the truth; None takes `answer`.

    Returns:
        None for data without the columns `question`, `options` and an answer.

    Raises:
        OochubError: Options that are no list of texts, or an answer that is none of them; the row is named.

    >>> rows = {"question": ["Day?"], "options": [["yes", "no"]], "answer": ["B"]}
    >>> part = datasets.Dataset.from_dict(rows)
    >>> read_questions(datasets.DatasetDict(test=part), part.features, None).made["label"][1]["test"]
    [1]
    """
    column = label or (ANSWER if ANSWER in features else None)
    listed = dict(features)
    if getattr(features.get(OPTIONS), "dtype", None) in _TEXTS:  # in a CSV, a list as text
        listed[OPTIONS] = datasets.List(datasets.Value("string"))
    if column is None or not ask_each_row(listed):
        return None
    options: dict[str, list[list[str]]] = {}
    numbers: dict[str, list[int]] = {}
    for split, part in data.items():
        where = f"split {split}"
        options[split] = parse_options(get_column_array(part, OPTIONS).to_pylist(), where)
        answers = get_column_array(part, column).to_pylist()
        if (names := getattr(features[column], "names", None)) is not None:
            answers = [None if answer is None or answer < 0 else names[answer] for answer in answers]
        numbers[split] = number_options(answers, options[split], where)
    made: dict[str, tuple[object, Mapping[str, Sequence[object]]]] = {"label": (datasets.Value("int64"), numbers)}
    if listed[OPTIONS] != features[OPTIONS]:
        made[OPTIONS] = (listed[OPTIONS], options)
    renamed = {ANSWER: f"own_{ANSWER}"} if ANSWER in features and column != ANSWER else {}
    return QuestionRows(data.rename_columns(renamed), column, made)
