"""What a model said about each example: a table that opens in pandas and carries where it comes from."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.files import written_whole

_KEY = b"oochub"
_REQUIRED = ("example_id", "split", "label", "logits")
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class Predictions:
    """One row an example: `example_id`, `split`, `label`, `logits`, and every auxiliary column of the data set.

    Attributes:
        table: The rows as an Arrow table. `label` is the class number, -1 outside the label set; `logits` float32
            (n, c); columns of class names hold the names; `thumbnail`, where present, a small JPEG of some rows.
        metadata: benchmark, config, version, fingerprint, model, class_names, notes, rows, versions, provenance.

    Raises:
        OochubError: A required column is missing, an example occurs twice in a split or is missing, logits are not
            finite, a label is not a class.
    """

    table: pa.Table
    metadata: Mapping[str, Any]

    def __post_init__(self) -> None:
        _check(self.table, self.metadata)

    @classmethod
    def load(cls, path: str | Path) -> "Predictions":
        """Reads a file written by `save` (or any Parquet file with the same columns and metadata)."""
        path = Path(path).expanduser()
        if not path.is_file():
            raise OochubError(
                f"No predictions at {path}. `oochub predict MODEL BENCHMARK/CONFIG --out {path}` makes them."
            )
        try:
            table = pq.read_table(path)
        except (pa.ArrowInvalid, OSError) as error:
            raise OochubError(f"{path} is not a Parquet file, or is cut off ({error}). Make it again.") from error
        metadata = (table.schema.metadata or {}).get(_KEY)
        if metadata is None:
            raise OochubError(
                f"{path} is Parquet without oochub's metadata, so benchmark and class names are unknown. "
                "Write it with Predictions(table, metadata).save(path)."
            )
        try:
            return cls(table.replace_schema_metadata(None), json.loads(metadata))
        except OochubError as error:
            raise OochubError(f"{path}: {error}") from None

    def save(self, path: str | Path) -> Path:
        """Writes the table as Parquet with the metadata in its schema; whole or not at all."""
        metadata = {_KEY: json.dumps(self.metadata, sort_keys=True).encode()}
        with written_whole(path) as draft:
            pq.write_table(self.table.replace_schema_metadata(metadata), draft, compression="zstd")
        return Path(path)

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

    @cached_property
    def logits(self) -> NDArray[np.float32]:
        """(n, c) float32."""
        return _matrix(self.table.column("logits"))

    @cached_property
    def features(self) -> NDArray[np.float32] | None:
        """(n, d) float32, None where they were not stored."""
        return _matrix(self.table.column("features")) if "features" in self.table.column_names else None

    @property
    def label(self) -> NDArray[np.int64]:
        """(n,) class numbers, -1 outside the label set."""
        return self.column("label").astype(np.int64)

    @property
    def split(self) -> NDArray[Any]:
        """(n,) names of the splits."""
        return self.column("split")

    @property
    def class_names(self) -> list[str]:
        """Names of the c classes."""
        return list(self.metadata["class_names"])

    @cached_property
    def probability(self) -> NDArray[np.float64]:
        """(n, c) softmax of the logits in float64."""
        shifted = self.logits.astype(np.float64)
        shifted -= shifted.max(axis=1, keepdims=True)
        exponents: NDArray[np.float64] = np.exp(shifted)
        exponents /= exponents.sum(axis=1, keepdims=True)
        return exponents

    @property
    def prediction(self) -> NDArray[np.int64]:
        """(n,) the class with the largest logit; the first of equals."""
        largest: NDArray[np.int64] = self.logits.argmax(axis=1)
        return largest

    @cached_property
    def digest(self) -> str:
        """SHA-256 over examples, labels and logits: equal for equal predictions, whenever and wherever made."""
        digest = hashlib.sha256(json.dumps([self.table.column(n).to_pylist() for n in _REQUIRED[:3]]).encode())
        digest.update(self.logits.tobytes())
        return digest.hexdigest()

    def select(self, mask: NDArray[np.bool_]) -> "Predictions":
        """The rows where `mask` is true."""
        table = self.table.filter(pa.array(mask))
        return Predictions(table, {**self.metadata, "rows": row_counts(table.column("split").to_pylist())})


def concatenate(parts: Sequence[Predictions]) -> Predictions:
    """One Predictions of several files of the same model on different splits or sets.

    Raises:
        OochubError: No part, parts of different models, benchmarks or classes, or an example in two parts.
    """
    if not parts:
        raise OochubError("There are no predictions. Give at least one Predictions or the path of one.")
    first = parts[0]
    for part in parts[1:]:
        for key in ("benchmark", "config", "class_names", "model"):
            if part.metadata[key] != first.metadata[key]:
                raise OochubError(
                    f"These predictions differ in {key}: {first.metadata[key]} and {part.metadata[key]}. "
                    "A report is about one model on one benchmark; `oochub compare` sets reports side by side."
                )
    if len(parts) == 1:
        return first
    table = pa.concat_tables([part.table for part in parts], promote_options="permissive")
    digest = hashlib.sha256("".join(str(part.metadata["fingerprint"]) for part in parts).encode()).hexdigest()
    rows = row_counts(table.column("split").to_pylist())
    return Predictions(table, {**first.metadata, "fingerprint": digest, "rows": rows})


def row_counts(split: Sequence[str]) -> dict[str, int]:
    """How many rows each split has, in order of appearance."""
    return {str(name): int(count) for name, count in pd.Series(split).value_counts(sort=False).items()}


def _matrix(column: pa.ChunkedArray) -> NDArray[np.float32]:
    values = column.combine_chunks()
    flat: NDArray[np.float32] = values.flatten().to_numpy(zero_copy_only=False).astype(np.float32, copy=False)
    return flat.reshape(len(values), -1)


def _check(table: pa.Table, metadata: Mapping[str, Any]) -> None:
    missing = [name for name in _REQUIRED if name not in table.column_names]
    if missing:
        raise OochubError(f"Predictions need the columns {', '.join(_REQUIRED)}; {', '.join(missing)} missing.")
    lacking = [key for key in ("benchmark", "config", "version", "model", "class_names", "rows") if key not in metadata]
    if lacking:
        raise OochubError(f"The predictions' metadata lack {', '.join(lacking)}. `oochub predict` writes them.")
    if not table.num_rows:
        raise OochubError("The predictions hold no row.")
    nulls = [name for name in _REQUIRED if table.column(name).null_count]
    if nulls:
        raise OochubError(f"Every row needs {', '.join(_REQUIRED)}; {', '.join(nulls)} empty in some.")
    keys = pd.DataFrame({name: table.column(name).to_pandas() for name in ("split", "example_id")})
    doubled = keys[keys.duplicated()]
    if len(doubled):
        first = doubled.iloc[0]
        raise OochubError(
            f"{len(doubled)} examples occur twice, first {first['example_id']} in split {first['split']}. "
            "Each example must be predicted once; predict again, or drop the copies."
        )
    found = row_counts(keys["split"].tolist())
    if found != dict(metadata["rows"]):
        told = ", ".join(f"{split}: {found.get(split, 0)} of {n}" for split, n in metadata["rows"].items())
        raise OochubError(f"Examples are missing ({told}). Predict again; a score on a part is not the benchmark's.")
    classes = len(metadata["class_names"])
    lengths = set(table.column("logits").combine_chunks().value_lengths().to_pylist()) if table.num_rows else set()
    if lengths != {classes}:
        raise OochubError(f"Every row needs {classes} logits, one a class ({metadata['class_names']}), got {lengths}.")
    logits = _matrix(table.column("logits"))
    broken = ~np.isfinite(logits).all(axis=1)
    if broken.any():
        example = keys["example_id"][int(np.argmax(broken))]
        raise OochubError(f"{broken.sum()} rows have logits that are not finite, first {example}. The model diverged.")
    label = table.column("label").to_numpy()
    wrong = (label < -1) | (label >= classes)
    if wrong.any():
        raise OochubError(f"{wrong.sum()} labels are not one of the {classes} classes or -1, first {label[wrong][0]}.")
