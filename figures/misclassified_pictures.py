"""The worst mistakes of each class, each beside a training image of the class that it was taken for."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from oochub.data.declaration import find_declaration
from oochub.detection.image_sets import find_nearest_rows
from oochub.errors import OochubError, check_installed, unknown_name
from oochub.figures._picture_grid import Picture, draw_picture_grid, draw_side_by_side, read_pictures
from oochub.prediction.predictions import Predictions
from oochub.report import format_numbers, wording

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRAIN = "train"


class _Training(NamedTuple):
    """The training rows: their ids, classes and contexts by name, and features where the predictions have them."""

    ids: NDArray[Any]
    label: NDArray[Any]
    context: NDArray[Any]
    features: Mapping[str, NDArray[np.float32]]


class _Pair(NamedTuple):
    """A mistake (a row of the predictions) and the training image beside it."""

    row: int
    training_id: str
    training_context: str


def misclassified_pictures(
    predictions: Predictions,
    *,
    datasets: Mapping[str, Any],
    label: str | None = None,
    columns: int = 4,
    split: str | None = None,
    ax: "Axes | None" = None,
) -> "Axes":
    r"""Draws Fig. 4: a row for each class, its wrong answers with the highest loss, each beside a training image.

    The training image is one of the class that was answered, in the same context if training has one. If the
    predictions hold features of the training split as well, it is the nearest of these by cosine; else the next one in
    the order of the data. Images are cut to squares.

    Args:
        predictions: Predictions of one class per row, with a column of contexts.
        datasets: Config to the data set that was predicted, with its split train; only the images shown are decoded.
        label: The class whose mistakes are shown; None shows every class that has some.
        columns: Pairs of each class, at least 1.
        split: The split of the mistakes; None takes the one that the benchmark is evaluated on.
        ax: Axes to fill; None makes a new figure.

    Returns:
        The axes; `ax.child_axes` are the pairs, class by class, labeled "<example_id>/<training example_id>".

    Raises:
        OochubError: No mistake to show, an unknown class or split, predictions without contexts, a data set that is not
            given or lacks its training split, contexts or an image; matplotlib is not installed.

    Source: Lynch et al., Spawrious, Figure 4 (Section 5.2).

    >>> import datasets, pyarrow as pa
    >>> from PIL import Image
    >>> names = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image(),
    ...     "label": datasets.ClassLabel(names=["corgi", "labrador"]), "context": datasets.Value("string")})
    >>> def part(id, label, context):
    ...     rows = {"example_id": [id], "image": [Image.new("RGB", (8, 6))], "label": [label], "context": [context]}
    ...     return datasets.Dataset.from_dict(rows, features=names)
    >>> data = datasets.DatasetDict(train=part("1", 1, "snow"), test=part("2", 0, "snow"))
    >>> made = Predictions.from_arrays(logits=[[0.0, 2.0]], label=[0], class_names=["corgi", "labrador"],
    ...     example_id=["2"], context=["snow"], config="dogs")
    >>> ax = misclassified_pictures(made, datasets={"dogs": data})
    >>> [(pair.get_label(), pair.get_title(loc="left")) for pair in ax.child_axes]
    [('2/1', 'snow: said labrador, 88%\nbeside labrador in snow')]
    """
    check_installed("matplotlib", "plots", "Drawing plots")
    declared, config, names = find_declaration(predictions), str(predictions.metadata.config), predictions.class_names
    column, joint = declared.context_column, f" {declared.words.place or 'in'} "
    if not predictions.output.has_confidence or column not in predictions.column_names:
        lacks = (
            "logits of one class per row"
            if not predictions.output.has_confidence
            else f"a column {column!r} of contexts"
        )
        raise OochubError(
            f"Mistakes are shown beside training images of a context, but these predictions lack {lacks}."
        )
    if columns < 1:
        raise OochubError(f"columns must be at least 1, got {columns}.")
    if label is not None and label not in names:
        raise unknown_name("class", label, names)
    context, wrong = (
        np.asarray(predictions.column(column)).astype(str),
        _select_wrong(predictions, split or declared.evaluation_split),
    )
    shown = {name: wrong[predictions.label[wrong] == names.index(name)] for name in names if label in (None, name)}
    shown = {name: rows for name, rows in shown.items() if len(rows)}
    if not shown:
        of = "" if label is None else f" of class {label}"
        raise OochubError(f"These predictions' split has no wrong prediction{of}, so there is no mistake to show.")
    training = _load_training(predictions, datasets, config, column)
    pairs = {name: _pair_pictures(rows[:columns], predictions, context, training) for name, rows in shown.items()}
    every = [pair for of_class in pairs.values() for pair in of_class]
    ids, splits = predictions.column("example_id"), predictions.split
    mistaken = splits[every[0].row]
    left = read_pictures(datasets[config], str(mistaken), [str(ids[pair.row]) for pair in every])
    right = read_pictures(datasets[config], _TRAIN, list(dict.fromkeys(pair.training_id for pair in every)))
    grid = []
    for name, of_class in pairs.items():
        pictures = []
        for pair in of_class:
            answer = wording.words(names[int(predictions.prediction[pair.row])])
            here, there = wording.words(context[pair.row]), wording.words(pair.training_context)
            answered = f"{here}: said {answer}, {100 * predictions.summary.confidence[pair.row]:.0f}%"
            title = f"{answered}\nbeside {answer}{joint}{there}"
            image = draw_side_by_side(left[str(ids[pair.row])], right[pair.training_id])
            pictures.append(Picture(name=f"{ids[pair.row]}/{pair.training_id}", title=title, image=image))
        n = int(((predictions.label == names.index(name)) & (splits == mistaken)).sum())
        counts = f"{format_numbers.count(len(shown[name]))} of {format_numbers.count(n)} wrong"
        grid.append((f"{wording.words(name)}: {counts}", pictures))
    where = "" if all(context[pair.row] == pair.training_context for pair in every) else " where training has one"
    note = (
        "Left of each pair: wrong answers, highest loss first. Right: a training image of the class that was "
        f"answered, with the same {wording.words(column)}{where}"
        f"{', the nearest by the cosine of features' if training.features else ''}."
    )
    return draw_picture_grid(ax, grid, columns=max(map(len, pairs.values())), legend={}, note=note)


def _select_wrong(predictions: Predictions, split: str) -> NDArray[np.int64]:
    """The rows of the split with a wrong answer, highest loss first."""
    splits = list(predictions.metadata.rows)
    if split not in splits:
        raise unknown_name("split of these predictions", split, splits)
    rows = np.flatnonzero((predictions.split == split) & (predictions.label >= 0))
    rows = rows[predictions.prediction[rows] != predictions.label[rows]]
    loss = np.asarray(predictions.summary.loss)[rows]
    ordered: NDArray[np.int64] = rows[np.argsort(-loss, kind="stable")]
    return ordered


def _load_training(predictions: Predictions, datasets: Mapping[str, Any], config: str, column: str) -> _Training:
    if config not in datasets:
        raise OochubError(
            f"There is no dataset for {config}, whose images are to be shown; given: {', '.join(datasets) or 'none'}."
        )
    data = datasets[config]
    if not isinstance(data, Mapping) or _TRAIN not in data:
        raise OochubError(
            f"The dataset of {config} has no split {_TRAIN}, whose images are to be shown. Pass all its splits."
        )
    part = data[_TRAIN]
    for name in ("example_id", "label", column):
        if name not in part.column_names:
            raise OochubError(f"The dataset has no column {name!r}, only {', '.join(part.column_names)}.")
    rows = part.select_columns(["example_id", "label", column])
    named = {name: _name_classes(rows, name) for name in ("label", column)}
    features: dict[str, NDArray[np.float32]] = {}
    if _TRAIN in predictions.metadata.rows and predictions.features is not None:
        own = np.flatnonzero(predictions.split == _TRAIN)
        features = {str(predictions.column("example_id")[row]): predictions.features[row] for row in own}
    return _Training(np.array(rows["example_id"][:], dtype=str), named["label"], named[column], features)


def _name_classes(rows: Any, column: str) -> NDArray[Any]:
    values, feature = rows[column][:], rows.features[column]
    return np.array(feature.int2str(values) if hasattr(feature, "int2str") else values, dtype=str)


def _pair_pictures(
    rows: Sequence[int], predictions: Predictions, context: NDArray[Any], training: _Training
) -> list[_Pair]:
    """A training image for each mistake; none is shown twice before all of its kind are."""
    pairs: list[_Pair] = []
    taken: dict[tuple[str, str], int] = {}
    for row in rows:
        answer, here = predictions.class_names[int(predictions.prediction[row])], str(context[row])
        of_class = np.flatnonzero(training.label == answer)
        if not len(of_class):
            raise OochubError(
                f"The training split has no image of class {answer}. Pass the dataset that was predicted."
            )
        same = of_class[training.context[of_class] == here]
        candidates = same if len(same) else of_class
        if training.features:
            stored = [k for k in candidates.tolist() if training.ids[k] in training.features]
            if not stored:
                raise OochubError(f"No training image of class {answer} has features. Predict the whole split train.")
            bank = np.stack([training.features[training.ids[k]] for k in stored])
            chosen = stored[int(find_nearest_rows(predictions.features[row][None], bank)[0][0])]  # type: ignore[index]
        else:
            chosen = candidates[taken.get((answer, here), 0) % len(candidates)]
            taken[answer, here] = taken.get((answer, here), 0) + 1
        pairs.append(_Pair(int(row), str(training.ids[chosen]), str(training.context[chosen])))
    return pairs
