"""The columns of a user's data: which one is the label, the context or the group, and the class numbers in each.

A column of names or whole numbers becomes class numbers over all splits, so that all splits share its classes. Rows
that ask a question of their own have the number of the right option, whatever the table calls it. Names of one column
may look alike: "snow", "Snow", "snow ", and letters that Unicode writes in two ways.

If nothing names the label or the context and exactly one column can hold it, it is taken, and a warning says so.
"""

import unicodedata
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, NamedTuple

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub import catalog
from oochub.data.challenge import KINDS
from oochub.data.folder_splits import WORDS
from oochub.errors import OochubError, OochubWarning, choose_wording, unknown_name
from oochub.records.build_record import BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN
from oochub.records.metadata import LONGEST_NAME
from oochub.records.question_options import ANSWER, OPTIONS, ask_each_row, number_options, parse_options
from oochub.settings.data_settings import DataSettings

_Parts = Mapping[str, datasets.Dataset]
_FEW = 50  # dates or numbers that are names


_MOST_VALUES = 50
_MOST_OF_ONE = 0.95  # a column that is nearly constant says little of any row
_FIRST_ROWS = 5_000
_NEVER = {"example_id", "image", "own_image", "text", "label", "context", "group", "groups", "challenge", "split"}
_NEVER |= {"fold", "file_name", BUILD_COLUMN, CHOSEN_ON, CONTEXTS_COLUMN, "__key__", "__url__"}
_TEXTS = ("string", "large_string")
_SHOWN = 4  # names that look alike
CONTEXT_COLUMNS = ("context", "contexts", "group", "groups", "challenge")
"""Columns that say what surrounds each thing."""


@dataclass(frozen=True, kw_only=True)
class ClassColumn:
    """A column read as classes.

    Attributes:
        codes: Place of each row's class in `names` (n,), by split; -1 where a ClassLabel, or a label of -1, says none.
        names: Names of the classes: those of a ClassLabel; texts, sorted; or numbers in order, as text.
        numbers: Whole numbers without names: the number of each class; None where the classes have names.
    """

    codes: Mapping[str, NDArray[np.int64]]
    names: tuple[str, ...]
    numbers: NDArray[np.int64] | None = None

    def stored(self, split: str) -> NDArray[np.int64]:
        """What a row of the data holds (n,): the class number, or the whole number that it was; -1 for no class."""
        codes = self.codes[split]
        return codes if self.numbers is None else np.where(codes < 0, codes, np.append(self.numbers, -1)[codes])

    @property
    def feature(self) -> Any:
        """How `datasets` calls what `stored` gives."""
        return datasets.ClassLabel(names=list(self.names)) if self.numbers is None else datasets.Value("int64")

    def crosses(self, other: "ClassColumn") -> bool:
        """Whether neither of the two is known from the other."""
        own, theirs = (np.concatenate(list(columns.codes.values())) for columns in (self, other))
        pairs = len(np.unique(np.stack([own, theirs]), axis=1).T)
        return pairs > max(len(np.unique(own)), len(np.unique(theirs)))

    def text(self, split: str) -> list[str | None]:
        """The name of each row's class, None for -1."""
        return [self.names[code] if code >= 0 else None for code in self.codes[split].tolist()]


def read_class_column(parts: _Parts, column: str, *, role: str, named: bool = True) -> ClassColumn:
    """Reads a column of all splits as classes.

    Args:
        parts: The splits.
        column: A column of a ClassLabel, text, whole numbers or truth values; one that is no label also of dates, or
            of a few numbers with fractions. -1 in a label stands for no class.
        role: What it is, for errors ("label").
        named: Give whole numbers names, the numbers as text; False leaves them numbers.

    Raises:
        OochubError: Another kind of column, not the same in all splits, fractions, or rows without a value: how many,
            and the first.

    >>> data = datasets.Dataset.from_dict({"place": ["sea", "land", "sea"]})
    >>> column = read_class_column({"train": data}, "place", role="context")
    >>> column.names, column.codes["train"].tolist()
    (('land', 'sea'), [1, 0, 1])
    """
    arrays = {split: get_column_array(part, column) for split, part in parts.items()}
    feature = next(iter(parts.values())).features[column]
    title = f"The {role} column {column!r}"
    for split, part in parts.items():
        other = part.features[column]
        if isinstance(feature, datasets.ClassLabel) and other != feature:
            raise OochubError(f"{title} does not have the same classes in all splits. Cast it to one ClassLabel.")
        _check_kind(arrays[split].type, title, role)
        _check_values(arrays[split], title, split)
    if isinstance(feature, datasets.ClassLabel):
        codes = {split: array.to_numpy(zero_copy_only=False).astype(np.int64) for split, array in arrays.items()}
        return ClassColumn(codes=codes, names=tuple(feature.names))
    if len({pa.types.is_string(array.type) or pa.types.is_large_string(array.type) for array in arrays.values()}) > 1:
        raise OochubError(f"{title} holds text in one split and numbers in another. Cast it to one kind.")
    plain = _name_few_values(arrays, role)
    values = {split: _read_values(array, title, role) for split, array in plain.items()}
    every = np.concatenate(list(values.values()))
    has_class = every != ("-1" if every.dtype.kind == "U" else -1) if role == "label" else np.ones(len(every), bool)
    distinct, class_codes = np.unique(every[has_class], return_inverse=True)
    places = np.full(len(every), -1)
    places[has_class] = class_codes
    ends = np.cumsum([len(array) for array in values.values()])[:-1]
    codes = dict(zip(values, np.split(places.astype(np.int64), ends), strict=True))
    names = tuple(map(str, distinct.tolist()))
    _check_lengths(names, list(codes.values()), tuple(values), title)
    return ClassColumn(
        codes=codes, names=names, numbers=None if named or distinct.dtype.kind == "U" else distinct.astype(np.int64)
    )


def get_column_array(part: datasets.Dataset, column: str) -> pa.Array:
    """A column as Arrow stores it, in one piece; images are not decoded."""
    chunks = part.select_columns([column]).with_format("arrow")[:].column(column)
    array = chunks.combine_chunks()
    array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    return array.cast(pa.string()) if pa.types.is_string_view(array.type) else array


def make_columns(columns: Mapping[str, object], features: Mapping[str, object]) -> datasets.Dataset:
    """Rows of new columns, as `datasets.Dataset.from_dict` makes them, which looks at each value of a column by itself.

    Args:
        columns: Values of each column.
        features: Their features.

    >>> make_columns({"n": np.array([1, -1])}, {"n": datasets.ClassLabel(names=["a", "b"])})["n"][:]
    [1, -1]
    """
    is_simple = {
        name: isinstance(feature, datasets.ClassLabel) or feature in (datasets.Value("string"), datasets.Value("int64"))
        for name, feature in features.items()
    }
    if not all(is_simple.values()):
        return datasets.Dataset.from_dict(dict(columns), datasets.Features(features))
    schema = datasets.Features(features).arrow_schema
    arrays = [pa.array(columns[field.name], field.type) for field in schema]
    return datasets.Dataset(pa.Table.from_arrays(arrays, schema=schema))


def is_class_like(feature: Any) -> bool:
    """Whether a column of this kind can hold classes: a ClassLabel, text, whole numbers, truth values.

    >>> is_class_like(datasets.Value("float32"))
    False
    """
    kinds = ("string", "large_string", "bool", "int", "uint")
    return isinstance(feature, datasets.ClassLabel) or (
        isinstance(feature, datasets.Value) and feature.dtype.startswith(kinds)
    )


def format_first_rows(wrong: NDArray[np.bool_]) -> str:
    """How many rows are wrong, and which is the first: "3 of 120 rows, first row 17" (from 0).

    >>> format_first_rows(np.array([False, True, True]))
    '2 of 3 rows, first row 1'
    """
    return f"{int(wrong.sum()):,} of {len(wrong):,} rows, first row {int(np.argmax(wrong))}"


def _check_lengths(names: tuple[str, ...], places: Sequence[NDArray[Any]], splits: Sequence[str], title: str) -> None:
    """That names are names: a text of megabytes would stand in every table and page."""
    long = np.array([*(len(name) > LONGEST_NAME for name in names), False], bool)  # the last is that of no class
    for split, codes in zip(splits, places, strict=True) if long.any() else ():
        if long[codes].any():
            name = names[codes[np.argmax(long[codes])]]
            raise OochubError(
                f"{title} holds a text of {len(name):,} characters, {name[:40]!r}..., in "
                f"{format_first_rows(long[codes])} of split {split}, but a name has at most {LONGEST_NAME:,}. Choose "
                "another column, or shorten these."
            )


def _name_few_values(arrays: Mapping[str, pa.Array], role: str) -> Mapping[str, pa.Array]:
    """Dates, and numbers with fractions, as text if they are names: few that come back, in a column of no label."""
    kinds = [array.type for array in arrays.values()]
    are_dates = all(pa.types.is_temporal(kind) and not pa.types.is_duration(kind) for kind in kinds)
    are_numbers = all(pa.types.is_floating(kind) or pa.types.is_decimal(kind) for kind in kinds)
    if role == "label" or not (are_dates or are_numbers):
        return arrays
    texts = {split: [str(value) for value in array.to_pylist()] for split, array in arrays.items()}
    every = [text for own in texts.values() for text in own]
    if all(map(pa.types.is_floating, kinds)) and all(text.endswith(".0") for text in every):
        return arrays  # whole numbers, as pandas writes those of a column with gaps
    if are_dates and all(text[10:19] in ("", " 00:00:00") for text in every):
        texts = {split: [text[:10] for text in own] for split, own in texts.items()}
        every = [text[:10] for text in every]
    if len(set(every)) > min(_FEW, len(every) // 2):
        return arrays
    return {split: pa.array(own, pa.string()) for split, own in texts.items()}


def _check_kind(kind: pa.DataType, title: str, role: str) -> None:
    checks: Iterable[Callable[[pa.DataType], bool]] = (
        *(pa.types.is_string, pa.types.is_large_string, pa.types.is_boolean),
        *(pa.types.is_integer, pa.types.is_floating, pa.types.is_null),
    )
    is_named = role != "label" and (pa.types.is_temporal(kind) or pa.types.is_decimal(kind))
    if not is_named and not any(check(kind) for check in checks):
        raise OochubError(f"{title} holds {kind}, but a {role} must be a name or a whole number in each row.")


def _check_values(array: pa.Array, title: str, split: str) -> None:
    missing = pc.is_null(array, nan_is_null=True)
    if pa.types.is_string(array.type) or pa.types.is_large_string(array.type):
        missing = pc.or_(missing, pc.equal(pc.utf8_trim_whitespace(array.fill_null("")), ""))
    wrong = np.asarray(missing.to_numpy(zero_copy_only=False), bool)
    if wrong.any():
        raise OochubError(
            f"{title} has no value in {format_first_rows(wrong)} of split {split}. Fill in a value (such as "
            "'unknown') or remove these rows."
        )


def _read_values(array: pa.Array, title: str, role: str) -> NDArray[Any]:
    if pa.types.is_temporal(array.type) or pa.types.is_decimal(array.type):
        raise OochubError(
            f"{title} holds {array.type} with other values in most rows, first {array[0].as_py()}, but a {role} must "
            "be a name or a whole number. Make classes of it first, such as 'June' and 'July', in a separate column."
        )
    values = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind != "f":
        return np.asarray(values.astype(str) if values.dtype.kind == "O" else values)
    fractions = values != np.floor(values)
    if fractions.any():
        raise OochubError(
            f"{title} holds continuous numbers, first {values[np.argmax(fractions)]:g}, but a {role} must be a name "
            "or a whole number. Bin the values into classes first, such as 'near' and 'far', in a new column."
        )
    return np.asarray(values.astype(np.int64))


def list_picture_paths(part: datasets.Dataset) -> list[str | None]:
    """The path of each image of the column `image`, None where it has none; no image is read."""
    if not isinstance((part.features or {}).get("image"), datasets.Image):
        return [None] * len(part)
    chunks = part.select_columns(["image"]).with_format("arrow")[:].column("image").chunks
    return [path for chunk in chunks for path in chunk.field("path").to_pylist()]


def list_class_folders(data: datasets.DatasetDict) -> ClassColumn | None:
    """The folders that the images lie in as classes, as `datasets` reads them where there is no metadata file.

    Args:
        data: The splits; images are not read.

    Returns:
        None where they are no classes: an image without a path, folders at several depths, a split with one alone, or
        folders that are called like splits.
    """
    folders: dict[str, list[PurePosixPath]] = {}
    for split, part in data.items():
        paths = list_picture_paths(part)
        if part.info.builder_name != "imagefolder" or None in paths:
            return None
        folders[split] = [PurePosixPath(str(path).replace("\\", "/")).parent for path in paths]
    depths = {len(folder.parts) for of_split in folders.values() for folder in of_split}
    names = {split: np.array([folder.name for folder in of_split], str) for split, of_split in folders.items()}
    if len(depths) != 1 or any(len(set(of_split.tolist())) < 2 for of_split in names.values()):
        return None
    distinct = np.unique(np.concatenate(list(names.values())))
    if all(name.casefold() in WORDS for name in distinct.tolist()):
        return None
    codes = {split: np.searchsorted(distinct, of_split) for split, of_split in names.items()}
    return ClassColumn(codes=codes, names=tuple(distinct.tolist()))


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
        and (label is None or label.crosses(read_class_column(data, name, role="context")))
    ]


def _can_be_class(data: _Parts, name: str) -> bool:
    part = next(iter(data.values()))
    feature = part.features[name]
    if getattr(feature, "dtype", None) not in _TEXTS and not isinstance(feature, datasets.ClassLabel):
        return False
    few = part.select(range(min(len(part), _FIRST_ROWS)))  # so that long columns of captions are not read whole
    if len(pc.unique(get_column_array(few, name))) > _MOST_VALUES:
        return False
    values = pa.chunked_array([get_column_array(part, name) for part in data.values()])
    if values.null_count or not len(values):
        return False
    counted = values.value_counts()
    counts, distinct = counted.field("counts").to_numpy(), counted.field("values").to_pylist()
    if any(not str(value).strip() or value == -1 or len(str(value)) > LONGEST_NAME for value in distinct):
        return False
    is_few = 2 <= len(counts) <= min(_MOST_VALUES, len(values) // 2)
    return is_few and bool(counts.max() <= _MOST_OF_ONE * len(values))


def name_candidates(parts: Mapping[str, Any]) -> str:
    """The sentence of an error that lists the columns among which nothing was guessed; "" if there are none.

    Args:
        parts: The splits in our row form, as `oochub.load` gives them, without a context.
    """
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
        return f" It may be {' or '.join(names)}: pass it with {context}."
    options = f"{choose_wording('label=', '--label-column')} and {context}"
    return f" Columns that may hold the label or the context: {listed}. Pass them with {options}."


def find_look_alikes(names: Sequence[str]) -> list[list[str]]:
    """The names that differ by case, spaces or the form of Unicode alone, together.

    >>> find_look_alikes(["Snow", "grass", "snow", "snow ", "sand  dune", "sand dune"])
    [['Snow', 'snow', 'snow '], ['sand  dune', 'sand dune']]
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        alike.setdefault(" ".join(folded.split()), []).append(name)
    return [spellings for spellings in alike.values() if len(spellings) > 1]


def _merge_look_alikes(column: ClassColumn, role: str) -> tuple[ClassColumn, list[str]]:
    """A column in which names that look alike are one, the one that most rows have, and a note of that.

    >>> column = ClassColumn(codes={"train": np.array([0, 1, 1, 2, -1])}, names=("Snow", "snow", "wet"))
    >>> merged, notes = _merge_look_alikes(column, "context")
    >>> merged.names, merged.codes["train"].tolist(), notes
    (('snow', 'wet'), [0, 0, 0, 1, -1], ["names of the context that look alike are one: 'Snow' and 'snow' as 'snow'"])
    """
    alike = find_look_alikes(column.names)
    if not alike or column.numbers is not None:
        return column, []
    every = np.concatenate(list(column.codes.values()))
    counts = np.bincount(every[every >= 0], minlength=len(column.names))
    chosen = {name: name for name in column.names}
    for names in alike:
        best = max(names, key=lambda name: (counts[column.names.index(name)], name == name.strip(), name.islower()))
        chosen |= dict.fromkeys(names, " ".join(unicodedata.normalize("NFC", best).split()))
    merged = tuple(dict.fromkeys(chosen.values()))
    place = np.array([merged.index(chosen[name]) for name in column.names], np.int64)
    codes = {split: np.where(own < 0, own, place[own]) for split, own in column.codes.items()}
    into = [chosen[names[0]] for names in alike]
    return (
        replace(column, codes=codes, names=merged),
        [f"names of the {role} that look alike are one: {_list(alike, into)}"],
    )


def _list(alike: Sequence[Sequence[str]], into: Sequence[str] = ()) -> str:
    pairs = [" and ".join(ascii(name) for name in names[:_SHOWN]) for names in alike]
    pairs = [f"{pair} as {name!a}" for pair, name in zip(pairs, into, strict=True)] if into else pairs
    return "; ".join(pairs[:_SHOWN]) + ("; ..." if len(pairs) > _SHOWN else "")


class MadeColumn(NamedTuple):
    """A column of our row form: how `datasets` calls it, and its values by split."""

    feature: Any
    values: Mapping[str, Any]


class UserColumns:
    """What the columns of a user's data hold, read once: which is the label, the context, the group, and their classes.

    Args:
        data: The splits, their images in the column `image`, records flattened.
        features: The columns that all splits have.
        settings: Which columns are what.
        guess: Which of "label" and "context" to take, if nothing says it, from the only column that can hold it.
        is_own: Whether the rows are a user's own, not a benchmark's.

    Attributes:
        data: The splits; a column `answer` that is not the truth of questions is called `own_answer`.
        label: The class of each row; None if there are no classes.
        context: The context of each row, if a column holds it.
        cluster: What rows share, if a column is named.
        asks: Whether each row asks a question of its own.
        challenge: The challenges that the data have already.
        made: Columns of our row form that were read: label, options, context, group.
        used: Columns that they stand in place of.
        is_grouped: Whether a column says the group of each row, or is named so.
        notes: Names that look alike.
        guessed: Role to column, where it was guessed.

    Raises:
        OochubError: A column that holds what it cannot, or a value that is missing.
    """

    def __init__(
        self,
        data: datasets.DatasetDict,
        features: Mapping[str, Any],
        settings: DataSettings,
        *,
        guess: Collection[str],
        is_own: bool,
    ) -> None:
        self.data, self._features, self._settings, self._is_own = data, features, settings, is_own
        self._may_guess = guess if is_own else ()
        is_shard = "cls" in features and "__key__" in features
        self._label_name = settings.label or ("label" if "label" in features else "cls" if is_shard else None)
        has_context = "context" in features and is_class_like(features["context"])
        self._context_name = settings.context or ("context" if has_context else None)
        self._group_name = settings.group or ("group" if "group" in features else None)
        self.is_grouped = self._group_name is not None
        self.made: dict[str, MadeColumn] = {}
        self.notes: list[str] = []
        self.guessed: dict[str, str] = {}
        self.asks = is_own and self._read_questions()
        self.label = None if self.asks else self._read_label()
        self.context = self._read_context()
        self._read_group()
        self.challenge = self._read_challenges() if "challenge" in features else None
        self.cluster = self._read_shared("cluster")
        self._read_shared("pair")

    @property
    def used(self) -> set[str | None]:
        """Columns that those that were made stand in place of."""
        context = self._context_name if self._is_own else "context"
        used = {"challenge", self._label_name, self._group_name, context} - set(self.guessed.values())
        return used | ({"label", OPTIONS} & self.made.keys() if self.asks else set())

    def _read_label(self) -> ClassColumn | None:
        """Classes, which the folders of images may name; None for numbers, or where nothing says them."""
        label = list_class_folders(self.data) if self._label_name is None else None
        if (
            self._label_name is None
            and label is None
            and not any(catalog.get("output", name).label_column in self._features for name in catalog.names("output"))
        ):
            self._label_name = self._guess("label")
        name = self._label_name
        if name is not None:
            feature = self._features[name]
            if self._context_name is None and str(getattr(feature, "dtype", "")).startswith("float"):
                numbers = {}
                for split, part in self.data.items():
                    array = get_column_array(part, name)
                    _check_values(array, f"The label column {name!r}", split)
                    numbers[split] = array.to_numpy(zero_copy_only=False)
                self.made["label"] = MadeColumn(feature, numbers)
            elif self._settings.label or self._context_name or is_class_like(feature):
                label = read_class_column(self.data, name, role="label", named=False)
        return None if label is None else self._make("label", label)

    def _read_context(self) -> ClassColumn | None:
        has_sides = (
            self._context_name
            or self._group_name
            or any(column_name in self._features for column_name in CONTEXT_COLUMNS)
        )
        if self.label is not None and not has_sides:
            self._context_name = self._guess("context", self.label)
        name = self._context_name
        return None if name is None else self._make("context", read_class_column(self.data, name, role="context"))

    def _read_group(self) -> None:
        name = self._group_name
        if name is not None and (self._settings.group or is_class_like(self._features[name])):
            self._make("group", read_class_column(self.data, name, role="group"))

    def _read_shared(self, role: str) -> ClassColumn | None:
        """The column that tells the rows that belong together; it has no other role.

        Raises:
            OochubError: It has one, or the rows are a benchmark's.
        """
        column = getattr(self._settings, role)
        if column is None:
            return None
        named = choose_wording(f"{role}=", f"--{role}-column")
        if not self._is_own:
            raise OochubError(f"{named} is for custom data, and a benchmark declares its own {role}s. Remove it.")
        roles = [other for other, name in self._settings.named.items() if name == column and other != role]
        roles += [name for name in ("example_id", "image", "label", "context", "challenge") if name == column]
        if roles:
            what = "a patient or a video" if role == "cluster" else "a foreground that stands on two backgrounds"
            raise OochubError(
                f"{named} names the column {column!r}, which holds the {roles[0]}. Name a column of what rows share, "
                f"such as {what}."
            )
        return read_class_column(self.data, column, role=role)

    def _guess(self, role: str, label: ClassColumn | None = None) -> str | None:
        """The only column that can hold a role, which is said; None if there is not one, or it may not be guessed."""
        if role not in self._may_guess:
            return None
        taken = {*self._settings.named.values(), *filter(None, [self._label_name])}
        candidates = list_candidates(self.data, label=label, besides=taken)
        if len(candidates) != 1:
            return None
        column, option = candidates[0], choose_wording(f"{role}=", f"--{role}-column")
        choice = f"Using column {column!r} as the {role}, because it is the only candidate."
        warnings.warn(f"{choice} Pass {option} to choose another.", OochubWarning, stacklevel=7)
        self.guessed[role] = column
        return column

    def _read_questions(self) -> bool:
        """Reads the number of each row's right option, of its number, letter or text, if each row asks a question.

        A column `answer` that is not the truth becomes `own_answer`, as predictions have their own.

        Raises:
            OochubError: Options that are no list of texts, or an answer that is none of them; the row is named.
        """
        features, column = self._features, self._label_name or (ANSWER if ANSWER in self._features else None)
        listed = dict(features)
        if getattr(features.get(OPTIONS), "dtype", None) in _TEXTS:  # in a CSV, a list as text
            listed[OPTIONS] = datasets.List(datasets.Value("string"))
        if column is None or not ask_each_row(listed):
            return False
        options: dict[str, list[list[str]]] = {}
        numbers: dict[str, list[int]] = {}
        for split, part in self.data.items():
            where = f"split {split}"
            options[split] = parse_options(get_column_array(part, OPTIONS).to_pylist(), where)
            answers = get_column_array(part, column).to_pylist()
            if (names := getattr(features[column], "names", None)) is not None:
                answers = [None if answer is None or answer < 0 else names[answer] for answer in answers]
            numbers[split] = number_options(answers, options[split], where)
        self.made["label"] = MadeColumn(datasets.Value("int64"), numbers)
        if listed[OPTIONS] != features[OPTIONS]:
            self.made[OPTIONS] = MadeColumn(listed[OPTIONS], options)
        if ANSWER in features and column != ANSWER:
            self.data = self.data.rename_columns({ANSWER: f"own_{ANSWER}"})
        self._label_name = column
        return True

    def _read_challenges(self) -> MadeColumn:
        """The challenges that the data have already, as class numbers."""
        settings = self._settings
        if settings.usual or (settings.context and not self._is_own):
            what = choose_wording(*(("usual=", "--usual") if settings.usual else ("context=", "--context-column")))
            raise OochubError(f"The data already have a column challenge, by their own criterion: remove {what}.")
        column = read_class_column(self.data, "challenge", role="challenge")
        places = np.array([KINDS.index(name) if name in KINDS else -1 for name in column.names])
        for split, codes in column.codes.items():
            strange = (codes >= 0) & (places[codes] < 0)
            if strange.any():
                name = column.names[codes[np.argmax(strange)]]
                same = format_first_rows(codes == column.names.index(name))
                raise unknown_name(
                    "challenge", name, KINDS, f"{same} of split {split}. Use one spelling for these, or rename yours."
                )
        return MadeColumn(
            datasets.ClassLabel(names=list(KINDS)),
            {split: np.where(codes < 0, codes, places[codes]) for split, codes in column.codes.items()},
        )

    def _make(self, role: str, column: ClassColumn) -> ClassColumn:
        """Makes the column of a role; names that look alike are one if that was asked for, and a note says it."""
        if self._settings.merge_names:
            column, notes = _merge_look_alikes(column, role)
            self.notes += notes
        elif alike := find_look_alikes(column.names):
            option = choose_wording("merge_names=True")
            warning = f"some names of the {role} look alike and are kept apart: {_list(alike)}"
            self.notes.append(f"{warning}; {option} makes one of each")
        self.made[role] = MadeColumn(column.feature, {split: column.stored(split) for split in column.codes})
        return column
