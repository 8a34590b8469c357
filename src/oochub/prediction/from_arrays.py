"""Rows of predictions of what a user has: arrays, or a data frame; both by one coercion, `coerce_array`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import find_output_of_columns, get_output
from oochub.records.metadata import VECTORS, Metadata, PredictedBy, count_rows
from oochub.records.output_columns import coerce_array, coerce_column, coerce_text_column, number_classes, vectors
from oochub.stats.logits import LIKE_PROBABILITIES, are_probabilities

_ROW = ("example_id", "split")
_OFF = 1e-3  # of the sum of probabilities
_SMALLEST = float(np.finfo(np.float64).eps)


def convert_arrays(
    given: Mapping[str, Any],
    *,
    class_names: Sequence[str] | None,
    example_id: Any,
    split: Any,
    benchmark: str | None,
    config: str | None,
    model: str | None,
    kind: str | None,
    probabilities: bool = False,
) -> tuple[pa.Table, Metadata]:
    """The table and the metadata of predictions; `Predictions.from_arrays` says what is taken.

    Raises:
        OochubError: Arrays of different lengths, or none; what `coerce_array` refuses; a label of text that is no
            class; names that are no list of text.
    """
    _check_texts(benchmark=benchmark, config=config, model=model, **{f"column {name!r}": name for name in given})
    given = {name: values for name, values in given.items() if values is not None}
    given = {name: list(values) if isinstance(values, Iterator) else values for name, values in given.items()}
    names = None if class_names is None else _check_names(class_names)
    if probabilities:
        of_one = (kind or find_output_of_columns(list(given))) != "labels"
        given["logits"] = _read_probabilities(given.get("logits"), of_one=of_one)
    arrays = {name: coerce_column(name, values) for name, values in given.items()}
    n = len(next(iter(arrays.values()))) if arrays else 0
    ids = coerce_text_column("example_id", range(n) if example_id is None else example_id)
    rows = {"example_id": ids, "split": coerce_text_column("split", [split] * n if isinstance(split, str) else split)}
    rows |= arrays
    lengths = {name: len(values) for name, values in rows.items()}
    if not arrays or len(set(lengths.values())) != 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items()) if arrays else "no array"
        turned = _advise_transpose(arrays)
        raise OochubError(f"Arrays of predictions have one length, one row per example; got {shown}.{turned}")
    output = get_output(kind or find_output_of_columns(list(given)))
    if names is None:
        names = output.names_of_rows(pa.table(rows))
    label = rows.get("label")
    if label is not None and pa.types.is_dictionary(label.type):
        label = rows["label"] = label.dictionary_decode() if isinstance(label, pa.Array) else label.cast(pa.string())
    if names is not None and label is not None and _is_text(label.type):
        rows["label"] = _number_classes(label, names)
    rows |= {name: output.number_answers(rows[name], names) for name in output.columns if name in rows}
    if "labels" in arrays and "logits" in arrays:
        _check_doubtful(arrays["labels"])
    table = pa.table(rows)
    metadata = Metadata(
        kind=output.name,
        benchmark=benchmark,
        config=config or "default",
        notes=(
            *_note_rounding(given.get("logits"), arrays.get("logits")),
            *(_note_probabilities(arrays.get("logits")) if output.name == "classes" and not probabilities else ()),
        ),
        model=PredictedBy(id=model),
        class_names=tuple(output.numbered_names(table) if names is None else names),
        rows=count_rows(table.column("split")),
    )
    return table, metadata


def convert_frame(
    frame: Any, *, logits: str | Sequence[str], class_names: Sequence[str] | None, **named: Any
) -> tuple[pa.Table, Metadata]:
    """The table and the metadata of predictions; `Predictions.from_pandas` says what is taken.

    Raises:
        OochubError: No frame, a column twice or missing, class names in another order than the columns of logits, and
            as `convert_arrays`.
    """
    columns = _read_columns(frame)
    names: Any
    several = [logits] if isinstance(logits, str) else _check_names(logits, name="logits")
    is_several = not isinstance(logits, str)
    if is_several and len(set(several)) < len(several):
        twice = next(name for name in several if several.count(name) > 1)
        raise OochubError(f"logits= names the column {twice!r} twice. Choose one column for each class.")
    if "logits" in columns and "logits" not in several:
        found = "named by logits=[...]" if is_several else f"{logits}, which logits= names"
        raise OochubError(f"The frame has a column logits beside those {found}. Rename or drop one.")
    missing = [name for name in several if name not in columns]
    if missing and (is_several or logits != "logits"):
        raise OochubError(f"The frame has no column {', '.join(missing)}, only {', '.join(columns)}.")
    taken = [columns.pop(name) for name in several if name in columns]
    if is_several:
        names = several if class_names is None else _check_names(class_names)
        _check_order(several, names)
        columns["logits"] = np.stack(
            [_read_numbers(name, column) for name, column in zip(several, taken, strict=True)], axis=1
        )
    else:
        names = class_names
        columns |= {"logits": taken[0]} if taken else {}
    ids, split = columns.pop("example_id", None), columns.pop("split", "test")
    return convert_arrays(columns, example_id=ids, split=split, class_names=names, **named)


def _read_columns(frame: Any) -> dict[str, Any]:
    """The columns of a frame by name."""
    if not isinstance(frame, pd.DataFrame):
        if not hasattr(frame, "__arrow_c_stream__") or not hasattr(frame, "columns"):
            raise OochubError(
                f"frame must be a DataFrame of pandas or polars, or a Table of Arrow, got a {type(frame).__name__}. "
                "Arrays and lists go to Predictions.from_arrays."
            )
        frame = frame if isinstance(frame, pa.Table) else pa.table(frame)
    elif frame.columns.nlevels > 1:
        raise OochubError(f"The frame's columns have {frame.columns.nlevels} levels. Give them one name each.")
    names = list(map(str, frame.column_names if isinstance(frame, pa.Table) else frame.columns))
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise OochubError(f"The frame has the column {twice[0]} twice. Rename or drop one.")
    is_arrow = isinstance(frame, pa.Table)
    return {name: frame.column(k) if is_arrow else frame.iloc[:, k] for k, name in enumerate(names)}


def _read_numbers(name: str, values: Any) -> Any:
    """A column of logits (n,); one that holds text, truths or nothing in a row is an error."""
    column = coerce_column(name, values)
    is_number = pa.types.is_floating(column.type) or pa.types.is_integer(column.type)
    if not is_number or column.null_count:
        fault = f"no value in {column.null_count:,} rows" if is_number else str(column.type)
        raise OochubError(f"The column {name!r}, which logits= names, must hold numbers, got {fault}.")
    return column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column.to_numpy()


def _check_order(columns: Sequence[str], names: Sequence[str]) -> None:
    """That class names that are those of the columns, whole or after what all have in common, stand in their order."""
    ends = zip(min(columns), max(columns), strict=False)
    start = next((place for place, (one, other) in enumerate(ends) if one != other), 0)  # what all begin with
    for meant in (list(columns), [column[start:] for column in columns]):
        moved = [name for place, name in enumerate(meant) if name in names and names.index(name) != place]
        if moved:
            raise OochubError(
                f"class_names are {', '.join(names[:6])}, and the columns of logits {', '.join(columns[:6])}: "
                f"{moved[0]} stands at another place. Give both in one order."
            )


def _check_names(names: Any, *, name: str = "class_names") -> list[str]:
    """Names in their order, as text."""
    if isinstance(names, str | bytes | AbstractSet | Mapping) or not isinstance(names, Iterable):
        why = "a set has no order" if isinstance(names, AbstractSet) else "a name for each class, in order"
        raise OochubError(f"{name} must be a list of text, got a {type(names).__name__}: {why}.")
    listed = list(names)
    for place, each in enumerate(listed):
        if not isinstance(each, str):
            raise OochubError(f"{name}[{place}] must be text, got {each!r}.")
        _check_texts(**{f"{name}[{place}]": each})
    return list(map(str, listed))


def _check_texts(**texts: Any) -> None:
    """That no text has half of a character, which no file can hold."""
    for name, text in texts.items():
        try:
            str(text).encode()
        except UnicodeEncodeError:
            raise OochubError(f"{name} has half of a character ({text!r}), which no file can hold. Fix it.") from None


def _advise_transpose(arrays: Mapping[str, pa.Array]) -> str:
    """What to do where logits are (c, n)."""
    logits, others = arrays.get("logits"), [len(array) for name, array in arrays.items() if name not in VECTORS]
    if logits is None or not len(logits) or not others:
        return ""
    row = logits[0].as_py()
    is_turned = isinstance(row, list) and len(row) == others[0] != len(logits)
    return " The logits look as if classes were rows: give logits.T." if is_turned else ""


def _number_classes(label: pa.Array, names: Sequence[str]) -> pa.Array:
    """The numbers of the classes that text means; null where there is none."""
    labels = label.drop_null()
    numbers = dict(zip(labels.to_pylist(), number_classes(labels.to_pylist(), names).tolist(), strict=True))
    return pa.array([numbers.get(value) for value in label.to_pylist()], pa.int64())


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _check_doubtful(labels: pa.Array) -> None:
    """That whole numbers are not 0 and 1 for each of two labels, which could be the numbers of those that hold too."""
    inner = getattr(labels.type, "value_type", None)
    if inner is None or not pa.types.is_integer(inner) or labels.null_count:
        return
    rows = {tuple(row) for row in labels.to_pylist()} if set(pc.list_value_length(labels).to_pylist()) == {2} else set()
    if rows and rows <= {(0, 1), (1, 0)}:
        raise OochubError(
            "Whole numbers in labels name the labels that apply, but here each row looks like 0 and 1 for each of "
            "two. Pass these as floats, or the numbers in ascending order with a shorter row."
        )


def _read_probabilities(given: object, *, of_one: bool) -> NDArray[np.float64]:
    """Logits float64 (n, c) of probabilities; those nearer to 0 or 1 than 2.2e-16 are moved there."""
    values = None if given is None else coerce_array("logits", given)
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "fiu" or not values.size:
        raise OochubError("With probabilities=True, logits= must be probabilities (n, c), a number for each class.")
    wrong = np.asarray(~((values >= 0) & (values <= 1)).all(axis=1))
    wrong |= (np.abs(values.sum(axis=1) - 1) > _OFF) if of_one else False
    if wrong.any():
        row, sums = int(np.argmax(wrong)), " and sum to 1" if of_one else ""
        raise OochubError(
            f"Probabilities lie in [0, 1]{sums}; those of {int(wrong.sum()):,} of {len(wrong):,} rows do not, first "
            f"row {row}: {', '.join(f'{number:g}' for number in values[row, :5])}. If they are logits, remove "
            "probabilities=True."
        )
    kept = np.clip(values.astype(np.float64), _SMALLEST, 1 - _SMALLEST)
    logits: NDArray[np.float64] = np.log(kept) if of_one else np.log(kept) - np.log1p(-kept)
    return logits


def _note_probabilities(logits: pa.Array | None) -> tuple[str, ...]:
    """That logits look like probabilities."""
    inner = getattr(getattr(logits, "type", None), "value_type", None)
    if logits is None or inner is None or not pa.types.is_floating(inner) or logits.null_count:
        return ()
    if len(set(pc.list_value_length(logits).to_pylist())) != 1 or not are_probabilities(
        vectors(pa.chunked_array([logits]))
    ):
        return ()
    return (f"{LIKE_PROBABILITIES}; probabilities=True reads them as probabilities",)


def _note_rounding(logits: Any, kept: pa.Array | None) -> tuple[str, ...]:
    """That the largest logit of some rows is another one in float32, which predictions hold."""
    inner = getattr(getattr(kept, "type", None), "value_type", None)
    if kept is None or not len(kept) or inner is None or not pa.types.is_floating(inner) or kept.null_count:
        return ()
    if len(set(pc.list_value_length(kept).to_pylist())) > 1:
        return ()
    given, rounded = coerce_array("logits", logits), vectors(pa.chunked_array([kept]))
    whole = given if isinstance(given, np.ndarray) else pc.list_flatten(given).to_numpy(zero_copy_only=False)
    moved = int((whole.reshape(rounded.shape).argmax(axis=1) != rounded.argmax(axis=1)).sum()) if rounded.size else 0
    return (f"the largest logit of {moved:,} rows is another one in float32, which is kept",) if moved else ()
