"""Parquet that notices bit rot: what is written opens everywhere, and no damaged byte becomes another number."""

import random

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from reports import rendered

from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.prediction.predictions import Predictions
from oochub.records.schema import to_json
from oochub.storage.parquet_file import read_parquet, seal, write_parquet

FILES = 30


def _predictions(**columns):
    rng = np.random.default_rng(0)
    return Predictions.from_arrays(
        logits=rng.normal(size=(40, 3)), label=rng.integers(0, 3, 40), area=rng.uniform(size=40), **columns
    )


def _numbers(report):
    return to_json((report.slices, report.gap, report.calibration))


def _flipped(content, *, seed, bits=3):
    damaged, chance = bytearray(content), random.Random(seed)
    for place in chance.sample(range(8 * len(damaged)), bits):
        damaged[place // 8] ^= 1 << place % 8
    return bytes(damaged)


def test_a_sealed_file_opens_everywhere(tmp_path):
    """pandas, pyarrow and datasets read the same rows, though bytes stand between the columns and the footer."""
    table = pa.table({"n": [1, 2, 3], "name": ["a", None, "c"], "v": [[0.5], [], [1.0, 2.0]]})
    path = write_parquet(table.replace_schema_metadata({b"oochub": b"{}"}), tmp_path / "t.parquet")
    stored = read_parquet(path)
    assert stored.integrity == "checked" and stored.table.to_pylist() == table.to_pylist()
    assert stored.table.schema.metadata[b"oochub"] == b"{}"
    assert pq.read_table(path, page_checksum_verification=True).to_pylist() == table.to_pylist()
    assert pd.read_parquet(path)["n"].tolist() == [1, 2, 3]
    read = datasets.Dataset.from_parquet(str(path), cache_dir=str(tmp_path / "cache"))
    assert read.to_list() == table.to_pylist()
    before = path.read_bytes()
    seal(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", [pa.table({}), pa.table({"n": pa.array([], pa.int64())})])
def test_a_table_without_rows_is_sealed(tmp_path, table):
    stored = read_parquet(write_parquet(table, tmp_path / "t.parquet"))
    assert stored.integrity == "checked" and stored.table.equals(table)


def test_pages_carry_checksums(tmp_path):
    """A changed byte of a page is found by a reader that knows no seal. Fault planted: write_page_checksum=False."""
    numbers = np.random.default_rng(0).integers(0, 2**60, 1000)
    path = write_parquet(pa.table({"n": numbers}), tmp_path / "t.parquet")
    content = bytearray(path.read_bytes())
    content[4000] ^= 1
    path.write_bytes(content)
    with pytest.raises(OSError, match="checksum"):
        pq.read_table(path, page_checksum_verification=True)


def test_floats_are_split_by_byte_and_names_are_not(tmp_path):
    """Of every form of a column, by what Parquet says of the file."""
    table = pa.table(
        {
            "id": ["a", "b"],
            "logits": pa.FixedSizeListArray.from_arrays(pa.array(np.arange(4.0, dtype=np.float32)), 2),
            "boxes": [[[1.5, 2.0]], [[2.5, 0.0], [3.0, 1.0]]],
            "image": [{"bytes": b"x", "size": 1.0}, {"bytes": None, "size": 2.0}],
            "half": np.array([1, 2], np.float16),
            "a.b": [1.0, None],
            "words": [["u"], []],
            "of": pa.array([[("k", 1.0)], []], pa.map_(pa.string(), pa.float64())),
        }
    )
    path = write_parquet(table, tmp_path / "t.parquet")
    columns = pq.ParquetFile(path).metadata.row_group(0)
    columns = [columns.column(number) for number in range(columns.num_columns)]
    split = {each.path_in_schema for each in columns if "BYTE_STREAM_SPLIT" in each.encodings}
    assert split == {
        "logits.list.element",
        "boxes.list.element.list.element",
        "image.size",
        "a.b",
        "of.key_value.value",
    }
    named = {each.path_in_schema for each in columns if "RLE_DICTIONARY" in each.encodings}
    assert named == {each.path_in_schema for each in columns} - split
    assert pq.read_table(path).equals(table)


def test_flipped_bits_are_an_error_or_the_same_numbers(tmp_path):
    """Of 30 predictions with three flipped bits, each is refused or gives exactly the numbers of before."""
    path = _predictions().save(tmp_path / "p.parquet")
    content, whole = path.read_bytes(), _numbers(evaluate(path, resamples=100))
    refused = 0
    for seed in range(FILES):
        path.write_bytes(_flipped(content, seed=seed))
        try:
            numbers = _numbers(evaluate(path, resamples=100))
        except OochubError as error:
            assert str(path) in str(error)
            refused += 1
        else:
            assert numbers == whole
    assert refused == FILES


def test_flipped_bits_of_the_footer_are_refused(tmp_path):
    """Checksums of pages do not cover it: a damaged name of a column, count of rows or label of a class is found."""
    path = write_parquet(pa.table({"n": [1, 2, 3]}).replace_schema_metadata({b"oochub": b'{"a": 1}'}), tmp_path / "t")
    content = path.read_bytes()
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for place in range(8 * (footer - 48), 8 * len(content), 13):
        damaged = bytearray(content)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(OochubError, match="corrupted"):
            read_parquet(path)


def test_files_of_before_open_and_the_report_says_not_checked(tmp_path):
    """A file without a seal, as other tools and yesterday's version write it, gives the same numbers."""
    predictions = _predictions()
    path = predictions.save(tmp_path / "p.parquet")
    assert evaluate(path).provenance.predictions.integrity == "checked"
    assert evaluate(predictions).provenance.predictions.integrity is None
    table = pq.read_table(path)
    pq.write_table(table.append_column("mine", pa.array(range(40))), path)  # another tool: its seal is gone, not stale
    assert read_parquet(path).integrity == "not checked"
    report = evaluate(path)
    assert report.provenance.predictions.integrity == "not checked"
    assert _numbers(report) == _numbers(evaluate(predictions))
    shown = rendered(report)
    for form in ("terminal", "markdown", "page"):
        assert "not checked for damage" in shown[form]
    other = _predictions(split="validation").save(tmp_path / "other.parquet")
    assert evaluate([other, path]).provenance.predictions.integrity == "not checked"


@pytest.mark.parametrize("damage", range(12))
def test_damage_to_a_file_without_a_seal_is_an_error_or_a_table(tmp_path, damage):
    """No traceback, whatever pyarrow finds: invalid offsets and texts are looked for."""
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"name": ["abc", "äö", "x" * 50] * 20, "n": range(60)}), path, compression="none")
    content = path.read_bytes()
    for seed in range(20):
        path.write_bytes(_flipped(content, seed=100 * damage + seed))
        try:
            read_parquet(path).table.to_pylist()
        except OochubError as error:
            assert "t.parquet" in str(error)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1PAR1", b"\0" * 100, b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1"])
def test_what_is_no_parquet_is_named(tmp_path, content):
    path = tmp_path / "t.parquet"
    path.write_bytes(content)
    with pytest.raises(OochubError, match=r"t\.parquet is not a Parquet file") as caught:
        read_parquet(path)
    assert ".." not in str(caught.value)
    with pytest.raises(OochubError, match="No Parquet file at"):
        read_parquet(tmp_path)
