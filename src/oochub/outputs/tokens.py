"""The next token at each place of a text or file: its number, and of what kind it is."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.metric import TOKEN_KINDS
from oochub.output import Answer, Arrays, Output, PredictedRows
from oochub.records.given_columns import GivenColumns
from oochub.records.output_columns import read_truth

_MASKED, _NONE = -100, -1
_BEFORE = 6  # tokens before the first wrong one
_LONGEST_LINE = 320  # characters
_LARGEST = 2**31 - 1


class Tokens(Output):
    """Numbers of tokens: `tokens` lists those that come next, -100 where nobody asks; `predicted_tokens` the answers.

    Rows may have different lengths; of a row truth and answer have one. A column `kinds`, of lists as long, says what
    each token is: a number of `oochub.metric.TOKEN_KINDS`.

    Metrics get label (n, t), prediction (n, t) and with `kinds` kind (n, t), int, t the length of the longest row and
    -100, -1 and -1 after the end of a shorter one; and loss (n,), the share of the row's tokens that are wrong.
    """

    label_column = "tokens"
    columns = ("predicted_tokens",)
    problem_type = "next_token"
    primary_metric = "token_accuracy"
    metrics = ("token_accuracy",)
    taken = "a column predicted_tokens, a list of whole numbers per row"
    beside = ("kinds",)
    has_classes = False
    no_probability = "tokens without probabilities"

    @classmethod
    def is_truth(cls, feature: Any) -> bool:
        """Lists of whole numbers."""
        return str(getattr(getattr(feature, "feature", None), "dtype", "")).startswith("int")

    def truth(self, values: Sequence[Any] | None, rows: int, class_names: Sequence[str]) -> pa.Array:
        """The lists as they are; empty ones of a data set without truth."""
        return read_truth("tokens", [[]] * rows if values is None else values, pa.list_(pa.int32()))

    def check(self, table: pa.Table, class_names: Sequence[str]) -> None:
        """See `Output.check`."""
        lengths = []
        for name, lowest in (("tokens", _MASKED), ("predicted_tokens", _NONE)):
            column = _read_lists(table, name)
            flat, rows = column.flatten().to_numpy(zero_copy_only=False), pc.list_parent_indices(column).to_numpy()
            wrong = ((flat < 0) & (flat != lowest)) | (flat > _LARGEST)
            if wrong.any():
                row = table.column("example_id")[int(rows[np.argmax(wrong)])]
                raise OochubError(
                    f"{name} must be numbers of tokens, 0 to {_LARGEST}, or {lowest} for none, got {flat[wrong][0]} in "
                    f"{row}."
                )
            lengths.append(column.value_lengths().to_numpy())
        n_labels, n_answers = lengths
        wrong = (n_labels != n_answers) & (n_labels > 0)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise OochubError(
                f"{table.column('example_id')[row]} has {n_labels[row]} tokens but {n_answers[row]} predicted_tokens "
                f"({wrong.sum()} such rows). Pass one answer for each position."
            )

    def label(self, table: pa.Table, class_names: Sequence[str]) -> NDArray[np.int32]:
        """Numbers of tokens (n, t), -100 where nobody asks or a row has ended."""
        return _pad_lists(_read_lists(table, "tokens"), _MASKED)

    def known(self, label: NDArray[Any]) -> NDArray[np.bool_]:
        """Rows with a token that is asked for (n,)."""
        is_known: NDArray[np.bool_] = np.asarray((label >= 0).any(axis=1))
        return is_known

    def prediction(self, predictions: PredictedRows) -> NDArray[np.int32]:
        """The tokens that the model says (n, t), -1 where a row has ended."""
        width = predictions.label.shape[1]
        return _pad_lists(_read_lists(predictions.rows.light, "predicted_tokens"), _NONE, width)

    def arrays(self, predictions: PredictedRows, allowed: NDArray[np.int64] | None = None) -> Arrays:
        """See `Output.arrays` and the class.

        Raises:
            OochubError: Kinds that are not as many as the tokens.
        """
        label, prediction = predictions.label, predictions.prediction[:, : predictions.label.shape[1]]
        is_scored = label >= 0
        right = (label == prediction).sum(axis=1)
        arrays = {"label": label, "prediction": prediction, "loss": 1 - right / np.maximum(is_scored.sum(axis=1), 1)}
        if "kinds" in predictions.column_names:
            arrays["kind"] = self.kinds(predictions.rows.light)
        return arrays

    def kinds(self, table: pa.Table) -> NDArray[np.int8]:
        """What each token is (n, t), a number of `TOKEN_KINDS`, -1 where nobody asks or a row has ended.

        Args:
            table: Table with `kinds` and `tokens`.

        Raises:
            OochubError: Kinds that are not as many as the tokens, no whole numbers, or of no kind.
        """
        kinds, tokens = _read_lists(table, "kinds"), _read_lists(table, "tokens")
        differ = kinds.value_lengths().to_numpy() != tokens.value_lengths().to_numpy()
        if differ.any():
            row = int(np.argmax(differ))
            raise OochubError(
                f"Row {row} has different numbers of kinds and tokens ({differ.sum()} such rows). Give each token "
                "its kind."
            )
        flat = kinds.flatten().to_numpy(zero_copy_only=False)
        wrong = ((flat < 0) & (flat != _NONE) & (flat != _MASKED)) | (flat >= len(TOKEN_KINDS))
        if wrong.any():
            row = int(pc.list_parent_indices(kinds)[int(np.argmax(wrong))].as_py())
            allowed = ", ".join(f"{number} ({name})" for number, name in enumerate(TOKEN_KINDS))
            raise OochubError(
                f"Row {row}: kinds must be {allowed} or {_NONE} if the token is not scored, got {flat[wrong][0]}."
            )
        return _pad_lists(kinds, _NONE).astype(np.int8)

    def wrong(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[np.bool_]:
        """Rows with a wrong token (n,)."""
        label = arrays["label"]
        wrong: NDArray[np.bool_] = np.asarray(((label != arrays["prediction"]) & (label >= 0)).any(axis=1))
        return wrong

    def mistake_keys(self, arrays: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
        """The token that is first answered wrong (n,)."""
        label = arrays["label"]
        first = ((label != arrays["prediction"]) & (label >= 0)).argmax(axis=1)
        token: NDArray[Any] = label[np.arange(len(label)), first]
        return token

    def answer(self, arrays: Mapping[str, NDArray[Any]], row: int, class_names: Sequence[str]) -> Answer:
        """How many tokens there are, and how many are right."""
        label = arrays["label"][row]
        n_scored, right = int((label >= 0).sum()), int((label == arrays["prediction"][row]).sum())
        return Answer(
            label=f"{n_scored:,} tokens",
            predicted=f"{right:,} of them right",
            probability=float("nan"),
            mistake="tokens",
        )

    def line(self, arrays: Mapping[str, NDArray[Any]], row: int, vocabulary: Sequence[str]) -> str:
        """The true tokens around the first wrong ones, each wrong one as ⟦truth, said answer⟧; see `Output.line`."""
        label, prediction = arrays["label"][row], arrays["prediction"][row]
        scored = np.flatnonzero(label >= 0)
        first = max(0, int(np.argmax(label[scored] != prediction[scored])) - _BEFORE)
        line = "… " if first else ""
        for place in scored[first:]:
            true, answer = (_decode_token(int(numbers[place]), vocabulary) for numbers in (label, prediction))
            line += true if label[place] == prediction[place] else f" ⟦{true.strip()}, said {answer.strip()}⟧ "
            if len(line) > _LONGEST_LINE:
                line += " …"
                break
        return " ".join(line.split())

    def store(self, outputs: NDArray[np.float32]) -> dict[str, pa.Array]:
        """`predicted_tokens`: the numbers of a row (n, t), without those below 0 after its end."""
        numbers, is_valid = outputs.astype(np.int32), outputs >= 0
        offsets = np.concatenate([[0], np.cumsum(is_valid.sum(axis=1))]).astype(np.int32)
        return {"predicted_tokens": pa.ListArray.from_arrays(offsets, pa.array(numbers[is_valid]))}

    def given(self, columns: GivenColumns, class_names: Sequence[str]) -> dict[str, pa.Array] | None:
        """The lists of `predicted_tokens`, a whole number for each place."""
        if not columns.have("predicted_tokens"):
            return None
        values = columns.values("predicted_tokens")
        inner = getattr(values.type, "value_type", pa.null())
        flat = values.flatten() if not pa.types.is_null(inner) else None
        if flat is None or values.null_count or flat.null_count or not _is_whole(flat):
            columns.problems.append(f"predicted_tokens must be lists of whole numbers of tokens, got {values.type}")
            return None
        return {"predicted_tokens": values.cast(pa.list_(pa.int32()))}


def _decode_token(number: int, vocabulary: Sequence[str]) -> str:
    """The text of a token, with the spaces around it; its number where that is not known."""
    text = vocabulary[number] if 0 <= number < len(vocabulary) else f" {number}"
    return text.replace("\n", " ⏎ ")


def _is_whole(flat: pa.Array) -> bool:
    """Whether an array holds whole numbers that int32 takes, as such or as floats."""
    if not (pa.types.is_integer(flat.type) or pa.types.is_floating(flat.type)):
        return False
    numbers = flat.to_numpy(zero_copy_only=False)
    return bool(((numbers % 1 == 0) & (np.abs(numbers) < 2**31)).all())


def _read_lists(table: pa.Table, name: str) -> pa.ListArray:
    """A column of lists of whole numbers."""
    column = table.column(name).combine_chunks()
    if not pa.types.is_integer(getattr(column.type, "value_type", pa.null())) or pa.types.is_dictionary(column.type):
        empty = pa.types.is_list(column.type) and not len(column.flatten())
        if not empty:
            raise OochubError(f"{name} must be lists of whole numbers, one list per row, got {column.type}.")
        column = column.cast(pa.list_(pa.int32()))
    if column.null_count or column.flatten().null_count:
        raise OochubError(
            f"Every row needs {name}, a number for each token. Pass {_MASKED} for tokens that are not scored."
        )
    return column


def _pad_lists(column: pa.ListArray, filling: int, width: int = 0) -> NDArray[np.int32]:
    """Lists as the rows of a matrix (n, longest, at least `width`)."""
    lengths = column.value_lengths().to_numpy()
    places = np.arange(max(width, int(lengths.max(initial=0))))
    matrix = np.full((len(column), len(places)), filling, np.int32)
    matrix[places < lengths[:, None]] = column.flatten().to_numpy(zero_copy_only=False)
    return matrix
