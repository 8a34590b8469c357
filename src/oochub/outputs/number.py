"""A number per row, such as a wealth or a temperature, of any sign."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import Answer, Arrays, Output, PredictedRows
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import read_truth


class Number(Output):
    """A number per row: `label` is any finite float, nan where it is unknown; `value` is what the model said.

    Metrics get label (n,), prediction (n,) and loss (n,), the squared error.
    """

    columns = ("value",)
    problem_type = "regression"
    primary_metric = "pearson"
    metrics = ("pearson", "mean_absolute_error", "mean_squared_error")
    group_metrics = ("mean_absolute_error",)
    taken = "a column value"
    has_classes = False
    no_probability = "numbers, which have no probability"

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """Floats."""
        return str(getattr(feature, "dtype", "")).startswith(("float", "double"))

    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """Numbers, nan where there is none."""
        return read_truth("label", [None] * rows if values is None else values, pa.float64()).fill_null(np.nan)

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        for name in ("label", "value"):
            kind = table.schema.field(name).type
            if not (pa.types.is_floating(kind) or (pa.types.is_integer(kind) and name == "label")):
                raise OochubError(f"{name} must hold numbers, got {kind}. Cast the column to float.")
        value, label = (table.column(name).to_numpy().astype(np.float64) for name in ("value", "label"))
        if np.isinf(label).any():
            raise OochubError("label must be finite, or nan if it is unknown; some are infinite. Drop those rows.")
        broken = ~np.isfinite(value)
        if broken.any():
            example = table.column("example_id")[int(np.argmax(broken))]
            raise OochubError(
                f"{broken.sum()} rows have a value that is not finite, first {example}. The model diverged."
            )

    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[np.float64]:
        """Numbers (n,), nan where they are unknown."""
        numbers: NDArray[np.float64] = table.column("label").to_numpy().astype(np.float64)
        return numbers

    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows whose number is known (n,)."""
        is_known: NDArray[np.bool_] = ~np.isnan(label)
        return is_known

    def prediction(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """What the model said (n,)."""
        return predictions.column("value").astype(np.float64)

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label, prediction = predictions.label, predictions.prediction
        return {"label": label, "prediction": prediction, "loss": (label - prediction) ** 2}

    def wrong(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Every row with a known number (n,): the worst of them are those with the largest error."""
        return self.known(arrays["label"])

    def mistake_keys(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """Whether the answer is too high (n,)."""
        too_high: NDArray[np.bool_] = arrays["prediction"] > arrays["label"]
        return too_high

    def answer(self, arrays: Mapping[str, NDArray[Any]], row: int, class_names: Sequence[str]) -> Answer:
        """Both numbers with four digits."""
        label, prediction = float(arrays["label"][row]), float(arrays["prediction"][row])
        return Answer(
            label=f"{label:.4g}",
            predicted=f"{prediction:.4g}",
            probability=float("nan"),
            mistake="too_high" if prediction > label else "too_low",
        )

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`value`, the only output of the model."""
        return {"value": pa.array(np.ascontiguousarray(outputs[:, 0], dtype=np.float32))}

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The numbers of the column `value`."""
        value = columns.numbers("value") if columns.have("value") else None
        return None if value is None else self.store(value[:, None].astype(np.float32))

    def chance(self, predictions: PredictedRows) -> float:
        """The correlation of guesses with the truth: 0."""
        return 0.0
