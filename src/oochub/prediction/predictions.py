"""What a model said about each example: a table that opens in pandas and carries where it comes from."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from oochub.artifacts import PREDICTIONS
from oochub.errors import OochubError
from oochub.output import Output, output_of, output_of_columns
from oochub.output_columns import check_vectors, class_numbers, column_of, text_column, vectors
from oochub.parquet_file import Integrity, read_parquet, write_parquet
from oochub.prediction.metadata import Metadata, PredictedBy, check_rows, read_metadata, row_counts
from oochub.schema import to_json

_KEY = b"oochub"
_ROW = ("example_id", "split")


@dataclass(frozen=True)
class Predictions:
    """One row an example: `example_id`, `split`, its truth, the model's answer, and every auxiliary column.

    The truth and the answer are those of the kind of output (`metadata.kind`): `label` and `logits` of classes,
    `labels` and `logits` of several labels, `label` and `value` of a number; see `oochub.names("output")`.

    Attributes:
        table: The rows as an Arrow table. `label` of classes is the class number, -1 outside the label set; `logits`
            float32 (n, c); columns of class names hold the names; `thumbnail`, where present, a small JPEG of some
            rows.
        metadata: What the predictions say of themselves; JSON types are read into a `Metadata`.
        integrity: Of a file that was read, whether its bytes were compared with its seal; None for rows in memory.

    Raises:
        OochubError: A required column is missing, an example occurs twice in a split or is missing, logits are not
            finite, a label is not a class, or a field of the metadata is missing or of another type.
    """

    table: pa.Table
    metadata: Metadata
    integrity: Integrity | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "metadata", read_metadata(to_json(self.metadata), self.table.column_names))
        check_rows(self.table, self.metadata)

    @classmethod
    def load(cls, path: str | Path) -> "Predictions":
        """Reads a file written by `save` (or any Parquet file with the same columns and metadata)."""
        path = Path(path).expanduser()
        if not path.is_file():
            raise OochubError(
                f"No predictions at {path}. `oochub predict MODEL BENCHMARK/CONFIG --out {path}` makes them."
            )
        table, integrity = read_parquet(path)
        metadata = (table.schema.metadata or {}).get(_KEY)
        if metadata is None:
            raise OochubError(
                f"{path} is Parquet without oochub's metadata, so benchmark and class names are unknown. "
                "Write it with Predictions.from_pandas(frame, class_names=[...]).save(path)."
            )
        try:
            return cls(table.replace_schema_metadata(None), read_metadata(metadata, table.column_names), integrity)
        except OochubError as error:
            raise OochubError(f"{path}: {error}") from None

    @classmethod
    def from_arrays(
        cls,
        *,
        logits: Any = None,
        label: Any = None,
        class_names: Sequence[str] | None = None,
        example_id: Sequence[Any] | None = None,
        split: str | Sequence[str] = "test",
        benchmark: str | None = None,
        config: str | None = None,
        model: str | None = None,
        kind: str | None = None,
        **columns: Any,
    ) -> "Predictions":
        """Predictions of arrays that you have, of any model.

        Args:
            logits: Floats (n, c), one a class or label; None for a kind of output without logits.
            label: Class numbers (n,), -1 outside the label set; or numbers (n,) for the kind `number`.
            class_names: Names of the c classes; None numbers them.
            example_id: Ids (n,), unique in a split; None numbers the rows.
            split: One name for all rows, or a name for each.
            benchmark: Name of the benchmark; None for your own data.
            config: Its configuration.
            model: What a report calls the model.
            kind: Name of the kind of output; None takes the one whose columns are given.
            **columns: More columns (n, ...): `value` of a number, `labels` of several labels, `features`, `group`,
                `challenge`, ...

        Raises:
            OochubError: Arrays of different lengths, or what `Predictions` refuses.

        >>> predictions = Predictions.from_arrays(logits=[[2.0, 0.0], [0.0, 1.0]], label=[0, 0], model="mine")
        >>> predictions.prediction.tolist(), predictions.class_names, predictions.metadata.benchmark
        ([0, 1], ['0', '1'], None)
        >>> Predictions.from_arrays(value=[0.4, -1.0], label=[0.5, -2.0]).metadata.kind
        'number'
        """
        given = {"label": label, "logits": logits, **columns}
        given = {name: values for name, values in given.items() if values is not None}
        arrays = {name: column_of(name, values) for name, values in given.items()}
        n = len(next(iter(arrays.values()))) if arrays else 0
        ids = text_column("example_id", range(n) if example_id is None else example_id)
        rows = {"example_id": ids, "split": text_column("split", [split] * n if isinstance(split, str) else split)}
        rows |= arrays
        lengths = {name: len(values) for name, values in rows.items()}
        if not arrays or len(set(lengths.values())) != 1:
            shown = ", ".join(f"{name}: {length}" for name, length in lengths.items()) if arrays else "no array"
            raise OochubError(f"Arrays of predictions have one length, a row an example; got {shown}.")
        kind, table = kind or output_of_columns(list(given)), pa.table(rows)
        if class_names is None:
            width = check_vectors(table, "logits") if "logits" in given and n else 1
            class_names = [str(k) for k in range(width)] if "logits" in given else [output_of(kind).label_column]
        metadata = Metadata(
            kind=kind,
            benchmark=benchmark,
            config=config or "default",
            model=PredictedBy(id=model),
            class_names=class_names if isinstance(class_names, str) else tuple(class_names),  # type: ignore[arg-type]
            rows=row_counts(table.column("split").to_pylist()),
        )
        return cls(table, metadata)

    @classmethod
    def from_pandas(
        cls,
        frame: pd.DataFrame,
        *,
        logits: str | Sequence[str] = "logits",
        class_names: Sequence[str] | None = None,
        benchmark: str | None = None,
        config: str | None = None,
        model: str | None = None,
        kind: str | None = None,
    ) -> "Predictions":
        """Predictions of a data frame: a row an example, a column for each name of `from_arrays`.

        Args:
            frame: With `label`, `logits` (a list a row) or `value`, and any of `example_id`, `split`, and auxiliary
                columns. A label of text is one of `class_names`.
            logits: The column of logits, or one column for each class, in the order of the classes.
            class_names: See `from_arrays`; None takes the names of the columns of logits where they are several.
            benchmark: See `from_arrays`.
            config: See `from_arrays`.
            model: See `from_arrays`.
            kind: See `from_arrays`.

        Raises:
            OochubError: A column of logits that is not there, a label of text that is no class, and what
                `Predictions` refuses.

        >>> frame = pd.DataFrame({"cat": [2.0, 0.1], "dog": [0.0, 1.0], "label": ["cat", "cat"]})
        >>> Predictions.from_pandas(frame, logits=["cat", "dog"]).label.tolist()
        [0, 0]
        """
        several = [] if isinstance(logits, str) else list(logits)
        twice = [str(name) for name in frame.columns[frame.columns.duplicated()]]
        if twice or (several and "logits" in frame and "logits" not in several):
            found = f"the column {twice[0]} twice" if twice else "a column logits beside those named by logits=[...]"
            raise OochubError(f"The frame has {found}. Rename or drop one.")
        missing = [name for name in several if name not in frame]
        if missing:
            raise OochubError(f"The frame has no column {', '.join(missing)}, only {', '.join(map(str, frame))}.")
        columns: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame if name not in (*several, *_ROW)}
        if several:
            columns["logits"] = frame[several].to_numpy()
        elif logits in columns:
            columns["logits"] = list(columns.pop(logits))
        names = list(class_names or map(str, several)) or None
        label = columns.get("label")
        if label is not None and label.dtype.kind in "OUT" and names is not None:
            columns["label"] = class_numbers(list(map(str, label)), names)
        return cls.from_arrays(
            example_id=frame["example_id"].tolist() if "example_id" in frame else None,
            split=frame["split"].tolist() if "split" in frame else "test",
            class_names=names,
            benchmark=benchmark,
            config=config,
            model=model,
            kind=kind,
            **columns,
        )

    def save(self, path: str | Path) -> Path:
        """Writes the table as Parquet with the metadata in its schema, sealed; whole or not at all."""
        metadata = {_KEY: json.dumps(to_json(self.metadata), sort_keys=True).encode()}
        return write_parquet(self.table.replace_schema_metadata(metadata), path, kind=PREDICTIONS)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a DataFrame."""
        frame: pd.DataFrame = self.table.to_pandas()
        return frame

    def column(self, name: str) -> NDArray[Any]:
        """One column as an array: text as strings, numbers as they are, nested columns as objects."""
        if name not in self.table.column_names:
            raise OochubError(
                f"The predictions have no column {name!r}. They have {', '.join(self.table.column_names)}."
            )
        values = self.table.column(name).combine_chunks()
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        array: NDArray[Any] = values.to_numpy(zero_copy_only=False)
        return array.astype(str) if pa.types.is_string(values.type) else array

    def vectors(self, name: str) -> NDArray[np.float32]:
        """A column of lists of one length, such as `odin_logits`, as float32 (n, k)."""
        return vectors(self.table.column(name))

    @cached_property
    def output(self) -> Output:
        """The kind of output."""
        return output_of(self.metadata.kind)

    @cached_property
    def logits(self) -> NDArray[np.float32]:
        """(n, c) float32.

        Raises:
            OochubError: A kind of output without logits.
        """
        if "logits" not in self.output.columns:
            raise OochubError(f"These predictions are of the kind {self.metadata.kind}, which has no logits.")
        return self.vectors("logits")

    @cached_property
    def features(self) -> NDArray[np.float32] | None:
        """(n, d) float32, None where they were not stored."""
        return self.vectors("features") if "features" in self.table.column_names else None

    @cached_property
    def label(self) -> NDArray[Any]:
        """The truth: class numbers int64 (n,), -1 outside the label set; labels float (n, k); or numbers float (n,)."""
        return self.output.label(self.table, self.class_names)

    @property
    def split(self) -> NDArray[Any]:
        """(n,) names of the splits."""
        return self.column("split")

    @property
    def class_names(self) -> list[str]:
        """Names of the c classes."""
        return list(self.metadata.class_names)

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """Probabilities in float64: of classes the softmax (n, c), of labels a sigmoid each (n, k).

        Raises:
            OochubError: A kind of output that has none.
        """
        return self.output.probability(self)

    @property
    def prediction(self) -> NDArray[Any]:
        """The answer, of the shape of `label`; of classes the one with the largest logit, the first of equals."""
        return self.output.prediction(self)

    @cached_property
    def digest(self) -> str:
        """SHA-256 over examples, truth and answers: equal for equal predictions, whenever and wherever made."""
        names = (*_ROW, self.output.label_column)
        digest = hashlib.sha256(json.dumps([self.table.column(name).to_pylist() for name in names]).encode())
        for name in self.output.columns:
            is_list = pa.types.is_list(self.table.schema.field(name).type)
            digest.update((self.vectors(name) if is_list else self.column(name)).tobytes())
        return digest.hexdigest()

    def select(self, mask: NDArray[np.bool_]) -> "Predictions":
        """The rows where `mask` is true."""
        return self.with_table(self.table.filter(pa.array(mask)))

    def with_table(self, table: pa.Table) -> "Predictions":
        """The same predictions with other rows or columns."""
        rows = row_counts(table.column("split").to_pylist())
        return replace(self, table=table, metadata=replace(self.metadata, rows=rows))
