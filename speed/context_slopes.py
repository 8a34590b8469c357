"""The work of `oochub contexts` that `scale.py` measures: images measured by each way, and their contexts named."""

import io
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from datasets import ClassLabel, Dataset, Features, Value, load_from_disk
from datasets import Image as ImageFeature
from PIL import Image
from slope import Slope

import oochub
from oochub.context_finder import ContextWay
from oochub.context_finding.context_columns import make_way
from oochub.context_finding.measure_images import measure_images

sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))

_WORDS = {
    "properties": "properties",
    "clusters": "clusters, EfficientNet-Lite0",
    "segments": "segments, a SegFormer-B0 at 512 with the 150 classes of ADE20K",
    "zero_shot": "zero_shot, a CLIP ViT-B/32, five names",
}
_NAMES = ["mountain", "snow", "beach", "desert", "jungle"]
_FEATURES = Features(
    {"example_id": Value("string"), "image": ImageFeature(), "label": ClassLabel(names=list("abcdefghij"))}
)


def way(name: str, *, is_short: bool = False) -> ContextWay:
    """A way with a model of a published size; the weights are random, but those of EfficientNet-Lite0."""
    import torch
    import transformers as hf

    torch.manual_seed(0)
    settings: dict[str, Any] = {}
    if name == "clusters":
        from real_classifier import EfficientNetLiteConfig, EfficientNetLiteForImageClassification, real_network

        lite = EfficientNetLiteForImageClassification(EfficientNetLiteConfig(num_labels=1000))
        lite.network = real_network()
        settings["model"] = lite.eval()
        settings["image_processor"] = hf.ConvNextImageProcessor(size={"shortest_edge": 224}, crop_pct=0.875)
    elif name == "segments":
        from tiny_detectors import segformer_processor

        settings["model"] = hf.SegformerForSemanticSegmentation(hf.SegformerConfig(num_labels=150)).eval()
        settings["image_processor"] = segformer_processor(size={"height": 512, "width": 512})
    elif name == "zero_shot":
        from tiny_zero_shot import tokenizer

        layers = (
            {"vision_config": {"num_hidden_layers": 1}, "text_config": {"num_hidden_layers": 1}} if is_short else {}
        )
        settings["model"] = hf.CLIPModel(hf.CLIPConfig(**layers)).eval()  # the config's defaults are ViT-B/32
        settings["image_processor"], settings["tokenizer"] = hf.CLIPImageProcessor(), tokenizer()
        settings["names"] = _NAMES
    return make_way(name, settings)


def drawn(name: str, *, is_short: bool = False) -> ContextWay:
    """The way with measures that are drawn, of the size that its model gives."""
    method, rng = way(name, is_short=is_short), np.random.default_rng(0)

    def measures(pictures: Any) -> pa.Table:
        rows = len(pictures)
        if name == "segments":
            areas = rng.dirichlet(np.full(150, 0.02), rows)
            return _listed("areas", np.where(areas < 0.005, 0, areas))  # about three classes an image
        width, column = (1280, "feature") if name == "clusters" else (512, "embedding")
        return _listed(column, rng.standard_normal((rows, width), np.float32))

    if name != "properties":
        method.opened = nullcontext  # type: ignore[method-assign]
        method.prepare = lambda picture: picture  # type: ignore[method-assign]
        method.measures = measures  # type: ignore[method-assign]
    return method


def _listed(name: str, values: Any) -> pa.Table:
    return pa.table({name: pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])})


def rows_of(pictures: list[bytes], rows: int) -> Dataset:
    """So many rows of these images in turn, of ten classes."""
    columns = {
        "example_id": [f"row {number}" for number in range(rows)],
        "image": [{"bytes": picture, "path": None} for picture in islice(cycle(pictures), rows)],
        "label": np.arange(rows) % 10,
    }
    raw = Features({**_FEATURES, "image": ImageFeature(decode=False)})
    return Dataset.from_dict(columns, raw).cast(_FEATURES)


def small_pictures(rows: int) -> Dataset:
    """Rows of images of 2 x 2 pixels."""
    files = []
    for number in range(16):
        file = io.BytesIO()
        Image.fromarray(np.full((2, 2, 3), 16 * number, np.uint8)).save(file, "PNG")
        files.append(file.getvalue())
    return rows_of(files, rows)


def context_ways(is_short: bool) -> Iterator[Slope]:
    """Each way: an image measured, and a row named."""
    from images import jpeg

    files = [jpeg(seed) for seed in range(16)]

    def measure(made: ContextWay, rows: int) -> Callable[[], object]:
        return partial(measure_images, rows_of(files, rows), made, split="train", cache=False)

    def name_rows(made: ContextWay, rows: int) -> Callable[[], object]:
        return partial(oochub.contexts, small_pictures(rows), by=made, cache=False)

    for name, words in _WORDS.items():
        large = {"properties": 288, "segments": 8}.get(name, 40)
        sizes = (2, 4) if is_short else (large // 4, large)
        what = f"measure a JPEG of 500 x 375 by {words}"
        yield Slope(f"measure_{name}", what, "image", sizes, partial(measure, way(name, is_short=is_short)))
        rows = (100, 200) if is_short else (1_000, 5_000)
        method = drawn(name, is_short=is_short)
        what = f"read, name and join a row by {name}, its measures drawn"
        yield Slope(f"name_{name}", what, "row", rows, partial(name_rows, method))


def joined(name: str, folder: Path, rows: int) -> Callable[[], object]:
    """Contexts of rows that lie on the disk: what their memory is measured of."""
    data, method = load_from_disk(str(folder / str(rows))), drawn(name)
    return lambda: oochub.contexts(data, by=method, cache=False)
