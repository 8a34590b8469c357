"""Text of few names is held as a byte or two a row, and given as the text that the file holds."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import oochub
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_columns import decode_text, join_text

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
