"""The command `oochub repair`."""

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
from oochub.settings.data_settings import DataSettings
from oochub.settings.keywords import take_records
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.settings.repair_settings import RepairSettings
from oochub.storage.artifacts import REPAIR

PANEL = "Audit a model"
_UNDECIDED = 3


def repair(
    model: ModelOrFile,
    source: Source,
    data: DataSettings,
    how: ModelSettings,
    asked: PredictionSettings,
    contexts: ContextSettings,
    settings: RepairSettings,
    out: Annotated[
        Path,
        typer.Option(
            callback=writes(REPAIR),
            help="Output folder for the repaired model, repair.json, repair.html, and the predictions before and "
            "after.",
            rich_help_panel="Output",
        ),
    ] = Path("repair"),
    as_json: AsJson = False,
) -> None:
    """Retrain a model's last layer so that it relies less on context, and test the result on held-out rows.

    Exit code 0: the repaired model is better, or there is nothing to repair; 3: neither could be shown.
    """
    check_models(model, how=how, device=asked.device)
    from oochub.records.schema import to_json
    from oochub.repairing import repair as repair_model
    from oochub.repairs.repair import terminal, write_verdict

    without_weight_bars()
    opened = open_model_file(model, how, asked)
    repaired = take_records(repair_model)(
        opened.model, source, data=data, how=opened.how, asked=opened.asked, found=contexts, settings=settings, out=out
    )
    result: dict[str, Any] = {"page": str(out / "repair.html"), "record": str(out / "repair.json")}
    if repaired.collection is not None and repaired.collection.ranked is not None:
        result["ranking"] = str(out / "collect.csv")
    if repaired.model is not None:
        own = [file for name in ("repaired.py", "model.onnx") if (file := out / repaired.model / name).is_file()]
        result["model"] = str(own[0] if own else out / repaired.model)
    if as_json:
        numbers = {"inside": repaired.inside, "outside": repaired.outside, "gap": repaired.gap}
        answer = {
            "outcome": repaired.outcome,
            "verdict": write_verdict(repaired),
            "reason": repaired.reason,
            "needed": repaired.needed,
        }
        if repaired.collection is not None:
            answer["collection"] = to_json(repaired.collection)
        print_result(answer | {name: to_json(number) for name, number in numbers.items()} | result, as_json)
    else:
        out_console.print(terminal(repaired, out_console.width))
        out_console.print()
        print_result({name: path for name, path in result.items() if name != "record"}, as_json)
        out_console.print(write_verdict(repaired), markup=False)
    if repaired.outcome not in ("better", "nothing_to_repair"):
        raise typer.Exit(_UNDECIDED)
