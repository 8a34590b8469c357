"""A folder of images: its rows are those that imagefolder gives for the files of each split, or a count by hand."""

import io
import json
import os
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import datasets
import pandas as pd
import pytest
from datasets.data_files import DataFilesList
from datasets.packaged_modules.imagefolder.imagefolder import ImageFolder
from PIL import Image

import oochub
from oochub.data import open_source as opening
from oochub.data.file_rows import FileRows
from oochub.data.open_source import open_source
from oochub.data.user_data import _get_stem
from oochub.errors import OochubError, OochubWarning
from oochub.records.build_record import BuildRecord
from oochub.settings.data_settings import DataSettings


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
    "images alone": {"2.jpg": _PNG, "10.jpg": _PNG, "1.JPG": _PNG},
    "one class folder": {"cow/1.jpg": _PNG, "cow/2.jpg": _PNG},
    "classes at several depths": {"a/1.jpg": _PNG, "b/c/2.jpg": _PNG},
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
    "metadata with two columns of files": {"1.jpg": _PNG, "metadata.csv": b"file_name,mask_file_name\n1.jpg,1.jpg\n"},
    "metadata that say nothing of files": {"1.jpg": _PNG, "metadata.csv": b"name,n\n1.jpg,2\n"},
    "metadata without names": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n1.jpg,2\n,3\n"},
    "metadata with a column image too": {"1.jpg": _PNG, "metadata.csv": b"file_name,image\n1.jpg,7\n"},
    "metadata that lead out": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n../1.jpg,2\n"},
    "metadata that lead to a root": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\n/etc/passwd,2\n"},
    "metadata with an address": {"1.jpg": _PNG, "metadata.csv": b"file_name,n\nfile:///etc/passwd,2\n"},
    "metadata with lists": {"1.jpg": _PNG, "metadata.jsonl": b'{"file_name": "1.jpg", "n": [1, 2]}\n'},
    "metadata with times": {"1.jpg": _PNG, "metadata.jsonl": b'{"file_name": "1.jpg", "n": "2020-01-01"}\n'},
    "metadata with features": {"1.jpg": _PNG, "metadata.parquet": _rows_of(file_name=["1.jpg"], label=[1])},
    "an empty metadata file": {"1.jpg": _PNG, "metadata.jsonl": b""},
}  # fmt: skip
"""What is left to imagefolder."""
SPLITS = {
    "class folders in splits": (
        {f"{split}/{kind}/{n}.jpg": 0 for split in ("train", "test") for kind in "ba" for n in range(3)},
        {"train": {"a": 3, "b": 3}, "test": {"a": 3, "b": 3}}, None,
    ),
    "a class that is called train": (
        {f"{split}/{name}/{n}.jpg": 0 for split in ("train", "test") for name in ("train", "blood_test") for n in "12"},
        {"train": {"blood_test": 2, "train": 2}, "test": {"blood_test": 2, "train": 2}}, None,
    ),
    "folders in capitals": (
        {"Train/cat/1.jpg": 0, "Train/dog/1.jpg": 0, "Test/cat/1.jpg": 0, "VALIDATION/dog/1.jpg": 0},
        {"train": {"cat": 1, "dog": 1}, "validation": {"dog": 1}, "test": {"cat": 1}}, None,
    ),
    "a first split of one class": (
        {"train/a/1.jpg": 0, "test/a/1.jpg": 0, "test/b/1.jpg": 0}, {"train": {"a": 1}, "test": {"a": 1, "b": 1}}, None,
    ),
    "a class that one split lacks": (
        {"train/a/1.jpg": 0, "train/b/1.jpg": 0, "test/c/1.jpg": 0},
        {"train": {"a": 1, "b": 1}, "test": {"c": 1}}, None,
    ),
    "splits without classes": (
        {"train/1.jpg": 0, "train/2.jpg": 0, "test/1.jpg": 0}, {"train": {None: 2}, "test": {None: 1}}, None,
    ),
    "classes of which one is called test": (
        {"bus/1.jpg": 0, "bus/2.jpg": 0, "test/1.jpg": 0}, {"train": {"bus": 2, "test": 1}},
        "the folder test is read as a class, because it lies beside bus",
    ),
    "a folder beside those of splits": (
        {"train/a/1.jpg": 0, "train/b/1.jpg": 0, "test/a/1.jpg": 0, "more/a/1.jpg": 0, "more/a/2.jpg": 0, "x.jpg": 0},
        {"train": {"a": 1, "b": 1}, "test": {"a": 1}},
        "3 images are left out, in no folder of a split (train, test): more, x.jpg",
    ),
    "two names of one split": (
        {"val/a/1.jpg": 0, "dev/b/1.jpg": 0, "train/a/1.jpg": 0}, {"train": {"a": 1}, "validation": {"a": 1, "b": 1}},
        "the split validation is read from 2 folders: dev, val",
    ),
    "folders of splits below the top": (
        {"all/train/a/1.jpg": 0, "all/test/b/1.jpg": 0}, {"train": {"a": 1, "b": 1}},
        "the folders test, train are no splits, because they do not lie at the top",
    ),
    "words of splits in names": (
        {"cat/train_1.jpg": 0, "cat/x-test.jpg": 0, "my-train_1/1.jpg": 0, "evaluation 2/1.jpg": 0},
        {"train": {"cat": 2, "evaluation 2": 1, "my-train_1": 1}}, None,
    ),
    "a table beside images": (
        {"a/1.jpg": 0, "b/1.jpg": 0, "labels.csv": 0}, {"train": {"a": 1, "b": 1}},
        "1 CSV file beside the rows is not read: labels.csv",
    ),
}  # fmt: skip
"""Files, by hand the images of each class in each split, and the note."""


def _write(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _find(folder: Path) -> FileRows | None:
    found = opening._open_user_files(folder, list(opening._list_entries(folder)), given={}, named={})
    return found.builder if found and isinstance(found.builder, FileRows) else None


def _tell(data: datasets.DatasetDict) -> list:
    """All that a user sees of data: splits, features, rows, names."""
    return [
        (
            name,
            str(part.features).replace("large_string", "string"),
            _list_rows(part),
            part.info.builder_name,
            part.info.dataset_name,
            part.info.config_name,
        )
        for name, part in data.items()
    ]


def is_image_or_metadata(file: str) -> bool:
    """By the list of `datasets` itself."""
    return Path(file).suffix.lower() in ImageFolder.EXTENSIONS or Path(file).name.startswith("metadata.")


def _list_rows(part: datasets.Dataset) -> list[dict]:
    return part.with_format("arrow")[:].to_pylist()


def _load(folder: Path) -> datasets.DatasetDict | Exception:
    """What `datasets` makes of the files of a folder by itself, all in one split."""
    try:
        files = sorted(entry.path for entry in opening._list_entries(folder.resolve()) if entry.is_file())
        kept = [file for file in files if "/__" not in file.rpartition("/")[0] and is_image_or_metadata(file)]
        data_files = {"train": DataFilesList(kept, [()] * len(kept))}
        return datasets.load_dataset(str(folder), data_files=data_files)
    except Exception as error:  # of any kind: it is the reference
        return error


def _build(rows: FileRows) -> datasets.DatasetDict:
    rows.download_and_prepare()
    return rows.as_dataset()


@pytest.mark.parametrize("name", PLAIN)
def test_a_plain_folder_has_the_rows_of_imagefolder(name, tmp_path):
    """Planted fault seen: classes at several depths."""
    folder = _write(tmp_path / "MyPictures of-it", PLAIN[name])
    reference, rows = _load(folder), _find(folder)
    assert isinstance(reference, datasets.DatasetDict), reference
    assert rows is not None
    assert _tell(_build(rows)) == _tell(reference)
    assert _tell(open_source(str(folder), DataSettings()).rows) == _tell(reference)


@pytest.mark.parametrize("name", OTHERS)
def test_any_other_folder_is_left_to_datasets(name, tmp_path):
    """Rows or error are then those of `datasets`, whose words the error has."""
    folder = _write(tmp_path / "pictures", OTHERS[name])
    assert _find(folder) is None
    reference = _load(folder)
    if isinstance(reference, Exception):
        cause = str(reference.__cause__ or reference).strip().rstrip(".")
        with pytest.raises(OochubError) as said:
            open_source(str(folder), DataSettings())
        assert cause.splitlines()[0][:40] in str(said.value)
    else:
        assert _tell(open_source(str(folder), DataSettings()).rows) == _tell(reference)


@pytest.mark.parametrize(
    "options", [{"drop_labels": True}, {"drop_labels": False}, {"drop_metadata": True}, {"drop_metadata": False}]
)
def test_options_of_imagefolder_are_its_own_affair(options, tmp_path):
    """Classes or metadata are dropped as imagefolder does it."""
    for name in ("class folders", "metadata.csv", "one class folder"):
        folder = _write(tmp_path / name, PLAIN[name])
        assert _tell(open_source(str(folder), DataSettings(options=options)).rows) == _tell(
            datasets.load_dataset(str(folder), **options)
        )


def test_links_are_followed_as_imagefolder_does(tmp_path):
    """To an image, to a folder (which is passed over), to nothing; and if the folder is a link itself."""
    folder = _write(tmp_path / "pictures", {"a/1.jpg": _PNG, "b/1.jpg": _PNG})
    (folder / "a/2.jpg").symlink_to(folder / "b/1.jpg")
    (folder / "a/lost.jpg").symlink_to(folder / "nowhere.jpg")
    (folder / "c").symlink_to(folder / "b")
    (tmp_path / "link").symlink_to(folder)
    for place in (folder, tmp_path / "link", tmp_path / "pictures/../link"):
        rows = _find(place)
        assert rows is not None and _tell(_build(rows)) == _tell(_load(place)) == _tell(
            open_source(str(place), DataSettings()).rows
        )


@pytest.mark.parametrize("name", SPLITS)
def test_the_folders_at_the_top_decide_the_split(name, tmp_path):
    """By a count by hand. Before, words anywhere in a path did, and images stood in two splits, or in none."""
    files, expected, note = SPLITS[name]
    folder = _write(tmp_path / "pets", dict.fromkeys(files, _PNG))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = open_source(str(folder), DataSettings()).rows
    counted = {}
    for split, part in data.items():
        label = part.features.get("label")
        names = (
            [None if label is None else label.int2str(row) for row in part["label"]] if label else [None] * len(part)
        )
        counted[split] = dict(Counter(sorted(names, key=str)))
    assert counted == expected and list(data) == list(expected)
    notes = [str(each.message) for each in said if issubclass(each.category, OochubWarning)]
    record = BuildRecord.of(next(iter(data.values())).info)
    assert (list(record.notes) if record else []) == ([note] if note else [])
    assert notes == ([f"{note[0].upper()}{note[1:]}."] if note else [])
    paths = [row["path"] for part in data.values() for row in _list_images(part)]
    assert len(set(paths)) == len(paths)


def _list_images(part: datasets.Dataset) -> list[dict]:
    return part.with_format("arrow")[:].column("image").to_pylist()


@pytest.mark.parametrize("name", ["[a] ?*", "data [v1]", "x{1,2}"])
def test_a_folder_s_name_is_no_pattern(name, tmp_path):
    """Before: "doesn't contain any data files"."""
    folder = _write(tmp_path / name, PLAIN["class folders"])
    _write(tmp_path / "a x", PLAIN["class folders"])
    assert open_source(str(folder), DataSettings()).rows["train"].num_rows == 4
    described = _write(tmp_path / "more" / name, OTHERS["metadata with two columns of files"])
    assert open_source(str(described), DataSettings()).rows["train"].num_rows == 1


def test_a_file_s_name_is_no_pattern(tmp_path):
    """`birds [1].csv` read the rows of `birds 1.csv`, and `birds*.parquet` those of all its siblings."""
    for number, name in enumerate(["birds 1", "birds [1]", "birds*", "birds2", "birds?"], 1):
        frame = pd.DataFrame({"bird": [name] * number})
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
        frame.to_parquet(tmp_path / f"{name}.parquet")
        frame.to_json(tmp_path / f"{name}.jsonl", orient="records", lines=True)
    for number, name in enumerate(["birds 1", "birds [1]", "birds*", "birds2", "birds?"], 1):
        for suffix in ("csv", "parquet", "jsonl"):
            data = open_source(str(tmp_path / f"{name}.{suffix}"), DataSettings()).rows
            assert data["train"]["bird"][:] == [name] * number


def test_metadata_in_each_split_and_above_all(tmp_path):
    """A file above the folders of splits describes the images of all; before, it was passed over."""
    images = {f"{split}/{n}.jpg": _PNG for split in ("train", "test") for n in "12"}
    own = {
        "train/metadata.csv": b"file_name,a\n2.jpg,x\n1.jpg,y\n",
        "test/metadata.csv": b"file_name,a\n1.jpg,z\n2.jpg,u\n",
    }
    above = {"metadata.csv": b"file_name,a\ntrain/2.jpg,x\ntest/1.jpg,z\ntrain/1.jpg,y\ntest/2.jpg,u\n"}
    for number, more in enumerate((own, above)):
        data = open_source(str(_write(tmp_path / str(number), {**images, **more})), DataSettings()).rows
        assert {split: part["a"][:] for split, part in data.items()} == {"train": ["x", "y"], "test": ["z", "u"]}
        names = {split: [Path(row["path"]).name for row in _list_images(part)] for split, part in data.items()}
        assert names == {"train": ["2.jpg", "1.jpg"], "test": ["1.jpg", "2.jpg"]}
    with pytest.raises(OochubError, match=r"test/1\.jpg in .* is described by metadata\.csv and by test/metadata\.csv"):
        open_source(str(_write(tmp_path / "both", {**images, **own, **above})), DataSettings())


def test_images_that_no_line_names_are_counted(tmp_path):
    """And those that several lines name."""
    files = {f"{n}.jpg": _PNG for n in range(6)} | {"metadata.csv": b"file_name,n\n0.jpg,1\n1.jpg,2\n1.jpg,3\n"}
    with pytest.warns(
        OochubWarning, match="4 of 6 images are left out, because no line of the metadata names them: 2.jpg"
    ):
        data = open_source(str(_write(tmp_path / "pets", files)), DataSettings()).rows
    assert any("1 image stands in several rows, as the metadata say: 1.jpg" in note for note in _list_notes(data))
    assert data["train"].num_rows == 3


def _list_notes(data: datasets.DatasetDict) -> tuple[str, ...]:
    record = BuildRecord.of(data["train"].info)
    return record.notes if record else ()


@pytest.mark.parametrize("names", [r"cats\1.jpg|dogs\é.jpg", "Cats/1.JPG|./dogs//é.jpg", "cats/1.jpg|dogs/é.jpg"])
def test_files_in_another_spelling_are_found(names, tmp_path):
    """As Windows and macOS spell paths; before: "no file at". A file of that very name comes first."""
    lines = "".join(f"{name},{n}\n" for n, name in enumerate(names.split("|")))
    files = {"cats/1.jpg": _PNG, "dogs/é.jpg": _PNG, "metadata.csv": f"file_name,n\n{lines}".encode()}
    folder = _write(tmp_path / "pets", files)
    data = oochub.load(folder)["train"]
    assert [Path(row["path"]).relative_to(folder).as_posix() for row in _list_images(data)] == [
        "cats/1.jpg",
        "dogs/é.jpg",
    ]


def test_a_table_of_paths_in_another_spelling(tmp_path):
    _write(tmp_path / "rows", {"cats/1.png": _PNG, "cats/\u00e9.png": _PNG})
    lines = ["file,label", r"cats\1.png,a", "cats/e\u0301.png,b", "cats/1.png,b"]
    (tmp_path / "rows/rows.csv").write_text("\n".join(lines), encoding="utf-8")
    data = oochub.load(tmp_path / "rows/rows.csv", image="file")["train"]
    names = [Path(row["path"]).name for row in _list_images(data)]
    assert names == ["1.png", "\u00e9.png", "1.png"]


def test_zip_archives_of_class_folders(tmp_path):
    """As one file, with a folder around all, in a folder of archives, with metadata: the rows of the folder.

    Before: "Invalid string class label", the name of a folder in the cache.
    """
    files = {f"{kind}/{n}.png": _PNG for kind in ("cat", "dog") for n in range(3)}
    splits = {f"{split}/{path}": content for split in ("train", "test") for path, content in files.items()}
    described = {"1.png": _PNG, "2.png": _PNG, "metadata.csv": b"file_name,n\n1.png,007\n2.png,7\n"}
    for name, members in {"plain": files, "around": {f"pets/{k}": v for k, v in files.items()}}.items():
        data = oochub.load(_zip(tmp_path / f"{name}.zip", members))["train"]
        assert data.features["label"].names == ["cat", "dog"] and Counter(data["label"]) == {0: 3, 1: 3}
        assert data[0]["image"].size == (4, 4)
    data = oochub.load(_zip(tmp_path / "splits.zip", {**splits, "__MACOSX/x.png": b"", "train/.x.png": b""}))
    assert data.num_rows == {"train": 6, "test": 6}
    folder = tmp_path / "archives"
    folder.mkdir()
    for split in ("train", "test"):
        _zip(folder / f"{split}.zip", files)
    assert oochub.load(folder).num_rows == {"train": 6, "test": 6}
    assert oochub.load(_zip(tmp_path / "described.zip", described))["train"]["n"][:] == ["007", "7"]
    for name, words in (("../x.png", "points outside"), ("/x.png", "points outside")):
        with pytest.raises(OochubError, match=words):
            oochub.load(_zip(tmp_path / "out.zip", {name: _PNG}))
    content = (tmp_path / "plain.zip").read_bytes()
    place = content.index(b"IDAT") + 6
    (tmp_path / "torn.zip").write_bytes(content[:place] + b"?" + content[place + 1 :])
    with pytest.raises(OochubError, match="is corrupted"):
        oochub.load(tmp_path / "torn.zip")


def _zip(file: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return file


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


@pytest.mark.parametrize("path", ["a/b.jpg", "a\\b.c.jpg", "a/.b", "a/b.", "a/", "a", "", "a/..b", "a/b/..", "a/b.c."])
def test_the_stem_of_a_path_is_that_of_pathlib(path):
    """In which the example ids are written."""
    from pathlib import PurePosixPath

    assert _get_stem(path) == PurePosixPath(path.replace("\\", "/")).stem
