"""Groups of rows by any hashable name, as codes that can be counted."""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from oochub.errors import OochubError
from oochub.stats.array_checks import Array, check_score, check_vector


class GroupCodes(NamedTuple):
    """Groups as counted by `numpy.bincount`: row i belongs to `names[codes[i]]`; a name may have no row."""

    codes: Array
    names: Sequence[Hashable]


def check_group(group: Any, *, name: str = "group") -> GroupCodes:
    """Any hashable group names (n,) as codes for `numpy.bincount`.

    Args:
        group: A list or tuple of hashables, a one-dimensional array of integers, booleans or strings, or a pandas
            Categorical.
        name: What the array is called in an error.

    Raises:
        OochubError: Another shape, no rows, NaN, or something not hashable.

    >>> check_group(["water", "land", "water"])
    GroupCodes(codes=array([0, 1, 0]), names=['water', 'land'])
    """
    if isinstance(group, list | tuple):
        return _groups_of_objects(group, name)
    if hasattr(group, "codes") and len(group) and (group.codes >= 0).all():  # -1 is a missing name
        return GroupCodes(group.codes, group.categories.tolist())
    array = check_vector(group, name)
    if array.dtype.kind == "f":
        check_score(array, name=name)  # without NaN
    if array.dtype.kind == "b":
        return GroupCodes(array.view(np.uint8), [False, True])
    if array.dtype.kind in "iu":
        unsigned = array.view(array.dtype.str.replace("i", "u"))  # numbers below 0 are the largest: one pass finds both
        largest = int(unsigned[unsigned.argmax()])
        if largest <= min(4 * len(array) + 1024, np.iinfo(array.dtype).max):
            return GroupCodes(array, range(largest + 1))
    if array.dtype.kind == "O":
        return _groups_of_objects(array.tolist(), name)
    names, codes = np.unique(array, return_inverse=True)
    return GroupCodes(codes, names.tolist())


def _groups_of_objects(group: Sequence[Any], name: str) -> GroupCodes:
    if len(group) == 0:
        check_vector(group, name)  # the error of no rows
    code: dict[Hashable, int] = {}
    try:
        plain = (value.item() if isinstance(value, np.generic) else value for value in group)
        codes = np.fromiter((code.setdefault(value, len(code)) for value in plain), np.int64, len(group))
    except TypeError as error:
        raise OochubError(f"{name} must hold hashable names (str, int, tuple): {error}.") from error
    if any(key != key for key in code):
        raise OochubError(f"{name} holds NaN, which names no group. Give such rows a name or leave them out.")
    return GroupCodes(codes, list(code))
