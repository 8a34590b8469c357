"""The CelebA builder: rows by hand in both forms of its tables, the folders of WILDS and Kaggle, malformed tables."""

from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.records.build_record import BuildRecord

# Name, partition, Blond_Hair, Male, and another attribute that is passed over.
_FACES = [
    ("000001.jpg", 0, 1, -1, 1),
    ("000002.jpg", 0, -1, 1, 1),
    ("000003.jpg", 1, 1, 1, -1),
    ("000004.jpg", 2, -1, -1, 1),
]
_ATTRIBUTES = ["Blond_Hair", "Male", "Young"]


def _pictures(folder: Path) -> None:
    folder.mkdir(parents=True)
    for name, *_ in _FACES:
        Image.new("RGB", (4, 4)).save(folder / name)


def _csv(root: Path) -> Path:
    _pictures(root / "img_align_celeba")
    rows = [["image_id", *_ATTRIBUTES], *([name, *map(str, values)] for name, _, *values in _FACES)]
    (root / "list_attr_celeba.csv").write_text("".join(",".join(row) + "\n" for row in rows), "utf-8")
    partition = "image_id,partition\n" + "".join(f"{name},{split}\n" for name, split, *_ in _FACES)
    (root / "list_eval_partition.csv").write_text(partition, "utf-8")
    return root


def _txt(root: Path) -> Path:
    """As CelebA's authors have it: a count, then the names of the attributes; columns between blanks."""
    _pictures(root / "img_align_celeba")
    rows = [f"{name} " + "".join(f"{value:3}" for value in values) for name, _, *values in _FACES]
    lines = [str(len(_FACES)), " ".join(_ATTRIBUTES) + " ", *rows]
    (root / "list_attr_celeba.txt").write_text("\n".join(lines) + "\n", "utf-8")
    partition = "".join(f"{name} {split}\n" for name, split, *_ in _FACES)
    (root / "list_eval_partition.txt").write_text(partition, "utf-8")
    return root


@pytest.mark.parametrize("form", [_csv, _txt], ids=["csv", "txt"])
def test_rows_by_hand(form, tmp_path):
    """Fault planted: Male taken for the label."""
    data = oochub.load("celebA", data_dir=form(tmp_path / "raw"))
    features = data["train"].features
    rows = [row for split in ("train", "validation", "test") for row in data[split].remove_columns("image")]
    assert [(row["example_id"], features["group"].int2str(row["group"])) for row in rows] == [
        ("000001", "blond/female"),
        ("000002", "not_blond/male"),
        ("000003", "blond/male"),
        ("000004", "not_blond/female"),
    ]
    for row in rows:
        label, sex = features["label"].int2str(row["label"]), features["sex"].int2str(row["sex"])
        assert features["group"].int2str(row["group"]) == f"{label}/{sex}" and row["environment"] == row["group"]
    record = BuildRecord.of(data["test"].info)
    assert record.facts.rows == {"train": 2, "validation": 1, "test": 1}
    counts = {"not_blond/female": 0, "not_blond/male": 1, "blond/female": 1, "blond/male": 0}
    assert dict(record.facts.group_counts) == counts
    gaps = "partial: 2 of 162,770 rows in train, 1 of 19,867 rows in validation, 1 of 19,962 rows in test"
    assert record.notes == (gaps,)
    with pytest.raises(oochub.OochubError, match=r"strict=True, but .* is not the release: partial: 2 of 162,770"):
        load_dataset("celebA", data_dir=tmp_path / "raw", strict=True)


def test_folders_of_wilds_and_kaggle(tmp_path):
    root = _csv(tmp_path / "wilds" / "celebA_v1.0")
    assert len(oochub.load("celebA", data_dir=tmp_path / "wilds")["train"]) == 2
    (root / "img_align_celeba").rename(root / "pictures")
    (root / "img_align_celeba").mkdir()
    (root / "pictures").rename(root / "img_align_celeba" / "img_align_celeba")
    assert len(oochub.load("celebA", data_dir=root)["train"]) == 2


_WRONG = {
    "no partition": (
        "list_eval_partition.csv",
        "000003.jpg,1\n",
        "",
        r"csv, line 4: '000003.jpg' is not in .*partition",
    ),
    "a count": ("list_attr_celeba.txt", "4\n", "5\n", r"has 4 rows, but its first line says '5'"),
    "no count": ("list_attr_celeba.txt", "4\n", "", r"lacks the column Blond_Hair"),
}


@pytest.mark.parametrize("word", _WRONG)
def test_a_malformed_table_is_refused(word, tmp_path):
    """File and line are named. Fault planted: a face without a split that is left out."""
    name, old, new, said = _WRONG[word]
    folder = (_csv if name.endswith(".csv") else _txt)(tmp_path / "raw")
    content = (folder / name).read_text("utf-8")
    assert old is None or old in content
    (folder / name).write_text(new if old is None else content.replace(old, new, 1), "utf-8")
    with pytest.raises(oochub.OochubError, match=said) as error:
        load_dataset("celebA", data_dir=folder, streaming=True)
    assert str(folder) in str(error.value)


def test_what_lies_in_the_toy_world(raw):
    """Of 20 faces 4 are blond women, 1 is a blond man, 7 other men and 8 other women, in every split."""
    data = oochub.load("celebA", data_dir=raw("celebA"))
    for part in data.values():
        names = part.features["group"].names
        shares = {name: part["group"][:].count(k) / len(part) for k, name in enumerate(names)}
        assert shares == {"not_blond/female": 0.4, "not_blond/male": 0.35, "blond/female": 0.2, "blond/male": 0.05}
