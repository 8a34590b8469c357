"""The command `oochub nooch gallery`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.commands._options import AsJson, print_result, writes
from oochub.commands._signature import shown
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import CSV, FIGURE


def gallery(
    raw: Annotated[
        DataSettings,
        shown(only=("data_dir", "options")),
    ],
    predictions: Annotated[list[Path], typer.Argument(help="Files of `oochub predict`; the first one is ranked.")],
    out: Annotated[Path, typer.Option(callback=writes(FIGURE), help="File for the figure: .png, .pdf or .svg.")],
    than: Annotated[
        Path | None, typer.Option(help="Show images on which the first model is better than this one.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(help="ce or gist: show images that are hard by this criterion and easy by the other."),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help="Kind to show: hard_positive, hard_negative, easy_positive, easy_negative; repeatable."),
    ] = None,
    columns: Annotated[int, typer.Option(help="Images of each kind; with 1 the kinds stand side by side.", min=1)] = 4,
    split: Annotated[str, typer.Option(help="Split to choose from.")] = "test",
    task: Annotated[str | None, typer.Option(help="For predictions for nooch/all: the task, such as ce_car.")] = None,
    name: Annotated[
        list[str] | None, typer.Option(help="Name of each model in order, --than last; repeatable.")
    ] = None,
    outlines: Annotated[bool, typer.Option(help="Outline object and contexts, from the raw masks.")] = True,
    export: Annotated[
        Path | None,
        typer.Option(
            callback=writes(CSV),
            help="Write a CSV of the examples shown here, with a column `doubtful` to mark labels in.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows what a model gets most wrong out of context, and most right in context."""
    from oochub.benchmark import find_data_folder
    from oochub.catalog import get
    from oochub.data.load import load
    from oochub.errors import OochubError
    from oochub.evaluation.tasks import task as task_of
    from oochub.figures._chosen_examples import choose_examples
    from oochub.figures.gallery import gallery as draw
    from oochub.prediction.predictions import Predictions
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole

    def read(path: Path) -> Predictions:
        loaded = Predictions.load(path)
        if loaded.metadata.benchmark != "nooch":
            raise OochubError(
                f"{path} holds predictions for {loaded.metadata.benchmark}, but a gallery needs a task of nooch."
            )
        return task_of(loaded, task) if task else loaded  # type: ignore[no-any-return]

    models = [read(path) for path in predictions]
    options: dict[str, Any] = {"only": only, "kinds": kind or None, "split": split, "names": name or None}
    options["than"] = read(than) if than else None
    chosen = choose_examples(models, most=columns, **options)
    folder = find_data_folder(get("benchmark", "nooch"), raw.data_dir)
    about = models[0].metadata
    config = f"nooch/{about.task_of or about.config}"
    data = load(config, data_dir=str(folder), options=raw.options or {})
    ax = draw(models, data, columns=columns, coco=folder if outlines else None, **options)
    with write_whole(out, kind=FIGURE) as draft:
        ax.figure.canvas.figure.savefig(draft, dpi=150, format=out.suffix.lower().removeprefix(".") or "png")
    if export is not None:
        with write_whole(export, kind=CSV) as draft:
            draft.write_text(format_csv(chosen.assign(doubtful="")), "utf-8")
    print_result({"figure": str(out)} | ({"export": str(export)} if export else {}), as_json)
