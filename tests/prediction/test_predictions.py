"""The predictions file: what it refuses, what survives the disk, what concatenation allows."""

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.records.schema import to_json


def made(n=20, *, split="test", classes=3, seed=0, **columns):
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, classes)).astype(np.float32)
    table = pa.table(
        {
            "example_id": [f"{split}-{i}" for i in range(n)],
            "split": [split] * n,
            "label": pa.array(rng.integers(0, classes, n)),
            "logits": list(logits),
            **columns,
        }
    )
    names = [f"class_{k}" for k in range(classes)]
    metadata = {
        "benchmark": "custom",
        "config": "default",
        "version": "1.0.0",
        "model": {"id": "m", "revision": None, "mode": "head"},
        "class_names": names,
        "rows": {split: n},
        "fingerprint": "f",
    }
    return Predictions(table, metadata)


def test_disk_and_pandas(tmp_path):
    predictions = made(group=["a", "b"] * 10)
    again = Predictions.load(predictions.save(tmp_path / "p.parquet"))
    assert again.table.equals(predictions.table) and again.metadata == predictions.metadata
    frame = again.to_pandas()
    assert list(frame["group"][:2]) == ["a", "b"] and frame["logits"][0].dtype == np.float32


def test_probability_by_hand():
    predictions = made(50)
    powers = [[math.exp(logit) for logit in row] for row in np.asarray(predictions.logits, np.float64).tolist()]
    expected = np.array([[power / sum(row) for power in row] for row in powers])
    np.testing.assert_allclose(predictions.probability, expected, rtol=1e-12)
    assert (predictions.prediction == expected.argmax(1)).all()


def test_small_images_stay_in_their_file(tmp_path):
    """Of 4 MB none is held; each row has its own, in any order, saved again, dropped, and beside rows without."""
    images = [None if k % 4 == 0 else bytes([k % 251]) * 2000 for k in range(2000)]
    file = made(2000, thumbnail=pa.array(images, pa.binary())).save(tmp_path / "p.parquet")
    before = pa.total_allocated_bytes()
    opened = Predictions.load(file)
    assert pa.total_allocated_bytes() - before < 300_000
    assert opened.rows.row(7)["thumbnail"] == images[7] and opened.rows.row(8)["thumbnail"] is None
    order = np.random.default_rng(0).permutation(2000)[:50]
    taken = opened.rows.take(order)
    assert taken.column("thumbnail").to_pylist() == [images[k] for k in order.tolist()]
    assert sum(len(block) for block in opened.rows.blocks(["thumbnail"])) == 2000
    chosen = opened.select(np.arange(2000) >= 1000)
    again = Predictions.load(chosen.save(tmp_path / "half.parquet"))
    assert again.rows.column("thumbnail").to_pylist() == images[1000:]
    assert "thumbnail" not in opened.rows.without(["thumbnail"]).table.column_names
    for other in (few := made(3, split="other"), Predictions.load(few.save(tmp_path / "few.parquet"))):
        both = concatenate_predictions([opened, other])
        assert both.rows.column("thumbnail").to_pylist() == [*images, None, None, None]


def test_small_images_of_a_few_bytes_do_not_fill_the_memory(tmp_path):
    """A megabyte that stands for 600 MB. Planted fault seen: its images read as far as they go."""
    file = made(60_000, thumbnail=pa.array([bytes(10_000)] * 60_000, pa.binary())).save(tmp_path / "p.parquet")
    opened = Predictions.load(file)
    assert opened.rows.row(7)["thumbnail"] == bytes(10_000)
    with pytest.raises(OochubError, match="hold more than 400 MB"):
        opened.rows.column("thumbnail")


@pytest.mark.parametrize("sealed", [True, False])
def test_rows_of_a_file_that_was_replaced_are_refused(tmp_path, sealed):
    """By a file of other rows, of a choice of its own rows, and of the same rows, which is no other."""
    file = made(20).save(tmp_path / "p.parquet")
    if not sealed:
        pq.write_table(pq.read_table(file), file)
    opened = Predictions.load(file)
    logits = opened.logits.copy()
    made(20, seed=1).save(file)
    with pytest.raises(OochubError, match="was replaced since it was opened"):
        opened.blocks("logits").__next__()
    made(20).save(file)
    if sealed:
        np.testing.assert_array_equal(opened.logits, logits)
    chosen = Predictions.load(file).select(np.arange(20) >= 10)
    chosen.save(file)
    np.testing.assert_array_equal(Predictions.load(file).logits, logits[10:])
    with pytest.raises(OochubError, match="Load the predictions again"):
        chosen.blocks("logits").__next__()


def _edited(tmp_path, edit):
    predictions = made()
    table = edit(predictions.table)
    metadata = {b"oochub": json.dumps(to_json(predictions.metadata)).encode()}
    path = tmp_path / "p.parquet"
    pq.write_table(table.replace_schema_metadata(metadata), path)
    return path


def _nan(table):
    rows = [np.array([np.nan, 0, 0], np.float32), *table.column("logits").to_pylist()[1:]]
    return table.set_column(3, "logits", pa.array([list(map(float, r)) for r in rows], pa.list_(pa.float32())))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (lambda t: t.slice(1), r"Examples are missing \(test: 19 of 20\)"),
        (lambda t: pa.concat_tables([t, t.slice(3, 1)]), "1 examples occur twice, first test-3 in split test"),
        (lambda t: t.drop_columns(["logits"]), "logits missing"),
        (lambda t: t.slice(0, 0), "hold no row"),
        (_nan, "1 rows have logits that are not finite, first test-0"),
        (lambda t: t.set_column(2, "label", pa.array([7] * 20)), "20 labels are not one of the 3 classes"),
        (lambda t: t.set_column(3, "logits", pa.array([[0.0, 1.0]] * 20)), "needs 3 logits"),
    ],
)
def test_broken_files_are_said(tmp_path, edit, words):
    with pytest.raises(OochubError, match=words) as error:
        Predictions.load(_edited(tmp_path, edit))
    assert "p.parquet" in str(error.value)


def test_other_files_are_said(tmp_path):
    with pytest.raises(OochubError, match="Prediction file not found"):
        Predictions.load(tmp_path / "none.parquet")
    (tmp_path / "cut.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(OochubError, match="not a Parquet file, or is truncated"):
        Predictions.load(tmp_path / "cut.parquet")
    pq.write_table(pa.table({"a": [1]}), tmp_path / "plain.parquet")
    with pytest.raises(OochubError, match="without oochub's metadata"):
        Predictions.load(tmp_path / "plain.parquet")


def test_concatenation():
    both = concatenate_predictions([made(split="validation"), made(split="test")])
    assert len(both) == 40 and both.metadata.rows == {"validation": 20, "test": 20}
    with pytest.raises(OochubError, match="occur twice"):
        concatenate_predictions([made(), made()])
    with pytest.raises(OochubError, match="differ in class_names"):
        concatenate_predictions([made(), made(split="b", classes=4)])


def test_a_file_with_a_column_twice_is_refused(tmp_path):
    """Fault planted: none looked for; Arrow then raises a KeyError."""
    predictions = Predictions.from_arrays(logits=[[1.0, 0.0]], label=[0])
    predictions.save(tmp_path / "once.parquet")
    table = pq.read_table(tmp_path / "once.parquet")
    pq.write_table(table.append_column("label", table.column("label")), tmp_path / "twice.parquet")
    with pytest.raises(OochubError, match="has the column label twice"):
        Predictions.load(tmp_path / "twice.parquet")


def test_text_that_is_missing_is_none():
    """Planted fault seen: the text "None"."""
    given = made(4, split="test", place=["sea", None, "land", None])
    assert given.column("place").tolist() == ["sea", None, "land", None]
    assert given.column("example_id").dtype.kind == "U"
