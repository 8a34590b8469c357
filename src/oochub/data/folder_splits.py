"""Which files of a folder hold the rows of which split, and which hold none; whatever is left out is counted.

The folders at the top decide the split, in any case, and nothing below them does: a class that is called train, or
blood_test, stays a class. imagefolder of `datasets` looks for such words anywhere in a path, and so puts an image into
two splits, or into none. Tables and shards in one folder are told apart by their own names.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

WORDS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("validation", "valid", "dev", "val"), "validation"),
    **dict.fromkeys(("test", "testing", "eval", "evaluation"), "test"),
}
"""What a folder may be called, in lower case, and the split that it is; the words are those of `datasets`."""
METADATA = ("metadata.csv", "metadata.jsonl", "metadata.parquet")
"""Files that describe the images beside and below them."""
_IGNORED = ("config.json", "dataset_info.json", "dataset_infos.json", "dummy_data.zip", "dataset_dict.json")
_IMAGES = "blp bmp dib bufr cur pcx dcx dds ps eps fit fits fli flc ftc ftu gbr gif grib png apng jp2 j2k jpc "
_IMAGES += "jpf jpx j2c icns ico im iim tif tiff jfif jpe jpg jpeg mpg mpeg msp pcd pxr pbm pgm ppm pnm psd bw rgb "
_IMAGES += "rgba sgi ras tga icb vda vst webp wmf emf xbm xpm"
_KINDS = {
    **dict.fromkeys(_IMAGES.split(), "image"),
    **dict.fromkeys(("tar",), "shard"),
    **dict.fromkeys(("parquet", "geoparquet", "gpq"), "Parquet file"),
    **dict.fromkeys(("arrow",), "Arrow file"),
    **dict.fromkeys(("csv", "tsv"), "CSV file"),
    **dict.fromkeys(("json", "jsonl", "ndjson"), "JSON file"),
    **dict.fromkeys(("zip",), "archive"),
}
_ORDER = (*dict.fromkeys(_KINDS.values()), "compressed image")
_PACKED = ("gz", "bz2", "xz", "zst", "lz4")
_SHOWN = 3


class FolderSplits(NamedTuple):
    """The files that the rows of a folder are read from.

    Attributes:
        kind: What they are: "image", "shard", "CSV file", ...; "" where the folder holds nothing that is known.
        files: Path of each below the folder, by split, in the order of the rows; those of images with their metadata.
        notes: What a reader of the report must know: what was left out.
        tops: The folders at the top that are splits.
    """

    kind: str
    files: Mapping[str, Sequence[str]]
    notes: tuple[str, ...] = ()
    tops: frozenset[str] = frozenset()


def find_file_kind(path: str) -> str:
    """What a file holds, by its suffix; "" for one that holds no rows.

    >>> find_file_kind("a/b.JPG"), find_file_kind("a.csv.gz"), find_file_kind("notes.txt")
    ('image', 'CSV file', '')
    """
    name = path[path.rfind("/") + 1 :].lower()
    if name in _IGNORED:
        return ""
    stem, _, suffix = name.rpartition(".")
    if suffix in _PACKED:
        kind = _KINDS.get(stem.rpartition(".")[2], "")
        return "compressed image" if kind == "image" else kind
    return _KINDS.get(suffix, "") if stem else ""


def divide_folder(paths: Sequence[str]) -> FolderSplits:
    """The splits of a folder.

    The most frequent kind of file is that of the rows. If a folder at the top is called like a split, these folders are
    the splits, and files beside them are left out; else all files are in the split train. A folder `train` alone
    among others that hold images at the same depth is a class. Tables and shards that lie in no folder of a split are
    divided by the words of their names (`birds_test.csv`), if any has such a word.

    Args:
        paths: Path of every file below the folder, with "/" between its parts.

    >>> divide_folder(["Train/train/1.jpg", "Train/cat/1.jpg", "Test/cat/1.jpg", "more/1.jpg"]).files
    {'train': ['Train/cat/1.jpg', 'Train/train/1.jpg'], 'test': ['Test/cat/1.jpg']}
    >>> divide_folder(["bus/1.jpg", "train/1.jpg"]).files
    {'train': ['bus/1.jpg', 'train/1.jpg']}
    """
    paths = sorted(paths)
    metadata = [path for path in paths if path.rpartition("/")[2] in METADATA]
    described = set(metadata)
    kinds = {path: find_file_kind(path) for path in paths if path not in described}
    counts = Counter(kind for kind in kinds.values() if kind)
    if not counts:
        return FolderSplits("", {})
    kind = min(counts, key=lambda each: (-counts[each], _ORDER.index(each)))
    rows = [path for path, own in kinds.items() if own == kind]
    notes: list[str] = []
    folders = _find_split_folders(rows, metadata, notes, may_be_class=kind == "image")
    if folders:
        splits = {path: folders.get(_get_top(path), "") for path in rows}
    elif kind in ("image", "archive"):
        splits = dict.fromkeys(rows, "train") if kind == "image" else _read_names(rows)
    else:
        splits = _read_names(rows)
    left = [path for path in rows if not splits[path]]
    files: dict[str, list[str]] = {}
    for split in dict.fromkeys(WORDS.values()):
        own = [path for path in rows if splits[path] == split]
        if own:
            files[split] = own
    if kind == "image":
        for path in metadata:
            for split in [folders.get(_get_top(path), "")] if folders and "/" in path else files:
                if split in files:
                    files[split].append(path)
    if left:
        places, are = list(dict.fromkeys(_get_top(path) or path for path in left)), "is" if len(left) == 1 else "are"
        folders_of = ", ".join(files)
        notes.append(
            f"{_count(left, kind)} {are} left out, in no folder of a split ({folders_of}): {list_some(places)}"
        )
    passed = ("", kind, *(("JSON file",) if kind == "image" else ()))  # which beside images is rarely a table
    notes += _note_others([path for path, own in kinds.items() if own not in passed], kinds)
    words = {part for path in rows for part in path.split("/")[1:-1] if part.casefold() in WORDS}
    if not folders and len({WORDS[word.casefold()] for word in words}) > 1 and len(files) < 2:  # a user may mean them
        notes.append(f"the folders {list_some(sorted(words))} are no splits, because they do not lie at the top")
    return FolderSplits(kind, files, tuple(notes), frozenset(folders))


def _get_top(path: str) -> str:
    return path.partition("/")[0] if "/" in path else ""


def _find_split_folders(
    rows: Sequence[str], metadata: Sequence[str], notes: list[str], *, may_be_class: bool
) -> dict[str, str]:
    """The folders at the top that are splits, and which; none where they are classes."""
    tops = dict.fromkeys(_get_top(path) for path in rows)
    split_of = {top: WORDS[top.casefold()] for top in tops if top.casefold() in WORDS}
    depths = {path.count("/") for path in rows}
    if may_be_class and len(split_of) == 1 and len(tops) > 1 and depths == {1}:
        (folder,) = split_of
        if not any(_get_top(path) == folder for path in metadata):
            others = [top for top in tops if top != folder]
            notes.append(f"the folder {folder} is read as a class, because it lies beside {list_some(others)}")
            return {}
    for split in dict.fromkeys(split_of.values()):
        several = [top for top, own in split_of.items() if own == split]
        if len(several) > 1:
            notes.append(f"the split {split} is read from {len(several)} folders: {list_some(several)}")
    return split_of


def _read_names(rows: Sequence[str]) -> dict[str, str]:
    """The split of each table or shard by the words of its name; "" where others have such a word and it has none."""
    splits = {path: _find_named_split(path) for path in rows}
    return splits if any(splits.values()) else dict.fromkeys(rows, "train")


def _find_named_split(path: str) -> str:
    """The split that a file's name says; the last such word decides.

    >>> [_find_named_split(name) for name in ("data/train-00000-of-00001.parquet", "birds_test.csv", "latest.csv")]
    ['train', 'test', '']
    """
    words = re.split(r"[^a-z]+", path.rpartition("/")[2].partition(".")[0].lower())
    return next((WORDS[word] for word in reversed(words) if word in WORDS), "")


def _note_others(others: Sequence[str], kinds: Mapping[str, str]) -> list[str]:
    """What lies beside the rows and is not read, by kind."""
    notes = []
    for kind in dict.fromkeys(kinds[path] for path in others):
        own = [path for path in others if kinds[path] == kind]
        are = "is" if len(own) == 1 else "are"
        notes.append(f"{_count(own, kind)} beside the rows {are} not read: {list_some(own)}")
    return notes


def _count(paths: Sequence[str], kind: str) -> str:
    return f"{len(paths):,} {kind}{'s' * (len(paths) > 1)}"


def list_some(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    return ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN:,} more" if len(names) > _SHOWN else "")
