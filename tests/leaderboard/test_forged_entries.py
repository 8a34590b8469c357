"""Entries whose files say more of themselves than their logits do: no number of the board is read from such words."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from leaderboard_entries import sent_entry
from sklearn.metrics import accuracy_score

from oochub.leaderboard.board import Board
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.prediction.predictions import Predictions
from oochub.storage.parquet_file import seal


def _rewritten(file, columns, said=None):
    """Puts columns into a file of predictions and seals it anew, as anybody can."""
    table = pq.read_table(file)
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
    metadata = {**table.schema.metadata, **(said or {})}
    pq.write_table(table.replace_schema_metadata(metadata), file, compression="zstd", write_page_checksum=True)
    seal(file)


def _perfect(file, names):
    """The stored columns of these names as a model's that is right in every row and sure of it."""
    table = pq.read_table(file)
    label, n = table.column("label"), len(table)
    return {
        name: label.cast(pa.int32()) if "prediction" in name else pa.array(np.full(n, float("loss" not in name)))
        for name in names
    }


def _stored_beside(file):
    """What the file stores beside the columns of its predictions, by whatever names."""
    return [name for name in pq.read_schema(file).names if name not in Predictions.load(file).column_names]


def _true_accuracy(file):
    honest = Predictions.load(file)
    return accuracy_score(honest.label, honest.logits.argmax(1))


@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [lambda file: ["prediction", "confidence", "loss"], _stored_beside], ids=["of before", "of now"]
)
def test_a_forged_summary_is_not_believed(tmp_path, names):
    """Logits are honest, what is stored of them says that every answer is right, the seal fits.

    The truth is scikit-learn's on the logits. Seen verified with an accuracy of 1.0.
    """
    folder = sent_entry(tmp_path / "results")
    file = folder / "preds.parquet"
    true = _true_accuracy(file)
    _rewritten(file, _perfect(file, names(file)))
    content = json.loads((folder / "report.json").read_text())
    for part in content["slices"]:
        part["metrics"]["accuracy"].update(value=1.0, low=1.0, high=1.0)
    (folder / "report.json").write_text(json.dumps(content))
    checked = CheckedEntry.of(folder)
    assert "slices/all/metrics/accuracy/value was sent as 1, its predictions give" in checked.reason
    assert float(checked.report["accuracy"]) == pytest.approx(true, abs=1e-12) and true < 0.95
    (board,) = Board.all_of([checked])
    assert board.rows[0].rank is None
