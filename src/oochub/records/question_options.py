"""Rows that ask a question of their own: the columns `question` and `options`, and answers as numbers of an option.

The options may differ in number and order from row to row. The truth `label` and the answer `prediction` are the number
of an option, from 0. People write it as a letter, as the option's text or as that number.
"""

import json
import re
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oochub.errors import OochubError

QUESTION, OPTIONS, ANSWER = "question", "options", "answer"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_LETTER = re.compile(r"\(?([A-Z])[).:]?")
_SHOWN = 80  # characters of an answer in a message


def name_options(count: int) -> list[str]:
    """What the options of a row are called: letters, after Z numbers.

    >>> name_options(3), name_options(28)[25:]
    (['A', 'B', 'C'], ['Z', '27', '28'])
    """
    return [_LETTERS[k] if k < len(_LETTERS) else str(k + 1) for k in range(count)]


def ask_each_row(features: Mapping[str, object]) -> bool:
    """Whether a data set's features have a text `question` and lists of texts `options`.

    >>> import datasets
    >>> text = datasets.Value("string")
    >>> ask_each_row({"question": text, "options": datasets.List(text)}), ask_each_row({"question": text})
    (True, False)
    """
    return _is_text(features.get(QUESTION)) and _is_text(getattr(features.get(OPTIONS), "feature", None))


def has_option_columns(schema: pa.Schema) -> bool:
    """The same of the columns of a table."""
    if not {QUESTION, OPTIONS} <= set(schema.names):
        return False
    kind = schema.field(OPTIONS).type
    is_list = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return bool(is_list and (pa.types.is_string(kind.value_type) or pa.types.is_large_string(kind.value_type)))


def check_option_numbers(table: pa.Table, columns: Sequence[str]) -> None:
    """Checks that each row has two options or more, and that its numbers are of one of them, or -1.

    Args:
        table: Table with `options`, `example_id` and these columns.
        columns: Columns of whole numbers.

    Raises:
        OochubError: A row with fewer than two options, an option that is missing, a number that is none; the first is
            named.
    """
    ids, options = table.column("example_id"), table.column(OPTIONS)
    count = pc.fill_null(pc.list_value_length(options), 0).to_numpy()
    if len(count) and count.min() < 2:
        row = int(np.argmax(count < 2))
        raise OochubError(
            f"{int((count < 2).sum()):,} rows have fewer than two options, first {ids[row]}: "
            f"{options[row].as_py()!r:.{_SHOWN}}. Give each row its list of options."
        )
    if pc.list_flatten(options).null_count:
        raise OochubError("An option in the column options is missing. Fill it in, or remove it from the list.")
    for name in columns:
        number = table.column(name).to_numpy()
        wrong = (number < -1) | (number >= count)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise OochubError(
                f"{int(wrong.sum()):,} {name}s are not the number of an option, nor -1, first {ids[row]}: "
                f"{number[row]} of {count[row]} options. Options are numbered from 0."
            )


def parse_options(values: Sequence[object], where: str) -> list[list[str]]:
    """The options of each row; text is read as a JSON list, as a CSV has it.

    Args:
        values: A list of options, or its JSON, per row.
        where: What an error calls the rows ("split test").

    Raises:
        OochubError: A row that has neither; it is named.

    >>> parse_options(['["a cat", "a dog"]', ["yes", "no"]], "split test")
    [['a cat', 'a dog'], ['yes', 'no']]
    """
    parsed: list[list[str]] = []
    for row, value in enumerate(values):
        try:
            options = json.loads(value) if isinstance(value, str) else value
        except ValueError:
            options = None
        if not isinstance(options, list) or not all(isinstance(element, str) for element in options):
            raise OochubError(
                f'options must be a list of texts, in a CSV as ["a cat", "a dog"]; row {row} of {where} has '
                f"{value!r:.{_SHOWN}}."
            )
        parsed.append(options)
    return parsed


def number_options(answers: Sequence[object], options: Sequence[Sequence[str]], where: str) -> list[int]:
    """The number of the option (n,) that each answer means, -1 where there is none.

    Args:
        answers: A number from 0, a letter ("B", "(B)", "B."), or the text of the option; None has none.
        options: The options of each row.
        where: What an error calls the rows ("split test").

    Raises:
        OochubError: An answer that is no option of its row, or of which two could be meant; the row is named.

    >>> number_options(["B", "no", 0, None], [["yes", "no"]] * 4, "split test")
    [1, 1, 0, -1]
    """
    rows = enumerate(zip(answers, options, strict=True))
    return [_number_option(answer, several, f"row {row} of {where}") for row, (answer, several) in rows]


def _number_option(answer: object, options: Sequence[str], where: str) -> int:
    if answer is None or answer == "" or answer != answer or answer == -1:
        return -1
    meant: set[int] = set()
    if isinstance(answer, str):
        meant = {k for k, option in enumerate(options) if option.strip() == answer.strip()}
        letter = _LETTER.fullmatch(answer.strip())
        if letter is not None and (place := _LETTERS.index(letter[1])) < len(options):
            meant.add(place)
        if not meant and answer.strip().isdecimal():
            meant = {int(answer)} & set(range(len(options)))
    elif isinstance(answer, int | float) and not isinstance(answer, bool) and answer in range(len(options)):
        meant = {int(answer)}
    if len(meant) == 1:
        return meant.pop()
    shown = ", ".join(f"{name}: {text}" for name, text in zip(name_options(len(options)), options, strict=True))
    problem = "could be several of" if meant else "is none of"
    raise OochubError(
        f"The answer {answer!r:.{_SHOWN}} in {where} {problem} its options ({shown:.{2 * _SHOWN}}). Pass the number "
        "of the option, from 0, its letter, or its text."
    )


def _is_text(feature: object) -> bool:
    return getattr(feature, "dtype", None) in ("string", "large_string")
