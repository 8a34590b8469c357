"""A folder of images of which a table names a few with their labels, as data whose other rows have no label."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import datasets
import pyarrow as pa

from oochub.data.data_source import DataSource
from oochub.data.folder_splits import find_file_kind
from oochub.data.image_folder import ImageFiles
from oochub.data.open_source import open_source
from oochub.data.user_columns import get_column_array
from oochub.data.user_data import make_user_data
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.settings.data_settings import DataSettings, LabelSettings
from oochub.settings.option import list_options

_SPLIT, _NO_CLASS = "train", -1  # the name that a folder of images without splits has
_TAKEN = {"label", "context", "usual", "context_words", "merge_names"}


def open_few_labels(source: object, few: LabelSettings, settings: DataSettings) -> DataSource:
    """The images of a folder, and of one more, with the labels and contexts that a table has for some of them.

    Folders that are called like splits or classes mean nothing here: all images are one split, and the table alone says
    labels. Ids are the names of the files, or their paths where names are not distinct.

    Args:
        source: The folder.
        few: The table and the other folder.
        settings: Columns of label and context in the table, and the usual contexts.

    Returns:
        The source in the form of `make_user_data`; the label, and the context, of an image without one is -1.

    Raises:
        OochubError: No folder, or no images in it; a table without the columns or without a label; an image that is
            named twice or is not there; a label without a context where others have one; an option that does not apply.
    """
    unread = next((name for name in settings.given() if name not in _TAKEN), None)
    option = choose_wording("labels=", "--labels")
    if unread is not None:
        named = choose_wording(f"{unread}=", list_options(DataSettings)[unread].flag_alone)
        raise OochubError(f"{named} cannot be combined with {option}. Remove it.")
    folders = [_check_folder(place) for place in (source, few.unlabeled) if place is not None]
    paths = [_list_images(folder) for folder in folders]
    names = {"label": settings.label or "label", "context": settings.context or "context"}
    table = _read_table(Path(few.labels or ""), names)
    rows = _find_rows(table.pop("file_name"), folders[0], paths[0], file=few.labels)
    count = sum(map(len, paths))
    spread = {role: _spread(values, rows, count) for role, values in table.items()}
    _check_labels(spread, few.labels)
    images = [ImageFiles(folder, own).make_images(own) for folder, own in zip(folders, paths, strict=True)]
    columns: dict[str, pa.Array] = {"example_id": pa.array(_name_images(paths)), "image": pa.concat_arrays(images)}
    features = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()})
    for role, values in spread.items():
        numbers, features[names[role]] = _make_classes(values)
        columns[names[role]] = pa.array(numbers, pa.int64())
    data = datasets.Dataset(pa.Table.from_arrays(list(columns.values()), schema=features.arrow_schema))
    own = DataSource(given=source, rows=datasets.DatasetDict({_SPLIT: data}), name=folders[0].name, folder=folders[0])
    return make_user_data(own, settings)


def _check_folder(given: object) -> Path:
    place = Path(given).expanduser().absolute() if isinstance(given, str | os.PathLike) else None
    if place is None or not place.is_dir():
        raise OochubError(
            f"{choose_wording('labels=', '--labels')} needs a folder of images, got {str(given)[:200]!r}. Pass the "
            "folder; data that hold their labels themselves need no table."
        )
    return place


def _list_images(folder: Path) -> list[str]:
    """The path of each image below a folder, sorted, without hidden files."""
    paths = []
    for place, below, files in os.walk(folder):
        below[:] = [name for name in below if not name.startswith((".", "__"))]
        start = os.path.relpath(place, folder)
        start = "" if start == "." else f"{start}/".replace(os.sep, "/")
        paths += [start + name for name in files if not name.startswith(".") and find_file_kind(name) == "image"]
    if not paths:
        raise OochubError(f"{folder} contains no images. Pass a folder of them.")
    return sorted(paths)


def _read_table(file: Path, names: Mapping[str, str]) -> dict[str, list[object]]:
    """The columns of the table: file_name, label and, where it has one, context; None where a row says nothing."""
    if not file.is_file():
        raise OochubError(
            f"The table of labels {file} does not exist. It has the columns file_name, label and context."
        )
    part = open_source(str(file), DataSettings(label=names["label"])).first
    columns = {}
    for role, column in {"file_name": "file_name", **names}.items():
        if column in part.column_names:
            values = get_column_array(part, column).to_pylist()
            columns[role] = [
                None if value is None or value != value or not str(value).strip() else value for value in values
            ]
        elif role != "context" or column != "context":
            raise unknown_name("column", column, part.column_names, f"{file} must have it.")
    return columns


def _find_rows(given: Sequence[object], folder: Path, paths: Sequence[str], *, file: object) -> list[int]:
    """The number of the image that each row of the table names."""
    files, places = ImageFiles(folder, paths), {path: number for number, path in enumerate(paths)}
    rows: list[int] = []
    first: dict[int, int] = {}
    for line, name in enumerate(given):
        row = None if name is None else places.get(files.find(str(name)))
        if row is None:
            raise OochubError(
                f"Row {line} of {file} names {str(name)[:200]!r}, and there is no such image in {folder}. Write the "
                "path relative to that folder."
            )
        if first.setdefault(row, line) != line:
            raise OochubError(f"Rows {first[row]} and {line} of {file} both name {paths[row]}. Name each image once.")
        rows.append(row)
    return rows


def _spread(values: Sequence[object], rows: Sequence[int], count: int) -> list[object]:
    """The values at the places of their images; None elsewhere."""
    every: list[object] = [None] * count
    for row, value in zip(rows, values, strict=True):
        every[row] = value
    return every


def _check_labels(spread: Mapping[str, Sequence[object]], file: object) -> None:
    labels, contexts = spread["label"], spread.get("context")
    if not any(label is not None for label in labels):
        raise OochubError(f"No row of {file} has a label. Label some of the images, chosen at random.")
    if contexts is None:
        return
    lacking = sum(label is not None and context is None for label, context in zip(labels, contexts, strict=True))
    if lacking:
        count = sum(label is not None for label in labels)
        raise OochubError(
            f"{lacking:,} of {count:,} rows of {file} with a label have no context. "
            "Fill it in: a context without a label is allowed, the other way round is not."
        )


def _make_classes(values: Sequence[object]) -> tuple[list[int], datasets.ClassLabel | datasets.Value]:
    """The numbers of classes, -1 for None, and their feature; whole numbers stay as they are."""
    present = [value for value in values if value is not None]
    if all(isinstance(value, int | float) and not isinstance(value, bool) and value == int(value) for value in present):
        return [int(value) if isinstance(value, int | float) else _NO_CLASS for value in values], datasets.Value(
            "int64"
        )
    names = sorted({str(value) for value in present})
    numbers = {name: number for number, name in enumerate(names)}
    return [_NO_CLASS if value is None else numbers[str(value)] for value in values], datasets.ClassLabel(names=names)


def _name_images(paths: Iterable[Sequence[str]]) -> list[str]:
    """The ids of all images: names without suffix, or paths if two have one name."""
    every = [path for own in paths for path in own]
    stems = [path.rpartition("/")[2].rpartition(".")[0] for path in every]
    if len(set(stems)) == len(stems):
        return stems
    return every if len(set(every)) == len(every) else [f"{at}/{path}" for at, own in enumerate(paths) for path in own]
