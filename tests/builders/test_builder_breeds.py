"""The BREEDS builder: partitions of a tree worked by hand, rows of the toy, files of the hierarchy that do not fit.

The whole choice was compared with the authors' `breeds_helpers.py` on their own files: all 4 tasks by 3 partitions.
"""

import json
import shutil

import numpy as np
import pytest
from datasets import load_dataset

import oochub
from oochub.builders.toy_worlds.toy_breeds import toy_breeds
from oochub.class_names.imagenet_classes import IMAGENET_1K_WNIDS, LABELS
from oochub.records.build_record import BuildRecord

_DOGS, _CATS = (207, 208, 235, 250, 258), (281, 282, 283, 284, 285)
_LIZARDS, _SNAKES = (40, 41, 42, 43, 45), (53, 56, 57, 58, 60)
_MODIFIED = "imagenet_class_hierarchy/modified"


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return toy_breeds(tmp_path_factory.mktemp("drawn") / "breeds", size=1, seed=3)


@pytest.fixture
def small(drawn, tmp_path):
    return shutil.copytree(drawn, tmp_path / "breeds")


def _classes(part):
    """The numbers of ImageNet's classes in a split, by superclass."""
    names = part.features["label"].names
    found = {name: set() for name in names}
    for label, wnid in zip(part["label"], part["wnid"], strict=True):
        found[names[label]].add(LABELS[wnid])
    return found


def test_rows_of_the_random_partition(drawn):
    data = load_dataset("breeds", "living17", data_dir=drawn)
    rng = np.random.RandomState(2)  # as `split_superclass` draws: each superclass in the order of its wnid
    by_wnid = {"lizard": _LIZARDS, "snake": _SNAKES, "dog": _DOGS, "domestic cat": _CATS}
    drawn_of = {name: rng.choice(own, 4, replace=False).tolist() for name, own in by_wnid.items()}
    assert data["train"].features["label"].names == list(by_wnid)
    for split, half in (("train", slice(2)), ("validation", slice(2)), ("test", slice(2, 4))):
        assert _classes(data[split]) == {name: set(own[half]) for name, own in drawn_of.items()}
        assert set(data[split]["domain"]) == {int(split == "test")}
    row = data["test"][0]
    source = drawn / "imagenet/val" / row["wnid"] / f"{row['example_id']}.JPEG"
    raw = data["test"].with_format("arrow")[0]["image"][0].as_py()
    assert raw["bytes"] == source.read_bytes()
    subclass = data["test"].features["subclass"].int2str(row["subclass"])
    assert data["test"].features["group"].int2str(row["group"]) == f"lizard/{subclass}"
    record = BuildRecord.of(data["test"].info)
    assert {*record.notes} >= {
        "partial: 4 of 17 superclasses",
        "partial: 8 of 1,700 rows in validation, 8 of 1,700 rows in test",
    }
    assert record.facts.imagenet_classes["dog"] == _DOGS
    assert set(record.facts.trained_groups) == set(record.facts.group_counts) and len(record.facts.group_counts) == 8


@pytest.mark.parametrize(
    ("config", "partition", "source"),
    [
        # two branches of ten; the first by wnid are reptiles (n01661091), each of two branches of five
        ("entity13", "bad", {"vertebrate": _LIZARDS + _SNAKES}),
        # of five lizards and five snakes, four each: half of the first branch, min(5 // 2, 4), goes to the source
        ("entity30", "good", {"reptile": (40, 41, 53, 56), "carnivore": (207, 208, 281, 282)}),
        ("entity30", "bad", {"reptile": (40, 41, 42, 43), "carnivore": (207, 208, 235, 250)}),
    ],
)
def test_other_partitions_by_hand(drawn, config, partition, source):
    data = load_dataset("breeds", config, data_dir=drawn, partition=partition)
    found = _classes(data["validation"])
    assert {name: found[name] for name in source} == {name: set(own) for name, own in source.items()}
    others = _classes(data["test"])
    assert all(not own & others[name] and len(own) == len(others[name]) for name, own in found.items())


def test_validation_images_in_one_folder(small):
    """As ImageNet publishes them, with the solution of the Kaggle challenge; the training images may be absent."""
    val = small / "imagenet/val"
    files = sorted(val.glob("*/*.JPEG"))
    lines = ["ImageId,PredictionString", *(f"{file.stem},{file.parent.name} 1 2 3 4 " for file in files)]
    (small / "imagenet/LOC_val_solution.csv").write_text("\n".join(lines) + "\n")
    before = load_dataset("breeds", "nonliving26", data_dir=small)["test"]
    for file in files:
        shutil.move(file, val / file.name)
    for folder in [path for path in val.iterdir() if path.is_dir()]:
        folder.rmdir()
    shutil.rmtree(small / "imagenet/train")
    after = load_dataset("breeds", "nonliving26", data_dir=small)
    assert set(after) == {"validation", "test"}
    assert after["test"]["example_id"] == before["example_id"] and after["test"]["label"] == before["label"]


def _edit(name, change):
    def apply(root):
        file = root / _MODIFIED / name
        file.write_text(change(file.read_text("utf-8")), "utf-8")

    return apply


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_edit("class_hierarchy.txt", lambda text: text + "dummy2 dummy1\n"), "child must be unique, got 'dummy1'"),
        (_edit("class_hierarchy.txt", lambda text: text + "one\n"), "class_hierarchy.txt.* line 59: 1 fields"),
        (
            _edit("class_hierarchy.txt", lambda text: text.replace("n00001740 n00004258", "n02084071 n00004258")),
            "must lead to n00001740",
        ),
        (
            _edit("class_hierarchy.txt", lambda text: text.replace("n02084071 n02099712", "n02099601 n02099712")),
            "n02099712 is below another class",
        ),
        (
            _edit("dataset_class_info.json", lambda text: json.dumps([[1, IMAGENET_1K_WNIDS[0], "tench"]])),
            r"entry 0 must be \[number, wnid, name\]",
        ),
        (_edit("class_hierarchy.txt", lambda text: "n00001740 n00004258\n"), "so living17 has no superclass"),
    ],
)
def test_hierarchies_that_do_not_fit(small, change, said):
    change(small)
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("breeds", "living17", data_dir=small)


def test_an_unknown_partition(drawn):
    with pytest.raises(oochub.OochubError, match="No partition named 'random'"):
        load_dataset("breeds", "living17", data_dir=drawn, partition="random")
