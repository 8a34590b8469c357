"""Measures one run of a sweep: trains it, predicts, evaluates, and returns its numbers."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from oochub import catalog
from oochub.benchmark import find_data_folder
from oochub.data.declaration import find_declaration
from oochub.data.load import find_data_declaration, get_declaration, is_benchmark, load
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.evaluation_rows import find_epoch_rows
from oochub.prediction.predictions import Predictions
from oochub.remote.check_source import check_source
from oochub.report.report import Report
from oochub.sweep.runs import Run, RunResult, format_setting
from oochub.sweep.sweep_progress import EpochLog
from oochub.trainers.rows.context_environments import context_environments
from oochub.trainers.rows.holdout_split import choose_holdout

_FEWEST = 100  # replicates that an interval may have


def check_raw_folders(tasks: Iterable[str], data_dir: str | None) -> None:
    """Checks that the raw files of each benchmark are there, and own data, before the first run.

    Raises:
        OochubError: A folder is missing or lacks files.
    """
    for task in tasks:
        if is_benchmark(task):
            find_data_folder(get_declaration(task), data_dir)
        else:
            hint = "Fix the tasks of the recipe."
            check_source(task, kind="dataset", hint=hint, also=catalog.names("benchmark"))


def measure(run: Run, folder: Path, *, data_dir: str | None = None) -> RunResult:
    """Trains a run, or goes on with it; leaves the model, predictions.parquet and report.json in its folder.

    Args:
        run: What to train.
        folder: The folder of the run.
        data_dir: The raw folder; None takes `$OOCHUB_DATA/<benchmark>`.

    Returns:
        Its headline, the benchmark's primary metric, and its numbers, see `collect_numbers`.

    Raises:
        OochubError: What training, prediction and evaluation raise.
    """
    from oochub.predicting import predict

    if run.mixes:
        _mix(run, folder, data_dir)
    else:
        _train(run, folder, data_dir)
    data = load(run.task, data_dir=data_dir, options=run.options)
    column = run.environments
    if run.left_out:  # its rows are told by the environments that training saw
        data, column = context_environments(data, column, needed=("train",), source=run.task)
    predictions = predict(folder, data, out=folder / "predictions.parquet", images=False, cache=False)
    benchmark = find_declaration(predictions)
    if run.left_out:
        column, split = column or benchmark.environments, benchmark.validation_split
        numbers = measure_held_out(predictions, column, run.left_out, split=split)
        return RunResult(headline=benchmark.primary_metric, numbers=numbers)
    report = name_method(evaluate(folder / "predictions.parquet"), run)
    report.save(folder / "report.json")
    return RunResult(headline=benchmark.primary_metric, numbers=collect_numbers(predictions, report))


def name_method(report: Report, run: Run) -> Report:
    """The report of a run, with the method's title and setting of the recipe, by which tables and figures name it."""
    return replace(report, model=replace(report.model, method=run.method, setting=format_setting(run.setting) or None))


def _train(run: Run, folder: Path, data_dir: str | None) -> None:
    from oochub.training import train

    train(
        run.task,
        folder,
        objective=run.objective,
        hyperparameters=run.hyperparameters,
        model=run.model,
        environments=run.environments,
        arguments=run.arguments,
        image_size=run.image_size,
        pretrained=run.pretrained,
        data_dir=data_dir,
        options=run.options,
        leave_out=run.left_out or None,
        hold_out=run.hold_out,
        callbacks=[EpochLog()],
    )


def _mix(run: Run, folder: Path, data_dir: str | None) -> None:
    from oochub.sweep.model_soup import make_soup

    data = load(run.task, data_dir=data_dir, options=run.options)
    declared = find_data_declaration(data)
    split = declared.validation_split if declared else "validation"
    validation = data[split]
    if run.hold_out:
        rows, _ = choose_holdout(validation, split=split, cluster=declared.cluster if declared else None)
        validation = validation.select(rows)
    runs = [folder.parent / name for name in run.mixes]
    make_soup(runs, folder, train=data["train"], validation=validation, kind=str(run.setting["soup"]))


def collect_numbers(predictions: Predictions, report: Report) -> dict[str, float | int | None]:
    """The numbers of a run by name; None where one is undefined.

    Args:
        predictions: Predictions of all splits but the training split.
        report: Report on the predictions.

    Returns:
        For each slice of the report, "all/auc", "out_of_context/auc", ..., and "gap": the value, and under the name
        with `.low`, `.high` and `.n` its 95% interval and rows. For each split but the one that the report is about,
        values alone: "validation/nll", and its slices, "validation/hard_positive/nll". If the rows know another
        criterion besides their own (NOOCH's gist tasks: columns `challenge_gist`, their own, and `challenge_ce`), all
        that again by it, as the paper scores one run on both: "ce/out_of_context/auc". Groups follow a task's own
        criterion, so their numbers are not repeated.
    """
    numbers = _collect_numbers(predictions, report)
    for name, other in _judge_by_other_criteria(predictions):
        by_criterion = _collect_numbers(other, evaluate(other)).items()
        numbers |= {f"{name}/{key}": value for key, value in by_criterion if "worst_group" not in key}
    return numbers


def _judge_by_other_criteria(predictions: Predictions) -> Iterator[tuple[str, Predictions]]:
    """The name of each criterion but the one that the config begins with, and the predictions with its challenge."""
    rows, own = predictions.rows, str(predictions.metadata.config).partition("_")[0]
    for column in rows.column_names:
        name = column.removeprefix("challenge_")
        if name not in (column, own):
            swapped = rows.with_column("challenge", rows.column(column))
            yield name, Predictions(swapped, predictions.metadata)


def _collect_numbers(predictions: Predictions, report: Report) -> dict[str, float | int | None]:
    numbers: dict[str, float | int | None] = {}
    for name in (name for name in report if "/" in name or name == "gap"):
        estimate = report[name]
        numbers |= {
            name: estimate.value,
            f"{name}.low": estimate.low,
            f"{name}.high": estimate.high,
            f"{name}.n": estimate.n,
        }
    main = next(part.split for part in report.slices if part.role == "all")
    for split in dict.fromkeys(predictions.split):
        if split != main:
            of_split = evaluate(_select_rows(predictions, split), resamples=_FEWEST)  # values alone are read
            names = (name for name in of_split if "/" in name)
            numbers |= {f"{split}/{name.removeprefix('all/')}": of_split[name].value for name in names}
    return {name: None if value is None or not math.isfinite(value) else value for name, value in numbers.items()}


def _select_rows(predictions: Predictions, split: str) -> Predictions:
    """The rows of a split by which a setting is selected: those that chose the epoch, where others are held out."""
    rows, training = np.asarray(predictions.split) == split, predictions.metadata.training
    chose = rows & find_epoch_rows(predictions, find_declaration(predictions)).left_out
    if training is None or not chose.any():
        return predictions.select(rows)
    metadata = replace(predictions.metadata, training=replace(training, held_out=None))
    return replace(predictions, metadata=metadata).select(chose)


def measure_held_out(
    predictions: Predictions, column: str, environment: str, *, split: str
) -> dict[str, float | int | None]:
    """The accuracy on the validation rows of the environment that was left out of training.

    Args:
        predictions: Predictions of a run without the environment.
        column: Column of the environments.
        environment: Name of the environment.
        split: The validation split.

    Returns:
        "held_out/accuracy", None where validation has no such row.
    """
    predictions = _select_rows(predictions, split)
    rows = predictions.column(column) == environment
    right = predictions.prediction[rows] == predictions.label[rows]
    return {"held_out/accuracy": float(right.mean()) if len(right) else None}
