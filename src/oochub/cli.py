"""The command line: one verb a step, from a raw folder to a report."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from oochub import catalog
from oochub.errors import OochubError

app = typer.Typer(
    name="oochub",
    help="Out-of-context benchmarks: build, train, predict, evaluate, report.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog="First steps:  oochub demo  |  oochub list  |  oochub show benchmark nooch",
)
_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

_INTERRUPTED = 130

BenchmarkName = Annotated[str, typer.Argument(metavar="BENCHMARK/CONFIG", help="For example nooch/ce_car.")]
DataDir = Annotated[str | None, typer.Option(help="The raw folder; default $OOCHUB_DATA/<benchmark>.")]
Options = Annotated[
    list[str] | None, typer.Option("--option", help="An option of the benchmark, key=value; repeatable.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]


def _version(asked: bool) -> None:
    if asked:
        _out.print(f"oochub {version('oochub')}")
        raise typer.Exit


@app.callback()
def _common(
    asked: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # its hints are for programmers
    if not sys.stderr.isatty():
        import datasets

        datasets.disable_progress_bars()


@app.command(name="list")
def list_(
    kind: Annotated[str | None, typer.Argument(help="benchmark, metric, objective, detector or criterion.")] = None,
    as_json: AsJson = False,
) -> None:
    """Lists what the hub has: benchmarks, metrics, objectives, detectors, criteria."""
    wanted = [kind] if kind else catalog.kinds()
    found = {one: {name: catalog.summary(one, name) for name in catalog.names(one)} for one in wanted}
    if as_json:
        _out.print_json(json.dumps(found))
        return
    for one, entries in found.items():
        table = Table(title=one, title_justify="left", box=None, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True, style="bold")
        table.add_column()
        for name, text in entries.items():
            table.add_row(name, text)
        _out.print(table if entries else f"[italic]{one}[/italic]\nnone in this version")
        _out.print()


@app.command()
def show(kind: str, name: str) -> None:
    """Shows one thing: of a benchmark its files and where to get them, of the others their documentation."""
    from oochub.showing import describe

    _out.print(describe(kind, name), markup=False)


@app.command()
def build(
    benchmark: BenchmarkName,
    out: Annotated[Path, typer.Option(help="The folder of the Parquet repository.")],
    data_dir: DataDir = None,
    option: Options = None,
    num_proc: Annotated[int | None, typer.Option(help="Processes to build with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Builds a benchmark into a Parquet repository with a card; plain `datasets` loads it, without oochub."""
    from oochub.loading import parse_options
    from oochub.loading_scripts.parquet_repository import parquet_repository

    path = parquet_repository(benchmark, out, data_dir=data_dir, options=parse_options(option or []), num_proc=num_proc)
    _done({"repository": str(path)}, as_json)


@app.command()
def train(
    benchmark: BenchmarkName,
    out: Annotated[Path, typer.Option(help="The folder of the run: model, image processor, recipe, card.")],
    objective: Annotated[str, typer.Option(help="One of `oochub list objective`.")] = "erm",
    hyperparameter: Annotated[list[str] | None, typer.Option("--set", help="Of the objective, key=value.")] = None,
    model: Annotated[str, typer.Option(help="A model folder or Hub id, or resnet-tiny (untrained).")] = "resnet-tiny",
    environments: Annotated[
        str | None, typer.Option(help="Column of the environments; default the benchmark's.")
    ] = None,
    num_train_epochs: Annotated[int, typer.Option(help="Passes over the training split, at most.")] = 12,
    per_device_train_batch_size: int = 64,
    learning_rate: float = 2e-3,
    weight_decay: float = 1e-3,
    early_stopping_patience: Annotated[int, typer.Option(help="Epochs without a better loss; 0 never stops.")] = 0,
    seed: int = 0,
    image_size: Annotated[int | None, typer.Option(help="Pixels; only for resnet-tiny.")] = None,
    data_dir: DataDir = None,
    option: Options = None,
    overwrite: Annotated[bool, typer.Option(help="Replace another run in the folder.")] = False,
    as_json: AsJson = False,
) -> None:
    """Trains a model with a robust objective; run again after an interruption, it goes on."""
    from oochub.loading import parse_options
    from oochub.training import train as run

    _without_weight_bars()
    result = run(
        benchmark,
        out,
        objective=objective,
        hyperparameters=parse_options(hyperparameter or []),
        model=model,
        environments=environments,
        arguments={
            "num_train_epochs": num_train_epochs,
            "per_device_train_batch_size": per_device_train_batch_size,
            "learning_rate": learning_rate,
            "weight_decay": weight_decay,
            "early_stopping_patience": early_stopping_patience,
            "seed": seed,
        },
        image_size=image_size,
        data_dir=data_dir,
        options=parse_options(option or []),
        overwrite=overwrite,
    )
    _done(result, as_json)


@app.command()
def predict(
    model: Annotated[str, typer.Argument(help="A run of `oochub train`, a model folder, or a Hub id.")],
    benchmark: BenchmarkName,
    out: Annotated[Path, typer.Option(help="The Parquet file of the predictions.")],
    split: Annotated[list[str] | None, typer.Option(help="Repeatable; default validation and test.")] = None,
    features: Annotated[bool, typer.Option(help="Store the features before the head, and the head.")] = False,
    batch_size: int | None = None,
    images: Annotated[bool, typer.Option(help="Keep small pictures of the worst mistakes.")] = True,
    preprocessing: Annotated[str, typer.Option(help="fused (fast) or processor (the model's own).")] = "fused",
    data_dir: DataDir = None,
    option: Options = None,
    as_json: AsJson = False,
) -> None:
    """Predicts every example of the splits; the file opens in pandas."""
    from oochub.files import check_writable
    from oochub.loading import load, parse_options
    from oochub.prediction import predict as run

    check_writable(out)
    _without_weight_bars()
    data = load(benchmark, data_dir=data_dir, options=parse_options(option or []))
    made = run(
        model,
        data,
        splits=split or None,
        features=features,
        batch_size=batch_size,
        images=images,
        preprocessing=preprocessing,
        out=out,
    )
    _done({"predictions": str(out), "rows": len(made)}, as_json)


@app.command()
def evaluate(
    predictions: Annotated[list[Path], typer.Argument(help="Files of `oochub predict`, of one model.")],
    out: Annotated[Path, typer.Option(help="The JSON file of the report.")],
    metric: Annotated[list[str] | None, typer.Option(help="Repeatable; default the benchmark's.")] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Scores predictions: metrics with intervals in and out of context, groups, worst mistakes."""
    from oochub.evaluation import evaluate as run
    from oochub.files import check_writable
    from oochub.tables import terminal

    check_writable(out)
    report = run(list(predictions), metrics=metric or None, seed=seed)
    report.save(out)
    if not as_json:
        _out.print(terminal(report.data))
    _done({"report": str(out)}, as_json)


@app.command()
def report(
    report: Annotated[Path, typer.Argument(help="A report.json of `oochub evaluate`.")],
    html: Annotated[Path | None, typer.Option(help="Write the self-contained page here.")] = None,
    markdown: Annotated[Path | None, typer.Option(help="Write Markdown tables here.")] = None,
    latex: Annotated[Path | None, typer.Option(help="Write a LaTeX table here.")] = None,
    images: Annotated[bool, typer.Option(help="Pictures of the worst mistakes on the page.")] = True,
    as_json: AsJson = False,
) -> None:
    """Turns a report into a page, Markdown or LaTeX; without an output it prints the tables."""
    from oochub.files import check_writable, written_whole
    from oochub.report import Report
    from oochub.tables import terminal

    outputs = {name: path for name, path in (("html", html), ("markdown", markdown), ("latex", latex)) if path}
    for path in outputs.values():
        check_writable(path)
    loaded = Report.load(report)
    texts = {
        "html": lambda: loaded.to_html(images=images),
        "markdown": loaded.to_markdown,
        "latex": loaded.to_latex,
    }
    for name, path in outputs.items():
        text = texts[name]()
        with written_whole(path) as draft:
            draft.write_text(text, "utf-8")
    if not outputs and not as_json:
        _out.print(terminal(loaded.data))
    _done({name: str(path) for name, path in outputs.items()}, as_json)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the toy worlds, runs and reports.")] = Path("demo"),
    seed: int = 0,
) -> None:
    """The main job on toy worlds, minutes on a laptop: build, train ERM and GroupDRO, evaluate, report."""
    from oochub.demo import demo as run

    _without_weight_bars()

    run(out, seed=seed, console=_out)


def _without_weight_bars() -> None:
    """Loading weights takes no time worth a bar; the work itself has one."""
    from transformers.utils import logging

    logging.disable_progress_bar()


def _done(result: dict[str, Any], as_json: bool) -> None:
    if as_json:
        _out.print_json(json.dumps(result))
        return
    for path in (value for value in result.values() if isinstance(value, str)):
        _out.print(path)


def main() -> None:
    """Runs the command line: exit 0 fine, 2 what the user can fix, 130 interrupted, 1 a bug (with its traceback)."""
    try:
        app()
    except OochubError as error:
        _err.print(f"Error: {error}", markup=False)
        sys.exit(2)
    except SystemExit as stopped:
        if stopped.code == _INTERRUPTED:  # typer has caught the Ctrl-C
            _err.print("Interrupted. Nothing is half-written; the same command starts or goes on again.")
        raise


if __name__ == "__main__":
    main()
