"""The Hard ImageNet builder: a row for each mask with an image, published counts, masks and images that do not fit."""

import shutil

import pytest
from datasets import Image, load_dataset

import oochub
from oochub.builders.toy_worlds.toy_hard_imagenet import toy_hard_imagenet
from oochub.class_names.imagenet_classes import LABELS
from oochub.records.build_record import BuildRecord


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return toy_hard_imagenet(tmp_path_factory.mktemp("drawn") / "hard_imagenet", size=2, seed=3)


@pytest.fixture
def small(drawn, tmp_path):
    """Two images of each of six classes in each split."""
    return shutil.copytree(drawn, tmp_path / "hard_imagenet")


def notes_of(folder):
    data = load_dataset("hard_imagenet", data_dir=folder)
    return data, BuildRecord.of(data["test"].info).notes


def test_rows_by_hand(small):
    (small / "imagenet/val/n01440764").mkdir(exist_ok=True)
    (small / "imagenet/val/n01440764/ILSVRC2012_val_00009999.JPEG").write_bytes(b"no mask, so no row")
    data, notes = notes_of(small)
    assert {split: len(part) for split, part in data.items()} == {"train": 12, "test": 12}
    for split, name in (("train", "train"), ("test", "val")):
        part = data[split]
        for row in part:
            wnid, _, image = row["example_id"].partition("_")
            assert row["label"] == LABELS[wnid]
            assert row["mask"] == f"{name}/{row['example_id']}.JPEG" and (small / row["mask"]).is_file()
            source = small / "imagenet" / name / wnid / f"{image}.JPEG"
            assert source.is_file()
            group = part.features["group"].int2str(row["group"])
            assert part.features["label"].int2str(row["label"]).startswith(group)
    raw = data["test"].cast_column("image", Image(decode=False))[0]
    wnid, _, image = raw["example_id"].partition("_")
    assert raw["image"]["bytes"] == (small / "imagenet/val" / wnid / f"{image}.JPEG").read_bytes()
    assert "partial: 12 of 750 rows in test" in notes and "partial: 6 of 15 classes" in notes


def test_masks_without_their_image_are_said(small):
    (first, *_) = sorted((small / "val").iterdir())
    wnid, _, image = first.name.partition("_")
    (small / "imagenet/val" / wnid / image).unlink()
    shutil.rmtree(small / "train")
    data, notes = notes_of(small)
    assert {split: len(part) for split, part in data.items()} == {"test": 11}
    assert f"partial: 1 of 12 masks in val have no image in imagenet/val ({first.name})" in notes
    for folder in (small / "imagenet/val").iterdir():
        shutil.rmtree(folder)
    with pytest.raises(oochub.OochubError, match=r"None of the masks in .*val has its image"):
        load_dataset("hard_imagenet", data_dir=small)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda val: (val / "paths_by_rank.pkl").touch(), r"paths_by_rank.pkl: a mask is named <wnid>_"),
        (lambda val: (val / "n99999999_1.JPEG").touch(), "n99999999_1.JPEG: a mask is named"),
        (lambda val: shutil.copy(min(val.iterdir()), min(val.iterdir()).with_suffix(".png")), "image must be unique"),
        (lambda val: shutil.rmtree(val.parent / "imagenet"), "it lacks imagenet/val/"),
    ],
)
def test_folders_that_do_not_fit(small, change, said):
    change(small / "val")
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("hard_imagenet", data_dir=small)


@pytest.mark.slow
def test_as_many_as_published_have_no_note(small):
    """15 classes of 50 test images, as empty files: names and counts are all that is compared."""
    for folder in ("train", "val", "imagenet"):
        shutil.rmtree(small / folder)
    (small / "val").mkdir()
    for wnid in list(LABELS)[:15]:
        place = small / "imagenet/val" / wnid
        place.mkdir(parents=True)
        for k in range(50):
            (place / f"ILSVRC2012_val_{k:08}.JPEG").touch()
            (small / "val" / f"{wnid}_ILSVRC2012_val_{k:08}.JPEG").touch()
    data = load_dataset("hard_imagenet", data_dir=small, streaming=True)
    record = BuildRecord.of(data["test"].info)
    assert record.facts.rows == {"test": 750} and len(record.facts.present_classes) == 15
    assert not any("partial" in note for note in record.notes)
