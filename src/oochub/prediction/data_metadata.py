"""What predictions say of the data that they are of, as the build record of the data set says it."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from oochub import catalog
from oochub.output import Output
from oochub.prediction.stored_rows import StoredRows
from oochub.records.build_record import BuildFacts, BuildRecord
from oochub.records.metadata import HubDataSet, Metadata, PredictedBy, row_counts

_TOGETHER = 1 << 13


def data_metadata(
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
        rows: Every row; the model's own columns do not enter the fingerprint of the data.
        info: The `DatasetInfo` of a split.
        kind: The kind of output.
        class_names: Of the answers.
        model: What answered.
        notes: What else is to be known than the notes of the build.
        more: Other fields of `Metadata`.
    """
    record = BuildRecord.of(info)
    return Metadata(
        benchmark=record.benchmark if record else _benchmark_name(info),
        config=record.config if record else info.config_name or "default",
        version=record.version if record else str(info.version or "0.0.0"),
        notes=(*(record.notes if record else ()), *notes),
        facts=_facts(record, info, kind, class_names),
        kind=kind.name,
        fingerprint=_fingerprint(
            rows.light.drop_columns([name for name in kind.columns if name in rows.light.column_names])
        ),
        model=model,
        class_names=tuple(class_names),
        rows=row_counts(rows.light.column("split")),
        data_set=HubDataSet.of(info),
        **more,
    )


def _fingerprint(columns: pa.Table) -> str:
    """A digest of columns, some thousand rows at a time."""
    digest = hashlib.sha256()
    for start in range(0, len(columns), _TOGETHER):
        some = columns.slice(start, _TOGETHER).to_pydict()
        digest.update(json.dumps(some, sort_keys=True, default=str).encode())
    return digest.hexdigest()


def _facts(record: BuildRecord | None, info: Any, kind: Output, class_names: Sequence[str]) -> BuildFacts:
    """Those of the build; its class numbers are those of the classes that are answered for."""
    facts = record.facts if record else BuildFacts()
    names = getattr((info.features or {}).get(kind.label_column), "names", None)
    if facts.present_classes is None or names is None or list(names) == list(class_names):
        return facts
    numbers = {name: number for number, name in enumerate(class_names)}
    present = (numbers.get(names[k]) for k in facts.present_classes)
    return replace(facts, present_classes=tuple(number for number in present if number is not None))


def _benchmark_name(info: Any) -> str | None:
    """The benchmark of a Parquet repository by its folder's name; None for someone's own data."""
    name = str(info.dataset_name or "")
    return name if name in catalog.names("benchmark") else None
