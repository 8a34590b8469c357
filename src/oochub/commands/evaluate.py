"""The command `oochub evaluate`."""

import json
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any

import typer

from oochub.commands._options import (
    AsJson,
    ConfigName,
    ContextColumn,
    CorrectionName,
    DataDir,
    GroupColumn,
    ImageColumn,
    LabelColumn,
    Options,
    Usual,
    done,
    out_console,
    writes,
)
from oochub.errors import OochubError
from oochub.storage.artifacts import PREDICTIONS, REPORT, REPORTS
from oochub.storage.files import check_writable

if TYPE_CHECKING:
    from oochub.report.report import Report


def evaluate(
    predictions: Annotated[
        list[Path],
        typer.Argument(
            help="Files of `oochub predict`, of one model; with detectors of several sets. With --benchmark "
            "CSV, Parquet or NPZ files of any program."
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="The JSON file of the report; a folder for several tasks. Without it the report is printed."),
    ] = None,
    metric: Annotated[list[str] | None, typer.Option(help="Repeatable; default the benchmark's.")] = None,
    match: Annotated[
        str | None,
        typer.Option(help="Also the gap at equal values of this column (area), or equal shares of classes (label)."),
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option(help="Of nooch/all: ce_car, gist_car, ...; repeatable; every for all of them.")
    ] = None,
    detector: Annotated[
        list[str] | None, typer.Option(help="Also this out-of-distribution detector; repeatable.")
    ] = None,
    reference: Annotated[Path | None, typer.Option(help="Predictions of the training split, to fit detectors.")] = None,
    pair: Annotated[
        list[str] | None, typer.Option(help="IN:OUT, configs to set against each other; repeatable; default all.")
    ] = None,
    probe: Annotated[
        list[str] | None, typer.Option(help="zoom: how far a zoom that changes no answer moves the detectors' scores.")
    ] = None,
    classes: Annotated[
        str, typer.Option(help="What an answer may be: all classes, or those present in its set.")
    ] = "all",
    correction: CorrectionName = "holm",
    benchmark: Annotated[
        str | None,
        typer.Option(help="What a CSV, Parquet or NPZ file of answers is of: spawrious/o2o_hard, or own data."),
    ] = None,
    config: ConfigName = None,
    image_column: ImageColumn = None,
    label_column: LabelColumn = None,
    context_column: ContextColumn = None,
    group_column: GroupColumn = None,
    usual: Usual = None,
    data_dir: DataDir = None,
    option: Options = None,
    model_name: Annotated[str | None, typer.Option(help="Of such a file; default its stem.")] = None,
    keep: Annotated[
        Path | None,
        typer.Option(callback=writes(PREDICTIONS), help="Also such a file as Parquet of oochub, for compare."),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.", min=0, max=2**32 - 1)] = 0,
    as_json: AsJson = False,
) -> None:
    """Scores predictions: metrics with intervals in and out of context, groups, worst mistakes."""
    several = task is not None and (len(task) > 1 or "every" in task)
    if out is not None:
        check_writable(out, kind=REPORTS if several else REPORT)
    from oochub.data.columns import parse_usual
    from oochub.evaluation.evaluate import evaluate as run
    from oochub.records.parameters import parse_options
    from oochub.report.report import Report
    from oochub.report.tables import terminal

    if task and (detector or reference or pair or probe or classes != "all"):
        raise OochubError(
            "Detectors compare sets, not tasks: leave out --task, or --detector, --reference, --pair, --probe and "
            "--classes."
        )

    columns = {"image": image_column, "label": label_column, "context": context_column, "group": group_column}
    usual_contexts, options = parse_usual(usual or []) or None, parse_options(option or [])
    loading = {"config": config, **columns, "usual": usual_contexts, "options": options}
    source: dict[str, Any] = {"benchmark": benchmark, "data_dir": data_dir, "model_name": model_name}
    if keep is not None:
        if benchmark is None:
            raise OochubError("--keep is read with --benchmark only. Name it, or leave it out.")
        predictions, source, loading = [_kept(predictions, keep, source | loading)], {}, {}
    if task:
        from oochub.evaluation.tasks import evaluate_tasks

        with TemporaryDirectory() as scratch:
            written = evaluate_tasks(
                predictions,
                task,
                out or Path(scratch, "reports" if several else "report.json"),
                source=source | loading,
                metrics=metric or None,
                match=match,
                correction=correction,
                seed=seed,
            )
            if out is None:
                _print({name: Report.load(file) for name, file in written.items()}, as_json)
                return
        if len(written) == 1 and not as_json:
            out_console.print(terminal(Report.load(*written.values())))
        done({"reports": len(written), "report": str(out)}, as_json)
        return
    report = run(
        list(predictions),
        metrics=metric or None,
        match=match,
        detectors=detector or None,
        reference=reference,
        pairs=[_pair(names) for names in pair] if pair else None,
        probes=probe or [],
        correction=correction,
        classes=classes,  # type: ignore[arg-type]  # evaluate checks it
        seed=seed,
        loading=loading,
        **source,
    )
    kept = {} if keep is None else {"predictions": str(keep)}
    if out is None:
        _print({"": report}, as_json)
        if not as_json:
            done(kept, as_json)
        return
    report.save(out)
    if not as_json:
        out_console.print(terminal(report))
    done({"report": str(out), **kept}, as_json)


def _print(reports: Mapping[str, "Report"], as_json: bool) -> None:
    """Reports that no file keeps: as tables, each below its task; as JSON whole, of several tasks by their names."""
    from oochub.records.schema import to_json
    from oochub.report.tables import terminal

    if as_json:
        whole = {name: to_json(report) for name, report in reports.items()}
        out_console.print_json(json.dumps(next(iter(whole.values())) if len(whole) == 1 else whole))
        return
    for name, report in reports.items():
        if len(reports) > 1:
            out_console.print(f"\n== {name}", markup=False)
        out_console.print(terminal(report))


def _kept(answers: list[Path], keep: Path, source: Mapping[str, Any]) -> Path:
    """The file of predictions that files of answers became."""
    from oochub.evaluation.evaluation_inputs import open_parts
    from oochub.prediction.concatenate import concatenate

    return concatenate(open_parts(answers, **source)).save(keep)


def _pair(words: str) -> tuple[str, str]:
    inside, _, outside = words.partition(":")
    if not (inside and outside):
        raise OochubError(f"--pair takes IN:OUT, as imagenet_1k:imagenet_ood, got {words!r}.")
    return inside, outside
