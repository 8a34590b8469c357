"""The MetaShift builder: SubpopBench's division, rows by hand, folders that are not whole."""

import shutil

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.metashift import _divide
from oochub.records.build_record import BuildRecord

_ROOT = "MetaShift-Cat-Dog-indoor-outdoor"
_COUNTS = {
    "train/cat/cat(indoor)": 7,
    "train/dog/dog(outdoor)": 6,
    "test/cat/cat(outdoor)": 4,
    "test/dog/dog(indoor)": 3,
}
# What generate_metadata_metashift of SubpopBench 4d3dbbe wrote for these 20 files, its own code executed on a folder
# that is listed in the order of names: 0 train, 1 validation, 2 test.
_SPLIT = [2, 2, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 0, 0, 0, 2, 1, 2, 0, 0]


@pytest.fixture
def small(tmp_path):
    number = 0
    for place, count in _COUNTS.items():
        (tmp_path / _ROOT / place).mkdir(parents=True)
        for _ in range(count):
            number += 1
            Image.new("RGB", (1, 1), (number, 0, 0)).save(tmp_path / _ROOT / place / f"{number:03}.jpg")
    return tmp_path


def test_rows_are_divided_as_by_subpopbench(small):
    assert _divide(20) == _SPLIT
    data = load_dataset("metashift", data_dir=small)
    files = [(place, k) for place, count in _COUNTS.items() for k in range(count)]
    for split, number in (("train", 0), ("validation", 1), ("test", 2)):
        part, expected = data[split], []
        for row, (place, _) in enumerate(files):
            label, place = place.split("/")[2].rstrip(")").split("(")
            if _SPLIT[row] == number:
                expected.append((f"{label}/{place}/{row + 1:03}", label, f"{label}/{place}", place))
        names = ("label", "group", "place")
        words = [part.features[name].int2str(part[name]) for name in names]
        assert list(zip(part["example_id"], *words, strict=True)) == expected
        assert part["environment"] == part["group"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: shutil.rmtree(root / "test/dog/dog(indoor)"), r"no image <id>.jpg in test/dog/dog\(indoor\)/"),
        (
            lambda root: (root / "test/dog/dog(indoor)").rename(root / "test/dog/dog(indoors)"),
            r"Did you mean 'dog\(indoors\)'",
        ),
    ],
)
def test_folders_that_are_not_whole(small, change, said):
    change(small / _ROOT)
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("metashift", data_dir=small)


def test_too_few_images_are_refused(small):
    for path in [*small.rglob("*.jpg")]:
        if path.stem not in ("001", "008", "014", "018"):
            path.unlink()
    with pytest.raises(oochub.OochubError, match="holds 4 images, too few to divide"):
        load_dataset("metashift", data_dir=small)


def test_an_image_of_two_folders_is_noted(small):
    """An image of Visual Genome may show a cat and a dog."""
    shutil.copy(small / _ROOT / "train/cat/cat(indoor)/001.jpg", small / _ROOT / "test/dog/dog(indoor)")
    data = load_dataset("metashift", data_dir=small)
    assert "images that are in two of the four folders: 1" in BuildRecord.of(data["test"].info).notes
