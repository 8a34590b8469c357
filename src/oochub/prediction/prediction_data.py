"""The data that are predicted, its splits and rows chosen and checked before anything slow reads them.

The columns that are read are there, and none is lost. A part of the rows may be drawn for a quick look; it is said,
since it is not the benchmark. Rows of classes that the model does not know are left out and counted.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import datasets
import numpy as np
from datasets.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

from oochub.errors import OochubError, unknown_name

_MEDIA = (datasets.Image, datasets.Audio, datasets.Video)


def check_data_set(data: Any) -> Any:
    """The data as they were given.

    Args:
        data: A Dataset or IterableDataset, or a DatasetDict or other mapping of them by split.

    Raises:
        OochubError: A list, a frame, a path or anything else; no split; a split without a row.

    >>> check_data_set([{"text": "a"}])
    Traceback (most recent call last):
    oochub.errors.OochubError: The data must be a Dataset, or a DatasetDict of splits, got a list. Make one from a \
list with datasets.Dataset.from_list(rows), from a frame with Dataset.from_pandas(frame), or load a path with \
oochub.load.
    """
    from datasets import Dataset, IterableDataset

    parts = data if isinstance(data, Mapping) else {"": data}
    if not parts:
        raise OochubError("The data have no split. Pass a Dataset, or a DatasetDict with at least one split.")
    for split, part in parts.items():
        if not isinstance(part, Dataset | IterableDataset):
            place = f" as the split {split!r}" if split else ""
            raise OochubError(
                f"The data must be a Dataset, or a DatasetDict of splits, got a {type(part).__name__}{place}. Make "
                "one from a list with datasets.Dataset.from_list(rows), from a frame with "
                "Dataset.from_pandas(frame), or load a path with oochub.load."
            )
    return data


def choose_splits(dataset: Any, wanted: Iterable[str] | None) -> dict[str, Any]:
    """The splits to predict, by name.

    Args:
        dataset: A Dataset or IterableDataset, which is one split, or a DatasetDict.
        wanted: Names; None takes all but "train", or "train" where there is no other.

    Raises:
        OochubError: A split that is not there, or names for a data set that is one split.

    >>> list(choose_splits({"train": 1, "validation": 2, "test": 3}, None))
    ['validation', 'test']
    """
    if not isinstance(dataset, Mapping):
        if wanted is not None:
            raise OochubError("splits chooses among the splits of a DatasetDict; this dataset is a single split.")
        dataset = {str(getattr(dataset, "split", None) or "test"): dataset}
        wanted = list(dataset)
    names = list(wanted) if wanted is not None else [name for name in dataset if name != "train"] or list(dataset)
    for name in names:
        if name not in dataset:
            raise unknown_name("split", name, dataset)
    return {name: dataset[name] for name in dict.fromkeys(names)}


def check_splits(parts: Mapping[str, Any], *, read: str, reserved: Iterable[str]) -> dict[str, Any]:
    """The splits without images, sounds and films that the model does not read.

    Args:
        parts: Splits by name.
        read: The column that the model reads.
        reserved: Columns that predictions write themselves.

    Raises:
        OochubError: A split without the column that is read, or with one that would be lost or taken for the model's.
    """
    for name, part in parts.items():
        present = part.column_names or ()
        if read not in present:
            raise OochubError(f"The split {name} has no column {read!r}, only {part.column_names}.")
        taken = [column for column in dict.fromkeys(reserved) if column in present]
        if taken:
            raise OochubError(
                f"The split {name} has the column {taken[0]!r}, which is reserved for predictions. Rename it first: "
                f'dataset.rename_column("{taken[0]}", "own_{taken[0]}").'
            )
    return {name: _drop_media(part, read) for name, part in parts.items()}


def _drop_media(part: Any, read: str) -> Any:
    features = (part.features or {}).items()
    media = [name for name, feature in features if isinstance(feature, _MEDIA) and name != read]
    return part.remove_columns(media) if media else part


class Splits(NamedTuple):
    """Splits by name, and a sentence for each that lost rows."""

    parts: dict[str, Any]
    notes: tuple[str, ...]


def draw_sample(parts: Mapping[str, Any], limit: int) -> Splits:
    """At most `limit` rows of each split, drawn at random by a fixed seed and in their order; for a stream, the first.

    Two models see the same rows. If a data set names no examples, they keep their row numbers as `example_id`.

    Args:
        parts: Splits by name.
        limit: Maximum number of rows of a split.

    >>> rows = datasets.Dataset.from_dict({"text": list("abcdefgh")})
    >>> sample = draw_sample({"test": rows}, 2)
    >>> sample.parts["test"]["example_id"][:], sample.notes
    (['5', '7'], ('a sample of 2 of 8 rows of test',))
    """
    taken: dict[str, Any] = {}
    notes = []
    for name, part in parts.items():
        if not isinstance(part, datasets.Dataset):
            taken[name] = part.take(limit)
            notes.append(f"no more than the first {limit} rows of {name}")
        elif len(part) > limit:
            rows = np.sort(np.random.default_rng(0).choice(len(part), limit, replace=False)).tolist()
            taken[name] = select_rows(part, rows)
            notes.append(f"a sample of {limit} of {len(part)} rows of {name}")
        else:
            taken[name] = part
    return Splits(taken, tuple(notes))


def leave_out_classes(parts: Mapping[str, Any], left_out: Collection[str]) -> Splits:
    """The rows whose class is not left out; those without a known class (-1) stay. Images are not read.

    If a data set names no examples, the rows keep their numbers as `example_id`.

    Args:
        parts: Splits by name, whose `label` is a ClassLabel where classes are left out. For a stream, the rows are
            passed over when they come, and not counted.
        left_out: Names of classes.

    Raises:
        OochubError: A split without a row of the other classes.

    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "yeti"])})
    >>> kept = leave_out_classes({"test": datasets.Dataset.from_dict({"label": [0, 1, 1, -1]}, features)}, ["yeti"])
    >>> kept.parts["test"]["label"][:], kept.parts["test"]["example_id"][:], kept.notes
    ([0, -1], ['0', '3'], ('2 rows of 1 class that the model does not know are left out: yeti',))
    """
    if not left_out:
        return Splits(dict(parts), ())
    kept, count = {}, 0
    for name, part in parts.items():
        feature = part.features["label"]
        gone = {feature.str2int(name) for name in left_out}
        if not isinstance(part, datasets.Dataset):
            kept[name] = part.decode(False).filter(_is_answered, input_columns=["label"], fn_kwargs={"gone": gone})
            continue
        labels = part.select_columns("label").with_format(None)["label"]
        rows = [row for row, label in enumerate(labels) if label not in gone]
        if not rows and len(part):
            raise OochubError(
                f"All rows of the split {name} have classes that the model does not know: {', '.join(left_out)}."
            )
        kept[name] = select_rows(part, rows)
        count += len(part) - len(rows)
    classes = f"{len(left_out)} {'class' if len(left_out) == 1 else 'classes'}"
    rows_of = f"{count:,} {'row' if count == 1 else 'rows'} of {classes}" if count else f"the rows of {classes}"
    words = f"{rows_of} that the model does not know are left out: {', '.join(left_out)}"
    return Splits(kept, (words,))


def _is_answered(label: int | None, *, gone: set[int]) -> bool:
    return label not in gone


def select_rows(part: datasets.Dataset, rows: Sequence[int]) -> datasets.Dataset:
    """The rows of these numbers; where the data set names no examples, their numbers are the column `example_id`.

    Args:
        part: A split; images are not read.
        rows: Row numbers.

    >>> select_rows(datasets.Dataset.from_dict({"text": list("abc")}), [0, 2])["example_id"][:]
    ['0', '2']
    """
    some = part.select(rows)
    if "example_id" in part.column_names:
        return some
    is_quiet = are_progress_bars_disabled()
    disable_progress_bars()  # a second for a few rows, under a name that says nothing
    try:
        return some.add_column("example_id", [str(row) for row in rows])
    finally:
        if not is_quiet:
            enable_progress_bars()


def list_example_ids(part: datasets.Dataset) -> list[str]:
    """What the rows of a split are called: their `example_id`, else their number. No image is read.

    >>> list_example_ids(datasets.Dataset.from_dict({"text": list("ab")}))
    ['0', '1']
    """
    if "example_id" not in part.column_names:
        return [str(row) for row in range(len(part))]
    return [
        str(example_id)
        for example_id in part.select_columns(["example_id"]).with_format("arrow")[:]["example_id"].to_pylist()
    ]
