"""The command `oochub audit`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.commands._options import (
    AsJson,
    Cache,
    ChooseOn,
    Compile,
    ConfigName,
    ContextColumn,
    ContextModel,
    ContextNames,
    ContextOptions,
    CorrectionName,
    DataDir,
    Device,
    Dtype,
    GroupColumn,
    ImageColumn,
    ImageProcessor,
    LabelColumn,
    LabelMapFile,
    Limit,
    Model,
    ModeName,
    ModeOptions,
    NumWorkers,
    Options,
    Preprocessing,
    ProbeOptions,
    Restrict,
    SkipBroken,
    Source,
    Usual,
    check_models,
    context_settings,
    done,
    mode_settings,
    out_console,
    probe_settings,
    without_weight_bars,
    writes,
)
from oochub.errors import OochubError
from oochub.storage.artifacts import AUDIT


def audit(
    model: Model,
    source: Source,
    out: Annotated[
        Path, typer.Option(callback=writes(AUDIT), help="The folder for predictions, report and page.")
    ] = Path("audit"),
    config: ConfigName = None,
    label_column: LabelColumn = None,
    context_column: ContextColumn = None,
    group_column: GroupColumn = None,
    image_column: ImageColumn = None,
    usual: Usual = None,
    contexts: Annotated[
        str | None,
        typer.Option(help="Find contexts in the pictures first, by one of `oochub list context`: properties, ..."),
    ] = None,
    context_model: ContextModel = None,
    context_names: ContextNames = None,
    context_option: ContextOptions = None,
    choose_on: ChooseOn = "auto",
    correction: CorrectionName = "holm",
    probe: Annotated[
        str | None,
        typer.Option(help="background: ask about the object alone, the background alone, and the object on others."),
    ] = None,
    masks: Annotated[
        Path | None,
        typer.Option(help="For --probe: folder of masks, EXAMPLE_ID.png, white on the object, or raw COCO."),
    ] = None,
    boxes: Annotated[
        str | None, typer.Option(help="For --probe: column of boxes around the object, x1, y1, x2, y2 in pixels.")
    ] = None,
    segmenter: Annotated[
        str | None, typer.Option(metavar="MODEL", help="For --probe: a semantic segmenter that finds the object.")
    ] = None,
    probe_option: ProbeOptions = None,
    split: Annotated[list[str] | None, typer.Option(help="Repeatable; default all but train.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Rows a forward pass; default 16, on a GPU 128.", min=1)
    ] = None,
    preprocessing: Preprocessing = "auto",
    image_processor: ImageProcessor = None,
    mode: ModeName = "auto",
    label_map: LabelMapFile = None,
    restrict: Restrict = False,
    mode_option: ModeOptions = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    limit: Limit = None,
    skip_broken: SkipBroken = False,
    num_workers: NumWorkers = None,
    compile: Compile = False,
    cache: Cache = True,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.", min=0, max=2**32 - 1)] = 0,
    data_dir: DataDir = None,
    option: Options = None,
    as_json: AsJson = False,
) -> None:
    """Says whether a model relies on context: predicts, evaluates and makes the page; run again, it keeps each step."""
    check_models(model, image_processor=image_processor)
    from oochub.auditing import audit as run
    from oochub.data.columns import parse_usual
    from oochub.records.parameters import parse_options
    from oochub.records.schema import to_json
    from oochub.report.tables import terminal
    from oochub.report.verdict import verdict

    predictions = out / _FILES["predictions"]
    before = _times(predictions, out / _FILES["report"])
    found_by = context_settings(context_model, context_names, context_option, by="--context-option")
    if contexts is None and (found_by or choose_on != "auto"):
        raise OochubError(
            "--context-model, --context-names, --context-option and --choose-on go with --contexts WAY: name the way."
        )
    asked = probe_settings(masks, boxes, segmenter, probe_option)
    if probe is None and asked:
        raise OochubError(
            "--masks, --boxes, --segmenter and --probe-option go with --probe background: name the probe."
        )
    settings = mode_settings(label_map, restrict, mode_option)
    without_weight_bars()
    report = run(
        model,
        source,
        label=label_column,
        context=context_column,
        group=group_column,
        image=image_column,
        usual=parse_usual(usual) if usual else None,
        config=config,
        data_dir=data_dir,
        options=parse_options(option or []) or None,
        splits=split or None,
        out=out,
        contexts=contexts,
        context_settings=found_by or None,
        choose_on=choose_on,
        correction=correction,
        probe=probe,
        probe_settings=asked or None,
        batch_size=batch_size,
        preprocessing=preprocessing,
        image_processor=image_processor,
        device=device,
        dtype=dtype,
        limit=limit,
        skip_broken=skip_broken,
        num_workers=num_workers,
        compile=compile,
        cache=cache,
        mode=mode,
        **settings,
        seed=seed,
    )
    after = _times(predictions, out / _FILES["report"])
    if before[0] is not None and before[0] == after[0] and (probe is None or before == after):
        typer.echo(f"No model was run: {predictions} is of the same model, data and settings.", err=True)
    said = verdict(report)
    result: dict[str, Any] = {name: str(out / file) for name, file in _FILES.items()}
    if as_json:
        findings = report.contexts.contexts if report.contexts else None
        found = {} if findings is None else {"shown": [each.name for each in findings if each.status == "shown"]}
        answer = {"headline": said.sentence, "case": said.case, "gap": to_json(report.gap.estimate), **found}
        if report.background is not None:
            answer["background_gap"] = to_json(report.background.gap)
        done({**answer, **result}, as_json)
        return
    out_console.print(terminal(report))
    out_console.print()
    out_console.print(f"{said.sentence} {said.lead}", markup=False)
    done({"page": result["page"]}, as_json)


_FILES = {"predictions": "predictions.parquet", "report": "report.json", "page": "report.html"}


def _times(*files: Path) -> list[int | None]:
    """When the files were written; None for one that is not there."""
    return [file.stat().st_mtime_ns if file.exists() else None for file in files]
