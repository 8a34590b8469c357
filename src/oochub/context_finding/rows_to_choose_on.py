"""Which rows may be looked at to choose contexts; a statement about contexts is tested on the others."""

import hashlib
from collections.abc import Mapping

import datasets
import pyarrow as pa

from oochub.data.load import declaration_for
from oochub.errors import OochubError, either

CHOICES = ("auto", "train", "half")
"""See `rows_to_choose_on`."""


def rows_to_choose_on(
    data: Mapping[str, datasets.Dataset], *, choose_on: str = "auto", seed: int = 0
) -> dict[str, pa.BooleanArray]:
    """Whether something may be chosen on each row of each split; null for a row that is neither for that nor for tests.

    Half of the rows is by a digest of their ids, of their clusters where the benchmark declares one: the same rows each
    time, whatever their order.

    Args:
        data: The splits.
        choose_on: One of `CHOICES`. "train" takes the rows of split train; "half" half of the rows of the other splits,
            and leaves train out, for where each class of train has its context and no other; "auto" takes train where
            there are other splits. Of data of one split, "auto" and "half" take half of it.
        seed: Of the halves.

    Raises:
        OochubError: "train" of data with no other split or without train.

    >>> two = datasets.Dataset.from_dict({"example_id": ["a", "b"]})
    >>> rows_to_choose_on({"train": two, "test": two})["test"].to_pylist()
    [False, False]
    >>> rows_to_choose_on({"train": two, "test": two}, choose_on="half")["train"].to_pylist()
    [None, None]
    """
    has_both = "train" in data and len(data) > 1
    if choose_on == "train" and not has_both:
        raise OochubError(
            f"There is nothing to test on beside train, or no train: the splits are {', '.join(data)}. Leave out "
            f"{either('choose_on=', '--choose-on')}, and half of the rows are what is chosen on."
        )
    if has_both and choose_on != "half":
        return {split: pa.array([split == "train"] * len(part), pa.bool_()) for split, part in data.items()}
    declared = declaration_for(data)
    chosen = {}
    for split, part in data.items():
        if has_both and split == "train":
            chosen[split] = pa.nulls(len(part), pa.bool_())
            continue
        column = next(
            (name for name in (declared and declared.cluster, "example_id") if name in part.column_names), None
        )
        units = [f"{split}/{row}" for row in range(len(part))] if column is None else part[column][:]
        chosen[split] = pa.array([_is_first_half(str(unit), seed) for unit in units], pa.bool_())
    return chosen


def _is_first_half(unit: str, seed: int) -> bool:
    return hashlib.sha256(f"{seed}/{unit}".encode()).digest()[0] < 128
