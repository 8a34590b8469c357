"""Whether each class number of loaded data is one of its classes."""

from collections.abc import Iterator, Mapping
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.compute as pc

from oochub.errors import OochubError


def check_class_numbers(data: Mapping[str, datasets.Dataset]) -> None:
    """Checks the class numbers of every split, those in lists and records too; -1 and None are no class.

    Args:
        data: The splits; pictures are not read.

    Raises:
        OochubError: A number outside the classes; column, row and split are named.

    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "dog"])})
    >>> check_class_numbers({"test": datasets.Dataset.from_dict({"label": [0, 1, -1]}, features)})
    """
    for split, part in data.items():
        names = [name for name, feature in part.features.items() if _holds_classes(feature)]
        if not names:
            continue
        table = part.select_columns(names).with_format("arrow")[:]
        for name in names:
            for feature, numbers in _numbers(table.column(name).combine_chunks(), part.features[name]):
                wrong = pc.or_(pc.less(numbers, -1), pc.greater_equal(numbers, feature.num_classes))
                if pc.any(wrong).as_py():
                    number = numbers[pc.index(wrong, True).as_py()]
                    row = _row(table.column(name), part.features[name], number.as_py())
                    raise OochubError(
                        f"{name} is {number.as_py()} in {row}split {split}, and there are {feature.num_classes} "
                        "classes, numbered from 0. Correct it, or leave the row out; -1 stands for no class."
                    )


def _holds_classes(feature: Any) -> bool:
    if isinstance(feature, dict):
        return any(map(_holds_classes, feature.values()))
    if isinstance(feature, datasets.List | datasets.LargeList):
        return _holds_classes(feature.feature)
    return isinstance(feature, datasets.ClassLabel)


def _numbers(array: Any, feature: Any) -> Iterator[tuple[datasets.ClassLabel, Any]]:
    """The class numbers of a column, each kind of class for itself."""
    if isinstance(feature, datasets.ClassLabel):
        yield feature, array
    elif isinstance(feature, dict):
        for name, inner in feature.items():
            if _holds_classes(inner):
                yield from _numbers(pc.struct_field(array, name), inner)
    elif isinstance(feature, datasets.List | datasets.LargeList) and _holds_classes(feature.feature):
        yield from _numbers(pc.list_flatten(array), feature.feature)


def _row(column: pa.ChunkedArray, feature: Any, number: int) -> str:
    """Where a number stands first, of a column of plain numbers."""
    if not isinstance(feature, datasets.ClassLabel):
        return ""
    return f"row {pc.index(column, number).as_py()} of "
