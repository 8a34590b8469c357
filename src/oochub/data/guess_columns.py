"""Which columns of own data can hold the label or the context: where exactly one can, it is taken, and that is said."""

from collections.abc import Collection, Mapping
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oochub.data.user_columns import ClassColumn, get_column_array, read_class_column
from oochub.errors import choose_wording
from oochub.records.build_record import BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN
from oochub.records.output_columns import LONGEST_NAME

_MOST_VALUES = 50
_MOST_OF_ONE = 0.95  # a column that is nearly constant says little of any row
_FIRST_ROWS = 5_000
_NEVER = {"example_id", "image", "own_image", "text", "label", "context", "group", "groups", "challenge", "split"}
_NEVER |= {"fold", "file_name", BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN, "__key__", "__url__"}
_Parts = Mapping[str, datasets.Dataset]


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
