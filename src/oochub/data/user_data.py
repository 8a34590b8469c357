"""A user's own data in the form of a benchmark: from label and context follow groups, usual contexts and challenges.

Whether each row's context is usual for its class is counted or given, then judged by the criterion `mismatch`. The
usual contexts of a class are those that are clearly more frequent with it than without it, the unusual ones those that
are clearly less frequent; rows in any other context are of no side.

Own data whose rows ask a question of their own: which option is right, as a number, whatever the table calls it.

Names of one column that look alike: "snow", "Snow", "snow ", and letters that Unicode writes in two ways.
"""

import unicodedata
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np

from oochub import catalog
from oochub.data.challenge import KINDS
from oochub.data.folder_splits import WORDS
from oochub.data.user_columns import (
    ClassColumn,
    find_example_ids,
    find_images,
    format_first_rows,
    get_column_array,
    is_class_like,
    list_candidates,
    list_class_folders,
    make_columns,
    name_candidates,
    note_guess,
    read_class_column,
    read_number_column,
    say_guess,
)
from oochub.data.usual_contexts import judge_contexts
from oochub.errors import OochubError, OochubWarning, choose_wording, unknown_name
from oochub.records.build_record import OWN, BuildFacts, BuildRecord
from oochub.records.question_options import ANSWER, OPTIONS, ask_each_row, number_options, parse_options
from oochub.records.sides import CHALLENGES
from oochub.settings.data_settings import DataSettings

_TEXTS = ("string", "large_string")


_FORM = ("example_id", "image", "label", "context", "group", "challenge")
_PLACES = ("__key__", "__url__")  # of a WebDataset: the first becomes the ids, the second is a path of this machine


_ANY = ("context", "contexts", "group", "groups", "challenge")


_SHOWN = 4


class QuestionRows(NamedTuple):
    """Rows with options of their own.

    Attributes:
        data: The splits; a column `answer` that is not the truth is called `own_answer`, as predictions have their own.
        column: The column that says the right option.
        made: `label`, and `options` where they stood as text: how `datasets` calls the column, and its values by split.
    """

    data: datasets.DatasetDict
    column: str
    made: Mapping[str, tuple[object, Mapping[str, Sequence[object]]]]


def _read_questions(
    data: datasets.DatasetDict, features: Mapping[str, object], label: str | None
) -> QuestionRows | None:
    """The number of each row's right option, of its number, letter or text.

    Args:
        data: The splits.
        features: The columns that all splits have.
        label: The column of the truth; None takes `answer`.

    Returns:
        None for data without the columns `question`, `options` and an answer.

    Raises:
        OochubError: Options that are no list of texts, or an answer that is none of them; the row is named.

    >>> rows = {"question": ["Day?"], "options": [["yes", "no"]], "answer": ["B"]}
    >>> part = datasets.Dataset.from_dict(rows)
    >>> _read_questions(datasets.DatasetDict(test=part), part.features, None).made["label"][1]["test"]
    [1]
    """
    column = label or (ANSWER if ANSWER in features else None)
    listed = dict(features)
    if getattr(features.get(OPTIONS), "dtype", None) in _TEXTS:  # in a CSV, a list as text
        listed[OPTIONS] = datasets.List(datasets.Value("string"))
    if column is None or not ask_each_row(listed):
        return None
    options: dict[str, list[list[str]]] = {}
    numbers: dict[str, list[int]] = {}
    for split, part in data.items():
        where = f"split {split}"
        options[split] = parse_options(get_column_array(part, OPTIONS).to_pylist(), where)
        answers = get_column_array(part, column).to_pylist()
        if (names := getattr(features[column], "names", None)) is not None:
            answers = [None if answer is None or answer < 0 else names[answer] for answer in answers]
        numbers[split] = number_options(answers, options[split], where)
    made: dict[str, tuple[object, Mapping[str, Sequence[object]]]] = {"label": (datasets.Value("int64"), numbers)}
    if listed[OPTIONS] != features[OPTIONS]:
        made[OPTIONS] = (listed[OPTIONS], options)
    renamed = {ANSWER: f"own_{ANSWER}"} if ANSWER in features and column != ANSWER else {}
    return QuestionRows(data.rename_columns(renamed), column, made)


class _Made(NamedTuple):
    """A column that was made: how `datasets` calls it, and its values by split."""

    feature: Any
    values: Mapping[str, Any]


def make_user_data(
    data: datasets.DatasetDict,
    columns: DataSettings,
    *,
    name: str,
    folder: Path | None = None,
    guess: Collection[str] = (),
) -> datasets.DatasetDict:
    """The data with the columns of our row form first, and a build record.

    Rows that ask a question of their own (text `question`, lists of texts `options`) get `label`, the number of the
    right option, of the column `label` or `answer`, which holds its number, letter or text. Their groups are the
    contexts alone, and no context is usual.

    A benchmark's rows (its record says so) keep their columns and their record, and get the columns `context` and
    `challenge`.

    Args:
        data: The splits, as `open_source` gives them.
        columns: Which columns are what.
        name: The config of the record of the benchmark "custom": a folder's or repository's name.
        guess: Which of "label" and "context" to take, if nothing says it, from the only column that can hold it. The
            column itself stays; a warning and a note of the record say which it was.
        folder: What paths of images are relative to; None where the data are not from this disk.

    Returns:
        `example_id`, `image`, `label`, `context`, `group`, `challenge`, as far as they follow, then all others. A
        column that has one of these names and another meaning gets the prefix `own_`.

    Raises:
        OochubError: A column that is not there or holds what it cannot, a value that is missing, doubled ids, classes
            or contexts that are not there.

    >>> rows = {"animal": ["cow"] * 9 + ["camel"] * 9, "ground": ["grass"] * 8 + ["sand"] * 10}
    >>> data = datasets.DatasetDict(train=datasets.Dataset.from_dict(rows))
    >>> own = make_user_data(data, DataSettings(label="animal", context="ground"), name="desert")["train"]
    >>> own.column_names, own.features["group"].names
    (['example_id', 'label', 'context', 'group', 'challenge'], ['camel/sand', 'cow/grass', 'cow/sand'])
    >>> own.features["challenge"].int2str(own["challenge"][7:10])
    ['easy', 'hard_positive', 'easy']
    """
    before = BuildRecord.of(next(iter(data.values())).info)
    is_own = before is None or before.benchmark == OWN
    data = find_images(data, columns.image, folder=folder)
    data = datasets.DatasetDict({split: _flatten_split(part) for split, part in data.items()})
    if columns.label is None and _holds_split_names(data):
        data = data.remove_columns("label")
    features = _list_common_columns(data)
    columns.check([*features, *([columns.image] if columns.image else [])])
    label_name, context_name = _find_label_column(features, columns), _find_context_column(features, columns)
    group_name = columns.group or ("group" if "group" in features else None)
    made = {"example_id": _Made(datasets.Value("string"), find_example_ids(data))}
    asked = _read_questions(data, features, label_name) if is_own else None
    if asked is not None:
        data, label_name = asked.data, asked.column
        made |= {name: _Made(feature, values) for name, (feature, values) in asked.made.items()}
    folders = list_class_folders(data) if label_name is None else None
    guessed: dict[str, str] = {}
    if "label" in guess and is_own and label_name is None and folders is None and not _has_truth(features):
        guessed |= _guess("label", list_candidates(data, besides=columns.named.values()))
        label_name = guessed.get("label")
    label = context = None
    if asked is not None:
        label = None  # the number of an option is no class: it means another thing in each row
    elif label_name is None:
        label = folders
    elif context_name is None and str(getattr(features[label_name], "dtype", "")).startswith("float"):
        made["label"] = _Made(features[label_name], read_number_column(data, label_name, role="label"))
    elif columns.label or context_name or is_class_like(features[label_name]):
        label = read_class_column(data, label_name, role="label", named=False)
    said: list[str] = []
    if label is not None:
        label = _settle_names(label, "label", columns, said)
        made["label"] = _Made(label.feature, {split: label.stored(split) for split in data})
    has_sides = context_name or group_name or any(each in features for each in _ANY)
    if "context" in guess and is_own and label is not None and not has_sides:
        taken = {str(label_name), *columns.named.values()}
        guessed |= _guess("context", list_candidates(data, label=label, besides=taken))
        context_name = guessed.get("context")
    if context_name is not None:
        context = _settle_names(read_class_column(data, context_name, role="context"), "context", columns, said)
        made["context"] = _Made(context.feature, context.codes)
    if group_name is not None and (columns.group or is_class_like(features[group_name])):
        group = _settle_names(read_class_column(data, group_name, role="group"), "group", columns, said)
        made["group"] = _Made(group.feature, group.codes)
    elif group_name is None and label is not None and context is not None:
        made["group"] = _name_groups(label, context)
    elif group_name is None and asked is not None and context is not None:
        made["group"] = made["context"]
    notes, facts = (before.notes, before.facts) if before else ((), BuildFacts())
    if "challenge" in features:
        made["challenge"] = _read_challenges(data, columns, is_own=is_own)
    elif label is not None and context is not None:
        _check_inside(context, "context")
        said += _note_no_class(label)
        shared = None if columns.cluster is None else read_class_column(data, columns.cluster, role="cluster").codes
        judged = judge_contexts(label, context, given=columns.usual, cluster=shared)
        made["challenge"] = _Made(datasets.ClassLabel(names=list(KINDS)), judged.challenge)
        notes, facts = (*notes, *judged.notes), replace(facts, usual_contexts=judged.usual)
    elif columns.usual:
        raise _refuse_usual(has_options=asked is not None)
    notes = (*notes, *said, *(note_guess(role, column) for role, column in guessed.items()))
    used = {"challenge", label_name, group_name, context_name if is_own else "context"} - set(guessed.values())
    used |= set(asked.made) if asked is not None else set()
    description = _describe_rows(data, columns, before, facts, notes, name)
    return datasets.DatasetDict(
        {split: _join_split(part, made, split, used, description) for split, part in data.items()}
    )


def _refuse_usual(*, has_options: bool) -> OochubError:
    """What is wrong where usual contexts are given without classes, or without contexts."""
    usual = choose_wording("usual=", "--usual")
    if not has_options:
        return OochubError(f"{usual} needs a label and a context. Name their columns.")
    return OochubError(
        f"{usual} needs classes, but each row has options of its own. Name the contexts, which are then compared, with "
        f"{choose_wording('context=', '--context-column')}."
    )


def _describe_rows(
    data: datasets.DatasetDict,
    columns: DataSettings,
    before: BuildRecord | None,
    facts: BuildFacts,
    notes: tuple[str, ...],
    name: str,
) -> str:
    """The build record of the rows, with what they share, as the description of a data set holds it."""
    info = next(iter(data.values())).info
    record = before or BuildRecord(benchmark=OWN, config=name, version=str(info.version or "0.0.0"))
    is_own = record.benchmark == OWN
    if is_own:
        facts = replace(facts, rows=dict(data.num_rows))
    if columns.cluster is not None:
        _check_shared(data, columns, "cluster", columns.cluster, is_own=is_own)
        facts = replace(facts, cluster=columns.cluster)
    if columns.pair is not None:
        _check_shared(data, columns, "pair", columns.pair, is_own=is_own)
        facts = replace(facts, pair=columns.pair, cluster=columns.cluster or columns.pair)
    return replace(record, notes=notes, facts=facts).describe(_write_summary(info.description, name))


def _settle_names(column: ClassColumn, role: str, columns: DataSettings, said: list[str]) -> ClassColumn:
    """The column with names that look alike merged, if that was asked for; a note of what was done, or might be."""
    if not columns.merge_names:
        said += _note_look_alikes(column, role)
        return column
    column, notes = _merge_look_alikes(column, role)
    said += notes
    return column


def _note_no_class(label: ClassColumn) -> list[str]:
    """How many rows have the label -1, as test sets do whose labels are kept back."""
    counts = {split: int((codes < 0).sum()) for split, codes in label.codes.items() if (codes < 0).any()}
    rows = ", ".join(f"{count:,} of {split}" for split, count in counts.items())
    return [f"the label is -1, no class, in {rows}: these rows have no group and no challenge"] if counts else []


def _has_truth(features: Mapping[str, Any]) -> bool:
    """Whether the data have the truth of another kind of output, such as boxes."""
    return any(catalog.get("output", name).label_column in features for name in catalog.names("output"))


def _guess(role: str, candidates: Sequence[str]) -> dict[str, str]:
    """The one candidate for a role, which is said; nothing of none or several."""
    if len(candidates) != 1:
        return {}
    warnings.warn(say_guess(role, candidates[0]), OochubWarning, stacklevel=5)
    return {role: candidates[0]}


def check_context(dataset: Any) -> None:
    """Checks that own data have a column of contexts, groups or challenges; a benchmark always passes.

    Args:
        dataset: A Dataset or DatasetDict, as `oochub.load` gives it.

    Raises:
        OochubError: They have none; it says how to add one. A column challenge with another word than these.

    >>> import datasets
    >>> check_context(datasets.Dataset.from_dict({"label": [0, 1], "context": ["grass", "sand"]}))
    """
    for each in dataset.values() if isinstance(dataset, Mapping) else (dataset,):
        _check_challenge(each)
    part = next(iter(dataset.values())) if isinstance(dataset, Mapping) else dataset
    columns = list(part.column_names or ())
    record = BuildRecord.of(part.info)
    known = (record.benchmark if record else part.info.dataset_name) in catalog.names("benchmark")
    if known or any(column in _ANY for column in columns):
        return
    name = choose_wording("context='NAME'", "--context-column NAME")
    found = choose_wording(
        "oochub.contexts(data, by='properties')", "oochub contexts SOURCE --contexts properties --out DIR"
    )
    raise OochubError(
        "The data do not say what surrounds each thing: there is no column context, group or challenge, only "
        f"{', '.join(columns)}.{name_candidates(dataset)} If one of these holds it, name it with {name}. Otherwise "
        "add a column `context`; for a folder of images, in its metadata.csv:\n  file_name,label,context\n  "
        "1.jpg,dog,grass\n  2.jpg,dog,beach\nWhat is usual for a class is then counted, and images in another "
        f"context are the hard ones. Or have contexts found: {found}."
    )


def _check_challenge(part: Any) -> None:
    """That a column of challenges of a loaded data set holds the words that an evaluation reads."""
    feature = (part.features or {}).get("challenge")
    if feature is None or not hasattr(part, "unique"):
        return
    names = getattr(feature, "names", None)
    words = part.unique("challenge") if names is None else names
    for word in words:
        if word not in (None, "", *CHALLENGES):
            raise unknown_name("challenge", word, CHALLENGES, "The column challenge says it of each row.")


def _flatten_split(part: datasets.Dataset) -> datasets.Dataset:
    """The split with a column for each field of a column of records: `json.context`."""
    return part.flatten() if any(isinstance(feature, dict) for feature in part.features.values()) else part


def _list_common_columns(data: datasets.DatasetDict) -> dict[str, Any]:
    """The columns that all splits have."""
    first, *others = data.values()
    return {name: feature for name, feature in first.features.items() if all(name in part.features for part in others)}


def _find_label_column(features: Mapping[str, Any], columns: DataSettings) -> str | None:
    if columns.label is not None or "label" in features:
        return columns.label or "label"
    return "cls" if "cls" in features and "__key__" in features else None


def _holds_split_names(data: datasets.DatasetDict) -> bool:
    """Whether `datasets` took the folders train and test for classes, as it does where there are no others."""
    kinds = [part.features.get("label") for part in data.values()]
    are_classes = all(isinstance(kind, datasets.ClassLabel) for kind in kinds)
    if len(data) < 2 or not are_classes or any(part.info.builder_name != "imagefolder" for part in data.values()):
        return False
    return all(name.casefold() in WORDS for name in kinds[0].names) and all(
        len(set(part["label"][:])) == 1 for part in data.values()
    )


def _find_context_column(features: Mapping[str, Any], columns: DataSettings) -> str | None:
    if columns.context is not None:
        return columns.context
    return "context" if "context" in features and is_class_like(features["context"]) else None


def _check_inside(column: ClassColumn, role: str) -> None:
    for split, codes in column.codes.items():
        if (codes < 0).any():
            raise OochubError(
                f"The {role} is -1, outside its classes, in {int((codes < 0).sum()):,} of {len(codes):,} rows of "
                f"split {split}, first row {int(np.argmax(codes < 0))}: such a row is neither easy nor hard. Leave "
                "these rows out."
            )


def _check_shared(data: datasets.DatasetDict, columns: DataSettings, role: str, column: str, *, is_own: bool) -> None:
    """Checks that the column of clusters or pairs can tell which rows belong together, and has no other role."""
    named = choose_wording(f"{role}=", f"--{role}-column")
    if not is_own:
        raise OochubError(f"{named} is for own data, and a benchmark declares its own {role}s. Leave it out.")
    roles = [other for other, name in columns.named.items() if name == column and other != role]
    roles += [name for name in ("example_id", "image", "label", "context", "challenge") if name == column]
    if roles:
        what = "a patient or a video" if role == "cluster" else "a foreground that stands on two backgrounds"
        raise OochubError(
            f"{named} names the column {column!r}, which holds the {roles[0]}. Name a column of what rows share, such "
            f"as {what}."
        )
    read_class_column(data, column, role=role)


def _read_challenges(data: datasets.DatasetDict, columns: DataSettings, *, is_own: bool) -> _Made:
    """The challenges that the data have already, as class numbers."""
    if columns.usual or (columns.context and not is_own):
        what = choose_wording("usual=", "--usual") if columns.usual else choose_wording("context=", "--context-column")
        raise OochubError(f"The data already have a column challenge, by their own criterion: leave out {what}.")
    column = read_class_column(data, "challenge", role="challenge")
    places = np.array([KINDS.index(name) if name in KINDS else -1 for name in column.names])
    for split, codes in column.codes.items():
        strange = (codes >= 0) & (places[codes] < 0)
        if strange.any():
            name = column.names[codes[np.argmax(strange)]]
            same = format_first_rows(codes == column.names.index(name))
            raise unknown_name(
                "challenge", name, KINDS, f"{same} of split {split}. Use one spelling for these, or rename yours."
            )
    return _Made(
        datasets.ClassLabel(names=list(KINDS)),
        {split: np.where(codes < 0, codes, places[codes]) for split, codes in column.codes.items()},
    )


def _name_groups(label: ClassColumn, context: ClassColumn) -> _Made:
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
    places = {split: np.where(each < 0, -1, np.searchsorted(occurring, each)) for split, each in pairs.items()}
    return _Made(datasets.ClassLabel(names=names), places)


def _write_summary(description: str | None, name: str) -> str:
    """The first line of the earlier description, else a sentence; the record and its notes are written anew."""
    return (description or "").partition("\n")[0].strip() or f"{name}, own data."


def _join_split(
    part: datasets.Dataset, made: Mapping[str, _Made], split: str, used: set[str | None], description: str
) -> datasets.Dataset:
    """The split with the columns that were made in place of those that they were made of."""
    taken = {name: f"own_{name}" for name in made if name in part.column_names and name not in used}
    taken.pop("example_id", None)
    gone = {*used, *_PLACES, "example_id"}
    rest = part.remove_columns(
        [name for name in part.column_names if name in gone]
    )  # their order is in its fingerprint
    rest = rest.rename_columns(taken)
    values = {name: each.values[split] for name, each in made.items()}
    own = make_columns(values, {name: each.feature for name, each in made.items()})
    info = rest.info.copy()
    info.features = None
    joined = datasets.concatenate_datasets([rest, own], info=info, split=part.split, axis=1)
    first = [name for name in _FORM if name in joined.column_names]
    joined = joined.select_columns([*first, *(name for name in joined.column_names if name not in first)])
    joined.info.description = description
    return joined


def find_look_alikes(names: Sequence[str]) -> list[list[str]]:
    """The names that differ by case, spaces or the form of Unicode alone, together.

    >>> find_look_alikes(["Snow", "grass", "snow", "snow ", "sand  dune", "sand dune"])
    [['Snow', 'snow', 'snow '], ['sand  dune', 'sand dune']]
    """
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(_compare(name), []).append(name)
    return [each for each in alike.values() if len(each) > 1]


def _compare(name: str) -> str:
    folded = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
    return " ".join(folded.split())


def _note_look_alikes(column: ClassColumn, role: str) -> list[str]:
    """What a reader must know of names that look alike and are kept apart."""
    alike = find_look_alikes(column.names)
    if not alike:
        return []
    option = choose_wording("merge_names=True", "--merge-names")
    return [f"some names of the {role} look alike and are kept apart: {_list(alike)}; {option} makes one of each"]


def _merge_look_alikes(column: ClassColumn, role: str) -> tuple[ClassColumn, list[str]]:
    """A column in which names that look alike are one, the one that most rows have, and a note of that.

    Args:
        column: A column.
        role: What it is: "context".

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
    said = [" and ".join(ascii(name) for name in names[:_SHOWN]) for names in alike]
    said = [f"{each} as {name!a}" for each, name in zip(said, into, strict=True)] if into else said
    return "; ".join(said[:_SHOWN]) + ("; ..." if len(said) > _SHOWN else "")
