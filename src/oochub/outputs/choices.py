"""One class per row, without scores or confidences.

A model that answers in its own words may say what is none of the classes. Such an answer is wrong, and stays a row:
leaving it out would decide the result (arXiv 2603.06578).

Each row may ask a question of its own: then `question` and `options` stand beside `label`, the number of the right
option, and the classes are letters that mean another thing in each row.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Answer, Arrays, ArraysOfRows, Output, PredictedRows
from oochub.outputs.classes import Classes
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import ALSO_RIGHT, check_class_numbers, number_classes
from oochub.records.question_options import (
    OPTIONS,
    QUESTION,
    ask_each_row,
    check_option_numbers,
    has_option_columns,
    name_options,
)
from oochub.stats.array_checks import NO_CLASS
from oochub.stats.logits import count_as_label

_NONE = "none of them"
_OTHER_NONE = "none of these classes"  # where a class is called so


class Choices(Classes):
    """One class per row: `label` is its number, -1 outside the label set; `prediction` the number of the one chosen.

    A `prediction` of -1 is none of the classes: a wrong answer, whatever the label. A column `answer` of text, where
    there is one, holds what the model wrote. Metrics get label (n,), prediction (n,), correct (n,) and loss (n,), 1
    where the choice is wrong. There is no probability, so no AUC, NLL, calibration or detector.

    If the classes are letters, and there are a column `question` of text and `options`, a list of texts of any length
    per row, label and prediction are numbers of an option of the row, from 0.
    """

    columns = ("prediction",)
    text_column = "answer"
    beside = (QUESTION, OPTIONS, ALSO_RIGHT)
    has_fixed_classes = False
    problem_type = ""
    metrics = ("accuracy", "error_rate")
    group_metrics = ("accuracy", "error_rate")
    taken = "a column prediction, the name or number of a class; -1 or an empty cell is none of them"
    rank = -1
    no_probability = "choices, which have no probability"

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """Whole numbers without names; `question` and `options` beside them tell them from the truth of `classes`."""
        return super().is_truth(feature) and not hasattr(feature, "names")

    @classmethod
    def is_truth_of(cls, features: Mapping[str, object]) -> bool:
        """Whether each row has a question and options of its own, and the number of the right one."""
        return ask_each_row(features) and super().is_truth_of(features)

    def class_names(self, dataset: Any) -> list[str] | None:
        """A letter for each option of the row that has most, of a stream 26; those of the label for other rows."""
        if not ask_each_row(dataset.features):
            return super().class_names(dataset)
        if not hasattr(dataset, "__len__"):
            return name_options(26)
        lists = dataset.select_columns([OPTIONS]).with_format("arrow")[:].column(OPTIONS)
        return name_options(max(2, pc.max(pc.list_value_length(lists)).as_py() or 0))

    def names_of_rows(self, table: pa.Table) -> list[str] | None:
        """A letter for each option of the row that has most; None for rows without options of their own."""
        if not has_option_columns(table.schema):
            return None
        return name_options(max(2, pc.max(pc.list_value_length(table.column(OPTIONS))).as_py() or 0))

    def numbered_names(self, table: pa.Table) -> list[str]:
        """A number for each class up to the largest that is true or chosen."""
        columns = [table.column(name) for name in ("label", "prediction") if pa.types.is_integer(table[name].type)]
        return [str(number) for number in range(max([2, *(pc.max(column).as_py() + 1 for column in columns)]))]

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`; where rows have options of their own, the numbers are of these."""
        check_class_numbers(table, "label", class_names, lowest=-1)
        check_class_numbers(table, "prediction", class_names, lowest=NO_CLASS)
        self.right_beside(table, class_names)
        if has_option_columns(table.schema) and _are_letters(class_names):
            check_option_numbers(table, ("label", "prediction"))

    def prediction(self, predictions: PredictedRows) -> NDArray[np.int64]:
        """The class that was chosen (n,), the label in place of one that is right too; -1 for none of them."""
        chosen = predictions.column("prediction").astype(np.int64)
        return count_as_label(chosen, predictions.label, predictions.also_right)

    def probability(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """See `Output.probability`: a choice has none."""
        return Output.probability(self, predictions)

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label, prediction = predictions.label, predictions.prediction
        correct = (label == prediction) & (prediction >= 0)
        arrays: Arrays = {"label": label, "prediction": prediction, "correct": correct, "loss": (~correct) * 1.0}
        if self.asks_each_row(predictions):
            arrays |= {name: _read_objects(predictions.rows.column(name)) for name in (QUESTION, OPTIONS)}
        return arrays

    def asks_each_row(self, predictions: PredictedRows) -> bool:
        """See `Output.asks_each_row`."""
        is_there = {QUESTION, OPTIONS} <= set(predictions.column_names) and _are_letters(predictions.class_names)
        return is_there and has_option_columns(predictions.rows.light.select([QUESTION, OPTIONS]).schema)

    def wrong(self, arrays: ArraysOfRows) -> NDArray[np.bool_]:
        """Rows whose answer is another class, or none of them (n,)."""
        wrong: NDArray[np.bool_] = super().wrong(arrays) | (arrays["prediction"] < 0)
        return wrong

    def fits_no_class(self, predictions: PredictedRows) -> NDArray[np.bool_]:
        """The answers -1 (n,)."""
        return self.prediction(predictions) < 0

    def answer_names(self, class_names: Sequence[str]) -> list[str]:
        """The names of the classes and "none of them", which -1 finds.

        >>> Choices().answer_names(["cat", "dog"])[-1]
        'none of them'
        """
        return [*class_names, _OTHER_NONE if _NONE in class_names else _NONE]

    def mistake_keys(self, arrays: ArraysOfRows) -> NDArray[np.int64]:
        """The true class (n,); of rows with questions of their own, the question."""
        if QUESTION not in arrays:
            return np.asarray(super().mistake_keys(arrays))
        keys: NDArray[np.int64] = np.unique(np.asarray(arrays[QUESTION], str), return_inverse=True)[1]
        return keys

    def answer(self, arrays: ArraysOfRows, row: int, class_names: Sequence[str]) -> Answer:
        """See `Classes.answer`; the mistake of an answer that is none of the classes is "no_class".

        If rows have options of their own, label and answer are the texts of these.
        """
        names = list(arrays[OPTIONS][row]) if OPTIONS in arrays else list(class_names)
        if arrays["prediction"][row] >= 0:
            return super().answer(arrays, row, names)
        label = names[int(arrays["label"][row])]
        none = self.answer_names(names)[-1]
        return Answer(label=label, predicted=none, probability=float("nan"), mistake="no_class")

    def line(self, arrays: ArraysOfRows, row: int, vocabulary: Sequence[str]) -> str | None:
        """The question of a row and its options, where it has its own."""
        if QUESTION not in arrays:
            return None
        options = arrays[OPTIONS][row]
        listed = (f"({name}) {text}" for name, text in zip(name_options(len(options)), options, strict=True))
        return " ".join([str(arrays[QUESTION][row]), *listed])

    def chance(self, predictions: PredictedRows) -> float:
        """One over the number of classes, or the mean of one over the number of options of each row."""
        if not self.asks_each_row(predictions):
            return super().chance(predictions)
        counts = pc.list_value_length(predictions.rows.column(OPTIONS)).to_numpy()[self.known(predictions.label)]
        return float((1 / counts).mean()) if len(counts) else float("nan")

    def number_answers(self, column: pa.Array, class_names: Sequence[str] | None) -> pa.Array:
        """See `Output.number_answers`; where a row has none, or nan or "", the answer is none of the classes."""
        is_plain = pa.types.is_integer(column.type) and not column.null_count
        has_nan = pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())
        is_number = pa.types.is_floating(column.type) or pa.types.is_boolean(column.type)
        if is_plain or (is_number and not has_nan and not column.null_count):
            return column  # fractions and truths are what `check` refuses
        return pa.array(_read_choices(column.to_pylist(), class_names), pa.int64())

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The classes of the column `prediction`; -1, an empty cell or empty text is none of them; `answer` as text."""
        if not columns.have("prediction"):
            return None
        try:
            chosen = _read_choices(columns.values("prediction").to_pylist(), class_names)
        except OochubError as error:
            columns.problems.append(f"its prediction cannot be read: {error}")
            return None
        columns.rows_are((chosen < NO_CLASS) | (chosen >= len(class_names)), "a prediction that is not a class")
        columns_said = {"prediction": pa.array(chosen, pa.int64())}
        if not columns.have(self.text_column):
            return columns_said
        wrote = columns.values(self.text_column).to_pylist()
        return columns_said | {
            self.text_column: pa.array([None if text is None else str(text) for text in wrote], pa.string())
        }

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`prediction`: the class with the largest of several outputs; one output (n, 1) is the class, -1 for none."""
        chosen = outputs[:, 0].astype(np.int64) if outputs.shape[1] == 1 else outputs.argmax(axis=1)
        return {"prediction": pa.array(chosen, pa.int64())}


def _are_letters(class_names: Sequence[str]) -> bool:
    """Whether classes are called as options are, which each row has of its own."""
    return list(class_names) == name_options(len(class_names))


def _read_objects(column: pa.ChunkedArray) -> NDArray[np.object_]:
    """A column of texts or lists as objects (n,)."""
    values = np.empty(len(column), object)
    values[:] = column.to_pylist()
    return values


def _read_choices(values: Sequence[str | float | None], class_names: Sequence[str] | None) -> NDArray[np.int64]:
    """The classes (n,) that were chosen, -1 for none of them, of what somebody wrote.

    Args:
        values: Names or numbers of classes; None, nan, empty text and -1 are none of them.
        class_names: Names of the classes; None for numbers alone.

    Raises:
        OochubError: A name that is no class, names without `class_names`, or fractions.

    >>> _read_choices(["dog", "", "cat", None], ["cat", "dog"]).tolist()
    [1, -1, 0, -1]
    >>> _read_choices([1.0, float("nan")], None).tolist()
    [1, -1]
    """
    chosen = np.full(len(values), NO_CLASS, np.int64)
    rows_with_value = [row for row, value in enumerate(values) if not (value is None or value == "" or value != value)]
    if any(isinstance(values[row], str) for row in rows_with_value):
        if class_names is None:
            raise OochubError(
                f"A prediction is {values[rows_with_value[0]]!r}, but no classes are named. Pass class_names."
            )
        named = [row for row in rows_with_value if values[row] in class_names or str(values[row]) != str(NO_CLASS)]
        chosen[named] = number_classes([str(values[row]) for row in named], list(class_names))
        return chosen
    numbers = [float(values[row] or 0) for row in rows_with_value]
    for row, number in zip(rows_with_value, numbers, strict=True):
        if isinstance(values[row], bool) or not number.is_integer():
            raise OochubError(f"A prediction must be a class number, its name, or -1 for none, got {values[row]!r}.")
    chosen[rows_with_value] = numbers
    return chosen
