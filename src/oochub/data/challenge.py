"""Makes a challenge set of any data set: a criterion applied to its columns says which examples are hard.

The criterion's arguments name columns in place of arrays, and are checked early.
"""

import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, get_args, get_type_hints

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from oochub import catalog
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.prediction.prediction_data import list_example_ids
from oochub.prediction.predictions import Predictions
from oochub.records.build_record import drop_build_column
from oochub.records.sides import CHALLENGES
from oochub.records.typed_values import check_parameters
from oochub.stats.array_checks import check_positives, is_binary

KINDS = CHALLENGES
"""The class names of a challenge column."""


MADE = ("challenge", "challenge_value")
"""The columns that a challenge set has more than its source."""


class Arguments(NamedTuple):
    """The arguments of a criterion, told apart.

    Attributes:
        function: The criterion.
        columns: The column that each of its array parameters is read from, or a list of columns side by side.
        values: The others, as they are.
        behind: The array parameter that holds the continuous value behind the challenge, if there is one.
    """

    function: Callable[..., Any]
    columns: dict[str, str | list[str]]
    values: dict[str, Any]
    behind: str | None


def check_arguments(criterion: str | Callable[..., Any], arguments: Mapping[str, Any]) -> Arguments:
    """Tells a criterion's columns from its other arguments, without any data.

    Raises:
        OochubError: An unknown criterion, an argument that it does not take, one that it needs and lacks.

    >>> check_arguments("threshold", {"value": "year", "at": 2013}).columns
    {'value': 'year'}
    """
    function = catalog.get("criterion", criterion) if isinstance(criterion, str) else criterion
    title, hints, parameters = function.__name__, get_type_hints(function), inspect.signature(function).parameters
    arrays = [name for name in parameters if hints.get(name) in (ArrayLike, ArrayLike | None)]
    if not arrays:
        raise OochubError(
            f"{title} has no parameter annotated numpy.typing.ArrayLike, so none can be read from a column."
        )
    content = {name: value for name, value in arguments.items() if value is not None}
    for name in content:
        if name not in parameters:
            raise unknown_name(f"parameter of {title}", name, parameters)
    check_parameters(
        function, {name: content[name] for name in content if name not in arrays}, kind=f"parameter of {title}"
    )
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in content:
            if name not in arrays:
                raise OochubError(f"{title} needs a value for {name!r}. Its parameters: {', '.join(parameters)}.")
            content[name] = name
    columns = {name: content.pop(name) for name in arrays if name in content}
    for name, column in columns.items():
        names = list_columns(column) if isinstance(column, str | list) else []
        if not names or not all(isinstance(part, str) and part for part in names):
            raise OochubError(
                f"{name} is read from a column: give the column's name, or a list of names, got {column!r}."
            )
    values = {name: list(value) if isinstance(value, Iterator) else value for name, value in content.items()}
    compared = [name for name in arrays if name not in ("present", "label")]
    has_number = any(
        float in (hint, *get_args(hint)) for name, hint in hints.items() if name not in (*arrays, "return")
    )
    return Arguments(function, columns, values, compared[0] if has_number and len(compared) == 1 else None)


def check_columns(arguments: Arguments, features: Mapping[str, Any], *, replace: bool = False, split: str = "") -> None:
    """Checks that a split has the columns that a criterion reads, and not yet those that it makes.

    Raises:
        OochubError: A missing column, with near names; one of images; one that is there already and not to be
            replaced.
    """
    where = f" in split {split}" if split else ""
    for parameter, columns in arguments.columns.items():
        for column in list_columns(columns):
            if column not in features:
                hint = f"{arguments.function.__name__} reads its {parameter} from it; name the column that holds it."
                raise unknown_name(f"column{where}", column, features, hint)
            if not isinstance(features[column], datasets.Value | datasets.ClassLabel | datasets.List):
                kind = type(features[column]).__name__
                raise OochubError(f"Column {column!r}{where} holds {kind}, from which {parameter} cannot be read.")
    there = [column for column in MADE if column in features]
    if there and not replace:
        raise OochubError(
            f"The dataset already has a column {there[0]!r}{where}. Replace it with "
            f"{choose_wording('replace=True')}, or rename it first."
        )


def list_columns(columns: str | list[str]) -> list[str]:
    """The columns of one parameter.

    >>> list_columns("year")
    ['year']
    """
    return [columns] if isinstance(columns, str) else columns


LOSSES = {"losses": datasets.List(datasets.Value("float64"))}
"""The column that `add_losses` makes."""


def add_losses(dataset: datasets.DatasetDict, ensemble: Sequence[Predictions]) -> datasets.DatasetDict:
    """The splits that models have predicted, with the loss of each model as the column `losses`.

    Args:
        dataset: Rows with an `example_id`, or numbered.
        ensemble: Predictions by k models for these rows; a split that none of them has is left out.

    Returns:
        The rows with `losses`, a list of k negative log-likelihoods of the true class in nats.

    Raises:
        OochubError: No common split, predictions without a loss for each row, a row that one of them lacks.

    >>> rows = datasets.DatasetDict(test=datasets.Dataset.from_dict({"example_id": ["a", "b"]}))
    >>> made = Predictions.from_arrays(logits=[[0.0, 0.0], [50.0, 0.0]], label=[0, 0], example_id=["b", "a"])
    >>> add_losses(rows, [made])["test"]["losses"][:]
    [[0.0], [0.6931471805599453]]
    """
    parts = {}
    for split, part in dataset.items():
        if any(split in member.metadata.rows for member in ensemble):
            losses = np.column_stack([_list_losses(member, split, list_example_ids(part)) for member in ensemble])
            parts[split] = part.add_column("losses", losses.tolist(), feature=LOSSES["losses"])
    if not parts:
        raise OochubError(
            f"The predictions are of the splits {', '.join(ensemble[0].metadata.rows)}, but the dataset has "
            f"{', '.join(dataset)}. Predict one of these."
        )
    return datasets.DatasetDict(parts)


def _list_losses(predictions: Predictions, split: str, ids: list[str]) -> NDArray[np.float64]:
    """The loss of each of these rows."""
    name = predictions.metadata.model.id or "a model"
    loss = predictions.summary.loss if predictions.output.has_confidence else None
    if loss is None:
        raise OochubError(f"The predictions by {name} have no loss: they are of the kind {predictions.metadata.kind}.")
    own = predictions.split == split
    names = predictions.rows.column("example_id").to_numpy()[own]
    places = pd.Index(names).get_indexer(pd.Index(ids))
    if (places < 0).any():
        raise OochubError(
            f"The predictions by {name} lack {(places < 0).sum():,} of the {len(ids):,} rows of {split}, first "
            f"{ids[int(np.argmax(places < 0))]}. Predict the same rows."
        )
    return np.asarray(loss[own][places], np.float64)


class ChallengeSet(NamedTuple):
    """What `challenge` made.

    Attributes:
        dataset: The data set with its new columns; a Dataset or DatasetDict, as it was given.
        counts: How many examples of each kind were found, by split: {"test": {"easy": 90, "hard_positive": 4, ...}}.
        dropped: How many of them left the training split; 0 without `restrict_train`.
    """

    dataset: Any
    counts: dict[str, dict[str, int]]
    dropped: int


def challenge(
    dataset: Any,
    criterion: str | Callable[..., Any],
    *,
    restrict_train: bool = False,
    replace: bool = False,
    **arguments: Any,
) -> ChallengeSet:
    """Adds the columns `challenge` and, where there is one, `challenge_value` to every split of a data set.

    The call is the criterion's own, with the names of columns in place of arrays. A parameter that is annotated
    `ArrayLike` is such an array; a needed one that is not given is read from the column of its own name. If a criterion
    has a number to compare with (a parameter annotated `float`), `challenge_value` holds the numbers that it compares:
    its only array besides `present` and `label`, the largest of each row if it has several columns.

    A ClassLabel column reaches the criterion as its class names, except that a `label` or `present` of two classes is
    0 and 1. A `context` is compared with the `label` by name, or by number where one of them is bare numbers.
    Images are neither read nor decoded; each split is judged on its own.

    Args:
        dataset: A Dataset or DatasetDict.
        criterion: A name of `oochub list criterion`, or a function of that form.
        restrict_train: Drop what is hard from the split `train`, so that no model learns from it.
        replace: Replace the columns `challenge` and `challenge_value` of a data set that has them.
        **arguments: Arguments of the criterion. A column's name, or a list of names for an array (n, k); other values
            as the criterion takes them.

    Returns:
        The data set, the counts of each kind in each split, and how many rows `restrict_train` dropped.

    Raises:
        OochubError: An unknown criterion, argument or column; columns that are there already; a missing value; a
            context or a set of classes with names that the other column does not have; what the criterion refuses.

    Source: Madras and Zemel, NOOCH, Section 2, steps 1 to 3.

    >>> data = datasets.Dataset.from_dict({"label": [0, 0, 1], "background": [0, 1, 0]})
    >>> challenge_set = challenge(data, "mismatch", context="background")
    >>> challenge_set.dataset.features["challenge"].int2str(challenge_set.dataset["challenge"][:])
    ['easy', 'hard_negative', 'hard_positive']
    >>> challenge_set.counts
    {'train': {'easy': 1, 'hard_positive': 1, 'hard_negative': 1, 'hard': 0}}
    """
    criterion_arguments = check_arguments(criterion, arguments)
    parts = _split_parts(drop_build_column(dataset))
    for name, part in parts.items():
        check_columns(criterion_arguments, part.features, replace=replace, split=name)
    if restrict_train and "train" not in parts:
        raise OochubError(f"restrict_train drops rows of the split train, but there are only {', '.join(parts)}.")
    read = {key: _read(parts, columns) for key, columns in criterion_arguments.columns.items()}
    names = _find_class_names(parts, criterion_arguments.columns)
    arrays, values = _encode_arguments(criterion_arguments, names, read)
    behind = None if criterion_arguments.behind in names else read.get(criterion_arguments.behind or "")
    judged, counts, dropped, start = {}, {}, 0, 0
    for name, part in parts.items():
        rows = slice(start, start + len(part))
        start = rows.stop
        codes = _judge(criterion_arguments.function, {key: array[rows] for key, array in arrays.items()}, values, name)
        counts[name] = dict(zip(KINDS, np.bincount(codes, minlength=len(KINDS)).tolist(), strict=True))
        part = part.remove_columns([column for column in MADE if column in part.column_names])
        part = part.add_column("challenge", codes, feature=datasets.ClassLabel(names=list(KINDS)))
        if behind is not None and _is_number(behind):
            value = behind[rows]
            if value.ndim > 1:
                value = value.max(axis=1) if value.shape[1] else np.full(len(value), np.nan)
            value = value.astype(np.float64)
            part = part.add_column("challenge_value", value, feature=datasets.Value("float64"))
        if restrict_train and name == "train":
            easy = np.flatnonzero(codes == 0)
            if not len(easy):
                raise OochubError("Every example of train is hard, so restrict_train would leave none.")
            dropped, part = len(part) - len(easy), part.select(easy)
        judged[name] = part
    whole = datasets.DatasetDict(judged) if isinstance(dataset, datasets.DatasetDict) else next(iter(judged.values()))
    return ChallengeSet(whole, counts, dropped)


def _split_parts(dataset: Any) -> dict[str, datasets.Dataset]:
    if isinstance(dataset, datasets.Dataset):
        return {str(dataset.split or "train"): dataset}
    if isinstance(dataset, datasets.DatasetDict):
        return dict(dataset)
    raise OochubError(
        f"challenge takes a Dataset or a DatasetDict, got {type(dataset).__name__}. Load a streamed dataset without "
        "streaming=True."
    )


def _find_class_names(parts: Mapping[str, datasets.Dataset], columns: Mapping[str, Any]) -> dict[str, list[str]]:
    """The class names of the parameters that are read from a ClassLabel column."""
    names = {}
    for key, column in columns.items():
        features = [part.features[list_columns(column)[0]] for part in parts.values()]
        if any(feature != features[0] for feature in features):
            raise OochubError(f"Column {column!r} differs between splits: {features}. Cast it to one feature.")
        if isinstance(column, str) and isinstance(features[0], datasets.ClassLabel):
            names[key] = list(features[0].names)
    return names


def _read(parts: Mapping[str, datasets.Dataset], columns: str | list[str]) -> NDArray[Any]:
    """The array of one parameter over all splits: (n,), or (n, k) of lists or of several columns."""
    by_split = []
    for split, part in parts.items():
        table = part.select_columns(list_columns(columns)).with_format("arrow")[:]
        arrays = [
            _convert_column(table[column].combine_chunks(), part.features[column], f"{column!r} of {split}")
            for column in list_columns(columns)
        ]
        by_split.append(arrays[0] if isinstance(columns, str) else np.column_stack(arrays))
    if len({column.shape[1:] for column in by_split}) > 1:
        raise OochubError(
            f"Column {columns!r} holds lists of a different length in each split; all must have the same length."
        )
    return np.concatenate(by_split)


def _convert_column(column: pa.Array, feature: Any, title: str) -> NDArray[Any]:
    missing = column.null_count
    if isinstance(feature, datasets.ClassLabel):  # -1 is the Hub's "no label"
        missing += pc.sum(pc.less(column, 0)).as_py() or 0
    if missing:
        raise OochubError(
            f"Column {title} has no value in {missing} of {len(column)} rows, which are then neither easy nor hard. "
            "Drop these rows first, with dataset.filter."
        )
    if not pa.types.is_nested(column.type):
        return np.asarray(column.to_numpy(zero_copy_only=False))
    widths = pc.unique(pc.list_value_length(column)).to_pylist() or [0]
    if len(widths) > 1:
        raise OochubError(
            f"Column {title} holds lists of {min(widths)} to {max(widths)} values; all must have the same length."
        )
    return np.asarray(pc.list_flatten(column).to_numpy(zero_copy_only=False)).reshape(len(column), widths[0])


def _encode_arguments(
    arguments: Arguments, names: Mapping[str, list[str]], read: Mapping[str, NDArray[Any]]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The criterion's arguments, with names for the numbers of ClassLabel columns."""
    arrays, values = dict(read), dict(arguments.values)
    for key, classes in names.items():
        if not (key in ("label", "present") and len(classes) == 2):
            arrays[key] = np.asarray(classes)[read[key]]
    if "present" in arrays:
        arrays["present"] = check_positives("present", arrays["present"])
    if {"label", "context"} <= set(arrays):
        arrays |= _encode_alike(arguments.columns, names, read)
    allowed, value = values.get("allowed"), arrays.get("value")
    if value is not None and not _is_number(value) and isinstance(allowed, Collection):
        values["allowed"] = [allowed] if isinstance(allowed, str) else [str(name) for name in allowed]
        for name in values["allowed"]:
            levels = names.get("value", [name])
            if name not in levels:
                raise unknown_name(f"class of column {arguments.columns.get('value')!r}", name, levels)
    return arrays, values


def _encode_alike(
    columns: Mapping[str, Any], names: Mapping[str, list[str]], read: Mapping[str, NDArray[Any]]
) -> dict[str, NDArray[Any]]:
    """`label` and `context`, of a label of two classes as 0, 1 and, for any other context, -1; else as text."""
    pair = {key: read[key] for key in ("label", "context")}
    if all(map(_is_number, pair.values())) and not set(pair) <= set(names):
        binary = len(names["label"]) == 2 if "label" in names else is_binary(pair["label"])
        pair = {key: array.astype(np.float64) for key, array in pair.items()}
        return pair if binary else {key: array.astype(str) for key, array in pair.items()}
    text = {key: np.asarray(names[key])[array] if key in names else array.astype(str) for key, array in pair.items()}
    seen = {key: names.get(key) or pd.unique(array).tolist() for key, array in text.items()}
    if not set(seen["label"]) & set(seen["context"]):
        raise OochubError(
            f"The context {columns['context']!r} has none of the names of the label {columns['label']!r}: "
            f"{', '.join(seen['context'][:8])} against {', '.join(seen['label'][:8])}. Name each context after the "
            "class that it goes with."
        )
    if len(names.get("label", [])) != 2:
        return text
    return {key: pd.Index(names["label"]).get_indexer(pd.Index(array)) for key, array in text.items()}


def _is_number(array: NDArray[Any]) -> bool:
    return array.dtype.kind in "buif"


def _judge(
    function: Callable[..., Any], arrays: Mapping[str, NDArray[Any]], values: Mapping[str, Any], split: str
) -> NDArray[np.intp]:
    """The challenge of each row of a split, as numbers of KINDS."""
    try:
        kinds = np.asarray(function(**arrays, **values))
    except OochubError as error:
        raise OochubError(f"Split {split}: {error}") from None
    n = len(next(iter(arrays.values())))
    codes = pd.Index(KINDS).get_indexer(pd.Index(kinds.ravel()))
    if kinds.shape != (n,) or (codes < 0).any():
        raise OochubError(
            f"{function.__name__} must return {n} of {', '.join(KINDS)}, got {kinds.shape}: {kinds.ravel()[:3]} ..."
        )
    return np.asarray(codes)
