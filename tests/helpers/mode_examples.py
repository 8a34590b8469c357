"""A tiny model for each mode, and images whose classes it can answer for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import tiny_zero_shot
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from datasets import Image as ImageFeature
from declared_in_tests import declared_in_tests
from input_rows import encoded, photograph
from model_folders import edited, resnet

BREEDS = ("labrador", "corgi", "bulldog")


class Example(NamedTuple):
    """What a mode is tried with.

    Attributes:
        model: A folder.
        class_names: Of a data set that it answers for, two or more.
    """

    model: Path
    class_names: tuple[str, ...]


def _classifier(folder: Path) -> Example:
    names = {str(k): name for k, name in enumerate(sorted(BREEDS))}
    return Example(edited(resnet(folder, classes=3), "config.json", id2label=names, label2id=...), BREEDS)


def save_detector(folder: Path) -> Path:
    """A tiny detector of cars and dogs, for images of 32 by 32 pixels."""
    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[32, 32],
        patch_size=16,
        num_detection_tokens=5,
        id2label={0: "car", 1: "dog"},
        label2id={"car": 0, "dog": 1},
    )
    transformers.YolosForObjectDetection(config).save_pretrained(folder)
    transformers.YolosImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def _detector(folder: Path) -> Example:
    return Example(save_detector(folder), ("no_car", "car"))


EXAMPLES: dict[str, Callable[[Path], Example]] = {
    "head": _classifier,
    "zero_shot": lambda folder: Example(tiny_zero_shot.folder(folder, "clip"), BREEDS),
    "linear_probe": _classifier,
    "presence": _detector,
}
"""By the name of the mode; the test of a new one has `MODE_EXAMPLES = {"name": lambda folder: Example(...)}`."""


def example_rows(class_names: tuple[str, ...], order: tuple[str, ...]) -> DatasetDict:
    """Splits train (8 rows a class), validation and test (2 rows a class), the same whatever the order of the classes.

    Args:
        class_names: The class of each row, by turns.
        order: Of the ClassLabel.
    """
    features: Any = Features(
        {"example_id": Value("string"), "image": ImageFeature(), "label": ClassLabel(names=list(order))}
    )
    splits = {}
    for split, of_each in {"train": 8, "validation": 2, "test": 2}.items():
        rows = of_each * len(class_names)
        label = [class_names[k % len(class_names)] for k in range(rows)]
        files = [{"bytes": encoded(photograph(34, 36, k + 100 * len(split))), "path": None} for k in range(rows)]
        columns = {"example_id": [f"{split}/{k}" for k in range(rows)], "image": files, "label": label}
        splits[split] = Dataset.from_dict(columns, features)
    return DatasetDict(splits)


EXAMPLES |= declared_in_tests("MODE_EXAMPLES", "models")  # last, since those tests may import all that stands above
