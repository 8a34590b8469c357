"""A user's own images in the place of their digests: by id, checked by their bytes, in the same order."""

import hashlib

import datasets
import pytest

from oochub import OochubError, join_images

PICTURES = {f"{number:03d}": b"\x89PNG\r\n\x1a\n" + bytes([number]) * 9 for number in range(5)}


@pytest.fixture
def rows():
    """What was pushed without images."""
    digests = [hashlib.sha256(content).hexdigest() for content in PICTURES.values()]
    content = {"example_id": list(PICTURES), "image_sha256": digests, "label": [number % 2 for number in range(5)]}
    return datasets.DatasetDict(train=datasets.Dataset.from_dict(content))


@pytest.fixture
def folder(tmp_path):
    """The user's files, named by the ids."""
    (tmp_path / "own").mkdir()
    for name, content in PICTURES.items():
        (tmp_path / "own" / f"{name}.png").write_bytes(content)
    return tmp_path / "own"


def stored(data):
    """The bytes of its images, in order."""
    return [row["image"]["bytes"] for row in data.cast_column("image", datasets.Image(decode=False))]


def test_the_bytes_stand_where_the_digests_stood(rows, folder):
    """Planted faults: the column at the end; rows in the order of the files."""
    joined = join_images(rows, folder)["train"]
    assert list(joined.features) == ["example_id", "image", "label"] and stored(joined) == list(PICTURES.values())
    assert stored(join_images(rows["train"].select([3, 1]), folder)) == [PICTURES["003"], PICTURES["001"]]


def test_files_of_other_names_are_known_by_their_bytes(rows, folder):
    """Two are exchanged, one is called otherwise. Planted fault: the name alone decides."""
    (folder / "000.png").write_bytes(PICTURES["001"])
    (folder / "001.png").write_bytes(PICTURES["000"])
    (folder / "sub").mkdir()
    (folder / "002.png").rename(folder / "sub" / "holiday.png")
    assert stored(join_images(rows, folder)["train"]) == list(PICTURES.values())


def test_a_wrong_and_a_missing_picture_are_named(rows, folder):
    """Before anything is made. Planted fault: the digest of the found file not compared."""
    (folder / "001.png").unlink()
    (folder / "003.png").write_bytes(b"\x89PNG\r\n\x1a\nanother")
    with pytest.raises(OochubError, match=r"2 of 5 images are missing, or differ .*: 001, 003\. Pass"):
        join_images(rows, folder)


def test_pictures_of_other_data(rows):
    """Of `oochub.load`, for example. Planted fault: only the first split is looked at."""
    features = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()})
    parts = {}
    for split, names in (("a", ["004", "000"]), ("b", ["001", "002", "003"])):
        pictures = [{"bytes": PICTURES[name], "path": None} for name in names]
        parts[split] = datasets.Dataset.from_dict({"example_id": names, "image": pictures}, features)
    assert stored(join_images(rows, datasets.DatasetDict(parts))["train"]) == list(PICTURES.values())


def test_what_cannot_be_joined(rows, folder, tmp_path):
    """Planted fault: a KeyError of `datasets`."""
    with pytest.raises(OochubError, match="no column 'image_sha256', only example_id, label"):
        join_images(rows.remove_columns("image_sha256"), folder)
    with pytest.raises(OochubError, match="Image folder not found"):
        join_images(rows, tmp_path / "none")
    with pytest.raises(OochubError, match=r"data with the columns example_id and image, got example_id, image_sha256"):
        join_images(rows, rows)
