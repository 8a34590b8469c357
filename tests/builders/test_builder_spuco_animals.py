"""The SpuCoAnimals builder: groups by folder, the two sides, the release's sizes, folders that are not whole."""

import shutil
from collections import Counter

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders import spuco_animals
from oochub.records.build_record import BuildRecord

_GROUPS = {
    "birds": ["landbirds/land", "landbirds/water", "waterbirds/land", "waterbirds/water"],
    "dogs": ["small_dogs/indoor", "small_dogs/outdoor", "big_dogs/indoor", "big_dogs/outdoor"],
}


@pytest.fixture
def small(tmp_path):
    """The images of each group: as many as its place in `_GROUPS`, from 1, in train; one in val and test."""
    number = 0
    for kind, groups in _GROUPS.items():
        for split in ("train", "val", "test"):
            for place, group in enumerate(groups, 1):
                folder = tmp_path / f"spuco_{kind}" / split / group
                folder.mkdir(parents=True)
                for _ in range(place if split == "train" else 1):
                    number += 1
                    Image.new("RGB", (1, 1), (number, 0, 0)).save(folder / f"{number:03}.png")
    return tmp_path


@pytest.mark.parametrize(
    ("config", "kinds"), [("animals", ["birds", "dogs"]), ("birds", ["birds"]), ("dogs", ["dogs"])]
)
def test_rows_by_hand(small, config, kinds):
    data = load_dataset("spuco_animals", config, data_dir=small)
    groups = [group for kind in kinds for group in _GROUPS[kind]]
    features = data["train"].features
    assert features["group"].names == groups
    found = Counter(features["group"].int2str(row) for row in data["train"]["group"])
    assert found == {group: place for kind in kinds for place, group in enumerate(_GROUPS[kind], 1)}
    for split, folder in (("train", "train"), ("validation", "val"), ("test", "test")):
        for row in data[split].remove_columns("image"):
            of, part, label, background, _ = row["example_id"].split("/")
            assert (of[6:] in kinds, part) == (True, folder)
            assert features["label"].int2str(row["label"]) == label
            assert features["background"].int2str(row["background"]) == background
            assert features["group"].int2str(row["group"]) == f"{label}/{background}"
            assert features["environment"].int2str(row["environment"]) == f"{label}/{background}"


def test_the_sides_are_the_usual_and_the_other_backgrounds(small):
    """Typed from the paper: land birds on land, water birds on water, small dogs indoors, big dogs outdoors."""
    declared = oochub.get("benchmark", "spuco_animals").of("animals")
    usual = {"landbirds/land", "waterbirds/water", "small_dogs/indoor", "big_dogs/outdoor"}
    assert set(declared.in_context.where["group"]) == usual
    assert set(declared.out_of_context.where["group"]) == {g for each in _GROUPS.values() for g in each} - usual
    assert {declared.in_context.split, declared.out_of_context.split} == {"test"}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: shutil.rmtree(root / "spuco_dogs/val"), r"spuco_dogs lacks val/"),
        (lambda root: shutil.rmtree(root / "spuco_dogs/val/big_dogs"), "has no image in big_dogs/indoor/"),
        (lambda root: (root / "spuco_birds/test/owls").mkdir(), "owls/: class must be landbirds or waterbirds"),
        (
            lambda root: (root / "spuco_birds/test/landbirds/waters").mkdir(),
            r"waters/: background must be land or water, got 'waters'[.] Did you mean 'water'",
        ),
        (
            lambda root: shutil.copy(
                root / "spuco_dogs/test/big_dogs/indoor/023.png", root / "spuco_dogs/test/small_dogs/indoor"
            ),
            "are the same image",
        ),
    ],
)
def test_folders_that_are_not_whole(small, change, said):
    if "same image" in said:
        next((small / "spuco_dogs/test/big_dogs/indoor").iterdir()).rename(
            small / "spuco_dogs/test/big_dogs/indoor/023.png"
        )
    change(small)
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("spuco_animals", "animals", data_dir=small)


def test_birds_need_no_dogs(small):
    shutil.rmtree(small / "spuco_dogs")
    assert len(load_dataset("spuco_animals", "birds", data_dir=small)["test"]) == 4
    with pytest.raises(oochub.OochubError, match="it lacks spuco_dogs/"):
        load_dataset("spuco_animals", "animals", data_dir=small)


def test_sizes_of_the_release(small):
    """Full-size lists of names made from the package's own constants have no gap; one name less has."""
    for split, (usual, other) in {"train": (10_000, 500), "val": (500, 25), "test": (500, 500)}.items():
        counts = dict(zip(_GROUPS["birds"], (usual, other, other, usual), strict=True))
        groups = {group: [f"{k}.jpg" for k in range(count)] for group, count in counts.items()}
        assert spuco_animals._list_gaps(split, groups) == []
        groups["landbirds/water"].pop()
        said = f"{other - 1:,} of {other:,} images of landbirds/water in {split}"
        assert spuco_animals._list_gaps(split, groups) == [said]
    notes = BuildRecord.of(load_dataset("spuco_animals", "birds", data_dir=small)["test"].info).notes
    assert any(note.startswith("partial: 1 of 10,000 images of landbirds/land in train, ") for note in notes)
    with pytest.raises(oochub.OochubError, match="is not the release: partial: 1 of 10,000"):
        load_dataset("spuco_animals", "birds", data_dir=small, strict=True)
