"""One class per row and nothing of how sure the model is: right or wrong, without scores."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Arrays, PredictedRows
from oochub.outputs.classes import Classes
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import check_class_numbers


class Choices(Classes):
    """One class per row: `label` is its number, -1 outside the label set; `prediction` the number of the one chosen.

    Metrics get label (n,), prediction (n,), correct (n,) and loss (n,), 1 where the choice is wrong. There is no
    probability, so no AUC, NLL, calibration or detector.
    """

    columns = ("prediction",)
    problem_type = ""
    metrics = ("accuracy", "error_rate")
    group_metrics = ("accuracy", "error_rate")
    one_answer = False
    taken = "a column prediction, the name or number of a class"
    rank = -1

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """Never: class numbers are the truth of `classes`, and only answers tell the two apart."""
        return False

    def numbered_names(self, table: pa.Table) -> list[str]:
        """A number for each class up to the largest that is true or chosen."""
        columns = [table.column(name) for name in ("label", "prediction") if pa.types.is_integer(table[name].type)]
        return [str(number) for number in range(max([2, *(pc.max(each).as_py() + 1 for each in columns)]))]

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        check_class_numbers(table, "label", class_names, lowest=-1)
        check_class_numbers(table, "prediction", class_names, lowest=0)

    def prediction(self, predictions: PredictedRows) -> NDArray[np.int64]:
        """The class that was chosen (n,)."""
        return predictions.column("prediction").astype(np.int64)

    def probability(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """A choice has no probability.

        Raises:
            OochubError: Always.
        """
        raise OochubError("These predictions are choices, which have no probability. Read .prediction and .label.")

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label, prediction = predictions.label, predictions.prediction
        correct = label == prediction
        return {"label": label, "prediction": prediction, "correct": correct, "loss": (~correct).astype(np.float64)}

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The classes of the column `prediction`."""
        if not columns.have("prediction"):
            return None
        try:
            chosen = self.given_label(columns, class_names, "prediction")
        except OochubError as error:
            columns.problems.append(f"its prediction cannot be read: {error}")
            return None
        columns.rows_are((chosen < 0) | (chosen >= len(class_names)), "a prediction that is not a class")
        return {"prediction": pa.array(chosen, pa.int64())}

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`prediction`, the class with the largest output."""
        return {"prediction": pa.array(outputs.argmax(axis=1), pa.int64())}
