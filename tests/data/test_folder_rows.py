"""A plain folder of images opens with the rows that imagefolder of `datasets` itself gives, which is the reference."""

import io
import json
import os
import random
from pathlib import Path

import datasets
import pandas as pd
import pytest
from PIL import Image

from oochub.data import open_source as opening
from oochub.data.folder_rows import FolderRows
from oochub.data.open_source import open_source
from oochub.data.user_columns import _get_stem
from oochub.errors import OochubError


def _encode() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 4), (9, 99, 200)).save(file, "PNG")
    return file.getvalue()


_PNG = _encode()
_TABLE = "file_name,species,n,weight,wild\n1.jpg,cow,3,0.5,True\n2.jpg,camel,4,,False\nsub/3.jpg,,-5,1e9,True\n"
_ROWS = [
    {"file_name": "1.jpg", "n": 3, "weight": 0.5, "wild": True, "note": "é 1"},
    {"file_name": "2.jpg", "n": None, "weight": None, "wild": None, "note": None},
]
_LINES = "".join(json.dumps(row) + "\n" for row in _ROWS)
_MANY = "file_name,n\n" + "".join(f"{n}.jpg,{n}\n" for n in range(10_050))


def _parquet(**columns) -> bytes:
    file = io.BytesIO()
    pd.DataFrame(columns).to_parquet(file)
    return file.getvalue()


def _rows_of(**columns) -> bytes:
    """A table that `datasets` wrote, with its features in the file."""
    file = io.BytesIO()
    datasets.Dataset.from_dict(columns).cast_column("label", datasets.ClassLabel(names=["a", "b"])).to_parquet(file)
    return file.getvalue()


PLAIN = {
    "class folders": {"cow/1.jpg": _PNG, "cow/2.jpg": _PNG, "camel/1.png": _PNG, "camel/0.jpeg": _PNG},
    "class folders in splits": {
        f"{split}/{kind}/{n}.jpg": _PNG for split in ("train", "test") for kind in "ba" for n in range(3)
    },
    "a class that one split lacks": {"train/a/1.jpg": _PNG, "train/b/1.jpg": _PNG, "test/c/1.jpg": _PNG},
    "a first split of one class": {"train/a/1.jpg": _PNG, "test/a/1.jpg": _PNG, "test/b/1.jpg": _PNG},
    "folders train and test alone": {"train/1.jpg": _PNG, "train/2.jpg": _PNG, "test/1.jpg": _PNG},
    "three splits, odd names": {
        "my-train_1/a/1.jpg": _PNG,
        "x/dev/b/1.jpg": _PNG,
        "x/evaluation 2/a/1.jpg": _PNG,
        "x/evaluation 2/b/1.jpg": _PNG,
    },
    "splits by name": {"a/train_1.jpg": _PNG, "a/2-test.jpg": _PNG, "b/x.val.jpg": _PNG, "b/not in any.jpg": _PNG},
    "an image that two patterns find": {"train/train_1/1.jpg": _PNG, "train/b/1.jpg": _PNG, "test/b/1.jpg": _PNG},
    "data/train-00000-of-00001": {"data/train-00000-of-00001.jpg": _PNG, "data/odd-00000-of-00002.png": _PNG},
    "images alone": {"2.jpg": _PNG, "10.jpg": _PNG, "1.JPG": _PNG},
    "one class folder": {"cow/1.jpg": _PNG, "cow/2.jpg": _PNG},
    "folders at several depths": {"a/1.jpg": _PNG, "a/b/2.jpg": _PNG, "c.jpg": _PNG},
    "hidden and special names": {
        "a/1.jpg": _PNG, "b/2.jpg": _PNG, ".git/x.jpg": _PNG, "a/.x.jpg": _PNG, "__MACOSX/a/1.jpg": _PNG,
        "__x.jpg": _PNG, "a/__pycache__/1.jpg": _PNG, "config.json": b"{}",
    },
    "other files in the minority": {
        **{f"{kind}/{n}.jpg": _PNG for kind in "ab" for n in range(3)},
        "notes.txt": b"x", "a/table.csv": b"a,b\n1,2\n", "LICENSE": b"x", "a/Thumbs.db": b"x", "mymetadata.csv": b"x",
    },
    "odd names": {"a b/ü 1.jpg": _PNG, "c's, \"d\"/n01_1.2.jpg": _PNG, "c's, \"d\"/x.jpg.png": _PNG, "a b/-.gif": _PNG},
    "class names of digits": {"10/1.jpg": _PNG, "9/1.jpg": _PNG, "-1/1.jpg": _PNG},
    "metadata.csv": {"1.jpg": _PNG, "2.jpg": _PNG, "sub/3.jpg": _PNG, "metadata.csv": _TABLE.encode()},
    "metadata.csv in each split": {
        **{f"{split}/{n}.jpg": _PNG for split in ("train", "test") for n in "12"},
        "train/metadata.csv": b"file_name,a\n2.jpg,x\n1.jpg,y\n", "test/metadata.csv": b"file_name,a\n1.jpg,z\n",
    },
    "metadata.csv of images that are missing, and not of all": {
        "1.jpg": _PNG, "2.jpg": _PNG, "metadata.csv": b"file_name,n\n1.jpg,1\nlost.jpg,2\n",
    },
    "metadata.csv in class folders": {
        "a/1.jpg": _PNG, "b/2.jpg": _PNG, "metadata.csv": b"file_name,n\na/1.jpg,1\nb/2.jpg,2\n",
    },
    "metadata.csv, a column x_file_name": {"1.jpg": _PNG, "metadata.csv": b"n,mask_file_name\n1,1.jpg\n"},
    "metadata.csv with a column without values": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n1.jpg,\n"},
    "metadata.csv with more than one block": {"1.jpg": _PNG, "metadata.csv": _MANY.encode()},
    "metadata.jsonl": {"1.jpg": _PNG, "2.jpg": _PNG, "metadata.jsonl": _LINES.encode()},
    "metadata.parquet": {"1.jpg": _PNG, "metadata.parquet": _parquet(file_name=["1.jpg"], n=[1.5], k=[7])},
    "metadata.parquet, small numbers": {
        "1.jpg": _PNG,
        "metadata.parquet": _parquet(file_name=["1.jpg"], a=pd.array([3], "uint8"), b=pd.array([1.5], "float32")),
    },
}  # fmt: skip
"""What `FolderRows` opens."""
OTHERS = {
    "archives": {"a.zip": b"PK\x05\x06" + 18 * b"\0", "1.jpg": _PNG, "2.jpg": _PNG},
    "compressed images": {"a/1.jpg": _PNG, "b/2.jpg.gz": b"x", "b/1.jpg": _PNG},
    "a suffix in odd case": {"a/1.jpg": _PNG, "b/2.Jpg": _PNG, "b/3.txt.Jpg": _PNG},
    "as many texts as images": {"a/1.jpg": _PNG, "a/1.txt": b"x"},
    "more tables than images": {"a/1.jpg": _PNG, "a/1.csv": b"a\n1\n", "b/2.csv": b"a\n1\n"},
    "splits of two kinds": {"train/1.jpg": _PNG, "test/1.csv": b"a\n1\n"},
    "a split of unknown files": {"train/1.jpg": _PNG, "test/1.docx": b"x"},
    "a card": {"a/1.jpg": _PNG, "b/1.jpg": _PNG, "README.md": b"---\nlicense: mit\n---\n"},
    "metadata alone": {"metadata.csv": b"file_name,n\n1.jpg,2\n"},
    "metadata in one split of two": {
        "train/1.jpg": _PNG, "test/1.jpg": _PNG, "test/metadata.csv": b"file_name,n\n1.jpg,2\n",
    },
    "metadata in each class folder": {
        "a/1.jpg": _PNG, "b/2.jpg": _PNG, "a/metadata.csv": b"file_name,n\n1.jpg,2\n",
        "b/metadata.csv": b"file_name,n\n2.jpg,3\n",
    },
    "metadata of two forms": {
        "train/1.jpg": _PNG, "test/1.jpg": _PNG, "test/metadata.csv": b"file_name,n\n1.jpg,2\n",
        "train/metadata.jsonl": b'{"file_name": "1.jpg", "n": 1}\n',
    },
    "metadata with other columns": {
        "train/1.jpg": _PNG, "test/1.jpg": _PNG, "test/metadata.csv": b"file_name,n\n1.jpg,2\n",
        "train/metadata.csv": b"file_name,n\n1.jpg,x\n",
    },
    "metadata that say nothing of files": {"1.jpg": _PNG, "metadata.csv": b"name,n\n1.jpg,2\n"},
    "metadata without names": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n1.jpg,2\n,3\n"},
    "metadata with numbers for names": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n1,2\n"},
    "metadata with two columns of files": {"1.jpg": _PNG, "metadata.csv": b"file_name,mask_file_name\n1.jpg,1.jpg\n"},
    "metadata with a column image too": {"1.jpg": _PNG, "metadata.csv": b"file_name,image\n1.jpg,7\n"},
    "metadata that lead out": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n../1.jpg,2\n"},
    "metadata that lead to a root": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n/etc/passwd,2\n"},
    "metadata with an address": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\nfile:///etc/passwd,2\n"},
    "metadata with a crooked path": {"a/1.jpg": _PNG, "metadata.csv": b"file_name,n\n./a//1.jpg,2\n"},
    "metadata with lists": {"1.jpg": _PNG, "metadata.jsonl": b'{"file_name": "1.jpg", "n": [1, 2]}\n'},
    "metadata with times": {"1.jpg": _PNG, "metadata.jsonl": b'{"file_name": "1.jpg", "n": "2020-01-01"}\n'},
    "metadata with features": {"1.jpg": _PNG, "metadata.parquet": _rows_of(file_name=["1.jpg"], label=[1])},
    "metadata that change their kind after 10,000 rows": {
        "1.jpg": _PNG, "metadata.csv": (_MANY + "1.jpg,x\n").encode(),
    },
    "metadata that are no table": {"1.jpg": _PNG, "metadata.csv": b"\xff\xfe,\n"},
    "metadata without rows": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n"},
    "an empty metadata file": {"1.jpg": _PNG, "metadata.jsonl": b""},
}  # fmt: skip
"""What is left to imagefolder, or to what `datasets` takes such a folder for."""


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _find(folder: Path) -> FolderRows | None:
    return FolderRows.find(folder, list(opening._list_entries(folder)))


def _tell(data: datasets.DatasetDict) -> list:
    """All that a user sees of data: splits, features, rows, names."""
    return [
        (name, part.features, _list_rows(part), part.info.builder_name, part.info.dataset_name, part.info.config_name)
        for name, part in data.items()
    ]


def _list_rows(part: datasets.Dataset) -> list[dict]:
    return part.with_format("arrow")[:].to_pylist()


def _load(folder: Path) -> datasets.DatasetDict | Exception:
    """What `datasets` makes of a folder by itself."""
    try:
        return datasets.load_dataset(str(folder))
    except Exception as error:  # of any kind: it is the reference
        return error


def _build(rows: FolderRows) -> datasets.DatasetDict:
    rows.download_and_prepare()
    return rows.as_dataset()


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_folder_has_the_rows_of_imagefolder(name, tmp_path):
    """Planted faults seen: splits in another order, one pattern of each split alone, classes at several depths."""
    folder = _write(tmp_path / "MyPictures of-it", PLAIN[name])
    reference, rows = _load(folder), _find(folder)
    assert isinstance(reference, datasets.DatasetDict), reference
    assert rows is not None
    assert _tell(_build(rows)) == _tell(reference)
    assert _tell(open_source(str(folder))) == _tell(reference)


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_folder_is_left_to_datasets(name, tmp_path):
    """Rows or error are then those of `datasets`, whose words the error has.

    Planted faults seen: suffixes in any case, a kind of file that is no more frequent than another, missing names,
    several metadata files.
    """
    folder = _write(tmp_path / "pictures", OTHERS[name])
    assert _find(folder) is None
    reference = _load(folder)
    if isinstance(reference, Exception):
        cause = str(reference.__cause__ or reference).strip().rstrip(".")
        with pytest.raises(OochubError) as said:
            open_source(str(folder))
        assert cause.splitlines()[0][:40] in str(said.value)
    else:
        assert _tell(open_source(str(folder))) == _tell(reference)


@pytest.mark.parametrize(
    "options", [{"drop_labels": True}, {"drop_labels": False}, {"drop_metadata": True}, {"drop_metadata": False}]
)
def test_options_of_imagefolder_are_its_own_affair(options, tmp_path):
    """Classes or metadata are dropped as imagefolder does it."""
    for name in ("class folders", "metadata.csv", "one class folder"):
        folder = _write(tmp_path / name, PLAIN[name])
        assert _tell(open_source(str(folder), options=options)) == _tell(datasets.load_dataset(str(folder), **options))


def test_links_are_followed_as_imagefolder_does(tmp_path):
    """To an image, to a folder (which is passed over), to nothing; and if the folder is a link itself."""
    folder = _write(tmp_path / "pictures", {"a/1.jpg": _PNG, "b/1.jpg": _PNG})
    (folder / "a/2.jpg").symlink_to(folder / "b/1.jpg")
    (folder / "a/lost.jpg").symlink_to(folder / "nowhere.jpg")
    (folder / "c").symlink_to(folder / "b")
    (tmp_path / "link").symlink_to(folder)
    for place in (folder, tmp_path / "link", tmp_path / "pictures/../link"):
        rows = _find(place)
        assert rows is not None and _tell(_build(rows)) == _tell(_load(place)) == _tell(open_source(str(place)))


@pytest.mark.parametrize("name", ["[a] ?*", "a::b", "pictures.py"])
def test_a_folder_whose_name_is_a_pattern_is_left_to_datasets(name, tmp_path):
    """And one that is named like a script in it."""
    folder = _write(tmp_path / name, PLAIN["class folders"])
    (folder / "pictures.py").touch()
    assert _find(folder) is None


@pytest.mark.parametrize("change", ["time of an image", "metadata with their old time", "an image more"])
def test_what_changed_is_read_anew(change, tmp_path):
    """The cache goes by names, sizes and times; of a metadata file by the time of change too."""
    folder = _write(tmp_path / "pictures", PLAIN["metadata.csv"])
    rows = _find(folder)
    assert rows is not None
    before = _build(rows)["train"]
    again = _find(folder)
    assert again is not None and again.cache_dir == rows.cache_dir
    metadata = folder / "metadata.csv"
    about = metadata.stat()
    if change == "time of an image":
        os.utime(folder / "1.jpg", ns=(1, 1))
    elif change == "an image more":
        _write(folder, {"9.jpg": _PNG})
    else:
        metadata.write_text(metadata.read_text().replace("cow", "elk"))
        os.utime(metadata, ns=(about.st_atime_ns, about.st_mtime_ns))
    anew = _find(folder)
    assert anew is not None and anew.cache_dir != rows.cache_dir
    assert _build(anew)["train"]._fingerprint != before._fingerprint


_FOLDERS = [
    "train",
    "test",
    "val",
    "cow",
    "camel",
    "my-train",
    "train_2",
    "Test",
    "evaluation",
    "__x",
    ".y",
    "data",
    "devil",
]
_NAMES = ["1.jpg", "2.png", "train.jpg", "a-test_1.jpg", "x.JPG", "b.Jpg", "c.jpg.gz", "d.txt", "e.csv", "f.1.2.gif"]
_NAMES += [
    "latest.jpg",
    "train-00000-of-00001.jpg",
    "valid 3.webp",
    "noise",
    "g.",
    "..h.jpg",
    "i.eval",
    "j.mpg",
    "k.md",
]
_WEIGHTS = [30, 20, 6, 6, 6, 1, 1, 2, 1, 4, 4, 2, 4, 2, 1, 1, 1, 1, 1]


@pytest.mark.slow
def test_folders_drawn_at_random_have_the_rows_of_imagefolder(tmp_path):
    """Names of splits, classes and odd files at depths of 0 to 3; half of the folders are plain."""
    draws, plain = random.Random(7), 0
    for number in range(150):
        files = {}
        for _ in range(draws.randint(1, 9)):
            parts = draws.choices(_FOLDERS, k=draws.choice([0, 1, 1, 2, 2, 2, 3]))
            files["/".join([*parts, *draws.choices(_NAMES, _WEIGHTS)])] = _PNG
        if draws.random() < 0.2:
            files["metadata.csv"] = b"file_name,n\n" + b"".join(f"{name},1\n".encode() for name in files)
        folder = _write(tmp_path / str(number), files)
        rows = _find(folder)
        if rows is not None:
            reference, plain = _load(folder), plain + 1
            assert isinstance(reference, datasets.DatasetDict), (files, reference)
            assert _tell(_build(rows)) == _tell(reference), files
    assert plain > 60


@pytest.mark.parametrize("path", ["a/b.jpg", "a\\b.c.jpg", "a/.b", "a/b.", "a/", "a", "", "a/..b", "a/b/..", "a/b.c."])
def test_the_stem_of_a_path_is_that_of_pathlib(path):
    """In which the example ids are written."""
    from pathlib import PurePosixPath

    assert _get_stem(path) == PurePosixPath(path.replace("\\", "/")).stem
