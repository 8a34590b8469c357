"""Joins predictions of one model on several splits or sets."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from oochub.errors import OochubError
from oochub.prediction.check_rows import check_answers
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_rows import StoredRows
from oochub.records.metadata import row_counts
from oochub.records.schema import to_json
from oochub.storage.parquet_file import Integrity


def concatenate(parts: Sequence[Predictions]) -> Predictions:
    """One Predictions of several files of the same model on different splits or sets.

    Raises:
        OochubError: No part, parts of different models, benchmarks or classes, or an example in two parts.
    """
    if not parts:
        raise OochubError("There are no predictions. Give at least one Predictions or the path of one.")
    first = parts[0]
    for part in parts[1:]:
        for name in ("benchmark", "config", "class_names", "model"):
            values = [getattr(each.metadata, name) for each in (first, part)]
            if values[0] != values[1]:
                shown = " and ".join(str(to_json(value)) for value in values)
                raise OochubError(
                    f"These predictions differ in {name}: {shown}. "
                    "A report is about one model on one benchmark; `oochub compare` sets reports side by side."
                )
    if len(parts) == 1:
        return first
    rows = StoredRows.joined([part.rows for part in parts])
    digest = hashlib.sha256("".join(part.metadata.fingerprint for part in parts).encode()).hexdigest()
    counts = row_counts(rows.light.column("split"))
    shared = {part.metadata.data_set for part in parts}
    data_set = first.metadata.data_set if len(shared) == 1 else None
    metadata = replace(first.metadata, fingerprint=digest, rows=counts, data_set=data_set)
    joined = Predictions(rows, metadata, common_integrity(parts), first.stored_head)
    if any(set(part.column_names) != set(first.column_names) for part in parts):
        check_answers(rows, joined.metadata)  # vectors that some of them lack
    return joined


def common_integrity(parts: Iterable[Predictions]) -> Integrity | None:
    """What holds of several predictions together: "not checked" where one file was not; None for rows in memory."""
    found = {part.integrity for part in parts}
    return "not checked" if "not checked" in found else "checked" if "checked" in found else None
