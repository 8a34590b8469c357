"""All detectors and metrics after one extraction, beside the extraction itself: `python speed/extraction.py`.

A ResNet-50 (its configuration, random weights) at 224 pixels predicts three sets of images once, with features; then
every detector but open_max and she is fitted and scored and every metric computed with its interval, from the files.
The ratio is (extraction + detection) / extraction. One round: the extraction takes minutes.

Measured code: prediction, detection, eval_modules.
"""

import io
import os
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "2")

import datasets
import numpy as np
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessor

import oochub

BOUND, CLASSES, SIZE = 1.1, 20, 224
ROWS = {"train": 400, "inside": 200, "outside": 200}


def pictures(config: str, rows: int) -> datasets.Dataset:
    """Random images of SIZE pixels as JPEG, under the name of a config."""
    rng = np.random.default_rng(len(config))
    pictures = []
    for _ in range(rows):
        file = io.BytesIO()
        coarse = Image.fromarray(rng.integers(0, 256, (16, 16, 3), np.uint8))
        coarse.resize((SIZE, SIZE)).save(file, "JPEG")
        pictures.append({"bytes": file.getvalue(), "path": None})
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(num_classes=CLASSES),
            "is_ood": datasets.Value("bool"),
        }
    )
    outside = config == "outside"
    columns = {
        "image": pictures,
        "label": [-1 if outside else i % CLASSES for i in range(rows)],
        "is_ood": [outside] * rows,
    }
    data = datasets.Dataset.from_dict(columns, features)
    data.info.config_name = config
    return data


def main() -> None:
    """Prints the table."""
    names = {number: str(number) for number in range(CLASSES)}
    network = ResNetForImageClassification(
        ResNetConfig(num_labels=CLASSES, id2label=names, label2id={name: number for number, name in names.items()})
    )
    print(f"load {os.getloadavg()[0]:.1f}; one round\n")
    sets = {name: pictures(name, rows) for name, rows in ROWS.items()}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: Path(folder) / f"{name}.parquet" for name in sets}
        processor = ViTImageProcessor(size={"height": SIZE, "width": SIZE})
        oochub.predict(network, sets["inside"].select(range(32)), image_processor=processor)  # warm
        start = time.perf_counter()
        for name, data in sets.items():
            oochub.predict(network, data, image_processor=processor, features=True, images=False, out=files[name])
        extraction = time.perf_counter() - start
        # these two are fitted on rows that the network gets right, and one with random weights has too few;
        # nor are there as many rows as some defaults need
        fewer = {"knn": {"k": ROWS["train"] // 2}, "vim": {"dim": CLASSES}, "residual": {"dim": CLASSES}}
        names = [name for name in oochub.names("detector") if name not in ("open_max", "she")]
        detectors = [oochub.get("detector", name)(**fewer.get(name, {})) for name in names]
        start = time.perf_counter()
        oochub.evaluate([files["inside"], files["outside"]], detectors=detectors, reference=files["train"]).save(
            Path(folder) / "report.json"
        )
        detection = time.perf_counter() - start
    ratio = (extraction + detection) / extraction
    rows = sum(ROWS.values())
    print(f"extraction of {rows:,} images {extraction:.1f} s, {len(detectors)} detectors {detection:.1f} s\n")
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    holds = "yes" if ratio <= BOUND else "**no**"
    print(f"| {len(detectors)} detectors and all metrics after one extraction | {ratio:.2f} | {BOUND} | {holds} |")


if __name__ == "__main__":
    main()
