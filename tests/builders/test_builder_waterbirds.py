"""The Waterbirds builder: rows against csv and Counter, the counts of the release, the folders, malformed tables."""

import csv
import os
from collections import Counter
from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.raw_table import RawTable
from oochub.records.build_record import BuildRecord

_HEADER = "img_id,img_filename,y,split,place,place_filename"
# Rows of (y, place) in each split of the release: the training groups are the weights in WILDS' waterbirds_dataset.py,
# the others halves of 933 and 266, and of 4,510 and 1,284.
_RELEASE = {
    "0": {"00": 3_498, "01": 184, "10": 56, "11": 1_057},
    "1": {"00": 467, "01": 466, "10": 133, "11": 133},
    "2": {"00": 2_255, "01": 2_255, "10": 642, "11": 642},
}
_ROWS = [
    "1,001.Gull/Gull_1.jpg,1,0,1,/o/ocean/1.jpg",
    "2,001.Gull/Gull_2.jpg,1,0,0,/b/bamboo_forest/1.jpg",
    "7,002.Jay/Jay_1.jpg,0,1,0,/b/bamboo_forest/2.jpg",
    "8,002.Jay/Jay_2.jpg,0,2,1,/o/ocean/2.jpg",
]


def _table(root: Path, rows: list[str], *, header: str = _HEADER) -> Path:
    root.mkdir(parents=True)
    (root / "metadata.csv").write_text("\n".join([header, *rows]) + "\n", "utf-8")
    return root


def _folder(root: Path, rows: list[str], *, header: str = _HEADER) -> Path:
    """A raw folder with an image for each row, all of one file."""
    _table(root, rows, header=header)
    picture = root.parent / "one.jpg"
    Image.new("RGB", (4, 4)).save(picture)
    place = header.split(",").index("img_filename")
    for row in rows:
        file = root / row.split(",")[place]
        file.parent.mkdir(exist_ok=True)
        os.link(picture, file)
    return root


def _streamed(folder: Path, **options):
    """The record and the parts; no row is made yet."""
    data = load_dataset("waterbirds", data_dir=folder, streaming=True, **options)
    return BuildRecord.of(data["train"].info), data


def test_rows_by_hand(tmp_path):
    """A gull on land is a hard positive, a jay on water a hard negative. Fault planted: place and y exchanged."""
    data = oochub.load("waterbirds", data_dir=_folder(tmp_path / "raw", _ROWS))
    rows = [row for split in ("train", "validation", "test") for row in data[split].remove_columns("image")]
    named = [
        {name: data["train"].features[name].int2str(row[name]) for name in ("label", "group", "challenge", "place")}
        for row in rows
    ]
    assert [tuple(row.values()) for row in named] == [
        ("waterbird", "waterbird/water", "easy", "water"),
        ("waterbird", "waterbird/land", "hard_positive", "land"),
        ("landbird", "landbird/land", "easy", "land"),
        ("landbird", "landbird/water", "hard_negative", "water"),
    ]
    assert [row["example_id"] for row in rows] == [
        "001.Gull/Gull_1",
        "001.Gull/Gull_2",
        "002.Jay/Jay_1",
        "002.Jay/Jay_2",
    ]
    assert [row["species"] for row in rows] == ["Gull", "Gull", "Jay", "Jay"]
    assert all(row["environment"] == row["group"] for row in rows)
    assert rows[3]["place_filename"] == "/o/ocean/2.jpg"
    assert BuildRecord.of(data["test"].info).facts.group_counts == {
        "landbird/land": 0,
        "landbird/water": 0,
        "waterbird/land": 1,
        "waterbird/water": 1,
    }


def test_the_release_has_no_gap(tmp_path, monkeypatch):
    """11,788 rows of the published counts: no note, strict=True, and the weights of the adjusted accuracy."""
    monkeypatch.setattr(RawTable, "_check_files", lambda *_: None)  # no image is read
    rows = []
    for split, groups in _RELEASE.items():
        for group, many in groups.items():
            for _ in range(many):
                k = len(rows) + 1
                rows.append(f"{k},{k % 200:03}.Bird/Bird_{k}.jpg,{group[0]},{split},{group[1]},/o/ocean/{k}.jpg")
    record, _ = _streamed(_table(tmp_path / "waterbirds_v1.0", rows), strict=True)
    assert record.notes == ()
    assert record.facts.rows == {"train": 4_795, "validation": 1_199, "test": 5_794}
    assert list(record.facts.group_counts.items()) == [
        ("landbird/land", 3_498),
        ("landbird/water", 184),
        ("waterbird/land", 56),
        ("waterbird/water", 1_057),
    ]
    table = (tmp_path / "waterbirds_v1.0" / "metadata.csv").read_text("utf-8")
    (tmp_path / "waterbirds_v1.0" / "metadata.csv").write_text(table.replace(",0,0,1,", ",0,0,0,", 1), "utf-8")
    record, _ = _streamed(tmp_path)  # the folder above, as WILDS has it
    assert record.notes == (
        "training groups differ from the release: landbird/land 3,499 of 3,498, landbird/water 183 of 184",
    )


def test_a_real_list_of_another_construction(real_data, tmp_path):
    """metadata_unofficial.csv is no release (5,326 rows, other splits): its counts, by csv and Counter, and a note."""
    with (real_data / "waterbirds" / "metadata_unofficial.csv").open() as lines:
        rows = list(csv.DictReader(lines))
    columns = list(rows[0])
    listed = [",".join(row[name] for name in columns) for row in rows]
    folder = _folder(tmp_path / "waterbird_complete95_forest2water2", listed, header=",".join(columns))
    record, data = _streamed(tmp_path)
    splits = Counter(row["split"] for row in rows)
    assert record.facts.rows == {"train": splits["0"], "validation": splits["1"], "test": splits["2"]}
    trained = Counter((row["y"], row["place"]) for row in rows if row["split"] == "0")
    assert list(record.facts.group_counts.values()) == [trained[y, place] for y in "01" for place in "01"]
    first = next(row for row in rows if row["split"] == "1")
    row = next(iter(data["validation"]))
    assert row["example_id"] + ".jpg" == first["img_filename"] and row["label"] == int(first["y"])
    assert record.notes[0].startswith("partial: 4,260 of 4,795 rows in train, 532 of 1,199 rows in validation, 534 of")
    with pytest.raises(oochub.OochubError, match="is not the release: partial: 4,260"):
        _streamed(folder, strict=True)


def test_what_oochub_constructed_says_so(tmp_path):
    folder = _folder(tmp_path / "raw", _ROWS)
    (folder / "construction.json").write_text("{}", "utf-8")
    assert "constructed from CUB and Places by oochub: not the released images" in _streamed(folder)[0].notes
