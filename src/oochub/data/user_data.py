"""A user's own data in the form of a benchmark: from label and context follow groups, usual contexts and challenges.

Whether each row's context is usual for its class is counted or given, then judged by the criterion `mismatch`. The
usual contexts of a class are those that are clearly more frequent with it than without it, the unusual ones those that
are clearly less frequent; rows in any other context are of no side.

Images are found, opened from paths where they are paths, and named by their files. The id of each row is the data's
own, else the name of its image's file, else its number.
"""

import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from os.path import isfile  # of a name that no disk holds it says no; that of pathlib takes five times as long
from pathlib import Path, PurePosixPath
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from oochub.data.challenge import KINDS, challenge
from oochub.data.data_source import DataSource
from oochub.data.folder_splits import WORDS
from oochub.data.user_columns import (
    ClassColumn,
    MadeColumn,
    UserColumns,
    format_first_rows,
    get_column_array,
    list_picture_paths,
    make_columns,
)
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.records.build_record import COARSER, FEW_OF_CLASS, OWN, BuildFacts, BuildRecord
from oochub.records.sides import Vocabulary
from oochub.settings.data_settings import DataSettings
from oochub.stats.estimate import Sampling
from oochub.stats.lift import context_signs, lift
from oochub.storage.reading import TarMember

_FORM = ("example_id", "image", "label", "context", "group", "challenge")
_PLACES = ("__key__", "__url__")  # of a WebDataset: the first becomes the ids, the second is a path of this machine
_STORED = {"bytes", "path"}
_SHOWN_PATH = 300  # characters
_NO_CLASS = _NO_SIDE = -1


def make_user_data(source: DataSource, settings: DataSettings, *, guess: Collection[str] = ()) -> DataSource:
    """A source whose rows have the columns of our row form first, and a build record.

    Rows that ask a question of their own (text `question`, lists of texts `options`) get `label`, the number of the
    right option, of the column `label` or `answer`, which holds its number, letter or text. Their groups are the
    contexts alone, and no context is usual.

    A benchmark's rows (its record says so) keep their columns and their record, and get the columns `context` and
    `challenge`.

    Args:
        source: The data; the config of the record of the benchmark "custom" is their name.
        settings: Which columns are what.
        guess: Which of "label" and "context" to take, if nothing says it, from the only column that can hold it. The
            column itself stays; a warning and a note of the record say which it was.

    Returns:
        The source with other rows. First come `example_id`, `image`, `label`, `context`, `group`, `challenge`, as far
        as they follow, then all others. A column that has one of these names and another meaning gets the prefix
        `own_`.

    Raises:
        OochubError: A column that is not there or holds what it cannot, a value that is missing, doubled ids, classes
            or contexts that are not there.

    >>> rows = {"animal": ["cow"] * 9 + ["camel"] * 9, "ground": ["grass"] * 8 + ["sand"] * 10}
    >>> data = datasets.DatasetDict(train=datasets.Dataset.from_dict(rows))
    >>> source, settings = DataSource(given=data, rows=data), DataSettings(label="animal", context="ground")
    >>> own = make_user_data(source, settings).rows["train"]
    >>> own.column_names, own.features["group"].names
    (['example_id', 'label', 'context', 'group', 'challenge'], ['camel/sand', 'cow/grass', 'cow/sand'])
    >>> own.features["challenge"].int2str(own["challenge"][7:10])
    ['easy', 'hard_positive', 'easy']
    """
    is_own = source.record is None or source.record.benchmark == OWN
    data = _find_images(source.rows, settings.image, folder=source.folder)
    for split, part in data.items():
        if any(isinstance(feature, dict) for feature in part.features.values()):  # records, such as `json.context`
            data = datasets.DatasetDict({**data, split: part.flatten()})
    if settings.label is None and _holds_split_names(data):
        data = data.remove_columns("label")
    first, *others = data.values()
    features = {name: kind for name, kind in first.features.items() if all(name in part.features for part in others)}
    settings.check([*features, *([settings.image] if settings.image else [])])
    columns_made = {"example_id": MadeColumn(datasets.Value("string"), find_example_ids(data))}
    columns = UserColumns(data, features, settings, guess=guess, is_own=is_own)
    label, context = columns.label, columns.context
    columns_made |= columns.made
    if not columns.is_grouped and context is not None and (columns.asks or label is not None):
        columns_made["group"] = columns_made["context"] if label is None else _name_groups(label, context)
    facts = source.record.facts if source.record else BuildFacts()
    notes = source.record.notes if source.record else ()
    if columns.challenge is not None:
        columns_made["challenge"] = columns.challenge
        notes = (*notes, *columns.notes)
    elif label is not None and context is not None:
        for split, codes in context.codes.items():
            outside = (codes < 0) & (label.codes[split] != _NO_CLASS)  # a row without a class is of no side in any case
            if outside.any():
                raise OochubError(
                    f"The context is -1, outside its classes, in {int(outside.sum()):,} of {len(codes):,} rows of "
                    f"split {split}, first row {int(np.argmax(outside))}: such rows are neither easy nor hard. "
                    "Remove them."
                )
        shared = None if columns.cluster is None else columns.cluster.codes
        judged = _judge_contexts(label, context, given=settings.usual, cluster=shared)
        columns_made["challenge"] = MadeColumn(datasets.ClassLabel(names=list(KINDS)), judged.challenge)
        facts = replace(facts, usual_contexts=judged.usual)
        notes = (*notes, *judged.notes, *columns.notes)
        # test sets whose labels are kept back
        without = {split: int((codes < 0).sum()) for split, codes in label.codes.items() if (codes < 0).any()}
        rows_without = ", ".join(f"{count:,} of {split}" for split, count in without.items())
        if without:
            notes = (*notes, f"the label is -1, no class, in {rows_without}: these rows have no group and no challenge")
    elif settings.usual and columns.asks:
        raise OochubError(
            f"{choose_wording('usual=')} needs classes, but each row has options of its own. Name the "
            f"contexts, which are then compared, with {choose_wording('context=', '--context-column')}."
        )
    elif settings.usual:
        raise OochubError(f"{choose_wording('usual=')} requires a label column and a context column.")
    else:
        notes = (*notes, *columns.notes)
    if is_own:
        facts = replace(facts, rows=dict(data.num_rows))
    cluster = settings.cluster or settings.pair
    if cluster is not None:
        facts = replace(facts, cluster=cluster, pair=settings.pair or facts.pair)
    facts = replace(facts, words=_read_words(settings) or facts.words)
    guesses = [
        f"the {role} is the column {column!r}, guessed as the only one that can hold it"
        for role, column in columns.guessed.items()
    ]
    info = next(iter(columns.data.values())).info
    record = source.record or BuildRecord(benchmark=OWN, config=source.name, version=str(info.version or "0.0.0"))
    summary = (info.description or "").partition("\n")[0].strip() or f"{source.name}, own data."
    description = replace(record, notes=(*notes, *guesses), facts=facts).describe(summary)
    rows = {
        split: _join_split(part, columns_made, split, columns.used, description) for split, part in columns.data.items()
    }
    return replace(source, rows=datasets.DatasetDict(rows), guessed=columns.guessed)


def _read_words(settings: DataSettings) -> dict[str, str]:
    """What the user calls sides and contexts; a column of contexts with a name of its own gives these its name."""
    given, allowed = settings.context_words or {}, [field.name for field in fields(Vocabulary)]
    for name, text in given.items():
        if name not in allowed:
            raise unknown_name("word", name, allowed, f"Write {choose_wording('context_words=', '--words')} place=on.")
        if not isinstance(text, str):
            raise OochubError(f"{choose_wording('context_words=', '--words')} {name} must be a text, got {text!r}.")
    column = settings.context or ""
    return {**({"context": column} if column not in ("", "context") else {}), **given}


def _find_images(data: datasets.DatasetDict, column: str | None, *, folder: Path | None) -> datasets.DatasetDict:
    """The data with their images in the column `image`; data without any stay as they are.

    Bytes and paths become images without being copied or decoded. A column `image` that is not the chosen one
    becomes `own_image`.

    Args:
        data: The splits.
        column: The column that was named; None takes `image`, else the only column of images.
        folder: What paths are relative to; None where the data are not from this disk.

    Raises:
        OochubError: Several columns of images and none is named; a column of something else; files that are missing.
    """
    features = next(iter(data.values())).features
    pictures = [name for name, feature in features.items() if _is_picture(feature)]
    if column is None and "image" not in features and len(pictures) > 1:
        name = choose_wording("image=", "--image-column")
        raise OochubError(f"Found several image columns: {', '.join(pictures)}. Choose one with {name}.")
    chosen = column or ("image" if "image" in features else next(iter(pictures), None))
    if chosen is None:
        return data
    if not isinstance(features[chosen], datasets.Image):
        data = datasets.DatasetDict(
            {split: _cast_to_pictures(part, chosen, split, folder) for split, part in data.items()}
        )
    for split, part in data.items():
        _check_files(part, chosen, split)
    if chosen == "image":
        return data
    return data.rename_columns({**({"image": "own_image"} if "image" in features else {}), chosen: "image"})


def _is_picture(feature: Any) -> bool:
    return isinstance(feature, datasets.Image) or (
        isinstance(feature, Mapping) and set(feature) == _STORED and str(feature["bytes"].dtype).endswith("binary")
    )


def _cast_to_pictures(part: datasets.Dataset, column: str, split: str, folder: Path | None) -> datasets.Dataset:
    """The split with a column of paths, bytes or records of both as images."""
    feature = part.features[column]
    kind = getattr(feature, "dtype", "")
    if _is_picture(feature) or kind in ("binary", "large_binary"):
        return part.cast_column(column, datasets.Image())
    if kind not in ("string", "large_string"):
        raise OochubError(f"Column {column!r} holds {feature}, not images or paths of image files.")
    if folder is None:  # a file of somebody else does not say which images of this machine are opened
        raise OochubError(
            f"Column {column!r} holds text, and paths of images are read for data on this disk only: fetch the data "
            "and their images into a folder, and give that folder."
        )
    names = get_column_array(part, column).to_pylist()
    if None in names:
        raise OochubError(
            f"Column {column!r} holds text, which is read as paths of images, but row {names.index(None)} of split "
            f"{split} has none. Fill it in, or name another column with {choose_wording('image=', '--image-column')}."
        )
    paths = [_find_spelled(folder, name) for name in names]
    place = part.column_names.index(column)
    stored = pa.table({column: pa.array([str(path) for path in paths], pa.string())})
    opened = datasets.Dataset(stored).cast_column(column, datasets.Image())
    joined = datasets.concatenate_datasets(
        [part.remove_columns([column]), opened], info=drop_features(part.info), split=part.split, axis=1
    )
    names = [name for name in part.column_names if name != column]
    return joined.select_columns([*names[:place], column, *names[place:]])


def _find_spelled(folder: Path, name: str) -> Path:
    """The file of that name, also as Windows and macOS write it."""
    path = folder / name
    if (name.isascii() and "\\" not in name) or isfile(path):  # noqa: PTH113
        return path
    plain = name.replace("\\", "/")
    others = (
        folder / spelling for spelling in (plain, *(unicodedata.normalize(form, plain) for form in ("NFC", "NFD")))
    )
    return next((other for other in others if isfile(other)), path)  # noqa: PTH113


def _check_files(part: datasets.Dataset, column: str, split: str) -> None:
    """Refuses images whose bytes are not in the data, nor in a file."""
    start = 0
    for chunk in part.select_columns([column]).with_format("arrow")[:].column(column).chunks:
        inside = chunk.field("bytes").is_valid().to_pylist()
        for row, (has_bytes, path) in enumerate(zip(inside, chunk.field("path").to_pylist(), strict=True), start):
            if not has_bytes and not (path and (isfile(path) or "://" in path or TarMember.of(path))):  # noqa: PTH113
                where = f"no file at {path[:_SHOWN_PATH]}" if path else "neither bytes nor a path"
                raise OochubError(
                    f"The image {column!r} of row {row}, split {split}, has {where}. Fix the path or remove the row. "
                    f"To use another column, pass {choose_wording('image=', '--image-column')}."
                )
        start += len(chunk)


def drop_features(info: Any) -> Any:
    """The same information without the features, which `datasets` reads from a joined table."""
    info = info.copy()
    info.features = None
    return info


def find_example_ids(data: datasets.DatasetDict) -> dict[str, list[str]]:
    """The ids of each split, each once in its split.

    They are those of the column `example_id`; else the keys of a WebDataset; else the names of the images' files
    without suffix; else the numbers of the rows, from 0. The second and third only where no two are alike.

    Args:
        data: The splits; images are not read.

    Raises:
        OochubError: A row without its example_id, or two rows of a split with one.

    >>> data = datasets.DatasetDict(test=datasets.Dataset.from_dict({"n": [7, 8]}))
    >>> find_example_ids(data)
    {'test': ['0', '1']}
    """
    if all("example_id" in part.column_names for part in data.values()):
        return {split: _check_ids(get_column_array(part, "example_id"), split) for split, part in data.items()}
    if all("__key__" in part.column_names for part in data.values()):
        names = {split: get_column_array(part, "__key__").to_pylist() for split, part in data.items()}
    else:
        names = {
            split: [None if path is None else _get_stem(path) for path in list_picture_paths(part)]
            for split, part in data.items()
        }
    if all(None not in own and len(set(own)) == len(own) for own in names.values()):
        return {split: [str(name) for name in own] for split, own in names.items()}
    return {split: [str(row) for row in range(len(part))] for split, part in data.items()}


def _get_stem(path: str) -> str:
    r"""The name of a file without its suffix, as `PurePosixPath` has it, in a fifth of its time.

    >>> _get_stem("a/b.c.jpg"), _get_stem("a\\.b"), _get_stem("a/b/")
    ('b.c', '.b', 'b')
    """
    name = path.replace("\\", "/").rpartition("/")[2]
    stem, _, suffix = name.rpartition(".")
    is_usual = bool(stem.strip(".") and suffix) or (name and "." not in name)
    return (stem or name) if is_usual else PurePosixPath(path.replace("\\", "/")).stem


def _check_ids(array: pa.Array, split: str) -> list[str]:
    missing = np.asarray(pc.is_null(array, nan_is_null=True).to_numpy(zero_copy_only=False), bool)
    if missing.any():
        raise OochubError(
            f"example_id has no value in {format_first_rows(missing)} of split {split}. Give each row one."
        )
    ids = [str(value) for value in array.to_pylist()]
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        if name in seen:
            raise OochubError(
                f"Rows {seen[name]} and {row} of split {split} have the same example_id, {name!r}. Give each row its "
                "own, or remove the column."
            )
        seen[name] = row
    return ids


def _holds_split_names(data: datasets.DatasetDict) -> bool:
    """Whether `datasets` took the folders train and test for classes, as it does where there are no others."""
    kinds = [part.features.get("label") for part in data.values()]
    are_classes = all(isinstance(kind, datasets.ClassLabel) for kind in kinds)
    if len(data) < 2 or not are_classes or any(part.info.builder_name != "imagefolder" for part in data.values()):
        return False
    return all(name.casefold() in WORDS for name in kinds[0].names) and all(
        len(set(part["label"][:])) == 1 for part in data.values()
    )


def _name_groups(label: ClassColumn, context: ClassColumn) -> MadeColumn:
    """label/context of each row, as far as they occur, in the order of the classes and contexts."""
    size = len(context.names)
    pairs = {
        split: np.where((codes < 0) | (context.codes[split] < 0), -1, codes * size + context.codes[split])
        for split, codes in label.codes.items()
    }
    occurring = np.unique(np.concatenate(list(pairs.values())))
    occurring = occurring[occurring >= 0]
    names = [f"{label.names[pair // size]}/{context.names[pair % size]}" for pair in occurring.tolist()]
    if len(set(names)) < len(names):
        raise OochubError(
            "Two groups have the same name, because names of classes or contexts contain slashes. Rename these."
        )
    places = {split: np.where(codes < 0, -1, np.searchsorted(occurring, codes)) for split, codes in pairs.items()}
    return MadeColumn(datasets.ClassLabel(names=names), places)


def _join_split(
    part: datasets.Dataset, made: Mapping[str, MadeColumn], split: str, used: set[str | None], description: str
) -> datasets.Dataset:
    """The split with the columns that were made in place of those that they were made of."""
    taken = {name: f"own_{name}" for name in made if name in part.column_names and name not in used}
    taken.pop("example_id", None)
    gone = {*used, *_PLACES, "example_id"}
    rest = part.remove_columns(
        [name for name in part.column_names if name in gone]
    )  # their order is in its fingerprint
    rest = rest.rename_columns(taken)
    values = {name: column.values[split] for name, column in made.items()}
    own = make_columns(values, {name: column.feature for name, column in made.items()})
    joined = datasets.concatenate_datasets([rest, own], info=drop_features(rest.info), split=part.split, axis=1)
    first = [name for name in _FORM if name in joined.column_names]
    joined = joined.select_columns([*first, *(name for name in joined.column_names if name not in first)])
    joined.info.description = description
    return joined


@dataclass(frozen=True, kw_only=True)
class _JudgedContexts:
    """What is usual, and what follows.

    Attributes:
        usual: Class to its usual contexts, none or more.
        challenge: Place of each row's challenge in `oochub.data.challenge.KINDS` (n,), by split; -1 for a row whose
            context is neither usual nor unusual for its class, and for one without a class.
        notes: What a reader of the report must know of how that came about.
    """

    usual: Mapping[str, tuple[str, ...]]
    challenge: Mapping[str, NDArray[np.int64]]
    notes: tuple[str, ...]


def _judge_contexts(
    label: ClassColumn,
    context: ClassColumn,
    *,
    given: Mapping[str, Sequence[str]] | None = None,
    cluster: Mapping[str, NDArray[np.int64]] | None = None,
) -> _JudgedContexts:
    """Counts the usual contexts of every class that has none given, and judges every row by them.

    They are counted in the split train where there are others besides, else over all rows, which a note says. A context
    is usual for a class if the interval of its lift lies above 1, and unusual if it lies below; what is given is no
    estimate, so each other context is unusual. A row is easy where its context is usual for its class, hard where it is
    unusual, and else neither; with two classes the second is the positive.

    Args:
        label: Class of each row.
        context: Context of each row.
        given: Class to its usual contexts; the other classes' are counted.
        cluster: What rows share, by split; None if they are independent.

    Raises:
        OochubError: A class or a context that is given and is not in the data.

    >>> label = ClassColumn(codes={"train": np.array([0] * 10 + [1] * 10)}, names=("cow", "camel"))
    >>> context = ClassColumn(codes={"train": np.array([0] * 9 + [1] * 10 + [2])}, names=("grass", "sand", "road"))
    >>> judged = _judge_contexts(label, context)
    >>> judged.usual, judged.challenge["train"][[0, 9, 10, 19]].tolist()
    ({'cow': ('grass',), 'camel': ('sand',)}, [0, 2, 0, -1])
    """
    chosen = _choose_usual(given or {}, label.names, context.names)
    roles = np.array(
        [[1 if context_name in chosen.get(name, ()) else -1 for context_name in context.names] for name in label.names],
        np.int8,
    ).reshape(len(label.names), len(context.names))
    notes: list[str] = []
    if set(chosen) < set(label.names):
        has_train = "train" in label.codes and len(label.codes) > 1
        counted = ["train"] if has_train else list(label.codes)
        of_label, of_context = (
            np.concatenate([column.codes[split] for split in counted]) for column in (label, context)
        )
        is_known = of_label != _NO_CLASS
        columns = [of_label[is_known], of_context[is_known]]
        shared = None if cluster is None else np.concatenate([cluster[split] for split in counted])[is_known]
        by_count = _estimate_roles(*columns, size=roles.shape, cluster=shared)
        counts = np.array([name not in chosen for name in label.names])
        roles[counts] = by_count[counts]
        if not has_train:
            notes.append(f"usual contexts are counted on all {len(columns[0]):,} rows: there is no training split")
    usual = {
        name: tuple(context_name for context_name, role in zip(context.names, of_class, strict=True) if role > 0)
        for name, of_class in zip(label.names, roles.tolist(), strict=True)
    }
    if chosen:
        rest = "; those of the other classes are counted" if len(chosen) < len(label.names) else ""
        notes.append(f"usual contexts of {_list_names(list(chosen))} are given{rest}")
    reasons: dict[tuple[str, bool], list[str]] = {}
    for name in (name for name, contexts_of in usual.items() if not contexts_of):
        is_given = name in chosen
        n = sum(int((codes == label.names.index(name)).sum()) for codes in label.codes.values())
        why = _explain_none_usual(label.names, context.names, is_given=is_given, n=n)
        reasons.setdefault((why, is_given), []).append(name)
    for (why, is_given), without in reasons.items():
        rows = f", so that all {'its' if len(without) == 1 else 'their'} rows are hard" if is_given else ""
        notes.append(f"no context is usual for {_list_names(without)}{rows}: {why}")
    return _JudgedContexts(usual=usual, challenge=_judge_challenge(label, context, roles), notes=tuple(notes))


def _explain_none_usual(classes: Sequence[str], contexts: Sequence[str], *, is_given: bool, n: int) -> str:
    """Why no context is usual for a class of `n` rows, and what to do."""
    if is_given:
        return "none is given"
    if len(classes) == 1:
        return "there is only one class"
    if n < FEW_OF_CLASS:
        return f"fewer than {FEW_OF_CLASS} rows of a class are too few to tell. {COARSER}"
    example = f"{classes[0]}={contexts[0]}"
    return (
        "none is clearly more frequent with it than without it. "
        f"--usual {example} (usual= in Python) names those of a class"
    )


def _choose_usual(
    given: Mapping[str, Sequence[str]], classes: Sequence[str], contexts: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    chosen = {
        str(name): (names,) if isinstance(names, str) else tuple(map(str, names)) for name, names in given.items()
    }
    for name, names in chosen.items():
        if name not in classes:
            raise unknown_name("class with usual contexts", name, classes)
        for context_name in names:
            if context_name not in contexts:
                raise unknown_name(f"context, usual for {name},", context_name, contexts)
    return chosen


def _judge_challenge(label: ClassColumn, context: ClassColumn, roles: NDArray[np.int8]) -> dict[str, NDArray[np.int64]]:
    """The challenges by `mismatch`, to which a context is the class that it is usual for: the row's own, or none."""
    features = {"label": datasets.ClassLabel(names=list(label.names)), "context": datasets.Value("int64")}
    rows = {}
    role_of = {}
    for split, own in label.codes.items():
        classes = np.maximum(own, 0)  # rows of no class are of no side
        role_of[split] = np.where(own == _NO_CLASS, 0, roles[classes, context.codes[split]])
        columns = {"label": classes, "context": np.where(role_of[split] > 0, classes, _NO_CLASS)}
        rows[split] = make_columns(columns, features)
    judged = challenge(datasets.DatasetDict(rows), "mismatch").dataset
    sides = {split: np.asarray(part["challenge"][:], np.int64) for split, part in judged.items()}
    return {split: np.where(role_of[split] == 0, _NO_SIDE, own) for split, own in sides.items()}


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(names[:8]) + (f" and {len(names) - 8} more" if len(names) > 8 else "")


def _estimate_roles(
    label: ArrayLike, context: ArrayLike, *, size: tuple[int, int], cluster: NDArray[np.int64] | None = None
) -> NDArray[np.int8]:
    """What each context is for each class: 1 usual, -1 unusual, 0 neither, by the interval of its lift.

    If all rows are of one class, every context is neither. `size` is how many classes and contexts there are (c, k).

    >>> _estimate_roles([0] * 20 + [1] * 20, [0] * 15 + [1] * 5 + [0] * 5 + [1] * 15, size=(2, 2))
    array([[ 1, -1],
           [-1,  1]], dtype=int8)
    """
    classes, contexts = np.asarray(label, np.int64), np.asarray(context, np.int64)
    together = np.bincount(np.ravel_multi_index((classes, contexts), size), minlength=size[0] * size[1]).reshape(size)
    signs = context_signs(together, together.sum(axis=1))
    if cluster is None:
        return signs
    sampling = Sampling(cluster=cluster)
    for y, k in np.argwhere(signs):  # rows that are alike leave more open, never less
        lifted = lift(contexts == k, classes == y, sampling)
        signs[y, k] = int(lifted.low > 1) - int(lifted.high < 1)
    return signs
