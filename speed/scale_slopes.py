"""The work that `scale.py` measures: each as a call for a number of rows, made ready before the clock starts."""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from caption_slopes import caption_work
from command_slopes import commands
from context_slopes import context_ways
from datasets import Dataset, Features
from datasets import Image as ImageFeature
from scored_rows import scored
from slope import Slope

import oochub
from oochub.input import InputBatch
from oochub.models.acceleration import Autocast, fold_batch_norm
from oochub.models.extraction import Extraction
from oochub.studies.imagenet_ood.plan import TABLES

SCRATCH = Path(tempfile.gettempdir())


def pictures(is_short: bool) -> Iterator[Slope]:
    """Decoding, and the forward passes of two networks."""
    from images import PREPROCESSING, jpeg

    from oochub.inputs.pictures.image_threads import read_batches

    files = [jpeg(seed) for seed in range(16)]

    def decode(rows: int) -> Callable[[], object]:
        columns = {"image": [{"bytes": file, "path": None} for file in islice(cycle(files), rows)]}
        data = Dataset.from_dict(columns, Features({"image": ImageFeature()}))
        return lambda: sum(1 for _ in read_batches(data, PREPROCESSING.pixels, batch_size=32, num_workers=0))

    size = np.mean([len(file) for file in files]) / 1000
    what = f"decode a JPEG of 500 x 375 ({size:.0f} kB), resize, crop to 224"
    yield Slope("decode", what, "image", (32, 64 if is_short else 288), decode)
    for name, what, network in _networks(is_short):
        for dtype in ("float32", "bfloat16"):
            small, large = (4, 8) if is_short else (8, 24 if "resnet" in name else 72)
            ready = partial(_forward, network, getattr(torch, dtype))
            yield Slope(f"{name}_{dtype}", f"forward pass of {what} at 224, {dtype}", "image", (small, large), ready)
    large = 4 if is_short else 8
    yield Slope(
        "fine_tune", "training step of a ResNet-50 at 224, float32, SGD", "image", (2, large), _trained, None, 1
    )


def _networks(is_short: bool) -> Iterator[tuple[str, str, Any]]:
    from transformers import ResNetConfig, ResNetForImageClassification

    sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
    from real_classifier import EfficientNetLiteConfig, EfficientNetLiteForImageClassification, real_network

    lite = EfficientNetLiteForImageClassification(EfficientNetLiteConfig(num_labels=1000))
    lite.network = real_network()
    yield "lite0", "EfficientNet-Lite0", lite.eval()
    depths = {"depths": [1, 1, 1, 1]} if is_short else {}  # the config's defaults are ResNet-50
    yield "resnet50", "a ResNet-50", ResNetForImageClassification(ResNetConfig(num_labels=1000, **depths)).eval()


def _forward(network: Any, dtype: torch.dtype, rows: int) -> Callable[[], object]:
    pixels = torch.randn(rows, 3, 224, 224).contiguous(memory_format=torch.channels_last)
    passes = [InputBatch({"pixel_values": batch}, {}) for batch in pixels.split(8)]

    def run() -> None:
        with fold_batch_norm(network, {"pixel_values": pixels[:1]}):
            extraction = Extraction(network if dtype == torch.float32 else Autocast(network, dtype))
            for each in passes:
                extraction(each)

    return run


def _trained(rows: int) -> Callable[[], object]:
    from transformers import ResNetConfig, ResNetForImageClassification

    model = ResNetForImageClassification(ResNetConfig(num_labels=2)).train()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    pixels, label = torch.randn(rows, 3, 224, 224), torch.randint(2, (rows,))

    def run() -> None:
        torch.nn.functional.cross_entropy(model(pixels).logits, label).backward()
        optimizer.step()
        optimizer.zero_grad()

    return run


def disk(is_short: bool) -> Iterator[Slope]:
    """What a row of predictions takes on the disk, and writing it."""
    sizes = (200, 400) if is_short else (2000, 8000)
    file = SCRATCH / "oochub_scale.parquet"
    for name, what, widths in (
        ("store_logits", "write 1,000 logits", {"logits": 1000}),
        ("store_features", "write 1,000 logits and 2,048 features", {"logits": 1000, "features": 2048}),
    ):

        def ready(rows: int, widths: dict[str, int] = widths) -> Callable[[], object]:
            rng = np.random.default_rng(0)
            arrays = {key: rng.standard_normal((rows, width), np.float32) for key, width in widths.items()}
            predictions = oochub.Predictions.from_arrays(label=np.arange(rows) % 1000, **arrays)
            return lambda: predictions.save(file)

        yield Slope(name, what, "row", sizes, ready, lambda: file.stat().st_size)
    file.unlink(missing_ok=True)


def evaluation(is_short: bool) -> Iterator[Slope]:
    """Metrics with their intervals from a file."""
    for classes, sizes in ((2, (20_000, 200_000)), (1000, (20_000, 60_000))):

        def ready(rows: int, classes: int = classes) -> Callable[[], object]:
            file = SCRATCH / f"oochub_scale_{classes}_{rows}.parquet"
            scored(rows, classes).save(file)
            return lambda: oochub.evaluate(file)

        few, many = (size // 10 for size in sizes) if is_short else sizes
        what = f"evaluate {classes:,} classes with intervals, from the file"
        yield Slope(f"evaluate_{classes}", what, "row", (few, many), ready)


def detectors(is_short: bool) -> Iterator[Slope]:
    """Fit and score of each of ImageNet-OOD's detectors, at 2,048 features and 1,000 classes."""
    width, classes, rows = (128, 20, 200) if is_short else (2048, 1000, 3000)
    rng = np.random.default_rng(0)
    label = np.arange(4 * rows) % classes
    means = rng.standard_normal((classes, width), np.float32)
    features = np.maximum(means[label] + 1.5 * rng.standard_normal((4 * rows, width), np.float32), 0)
    weight, bias = means / 8, np.zeros(classes, np.float32)
    logits = features @ weight.T
    logits[np.arange(len(label)), label] += 100  # open_max is fitted on the rows that are right
    own = {"knn": {"k": min(50, rows)}, "open_max": {"tail": 3}}

    def made(name: str) -> Any:
        return oochub.get("detector", name)(**own.get(name, {}))

    fitted: dict[str, Any] = {}

    def fit(name: str, n: int) -> None:
        arrays = {"features": features[:n], "logits": logits[:n], "label": label[:n]}
        fitted[name] = made(name).fit(**arrays, weight=weight, bias=bias)

    about = f"{width:,} features and {classes:,} classes"
    for name in sorted({key.partition(":")[0] for table in TABLES.values() for key in table.detectors}):
        if made(name).fit_needs:
            ready = partial(partial, fit, name)
            # with fewer rows than features and classes the covariance has no full rank, which takes another way
            sizes = (2 * rows, 4 * rows) if name == "mahalanobis" else (rows, 3 * rows)
            yield Slope(f"{name}_fit", f"fit of {name}, {about}", "row", sizes, ready)
        else:
            fitted[name] = made(name)

        def score(n: int, detector: Any = fitted[name]) -> Callable[[], object]:
            return partial(detector.score, features=features[:n], logits=logits[:n])

        what = f"score of {name}, {about}" + (f", bank of {3 * rows:,}" if name == "knn" else "")
        yield Slope(f"{name}_score", what, "row", (rows // 10, rows), score)


def building(is_short: bool) -> Iterator[Slope]:
    """NOOCH's images and COCO's annotations."""
    import building as bench

    from oochub.builders.sources.coco import read_coco

    root = Path(tempfile.mkdtemp())
    few, many = (50, 100) if is_short else (500, 2500)

    def build(count: int) -> Callable[[], object]:
        from datasets import load_dataset

        raw = bench._pictures(root / f"raw{count}", count)

        def run() -> None:
            load_dataset("nooch", "ce_car", data_dir=str(raw), contexts=["road"], cache_dir=str(root / "cache"))
            shutil.rmtree(root / "cache")

        return run

    yield Slope("build", "build NOOCH from JPEGs of 65 kB, one process", "image", (few, many), build)

    def areas(count: int) -> Callable[[], object]:
        return partial(read_coco, bench._annotations(root / f"coco{count}", count // 16, 8))

    yield Slope("annotations", "read COCO's annotations", "annotation", (32 * few, 32 * many), areas)
    shutil.rmtree(root)


def training(is_short: bool) -> Iterator[Slope]:
    """Heads on cached features."""
    from heads import FEATURES, probe

    from oochub.sweep.runs import plan_stages
    from oochub.sweep.sweep_recipe import read_recipe
    from oochub.trainers.fit_linear_probe import fit_linear_probe
    from oochub.trainers.rows.examples import Examples
    from oochub.trainers.rows.targets import find_task

    width = 64 if is_short else 2048
    grid = plan_stages(read_recipe("nooch_suite"), only=["nooch/ce_car"])[0]
    probes = [probe(run.objective, run.seed, 0.01, **run.hyperparameters) for run in grid]
    epochs = probes[0].args.num_train_epochs
    inputs: Any = SimpleNamespace(column="label")

    def ready(rows: int) -> Callable[[], object]:
        draw = np.random.default_rng(0)
        label = draw.integers(0, 2, rows)
        features = torch.tensor(draw.normal(size=(rows, width)) + 0.5 * label[:, None], dtype=torch.float32)
        data = Dataset.from_dict({"label": label, "environment": draw.integers(0, 4, rows)}, FEATURES)
        names, column = FEATURES["label"].names, {"environment_column": "environment"}
        train = Examples(data, inputs, split="train", task=find_task(data), names=names, **column)
        return lambda: fit_linear_probe(train, features, probes, task=find_task(data))

    what = f"{len(grid)} heads of NOOCH's grid on {width:,} features, {epochs} epochs"
    yield Slope("heads", what, "row", (128, 256) if is_short else (512, 2048), ready)


SUBJECTS = (pictures, disk, evaluation, detectors, building, training, context_ways, caption_work, commands)
