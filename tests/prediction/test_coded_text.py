"""Text of few names is held as a byte or two a row, and given as the text that the file holds."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oochub
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_columns import decode_text, join_text, list_repeated_text

FEW = ["sea", None, "land", "sea"] * 5
TABLES = {
    "one": [pa.table({"group": FEW})],
    "other names in each": [pa.table({"group": [name] * 8}) for name in ("b", "a", "c")],
    "more than a byte": [pa.table({"group": [f"{start + name // 4}" for name in range(400)]}) for start in (0, 60)],
    "few in one alone": [pa.table({"group": FEW}), pa.table({"group": ["x", "y", "z"]})],
    "not there in one": [pa.table({"group": FEW, "n": [1] * 20}), pa.table({"n": [2]})],
    "large text": [pa.table({"group": pa.array(FEW, pa.large_string())})] * 2,
    "a dictionary of its own": [pa.table({"group": pa.array(FEW).dictionary_encode()})] * 2,
    "no row": [pa.table({"group": pa.array([], pa.string())})],
}


@pytest.mark.parametrize("tables", TABLES.values(), ids=list(TABLES))
@pytest.mark.parametrize("times", [1, 2])
def test_text_comes_back(tables, times):
    """Reference: pyarrow's own join. Planted faults: names of the first table for the codes of all; one byte always."""
    wanted = pa.concat_tables(tables * times, promote_options="permissive")
    joined = join_text(tables)
    if times == 2:
        joined = join_text([joined, *tables])  # of what is coded already
    given = decode_text(joined)
    assert given.schema.equals(wanted.schema, check_metadata=True)
    assert given.to_pydict() == wanted.to_pydict()


@pytest.mark.slow
def test_a_file_is_held_in_few_bytes_and_given_as_it_is(tmp_path):
    """Of a row the id takes 10 bytes (6 digits and where they begin), label 8, split, side and group 1 each."""
    names = np.array(["car/road", "car/no road", "no car/road"])
    made = Predictions.from_arrays(
        logits=np.random.default_rng(0).normal(size=(6000, 2)),
        label=[0, 1] * 3000,
        example_id=[f"{row:06d}" for row in range(6000)],
        group=names[np.arange(6000) // 2000],
        challenge=["easy", "hard_positive"] * 3000,
    )
    made.save(tmp_path / "one.parquet")
    pq.write_table(pq.read_table(tmp_path / "one.parquet"), tmp_path / "six.parquet", row_group_size=1000)
    for file in ("one.parquet", "six.parquet"):
        read = Predictions.load(tmp_path / file)
        assert read.rows.light.nbytes / 6000 <= 21.5
        assert read.table.equals(made.table) and read.digest == made.digest
        assert read.column("group").tolist() == made.column("group").tolist()
        read.save(tmp_path / "again.parquet")
        assert pq.read_schema(tmp_path / "again.parquet").equals(pq.read_schema(tmp_path / "one.parquet"))
        assert oochub.evaluate(read)["all/accuracy"] == oochub.evaluate(made)["all/accuracy"]


@pytest.mark.parametrize("kind", [pa.dictionary(pa.int32(), pa.string()), pa.large_string()], ids=str)
def test_ids_that_another_program_coded_are_text(kind, tmp_path):
    """As pandas writes a categorical. Planted fault: ids that are sorted as they are stored, which Arrow cannot."""
    ids = ["10", "9", "2", "1"]
    made = Predictions.from_arrays(logits=np.eye(4)[:, :2], label=[0, 1, 0, 1], example_id=ids)
    made.save(tmp_path / "text.parquet")
    table = pq.read_table(tmp_path / "text.parquet")
    coded = table["example_id"].combine_chunks()
    coded = coded.dictionary_encode() if pa.types.is_dictionary(kind) else coded.cast(kind)
    place = table.schema.get_field_index("example_id")
    written = table.set_column(place, "example_id", coded).replace_schema_metadata(table.schema.metadata)
    pq.write_table(written, tmp_path / "coded.parquet")
    read = Predictions.load(tmp_path / "coded.parquet")
    assert read.digest == made.digest
    assert oochub.evaluate(read).slices == oochub.evaluate(made).slices
    twice = pa.concat_tables([written.slice(0, 3), written.slice(1, 1)])  # as many rows as before
    pq.write_table(twice.replace_schema_metadata(table.schema.metadata), tmp_path / "twice.parquet")
    with pytest.raises(oochub.OochubError):
        oochub.evaluate(Predictions.load(tmp_path / "twice.parquet"))


@pytest.mark.parametrize("rows", [["sea"] * 80 + [f"place {k}" for k in range(20)], ["sea", None] * 50, [None] * 100])
def test_text_is_read_as_the_codes_that_a_file_stores(rows, tmp_path):
    """Many names after the first rows, missing ones. Planted fault seen: codes without their mark."""
    made = Predictions.from_arrays(logits=np.eye(2)[[0, 1] * 50], label=[0, 1] * 50, group=pa.array(rows, pa.string()))
    made.save(tmp_path / "one.parquet")
    pq.write_table(pq.read_table(tmp_path / "one.parquet"), tmp_path / "some.parquet", row_group_size=40)
    with pq.ParquetFile(tmp_path / "some.parquet") as file:
        assert "group" in list_repeated_text(file)
    read = Predictions.load(tmp_path / "some.parquet")
    assert pa.types.is_dictionary(read.rows.light.schema.field("group").type)
    assert read.table.equals(made.table) and read.column("group").tolist() == rows


def test_text_of_a_few_bytes_does_not_fill_the_memory(tmp_path):
    """Five kilobytes that stand for 500 MB. Planted fault seen: the codes alone counted, not the text of each row."""
    codes = pa.DictionaryArray.from_arrays(np.zeros(100_000, np.int32), ["a" * 5_000])
    made = Predictions.from_arrays(logits=np.eye(2)[[0, 1] * 50_000], label=[0, 1] * 50_000)
    written = pq.read_table(made.save(tmp_path / "made.parquet")).append_column("note", codes)
    pq.write_table(written, tmp_path / "few.parquet", store_schema=False)  # as text
    assert pq.read_schema(tmp_path / "few.parquet").field("note").type == pa.string()
    assert (tmp_path / "few.parquet").stat().st_size < 4_000_000
    with pytest.raises(OochubError, match="hold more than 400 MB"):
        Predictions.load(tmp_path / "few.parquet")
