"""The command `oochub audit`."""

from pathlib import Path
from typing import Annotated, Any

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
from oochub.settings.data_settings import DataSettings, LabelSettings
from oochub.settings.evaluation_settings import IntervalSettings
from oochub.settings.keywords import take_records
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.probe_settings import ProbeSettings
from oochub.storage.artifacts import AUDIT

PANEL = "Audit a model"


def audit(
    model: ModelOrFile,
    source: Source,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    few: LabelSettings,
    contexts: ContextSettings,
    probe: ProbeSettings,
    intervals: IntervalSettings,
    out: Annotated[
        Path,
        typer.Option(callback=writes(AUDIT), help="Folder for predictions, report and page.", rich_help_panel="Output"),
    ] = Path("audit"),
    as_json: AsJson = False,
) -> None:
    """Check whether a model relies on context: predict, evaluate and write a report. Reuses finished steps."""
    predictions = out / _FILES["predictions"]
    before = _read_times(predictions, out / _FILES["report"])
    check_models(model, how=how, device=asked.device)
    from oochub.auditing import audit as audit_model
    from oochub.records.schema import to_json
    from oochub.report.verdict import verdict

    without_weight_bars()
    own_model = open_model_file(model, how, asked)
    records = {"few": few, "found": contexts, "probe": probe, "intervals": intervals}
    report = take_records(audit_model)(
        own_model.model, source, data=data, how=own_model.how, asked=own_model.asked, out=out, **records
    )
    after = _read_times(predictions, out / _FILES["report"])
    if before[0] is not None and before[0] == after[0] and (probe.probe is None or before == after):
        typer.echo(
            f"Reusing {predictions}: it was made with the same model, data and settings.",
            err=True,
        )
    sentence = verdict(report)
    result: dict[str, Any] = {name: str(out / file) for name, file in _FILES.items()}
    if as_json:
        findings = report.contexts.contexts if report.contexts else None
        contexts_shown = (
            {} if findings is None else {"shown": [finding.name for finding in findings if finding.status == "shown"]}
        )
        answer = {
            "headline": sentence.sentence,
            "case": sentence.case,
            "gap": to_json(report.gap.estimate),
            **contexts_shown,
        }
        if report.background is not None:
            answer["background_gap"] = to_json(report.background.gap)
        print_result({**answer, **result}, as_json)
        return
    out_console.print(report.to_terminal())
    out_console.print()
    out_console.print(f"{sentence.sentence} {sentence.lead}", markup=False)
    print_result({"page": result["page"]}, as_json)


_FILES = {"predictions": "predictions.parquet", "report": "report.json", "page": "report.html"}


def _read_times(*files: Path) -> list[int | None]:
    """When the files were written; None for one that is not there."""
    return [file.stat().st_mtime_ns if file.exists() else None for file in files]
