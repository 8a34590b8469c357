"""The command `oochub train`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.commands._options import AsJson, Source, out_console, print_result, without_weight_bars, writes
from oochub.settings.data_settings import DataSettings
from oochub.settings.keywords import take_records
from oochub.settings.training_settings import TrainingSettings
from oochub.storage.artifacts import RUN

PANEL = "Train"


def train(
    source: Source,
    out: Annotated[
        Path,
        typer.Option(
            callback=writes(RUN),
            help="Output folder for the model, its processor, the training recipe and the model card.",
        ),
    ],
    data: DataSettings,
    asked: TrainingSettings,
    as_json: AsJson = False,
) -> None:
    """Train a model with a robust objective. Run the same command again to resume after an interruption."""
    without_weight_bars()
    from oochub.training import train as train_model

    result = take_records(train_model)(source, out, data=data, asked=asked, callbacks=[_EpochLines()])
    if not as_json:
        from oochub.storage.reading import read_json

        out_console.print(f"Kept: {read_json(out / 'recipe.json')['selection']['rule']}.", markup=False)
        named = ("config", "data_dir", "label", "context", "image", "group")
        words = [str(out), source, *data.words(*named)]
        out_console.print(f"Next: oochub audit {shlex.join(words)}", markup=False)
    print_result(result, as_json)


class _EpochLines:
    """One line per epoch on standard error, above the bar where there is one."""

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, float], **_: Any) -> None:
        if state.is_world_process_zero:
            from tqdm import tqdm

            shown = (
                "loss",
                "eval_loss",
                "eval_accuracy",
                "eval_worst_group.accuracy",
                f"eval_{args.metric_for_best_model}",
            )
            numbers = [f"{name} {logs[name]:.4g}" for name in dict.fromkeys(shown) if name in logs]
            tqdm.write(f"epoch {round(state.epoch)}, step {state.global_step}: {', '.join(numbers)}", file=sys.stderr)
