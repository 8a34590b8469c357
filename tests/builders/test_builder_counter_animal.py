"""The CounterAnimal builder: rows by hand, the numbers of ImageNet's classes, folders that are not whole."""

import shutil

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.records.build_record import BuildRecord

_FILES = ("9 ostrich/common-ground/a.jpg", "9 ostrich/counter-water/b.jpg", "296 ice bear/common-snow/a.jpg",
          "296 ice bear/common-snow/c.jpg", "296 ice bear/counter-grass/d.jpg")  # fmt: skip


@pytest.fixture
def small(tmp_path):
    for number, file in enumerate(_FILES):
        path = tmp_path / "LAION-final" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (1, 1), (40 * number, 0, 0)).save(path)
    return tmp_path


def test_rows_by_hand(small):
    part = load_dataset("counter_animal", data_dir=small)["test"]
    features = part.features
    assert features["label"].names == list(IMAGENET_1K_NAMES)
    rows = [
        ("9 ostrich/common-ground/a", 9, "ostrich/ground", "common", "ground"),
        ("9 ostrich/counter-water/b", 9, "ostrich/water", "counter", "water"),
        ("296 ice bear/common-snow/a", 296, "ice bear/snow", "common", "snow"),
        ("296 ice bear/common-snow/c", 296, "ice bear/snow", "common", "snow"),
        ("296 ice bear/counter-grass/d", 296, "ice bear/grass", "counter", "grass"),
    ]
    words = [features[name].int2str(part[name]) for name in ("group", "part", "background")]
    assert list(zip(part["example_id"], part["label"], *words, strict=True)) == rows
    assert part["environment"] == part["part"]
    assert BuildRecord.of(part.info).facts.present_classes == (9, 296)
    declared = oochub.get("benchmark", "counter_animal")
    assert (declared.in_context.where["part"], declared.out_of_context.where["part"]) == (("common",), ("counter",))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda root: (root / "bird").mkdir(), "bird/: class folder must be named <number"),
        (
            lambda root: shutil.rmtree(root / "9 ostrich/counter-water"),
            "9 ostrich must have images in one folder .*, without an image of counter",
        ),
        (
            lambda root: (root / "9 ostrich/common-ground/a.jpg").unlink(),
            "9 ostrich must have images in one folder .*, without an image of common",
        ),
        (lambda root: (root / "9 ostrich/common-sky").mkdir(), "got common-ground, common-sky, counter-water"),
        (
            lambda root: (root / "9 ostrich/other").mkdir(),
            "other/: folder must be common-<background> or counter-<background>",
        ),
        (
            lambda root: (root / "296 ice bear").rename(root / "9 bear"),
            "9 ostrich/: number must be unique, got '9', as in 9 bear/",
        ),
        (
            lambda root: shutil.copy(root / "9 ostrich/common-ground/a.jpg", root / "296 ice bear/common-snow/a.jpg"),
            "are the same image",
        ),
        (lambda root: [shutil.rmtree(path) for path in root.iterdir()], "holds no class folder"),
    ],
)
def test_folders_that_are_not_whole(small, change, said):
    change(small / "LAION-final")
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("counter_animal", data_dir=small)
