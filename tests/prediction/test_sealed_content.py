"""A seal tells damage and is no signature: what a sealed file holds is checked like that of any other."""

import json
import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.storage.parquet_file import seal

N = 40


def made(**columns):
    rng = np.random.default_rng(0)
    return Predictions.from_arrays(logits=rng.normal(size=(N, 3)), label=rng.integers(0, 3, N), **columns)


def numbers(report):
    return to_json((report.slices, report.calibration))


def resealed(table, file, said=None, **options):
    pq.write_table(table.replace_schema_metadata({**table.schema.metadata, **(said or {})}), file, **options)
    seal(file)
    return file


def column(name, values):
    return lambda table: table.set_column(table.column_names.index(name), name, values(table))


def names_of(count):
    def change(table):
        said = json.loads(table.schema.metadata[b"oochub"])
        content = json.dumps({**said, "class_names": [f"c{k}" for k in range(count)]}).encode()
        return table.replace_schema_metadata({**table.schema.metadata, b"oochub": content})

    return change


def first_of(name, value):
    return column(name, lambda t: pa.array([value, *t[name].to_pylist()[1:]], t.schema.field(name).type))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (column("label", lambda t: pa.array([1.5] * N)), "label must hold class numbers"),
        (first_of("label", 3), "1 labels are not one of the 3 classes or -1, first 3"),
        (first_of("label", None), "label empty in some"),
        (names_of(4), "needs 4 logits"),
        (names_of(2), "needs 2 logits"),
        (first_of("logits", [float("nan"), 0.0, 0.0]), "1 rows have logits that are not finite"),
        (first_of("logits", [0.0, 0.0]), "logits must be lists of one length"),
        (column("logits", lambda t: pa.array([["a"]] * N)), "logits must be lists of floats"),
        (first_of("logits", [9.0, 0.0, 0.0]), "not those that were sealed"),
        (column("logits", lambda t: t["logits"].take(pa.array(np.arange(N)[::-1]))), "not those that were sealed"),
        (column("label", lambda t: pa.array((t["label"].to_numpy() + 1) % 3)), "not those that were sealed"),
        (first_of("example_id", "other"), "not those that were sealed"),
        (lambda t: t.slice(1), "Examples are missing"),
        (column("thumbnail", lambda t: pa.array([1] * N)), "thumbnail must hold the bytes"),
    ],
)
def test_a_seal_switches_no_check_off(tmp_path, change, words):
    """Labels of 1.5, names of more classes than logits, logits replaced under the digest of others, resealed.

    Seen failing: whatever had a seal and a digest was not looked at.
    """
    table = pq.read_table(made(thumbnail=[b"x"] * N).save(tmp_path / "p.parquet"))
    with pytest.raises(OochubError, match=words) as error:
        Predictions.load(resealed(change(table), tmp_path / "resealed.parquet"))
    assert "resealed.parquet" in str(error.value)


def test_features_are_checked_when_they_are_read(tmp_path):
    """They are not read when a file is opened; rows of 2 and 4 numbers are no matrix of 3.

    Seen failing: the features of other rows.
    """
    table = pq.read_table(made(features=np.ones((N, 3))).save(tmp_path / "p.parquet"))
    rows = [[1.0, 2.0], [1.0, 2.0, 3.0, 4.0], *table["features"].to_pylist()[2:]]
    changed = column("features", lambda t: pa.array(rows, pa.list_(pa.float32())))(table)
    with pytest.raises(OochubError, match="features must be lists of one length"):
        _ = Predictions.load(resealed(changed, tmp_path / "resealed.parquet")).features


@pytest.mark.parametrize("key", ["oochub_sums", "oochub_part", "oochub"])
@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b"null", b"3", b'"text"', b"{}", b"\xff", b"[" * 100_000, b'{"digest": 3}'),
        *(b'{"digest": null}', b'{"split": "test", "rows": [[0]], "broken": []}', b'{"split": 1}', b"1" * 5000),
    ],
)
def test_json_inside_is_read_like_any_other(tmp_path, key, content):
    """Seen failing: JSONDecodeError, TypeError, KeyError, AttributeError, RecursionError."""
    table = pq.read_table(made().save(tmp_path / "p.parquet"))
    with pytest.raises(OochubError, match=r"resealed\.parquet"):
        Predictions.load(resealed(table, tmp_path / "resealed.parquet", {key.encode(): content}))


def _damaged(content, seed):
    """The bytes with one to four of them changed, at places of the seed."""
    damaged, chance = bytearray(content), random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["sealed", "resealed", "resealed without checksums"])
def test_damage_is_an_error_or_the_same_numbers(tmp_path, how):
    """Bytes changed at random, in 300 copies; of those that are sealed again afterwards, no checksum tells either.

    Seen failing: tracebacks of Arrow, numpy and json.
    """
    predictions = made()
    file = predictions.save(tmp_path / "p.parquet")
    whole = numbers(evaluate(file, resamples=100))
    if how != "sealed":
        table = pq.read_table(file)
        options = {"write_page_checksum": True} if how == "resealed" else {"compression": "none"}
        pq.write_table(table, file, **options)
    content, refused, count = file.read_bytes(), 0, 0
    for number in range(300):
        file.write_bytes(_damaged(content, number))
        count += file.read_bytes() != content
        if how != "sealed":
            seal(file)
        try:
            found = numbers(evaluate(file, resamples=100))
        except OochubError as error:
            assert "p.parquet" in str(error)
            refused += 1
        else:
            assert found == whole, number
    assert count > 290 and refused > (count - 1 if how == "sealed" else 200)
