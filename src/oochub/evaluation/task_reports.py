"""A report for each of many tasks from one file of predictions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tqdm import tqdm

from oochub.errors import OochubError
from oochub.evaluation.evaluate import evaluate
from oochub.evaluation.opened_predictions import opened_predictions
from oochub.evaluation.scenes import Scenes
from oochub.evaluation.tasks import task
from oochub.prediction.concatenate import concatenate
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.storage.artifacts import REPORT, REPORTS
from oochub.storage.files import check_writable, sole_writer

EVERY = "every"


def task_reports(
    predictions: Sequence[str | Path],
    tasks: Sequence[str],
    out: str | Path,
    *,
    source: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, Path]:
    """Evaluates tasks of `nooch/all` predictions and writes one report.json a task.

    Args:
        predictions: Files of one model's predictions of `nooch/all`.
        tasks: Config names, "ce_car"; or "every" for each class that has a context, by each criterion in the data.
        out: With one task the file of its report; with more a folder, which gets `<task>.json` of each.
        source: What answers of another program are of: benchmark, data_dir, ... of `opened_predictions`.
        options: Of `oochub.evaluate`.

    Returns:
        Each task's report file.

    Raises:
        OochubError: As `oochub.evaluate` and `oochub.task`; an output that cannot be written. Every report is
            made before the first is written.
    """
    single = len(tasks) == 1 and tasks[0] != EVERY
    check_writable(out, kind=REPORT if single else REPORTS)
    loaded = concatenate(opened_predictions(predictions, **(source or {})))
    names = _every(loaded) if EVERY in tasks else list(dict.fromkeys(tasks))
    for name in names:
        task(loaded, name)
    bar = tqdm(names, desc="Evaluating", unit="task", disable=True if single else None)
    reports: dict[str, Report] = {name: evaluate(task(loaded, name), **options) for name in bar}
    if single:
        return {name: report.save(out) for name, report in reports.items()}
    with sole_writer(out):
        return {name: report.save(Path(out) / f"{name}.json") for name, report in reports.items()}


def _every(predictions: Predictions) -> list[str]:
    split = predictions.split
    scenes = Scenes.of(predictions, "test" if "test" in split else str(split[-1]))
    criteria = ("ce", "gist") if scenes.similarity is not None else ("ce",)
    with_context = set(np.argwhere(scenes.contexts(scenes.alpha))[:, 0].tolist())
    shown = [scenes.names[number] for number in sorted(with_context)]
    if not shown:
        raise OochubError(f"At alpha = {scenes.alpha:g} no class has a context, so there is no task to evaluate.")
    return [f"{criterion}_{name}" for criterion in criteria for name in shown]
