"""Repositories of earlier versions, whose rows say in a column `build` what theirs is, and whose card has all columns.

The older form is made here by hand from what is written today, as the code of before wrote it.
"""

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets.arrow_writer import ParquetWriter
from huggingface_hub import DatasetCard
from own_data import picture_folder
from row_digest import row_digest

import oochub
from oochub.data.build_file import BuildFile, ConfigFiles, store_record
from oochub.records.build_record import BuildRecord, drop_build_column
from oochub.repository.join_images import remove_images
from oochub.repository.repository_card import describe_columns
from oochub.repository.write_repository import write_user_repository


@pytest.fixture
def both(tmp_path):
    """A repository as it is written now, and the same as it was written before."""
    source = picture_folder(tmp_path / "mine")
    new, old = (write_user_repository(str(source), tmp_path / name) for name in ("new", "old"))
    builds = BuildFile.read(old)
    record, paths = builds.record("default"), builds.files("default").splits
    for path in (file.path for files in paths.values() for file in files):
        table = pq.read_table(old / path)
        bare = drop_build_column(datasets.Dataset(table)).features
        writer = ParquetWriter(path=str(old / path), features=record.beside(bare))
        writer.write_table(table.append_column("build", pa.array([record.text] * len(table))))
        writer.finalize()
    written = {split: [file.path for file in files] for split, files in paths.items()}
    store_record(old, "default", record, ConfigFiles.of(old, written, record.beside(bare)))
    card = DatasetCard.load(old / "README.md")
    describe_columns(card.data, "default", record.beside(bare))
    card.save(old / "README.md")
    return old, new


def test_they_open_as_they_did(both):
    """By oochub, plain, streamed. Planted fault seen: the column left in the rows of an older file."""
    old, new = map(_read_in_three_ways, both)
    assert "build" in datasets.load_dataset(str(both[0]))["train"].column_names
    for before, now in zip(old, new, strict=True):
        assert BuildRecord.of(before.info) == BuildRecord.of(now.info) is not None
        assert dict(before.features) == dict(now.features)
    assert [row_digest(part) for part in old[:2]] == [row_digest(part) for part in new[:2]]
    assert [row["species"] for row in old[2]] == [row["species"] for row in new[2]]


def _read_in_three_ways(folder):
    streamed = datasets.load_dataset(str(folder), split="train", streaming=True)
    plain = datasets.load_dataset(str(folder), split="train")
    return [oochub.load(folder)["train"], drop_build_column(plain), drop_build_column(streamed)]


def test_images_are_left_out_of_both(both, tmp_path):
    """Planted fault seen: columns asked of the card alone, which says none now."""
    bare = [remove_images(folder, tmp_path / f"bare {folder.name}") for folder in both]
    assert "examples.webp" in (both[1] / "README.md").read_text()
    assert not any("examples.webp" in (folder / "README.md").read_text() for folder in bare)
    old, new = map(oochub.load, bare)
    assert BuildRecord.of(old["train"].info) == BuildRecord.of(new["train"].info)
    assert row_digest(old["train"]) == row_digest(new["train"]) and "image_sha256" in new["train"].column_names


@pytest.mark.slow
def test_a_push_of_the_new_form_replaces_the_old(hub, both):
    """Of the same configuration: columns and files of the older form go. Planted fault seen: its columns kept."""
    old, new = both
    oochub.push(str(old), "user/mine")
    assert b"dataset_info" in hub.content("datasets/user/mine", "README.md")
    oochub.push(str(new), "user/mine")
    assert b"dataset_info" not in hub.content("datasets/user/mine", "README.md")
    there = datasets.load_dataset("user/mine", split="train")
    assert "build" not in there.column_names and BuildRecord.of(there.info).config == "mine"
    assert not oochub.push(str(new), "user/mine").is_change
