"""The columns of a user's data: class numbers, images, ids.

A column of names or whole numbers becomes class numbers over all splits, so that all splits share its classes. Images
are found, opened from paths where they are paths, named by their files. The id of each row is the data's own, else the
name of its image's file, else its number.

Which columns of own data can hold the label or the context: where exactly one can, it is taken, and that is said.
"""

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from os.path import isfile  # of a name that no disk holds it says no; that of pathlib takes five times as long
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.data.folder_splits import WORDS
from oochub.errors import OochubError, choose_wording
from oochub.records.build_record import BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN
from oochub.records.output_columns import LONGEST_NAME
from oochub.storage.reading import TarMember

_Parts = Mapping[str, datasets.Dataset]
_FEW = 50  # dates or numbers that are names


_MOST_VALUES = 50
_MOST_OF_ONE = 0.95  # a column that is nearly constant says little of any row
_FIRST_ROWS = 5_000
_NEVER = {"example_id", "image", "own_image", "text", "label", "context", "group", "groups", "challenge", "split"}


@dataclass(frozen=True, kw_only=True)
class ClassColumn:
    """A column read as classes.

    Attributes:
        codes: Place of each row's class in `names` (n,), by split; -1 where a ClassLabel, or a label of -1, says none.
        names: Names of the classes: those of a ClassLabel; texts, sorted; or numbers in order, as text.
        numbers: Whole numbers without names: the number of each class; None where the classes have names.
    """

    codes: Mapping[str, NDArray[np.int64]]
    names: tuple[str, ...]
    numbers: NDArray[np.int64] | None = None

    def stored(self, split: str) -> NDArray[np.int64]:
        """What a row of the data holds (n,): the class number, or the whole number that it was; -1 for no class."""
        codes = self.codes[split]
        return codes if self.numbers is None else np.where(codes < 0, codes, np.append(self.numbers, -1)[codes])

    @property
    def feature(self) -> Any:
        """How `datasets` calls what `stored` gives."""
        return datasets.ClassLabel(names=list(self.names)) if self.numbers is None else datasets.Value("int64")

    def text(self, split: str) -> list[str | None]:
        """The name of each row's class, None for -1."""
        return [self.names[code] if code >= 0 else None for code in self.codes[split].tolist()]


def read_class_column(parts: _Parts, column: str, *, role: str, named: bool = True) -> ClassColumn:
    """Reads a column of all splits as classes.

    Args:
        parts: The splits.
        column: A column of a ClassLabel, text, whole numbers or truth values; one that is no label also of dates, or
            of a few numbers with fractions. -1 in a label stands for no class.
        role: What it is, for errors ("label").
        named: Give whole numbers names, the numbers as text; False leaves them numbers.

    Raises:
        OochubError: Another kind of column, not the same in all splits, fractions, or rows without a value: how many,
            and the first.

    >>> data = datasets.Dataset.from_dict({"place": ["sea", "land", "sea"]})
    >>> column = read_class_column({"train": data}, "place", role="context")
    >>> column.names, column.codes["train"].tolist()
    (('land', 'sea'), [1, 0, 1])
    """
    arrays = {split: get_column_array(part, column) for split, part in parts.items()}
    feature = next(iter(parts.values())).features[column]
    title = f"The {role} column {column!r}"
    for split, part in parts.items():
        other = part.features[column]
        if isinstance(feature, datasets.ClassLabel) and other != feature:
            raise OochubError(f"{title} does not have the same classes in all splits. Cast it to one ClassLabel.")
        _check_kind(arrays[split].type, title, role)
        _check_values(arrays[split], title, split)
    if isinstance(feature, datasets.ClassLabel):
        codes = {split: array.to_numpy(zero_copy_only=False).astype(np.int64) for split, array in arrays.items()}
        return ClassColumn(codes=codes, names=tuple(feature.names))
    if len({pa.types.is_string(array.type) or pa.types.is_large_string(array.type) for array in arrays.values()}) > 1:
        raise OochubError(f"{title} holds text in one split and numbers in another. Cast it to one kind.")
    plain = _name_few_values(arrays, role)
    values = {split: _read_values(array, title, role) for split, array in plain.items()}
    every = np.concatenate(list(values.values()))
    has_class = every != ("-1" if every.dtype.kind == "U" else -1) if role == "label" else np.ones(len(every), bool)
    distinct, found = np.unique(every[has_class], return_inverse=True)
    places = np.full(len(every), -1)
    places[has_class] = found
    ends = np.cumsum([len(array) for array in values.values()])[:-1]
    codes = dict(zip(values, np.split(places.astype(np.int64), ends), strict=True))
    names = tuple(map(str, distinct.tolist()))
    _check_lengths(names, list(codes.values()), tuple(values), title)
    return ClassColumn(
        codes=codes, names=names, numbers=None if named or distinct.dtype.kind == "U" else distinct.astype(np.int64)
    )


def read_number_column(parts: _Parts, column: str, *, role: str) -> dict[str, NDArray[np.float64]]:
    """A column of numbers with fractions, of each split (n,).

    Raises:
        OochubError: Rows without a value: how many, and the first.
    """
    arrays = {split: get_column_array(part, column) for split, part in parts.items()}
    for split, array in arrays.items():
        _check_values(array, f"The {role} column {column!r}", split)
    return {split: array.to_numpy(zero_copy_only=False) for split, array in arrays.items()}


def get_column_array(part: datasets.Dataset, column: str) -> pa.Array:
    """A column as Arrow stores it, in one piece; images are not decoded."""
    chunks = part.select_columns([column]).with_format("arrow")[:].column(column)
    array = chunks.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def make_columns(columns: Mapping[str, object], features: Mapping[str, object]) -> datasets.Dataset:
    """Rows of new columns, as `datasets.Dataset.from_dict` makes them, which looks at each value of a column by itself.

    Args:
        columns: Values of each column.
        features: Their features.

    >>> make_columns({"n": np.array([1, -1])}, {"n": datasets.ClassLabel(names=["a", "b"])})["n"][:]
    [1, -1]
    """
    is_simple = {
        name: isinstance(each, datasets.ClassLabel) or each in (datasets.Value("string"), datasets.Value("int64"))
        for name, each in features.items()
    }
    if not all(is_simple.values()):
        return datasets.Dataset.from_dict(dict(columns), datasets.Features(features))
    schema = datasets.Features(features).arrow_schema
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return datasets.Dataset(pa.Table.from_arrays(arrays, schema=schema))


def is_class_like(feature: Any) -> bool:
    """Whether a column of this kind can hold classes: a ClassLabel, text, whole numbers, truth values.

    >>> is_class_like(datasets.Value("float32"))
    False
    """
    kinds = ("string", "large_string", "bool", "int", "uint")
    return isinstance(feature, datasets.ClassLabel) or (
        isinstance(feature, datasets.Value) and feature.dtype.startswith(kinds)
    )


def format_first_rows(wrong: NDArray[np.bool_]) -> str:
    """How many rows are wrong, and which is the first: "3 of 120 rows, first row 17" (from 0).

    >>> format_first_rows(np.array([False, True, True]))
    '2 of 3 rows, first row 1'
    """
    return f"{int(wrong.sum()):,} of {len(wrong):,} rows, first row {int(np.argmax(wrong))}"


def _check_lengths(names: tuple[str, ...], places: Sequence[NDArray[Any]], splits: Sequence[str], title: str) -> None:
    """That names are names: a text of megabytes would stand in every table and page."""
    long = np.array([*(len(name) > LONGEST_NAME for name in names), False], bool)  # the last is that of no class
    for split, codes in zip(splits, places, strict=True) if long.any() else ():
        if long[codes].any():
            name = names[codes[np.argmax(long[codes])]]
            raise OochubError(
                f"{title} holds a text of {len(name):,} characters, {name[:40]!r}..., in "
                f"{format_first_rows(long[codes])} of split {split}, but a name has at most {LONGEST_NAME:,}. Name "
                "another column, or shorten these."
            )


def _name_few_values(arrays: Mapping[str, pa.Array], role: str) -> Mapping[str, pa.Array]:
    """Dates, and numbers with fractions, as text if they are names: few that come back, in a column of no label."""
    kinds = [array.type for array in arrays.values()]
    are_dates = all(pa.types.is_temporal(kind) and not pa.types.is_duration(kind) for kind in kinds)
    are_numbers = all(pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds)
    if role == "label" or not (are_dates or are_numbers):
        return arrays
    texts = {split: [str(value) for value in array.to_pylist()] for split, array in arrays.items()}
    every = [text for own in texts.values() for text in own]
    if all(map(pa.types.is_floating, kinds)) and all(text.endswith(".0") for text in every):
        return arrays  # whole numbers, as pandas writes those of a column with gaps
    if are_dates and all(text[10:19] in ("", " 00:00:00") for text in every):
        texts = {split: [text[:10] for text in own] for split, own in texts.items()}
        every = [text[:10] for text in every]
    if len(set(every)) > min(_FEW, len(every) // 2):
        return arrays
    return {split: pa.array(own, pa.string()) for split, own in texts.items()}


def _check_kind(kind: pa.DataType, title: str, role: str) -> None:
    checks: Iterable[Callable[[pa.DataType], bool]] = (
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean),
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
    )
    is_named = role != "label" and (pa.types.is_temporal(kind) or pa.types.is_decimal(kind))
    if not is_named and not any(check(kind) for check in checks):
        raise OochubError(f"{title} holds {kind}, but a {role} must be a name or a whole number in each row.")


def _check_values(array: pa.Array, title: str, split: str) -> None:
    missing = pc.is_null(array, nan_is_null=True)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        missing = pc.or_(missing, pc.equal(pc.utf8_trim_whitespace(array.fill_null("")), ""))
    wrong = np.asarray(missing.to_numpy(zero_copy_only=False), bool)
    if wrong.any():
        raise OochubError(
            f"{title} has no value in {format_first_rows(wrong)} of split {split}. Fill it in, with a name such as "
            "'unknown' if it is not known, or leave these rows out."
        )


def _read_values(array: pa.Array, title: str, role: str) -> NDArray[Any]:
    if pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type):
        raise OochubError(
            f"{title} holds {array.type} with other values in most rows, first {array[0].as_py()}, but a {role} must "
            "be a name or a whole number. Make classes of it first, such as 'June' and 'July', in a separate column."
        )
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind != "f":
        return np.asarray(values.astype(str) if values.dtype.kind == "O" else values)
    fractions = values != np.floor(values)
    if fractions.any():
        raise OochubError(
            f"{title} holds continuous numbers, first {values[np.argmax(fractions)]:g}, but a {role} must be a name "
            "or a whole number. Make classes of it first, such as 'near' and 'far', in a separate column."
        )
    return np.asarray(values.astype(np.int64))


_STORED = {"bytes", "path"}
_SHOWN = 300  # characters of a path


def find_images(data: datasets.DatasetDict, column: str | None, *, folder: Path | None) -> datasets.DatasetDict:
    """The data with their images in the column `image`; data without any stay as they are.

    Bytes and paths become images without being copied or decoded. A column `image` that is not the chosen one
    becomes `own_image`.

    Args:
        data: The splits.
        column: The column that was named; None takes `image`, else the only column of images.
        folder: What paths are relative to; None where the data are not from this disk.

    Raises:
        OochubError: Several columns of images and none is named; a column of something else; files that are missing.
    """
    features = next(iter(data.values())).features
    pictures = [name for name, feature in features.items() if _is_picture(feature)]
    if column is None and "image" not in features and len(pictures) > 1:
        name = choose_wording("image=", "--image-column")
        raise OochubError(f"There are several columns of images: {', '.join(pictures)}. Name one with {name}.")
    chosen = column or ("image" if "image" in features else next(iter(pictures), None))
    if chosen is None:
        return data
    if not isinstance(features[chosen], datasets.Image):
        data = datasets.DatasetDict(
            {split: _cast_to_pictures(part, chosen, split, folder) for split, part in data.items()}
        )
    for split, part in data.items():
        _check_files(part, chosen, split)
    if chosen == "image":
        return data
    return data.rename_columns({**({"image": "own_image"} if "image" in features else {}), chosen: "image"})


def list_picture_paths(part: datasets.Dataset) -> list[str | None]:
    """The path of each image of the column `image`, None where it has none; no image is read."""
    if not isinstance((part.features or {}).get("image"), datasets.Image):
        return [None] * len(part)
    chunks = part.select_columns(["image"]).with_format("arrow")[:].column("image").chunks
    return [path for chunk in chunks for path in chunk.field("path").to_pylist()]


def list_class_folders(data: datasets.DatasetDict) -> ClassColumn | None:
    """The folders that the images lie in as classes, as `datasets` reads them where there is no metadata file.

    Args:
        data: The splits; images are not read.

    Returns:
        None where they are no classes: an image without a path, folders at several depths, a split with one alone, or
        folders that are called like splits.
    """
    folders: dict[str, list[PurePosixPath]] = {}
    for split, part in data.items():
        paths = list_picture_paths(part)
        if part.info.builder_name != "imagefolder" or None in paths:
            return None
        folders[split] = [PurePosixPath(str(path).replace("\\", "/")).parent for path in paths]
    depths = {len(each.parts) for of_split in folders.values() for each in of_split}
    names = {split: np.array([each.name for each in of_split], str) for split, of_split in folders.items()}
    if len(depths) != 1 or any(len(set(of_split.tolist())) < 2 for of_split in names.values()):
        return None
    distinct = np.unique(np.concatenate(list(names.values())))
    if all(name.casefold() in WORDS for name in distinct.tolist()):
        return None
    codes = {split: np.searchsorted(distinct, of_split) for split, of_split in names.items()}
    return ClassColumn(codes=codes, names=tuple(distinct.tolist()))


def _is_picture(feature: Any) -> bool:
    return isinstance(feature, datasets.Image) or (
        isinstance(feature, Mapping) and set(feature) == _STORED and str(feature["bytes"].dtype).endswith("binary")
    )


def _cast_to_pictures(part: datasets.Dataset, column: str, split: str, folder: Path | None) -> datasets.Dataset:
    """The split with a column of paths, bytes or records of both as images."""
    feature = part.features[column]
    kind = getattr(feature, "dtype", "")
    if _is_picture(feature) or kind in ("binary", "large_binary"):
        return part.cast_column(column, datasets.Image())
    if kind not in ("string", "large_string"):
        raise OochubError(f"Column {column!r} holds {feature}, not images or paths of image files.")
    if folder is None:  # a file of somebody else does not say which images of this machine are opened
        raise OochubError(
            f"Column {column!r} holds text, and paths of images are read for data on this disk only: fetch the data "
            "and their images into a folder, and give that folder."
        )
    names = get_column_array(part, column).to_pylist()
    if None in names:
        raise OochubError(
            f"Column {column!r} holds text, which is read as paths of images, but row {names.index(None)} of split "
            f"{split} has none. Fill it in, or name another column with {choose_wording('image=', '--image-column')}."
        )
    paths = [_find_spelled(folder, name) for name in names]
    place = part.column_names.index(column)
    stored = pa.table({column: pa.array([str(path) for path in paths], pa.string())})
    opened = datasets.Dataset(stored).cast_column(column, datasets.Image())
    joined = datasets.concatenate_datasets(
        [part.remove_columns([column]), opened], info=_drop_features(part.info), split=part.split, axis=1
    )
    names = [name for name in part.column_names if name != column]
    return joined.select_columns([*names[:place], column, *names[place:]])


def _find_spelled(folder: Path, name: str) -> Path:
    """The file of that name, also as Windows and macOS write it."""
    path = folder / name
    if (name.isascii() and "\\" not in name) or isfile(path):  # noqa: PTH113
        return path
    plain = name.replace("\\", "/")
    others = (folder / each for each in (plain, *(unicodedata.normalize(form, plain) for form in ("NFC", "NFD"))))
    return next((other for other in others if isfile(other)), path)  # noqa: PTH113


def _check_files(part: datasets.Dataset, column: str, split: str) -> None:
    """Refuses images whose bytes are not in the data, nor in a file."""
    start = 0
    for chunk in part.select_columns([column]).with_format("arrow")[:].column(column).chunks:
        inside = chunk.field("bytes").is_valid().to_pylist()
        for row, (has_bytes, path) in enumerate(zip(inside, chunk.field("path").to_pylist(), strict=True), start):
            if not has_bytes and not (path and (isfile(path) or "://" in path or TarMember.of(path))):  # noqa: PTH113
                where = f"no file at {path[:_SHOWN]}" if path else "neither bytes nor a path"
                raise OochubError(
                    f"The image {column!r} of row {row}, split {split}, has {where}. Correct its path or leave the "
                    f"row out; to use another column, name it with {choose_wording('image=', '--image-column')}."
                )
        start += len(chunk)


def _drop_features(info: Any) -> Any:
    info = info.copy()
    info.features = None
    return info


def find_example_ids(data: datasets.DatasetDict) -> dict[str, list[str]]:
    """The ids of each split, each once in its split.

    They are those of the column `example_id`; else the keys of a WebDataset; else the names of the images' files
    without suffix; else the numbers of the rows, from 0. The second and third only where no two are alike.

    Args:
        data: The splits; images are not read.

    Raises:
        OochubError: A row without its example_id, or two rows of a split with one.

    >>> data = datasets.DatasetDict(test=datasets.Dataset.from_dict({"n": [7, 8]}))
    >>> find_example_ids(data)
    {'test': ['0', '1']}
    """
    if all("example_id" in part.column_names for part in data.values()):
        return {split: _check_ids(get_column_array(part, "example_id"), split) for split, part in data.items()}
    if all("__key__" in part.column_names for part in data.values()):
        names = {split: get_column_array(part, "__key__").to_pylist() for split, part in data.items()}
    else:
        names = {split: _list_stems(part) for split, part in data.items()}
    if all(None not in each and len(set(each)) == len(each) for each in names.values()):
        return {split: [str(name) for name in each] for split, each in names.items()}
    return {split: [str(row) for row in range(len(part))] for split, part in data.items()}


def _list_stems(part: datasets.Dataset) -> list[str | None]:
    return [None if path is None else _get_stem(path) for path in list_picture_paths(part)]


def _get_stem(path: str) -> str:
    r"""The name of a file without its suffix, as `PurePosixPath` has it, in a fifth of its time.

    >>> _get_stem("a/b.c.jpg"), _get_stem("a\\.b"), _get_stem("a/b/")
    ('b.c', '.b', 'b')
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    is_usual = bool(stem.strip(".") and suffix) or (name and "." not in name)
    return (stem or name) if is_usual else PurePosixPath(path.replace("\\", "/")).stem


def _check_ids(array: pa.Array, split: str) -> list[str]:
    missing = np.asarray(pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False), bool)
    if missing.any():
        raise OochubError(
            f"example_id has no value in {format_first_rows(missing)} of split {split}. Give each row one."
        )
    ids = [str(value) for value in array.to_pylist()]
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            raise OochubError(
                f"Rows {seen[name]} and {row} of split {split} have the same example_id, {name!r}. Give each row its "
                "own, or leave the column out."
            )
        seen[name] = row
    return ids


_NEVER |= {"fold", "file_name", BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN, "__key__", "__url__"}


def list_candidates(data: _Parts, *, label: ClassColumn | None = None, besides: Collection[str] = ()) -> list[str]:
    """The columns that can hold the label, or the context if the label is known.

    A candidate is a ClassLabel or text that all splits have, with a value in each row and 2 to 50 values, which occur
    twice on average, so that it is no column of ids, and none of them in more than 95% of the rows. A context also
    crosses the classes: a column that is known from the class, or tells the class, puts no row out of context.

    Args:
        data: The splits; images are not read.
        label: The class of each row, to ask for contexts.
        besides: Columns that hold something else.

    >>> rows = {"animal": ["cow", "cow", "camel", "camel"], "ground": ["grass", "sand", "sand", "sand"]}
    >>> data = datasets.DatasetDict(train=datasets.Dataset.from_dict(rows))
    >>> list_candidates(data)
    ['animal', 'ground']
    >>> list_candidates(data, label=read_class_column(data, "animal", role="label"), besides=["animal"])
    ['ground']
    """
    first, *others = data.values()
    names = [name for name in first.column_names if name not in _NEVER and name not in besides]
    return [
        name
        for name in names
        if all(other.features.get(name) == first.features[name] for other in others)
        and _can_be_class(data, name)
        and (label is None or _crosses(read_class_column(data, name, role="context"), label))
    ]


def say_guess(role: str, column: str) -> str:
    """The sentence that says which column was taken for a role, and how to name another.

    >>> say_guess("context", "place")
    "The context is read from the column 'place', the only one that can hold it. Name another with context=."
    """
    name = choose_wording(f"{role}=", f"--{role}-column")
    return f"The {role} is read from the column {column!r}, the only one that can hold it. Name another with {name}."


def note_guess(role: str, column: str) -> str:
    """What the build record, and so each report, says of a guess."""
    return f"the {role} is the column {column!r}, guessed as the only one that can hold it"


def _can_be_class(data: _Parts, name: str) -> bool:
    feature = next(iter(data.values())).features[name]
    is_text = isinstance(feature, datasets.Value) and feature.dtype in ("string", "large_string")
    if not is_text and not isinstance(feature, datasets.ClassLabel):
        return False
    part = next(iter(data.values()))
    few = part.select(range(min(len(part), _FIRST_ROWS)))  # so that long columns of captions are not read whole
    if len(pc.unique(get_column_array(few, name))) > _MOST_VALUES:
        return False
    values = pa.chunked_array([get_column_array(each, name) for each in data.values()])
    if values.null_count or not len(values):
        return False
    counted = values.value_counts()
    counts, distinct = counted.field("counts").to_numpy(), counted.field("values").to_pylist()
    if any(not str(value).strip() or value == -1 or len(str(value)) > LONGEST_NAME for value in distinct):
        return False
    is_few = 2 <= len(counts) <= min(_MOST_VALUES, len(values) // 2)
    return is_few and bool(counts.max() <= _MOST_OF_ONE * len(values))


def _crosses(column: ClassColumn, label: ClassColumn) -> bool:
    """Whether neither of the two is known from the other."""
    own, theirs = (np.concatenate(list(each.codes.values())) for each in (column, label))
    pairs = len(np.unique(np.stack([own, theirs]), axis=1).T)
    return pairs > max(len(np.unique(own)), len(np.unique(theirs)))


def name_candidates(data: Any) -> str:
    """The sentence of an error that lists the columns among which nothing was guessed; "" if there are none.

    Args:
        data: A Dataset or DatasetDict in our row form, as `oochub.load` gives it, without a context.
    """
    parts = dict(data) if isinstance(data, Mapping) else {"": data}
    first = next(iter(parts.values()))
    if any(not isinstance(part, datasets.Dataset) for part in parts.values()):
        return ""
    has_label = isinstance(first.features.get("label"), datasets.ClassLabel)
    label = read_class_column(parts, "label", role="label") if has_label else None
    names = list_candidates(parts, label=label)
    if not names:
        return ""
    context = choose_wording("context=", "--context-column")
    listed = f"{', '.join(names[:-1])} and {names[-1]}" if len(names) > 1 else names[0]
    if label is not None:
        return f" It may be {' or '.join(names)}: name the one that holds it with {context}."
    options = f"{choose_wording('label=', '--label-column')} and {context}"
    return f" Columns that may hold the label or the context: {listed}. Name them with {options}."
