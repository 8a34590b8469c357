"""The runtimes through whole `oochub.predict`, beside torch and transformers' pipeline: `python speed/runtimes.py`.

EfficientNet-Lite0 with its real weights and a ResNet-50 (random ones) at 224 predict JPEGs of 500 x 375 from a model
folder, one thread for the network, batches of 16. A number is the processor time of a whole call (opening the model,
comparing the first rows, decoding, the passes, the rows) over that of the same call in torch, in the same round;
medians of interleaved rounds. The network was exported before, which happens once: that call is the last column. The
pipeline has the network open already, and the same processor and batches. `python speed/runtimes.py 1` takes one round;
OOCHUB_BENCHMARK_SCALE=0.25 takes a quarter of the rows.

Measured code: models, prediction.
"""

import os
import statistics
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import datasets
import torch
import transformers
from images import jpeg
from prediction import BATCH, SCALE, pipeline, seconds

import oochub
from oochub.settings.prediction_settings import list_runtimes

ROUNDS = 5
sys.path.append(str(Path(__file__).parents[1] / "tests" / "helpers"))


def folders(root: Path) -> dict[str, tuple[Path, int]]:
    """Model folders by name, and how many images each sees."""
    from real_classifier import real_classifier

    torch.manual_seed(0)
    names = {k: str(k) for k in range(1000)}
    large = transformers.ResNetForImageClassification(transformers.ResNetConfig(id2label=names))
    large.save_pretrained(root / "resnet50")
    size = {"shortest_edge": 256}, {"height": 224, "width": 224}
    transformers.BitImageProcessorPil(size=size[0], crop_size=size[1]).save_pretrained(root / "resnet50")
    return {
        "EfficientNet-Lite0": (real_classifier(root / "lite0"), int(384 * SCALE)),
        "ResNet-50": (root / "resnet50", int(96 * SCALE)),
    }


def main() -> None:
    """Prints the table."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    torch.set_num_threads(1)
    files = [jpeg(seed) for seed in range(96)] * 4
    features = datasets.Features({"image": datasets.Image()})
    data = datasets.Dataset.from_dict({"image": [{"bytes": file, "path": None} for file in files]}, features)
    others = datasets.Dataset.from_dict(
        {"image": [{"bytes": jpeg(seed), "path": None} for seed in range(1000, 1048)]}, features
    )
    print("| network | how | / torch | first call, s |\n|---|---|---|---|", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        os.environ["OOCHUB_CACHE"] = f"{scratch}/cache"
        for name, (folder, rows) in folders(Path(scratch)).items():
            some, own = data.select(range(rows)), files[:rows]
            predict = partial(oochub.predict, folder, some, cache=False, images=False, preprocessing="fused")
            runs: dict[str, Callable[[], object]] = {"torch": predict}
            for runtime in list_runtimes():
                runs[runtime] = partial(predict, runtime=runtime)
            has = torch.cpu.get_capabilities()
            if "openvino" in runs and any(has.get(each) for each in ("avx512_bf16", "amx_bf16", "bf16")):
                runs["openvino, bfloat16"] = partial(predict, runtime="openvino", dtype="bfloat16")
            for runtime in list_runtimes():  # calibrated on images of other seeds
                runs[f"{runtime}, int8"] = partial(predict, runtime=runtime, dtype="int8", calibrate_on=others)
            network = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
            runs["transformers' pipeline"] = partial(pipeline, network, own)
            first = {how: seconds(run).cpu for how, run in runs.items()}
            ratios: dict[str, list[float]] = {how: [] for how in runs}
            for _ in range(rounds):
                took = {how: seconds(run).cpu for how, run in runs.items()}
                for how, own_time in took.items():
                    ratios[how].append(own_time / took["torch"])
            for how, several in ratios.items():
                spread = f"{statistics.median(several):.2f} ({min(several):.2f} to {max(several):.2f})"
                print(f"| {name}, {rows} JPEGs | {how} | {spread} | {first[how]:.1f} |", flush=True)
    print(
        f"\nload {os.getloadavg()[0]:.1f}; {rounds} rounds, torch {torch.__version__}, batches of {BATCH}, one thread"
    )


if __name__ == "__main__":
    main()
