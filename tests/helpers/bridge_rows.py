"""Ten rows of two classes with images, and predictions for them, as bridges to other programs are tried on."""

import io
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from PIL import Image as Pictures

from oochub import Predictions

NAMES = ["cat", "dog"]
IDS = [f"a/{number:02d}" for number in range(10)]
LABELS = [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
PLACES = ["indoors", "indoors", "indoors", "outdoors", "outdoors"] * 2
LOGITS = np.round(np.random.default_rng(7).normal(size=(10, 2)) + 0.5 * np.eye(2)[LABELS], 3).astype(np.float32)


def png(number: int) -> bytes:
    """An image of one color, another for each number."""
    file = io.BytesIO()
    Pictures.new("RGB", (8, 6), (20 * number, 100, 200 - 20 * number)).save(file, "PNG")
    return file.getvalue()


TRUE_BOXES = [[[1.0, 1.0, 4.0, 4.0]] * (number % 3 > 0) + [[2.0, 0.0, 8.0, 3.0]] * (number % 2) for number in range(10)]
CATEGORIES = [[0] * (number % 3 > 0) + [1] * (number % 2) for number in range(10)]


def bridge_boxes_data() -> DatasetDict:
    """The same rows with true boxes of two classes in images of 8 x 6 pixels."""
    features = {
        "example_id": Value("string"),
        "boxes": List(List(Value("float64"), length=4)),
        "categories": List(ClassLabel(names=NAMES)),
        "place": Value("string"),
        "width": Value("int32"),
        "height": Value("int32"),
    }
    rows = {
        **{"example_id": IDS, "boxes": TRUE_BOXES, "categories": CATEGORIES},
        **{"place": PLACES, "width": [8] * 10, "height": [6] * 10},
    }
    return DatasetDict({"test": Dataset.from_dict(rows, Features(features))})


def bridge_data() -> DatasetDict:
    """One split, test, of the ten rows."""
    features = {"example_id": Value("string"), "image": Image(), "label": ClassLabel(names=NAMES)}
    rows: dict[str, Any] = {
        "example_id": IDS,
        "image": [{"bytes": png(number), "path": None} for number in range(10)],
        "label": LABELS,
        "place": PLACES,
    }
    return DatasetDict({"test": Dataset.from_dict(rows, Features({**features, "place": Value("string")}))})


def bridge_predictions(kind: str = "classes") -> Predictions:
    """Predictions for the ten rows, in another order than the data."""
    order = np.arange(10)[::-1]
    if kind == "boxes":
        rng = np.random.default_rng(3)
        found = [[(np.array(box) + rng.random(4) * [0.5, 0.5, 0, 0]).tolist() for box in row] for row in TRUE_BOXES]
        columns = {
            "detected_boxes": found,
            "scores": [rng.random(len(row)).tolist() for row in found],
            "detected_categories": [[int(rng.integers(2)) for _ in row] for row in found],
            "boxes": TRUE_BOXES,
            "categories": CATEGORIES,
            **{"place": PLACES, "width": [8] * 10, "height": [6] * 10, "example_id": IDS},
        }
        reordered = {name: [values[row] for row in order] for name, values in columns.items()}
        return Predictions.from_arrays(**reordered, class_names=NAMES, model="tiny")
    common: dict[str, Any] = {
        "label": np.array(LABELS)[order],
        "class_names": NAMES,
        "example_id": np.array(IDS)[order].tolist(),
        "place": np.array(PLACES)[order].tolist(),
        "size": np.linspace(0, 1, 10)[order],
        "model": "tiny",
    }
    if kind == "choices":
        return Predictions.from_arrays(prediction=[*LOGITS[order].argmax(axis=1)[:-1].tolist(), -1], **common)
    assert kind == "classes", f"bridge_predictions of tests/helpers makes none of the kind {kind}: add it"
    return Predictions.from_arrays(logits=LOGITS[order], **common)
