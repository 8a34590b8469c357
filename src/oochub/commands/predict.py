"""The command `oochub predict`."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from oochub.commands._options import (
    AsJson,
    Cache,
    Compile,
    ConfigName,
    ContextColumn,
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
    Restrict,
    SkipBroken,
    Source,
    Usual,
    check_models,
    columns_of,
    done,
    mode_settings,
    without_weight_bars,
    writes,
)
from oochub.storage.artifacts import PREDICTIONS


def predict(
    model: Model,
    source: Source,
    out: Annotated[Path, typer.Option(callback=writes(PREDICTIONS), help="The Parquet file of the predictions.")],
    split: Annotated[list[str] | None, typer.Option(help="Repeatable; default validation and test.")] = None,
    features: Annotated[bool, typer.Option(help="Store the features before the head, and the head.")] = False,
    batch_size: Annotated[
        int | None, typer.Option(help="Rows a forward pass; default 16, on a GPU 128.", min=1)
    ] = None,
    images: Annotated[bool, typer.Option(help="Keep small pictures of the worst mistakes.")] = True,
    preprocessing: Preprocessing = "auto",
    image_processor: ImageProcessor = None,
    mode: ModeName = "auto",
    label_map: LabelMapFile = None,
    restrict: Restrict = False,
    mode_option: ModeOptions = None,
    odin: Annotated[
        float | None,
        typer.Option(help="Epsilon of ODIN: also the logits of pictures perturbed by it. Usual 0.0014.", min=0),
    ] = None,
    odin_temperature: Annotated[float, typer.Option(help="Of ODIN's gradient.", min=0)] = 1000.0,
    zoom: Annotated[
        float | None,
        typer.Option(help="Factor above 1: also the logits of the zoomed pictures, for --probe zoom.", min=0),
    ] = None,
    device: Device = "auto",
    dtype: Dtype = "auto",
    limit: Limit = None,
    skip_broken: SkipBroken = False,
    num_workers: NumWorkers = None,
    compile: Compile = False,
    cache: Cache = True,
    engine: Annotated[
        Literal["local", "ray"], typer.Option(help="local: this process, or those of torchrun; ray: a cluster of Ray.")
    ] = "local",
    ray_address: Annotated[
        str | None, typer.Option(help="Of a cluster of Ray; without it one is started on this machine.")
    ] = None,
    actors: Annotated[
        int | None, typer.Option(help="Copies of the model in the cluster; default one a GPU, else one a CPU.", min=1)
    ] = None,
    image_column: ImageColumn = None,
    label_column: LabelColumn = None,
    context_column: ContextColumn = None,
    group_column: GroupColumn = None,
    usual: Usual = None,
    config: ConfigName = None,
    data_dir: DataDir = None,
    option: Options = None,
    as_json: AsJson = False,
) -> None:
    """Predicts every example of the splits; the file opens in pandas."""
    check_models(model, image_processor=image_processor)
    from oochub.data.load import load_columns
    from oochub.prediction.predict import predict as run
    from oochub.process.ranks import Ranks
    from oochub.records.parameters import parse_options

    settings = mode_settings(label_map, restrict, mode_option)
    without_weight_bars()
    columns = columns_of(
        image=image_column, label=label_column, context=context_column, group=group_column, usual=usual
    )
    data = load_columns(
        source, columns, config=config, data_dir=data_dir, options=parse_options(option or []), in_place=True
    )
    predictions = run(
        model,
        data,
        splits=split or None,
        features=features,
        batch_size=batch_size,
        images=images,
        preprocessing=preprocessing,
        image_processor=image_processor,
        odin=odin,
        odin_temperature=odin_temperature,
        zoom=zoom,
        device=device,
        dtype=dtype,
        limit=limit,
        skip_broken=skip_broken,
        num_workers=num_workers,
        compile=compile,
        out=out,
        cache=cache,
        engine=engine,
        ray_address=ray_address,
        actors=actors,
        mode=mode,
        **settings,
    )
    if not Ranks.here().is_first:
        return
    cached = predictions.metadata.provenance["when"].get("cached")
    if cached is not None:
        typer.echo(f"No model was run: the same was predicted at {cached}. --no-cache predicts again.", err=True)
    done({"predictions": str(out), "rows": len(predictions), "cached": cached is not None}, as_json)
