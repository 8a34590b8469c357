"""Contexts found beside decoding, or decoding and a forward pass, now and before: `python speed/contexts.py`.

JPEGs of 500 x 375. The floor of `properties` is Pillow's decoding into an array; that of `clusters` is decoding, and
the passes of a folded EfficientNet-Lite0 over 16 images in memory. Ours is all that `oochub contexts` does to measure
images, the folding included, without the cache. "Before" is the arithmetic and the passes of an earlier version, put in
the place of ours. CPU time of one process with one thread of torch, because a machine that does other work delays the
two unequally; medians of interleaved rounds, with the lowest and the highest. The measures of both are compared.
OOCHUB_BENCHMARK_SCALE=0.25 takes a quarter of the images.

Measured code: context_finding.
"""

import copy
import io
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

import datasets
import numpy as np
import pyarrow as pa
import torch
import transformers
from context_slopes import rows_of, way
from images import jpeg
from PIL import Image

from oochub.context_finder import ContextWay, OpenedPicture
from oochub.context_finding.finders import clusters, properties
from oochub.context_finding.image_model import ImageModel, make_image_rows, mask_region
from oochub.context_finding.measure_images import measure_images
from oochub.models.acceleration import fold_batch_norm

ROUNDS = 5
SCALE = float(os.environ.get("OOCHUB_BENCHMARK_SCALE", "1"))
PIXELS = np.array([0.299, 0.587, 0.114], np.float32)


def measure(made: ContextWay, rows: datasets.Dataset) -> pa.Table:
    return measure_images(rows, made, split="train", cache=False)[0]


def decode(files: list[bytes]) -> None:
    for file in files:
        np.asarray(Image.open(io.BytesIO(file)))


def measure_region_before(picture: OpenedPicture, *, region: str) -> dict[str, Any]:
    small = picture.image.copy()
    small.thumbnail((256, 256), Image.Resampling.BOX)
    pixels = np.asarray(small, np.float32) / 255
    gray = pixels @ PIXELS
    seen = mask_region(*gray.shape, region=region, depth=1 / 10)
    red, green, blue = (float(mean) for mean in pixels[seen].mean(0))
    both = [seen[1:] & seen[:-1], seen[:, 1:] & seen[:, :-1]]
    changes = [np.abs(np.diff(gray, axis=axis))[pairs] for axis, pairs in enumerate(both)]
    width, height = picture.image.size
    return {
        "brightness": float(gray[seen].mean(dtype=np.float64)),
        "contrast": float(np.subtract(*np.percentile(gray[seen], (75, 25)))),
        "sharpness": float(np.mean([np.median(change) for change in changes])),
        "chroma": float((pixels.max(2) - pixels.min(2))[seen].mean()),
        "hue": properties._compute_hue(red, green, blue),
        "pixels": float(width * height),
        "aspect": width / height,
        "border": properties._measure_border(gray),
        **properties._read_file_facts(picture.content),
    }


def keep_rim_before(image: Image.Image) -> bytes:
    pixels = np.array(image)
    rim = mask_region(*pixels.shape[:2], region="rim", depth=1 / 6)
    pixels[~rim] = np.rint(pixels[rim].mean(0))
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "BMP")
    return file.getvalue()


def answers_before(model: ImageModel, files: list[bytes]) -> Iterator[Any]:
    shown = make_image_rows([OpenedPicture(file, None) for file in files])  # type: ignore[arg-type]
    with torch.inference_mode():
        for batch in model.inputs.batches(shown, batch_size=64, device=model.device):
            yield model.network(**batch.inputs)


def properties_before(made: ContextWay, rows: datasets.Dataset) -> pa.Table:
    with patch.object(properties, "_measure_region", measure_region_before):
        return measure(made, rows)


def clusters_before(made: ContextWay, rows: datasets.Dataset) -> pa.Table:
    with (
        patch.object(clusters, "_keep_rim", keep_rim_before),
        patch.object(ImageModel, "prepare", lambda model, file: file),
        patch.object(ImageModel, "answers", answers_before),
        patch.object(ImageModel, "opened", lambda model: nullcontext()),
    ):
        return measure(made, rows)


def forward(network: Any, pixels: torch.Tensor, files: list[bytes]) -> None:
    """Decodes, and passes pixels in memory through a network, 16 at a time."""
    decode(files)
    with torch.inference_mode():
        for start in range(0, len(files), len(pixels)):
            network(pixel_values=pixels[: len(files) - start])


def seconds(run: Callable[[], object]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def compare(name: str, bound: float, calls: dict[str, Callable[[], object]], rows: int) -> None:
    """Prints the rows of one way."""
    spent: dict[str, list[float]] = {what: [] for what in calls}
    for _ in range(ROUNDS):
        for what, call in calls.items():
            spent[what].append(seconds(call))
    for what in ("now", "before"):
        ratios = [ours / floor for ours, floor in zip(spent[what], spent["floor"], strict=True)]
        middle, limits = statistics.median(ratios), f"{min(ratios):.2f} to {max(ratios):.2f}"
        each = statistics.median(spent[what]) / rows * 1000
        holds = "" if what == "before" else "yes" if middle <= bound else "**no**"
        print(f"| {name}, {what} | {each:.2f} | {middle:.2f} | {limits} | {bound:g} | {holds} |", flush=True)


def main() -> None:
    """Prints the tables."""
    torch.set_num_threads(1)
    datasets.disable_progress_bars()
    transformers.logging.set_verbosity_error()
    files = [jpeg(seed) for seed in range(64)]
    print(
        "| what / floor | ms of CPU an image | ratio | lowest to highest | bound | holds |\n|---|---|---|---|---|---|"
    )

    method, count = way("properties"), int(960 * SCALE)
    rows, own = rows_of(files, count), (files * count)[:count]
    now, before = measure(method, rows), properties_before(method, rows)
    others = [name for name in now.column_names if not now.column(name).equals(before.column(name))]
    calls: dict[str, Callable[[], object]] = {
        "floor": partial(decode, own),
        "now": partial(measure, method, rows),
        "before": partial(properties_before, method, rows),
    }
    compare("properties / decoding", 2.5, calls, count)

    method, count = way("clusters"), int(256 * SCALE)
    rows, own = rows_of(files, count), (files * count)[:count]
    network, probe = copy.deepcopy(method._ready.network.model), method._ready.inputs.probe()
    pixels = probe["pixel_values"][:1].repeat(16, 1, 1, 1).contiguous(memory_format=torch.channels_last)
    features, unlike = (
        np.stack(table.column("feature").to_numpy()) for table in (measure(method, rows), clusters_before(method, rows))
    )
    with fold_batch_norm(network, probe):
        calls = {
            "floor": partial(forward, network, pixels, own),
            "now": partial(measure, method, rows),
            "before": partial(clusters_before, method, rows),
        }
        compare("clusters, EfficientNet-Lite0 / (decoding + forward)", 1.2, calls, count)
    print(f"\nproperties now and before: the same bits but {', '.join(others)}")
    share = np.abs(features - unlike).max() / np.ptp(unlike)
    print(f"clusters now and before: features within {share:.1g} of their range")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
