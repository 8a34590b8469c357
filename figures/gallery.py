"""The images a model gets most wrong out of context and most right in context, object and context outlined."""

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oochub.errors import OochubError, check_installed
from oochub.figures._chosen_examples import KINDS, choose_examples
from oochub.figures._picture_grid import Picture, draw_picture_grid, read_pictures
from oochub.prediction.predictions import Predictions
from oochub.report import wording

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

_BY_GIST = {
    "hard_positive": "{} in a scene unusual for it",
    "hard_negative": "no {} in a scene usual for it",
    "easy_positive": "{} in a scene usual for it",
    "easy_negative": "no {} in a scene unusual for it",
}
_OTHER = {"ce": "gist", "gist": "co-occurrence"}


def gallery(
    models: Predictions | Sequence[Predictions],
    datasets: Any,
    *,
    than: Predictions | None = None,
    only: str | None = None,
    kinds: Sequence[str] | None = None,
    columns: int = 4,
    coco: str | Path | None = None,
    outlines: bool = True,
    split: str = "test",
    task: str | None = None,
    names: Sequence[str] | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draws the images of `choose_examples`, a row for each kind; with `columns=1` the kinds stand side by side.

    Above each image stands the negative log likelihood (NLL, nats) of each model, then how much of the image the
    object and each context take.

    Args:
        models: Predictions of one model on a NOOCH task, or of several models; the first is ranked.
        datasets: The data set that was predicted, its split, or config to data set; only the images shown are decoded.
        than: Show where the first model is better than this one.
        only: "ce" or "gist": what is hard by this criterion and easy by the other. If the predictions do not say both,
            `datasets[gist_<class>]` does.
        kinds: See `choose_examples`.
        columns: Images of each kind.
        coco: The raw folder, for the outlines of object and contexts; None draws none.
        outlines: Whether to outline object and contexts, if the raw folder is known.
        split: The split to choose from.
        task: The task to show, such as "ce_car", if these are predictions for nooch/all.
        names: Names of the models, `than` last; None takes the last part of their ids.
        ax: Axes to fill; None makes a new figure.

    Returns:
        The axes; `ax.child_axes` are the images in the order of `choose_examples`, labeled by their example_id.

    Raises:
        OochubError: Predictions for another benchmark; what `choose_examples` and `coco_outlines` raise; an image that
            is not in the data set or cannot be read; matplotlib is not installed.

    Source: Madras and Zemel, NOOCH, Figs. 1, 2, 8, 9 and 15 to 26.

    >>> import datasets, matplotlib, pyarrow as pa
    >>> from PIL import Image
    >>> matplotlib.use("Agg")
    >>> rows = {"example_id": ["7", "8"], "split": ["test"] * 2, "label": [1, 0], "logits": [[2.0, 0.0], [2.0, 0.0]]}
    >>> rows |= {"challenge": ["easy", "hard_negative"], "area": [0.1, 0.0], "context_area": [[0.3], [0.4]]}
    >>> told = {"model": {"id": "runs/erm"}, "class_names": ["no_car", "car"], "rows": {"test": 2}}
    >>> told |= {"benchmark": "nooch", "config": "ce_car", "version": "1.0.0", "facts": {"contexts": ["road"]}}
    >>> images = datasets.Dataset.from_dict(
    ...     {"example_id": ["7", "8"], "image": [Image.new("RGB", (8, 6))] * 2},
    ...     features=datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image()}),
    ... )
    >>> ax = gallery(Predictions(pa.table(rows), told), images)
    >>> [image.get_title(loc="left") for image in ax.child_axes]
    ['erm 0.13\nno car, road 40%', 'erm 2.13\ncar 10%, road 30%']
    """
    check_installed("matplotlib", "plots", "Drawing plots")
    first, other = _open_task(models, than, task)
    criteria = _read_criteria(first[0], datasets, only, split)
    chosen = choose_examples(
        first, than=other, only=only, kinds=kinds, most=columns, split=split, names=names, criteria=criteria
    )
    about = first[0].metadata
    thing, contexts = about.class_names[1], about.facts.contexts
    ids = chosen["example_id"].tolist()
    config = about.task_of or about.config
    images = read_pictures(
        datasets[config] if isinstance(datasets, Mapping) and config in datasets else datasets, split, ids
    )
    coco = coco if outlines else None
    outlined = _trace_outlines(coco, ids, thing, contexts)
    pictures: dict[str, list[Picture]] = {kind: [] for kind in kinds or KINDS[: 2 if than is not None else 3]}
    for row in chosen.to_dict("records"):
        name = row["example_id"]
        picture = Picture(
            name=name, title=_format_title(row, thing, contexts), image=images[name], outlines=outlined.get(name, {})
        )
        pictures[row["kind"]].append(picture)
    criterion = only or str(about.config).partition("_")[0]
    legend = {
        "object": wording.words(thing),
        "context": f"context: {wording.join_names([*map(wording.words, contexts)], 'or')}",
    }
    return draw_picture_grid(
        ax,
        [(_format_heading(kind, criterion, thing, contexts, only=only), of_kind) for kind, of_kind in pictures.items()],
        columns=columns,
        legend={role: words for role, words in legend.items() if coco is not None and (contexts or role == "object")},
        note=_note(chosen, than is not None),
    )


def _rows(
    models: Predictions | Sequence[Predictions],
    datasets: object = None,
    *,
    than: Predictions | None = None,
    only: str | None = None,
    kinds: Sequence[str] | None = None,
    columns: int = 4,
    split: str = "test",
    task: str | None = None,
    names: Sequence[str] | None = None,
    **_: Any,
) -> "pd.DataFrame":
    """The examples shown, with an empty column `doubtful` in which a reader can mark wrong labels."""
    first, other = _open_task(models, than, task)
    criteria = _read_criteria(first[0], datasets, only, split)
    chosen = choose_examples(
        first, than=other, only=only, kinds=kinds, most=columns, split=split, names=names, criteria=criteria
    )
    if "context_area" in chosen:
        chosen["context_area"] = [" ".join(f"{area:.4f}" for area in areas) for areas in chosen["context_area"]]
    return chosen.assign(doubtful="")


def _read_criteria(first: Predictions, datasets: object, only: str | None, split: str) -> "pd.DataFrame | None":
    """What each criterion says of the rows, by the gist task of the data set; None if the predictions say it."""
    columns = [f"challenge_{criterion}" for criterion in _OTHER]
    config = f"gist_{str(first.metadata.config).partition('_')[2]}"
    if only not in _OTHER or {*columns} <= {*first.column_names} or not isinstance(datasets, Mapping):
        return None
    if config not in datasets:
        return None
    part = datasets[config][split].select_columns(["example_id", *columns, "gist_similarity"])
    frame: pd.DataFrame = part.to_pandas()
    for column in columns:
        frame[column] = part.features[column].int2str(frame[column].tolist())
    return frame


def _open_task(
    models: Predictions | Sequence[Predictions], than: Predictions | None, task: str | None
) -> tuple[list[Predictions], Predictions | None]:
    """The task's predictions of the models and of the one they are compared with."""
    first = [models] if isinstance(models, Predictions) else list(models)
    for model in [*first, *([than] if than is not None else [])]:
        if model.metadata.benchmark != "nooch":
            raise OochubError(
                f"A gallery shows a task of nooch, but the predictions of {model.metadata.model.id} are for "
                f"{model.metadata.benchmark}."
            )
    if task is None:
        return first, than
    from oochub.evaluation.tasks import task as open_task

    return [open_task(model, task) for model in first], open_task(than, task) if than is not None else None


def _trace_outlines(
    coco: str | Path | None, ids: Sequence[str], thing: str, contexts: Sequence[str]
) -> dict[str, dict[str, list[Any]]]:
    """Example to "object" and "context" to contours."""
    if coco is None:
        return {}
    from oochub.builders.sources.coco_outlines import outlines

    strange = [name for name in ids if not name.isdecimal()]
    if strange:
        raise OochubError(
            f"Outlines go by COCO's image ids, which are numbers, but one id is {strange[0]!r}. Remove outlines."
        )
    contours = outlines(coco, [int(name) for name in ids], [thing, *contexts])
    return {
        name: {
            "object": contours[int(name)][thing],
            "context": [contour for context in contexts for contour in contours[int(name)][context]],
        }
        for name in ids
    }


def _format_title(row: Mapping[Any, Any], thing: str, contexts: Sequence[str]) -> str:
    """Losses, and below them what is in the image: "ERM 3.21, GroupDRO 0.40", "car 5%, road 0%"."""
    losses = [f"{key.removeprefix('nll ')} {value:.2f}" for key, value in row.items() if key.startswith("nll ")]
    name = wording.words(thing)
    shown = [f"no {name}" if row["label"] != thing else f"{name} {_share(row.get('area'))}".rstrip()]
    areas = row.get("context_area")
    shown += [
        f"{wording.words(context)} {_share(area)}"
        for context, area in zip(contexts, areas if areas is not None else [], strict=False)
    ]
    gist = row.get("gist_similarity")
    shown += [] if gist is None or math.isnan(gist) else [f"gist {gist:.2f}".replace("-", "−")]
    return f"{', '.join(losses)}\n{', '.join(shown)}"


def _share(fraction: float | None) -> str:
    if fraction is None:
        return ""
    return "<1%" if 0 < fraction < 0.005 else f"{100 * fraction:.0f}%"


def _format_heading(kind: str, criterion: str, thing: str, contexts: Sequence[str], *, only: str | None) -> str:
    """The kind and what it means: "Hard positives: car without road"."""
    title = f"{kind.replace('_', ' ').capitalize()}s"
    side, _, sign = kind.partition("_")
    if criterion == "gist":
        meaning = _BY_GIST[kind].format(wording.words(thing))
    elif contexts:
        meaning = wording.name_pairing(
            thing, contexts, present=sign == "positive", role="in" if side == "easy" else "out"
        )
    else:
        return title
    return f"{title}: {meaning}" + (f"; easy by {_OTHER[only]}" if only else "")


def _note(chosen: Any, compared: bool) -> str:
    models = [name.removeprefix("nll ") for name in chosen if name.startswith("nll ")]
    order = f"Hard: highest NLL of {models[0]} first; easy: lowest first."
    if compared:
        order = f"NLL of {models[0]} lower than that of {models[-1]}, largest difference first."
    return f"{order} NLL of the true answer in nats; percentages of the image."
