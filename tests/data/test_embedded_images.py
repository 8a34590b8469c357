"""What `oochub build` sees of the images that it writes: copies in two splits, and files that are no images."""

import csv

import numpy as np
import pytest
from PIL import Image

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.repository.write_repository import write_user_repository


def _draw(file, seed):
    file.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (9, 9, 3), np.uint8)).save(file)


def _folder(place, shared):
    """Four images of train and four of test, of which some have the bytes of one of train under another name."""
    for number in range(4):
        name = ("cat", "dog")[number % 2]
        _draw(place / "train" / name / f"a{number}.png", number)
        _draw(place / "test" / name / f"b{number}.png", number if number < shared else 10 + number)
    return place


@pytest.mark.parametrize("shard_size", [None, 1.0])
def test_copies_in_two_splits_are_said_and_stand_in_the_card(shard_size, tmp_path):
    """Planted faults seen: the names of files compared; images of shards not looked at."""
    source = str(_folder(tmp_path / "pets", 3))
    words = "images of 3 of 4 rows of test also stand in train, byte for byte"
    with pytest.warns(OochubWarning, match=words):
        out = write_user_repository(source, tmp_path / "out", shard_size=shard_size)
    assert words in (out / "README.md").read_text("utf-8")
    assert {name: len(part) for name, part in oochub.load(str(out)).items()} == {"train": 4, "test": 4}


def test_other_images_say_nothing(tmp_path, recwarn):
    out = write_user_repository(str(_folder(tmp_path / "pets", 0)), tmp_path / "out")
    assert "byte for byte" not in (out / "README.md").read_text("utf-8")
    assert not [each for each in recwarn if issubclass(each.category, OochubWarning) and "byte" in str(each.message)]


@pytest.mark.parametrize("shard_size", [None, 1.0])
def test_a_file_that_is_no_image_is_not_embedded(shard_size, tmp_path):
    """A table may name any file of this machine. Planted fault seen: its bytes written into the repository."""
    _draw(tmp_path / "a.png", 1)
    (tmp_path / "secret.txt").write_text("password")
    with (tmp_path / "table.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("image", "label"), ("a.png", "cat"), (str(tmp_path / "secret.txt"), "dog")])
    with pytest.raises(OochubError, match="image 'image' of row 1, split train: 8 bytes that are no image in JPEG"):
        write_user_repository(str(tmp_path / "table.csv"), tmp_path / "out", shard_size=shard_size)
    assert not (tmp_path / "out").exists()
