"""Predicting beside a forward pass and the decoding, shared out over the cores: `python speed/prediction.py`.

EfficientNet-Lite0 (where the packages of its weights are installed, else a small ResNet) and a ResNet-50 at 224 predict
JPEGs of 500 x 375. The floor is CPU time in one thread, of the passes over pixels in memory and of Pillow's decoding,
over the cores; of the ResNet-50 the passes are of a network that was folded by hand, channels last. Ours is all of
`oochub.predict`, opening and looking included. Transformers' own pipeline is the peer. Medians of interleaved rounds.

A machine that does other work delays ours and not the floor: the second number of a row is the CPU time of ours over
that of the floor, which leaves out the waiting. `python speed/prediction.py 1` takes one round;
OOCHUB_BENCHMARK_SCALE=0.25 takes a quarter of the rows.

The second table takes few images in one thread, where opening the network and the checks before the first row are much
of the work: with a network that is new, and again with other images, where the cache has what the checks measured.
`python speed/prediction.py few` makes it alone.

Measured code: prediction, models, inputs.
"""

import copy
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import datasets
import numpy as np
import torch
import transformers
from images import jpeg
from PIL import Image
from torch import nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

import oochub
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.storage.cache import clear, list_caches

ROUNDS, BATCH = 3, 16
SCALE = float(os.environ.get("OOCHUB_BENCHMARK_SCALE", "1"))
CORES = len(os.sched_getaffinity(0))
PROCESSOR = transformers.BitImageProcessorPil(size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224})


class Work(NamedTuple):
    """A network, how many images it sees, and the same for the floor."""

    name: str
    network: Any
    lean: Any
    rows: int
    bound: float


class Seconds(NamedTuple):
    wall: float
    cpu: float


def seconds(run: Callable[[], object]) -> Seconds:
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return Seconds(time.perf_counter() - wall, time.process_time() - cpu)


def in_one_thread(run: Callable[[], object]) -> float:
    torch.set_num_threads(1)
    try:
        return seconds(run).cpu
    finally:
        torch.set_num_threads(CORES)


def folded_by_hand(network: Any) -> Any:
    """A ResNet of transformers whose layers have a convolution and a normalization."""
    network = copy.deepcopy(network)
    for layer in list(network.modules()):
        if isinstance(getattr(layer, "normalization", None), nn.BatchNorm2d):
            layer.convolution = fuse_conv_bn_eval(layer.convolution, layer.normalization)
            layer.normalization = nn.Identity()
    return network.to(memory_format=torch.channels_last)


def passes(network: Any, pixels: torch.Tensor, rows: int, dtype: torch.dtype = torch.float32) -> None:
    with torch.inference_mode(), torch.autocast("cpu", dtype, enabled=dtype != torch.float32):
        for start in range(0, rows, BATCH):
            network(pixel_values=pixels[: min(BATCH, rows - start)])


def decoding(files: Iterable[bytes]) -> None:
    for file in files:
        np.asarray(Image.open(io.BytesIO(file)))


def pipeline(network: Any, files: list[bytes]) -> None:
    classify = transformers.pipeline("image-classification", model=network, image_processor=PROCESSOR, device="cpu")
    pictures = (Image.open(io.BytesIO(file)).convert("RGB") for file in files)
    for _ in classify(pictures, batch_size=BATCH, top_k=1):
        pass


def works() -> list[Work]:
    torch.manual_seed(0)
    large = transformers.ResNetForImageClassification(transformers.ResNetConfig()).eval()
    if find_spec("efficientnet_lite_pytorch"):
        sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))
        from real_classifier import EfficientNetLiteConfig, EfficientNetLiteForImageClassification

        names = {k: str(k) for k in range(1000)}
        small = EfficientNetLiteForImageClassification(EfficientNetLiteConfig(id2label=names)).eval()
    else:
        config = transformers.ResNetConfig(depths=[1, 1, 1, 1], hidden_sizes=[32, 64, 128, 256], layer_type="basic")
        small = transformers.ResNetForImageClassification(config).eval()
    name = type(small).__name__.removesuffix("ForImageClassification")
    return [
        Work(name, small, small, int(384 * SCALE), 1.15),
        Work("ResNet-50, folded, channels last", large, folded_by_hand(large), int(128 * SCALE), 1.05),
    ]


def folders(root: Path) -> dict[str, tuple[Path, int]]:
    """A ResNet-50 and a ViT-B with random weights, and how many images each sees."""
    torch.manual_seed(0)
    resnet = transformers.ResNetForImageClassification(transformers.ResNetConfig())
    vit = transformers.ViTForImageClassification(transformers.ViTConfig())
    for name, network, processor in (("resnet", resnet, PROCESSOR), ("vit", vit, transformers.ViTImageProcessorPil())):
        network.save_pretrained(root / name)
        processor.save_pretrained(root / name)
    return {"ResNet-50": (root / "resnet", 24), "ViT-B": (root / "vit", 16)}


def encoded(seeds: Iterable[int]) -> datasets.Dataset:
    data = datasets.Dataset.from_dict({"image": [{"bytes": jpeg(seed), "path": None} for seed in seeds]})
    return data.cast_column("image", datasets.Image())


def few_images() -> None:
    """Prints what few images cost beside their decoding and passes, in processor time of one thread."""
    torch.set_num_threads(1)
    columns = "network new", "other images of one that was checked", "holds"
    print(f"\n| predict few / (decode + forward), CPU time | {' | '.join(columns)} |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["OOCHUB_CACHE"] = f"{scratch}/cache"
        for name, (folder, rows) in folders(Path(scratch)).items():
            data, others = encoded(range(rows)), encoded(range(rows, 2 * rows))
            files = [jpeg(seed) for seed in range(rows)]
            lean = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
            lean = folded_by_hand(lean) if name == "ResNet-50" else lean
            pixels = torch.rand(BATCH, 3, 224, 224).to(memory_format=torch.channels_last)
            for runtime in ("torch", *(["onnxruntime"] if name == "ResNet-50" and find_spec("onnxruntime") else [])):
                predict = partial(oochub.predict, folder, runtime=runtime)
                predict(data, cache=False)
                ratios: list[tuple[float, float]] = []
                for _ in range(ROUNDS):
                    clear(
                        [
                            entry
                            for kind in ("predictions", "passes")
                            for each in list_caches(kind)
                            for entry in each.entries
                        ]
                    )
                    floor = seconds(lambda: (passes(lean, pixels, rows), decoding(files))).cpu  # noqa: B023
                    new, again = (seconds(partial(predict, several)).cpu for several in (data, others))
                    ratios.append((new / floor, again / floor))
                texts = [
                    f"{statistics.median(r):.2f} ({min(r):.2f} to {max(r):.2f})" for r in zip(*ratios, strict=True)
                ]
                bound = 1.2 if runtime == "onnxruntime" else 1.1
                holds = "yes" if statistics.median(ratio for _, ratio in ratios) <= bound else "**no**"
                print(f"| {rows} images, {name} by {runtime} | {' | '.join(texts)} | {bound} {holds} |", flush=True)


def main() -> None:
    """Prints the table."""
    if sys.argv[1:] == ["few"]:
        few_images()
        return
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    transformers.logging.set_verbosity_error()
    torch.set_num_threads(CORES)
    files = [jpeg(seed) for seed in range(128)] * 3
    features = datasets.Features({"image": datasets.Image()})
    data = datasets.Dataset.from_dict({"image": [{"bytes": file, "path": None} for file in files]}, features)
    preprocessing = Preprocessing.from_processor(PROCESSOR)
    pixels = normalize(torch.from_numpy(np.stack([preprocessing.pixels(f, "") for f in files[:BATCH]])), preprocessing)
    lines = []
    for work in works():
        own, some = files[: work.rows], data.select(range(work.rows))
        predict = partial(
            oochub.predict, work.network, some, image_processor=PROCESSOR, preprocessing="fused", images=False
        )
        walls, cpus, peers, shorter = [], [], [], []
        passes(work.lean, pixels, BATCH), predict(limit=BATCH)
        for _ in range(rounds):
            floor = in_one_thread(lambda: (passes(work.lean, pixels, work.rows), decoding(own)))  # noqa: B023
            ours, peer = seconds(predict), seconds(partial(pipeline, work.network, own))
            walls.append(ours.wall / (floor / CORES))
            cpus.append(ours.cpu / floor)
            peers.append(peer.wall / ours.wall)
            if work.bound == 1.05:
                short = seconds(partial(predict, dtype="bfloat16"))
                shorter.append((ours.wall / short.wall, ours.cpu / short.cpu))
        wall, cpu = statistics.median(walls), statistics.median(cpus)
        holds = "yes" if wall <= work.bound else "**no**"
        what = f"predict, {work.name}, {work.rows} JPEGs / (forward + decode) over {CORES} cores"
        lines.append(f"| {what} | {wall:.2f} (CPU time {cpu:.2f}) | {work.bound} | {holds} |")
        lines.append(f"| transformers' pipeline / predict, the same | {statistics.median(peers):.2f} | | |")
        if shorter:
            wall, cpu = (statistics.median(each) for each in zip(*shorter, strict=True))
            has = torch.cpu.get_capabilities()
            arithmetic = [name for name in ("avx512_bf16", "amx_bf16", "bf16") if has.get(name)]
            what = f"predict float32 / predict bfloat16, the same; this processor has {', '.join(arithmetic) or 'none'}"
            holds = "yes" if wall >= 2.5 else "**no**"
            lines.append(f"| {what} | {wall:.2f} (CPU time {cpu:.2f}) | at least 2.5 | {holds} |")
    print(f"load {os.getloadavg()[0]:.1f}; {rounds} rounds, torch {torch.__version__}, {CORES} threads\n")
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    print("\n".join(lines))
    few_images()


if __name__ == "__main__":
    main()
