"""The split file and the id files of NOOCH: what is no list of whole numbers, or names an image twice, is refused."""

import io
import os
import zipfile

import numpy as np
import pytest

from oochub import OochubError
from oochub.builders.sources.coco import CocoTable
from oochub.builders.sources.nooch import split
from oochub.builders.sources.nooch.ids import nooch_ids
from oochub.builders.sources.nooch.split import nooch_split

FILE = "cocostuff_split_image_ids.npz"


def _table(*ids):
    nothing = np.zeros((len(ids), 171))
    names = [f"train2017/{k:012d}.jpg" for k in ids]
    blank = [""] * len(ids)
    return CocoTable(
        image_id=np.array(ids),
        file_name=names,
        license=blank,
        source_url=blank,
        area=nothing,
        count=nothing.astype(int),
    )


def _split(file, train=(1, 2, 3), valid=(4,), test=(5, 6)):
    np.savez(file, train_ids=train, valid_ids=valid, test_ids=test)
    return file.read_bytes()


def _saved(array, **options):
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


def _promising(shape):
    """A .npy file whose header promises more than there is."""
    whole = _saved(np.arange(9))
    return whole.replace(b"'shape': (9,)", f"'shape': ({shape},)".encode()) + b"\0" * 8


def _bomb(file):
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("train_ids", "valid_ids", "test_ids"):
            with archive.open(f"{name}.npy", "w") as member:
                for _ in range(400):
                    member.write(bytes(2**20))


def test_an_official_split_keeps_its_order(tmp_path):
    """Worked by hand; images in none of its splits are noted, and its ids without an image are passed over."""
    _split(tmp_path / FILE, train=[3, 1, 99])
    rows, notes = nooch_split(tmp_path, _table(1, 2, 3, 4, 5, 6))
    assert {name: row.tolist() for name, row in rows.items()} == {"train": [2, 0], "validation": [3], "test": [4, 5]}
    assert notes == [f"1 of 6 images are in no split of {FILE}"]


def test_where_all_images_are_there_every_id_has_one(tmp_path, monkeypatch):
    """Planted fault seen: ids without an image passed over here too."""
    monkeypatch.setattr(split, "FULL", 6)
    _split(tmp_path / FILE)
    assert nooch_split(tmp_path, _table(1, 2, 3, 4, 5, 6))[1] == []
    _split(tmp_path / FILE, test=[5, 6, 7])
    with pytest.raises(OochubError, match=rf"{FILE} names 1 ids in test that no image has, first 7"):
        nooch_split(tmp_path, _table(1, 2, 3, 4, 5, 6))


SPLITS = {
    "fractions": (
        lambda file: _split(file, train=[1.0, 2.5]),
        r"holds float64 of shape \(2,\), but must be a list of image ids",
    ),
    "truth values": (lambda file: _split(file, valid=[True]), "holds bool"),
    "objects": (lambda file: np.savez(file, train_ids=np.array([{}]), valid_ids=[4], test_ids=[5]), "not a NumPy file"),
    "a table": (lambda file: _split(file, train=[[1, 2]]), r"of shape \(1, 2\)"),
    "negative ids": (lambda file: _split(file, train=[-1, 2]), "holds -1 to 2, but image ids are 0 or more"),
    "ids beyond int64": (lambda file: _split(file, train=np.array([2**63], np.uint64)), "9223372036854775808"),
    "an id in two splits": (lambda file: _split(file, test=[3, 5]), "has an image id twice, first 3"),
    "an id twice in one split": (lambda file: _split(file, train=[1, 1]), "has an image id twice, first 1"),
    "other names": (lambda file: np.savez(file, train=[1], valid=[4], test=[5]), "with train_ids, valid_ids, test_ids"),
    "a folder": (lambda file: file.mkdir(), "it is a folder"),
    "a pipe": (os.mkfifo, "it is a pipe"),
    "a bomb": (_bomb, "it promises 1,258,291,200 bytes"),
    "no image of a split": (lambda file: _split(file, valid=[77]), "None of the 6 images is in the split validation"),
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == "a bomb" else ()) for name in SPLITS]
)
@pytest.mark.parametrize("given", [False, True])
def test_what_is_no_split_is_refused(tmp_path, name, given):
    """Planted faults seen: `astype` without a look at the type, no check of ids that occur twice, `is_file()`."""
    make, words = SPLITS[name]
    make(tmp_path / FILE)
    folder, option = (tmp_path / "raw", str(tmp_path / FILE)) if given else (tmp_path, None)
    with pytest.raises(OochubError, match=words):
        nooch_split(folder, _table(1, 2, 3, 4, 5, 6), given=option)


IDS = {
    "fractions": (_saved(np.array([7.0, 9.0])), "holds float64"),
    "objects": (_saved(np.array([{}]), allow_pickle=True), "not a NumPy file of image ids"),
    "a promise of exabytes": (_promising(10**17), "not a NumPy file of image ids"),
    "a negative shape": (_promising(-1), "not a NumPy file of image ids"),
    "an id twice": (_saved(np.array([7, 7])), "has an image id twice, first 7"),
}


def test_a_given_file_that_is_not_there(tmp_path):
    with pytest.raises(OochubError, match=r"none\.npz: there is no such file"):
        nooch_split(tmp_path, _table(1), given=str(tmp_path / "none.npz"))


@pytest.mark.parametrize("name", IDS)
def test_what_is_no_id_file_is_refused(tmp_path, name):
    content, words = IDS[name]
    for side in ("positive", "negative"):
        for part in ("valid", "test"):
            (tmp_path / f"nooch_ids_CE_car_hard_{side}_{part}.npy").write_bytes(_saved(np.array([7, 9])))
    (tmp_path / "nooch_ids_CE_car_hard_negative_test.npy").write_bytes(content)
    with pytest.raises(OochubError, match=rf"nooch_ids_CE_car_hard_negative_test\.npy.*{words}"):
        nooch_ids(tmp_path, "car", "ce")
