"""What an evaluation is given: arguments that list something, and what is to be evaluated.

This is predictions, their files, or files of answers that belong to a benchmark.

Columns of another program beside the rows of predictions: by id, else in the order of the rows.

The report that an audit left in its folder: what is of the same predictions and settings is not made again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from oochub import catalog
from oochub.detection.detector_scores import make_detector
from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.exchange.bridge import ROW, find_bridge
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import RESERVED
from oochub.records.typed_values import read_names
from oochub.report.report import Report
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import EvaluationSettings, IntervalSettings
from oochub.settings.option import list_options

_KEYS = ("example_id", "split")
_NO_COLUMNS = (*_KEYS, ROW)
_GIVEN = "given_label"
_PROBES = ("zoom",)


_ANSWERS = (".csv", ".jsonl", ".npz")
_FLAGS = {name: about.flag_alone for name, about in list_options(DataSettings).items()}


def join_columns(predictions: Predictions, path: Path) -> Predictions:
    """Predictions with the columns of a file of a program beside them; rows that it does not name have none.

    A file without `example_id` has one row for each row of the predictions, or for each with a known label, in their
    order or with their numbers (the index that pandas saves); if it says the labels that it was given (`given_label`),
    they must be those of the rows. Columns of an earlier file of the same names are replaced.

    Args:
        predictions: Predictions of any model.
        path: File that a bridge reads columns from.

    Raises:
        OochubError: No bridge knows the file, ids that are twice or not of the predictions, another number of rows,
            other labels, or a column that predictions use themselves.
    """
    bridge = find_bridge(path)
    if bridge is None:
        raise OochubError(
            f"{path} is of no program that oochub reads columns of. Run `oochub list bridge` to list them."
        )
    table = bridge.read_columns(path)
    ours = {*RESERVED, predictions.output.label_column, *predictions.output.columns}
    names = [name for name in table.column_names if name not in _NO_COLUMNS]
    if taken := sorted(ours & set(names)):
        raise OochubError(f"{path} has the column {taken[0]}, which predictions use themselves. Rename it.")
    places = _find_places(predictions, table, path)
    rows = predictions.rows
    for name in names:
        rows = rows.with_column(name, table.column(name).combine_chunks().take(places))
    joined = predictions.with_table(rows)
    _check_labels(joined, path)
    return joined


def _find_places(predictions: Predictions, table: pa.Table, path: Path) -> pa.Array:
    """For each row of predictions its row of the file, null if there is none."""
    if "example_id" not in table.column_names:
        labeled = np.flatnonzero(predictions.output.known(predictions.label))
        rows = np.arange(len(predictions)) if table.num_rows == len(predictions) else labeled
        if table.num_rows != len(rows):
            raise OochubError(
                f"{path} has {table.num_rows:,} rows, but the predictions {len(predictions):,}, {len(labeled):,} of "
                "them labeled. Give it a column example_id, or the rows of one export."
            )
        places = np.full(len(predictions), -1)
        places[rows[_read_numbers(table, path)]] = np.arange(len(rows))
    else:
        keys = [name for name in _KEYS if name in table.column_names]
        given = pd.MultiIndex.from_arrays([table.column(name).to_pylist() for name in keys])
        wanted = pd.MultiIndex.from_arrays([predictions.rows.column(name).to_pylist() for name in keys])
        if given.has_duplicates or wanted.has_duplicates:
            raise OochubError(f"An id occurs twice in {path} or in the predictions. Give it a column split as well.")
        places = given.get_indexer(wanted)
        unknown = given[~given.isin(wanted)]
        if len(unknown):
            raise OochubError(
                f"{path} has {len(unknown):,} ids that no row has, first {unknown[0][0]}. Is it the file?"
            )
    return pa.array(places, mask=places < 0)


def _read_numbers(table: pa.Table, path: Path) -> NDArray[np.int64]:
    """The number of the row that each line of a file is of: as it says, else their order."""
    if ROW not in table.column_names:
        return np.arange(table.num_rows)
    column = table.column(ROW)
    if pa.types.is_integer(column.type) and not column.null_count:
        numbers: NDArray[np.int64] = column.to_numpy().astype(np.int64)
        if np.array_equal(np.sort(numbers), np.arange(len(numbers))):
            return numbers
    raise OochubError(
        f"The first column of {path}, which has no name, does not number its {table.num_rows:,} rows from 0, so it "
        "cannot be told which row is meant. Give it a column example_id, or save it without its index, in the order "
        "of the rows."
    )


def _check_labels(joined: Predictions, path: Path) -> None:
    """That the labels that the program was given are those of the rows."""
    if _GIVEN not in joined.column_names or not joined.output.one_answer:
        return
    given, label = joined.rows.column(_GIVEN).to_pylist(), joined.label
    names = joined.class_names
    wrong = [
        row
        for row, value in enumerate(given)
        if value is not None and value not in (str(label[row]), names[label[row]])
    ]
    if wrong:
        row = wrong[0]
        raise OochubError(
            f"{path} says that row {joined.rows.column('example_id')[row]} was given the label {given[row]}, but it "
            f"is {names[label[row]]} ({len(wrong):,} rows differ). Pass the issues of these predictions, in their "
            "order."
        )


def is_beside(path: Path) -> bool:
    """Whether a file holds columns to stand beside predictions, and no answers.

    >>> is_beside(Path("nowhere.csv"))
    False
    """
    bridge = None if path.suffix.lower() == ".parquet" else find_bridge(path)
    return bridge is not None and bool(bridge.beside) and not bridge.answers


def check_inputs(
    predictions: Any, settings: EvaluationSettings
) -> tuple[list[Predictions | str | Path], EvaluationSettings]:
    """The predictions that `oochub.evaluate` was given, as a list, and the settings with what they list as lists.

    Raises:
        OochubError: A text where a list of names is meant, or anything of another type; the argument is named. An
            unknown detector or probe, or what applies to detectors only without any.

    >>> parts, settings = check_inputs("p.parquet", EvaluationSettings(detectors=("msp",), pairs=[["a", "b"]]))
    >>> parts, settings.detectors, settings.pairs
    (['p.parquet'], ['msp'], [('a', 'b')])
    """
    reference = settings.reference
    if reference is not None and not isinstance(reference, Predictions | str | Path):
        raise OochubError(
            "The reference must be Predictions for the training split, or their file, got a "
            f"{type(reference).__name__}."
        )
    parts = _check_parts(predictions)
    metrics = None if settings.metrics is None else _check_metrics(settings.metrics)
    detectors = _check_detectors(settings.detectors)
    pairs = None if settings.pairs is None else _check_pairs(settings.pairs)
    probes = read_names("probes", settings.probes)
    if not detectors and (reference is not None or pairs is not None or probes):
        read = choose_wording("reference=, pairs= and probes=", "--reference, --pair and --probe")
        raise OochubError(
            f"{read} apply to detectors only: name some with {choose_wording('detectors=[...]', '--detector')}."
        )
    for name in probes:
        if name not in _PROBES:
            raise unknown_name("probe", name, _PROBES)
    for detector in detectors:
        if isinstance(detector, str):
            make_detector(detector)
    return parts, replace(settings, metrics=metrics, detectors=detectors, pairs=pairs, probes=probes)


def _check_parts(predictions: Any) -> list[Predictions | str | Path]:
    """Predictions or paths, one or several."""
    is_one = isinstance(predictions, Predictions | str | Path)
    is_several = isinstance(predictions, Iterable) and not isinstance(predictions, Mapping | bytes)
    parts = [predictions] if is_one else list(predictions) if is_several else [predictions]
    for part in parts:
        if not isinstance(part, Predictions | str | Path):
            raise OochubError(
                "predictions must be Predictions, the path of a file, or a list of these, got a "
                f"{type(part).__name__}. Convert arrays with Predictions.from_arrays, a frame with "
                "Predictions.from_pandas."
            )
    return parts


def _check_metrics(metrics: object) -> list[object]:
    """Names of metrics, or functions, each once; a function has a name that no other metric has."""
    if not isinstance(metrics, Iterable) or isinstance(metrics, str | Mapping | bytes):
        return read_names("metrics", metrics)
    listed = list(metrics)
    names = read_names("metrics", [metric for metric in listed if not callable(metric)])
    allowed = {*catalog.names("metric")} if len(names) < len(listed) else {*names}
    for function in dict.fromkeys(filter(callable, listed)):
        name = getattr(function, "__name__", "")
        if not name.isidentifier():
            raise OochubError(f"A metric must be a function with a name, got {function!r:.80}. Write it with def.")
        if name in allowed:
            raise OochubError(f"There is a metric named {name!r} already. Rename your function.")
        allowed.add(name)
    return list(dict.fromkeys(listed))


def _check_detectors(detectors: Any) -> list[Any]:
    """Names of detectors, or detectors."""
    is_list = isinstance(detectors, Iterable) and not isinstance(detectors, str | Mapping)
    listed = list(detectors) if is_list else read_names("detectors", detectors)
    for metric in listed:
        if not isinstance(metric, str) and (isinstance(metric, type) or not hasattr(metric, "hyperparameters")):
            raise OochubError(f"Detectors must be given by name, or as detectors, got a {type(metric).__name__}.")
    return listed


def _check_pairs(pairs: Any) -> list[tuple[str, str]]:
    """Pairs of two names of configs."""
    is_list = isinstance(pairs, Iterable) and not isinstance(pairs, str | Mapping)
    listed = list(pairs) if is_list else [pairs]
    for pair in listed:
        if not isinstance(pair, tuple | list) or len(pair) != 2 or not all(isinstance(name, str) for name in pair):
            raise OochubError(
                f"Pairs must be a list of (in distribution, out of it), two configs each, got {pair!r:.80}."
            )
    return [(first, second) for first, second in listed]


def open_parts(
    parts: Sequence[Predictions | str | Path],
    *,
    benchmark: Any = None,
    model_name: str | None = None,
    probabilities: bool = False,
    **loading: Any,
) -> list[Predictions]:
    """The predictions of each part, in order.

    Args:
        parts: Predictions, or paths: of files of predictions, or, with a benchmark, of answers.
        benchmark: What the answers are of, as `oochub.load` takes it, or the splits that it gave; None where the files
            say it themselves.
        model_name: What made the answers; None takes the stem of each file.
        probabilities: Whether columns of logits in files of answers hold probabilities.
        loading: How the benchmark is loaded: options of `oochub.load`.

    Raises:
        OochubError: A file that cannot be read, answers without a benchmark or that do not fit it, an option that is
            read with a benchmark only.

    >>> open_parts(["mine.csv"])
    Traceback (most recent call last):
    oochub.errors.OochubError: mine.csv contains answers but not the dataset that they belong to. Pass the \
dataset with benchmark=.
    """
    paths = [Path(part) for part in parts if not isinstance(part, Predictions)]
    if benchmark is None:
        given = {"model_name": model_name, "probabilities": probabilities, **loading}
        if read := [name for name, value in given.items() if value]:
            words = choose_wording(f"{read[0]}=", _FLAGS.get(read[0], f"--{read[0].replace('_', '-')}"))
            raise OochubError(f"{words} requires {choose_wording('benchmark=')}. Pass both, or remove both.")
        beside = [path for path in paths if is_beside(path)]
        parts = [part for part in parts if isinstance(part, Predictions) or Path(part) not in beside]
        others = [path for path in paths if path not in beside and path.suffix.lower() != ".parquet"]
        if answers := [path for path in others if path.suffix.lower() in _ANSWERS or find_bridge(path) is not None]:
            name = choose_wording("benchmark=")
            raise OochubError(
                f"{answers[0]} contains answers but not the dataset that they belong to. Pass the dataset with {name}."
            )
        if beside and not parts:
            raise OochubError(f"{beside[0]} holds columns beside predictions. Pass a file of predictions as well.")
        opened = [part if isinstance(part, Predictions) else Predictions.load(part) for part in parts]
        for path in beside:
            opened = [join_columns(part, path) for part in opened]
        return opened
    from oochub.data.load import load
    from oochub.exchange.answers_file import join_answers, read_answers

    if len(paths) < len(parts):
        raise OochubError("These predictions already record their dataset. Remove benchmark=.")
    files = [read_answers(path, model_name=model_name) for path in paths]  # before the data, which may take minutes
    data = benchmark if isinstance(benchmark, Mapping) else load(benchmark, **loading)
    return [join_answers(file, data, model_name=model_name, probabilities=probabilities) for file in files]


def read_kept_report(file: Path, predictions: Predictions, intervals: IntervalSettings) -> Report | None:
    """The report in a file, if it is of these predictions and settings; else None.

    Args:
        file: The report.json of an audit, there or not.
        predictions: The predictions of the audit.
        intervals: How intervals are found.

    >>> predictions = Predictions.from_arrays(logits=[[1.0, 0.0]], label=[0], class_names=["cow", "camel"])
    >>> read_kept_report(Path("nowhere/report.json"), predictions, IntervalSettings()) is None
    True
    """
    if not file.is_file():
        return None
    try:
        report = Report.load(file)
    except OochubError:  # damaged, or of another version: it is made again
        return None
    origin = report.provenance
    key = predictions.metadata.provenance.get("key")  # of model, data and settings; a model object has none
    made_of = (origin.prediction.get("key"), origin.predictions.sha256, origin.resamples, origin.seed, origin.oochub)
    if report.contexts is not None and report.contexts.correction != intervals.correction:
        return None
    same = made_of == (key, predictions.digest, intervals.resamples, intervals.seed, version("oochub"))
    return report if same and key is not None else None
