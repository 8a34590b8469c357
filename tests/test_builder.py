"""Rows on their way to the processes that build them."""

import pickle

import pyarrow as pa
import pytest
from datasets import load_dataset_builder

import oochub  # noqa: F401  registers the builders
from oochub.builder import cut_rows


@pytest.mark.parametrize("name", ["nooch/ce_car", "nooch/all", "spawrious/o2o_easy"])
def test_rows_of_a_table_are_those_of_a_list(coco, spawrious, name):
    """Planted fault seen: names of classes as text in a column of numbers."""
    benchmark, config = name.split("/")
    builder = load_dataset_builder(benchmark, config, data_dir=str(coco if benchmark == "nooch" else spawrious))
    for split in builder._split_generators(None):
        root, parts = split.gen_kwargs["root"], split.gen_kwargs["shards"][:2]
        listed = [_rows(part).to_pylist() for part in parts]
        of_tables, of_lists = (
            pa.concat_tables(table for _, table in builder._generate_tables(root, shards)) for shards in (parts, listed)
        )
        assert of_tables.equals(of_lists) and len(of_tables) == sum(map(len, listed))


def test_a_part_is_sent_without_the_other_parts():
    """Each process unpickles its own rows alone; planted fault seen: parts that are slices, each sent with them all."""
    rows = pa.table({"file": [f"{number:012d}.jpg" for number in range(5000)], "areas": [[0.5] * 20] * 5000})
    parts = cut_rows(rows)
    assert sum(len(pickle.dumps(part)) for part in parts) < 1.2 * rows.nbytes
    assert pa.concat_tables(map(_rows, parts)).equals(rows) and len(parts) == 64
    assert [len(_rows(part)) for part in cut_rows(rows.slice(0, 0))] == [0]


def _rows(part):
    return pa.ipc.open_stream(part).read_all()
