"""What the labels of a data set are, classes, several labels a row, numbers or tokens, and the targets they make."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from oochub.errors import OochubError
from oochub.output import output_of, output_of_features
from oochub.trainers.rows.box_targets import box_targets

CLASSES, LABELS, NUMBER = "single_label_classification", "multi_label_classification", "regression"
TOKENS = "next_token"
BOXES = "boxes"  # which transformers has no name for


class Task(NamedTuple):
    """What a model has to say of a row.

    Attributes:
        problem_type: As in a config of transformers: "single_label_classification", "multi_label_classification" or
            "regression"; "next_token" and "boxes", which transformers has no name for.
        column: "label", "labels" where a row has several, "tokens", "boxes".
        names: Of the classes or labels, in order; of the number, its column. None: whole numbers without names.
    """

    problem_type: str
    column: str
    names: list[str] | None


def task_of(dataset: Any) -> Task:
    """The task of a data set, by its features.

    Args:
        dataset: With `label`, a ClassLabel or whole numbers (one class a row) or a float (a number), or with `labels`,
            a List of ClassLabel, those that hold, or a List of k floats: 1 where a label holds, 0 where not, nan where
            nobody knows, which the loss leaves out; or with `tokens`, lists of numbers, -100 where nobody asks.

    Raises:
        OochubError: None of these columns, or one of another type.

    >>> import datasets
    >>> labels = datasets.List(datasets.ClassLabel(names=["dog", "car"]))
    >>> task_of(datasets.Dataset.from_dict({"labels": [[1], [0, 1]]}, datasets.Features({"labels": labels})))
    Task(problem_type='multi_label_classification', column='labels', names=['dog', 'car'])
    """
    features = dataset.features or {}
    name = output_of_features(features)
    if name is not None:
        kind = output_of(name)
        return Task(kind.problem_type or name, kind.label_column, kind.class_names(dataset))
    raise OochubError(
        f"The data set has no column 'label' (one class or number a row) or 'labels' (several), only "
        f"{', '.join(features)}. Rename a column with dataset.rename_column."
    )


def targets(dataset: Any, task: Task, *, split: str, names: Sequence[str]) -> torch.Tensor:
    """What `example_losses` compares the logits with.

    Args:
        dataset: See `task_of`.
        task: Of the training set.
        split: What an error calls the split.
        names: Names of the model's outputs.

    Returns:
        int64 (n,) classes; float32 (n, k), 1 where a label holds, 0 where not, nan where it is unknown; or float32
        (n,) numbers; int32 (n, t) tokens, -100 where nobody asks or a row has ended; or float32 (n, m, 5) boxes, see
        `box_targets`.

    Raises:
        OochubError: Labels that are not the model's classes, or numbers that are not finite.

    >>> from datasets import Dataset
    >>> data = Dataset.from_dict({"label": [0.5, 2.0]})
    >>> targets(data, task_of(data), split="train", names=["label"])
    tensor([0.5000, 2.0000])
    """
    own = task_of(dataset)
    if own.problem_type != task.problem_type:
        raise OochubError(
            f"The {split} set has another kind of label ({own.problem_type}) than the training set "
            f"({task.problem_type}). Use splits of one data set."
        )
    if own.problem_type != NUMBER and own.names is not None and len(own.names) != len(names):
        raise OochubError(
            f"The model has {len(names)} classes and the {split} set {len(own.names)} "
            f"({', '.join(own.names[:10])}). Make the model with num_labels={len(own.names)}."
        )
    if task.problem_type == NUMBER and len(names) != 1:
        raise OochubError(f"A number needs one output, and the model has {len(names)}. Make it with num_labels=1.")
    if task.problem_type == BOXES:
        return box_targets(dataset, split=split)
    if task.problem_type == LABELS:
        table = dataset.select_columns(["labels"]).with_format("arrow")[:]
        try:
            several = output_of("labels").label(table, names)
        except OochubError as error:
            raise OochubError(f"The {split} set: {error}") from error
        return torch.from_numpy(several.astype(np.float32))
    if task.problem_type == TOKENS:
        table = dataset.select_columns(["tokens"]).with_format("arrow")[:]
        return torch.from_numpy(output_of("tokens").label(table, names))
    values = np.asarray(dataset.select_columns(["label"]).with_format("numpy")[:]["label"])
    if task.problem_type == NUMBER:
        if not np.isfinite(values).all():
            raise OochubError(f"Labels of the {split} set must be finite numbers. Drop the rows without one.")
        return torch.from_numpy(values.astype(np.float32))
    return torch.from_numpy(_classes(values, split, len(names)))


def _classes(values: NDArray[Any], split: str, classes: int) -> NDArray[np.int64]:
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
