"""What the labels of a data set are, and their targets: classes, several labels per row, numbers, tokens, boxes.

True boxes are a tensor that the loss compares with.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import check_fixed_classes, find_output_of_features, get_output

CLASSES, LABELS, NUMBER = "single_label_classification", "multi_label_classification", "regression"
TOKENS = "next_token"
BOXES = "boxes"  # which transformers has no name for


class Task(NamedTuple):
    """What a model has to say of a row.

    Attributes:
        problem_type: Type of problem as in a config of transformers: "single_label_classification",
            "multi_label_classification" or "regression"; "next_token" and "boxes", which transformers has no name for.
        column: "label", "labels" where a row has several, "tokens", "boxes".
        names: Names of the classes or labels, in order; of a number, its column. None: whole numbers without names.
    """

    problem_type: str
    column: str
    names: list[str] | None


def find_task(dataset: Any) -> Task:
    """The task of a data set, by its features.

    Args:
        dataset: With `label`, a ClassLabel or whole numbers (one class per row) or a float (a number), or with
            `labels`, a List of ClassLabel, those that hold, or a List of k floats: 1 where a label holds, 0 where not,
            nan where nobody knows, which the loss leaves out; or with `tokens`, lists of numbers, -100 where nobody
            asks.

    Raises:
        OochubError: None of these columns, or one of another type.

    >>> import datasets
    >>> labels = datasets.List(datasets.ClassLabel(names=["dog", "car"]))
    >>> find_task(datasets.Dataset.from_dict({"labels": [[1], [0, 1]]}, datasets.Features({"labels": labels})))
    Task(problem_type='multi_label_classification', column='labels', names=['dog', 'car'])
    """
    features = dataset.features or {}
    name = find_output_of_features(features)
    if name is not None:
        kind = get_output(name)
        check_fixed_classes(kind)
        return Task(kind.problem_type or name, kind.label_column, kind.class_names(dataset))
    raise OochubError(
        "The dataset has no column 'label' (one class or number per row) or 'labels' (several), only "
        f"{', '.join(features)}. Rename a column with dataset.rename_column."
    )


def read_targets(dataset: Any, task: Task, *, split: str, names: Sequence[str]) -> torch.Tensor:
    """What `example_losses` compares the logits with.

    Args:
        dataset: See `find_task`.
        task: Task of the training set.
        split: What an error calls the split.
        names: Names of the model's outputs.

    Returns:
        int64 (n,) classes; float32 (n, k), 1 where a label holds, 0 where not, nan where it is unknown; or float32
        (n,) numbers; int32 (n, t) tokens, -100 where nobody asks or a row has ended; or float32 (n, m, 5) boxes, see
        `_read_box_targets`.

    Raises:
        OochubError: Labels that are not the model's classes, or numbers that are not finite.

    >>> from datasets import Dataset
    >>> data = Dataset.from_dict({"label": [0.5, 2.0]})
    >>> read_targets(data, find_task(data), split="train", names=["label"])
    tensor([0.5000, 2.0000])
    """
    own = find_task(dataset)
    if own.problem_type != task.problem_type:
        raise OochubError(
            f"The {split} set has labels of the kind {own.problem_type}, but the training set of the kind "
            f"{task.problem_type}. Use splits of one dataset."
        )
    if own.problem_type != NUMBER and own.names is not None and len(own.names) != len(names):
        raise OochubError(
            f"The model has {len(names)} classes, but the {split} set has {len(own.names)} "
            f"({', '.join(own.names[:10])}). Make the model with num_labels={len(own.names)}."
        )
    if task.problem_type == NUMBER and len(names) != 1:
        raise OochubError(f"A number needs one output, but the model has {len(names)}. Make it with num_labels=1.")
    if task.problem_type == BOXES:
        return _read_box_targets(dataset, split=split)
    if task.problem_type == LABELS:
        table = dataset.select_columns(["labels"]).with_format("arrow")[:]
        try:
            several = get_output("labels").label(table, names)
        except OochubError as error:
            raise OochubError(f"The {split} set: {error}") from error
        return torch.from_numpy(several.astype(np.float32))
    if task.problem_type == TOKENS:
        table = dataset.select_columns(["tokens"]).with_format("arrow")[:]
        return torch.from_numpy(get_output("tokens").label(table, names))
    values = np.asarray(dataset.select_columns(["label"]).with_format("numpy")[:]["label"])
    if task.problem_type == NUMBER:
        if not np.isfinite(values).all():
            raise OochubError(f"Labels of the {split} set must be finite numbers. Drop the rows without one.")
        return torch.from_numpy(values.astype(np.float32))
    return torch.from_numpy(_check_classes(values, split, len(names)))


def _check_classes(values: NDArray[Any], split: str, classes: int) -> NDArray[np.int64]:
    if values.dtype.kind not in "iu" or values.ndim != 1:
        raise OochubError(
            f"Labels of the {split} set must be class numbers, got {values.dtype} of shape {values.shape}."
        )
    wrong = (values < 0) | (values >= classes)
    if wrong.any():
        raise OochubError(
            f"{wrong.sum()} labels of the {split} set are not one of 0..{classes - 1}, first {values[wrong][0]} in row "
            f"{int(np.argmax(wrong))}. Drop such rows, for example dataset.filter(lambda row: row['label'] >= 0)."
        )
    return values.astype(np.int64)


_NEEDED = ("width", "height")


def _read_box_targets(dataset: Any, *, split: str) -> torch.Tensor:
    """Classes and boxes of the images, filled up with nan.

    Args:
        dataset: With `boxes`, x1, y1, x2, y2 in pixels, `width` and `height` of the images in pixels, and
            `categories`, the class numbers of the boxes; without these all are of class 0.
        split: What an error calls it.

    Returns:
        float32 (n, m, 5), m the most boxes of an image: class number, x and y of the center, width and height as
        fractions of the image.

    Raises:
        OochubError: A missing column, a row whose boxes are unknown, or whose categories are not one per box.

    >>> from datasets import Dataset
    >>> data = Dataset.from_dict({"boxes": [[[0, 0, 8, 4]], []], "width": [16, 16], "height": [8, 8]})
    >>> _read_box_targets(data, split="train")[:, 0].tolist()
    [[0.0, 0.25, 0.25, 0.5, 0.5], [nan, nan, nan, nan, nan]]
    """
    missing = [name for name in _NEEDED if name not in dataset.column_names]
    if missing:
        raise OochubError(
            f"Boxes are in pixels, but the {split} set has no image sizes: it has no column {' and '.join(missing)}. "
            "Add the columns width and height, in pixels."
        )
    kind, present = get_output("boxes"), "categories" in dataset.column_names
    columns = ["boxes", *_NEEDED, *(["categories"] if present else [])]
    table = dataset.select_columns(columns).with_format("arrow")[:]
    truth = kind.label(table, [])
    is_labeled = kind.known(truth)
    if not is_labeled.all():
        first = f"{(~is_labeled).sum()} rows of the {split} set, first row {int(np.argmin(is_labeled))}"
        raise OochubError(f"{first}, have no known boxes. Drop them.")
    classes = table.column("categories").to_pylist() if present else [[0] * len(boxes) for boxes in truth]
    targets = np.full((len(truth), max(map(len, truth), default=0) or 1, 5), np.nan, np.float32)
    sizes = np.stack([table.column(name).to_numpy() for name in _NEEDED], axis=1).astype(np.float64)
    for row, (boxes, own, size) in enumerate(zip(truth, classes, sizes, strict=True)):
        if len(own) != len(boxes):
            raise OochubError(f"Row {row} of the {split} set has {len(boxes)} boxes but {len(own)} categories.")
        if boxes:
            corners = np.array(boxes) / np.tile(size, 2)
            targets[row, : len(boxes), 0] = own
            targets[row, : len(boxes), 1:3] = (corners[:, :2] + corners[:, 2:]) / 2
            targets[row, : len(boxes), 3:] = corners[:, 2:] - corners[:, :2]
    return torch.from_numpy(targets)
