"""A user's own data in the form of a benchmark: from label and context follow groups, usual contexts and challenges."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np

from oochub.data.challenge import KINDS
from oochub.data.class_column import ClassColumn, class_column, first_rows, is_class_like, number_column
from oochub.data.columns import Columns
from oochub.data.example_ids import example_ids
from oochub.data.judged_contexts import judged_contexts
from oochub.data.picture_column import class_folders, with_pictures
from oochub.errors import OochubError, either, unknown_name
from oochub.records.build_record import OWN, BuildFacts, BuildRecord

_FORM = ("example_id", "image", "label", "context", "group", "challenge")
_PLACES = ("__key__", "__url__")  # of a WebDataset: the first becomes the ids, the second is a path of this machine


class _Made(NamedTuple):
    """A column that was made: how `datasets` calls it, and its values by split."""

    feature: Any
    values: Mapping[str, Any]


def own_rows(
    data: datasets.DatasetDict, columns: Columns, *, name: str, folder: Path | None = None
) -> datasets.DatasetDict:
    """The data with the columns of our row form first, and a build record.

    A benchmark's rows (its record says so) keep their columns and their record, and get the columns `context` and
    `challenge`.

    Args:
        data: The splits, as `open_source` gives them.
        columns: Which columns are what.
        name: The config of the record of the benchmark "custom": a folder's or repository's name.
        folder: What paths of pictures are relative to; None where the data are not from this disk.

    Returns:
        `example_id`, `image`, `label`, `context`, `group`, `challenge`, as far as they follow, then all others. A
        column that has one of these names and another meaning gets the prefix `own_`.

    Raises:
        OochubError: A column that is not there or holds what it cannot, a value that is missing, doubled ids, classes
            or contexts that are not there.

    >>> rows = {"animal": ["cow", "cow", "camel"], "ground": ["grass", "sand", "sand"]}
    >>> data = datasets.DatasetDict(train=datasets.Dataset.from_dict(rows))
    >>> own = own_rows(data, Columns(label="animal", context="ground"), name="desert")["train"]
    >>> own.column_names, own.features["group"].names
    (['example_id', 'label', 'context', 'group', 'challenge'], ['camel/sand', 'cow/grass', 'cow/sand'])
    >>> own.features["challenge"].int2str(own["challenge"][:])
    ['easy', 'hard_positive', 'easy']
    """
    before = BuildRecord.of(next(iter(data.values())).info)
    is_own = before is None or before.benchmark == OWN
    data = with_pictures(data, columns.image, folder=folder)
    data = datasets.DatasetDict({split: _flat(part) for split, part in data.items()})
    if columns.label is None and _names_splits(data):
        data = data.remove_columns("label")
    features = _common(data)
    columns.check([*features, *([columns.image] if columns.image else [])])
    label_name, context_name = _label_name(features, columns), _context_name(features, columns)
    group_name = columns.group or ("group" if "group" in features else None)
    made = {"example_id": _Made(datasets.Value("string"), example_ids(data))}
    label = context = None
    if label_name is None:
        label = class_folders(data)
    elif context_name is None and str(getattr(features[label_name], "dtype", "")).startswith("float"):
        made["label"] = _Made(features[label_name], number_column(data, label_name, role="label"))
    elif columns.label or context_name or is_class_like(features[label_name]):
        label = class_column(data, label_name, role="label", named=False)
    if label is not None:
        made["label"] = _Made(label.feature, {split: label.stored(split) for split in data})
    if context_name is not None:
        context = class_column(data, context_name, role="context")
        made["context"] = _Made(context.feature, context.codes)
    if group_name is not None and (columns.group or is_class_like(features[group_name])):
        group = class_column(data, group_name, role="group")
        made["group"] = _Made(group.feature, group.codes)
    elif group_name is None and label is not None and context is not None:
        made["group"] = _groups(label, context)
    notes, facts = (before.notes, before.facts) if before else ((), BuildFacts())
    if "challenge" in features:
        made["challenge"] = _challenges(data, columns, is_own=is_own)
    elif label is not None and context is not None:
        for role, column in (("label", label), ("context", context)):
            _check_inside(column, role)
        judged = judged_contexts(label, context, given=columns.usual)
        made["challenge"] = _Made(datasets.ClassLabel(names=list(KINDS)), judged.challenge)
        notes, facts = (*notes, *judged.notes), replace(facts, usual_contexts=judged.usual)
    elif columns.usual:
        raise OochubError(f"{either('usual=', '--usual')} needs a label and a context. Name their columns.")
    info = next(iter(data.values())).info
    record = before or BuildRecord(benchmark=OWN, config=name, version=str(info.version or "0.0.0"))
    if is_own:
        facts = replace(facts, rows=dict(data.num_rows))
    used = {"challenge", label_name, group_name, context_name if is_own else "context"}
    description = replace(record, notes=notes, facts=facts).describe(_summary(info.description, name))
    return datasets.DatasetDict({split: _joined(part, made, split, used, description) for split, part in data.items()})


def _flat(part: datasets.Dataset) -> datasets.Dataset:
    """The split with a column for each field of a column of records: `json.context`."""
    return part.flatten() if any(isinstance(feature, dict) for feature in part.features.values()) else part


def _common(data: datasets.DatasetDict) -> dict[str, Any]:
    """The columns that all splits have."""
    first, *others = data.values()
    return {name: feature for name, feature in first.features.items() if all(name in part.features for part in others)}


def _label_name(features: Mapping[str, Any], columns: Columns) -> str | None:
    if columns.label is not None or "label" in features:
        return columns.label or "label"
    return "cls" if "cls" in features and "__key__" in features else None


def _names_splits(data: datasets.DatasetDict) -> bool:
    """Whether `datasets` took the folders train and test for classes, as it does where there are no others."""
    if len(data) < 2 or any(part.info.builder_name != "imagefolder" for part in data.values()):
        return False
    labels = [part["label"][:] for part in data.values() if isinstance(part.features.get("label"), datasets.ClassLabel)]
    return len(labels) == len(data) and all(len(set(of_split)) == 1 for of_split in labels)


def _context_name(features: Mapping[str, Any], columns: Columns) -> str | None:
    if columns.context is not None:
        return columns.context
    return "context" if "context" in features and is_class_like(features["context"]) else None


def _check_inside(column: ClassColumn, role: str) -> None:
    for split, codes in column.codes.items():
        if (codes < 0).any():
            raise OochubError(
                f"The {role} is -1, outside its classes, in {int((codes < 0).sum()):,} of {len(codes):,} rows of split "
                f"{split}, the first is row {int(np.argmax(codes < 0))}: such a row is neither easy nor hard. Leave "
                "these rows out."
            )


def _challenges(data: datasets.DatasetDict, columns: Columns, *, is_own: bool) -> _Made:
    """The challenges that the data have already, as class numbers."""
    if columns.usual or (columns.context and not is_own):
        what = either("usual=", "--usual") if columns.usual else either("context=", "--context-column")
        raise OochubError(f"The data have a column challenge already, by their own criterion: leave out {what}.")
    column = class_column(data, "challenge", role="challenge")
    places = np.array([KINDS.index(name) if name in KINDS else -1 for name in column.names])
    for split, codes in column.codes.items():
        strange = (codes >= 0) & (places[codes] < 0)
        if strange.any():
            name = column.names[codes[np.argmax(strange)]]
            same = first_rows(codes == column.names.index(name))
            raise unknown_name(
                "challenge", name, KINDS, f"{same} of split {split}. Write one of these, or rename yours."
            )
    return _Made(
        datasets.ClassLabel(names=list(KINDS)),
        {split: np.where(codes < 0, codes, places[codes]) for split, codes in column.codes.items()},
    )


def _groups(label: ClassColumn, context: ClassColumn) -> _Made:
    """label/context of each row, as far as they occur, in the order of the classes and contexts."""
    size = len(context.names)
    pairs = {split: codes * size + context.codes[split] for split, codes in label.codes.items()}
    occurring = np.unique(np.concatenate(list(pairs.values())))
    names = [f"{label.names[pair // size]}/{context.names[pair % size]}" for pair in occurring.tolist()]
    if len(set(names)) < len(names):
        raise OochubError("Two groups have one name, as classes or contexts have slashes in theirs. Rename these.")
    places = {split: np.searchsorted(occurring, each) for split, each in pairs.items()}
    return _Made(datasets.ClassLabel(names=names), places)


def _summary(description: str | None, name: str) -> str:
    """The first line of the description of before, else a sentence; the record and its notes are written anew."""
    return (description or "").partition("\n")[0].strip() or f"{name}, own data."


def _joined(
    part: datasets.Dataset, made: Mapping[str, _Made], split: str, used: set[str | None], description: str
) -> datasets.Dataset:
    """The split with the columns that were made in place of those that they were made of."""
    taken = {name: f"own_{name}" for name in made if name in part.column_names and name not in used}
    taken.pop("example_id", None)
    rest = part.remove_columns([name for name in (*used, *_PLACES, "example_id") if name in part.column_names])
    rest = rest.rename_columns(taken)
    features = datasets.Features({name: each.feature for name, each in made.items()})
    own = datasets.Dataset.from_dict({name: each.values[split] for name, each in made.items()}, features)
    info = rest.info.copy()
    info.features = None
    joined = datasets.concatenate_datasets([rest, own], info=info, split=part.split, axis=1)
    first = [name for name in _FORM if name in joined.column_names]
    joined = joined.select_columns([*first, *(name for name in joined.column_names if name not in first)])
    joined.info.description = description
    return joined
