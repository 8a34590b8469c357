"""The command `oochub train`."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.commands._options import (
    AsJson,
    ConfigName,
    ContextColumn,
    DataDir,
    GroupColumn,
    ImageColumn,
    LabelColumn,
    Options,
    Source,
    Usual,
    check_pairs,
    done,
    out_console,
    without_weight_bars,
    writes,
)
from oochub.storage.artifacts import RUN


def train(
    source: Source,
    out: Annotated[
        Path, typer.Option(callback=writes(RUN), help="The folder of the run: model, image processor, recipe, card.")
    ],
    objective: Annotated[str, typer.Option(help="One of `oochub list objective`.")] = "erm",
    hyperparameter: Annotated[
        list[str] | None, typer.Option("--set", callback=check_pairs, help="Of the objective, key=value.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="A model folder or Hub id, or one of `oochub list model` (untrained); default a small one."),
    ] = None,
    environments: Annotated[
        str | None,
        typer.Option(
            help="Column of the environments; default the benchmark's. Of found contexts: contexts:NAME, contexts (the "
            "one of each row), label/contexts:NAME, label/contexts (groups)."
        ),
    ] = None,
    num_train_epochs: Annotated[int, typer.Option(help="Passes over the training split, at most.", min=1)] = 12,
    per_device_train_batch_size: Annotated[int, typer.Option(help="Rows a step, on each device.", min=1)] = 64,
    learning_rate: Annotated[float, typer.Option(help="The largest of the schedule.", min=0)] = 2e-3,
    weight_decay: Annotated[float, typer.Option(help="Of the optimizer.", min=0)] = 1e-3,
    report_to: Annotated[
        str, typer.Option(help="A tracker of Accelerate: tensorboard, trackio, wandb, ...; its package is to be there.")
    ] = "none",
    early_stopping_patience: Annotated[
        int, typer.Option(help="Epochs without a better loss; 0 never stops.", min=0)
    ] = 0,
    seed: Annotated[
        int, typer.Option(help="Of new weights, the order of rows and augmentation.", min=0, max=2**32 - 1)
    ] = 0,
    image_size: Annotated[
        int | None, typer.Option(help="Squeeze whole pictures to so many pixels a side.", min=1)
    ] = None,
    pretrained: Annotated[bool, typer.Option(help="Load the weights of the model, not its architecture alone.")] = True,
    argument: Annotated[
        list[str] | None,
        typer.Option(
            callback=check_pairs,
            help="Any other field of RobustTrainingArguments, key=value, e.g. optim=sgd; repeatable.",
        ),
    ] = None,
    image_column: ImageColumn = None,
    label_column: LabelColumn = None,
    context_column: ContextColumn = None,
    group_column: GroupColumn = None,
    usual: Usual = None,
    config: ConfigName = None,
    data_dir: DataDir = None,
    option: Options = None,
    hold_out: Annotated[
        bool,
        typer.Option(
            help="Half of the rows that would choose the epoch and stand in the report as well choose it, by a hash of "
            "their ids; the report is of the others."
        ),
    ] = False,
    overwrite: Annotated[bool, typer.Option(help="Replace another run in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model with a robust objective; run again after an interruption, it goes on."""
    from oochub.data.columns import parse_usual
    from oochub.records.parameters import parse_options
    from oochub.training import train as run

    without_weight_bars()
    result = run(
        source,
        out,
        objective=objective,
        hyperparameters=parse_options(hyperparameter or [], by="--set"),
        model=model,
        environments=environments,
        arguments={
            "num_train_epochs": num_train_epochs,
            "per_device_train_batch_size": per_device_train_batch_size,
            "learning_rate": learning_rate,
            "weight_decay": weight_decay,
            "report_to": report_to,
            "early_stopping_patience": early_stopping_patience,
            "seed": seed,
            **parse_options(argument or [], by="--argument"),
        },
        image_size=image_size,
        pretrained=pretrained,
        config=config,
        label=label_column,
        context=context_column,
        group=group_column,
        image=image_column,
        usual=parse_usual(usual) if usual else None,
        data_dir=data_dir,
        options=parse_options(option or []),
        hold_out=hold_out,
        overwrite=overwrite,
        callbacks=[_EpochLines()],
    )
    if not as_json:
        from oochub.storage.reading import read_json

        out_console.print(f"Kept: {read_json(out / 'recipe.json')['selection']['rule']}.", markup=False)
        columns = {"--label-column": label_column, "--context-column": context_column, "--image-column": image_column}
        given = {"--config": config, "--data-dir": data_dir, **columns, "--group-column": group_column}
        words = [str(out), source, *(word for name, value in given.items() if value for word in (name, value))]
        out_console.print(f"Next: oochub audit {shlex.join(words)}", markup=False)
    done(result, as_json)


class _EpochLines:
    """A line an epoch on standard error, above the bar where there is one."""

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
