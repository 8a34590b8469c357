"""The report that an audit left in its folder: what is of the same predictions and settings is not made again."""

from importlib.metadata import version
from pathlib import Path

from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report
from oochub.settings.evaluation_settings import IntervalSettings


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
