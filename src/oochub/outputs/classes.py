"""One class per row: a logit for each class, and a softmax over them."""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Answer, Arrays, ArraysOfRows, Output, PredictedRows
from oochub.records.build_record import BuildFacts, presence_class
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import (
    ALSO_RIGHT,
    check_class_numbers,
    check_logits,
    check_vectors,
    make_vectors,
    number_classes,
    read_right_classes,
    read_truth,
    vectors,
)
from oochub.stats.logits import (
    LIKE_PROBABILITIES,
    ClassProbability,
    RightClasses,
    are_probabilities,
    softmax,
    summarize_answers,
)

_READ_SO = "--probabilities reads them as probabilities"


class Classes(Output):
    """One class per row: `label` is its number, -1 outside the label set; `logits` (c,).

    If other classes of a row are right too, a column `also_right` lists their names: an answer that is one of them
    counts as the label, and the loss is that of the probability of all right classes together.

    Metrics get label (n,), probability (n, c), prediction (n,), correct (n,), loss (n,) in nats, and of two classes
    score (n,), the second logit minus the first.
    """

    columns = ("logits",)
    problem_type = "single_label_classification"
    primary_metric = "accuracy"
    metrics: ClassVar[tuple[str, ...]] = ("accuracy", "error_rate", "nll", "ece")
    group_metrics: ClassVar[tuple[str, ...]] = ("accuracy", "error_rate", "nll")
    one_answer = True
    beside: ClassVar[tuple[str, ...]] = (ALSO_RIGHT,)
    taken = (
        "logits or probability, a list a row or columns logit_<class> or probability_<class>; columns of logits named "
        "by the classes; of two classes a column probability or score, that of the second"
    )

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """A ClassLabel or whole numbers."""
        return hasattr(feature, "names") or str(getattr(feature, "dtype", "")).startswith(("int", "uint"))

    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """Class numbers, -1 where there is none."""
        return read_truth("label", [None] * rows if values is None else values, pa.int64()).fill_null(-1)

    def numbered_names(self, table: pa.Table) -> list[str]:
        """A number for each logit."""
        return [str(number) for number in range(check_vectors(table, "logits") if table.num_rows else 1)]

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        check_logits(table, len(class_names), class_names)
        check_class_numbers(table, "label", class_names, lowest=-1)
        self.right_beside(table, class_names)

    def right_beside(self, table: pa.Table, class_names: Sequence[str]) -> RightClasses | None:
        """See `Output.right_beside`."""
        if ALSO_RIGHT not in table.column_names:
            return None
        return read_right_classes(table.column(ALSO_RIGHT), class_names)

    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[np.int64]:
        """Class numbers (n,), -1 outside the label set."""
        numbers: NDArray[np.int64] = table.column("label").to_numpy().astype(np.int64, copy=False)
        return numbers

    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows inside the label set (n,)."""
        is_known: NDArray[np.bool_] = label >= 0
        return is_known

    def prediction(self, predictions: PredictedRows) -> NDArray[np.int64]:
        """The class with the largest logit (n,), the first of equals; the label in place of one that is right too."""
        largest: NDArray[np.int64] = predictions.summary.prediction.astype(np.int64, copy=False)
        return largest

    def probability(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """The softmax (n, c) of the logits, in float64."""
        return softmax(predictions.logits)

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label, classes = predictions.label, len(predictions.class_names)
        if allowed is None or len(allowed) == classes:
            summary = predictions.summary
        else:
            blocks = (block["logits"] for _, block in predictions.blocks("logits"))
            summary = summarize_answers(blocks, label, allowed=allowed, also=predictions.also_right)

        assert summary.loss is not None  # noqa: S101  labels were given

        def matrix(rows: Any) -> NDArray[np.float64]:
            some = predictions.rows.take(np.arange(len(label))[rows])
            return softmax(vectors(some.column("logits")).reshape(-1, classes), allowed)

        arrays: Arrays = {
            "label": label,
            "probability": ClassProbability(
                label, summary.prediction, summary.confidence, summary.loss, classes, matrix
            ),
            "prediction": summary.prediction,
            "loss": summary.loss,
            "correct": label == summary.prediction,
        }
        if classes == 2:
            arrays["score"] = np.empty(len(label))
            for rows, block in predictions.blocks("logits"):
                arrays["score"][rows] = np.subtract(block["logits"][:, 1], block["logits"][:, 0], dtype=np.float64)
        return arrays

    def wrong(self, arrays: ArraysOfRows) -> NDArray[np.bool_]:
        """Rows whose answer is another class (n,)."""
        wrong: NDArray[np.bool_] = arrays["label"] != arrays["prediction"]
        return wrong

    def mistake_keys(self, arrays: ArraysOfRows) -> NDArray[Any]:
        """The true class (n,)."""
        label: NDArray[np.int64] = arrays["label"]
        return label

    def answer(self, arrays: ArraysOfRows, row: int, class_names: Sequence[str]) -> Answer:
        """Both classes by name.

        If one of two classes is that the other is absent ("no_car" and "car"), or they are 0 and 1, the mistake is
        "missed" where the thing was there, else "false_alarm".
        """
        label, prediction = int(arrays["label"][row]), int(arrays["prediction"][row])
        thing = presence_class(class_names, BuildFacts())
        present = 1 if list(class_names) == ["0", "1"] else None if thing is None else thing.present
        return Answer(
            label=class_names[label],
            predicted=class_names[prediction],
            probability=float(arrays["probability"].confidence[row]) if "probability" in arrays else float("nan"),
            mistake="confused" if present is None else "missed" if label == present else "false_alarm",
        )

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`logits`, a list per row."""
        return {"logits": make_vectors(outputs)}

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """Logits, or probabilities as logits of which they are the softmax."""
        single = next((name for name in ("probability", "score") if columns.have(name)), None)
        if columns.have("logits", "logit_"):
            logits = columns.matrix("logits", "logit_", class_names)
            if logits is not None and are_probabilities(logits):
                columns.notes.append(f"{LIKE_PROBABILITIES}; {_READ_SO}")
        elif single is not None and len(class_names) == 2 and not columns.is_list(single):
            logits = _make_binary_logits(columns, single)
        elif columns.have("probability", "probability_"):
            numbers = columns.matrix("probability", "probability_", class_names)
            probability = None if numbers is None else columns.within_0_and_1(numbers, "probability", of_one=True)
            logits = None if probability is None else np.log(probability)
        elif any(columns.have(name) for name in class_names):
            logits = _find_named_logits(columns, class_names)
        else:
            return None
        if logits is not None and columns.have("prediction"):
            self._compare(columns, class_names, logits.argmax(axis=1))
        return None if logits is None else self.store(logits.astype(np.float32))

    def given_label(
        self, columns: GivenColumns, class_names: Sequence[str], column: str = "label"
    ) -> NDArray[np.int64]:
        """Class numbers (n,), of numbers or names; -1 where there is none."""
        values = columns.values(column).to_pylist()
        if any(isinstance(value, str) for value in values):
            has_value = [value is not None for value in values]
            named = np.full(len(values), -1)
            named[has_value] = number_classes([str(value) for value in values if value is not None], list(class_names))
            return named
        numbers: NDArray[np.int64] = self.truth(values, len(values), class_names).to_numpy()
        return numbers

    def _compare(self, columns: GivenColumns, class_names: Sequence[str], largest: NDArray[np.int64]) -> None:
        """That the column `prediction` names the classes with the largest logits: else their order is another."""
        try:
            differs = self.given_label(columns, class_names, "prediction") != largest
        except OochubError as error:
            columns.problems.append(f"its prediction cannot be compared: {error}")
            return
        if differs.any():
            first = columns.ids[int(np.argmax(differs))]
            columns.notes.append(
                f"the column prediction is not the class with the largest logit in {int(differs.sum()):,} rows, first "
                f"{first}; the logits were taken"
            )

    def chance(self, predictions: PredictedRows) -> float:
        """One over the number of classes."""
        return 1 / len(predictions.class_names)


def _make_binary_logits(columns: GivenColumns, name: str) -> NDArray[np.float64] | None:
    """(0, logit p) of the probability p of the second of two classes."""
    numbers = columns.numbers(name)
    probability = None if numbers is None else columns.within_0_and_1(numbers, name)
    if probability is None:
        return None
    return np.stack([np.zeros(len(probability)), np.log(probability) - np.log1p(-probability)], axis=1)


def _find_named_logits(columns: GivenColumns, class_names: Sequence[str]) -> NDArray[np.float64] | None:
    """Logits of columns that bear the classes' names alone; probabilities would be taken for logits in silence."""
    logits = columns.matrix("logits", "", class_names)
    if logits is not None and are_probabilities(logits):
        columns.problems.append(
            f"the columns of the classes look like probabilities: name them probability_{class_names[0]}, ... (or "
            f"logit_{class_names[0]}, ... if they are logits); {_READ_SO}"
        )
        return None
    return logits
