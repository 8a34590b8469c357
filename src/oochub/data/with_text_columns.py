"""Columns of class numbers as text, so that `row["challenge"] == "easy"` says what it seems to say."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import datasets
import pyarrow as pa

from oochub import catalog
from oochub.errors import OochubError, unknown_name


def with_text_columns(data: Any, columns: bool | str | Sequence[str] = True) -> Any:
    """The data with class names in place of the class numbers of `columns`; pictures are neither read nor copied.

    A ClassLabel column holds numbers, so a comparison with a name is False in every row. As text, filters read as they
    are meant; training and prediction take both.

    Args:
        data: A Dataset or DatasetDict; features of a text column become Value("string"), or a List of it.
        columns: Names of ClassLabel columns, or Lists of ClassLabel; True takes all, False none. The truth (`label`,
            `labels`, ...) is not among them: models need its numbers. A class of -1, outside the set, becomes None.

    Raises:
        OochubError: Data of another kind, or a column that holds no class numbers.

    >>> features = datasets.Features({"challenge": datasets.ClassLabel(names=["easy", "hard"])})
    >>> data = datasets.Dataset.from_dict({"challenge": [0, 1, 1]}, features)
    >>> len(data.filter(lambda row: row["challenge"] != "easy"))  # every row: a number is no name
    3
    >>> len(with_text_columns(data).filter(lambda row: row["challenge"] != "easy"))
    2
    """
    if columns is False:
        return data
    if isinstance(data, datasets.DatasetDict):
        return datasets.DatasetDict({split: with_text_columns(part, columns) for split, part in data.items()})
    if not isinstance(data, datasets.Dataset):
        raise OochubError(
            f"Text columns are those of a Dataset or DatasetDict, got {type(data).__name__}. "
            "Load without streaming=True, or compare with features[column].str2int(name)."
        )
    if not isinstance(columns, bool | str | Sequence):
        raise OochubError(f"text_columns is True, the name of a column or a list of them, got {columns!r:.80}.")
    truth = {catalog.get("output", name).label_column for name in catalog.names("output")}
    names = {column: _names(data.features[column]) for column in data.column_names if column not in truth}
    names = {column: classes for column, classes in names.items() if classes}
    if isinstance(columns, Mapping) or not isinstance(columns, bool | Iterable):
        raise OochubError(f"text_columns takes True, or names of columns, got a {type(columns).__name__}.")
    chosen = [columns] if isinstance(columns, str) else list(names if columns is True else columns or ())
    for column in chosen:
        if column not in names:
            hint = "The truth stays numbers, which models need: compare with features[column].str2int(name)."
            raise unknown_name("column of class numbers", column, names, hint)
    numbers = data.select_columns(chosen).with_format("arrow")[:]
    text = datasets.Dataset(pa.table({column: _text(numbers.column(column), names[column]) for column in chosen}))
    parts = [data.remove_columns(chosen), text]
    joined = datasets.concatenate_datasets(parts, info=_bare(data.info), split=data.split, axis=1)
    return joined.select_columns(data.column_names)


def _names(feature: Any) -> list[str]:
    """The names of the classes that a column holds; none of another column."""
    feature = feature.feature if isinstance(feature, datasets.List) else feature
    return list(feature.names) if isinstance(feature, datasets.ClassLabel) else []


def _text(numbers: pa.ChunkedArray, names: list[str]) -> pa.Array:
    def name(number: Any) -> Any:
        if isinstance(number, list):
            return [name(each) for each in number]
        return None if number is None or number < 0 else names[number]

    is_list = pa.types.is_list(numbers.type)
    return pa.array([name(number) for number in numbers.to_pylist()], pa.list_(pa.string()) if is_list else pa.string())


def _bare(info: Any) -> Any:
    """The same information without the features, which are read from the joined table."""
    info = info.copy()
    info.features = None
    return info
