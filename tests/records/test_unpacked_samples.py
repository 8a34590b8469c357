"""Plain `datasets` over shards, whole or streamed, is predicted as the rows that were built."""

import shutil

import datasets
import pytest
from datasets.distributed import split_dataset_by_node

import oochub
from oochub.loading_scripts.build_repository import build_webdataset
from oochub.records.build_record import BuildRecord, drop_build_column, unpack_samples

_UNDECODED = datasets.Image(decode=False)


@pytest.fixture(scope="module")
def shards(coco, tmp_path_factory):
    return build_webdataset("nooch/ce_car", tmp_path_factory.mktemp("repo") / "renamed", data_dir=str(coco))


@pytest.fixture(scope="module")
def rows(shards):
    return oochub.load(shards)["test"]


def _records(part):
    found = []
    for row in part.cast_column("image", _UNDECODED):
        found.append({**row, "image": row["image"]["bytes"]})
    return found


@pytest.mark.slow
@pytest.mark.parametrize("streaming", [False, True])
def test_plain_samples_become_the_rows(shards, rows, streaming):
    """Reference: oochub's own reader. Seen: a stream whose images were decoded and encoded anew."""
    plain = datasets.load_dataset(str(shards), "ce_car", split="test", streaming=streaming)
    assert set(plain.features) == {"jpg", "json"}
    part = drop_build_column(unpack_samples(plain))
    expected = rows.cast_column("image", _UNDECODED) if streaming else rows
    assert list(part.features.items()) == list(expected.features.items())
    assert _records(part) == _records(rows)
    assert BuildRecord.of(part.info) == BuildRecord.of(rows.info)
    assert unpack_samples(rows) is rows


@pytest.mark.parametrize("processes", [2, 3, 4])
@pytest.mark.slow
def test_processes_share_the_shards_of_a_stream(shards, rows, processes):
    """Nine shards: three processes have three each; of two or four each reads all and keeps its rows."""
    stream = unpack_samples(datasets.load_dataset(str(shards), "ce_car", split="test", streaming=True))
    assert stream.num_shards == 9
    parts = [split_dataset_by_node(stream, number, processes) for number in range(processes)]
    ids = [[row["example_id"] for row in part.cast_column("image", _UNDECODED)] for part in parts]
    assert sorted(name for each in ids for name in each) == sorted(rows["example_id"])
    assert all(ids)


def test_predictions_of_a_stream_are_those_of_the_rows(shards, rows, tmp_path):
    """Version, notes and contexts too; planted: a stream whose build column is inside the JSON."""
    from oochub.trainers.backbone import open_backbone

    network, processor = open_backbone("resnet-tiny", class_names=["no_car", "car"], image_size=16)
    stream = datasets.load_dataset(str(shards), "ce_car", streaming=True)
    options = {"image_processor": processor, "splits": ["test"], "images": False, "batch_size": 8}
    one = oochub.predict(network, stream, **options)
    other = oochub.predict(network, datasets.DatasetDict(test=rows), **options)
    assert one.table.equals(other.table)
    assert (one.metadata.benchmark, one.metadata.version, one.metadata.facts) == (
        other.metadata.benchmark,
        other.metadata.version,
        other.metadata.facts,
    )


def test_shards_without_their_index_are_read_by_the_card(shards, rows, tmp_path):
    """As those of the Hub are, of which nothing else is at hand."""
    folder = tmp_path / "copied"
    shutil.copytree(shards, folder)
    (folder / "ce_car" / "index.json").unlink()
    again = oochub.load(folder)["test"]
    assert again.features == rows.features and _records(again) == _records(rows)
