"""What predictions say of the data that they are of, as the build record of the data set says it.

And the rows of a split as predictions have them, without a model: ids, truth and auxiliary columns; no image is read.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import datasets
import pyarrow as pa

from oochub import catalog
from oochub.output import Output
from oochub.prediction.stored_columns import StoredRows
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.records.metadata import IMAGE_DIGEST, HubDataSet, Metadata, PredictedBy, count_rows

_TOGETHER = 1 << 13


_INPUTS = (datasets.Image, datasets.Audio, datasets.Video, datasets.Array2D, datasets.Array3D, datasets.Array4D)


def describe_data(
    rows: StoredRows,
    info: Any,
    kind: Output,
    *,
    class_names: Sequence[str],
    model: PredictedBy,
    notes: Sequence[str] = (),
    **more: Any,
) -> Metadata:
    """The metadata of predictions of a data set.

    Args:
        rows: Every row; the model's own columns and digests of images, which answers of others lack, do not enter the
            fingerprint of the data.
        info: The `DatasetInfo` of a split.
        kind: The kind of output.
        class_names: Names of the classes of the answers.
        model: Model that answered.
        notes: What else a reader must know, beyond the notes of the build.
        more: Other fields of `Metadata`.
    """
    record = BuildRecord.of(info)
    return Metadata(
        benchmark=record.benchmark if record else _find_benchmark_name(info),
        config=record.config if record else info.config_name or "default",
        version=record.version if record else str(info.version or "0.0.0"),
        notes=(*(record.notes if record else ()), *notes),
        facts=_collect_facts(record, info, kind, class_names),
        kind=kind.name,
        fingerprint=_hash_columns(
            rows.light.drop_columns(
                [name for name in (*kind.columns, kind.text_column, IMAGE_DIGEST) if name in rows.light.column_names]
            )
        ),
        model=model,
        class_names=tuple(class_names),
        rows=count_rows(rows.light.column("split")),
        data_set=HubDataSet.of(info),
        **more,
    )


def _hash_columns(columns: pa.Table) -> str:
    """A digest of columns, some thousand rows at a time."""
    digest = hashlib.sha256()
    for start in range(0, len(columns), _TOGETHER):
        some = columns.slice(start, _TOGETHER).to_pydict()
        digest.update(json.dumps(some, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def _collect_facts(record: BuildRecord | None, info: Any, kind: Output, class_names: Sequence[str]) -> BuildFacts:
    """Those of the build; its class numbers are those of the classes that are answered for."""
    facts = record.facts if record else BuildFacts()
    names = getattr((info.features or {}).get(kind.label_column), "names", None)
    if facts.present_classes is None or names is None or list(names) == list(class_names):
        return facts
    numbers = {name: number for number, name in enumerate(class_names)}
    present = (numbers.get(names[k]) for k in facts.present_classes)
    return replace(facts, present_classes=tuple(number for number in present if number is not None))


def _find_benchmark_name(info: Any) -> str | None:
    """The benchmark of a Parquet repository by its folder's name; None for someone's own data."""
    name = str(info.dataset_name or "")
    return name if name in catalog.names("benchmark") else None


def list_light_columns(part: datasets.Dataset) -> list[str]:
    """The columns of rows but their images, sounds, films and arrays."""
    return [column for column, feature in part.features.items() if not isinstance(feature, _INPUTS)]


def read_split_rows(name: str, part: datasets.Dataset, kind: Output, class_names: Sequence[str]) -> pa.Table:
    """The columns of predictions of a split, but the answers.

    Args:
        name: Name of the split.
        part: Rows of the split; images, sounds, films and arrays are left out.
        kind: The kind of output.
        class_names: Names of the classes of its truth.

    Returns:
        `example_id`, `split`, the truth, then every auxiliary column, class numbers as names, in the order of `part`.

    Raises:
        OochubError: A truth that the kind does not allow.
    """
    n, kept = len(part), list_light_columns(part)
    table = part.select_columns(kept).with_format("arrow")[:] if kept else pa.table({})
    columns = {column: table.column(column) for column in table.column_names}
    ids, truth = columns.pop("example_id", None), columns.pop(kind.label_column, None)
    for column, values in columns.items():
        feature = part.features[column]
        if isinstance(feature, datasets.ClassLabel):
            names = [None if k is None or k < 0 else feature.names[k] for k in values.to_pylist()]
            columns[column] = pa.array(names, pa.string())
    return pa.table(
        {
            "example_id": pa.array([str(row) for row in (range(n) if ids is None else ids.to_pylist())], pa.string()),
            "split": pa.array([name] * n, pa.string()),
            kind.label_column: kind.truth(None if truth is None else truth.to_pylist(), n, class_names),
            **columns,
        }
    )
