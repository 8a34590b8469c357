"""The pictures of a user's data: found, opened from paths where they are paths, named by their files."""

from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from oochub.data.class_column import ClassColumn, column_array
from oochub.errors import OochubError, either
from oochub.storage.tar_member import TarMember

_STORED = {"bytes", "path"}
_SHOWN = 300  # characters of a path


def with_pictures(data: datasets.DatasetDict, column: str | None, *, folder: Path | None) -> datasets.DatasetDict:
    """The data with their pictures in the column `image`; data without any stay as they are.

    Bytes and paths become pictures without being copied or decoded. A column `image` that is not the chosen one
    becomes `own_image`.

    Args:
        data: The splits.
        column: The column that was named; None takes `image`, else the only column of pictures.
        folder: What paths are relative to; None where the data are not from this disk.

    Raises:
        OochubError: Several columns of pictures and none is named; a column of something else; files that are missing.
    """
    features = next(iter(data.values())).features
    pictures = [name for name, feature in features.items() if _is_picture(feature)]
    if column is None and "image" not in features and len(pictures) > 1:
        name = either("image=", "--image-column")
        raise OochubError(f"There are several columns of pictures: {', '.join(pictures)}. Name one with {name}.")
    chosen = column or ("image" if "image" in features else next(iter(pictures), None))
    if chosen is None:
        return data
    if not isinstance(features[chosen], datasets.Image):
        data = datasets.DatasetDict({split: _opened(part, chosen, split, folder) for split, part in data.items()})
    for split, part in data.items():
        _check_files(part, chosen, split)
    if chosen == "image":
        return data
    return data.rename_columns({**({"image": "own_image"} if "image" in features else {}), chosen: "image"})


def picture_paths(part: datasets.Dataset) -> list[str | None]:
    """The path of each picture of the column `image`, None where it has none; no picture is read."""
    if not isinstance((part.features or {}).get("image"), datasets.Image):
        return [None] * len(part)
    chunks = part.select_columns(["image"]).with_format("arrow")[:].column("image").chunks
    return [path for chunk in chunks for path in chunk.field("path").to_pylist()]


def class_folders(data: datasets.DatasetDict) -> ClassColumn | None:
    """The folders that the pictures lie in as classes, as `datasets` reads them where there is no metadata file.

    Args:
        data: The splits; pictures are not read.

    Returns:
        None where they are no classes: a picture without a path, folders at several depths, or a split with one alone.
    """
    folders: dict[str, list[PurePosixPath]] = {}
    for split, part in data.items():
        paths = picture_paths(part)
        if part.info.builder_name != "imagefolder" or None in paths:
            return None
        folders[split] = [PurePosixPath(str(path).replace("\\", "/")).parent for path in paths]
    depths = {len(each.parts) for of_split in folders.values() for each in of_split}
    names = {split: np.array([each.name for each in of_split], str) for split, of_split in folders.items()}
    if len(depths) != 1 or any(len(set(of_split.tolist())) < 2 for of_split in names.values()):
        return None
    distinct = np.unique(np.concatenate(list(names.values())))
    codes = {split: np.searchsorted(distinct, of_split) for split, of_split in names.items()}
    return ClassColumn(codes=codes, names=tuple(distinct.tolist()))


def _is_picture(feature: Any) -> bool:
    return isinstance(feature, datasets.Image) or (
        isinstance(feature, Mapping) and set(feature) == _STORED and str(feature["bytes"].dtype).endswith("binary")
    )


def _opened(part: datasets.Dataset, column: str, split: str, folder: Path | None) -> datasets.Dataset:
    """The split with a column of paths, bytes or records of both as pictures."""
    feature = part.features[column]
    kind = getattr(feature, "dtype", "")
    if _is_picture(feature) or kind in ("binary", "large_binary"):
        return part.cast_column(column, datasets.Image())
    if kind not in ("string", "large_string"):
        raise OochubError(f"Column {column!r} holds {feature}, not pictures, nor the paths of their files.")
    if folder is None:  # a file of somebody else does not say which pictures of this machine are opened
        raise OochubError(
            f"Column {column!r} holds text, and paths are read as pictures of data on this disk alone: fetch the data "
            "and their pictures into a folder, and give that."
        )
    names = column_array(part, column).to_pylist()
    if None in names:
        raise OochubError(
            f"Column {column!r} holds text, which is read as paths of pictures, and row {names.index(None)} of split "
            f"{split} has none. Fill it in, or name another column with {either('image=', '--image-column')}."
        )
    paths = [folder / name for name in names]
    place = part.column_names.index(column)
    stored = pa.table({column: pa.array([str(path) for path in paths], pa.string())})
    opened = datasets.Dataset(stored).cast_column(column, datasets.Image())
    joined = datasets.concatenate_datasets(
        [part.remove_columns([column]), opened], info=_bare(part.info), split=part.split, axis=1
    )
    names = [name for name in part.column_names if name != column]
    return joined.select_columns([*names[:place], column, *names[place:]])


def _check_files(part: datasets.Dataset, column: str, split: str) -> None:
    """Refuses pictures whose bytes are not in the data, nor in a file."""
    start = 0
    for chunk in part.select_columns([column]).with_format("arrow")[:].column(column).chunks:
        inside = chunk.field("bytes").is_valid().to_pylist()
        for row, (has_bytes, path) in enumerate(zip(inside, chunk.field("path").to_pylist(), strict=True), start):
            if not has_bytes and not (path and ("://" in path or TarMember.of(path) or _is_file(path))):
                where = f"no file at {path[:_SHOWN]}" if path else "neither bytes nor a path"
                raise OochubError(
                    f"The picture {column!r} of row {row}, split {split}, has {where}. Correct its path or leave the "
                    f"row out; another column is named with {either('image=', '--image-column')}."
                )
        start += len(chunk)


def _is_file(path: str) -> bool:
    """Whether there is a file; there is none of a name that no disk holds."""
    try:
        return Path(path).is_file()
    except OSError:
        return False


def _bare(info: Any) -> Any:
    info = info.copy()
    info.features = None
    return info
