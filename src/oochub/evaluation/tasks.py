"""One binary task of a dataset, or of predictions, that hold every task at once.

And a report for each of many tasks from one file of predictions.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa

from oochub import catalog
from oochub.data.load import use_text_columns
from oochub.errors import OochubError, choose_wording
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_inputs import open_parts
from oochub.evaluation.scenes import Scenes
from oochub.prediction.predictions import Predictions, concatenate_predictions
from oochub.process.follow import follow
from oochub.records.build_record import BuildFacts, BuildRecord, drop_build_column
from oochub.records.output_columns import make_vectors, vectors
from oochub.report.report import Report
from oochub.storage.artifacts import REPORT, REPORTS
from oochub.storage.files import check_writable, lock_target

_OF_ALL = ("labels", "areas", "gist_embedding", "gist_similarity")
_NEEDED = ("labels", "areas", "gist_similarity")


EVERY = "every"


def task(data: Any, name: str, *, text_columns: bool | str | Sequence[str] = False) -> Any:
    """The task `name` of `load_dataset("nooch", "all")`, or of predictions of it; no image is read.

    Args:
        data: A Dataset or DatasetDict of a config that holds every task, or Predictions of a model with one logit a
            class.
        name: The task's own config, "ce_car" or "gist_bowl".
        text_columns: See `oochub.load`: names in place of class numbers. Predictions hold names in any case.

    Returns:
        The same kind of thing, with the columns that `load_dataset("nooch", name)` has. Predictions get two logits,
        (0, z) for the class's logit z, so that their softmax is its sigmoid.

    Raises:
        OochubError: Data of another config, a name that is no task, a class without context, gist without embeddings.

    >>> import tempfile
    >>> from datasets import load_dataset
    >>> from oochub.builders.toy_worlds.toy_coco import toy_coco
    >>> folder = toy_coco(tempfile.mkdtemp() + "/coco", size=200)
    >>> every = load_dataset("nooch", "all", data_dir=str(folder), split="test", cache_dir=tempfile.mkdtemp())
    >>> task(every, "ce_car").features["label"].names
    ['no_car', 'car']
    """
    if isinstance(data, Predictions):
        return _select_from_predictions(data, name)
    if isinstance(data, Mapping):
        return datasets.DatasetDict(
            {split: task(part, name, text_columns=text_columns) for split, part in data.items()}
        )
    if not isinstance(data, datasets.Dataset):
        raise OochubError(f"task takes a Dataset, a DatasetDict or Predictions, got {type(data).__name__}.")
    return use_text_columns(_select_from_dataset(drop_build_column(data), name), text_columns)


def _select_from_dataset(data: datasets.Dataset, name: str) -> datasets.Dataset:
    record = BuildRecord.of(data.info)
    if record is None:
        raise OochubError(
            "This dataset has no build record, so its contexts are unknown. Load it with "
            'load_dataset("nooch", "all", data_dir=...).'
        )
    _check(record.benchmark, record.config, data.column_names)
    needed = [column for column in _NEEDED if column in data.column_names]
    # not by the numpy format, which rounds float64 to float32 and reads images
    table = data.select_columns(needed).with_format("arrow")[:]
    spec, columns, facts = _make(record.benchmark, table, record.facts, name)
    features = spec.features(gist="challenge_gist" in columns)
    # not by `from_dict`, which encodes value by value
    own = datasets.Dataset(pa.Table.from_pydict(_number_classes(columns, features), schema=features.arrow_schema))
    rest = data.remove_columns([column for column in _OF_ALL if column in data.column_names])
    joined = datasets.concatenate_datasets([rest, own], axis=1)
    first = [column for column in ("example_id", "image") if column in joined.column_names]
    last = [column for column in joined.column_names if column not in {*first, *features}]
    joined = joined.select_columns([*first, *features, *last])
    config = BuildRecord(
        benchmark=record.benchmark, config=name, version=record.version, notes=record.notes, facts=facts
    )
    joined.info.description = config.describe(catalog.get("benchmark", record.benchmark).of(name).summary)
    return joined


def _read_rows(column: pa.ChunkedArray) -> np.ndarray[Any, Any]:
    """The rows of a column; those of lists of one length as one array, without an object each."""
    if not pa.types.is_fixed_size_list(column.type) or not len(column):
        return np.asarray(column.to_numpy())
    return np.concatenate([part.flatten().to_numpy().reshape(len(part), -1) for part in column.chunks])


def _select_from_predictions(data: Predictions, name: str) -> Predictions:
    meta = data.metadata
    _check(str(meta.benchmark), str(meta.config), data.column_names)
    split = data.split
    parts = []
    facts = BuildFacts()
    names: list[str] = []
    for part in dict.fromkeys(split.tolist()):
        rows = data.table.filter(pa.array(split == part))
        spec, columns, facts = _make(str(meta.benchmark), rows, meta.facts, name)
        names = spec.features(gist=False)["label"].names
        number = data.class_names.index(spec.name) if spec.name in data.class_names else -1
        if number < 0:
            raise OochubError(f"The model has no output for {spec.name}, only {', '.join(data.class_names[:6])}, ...")
        logit = vectors(rows.column("logits"))[:, number]
        parts.append(_replace_columns(rows, columns, spec.features(gist="challenge_gist" in columns), logit))
    return replace(
        data,
        rows=pa.concat_tables(parts),
        metadata=replace(meta, kind="classes", config=name, facts=facts, class_names=tuple(names), task_of=meta.config),
    )


def _replace_columns(
    rows: pa.Table, columns: Mapping[str, Any], features: datasets.Features, logit: np.ndarray[Any, Any]
) -> pa.Table:
    """The table with the task's columns instead of those of all tasks, names in place of class numbers."""
    rows = rows.drop_columns(
        [column for column in (*_OF_ALL, "label", "logits", "captions") if column in rows.column_names]
    )
    pair = np.stack([np.zeros_like(logit), logit], axis=1)
    rows = rows.append_column("label", pa.array(columns["label"], pa.int64()))
    rows = rows.append_column("logits", make_vectors(pair))
    for key, feature in features.items():
        if key == "label":
            continue
        values = columns[key]
        if isinstance(feature, datasets.ClassLabel):
            array = pa.array([v if isinstance(v, str) else feature.names[v] for v in values.tolist()], pa.string())
        else:
            array = pa.array(values, datasets.Features({key: feature}).arrow_schema.field(key).type)
        rows = rows.append_column(key, array)
    return rows


def _make(benchmark: str, rows: pa.Table, facts: BuildFacts, name: str) -> tuple[Any, dict[str, Any], BuildFacts]:
    """What the benchmark says of the task, its columns and facts."""
    maker = catalog.get("benchmark", benchmark).task
    arrays = {column: _read_rows(rows.column(column)) for column in _NEEDED if column in rows.column_names}
    parts: tuple[Any, dict[str, Any], BuildFacts] = maker(arrays, facts, name)
    return parts


def _check(benchmark: str, config: str, columns: Any) -> None:
    is_task = benchmark in catalog.names("benchmark") and catalog.get("benchmark", benchmark).task is not None
    if not is_task or config != "all" or "labels" not in columns:
        raise OochubError(
            f"{benchmark}/{config} is not a config that holds every task at once. "
            + choose_wording("Load oochub.load('nooch/all', data_dir=...), or take", "Give")
            + " predictions of nooch/all."
        )


def _number_classes(columns: Mapping[str, Any], features: datasets.Features) -> dict[str, Any]:
    return {
        key: features[key].str2int(values.tolist())
        if isinstance(features[key], datasets.ClassLabel) and values.dtype.kind == "U"
        else list(values)
        for key, values in ((key, columns[key]) for key in features)
    }


def evaluate_tasks(
    predictions: Sequence[str | Path],
    tasks: Sequence[str],
    out: str | Path,
    *,
    source: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Path]:
    """Evaluates tasks of `nooch/all` predictions and writes one report.json per task.

    Args:
        predictions: Files of one model's predictions of `nooch/all`.
        tasks: Config names, "ce_car"; or "every" for each class that has a context, by each criterion in the data.
        out: For one task, the file of its report; for more, a folder, which gets `<task>.json` of each.
        source: Data that answers of another program are for: benchmark, data_dir, ... of `open_parts`.
        options: Options of `oochub.evaluate`.

    Returns:
        Each task's report file.

    Raises:
        OochubError: What `oochub.evaluate` and `oochub.task` raise; an output that cannot be written. Every report is
            made before the first is written.
    """
    single = len(tasks) == 1 and tasks[0] != EVERY
    check_writable(out, kind=REPORT if single else REPORTS)
    loaded = concatenate_predictions(open_parts(predictions, **(source or {})))
    names = _list_tasks(loaded) if EVERY in tasks else list(dict.fromkeys(tasks))
    for name in names:
        task(loaded, name)
    bar = follow(names, desc="Evaluating", unit="task", disable=True if single else None)
    reports: dict[str, Report] = {name: evaluate(task(loaded, name), **options) for name in bar}
    if single:
        return {name: report.save(out) for name, report in reports.items()}
    with lock_target(out, kind=REPORTS):
        return {name: report.save(Path(out) / f"{name}.json") for name, report in reports.items()}


def _list_tasks(predictions: Predictions) -> list[str]:
    split = predictions.split
    scenes = Scenes.of(predictions, "test" if "test" in split else str(split[-1]))
    criteria = ("ce", "gist") if scenes.similarity is not None else ("ce",)
    with_context = set(np.argwhere(scenes.contexts(scenes.alpha))[:, 0].tolist())
    shown = [scenes.names[number] for number in sorted(with_context)]
    if not shown:
        raise OochubError(f"At alpha = {scenes.alpha:g} no class has a context, so there is no task to evaluate.")
    return [f"{criterion}_{name}" for criterion in criteria for name in shown]
