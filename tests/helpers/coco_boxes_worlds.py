"""Detections of COCO's images by a seed, what pycocotools says of them, and the same as columns of a metric."""

import contextlib
import io
from typing import Any

import numpy as np

STATS = ("ap", "ap50", "ap75", "ap_small", "ap_medium", "ap_large", "ar1", "ar10", "ar100")
Truth = dict[str, list[dict[str, Any]]]


def draw_truth(seed: int, *, images: int = 40) -> Truth:
    """Annotations of two classes in images of 200 x 160 pixels, some crowds, sizes of all three ranges."""
    rng = np.random.default_rng(seed)
    ids = sorted(rng.choice(10_000, images, replace=False).tolist())
    annotations: list[dict[str, Any]] = []
    for image_id in ids:
        for _ in range(rng.integers(0, 5)):
            size = np.exp(rng.uniform(np.log(8), np.log(150), 2)).round(2)
            corner = (rng.random(2) * (np.array([200, 160]) - np.minimum(size, 150))).round(2)
            annotations.append(
                {
                    "id": len(annotations) + 1,
                    "image_id": image_id,
                    "category_id": int(rng.integers(1, 3)),
                    "bbox": [*corner.tolist(), *size.tolist()],
                    "area": float((size.prod() * rng.uniform(0.5, 1)).round(2)),
                    "iscrowd": int(rng.random() < 0.1),
                }
            )
    categories = [{"id": number, "name": f"thing {number}"} for number in (1, 2, 3)]
    return {
        "images": [{"id": image_id, "width": 200, "height": 160} for image_id in ids],
        "annotations": annotations,
        "categories": categories,
    }


def draw_detections(truth: Truth, seed: int, *, decimals: int = 1) -> list[dict[str, Any]]:
    """Boxes near the true ones and elsewhere; scores of few decimals, so that many are equal."""
    rng = np.random.default_rng(seed)
    numbers = [each["id"] for each in truth["categories"]]
    found = []

    def add(image_id: int, category: int, box: Any) -> None:
        score = round(float(rng.random()), decimals)
        bbox = [round(float(each), 2) for each in box]
        found.append({"image_id": image_id, "category_id": int(category), "bbox": bbox, "score": score})

    for annotation in truth["annotations"]:
        for _ in range(rng.integers(0, 4)):
            is_named = rng.random() < 0.85
            box = np.maximum(np.array(annotation["bbox"]) * (1 + rng.normal(0, 0.08, 4)), 1)
            add(annotation["image_id"], annotation["category_id"] if is_named else rng.choice(numbers), box)
    for image in truth["images"]:
        for _ in range(rng.integers(0, 4)):
            corner = rng.random(2) * (image["width"] / 2, image["height"] / 2)
            add(image["id"], rng.choice(numbers), [*corner, *(5 + rng.random(2) * 60)])
    return found


def measure_with_pycocotools(truth: Truth, found: list[dict[str, Any]], image_ids: list[int]) -> dict[str, float]:
    """The first nine numbers of COCO's own evaluation, nan for its -1."""
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval

    with contextlib.redirect_stdout(io.StringIO()):
        annotated = COCO()
        annotated.dataset = truth
        annotated.createIndex()
        evaluation = COCOeval(annotated, annotated.loadRes([dict(each) for each in found]), "bbox")
        evaluation.params.imgIds = image_ids
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return {name: np.nan if value == -1 else value for name, value in zip(STATS, evaluation.stats[:9], strict=True)}


def list_columns(truth: Truth, found: list[dict[str, Any]], image_ids: list[int]) -> dict[str, list[Any]]:
    """The same as columns of a metric, a row for each image in the order of `image_ids`."""

    def per_image(entries: list[dict[str, Any]], read: Any) -> list[list[Any]]:
        rows: dict[int, list[Any]] = {image_id: [] for image_id in image_ids}
        for entry in entries:
            if entry["image_id"] in rows:
                rows[entry["image_id"]].append(read(entry))
        return list(rows.values())

    def corners(entry: dict[str, Any]) -> list[float]:
        x, y, width, height = entry["bbox"]
        return [x, y, x + width, y + height]

    true = truth["annotations"]
    return {
        "boxes": per_image(found, corners),
        "scores": per_image(found, lambda entry: entry["score"]),
        "true_boxes": per_image(true, corners),
        "box_categories": per_image(found, lambda entry: entry["category_id"]),
        "true_categories": per_image(true, lambda entry: entry["category_id"]),
        "true_crowd": per_image(true, lambda entry: entry["iscrowd"]),
        "true_areas": per_image(true, lambda entry: entry["area"]),
        "image_id": image_ids,
    }
