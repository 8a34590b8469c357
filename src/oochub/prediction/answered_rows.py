"""The rows that a model has an answer for: those of classes that it does not know are left out and counted."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import datasets

from oochub.errors import OochubError
from oochub.prediction.selected_rows import selected_rows


class AnsweredRows(NamedTuple):
    """Splits without the rows of some classes, and how the report says so.

    Attributes:
        parts: Splits by name.
        notes: None where nothing is left out.
    """

    parts: dict[str, Any]
    notes: tuple[str, ...]


def answered_rows(parts: Mapping[str, Any], left_out: Collection[str]) -> AnsweredRows:
    """The rows whose class is not left out; those without a known class (-1) stay. Pictures are not read.

    Where a data set names no examples, the rows keep their numbers as `example_id`.

    Args:
        parts: Splits by name, whose `label` is a ClassLabel where classes are left out. Of a stream, the rows are
            passed over when they come, and not counted.
        left_out: Names of classes.

    Raises:
        OochubError: A split without a row of the other classes.

    >>> features = datasets.Features({"label": datasets.ClassLabel(names=["cat", "yeti"])})
    >>> kept = answered_rows({"test": datasets.Dataset.from_dict({"label": [0, 1, 1, -1]}, features)}, ["yeti"])
    >>> kept.parts["test"]["label"][:], kept.parts["test"]["example_id"][:], kept.notes
    ([0, -1], ['0', '3'], ('2 rows of 1 class that the model does not know are left out: yeti',))
    """
    if not left_out:
        return AnsweredRows(dict(parts), ())
    kept, count = {}, 0
    for name, part in parts.items():
        feature = part.features["label"]
        gone = {feature.str2int(each) for each in left_out}
        if not isinstance(part, datasets.Dataset):
            kept[name] = part.decode(False).filter(_is_answered, input_columns=["label"], fn_kwargs={"gone": gone})
            continue
        labels = part.select_columns("label").with_format(None)["label"]
        rows = [row for row, label in enumerate(labels) if label not in gone]
        if not rows and len(part):
            raise OochubError(
                f"The split {name} has rows of classes alone that the model does not know: {', '.join(left_out)}."
            )
        kept[name] = selected_rows(part, rows)
        count += len(part) - len(rows)
    classes = f"{len(left_out)} {'class' if len(left_out) == 1 else 'classes'}"
    rows_of = f"{count:,} {'row' if count == 1 else 'rows'} of {classes}" if count else f"the rows of {classes}"
    words = f"{rows_of} that the model does not know are left out: {', '.join(left_out)}"
    return AnsweredRows(kept, (words,))


def _is_answered(label: int | None, *, gone: set[int]) -> bool:
    return label not in gone
