"""The command `oochub audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oochub.commands._options import (
    AsJson,
    ModelOrFile,
    Source,
    check_models,
    open_model_file,
    out_console,
    print_result,
    without_weight_bars,
    writes,
)
from oochub.settings.context_settings import ContextSettings
from oochub.settings.data_settings import DataSettings
from oochub.settings.evaluation_settings import IntervalSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.storage.artifacts import AUDIT
from oochub.storage.files import check_writable, lock_target

if TYPE_CHECKING:
    from oochub.report.report import Report

PANEL = "Audit a model"


def audit(
    model: ModelOrFile,
    source: Source,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    contexts: ContextSettings,
    probe: ProbeSettings,
    intervals: IntervalSettings,
    out: Annotated[
        Path,
        typer.Option(callback=writes(AUDIT), help="Folder for predictions, report and page.", rich_help_panel="Output"),
    ] = Path("audit"),
    as_json: AsJson = False,
) -> None:
    """Says whether a model relies on context: predicts, evaluates, writes the page; keeps finished steps."""
    from oochub.prediction.command_question import CommandQuestion
    from oochub.records.schema import to_json
    from oochub.report.verdict import verdict

    predictions = out / _FILES["predictions"]
    before = _read_times(predictions, out / _FILES["report"])
    recall = CommandQuestion("audit", model, source, how, asked, data, contexts, probe, intervals)
    recalled = recall.find() if probe.probe is None and contexts.contexts is None else None
    report = None if recalled is None else _open_report(recalled.key, out, intervals)
    if recalled is not None and report is not None:
        recalled.warn()
    else:
        check_models(model, how=how, device=asked.device)
        from oochub.auditing import audit_source

        without_weight_bars()
        with recall.answer():
            made = open_model_file(model, how, asked)
            report = audit_source(
                made.model,
                source,
                data,
                made.how,
                made.asked,
                found=contexts,
                probe=probe,
                intervals=intervals,
                out=out,
                recall=recall,
            )
    after = _read_times(predictions, out / _FILES["report"])
    if before[0] is not None and before[0] == after[0] and (probe.probe is None or before == after):
        typer.echo(
            f"No model was run: {predictions} already holds predictions with the same model, data and settings.",
            err=True,
        )
    said = verdict(report)
    result: dict[str, Any] = {name: str(out / file) for name, file in _FILES.items()}
    if as_json:
        findings = report.contexts.contexts if report.contexts else None
        found = {} if findings is None else {"shown": [each.name for each in findings if each.status == "shown"]}
        answer = {"headline": said.sentence, "case": said.case, "gap": to_json(report.gap.estimate), **found}
        if report.background is not None:
            answer["background_gap"] = to_json(report.background.gap)
        print_result({**answer, **result}, as_json)
        return
    out_console.print(report.to_terminal())
    out_console.print()
    out_console.print(f"{said.sentence} {said.lead}", markup=False)
    print_result({"page": result["page"]}, as_json)


def _open_report(key: str, out: Path, intervals: IntervalSettings) -> "Report | None":
    """The report in the folder, where it is of the predictions that the cache has by a key; its page is written."""
    from oochub.evaluation.evaluation_inputs import read_kept_report
    from oochub.prediction.prediction_cache import PredictionCache

    folder = check_writable(out, kind=AUDIT)
    with lock_target(folder, kind=AUDIT):
        predictions = PredictionCache(key).found(folder / _FILES["predictions"])
        kept = None if predictions is None else read_kept_report(folder / _FILES["report"], predictions, intervals)
        if kept is None or kept.background is not None:
            return None
        kept.to_html(folder / _FILES["page"])
    return kept


_FILES = {"predictions": "predictions.parquet", "report": "report.json", "page": "report.html"}


def _read_times(*files: Path) -> list[int | None]:
    """When the files were written; None for one that is not there."""
    return [file.stat().st_mtime_ns if file.exists() else None for file in files]
