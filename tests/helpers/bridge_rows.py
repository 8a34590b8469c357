"""Ten rows of two classes with images, and predictions for them, as bridges to other programs are tried on."""

import io
from typing import Any

import numpy as np
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Value
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
