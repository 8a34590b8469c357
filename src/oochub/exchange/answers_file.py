"""Answers that another program wrote become predictions of a benchmark: joined by id, every row once, all checked.

A file is CSV, Parquet or NPZ, read as columns, or that of a program with a bridge (`oochub list bridge`), known by its
content; nothing is unpickled.
"""

import hashlib
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.lib.npyio import NpzFile
from numpy.typing import NDArray
from pyarrow import csv, json

from oochub import catalog
from oochub.errors import OochubError, choose_wording, first_line
from oochub.exchange.bridge import Bridge, BridgedAnswers, digest_files, find_bridge, get_bridge, tally
from oochub.output import Output, find_output_of_features, get_output
from oochub.prediction.data_metadata import describe_data, read_split_rows
from oochub.prediction.prediction_data import list_example_ids
from oochub.prediction.predictions import Predictions
from oochub.prediction.stored_columns import StoredRows
from oochub.records.build_record import BuildRecord, drop_build_column
from oochub.records.given_columns import GivenColumns
from oochub.records.metadata import PredictedBy
from oochub.records.origin_records import provenance
from oochub.records.output_columns import coerce_array, coerce_column, coerce_text_column
from oochub.storage.parquet_file import read_parquet
from oochub.storage.reading import NUMPY_FAULTS, check_regular_file, parse_json, read_bytes, read_text

_TEXT = ("example_id", "split")  # 000000012345 is an id, no number
_FORMS = {".csv": "a CSV file with one table", ".jsonl": "JSON with one object a line"}
_OURS = b"oochub"
_LIGHT = 400 * 10**6  # bytes that any arrays may take
_TIMES = 40  # as many as their file has, that they may take where that is more


_SHOWN = 3
_TOLERANCE = 1e-6


@dataclass(frozen=True, kw_only=True)
class AnswersFile:
    """The columns of a file, its name and the SHA-256 of its bytes.

    Attributes:
        name: Name of the file or folder.
        sha256: See `digest_files`.
        table: Its columns.
        bridge: The program that wrote it, if it is one that is known.
        model: The model that answered, if the file says it.
        notes: What a reader of the report must know.
    """

    name: str
    sha256: str
    table: pa.Table
    bridge: Bridge | None = None
    model: str | None = None
    notes: tuple[str, ...] = ()


def read_answers(path: str | Path, *, model_name: str | None = None) -> AnswersFile:
    """Reads a file of a program that has a bridge, else by its suffix, .csv, .jsonl, .parquet or .npz.

    Args:
        path: File, or a folder of a program that writes folders.
        model_name: Name of the model whose answers are read, if the file holds those of several.

    Raises:
        OochubError: No such file, another suffix, one that is damaged or not what its suffix says, no row, a column
            twice; Parquet of `oochub predict`, which says itself what it is of.
    """
    path = Path(path).expanduser()
    bridge = find_bridge(path)
    if bridge is not None:
        read = bridge.read(path, model_name)
        sha256 = digest_files(bridge.files(path))
        return AnswersFile(
            name=path.name, sha256=sha256, table=read.table, bridge=bridge, model=read.model, notes=read.notes
        )
    readers = {".csv": _read_csv, ".jsonl": _read_lines, ".parquet": _read_parquet, ".npz": _read_npz}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        check_regular_file(path)
        others = "; ".join(filter(None, (get_bridge(name).answers for name in catalog.names("bridge"))))
        raise OochubError(
            f"Answers can be read from {', '.join(readers)}, or from {others}. {path} is none of these. Write the "
            "answers as one of them."
        )
    content = read_bytes(path)
    try:
        table = reader(path, content)
    except pa.ArrowException as error:
        form = _FORMS.get(path.suffix.lower(), "a table")
        raise OochubError(f"{path} is not {form}: {first_line(error)}. Write it again.") from error
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if twice:
        raise OochubError(f"{path} has the column {twice[0]!r} twice. Rename or drop one.")
    if not table.num_rows:
        raise OochubError(f"{path} contains no rows. It needs one for each example.")
    return AnswersFile(name=path.name, sha256=hashlib.sha256(content).hexdigest(), table=table)


def _read_csv(path: Path, content: bytes) -> pa.Table:
    header = read_text(path).partition("\n")[0]  # it says in which line it is not UTF-8
    options = csv.ConvertOptions(column_types={name: pa.string() for name in _TEXT})
    parts = csv.ParseOptions(delimiter=next((mark for mark in ",;\t" if mark in header), ","))
    return csv.read_csv(pa.BufferReader(content), parse_options=parts, convert_options=options)


def _read_lines(path: Path, content: bytes) -> pa.Table:
    first = parse_json(content.partition(b"\n")[0], name=str(path))
    fields = first.items() if isinstance(first, dict) else ()
    texts = [(name, pa.string()) for name, value in fields if isinstance(value, str)]  # 2026-11-29 is no time
    return json.read_json(pa.BufferReader(content), None, json.ParseOptions(pa.schema(texts)))


def _read_parquet(path: Path, content: bytes) -> pa.Table:
    table = read_parquet(path).table
    if _OURS in (table.schema.metadata or {}):
        raise OochubError(
            f"{path} was written by oochub and already records its dataset. Evaluate it without a benchmark."
        )
    return table


def _read_npz(path: Path, content: bytes) -> pa.Table:
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
            packed = arrays.zip if isinstance(arrays, NpzFile) else None
            size = sum([member.file_size for member in packed.infolist()]) if packed else 0
            if size > max(_LIGHT, _TIMES * len(content)):
                raise OochubError(
                    f"{path} is not read: its {len(content) / 1e6:.0f} MB expand to {size / 1e6:.0f} MB. Write it "
                    "again."
                )
            columns = {name: _convert_byte_order(arrays[name]) for name in arrays.files}
    except OochubError:
        raise
    except NUMPY_FAULTS as error:
        raise OochubError(
            f"{path} is not a complete NPZ file of plain arrays: {error}. Write it with numpy.savez."
        ) from error
    lengths = {name: _measure_length(path, name, array) for name, array in columns.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name}: {length}" for name, length in lengths.items())
        raise OochubError(f"The arrays of {path} have several lengths ({shown}). Give each one row per example.")
    return pa.table({name: _read_column(path, name, array) for name, array in columns.items()})


def _convert_byte_order(array: Any) -> Any:
    """An array in the order of bytes of this machine, which Arrow needs."""
    is_swapped = isinstance(array, np.ndarray) and not array.dtype.isnative
    return array.astype(array.dtype.newbyteorder("=")) if is_swapped else array


def _measure_length(path: Path, name: str, array: Any) -> int:
    if not isinstance(array, np.ndarray) or array.ndim not in (1, 2) or array.shape[1:] == (0,):
        shape = getattr(array, "shape", "no array")
        raise OochubError(f"{name} in {path} must be an array (n,) or (n, c), got {shape}. Write it in that shape.")
    return len(array)


def _read_column(path: Path, name: str, array: Any) -> pa.Array:
    try:
        plain = coerce_array(name, array.astype(str) if array.dtype.kind == "S" else array)
        if isinstance(plain, np.ndarray) and plain.ndim == 2 and plain.dtype.kind in "fiub":
            return pa.FixedSizeListArray.from_arrays(pa.array(plain.ravel()), plain.shape[1])
        return coerce_column(name, plain)
    except (OochubError, UnicodeError) as error:
        raise OochubError(f"{path}: {error}") from None


def join_answers(
    file: AnswersFile,
    data: Mapping[str, datasets.Dataset],
    *,
    model_name: str | None = None,
    probabilities: bool = False,
) -> Predictions:
    """Predictions for a benchmark, from a file of answers.

    The file has one row per example: `example_id`; the answers, in the columns that the kind of output takes
    (`oochub.get("output", "classes").taken`); if it likes, `split`, and the truth, which must agree. Without `split`
    the ids say which splits the file is of. A row of every example of these splits must be there, in any order.

    Args:
        file: File of answers, as `read_answers` gives it.
        data: The splits of the benchmark by name, as `oochub.load` gives them.
        model_name: What the report calls the model; None takes the file's stem.
        probabilities: Whether columns of logits hold probabilities.

    Returns:
        The predictions, in the order of the benchmark's rows, with its auxiliary columns and its build record.

    Raises:
        OochubError: What is wrong with the file, all of it in one message.
    """
    data = drop_build_column(data)
    some = next(iter(data.values()))
    if file.bridge is not None:
        fitted = file.bridge.fit(BridgedAnswers(file.table, file.model, file.notes), data)
        file = replace(file, table=fitted.table, model=fitted.model, notes=fitted.notes)
    kind = _find_kind(some)
    names = tuple(kind.class_names(some) or _name_numbers(some, kind))
    problems: list[str] = []
    if probabilities:
        file = _name_probabilities(file, names, problems)
    ids = _read_texts(file, "example_id", problems)
    if "example_id" not in file.table.column_names:
        problems.append(f"it has no column example_id, only {', '.join(file.table.column_names[:8])}")
    rows = [f"row {k}" for k in range(file.table.num_rows)] if ids is None else ids
    columns = GivenColumns(file.table, rows, problems)
    n_problems = len(problems)
    answers = kind.given(columns, names)
    if answers is None and len(problems) == n_problems:  # nothing that this kind takes
        kind, answers = _find_other_kind(kind, columns, names)
    if answers is None and len(problems) == n_problems:
        problems.append(f"it holds no answers: it needs {kind.taken or 'another kind of output'}")
    joined = None if ids is None else _join_data(file, data, ids, problems)
    table = None if joined is None else _read_rows(data, joined.splits, kind, names)
    if table is not None and joined is not None and columns.have(kind.label_column):
        _check_truth(kind, columns, table, joined.rows, names)
    if problems or answers is None or table is None or joined is None:
        raise _explain_unfit(file, some, problems)
    for name, values in answers.items():
        answer = values.take(pa.array(joined.rows))
        place = table.schema.get_field_index(name)
        table = table.append_column(name, answer) if place < 0 else table.set_column(place, name, answer)
    unread = [name for name in file.table.column_names if name not in {"example_id", "split", *columns.read}]
    made_of = {"file": file.name, "sha256": file.sha256, "columns": sorted(columns.read), "not_read": unread}
    metadata = describe_data(
        StoredRows.of(table),
        some.info,
        kind,
        class_names=names,
        model=PredictedBy(id=model_name or file.model or Path(file.name).stem, mode="given"),
        notes=(*file.notes, *columns.notes, *_note_order(ids, joined.rows)),
        provenance=provenance(given=made_of),
    )
    try:
        return Predictions(table, metadata)
    except OochubError as error:
        raise OochubError(f"{file.name}: {error}") from None


def _name_probabilities(file: AnswersFile, names: Sequence[str], problems: list[str]) -> AnswersFile:
    """The file with its columns of numbers under the names that columns of probabilities have."""
    own, prefix = file.table.column_names, "logit_"
    meant = {"logits": "probability"}
    meant |= {column: f"probability_{column.removeprefix(prefix)}" for column in own if column.startswith(prefix)}
    if not any(column in meant for column in own):
        meant |= {name: f"probability_{name}" for name in names}
    renamed = [meant.get(column, column) for column in own]
    if len(set(renamed)) < len(renamed):
        problems.append("it has columns of logits and of probabilities: drop one kind")
    elif not any(column.partition("_")[0] == "probability" for column in renamed):
        problems.append(
            f"it has no columns that can be probabilities: logits, logit_{names[0]}, ... or {names[0]}, ..., only "
            f"{', '.join(own[:8])}"
        )
    else:
        file = replace(file, table=file.table.rename_columns(renamed))
    return file


@dataclass(frozen=True, kw_only=True)
class _Joined:
    """The splits that a file is of, and the row (n,) of the file for each of their rows, one split after the other."""

    splits: tuple[str, ...]
    rows: NDArray[np.int64]


def _note_order(ids: Sequence[str] | None, rows: NDArray[np.int64]) -> list[str]:
    """A note if ids are plain numbers in another order than the rows, as where each side counted its own rows."""
    is_moved = not np.array_equal(rows, np.arange(len(rows)))
    if not ids or not is_moved or not all(example_id.isdecimal() for example_id in ids):
        return []
    numbers = sorted(map(int, ids))
    if numbers != list(range(numbers[0], numbers[0] + len(numbers))) or numbers[0] > 1:
        return []
    return [
        "the ids are numbers and stand in another order than the rows; the answers are joined by them, not by place"
    ]


def _find_kind(part: datasets.Dataset) -> Output:
    name = find_output_of_features(part.features)
    if name is None:
        truths = sorted({get_output(output).label_column for output in catalog.names("output")})
        name = choose_wording('loading={"label": ...}', "--label-column")
        raise OochubError(
            f"These data have no labels to compare answers with: no column {' or '.join(truths)}. Pass it with {name}."
        )
    return get_output(name)


def _find_other_kind(
    kind: Output, columns: GivenColumns, names: Sequence[str]
) -> tuple[Output, dict[str, pa.Array] | None]:
    """A kind of the same truth that says less and finds its answers; else the kind that was asked."""
    kinds = [get_output(name) for name in catalog.names("output")]
    for other in (output for output in kinds if output.rank < kind.rank and isinstance(output, type(kind))):
        n_problems = len(columns.problems)
        answers = other.given(columns, names)
        if answers is not None or len(columns.problems) > n_problems:
            return other, answers
    return kind, None


def _name_numbers(part: datasets.Dataset, kind: Output) -> list[str]:
    """Numbers as the names of classes that have none."""
    values = part.select_columns([kind.label_column]).with_format("numpy")[:][kind.label_column]
    return [str(number) for number in range(int(np.max(values)) + 1)]


def _read_texts(file: AnswersFile, column: str, problems: list[str]) -> list[str] | None:
    """Ids or splits as text; None without the column, or where a row has none."""
    if column not in file.table.column_names:
        return None
    try:
        given = [None if value == "" else value for value in file.table.column(column).to_pylist()]
        texts: list[str] = coerce_text_column(column, given).to_pylist()
    except OochubError as error:
        problems.append(str(error))
        return None
    return texts


def _join_data(
    file: AnswersFile, data: Mapping[str, datasets.Dataset], ids: list[str], problems: list[str]
) -> _Joined | None:
    """The join; None where it fails, which `problems` then says."""
    ids_of = {split: list_example_ids(part) for split, part in data.items()}
    named = _read_texts(file, "split", problems)
    splits = _find_splits(ids_of, ids, problems) if named is None else _find_named_splits(ids_of, named, problems)
    if not splits:
        return None
    given = pd.MultiIndex.from_arrays([named, ids]) if named is not None else pd.Index(ids)
    wanted = pd.MultiIndex.from_tuples([(split, example_id) for split in splits for example_id in ids_of[split]])
    keys = wanted if named is not None else wanted.get_level_values(1)
    doubled = given[given.duplicated()].unique()
    if len(doubled):
        problems.append(f"{tally(len(doubled), 'id occurs', 'ids occur')} twice, first {_list_first(doubled)}")
    unknown = given[~given.isin(keys)].unique()
    if len(unknown):
        which = f"{tally(len(unknown), 'id is', 'ids are')} not of {' or '.join(splits)}"
        problems.append(f"{which}, first {_list_first(unknown)}")
    absent = ~keys.isin(given)
    for split in splits:
        of_split = wanted.get_level_values(0) == split
        missing = wanted.get_level_values(1)[absent & of_split]
        if len(missing):
            problems.append(
                f"of the {int(of_split.sum()):,} ids of {split}, {len(missing):,} are missing, first "
                f"{_list_first(missing)}"
            )
    if len(doubled) or absent.any():
        return None
    return _Joined(splits=tuple(splits), rows=given.get_indexer(keys))


def _find_splits(known: Mapping[str, list[str]], ids: list[str], problems: list[str]) -> list[str]:
    """The splits that the ids are of."""
    given = set(ids)
    of_split = {split: given & set(every) for split, every in known.items()}
    splits = {split: these for split, these in of_split.items() if these}
    if not splits:
        theirs = next(iter(known.values()))
        problems.append(
            f"none of its ids are in these data: it has {_list_first(ids)}, they have {_list_first(theirs)}"
        )
    elif sum(map(len, splits.values())) > len(set().union(*splits.values())):
        problems.append(f"some ids are in several of the splits {', '.join(splits)}: add a column split")
        return []
    return list(splits)


def _find_named_splits(known: Mapping[str, list[str]], named: list[str], problems: list[str]) -> list[str]:
    """The splits that the column `split` names."""
    strange = [split for split in dict.fromkeys(named) if split not in known]
    if strange:
        problems.append(f"there is no split {', '.join(strange[:_SHOWN])}, only {', '.join(known)}")
    return [split for split in known if split in set(named)]


def _read_rows(
    data: Mapping[str, datasets.Dataset], splits: tuple[str, ...], kind: Output, names: tuple[str, ...]
) -> pa.Table:
    return pa.concat_tables([read_split_rows(split, data[split], kind, names) for split in splits]).combine_chunks()


def _check_truth(
    kind: Output, columns: GivenColumns, table: pa.Table, rows: NDArray[np.int64], names: tuple[str, ...]
) -> None:
    """That the truth in the file, where it says one, is that of the benchmark."""
    try:
        labels = kind.given_label(columns, names)[rows]
    except OochubError as error:
        columns.problems.append(f"its {kind.label_column} cannot be compared: {error}")
        return
    truth = kind.label(table, names)
    differs = ~np.isclose(labels, truth, rtol=_TOLERANCE, atol=0, equal_nan=True)
    wrong = kind.known(labels) & (differs.any(axis=1) if differs.ndim == 2 else differs)
    if wrong.any():
        first = int(np.argmax(wrong))
        words = [
            names[int(value)] if kind.one_answer and 0 <= value < len(names) else str(value)
            for value in (labels[first], truth[first])
        ]
        problem = f"{tally(int(wrong.sum()), 'label is not that', 'labels are not those')} of the data"
        columns.problems.append(f"{problem}, first {table['example_id'][first]}: {words[0]}, but it is {words[1]}")


def _list_first(texts: Any) -> str:
    """The first few, in words."""
    shown = [" of ".join(reversed(text)) if isinstance(text, tuple) else str(text) for text in list(texts[:_SHOWN])]
    return ", ".join(shown)


def _explain_unfit(file: AnswersFile, part: datasets.Dataset, problems: Sequence[str]) -> OochubError:
    record = BuildRecord.of(part.info)
    data = "the data" if record is None else f"{record.benchmark}/{record.config}"
    things = "this is" if len(problems) == 1 else f"these {len(problems)} things are"
    lines = "".join(f"\n- {problem}" for problem in problems)
    return OochubError(
        f"{file.name} does not fit {data}, {things} wrong:{lines}\nIt needs every example_id of a split once, with "
        f"its answer; {choose_wording('oochub.load', 'oochub build')} gives the rows with their ids."
    )
