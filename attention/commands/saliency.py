"""The command `oochub saliency`."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from oochub.commands._options import (
    MORE,
    AsJson,
    Model,
    Source,
    check_models,
    out_console,
    print_result,
    shown,
    without_weight_bars,
    writes,
)
from oochub.settings.data_settings import DataSettings
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.storage.artifacts import CSV, FIGURE

if TYPE_CHECKING:
    import pandas as pd

    from oochub.attention.attention import Attention
    from oochub.attention.attention_map import ObjectShare

PANEL = "Predict and score"

_Beside = Annotated[
    str | None, typer.Option(metavar="MODEL", help="A second model that classifies the images correctly.")
]
_Numbers = Annotated[
    Path | None, typer.Option(callback=writes(CSV), help="Write a CSV with one line per image and model to this file.")
]
_Label = Annotated[
    str | None, typer.Option(help="True class of the images (default: the most often misclassified class).")
]
_Answer = Annotated[str | None, typer.Option(rich_help_panel=MORE, help="Predicted class of the images.")]
_Pictures = Annotated[int, typer.Option(help="Number of images to show, the most confident mistakes first.", min=1)]
_Masks = Annotated[
    Path | None,
    typer.Option(
        help=(
            "Folder of masks (EXAMPLE_ID.png, object in white) or raw COCO folder, to measure the "
            "attention on the object."
        )
    ),
]
_Most = Annotated[
    int, typer.Option(rich_help_panel=MORE, help="With --masks: number of images for the mean share.", min=1)
]
_Samples = Annotated[int, typer.Option(rich_help_panel=MORE, help="Number of noisy copies of each image.", min=1)]
_Noise = Annotated[
    float,
    typer.Option(rich_help_panel=MORE, help="Standard deviation of the noise, in units of normalized pixels.", min=0),
]
_Variant = Annotated[
    Literal["paper", "torchcam"],
    typer.Option(rich_help_panel=MORE, help="torchcam: compute the map as torchcam does, for comparison."),
]
_Seed = Annotated[
    int,
    typer.Option(rich_help_panel=MORE, help="Random seed for the noise and the bootstrap.", min=0, max=2**32 - 1),
]
_Split = Annotated[
    str | None,
    typer.Option(
        rich_help_panel=MORE, help="Split to take the images from (default: the split of the report's headline number)."
    ),
]


def saliency(
    model: Model,
    source: Source,
    data: DataSettings,
    how: ModelSettings,
    asked: Annotated[PredictionSettings, shown(only=("device", "limit", "skip_broken", "cache"))],
    out: Annotated[Path, typer.Option(callback=writes(FIGURE), help="File for the figure: .png, .pdf or .svg.")],
    beside: _Beside = None,
    numbers: _Numbers = None,
    label: _Label = None,
    answer: _Answer = None,
    pictures: _Pictures = 6,
    masks: _Masks = None,
    most: _Most = 200,
    samples: _Samples = 4,
    noise: _Noise = 0.3,
    variant: _Variant = "paper",
    seed: _Seed = 0,
    split: _Split = None,
    as_json: AsJson = False,
) -> None:
    """Show which parts of an image a model attended to in its out-of-context mistakes.

    Draws Smooth Grad-CAM++ maps for the predicted class. With --beside, a second row shows another model that gets the
    same images right. With --masks, it also prints the mean share of attention on the object.
    """
    from oochub.attention.object_masks import ObjectMasks

    check_models(model, beside, how=how, device=asked.device)
    if masks is not None:
        ObjectMasks(masks)
    from oochub.attention.attention import attention
    from oochub.attention.attention_map import measure_object_shares
    from oochub.catalog import get
    from oochub.data.load import open_data
    from oochub.records.schema import to_json
    from oochub.stats.estimate import Sampling
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole

    without_weight_bars()
    loaded = open_data(source, data, in_place=True).splits
    result = attention(
        model,
        loaded,
        beside=beside,
        split=split,
        label=label,
        answer=answer,
        pictures=pictures,
        masks=masks,
        most=most,
        samples=samples,
        noise=noise,
        variant=variant,
        seed=seed,
        device=asked.device,
        cache=asked.cache,
        mode=how.mode,
        processor=how.image_processor,
        limit=asked.limit,
        skip_broken=asked.skip_broken,
        **how.of_mode,
    )
    figure = get("figure", "saliency")(result).figure.canvas.figure
    with write_whole(out, kind=FIGURE) as draft:
        figure.savefig(draft, dpi=150, format=out.suffix.lower().removeprefix(".") or "png")
    if numbers is not None:
        with write_whole(numbers, kind=CSV) as draft:
            draft.write_text(format_csv(result.table()), "utf-8")
    shares = measure_object_shares(result.maps, Sampling(seed=seed))
    written: dict[str, Any] = {"figure": str(out)} | ({"numbers": str(numbers)} if numbers else {})
    if as_json:
        about = {
            "label": result.label,
            "answer": result.answer,
            "mistakes": result.n,
            "rows": result.rows,
            "notes": result.notes,
        }
        print_result(about | {"shares": [to_json(share) for share in shares]} | written, as_json)
        return
    _print_mistakes(result, shares)
    print_result(written, as_json)


def _print_mistakes(found: "Attention", shares: "Sequence[ObjectShare]") -> None:
    """Prints how many mistakes there are of which rows, and the shares of attention on the object."""
    from oochub.report.report import frame_table

    out_console.print(
        f"{found.n:,} {found.label} taken for {found.answer} by {found.models[0]}, of {found.rows}.", markup=False
    )
    for note in found.notes:
        out_console.print(f"Note: {note}", markup=False)
    if shares:
        out_console.print(*frame_table(_build_table(shares)).to_terminal())


def _build_table(shares: "Sequence[ObjectShare]") -> "pd.DataFrame":
    import pandas as pd

    from oochub.report.format_numbers import fraction, interval, interval_points, points

    return pd.DataFrame(
        [
            {
                "Model": share.model,
                "Pictures": share.rows,
                "n": share.share.n,
                "Attention on object, %": _format_with_interval(fraction(share.share), interval(share.share)),
                "Its area, %": fraction(share.area),
                "Difference, points": _format_with_interval(points(share.over_area), interval_points(share.over_area)),
                "No map": share.n_zero,
                "No object": share.n_empty,
            }
            for share in shares
        ]
    )


def _format_with_interval(value: str, interval: str) -> str:
    return f"{value} ({interval})" if interval else value
