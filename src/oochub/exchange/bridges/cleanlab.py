"""cleanlab: labels and probabilities for it to judge, and its table of issues as columns beside the rows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyarrow import csv

from oochub.errors import OochubError, first_line
from oochub.exchange.bridge import ROW, Bridge, RowImage
from oochub.storage.artifacts import FileKind
from oochub.storage.reading import read_text

if TYPE_CHECKING:
    from oochub.prediction.predictions import Predictions

_ISSUE = "is_label_issue"
_INDEX = re.compile(r"|Unnamed: [\d.]+")  # what pandas calls the index, where it saves it and reads it again
_TEXTS = ("given_label", "predicted_label")
_MEMBER = b"pred_probs.npy"
_MARK = b"written_by_oochub.npy"


def _is_export(path: Path) -> bool:
    content = path.read_bytes()
    return content.startswith(b"PK") and _MEMBER in content and _MARK in content


class Cleanlab(Bridge):
    """Writes an NPZ with what `find_label_issues` and `Datalab` take, and reads the issues of either as CSV.

    The arrays are `labels` (n,), `pred_probs` (n, c), `example_id`, `split`, `class_names` and, if the predictions have
    them, `features` (n, d). Rows without a label are left out, as cleanlab knows none.

    Source: Northcutt et al., Confident Learning, JAIR 70 (2021); cleanlab 2.9, `Datalab.get_issues`.
    """

    title = "cleanlab"
    beside = "the table of issues of cleanlab (.csv), beside predictions"
    written = FileKind("an input of cleanlab", (".npz",), _is_export)
    written_kinds = ("classes",)

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`: a CSV whose first line names `is_label_issue`."""
        names = head.partition(b"\n")[0].strip().replace(b'"', b"").split(b",")
        return path.suffix.lower() == ".csv" and _ISSUE.encode() in names

    def read_columns(self, path: Path) -> pa.Table:
        """See `Bridge.read_columns`: whether a row has an issue (`is_..._issue`) and how good it is (`..._score`).

        `label_quality` of `CleanLearning` is a score too; `given_label` and `predicted_label` are kept as text. The
        index that pandas saves, a column without a name, is the number of the row, which a sorted table needs.
        """
        text = read_text(path)
        try:
            options = csv.ConvertOptions(column_types={name: pa.string() for name in ("example_id", "split", *_TEXTS)})
            table = csv.read_csv(pa.BufferReader(text.encode()), convert_options=options)
        except pa.ArrowException as error:
            raise OochubError(
                f"{path} is not a CSV file with one table: {first_line(error)}. Write it again."
            ) from error
        if not table.num_rows or len(set(table.column_names)) < table.num_columns:
            raise OochubError(f"{path} has no rows, or a column twice. Write the issues again.")
        index = [name for name in table.column_names if _INDEX.fullmatch(name)]
        if index and "example_id" not in table.column_names:  # of two, the second is that of an earlier file
            names = [ROW if name == index[-1] else name for name in table.column_names]
            table = table.rename_columns(names)
        kept = [name for name in table.column_names if name == ROW]
        kept += [name for name in table.column_names if name in ("example_id", "split", *_TEXTS) or _is_issue(name)]
        for name in kept:
            kind = table.column(name).type
            is_flag = name.startswith("is_")
            fits = pa.types.is_boolean(kind) if is_flag else pa.types.is_floating(kind) or pa.types.is_integer(kind)
            if _is_issue(name) and not (fits and not table.column(name).null_count):
                wanted = "true or false" if is_flag else "a number"
                raise OochubError(f"{name} of {path} must be {wanted} in each row, got {kind}. Write the issues again.")
        return table.select(kept)

    def write(self, predictions: "Predictions", draft: Path, images: Iterator[RowImage | None]) -> None:
        """See `Bridge.write`."""
        labeled_rows = np.flatnonzero(predictions.output.known(predictions.label))
        if not len(labeled_rows):
            raise OochubError("No row has a label that cleanlab could judge. Export predictions of labeled rows.")
        arrays = {
            "labels": predictions.label[labeled_rows],
            "pred_probs": predictions.probability[labeled_rows],
            "example_id": predictions.column("example_id")[labeled_rows].astype(str),
            "split": predictions.column("split")[labeled_rows].astype(str),
            "class_names": np.array(predictions.class_names, str),
            "written_by_oochub": np.array(True),
        }
        if predictions.features is not None:
            arrays["features"] = predictions.features[labeled_rows]
        with draft.open("wb") as file:
            np.savez_compressed(file, allow_pickle=False, **arrays)


def _is_issue(name: str) -> bool:
    return name.endswith(("_score", "_quality")) or (name.startswith("is_") and name.endswith("_issue"))
