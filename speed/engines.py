"""One process beside two of torchrun and two actors of Ray, as a user starts them: `python speed/engines.py`.

A ResNet-50 with random weights predicts JPEGs of 500 x 375 through the command line, opening and starting included.
The wall time of each way over that of one process, in interleaved rounds, and how far its logits are from those of one
process. On one machine the cores are the same ones, so what engines cost is what is seen; Ray is left out where it is
not installed. OOCHUB_BENCHMARK_SCALE=0.25 takes a quarter of the images.

Measured code: prediction.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import datasets
import numpy as np
import torch
import transformers
from images import jpeg

import oochub

ROUNDS, PICTURES = 3, int(256 * float(os.environ.get("OOCHUB_BENCHMARK_SCALE", "1")))
PREDICT = ["-m", "oochub.cli", "predict", "model", "pictures.parquet", "--no-cache", "--split", "train", "--out"]
WAYS = {
    "one process": [PREDICT],
    "torchrun, two processes": [["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"], PREDICT],
    "Ray, two actors": [PREDICT],
}


def make(folder: Path) -> None:
    """The model and the images."""
    torch.manual_seed(0)
    names = {number: f"class{number}" for number in range(10)}
    config = transformers.ResNetConfig(id2label=names, label2id={name: number for number, name in names.items()})
    transformers.ResNetForImageClassification(config).save_pretrained(folder / "model")
    transformers.BitImageProcessorPil(
        size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224}
    ).save_pretrained(folder / "model")
    label = datasets.ClassLabel(names=list(names.values()))
    features = datasets.Features({"example_id": datasets.Value("string"), "image": datasets.Image(), "label": label})
    rows = [{"example_id": str(k), "image": {"bytes": jpeg(k), "path": None}, "label": k % 10} for k in range(PICTURES)]
    datasets.Dataset.from_list(rows, features=features).to_parquet(folder / "pictures.parquet")


def timed(folder: Path, way: str) -> tuple[float, np.ndarray]:
    """Seconds of a way, and its logits in the order of the ids."""
    out = folder / "out.parquet"
    out.unlink(missing_ok=True)
    words = [word for part in WAYS[way] for word in part] + [out.name]
    words += ["--engine", "ray", "--actors", "2"] if way.startswith("Ray") else []
    start = time.perf_counter()
    subprocess.run([sys.executable, *words], cwd=folder, check=True, capture_output=True)
    seconds = time.perf_counter() - start
    predictions = oochub.Predictions.load(out)
    order = np.argsort(predictions.column("example_id").astype(int))
    return seconds, np.asarray(predictions.logits)[order]


def main() -> None:
    """Prints the table."""
    os.environ |= {"HF_HUB_OFFLINE": "1"}
    ways = [way for way in WAYS if find_spec("ray") or not way.startswith("Ray")]
    taken: dict[str, list[float]] = {way: [] for way in ways}
    furthest = dict.fromkeys(ways, 0.0)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make(folder)
        for _ in range(ROUNDS):
            one = np.empty(0)
            for way in ways:
                seconds, logits = timed(folder, way)
                taken[way].append(seconds)
                one = logits if way == ways[0] else one
                furthest[way] = max(furthest[way], float(np.abs(logits - one).max() / np.ptp(one)))
    print(f"load {os.getloadavg()[0]:.1f}; {ROUNDS} rounds of {PICTURES} images\n")
    print("| what | seconds | / one process | logits, of their range |\n|---|---|---|---|")
    for way in ways:
        ratio = statistics.median(each / first for each, first in zip(taken[way], taken[ways[0]], strict=True))
        print(f"| {way} | {statistics.median(taken[way]):.1f} | {ratio:.2f} | {furthest[way]:.1g} |")


if __name__ == "__main__":
    main()
