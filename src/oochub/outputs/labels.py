"""Several labels per row, each of them there or not: a logit and a sigmoid for each."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import expit, logit

from oochub.errors import OochubError
from oochub.output import Answer, Arrays, Output, PredictedRows
from oochub.records.build_record import BuildRecord
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import check_logits, check_vectors, make_vectors, read_truth

_SHOWN = 3  # labels in the words of a row


class Labels(Output):
    """Several labels per row: `labels` is a list of k numbers, 1, 0, or nan for unknown, or a list of those that hold.

    Metrics get label (n, k) float, nan unknown; probability (n, k), a sigmoid each; score (n, k), the logits;
    prediction (n, k), 1 where the probability is above one half; and loss (n,), the mean binary cross entropy of the
    known labels in nats.
    """

    label_column = "labels"
    columns = ("logits",)
    problem_type = "multi_label_classification"
    primary_metric = "mean_average_precision"
    metrics = ("mean_average_precision",)
    group_metrics = ("mean_average_precision",)
    taken = "logits or probability, a list a row or columns logit_<label> or probability_<label>"

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """A List of ClassLabel or whole numbers, those that hold, or of floats: 1, 0, or nan for unknown."""
        inner = getattr(feature, "feature", None)
        return hasattr(inner, "names") or str(getattr(inner, "dtype", "")).startswith(("int", "uint", "float"))

    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """The lists as they are; nan for every label of a data set without truth."""
        if values is None:
            return pa.array([[np.nan] * len(class_names)] * rows, pa.list_(pa.float32()))
        is_number = any(isinstance(number, float) for row in values for number in row or ())
        return read_truth("labels", values, pa.list_(pa.float32() if is_number else pa.int64()))

    def class_names(self, dataset: Any) -> list[str] | None:
        """The names of the labels; floats without names take those in the build record, else their numbers from 0."""
        names, feature = super().class_names(dataset), dataset.features[self.label_column]
        if names is not None or not str(feature.feature.dtype).startswith("float"):
            return names
        record = BuildRecord.of(dataset.info)
        if record is not None and record.facts.label_names is not None:
            return list(record.facts.label_names)
        first = next(iter(dataset.select_columns([self.label_column])))[self.label_column]
        return [str(number) for number in range(len(first))]

    def numbered_names(self, table: pa.Table) -> list[str]:
        """A number for each logit."""
        return [str(number) for number in range(check_vectors(table, "logits") if table.num_rows else 1)]

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        check_logits(table, len(class_names), class_names)
        self.label(table, class_names)

    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[np.float64]:
        """(n, k): 1 where a label holds, 0 where not, nan where nobody knows."""
        column, k = table.column("labels").combine_chunks(), len(class_names)
        inner = getattr(column.type, "value_type", None)
        if inner is None or not (pa.types.is_integer(inner) or pa.types.is_floating(inner)):
            raise OochubError(f"labels must be lists of numbers, one list per row, got {column.type}.")
        if column.null_count:
            raise OochubError("Every row needs labels; an empty list means that none of them applies.")
        lengths, flat = column.value_lengths().to_numpy(), column.flatten().to_numpy(zero_copy_only=False)
        if pa.types.is_floating(inner):
            if set(lengths.tolist()) != {k}:
                raise OochubError(
                    f"labels must be {k} numbers per row ({', '.join(class_names[:6])}), got {set(lengths)}."
                )
            wrong = ~(np.isin(flat, (0, 1)) | np.isnan(flat))
            if wrong.any():
                raise OochubError(f"labels must be 0, 1 or nan (unknown), got {flat[wrong][0]}.")
            hot: NDArray[np.float64] = flat.astype(np.float64).reshape(-1, k)
            return hot
        if flat.size and (flat.min() < 0 or flat.max() >= k):
            raise OochubError(
                f"labels that apply must be numbers in 0..{k - 1}, got {int(flat.min())} to {int(flat.max())}."
            )
        hot, rows = np.zeros((len(column), k), np.float64), np.repeat(np.arange(len(column)), lengths)
        hot[rows, flat.astype(np.intp)] = 1
        if hot.sum() < len(flat):
            raise OochubError(
                "labels that apply must be class numbers, each at most once per row, but some row has one twice. If "
                "they are 0 and 1 for each label, give them as floats."
            )
        return hot

    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows of which some label is known (n,)."""
        is_known: NDArray[np.bool_] = ~np.isnan(label).all(axis=1)
        return is_known

    def prediction(self, predictions: PredictedRows) -> NDArray[np.int64]:
        """1 where the probability of a label is above one half (n, k)."""
        return (predictions.logits > 0).astype(np.int64)

    def probability(self, predictions: PredictedRows) -> NDArray[np.float64]:
        """The sigmoid (n, k) of the logits, in float64."""
        probability: NDArray[np.float64] = expit(predictions.logits.astype(np.float64))
        return probability

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class."""
        label, logits = predictions.label, predictions.logits.astype(np.float64)
        losses = np.logaddexp(0.0, np.where(label == 1, -logits, logits)) * ~np.isnan(label)
        count = np.maximum((~np.isnan(label)).sum(axis=1), 1)
        return {
            "label": label,
            "probability": predictions.probability,
            "score": logits,
            "prediction": predictions.prediction,
            "loss": losses.sum(axis=1) / count,
        }

    def wrong(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Rows of which some known label is answered wrong (n,)."""
        label = arrays["label"]
        wrong: NDArray[np.bool_] = ((arrays["prediction"] != label) & ~np.isnan(label)).any(axis=1)
        return wrong

    def mistake_keys(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The first label that is answered wrong (n,)."""
        label = arrays["label"]
        first: NDArray[np.int64] = ((arrays["prediction"] != label) & ~np.isnan(label)).argmax(axis=1)
        return first

    def answer(self, arrays: Mapping[str, NDArray[Any]], row: int, class_names: Sequence[str]) -> Answer:
        """The labels that hold, and those that the model says hold, a few by name."""
        return Answer(
            label=_list_names(arrays["label"][row] == 1, class_names),
            predicted=_list_names(arrays["prediction"][row] == 1, class_names),
            probability=float("nan"),
            mistake="labels",
        )

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`logits`, a list per row."""
        return {"logits": make_vectors(outputs)}

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """Logits, or probabilities as the logits of which they are the sigmoid."""
        if columns.have("logits", "logit_"):
            logits = columns.matrix("logits", "logit_", class_names)
        elif columns.have("probability", "probability_"):
            numbers = columns.matrix("probability", "probability_", class_names)
            probability = None if numbers is None else columns.within_0_and_1(numbers, "probability")
            logits = None if probability is None else logit(probability)
        else:
            return None
        return None if logits is None else self.store(logits.astype(np.float32))

    def chance(self, predictions: PredictedRows) -> float:
        """The mean share of rows that have a label, over those ranked: the mean average precision of guessing."""
        shares = [np.nanmean(column) for column in predictions.label.T if (column == 0).any() and (column == 1).any()]
        return float(np.mean(shares)) if shares else float("nan")


def _list_names(there: NDArray[np.bool_], class_names: Sequence[str]) -> str:
    names = [class_names[k] for k in np.flatnonzero(there).tolist()]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more or "none"
