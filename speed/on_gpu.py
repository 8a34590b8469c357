"""Predicting and a training step in bfloat16 on one GPU, beside bare loops: `python speed/on_gpu.py`, five minutes.

A ResNet-50 with random weights at 224. The bare loop of `predict` prepares the same JPEGs in a thread a core and passes
batches of 128 under autocast; that of a training step takes pixels in memory through the objective's own step under
autocast, with the same optimizer. Seconds of the wall, interleaved rounds after one to be warm, the GPU waited for.
`--tiny` takes toy sizes, to see that all runs; without a GPU only that does.

Measured code: prediction, trainers.
"""

import argparse
import io
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import torch
import transformers
from images import jpeg
from PIL import Image
from training import Plain

import oochub
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.batch import Batch
from oochub.trainers.fine_tuning.loop import Loop
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.training_step import Outputs

OBJECTIVES, PER_PASS, BATCH, ROUNDS = ("erm", "group_dro", "vrex"), 128, 64, 5
PROCESSOR = transformers.BitImageProcessorPil(size={"shortest_edge": 256}, crop_size={"height": 224, "width": 224})
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
bfloat16 = partial(torch.autocast, DEVICE.type, torch.bfloat16)


def network(tiny: bool) -> Any:
    torch.manual_seed(0)
    small = {"depths": [1, 1], "hidden_sizes": [8, 16], "embedding_size": 8, "layer_type": "basic"} if tiny else {}
    return transformers.ResNetForImageClassification(transformers.ResNetConfig(num_labels=4, **small))


def images(rows: int) -> datasets.Dataset:
    """JPEGs of 500 x 375, of which 64 differ, with a label and an environment of four."""
    files, rng = [jpeg(seed) for seed in range(min(rows, 64))], np.random.default_rng(0)
    names = datasets.ClassLabel(names=["a", "b", "c", "d"])
    features = datasets.Features({"image": datasets.Image(), "label": names, "environment": names})
    columns: dict[str, Any] = {name: rng.integers(0, 4, rows) for name in ("label", "environment")}
    columns["image"] = [{"bytes": files[row % len(files)], "path": None} for row in range(rows)]
    return datasets.Dataset.from_dict(columns, features)


def predict_bare(model: Any, data: datasets.Dataset) -> None:
    def prepare(image: dict[str, Any]) -> torch.Tensor:
        with Image.open(io.BytesIO(image["bytes"])) as opened:
            return PROCESSOR(opened.convert("RGB"), return_tensors="pt")["pixel_values"][0]

    stored = data.cast_column("image", datasets.Image(decode=False))["image"]
    with ThreadPoolExecutor(os.cpu_count()) as pool, torch.inference_mode(), bfloat16():
        prepared = pool.map(prepare, stored)
        for start in range(0, len(data), PER_PASS):
            few = [next(prepared) for _ in range(min(PER_PASS, len(data) - start))]
            model(pixel_values=torch.stack(few).to(DEVICE)).logits.float().cpu()


class Learner(Plain):
    """A bare model under autocast."""

    def outputs(self, inputs: Any, environment: Any = None) -> Outputs:
        with bfloat16():
            given = super().outputs(inputs, environment)
        return Outputs(given.logits.float(), given.features)


class Bare:
    """An epoch of an objective's steps on pixels in memory, with nothing around them."""

    def __init__(self, objective: str, data: datasets.Dataset, tiny: bool) -> None:
        self.model = network(tiny).to(DEVICE)
        self.objective = oochub.get("objective", objective)().to(DEVICE)
        self.label, self.environment = (torch.tensor(data[name][:]) for name in ("label", "environment"))
        counts = [torch.bincount(codes, minlength=4).tolist() for codes in (self.label, self.environment)]
        self.objective.prepare(class_counts=counts[0], environment_counts=counts[1])
        self.preprocessing = Preprocessing.from_processor(PROCESSOR)
        self.pixels = torch.randint(0, 256, (len(data), 224, 224, 3), dtype=torch.uint8)
        optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=1e-4)
        self.learner = Learner(self.model, optimizer)

    def epoch(self) -> None:
        self.model.train()
        for rows in torch.randperm(len(self.pixels)).split(BATCH):
            pixels = normalize(self.pixels[rows].to(DEVICE), self.preprocessing)
            label, environment = self.label[rows].to(DEVICE), self.environment[rows].to(DEVICE)
            self.objective.take_step(Batch({"pixel_values": pixels}, label, environment, rows), self.learner)


class Ours:
    """The trainer's own loop over an epoch, without validation and checkpoint."""

    def __init__(self, objective: str, data: datasets.Dataset, tiny: bool, folder: Path) -> None:
        args = RobustTrainingArguments(
            output_dir=folder / objective, cache_dir=folder / "pixels", per_device_train_batch_size=BATCH,
            mixed_precision="bf16", full_determinism=False, environment_column="environment",
        )  # fmt: skip
        made = oochub.get("objective", objective)()
        trainer = RobustTrainer(network(tiny), args, train_dataset=data, objective=made, image_processor=PROCESSOR)
        self.loop = Loop(trainer.model, trainer.objective, args, data=trainer._data, folder=trainer._folder)

    def epoch(self) -> None:
        progress = Progress()
        self.loop._begin_stage(progress)
        self.loop._run_epoch(progress, self)

    def update(self) -> None:
        """As a bar that is off."""


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - start


def print_row(what: str, ours: Callable[[], object], bare: Callable[[], object], rows: int, rounds: int) -> None:
    pairs = [(seconds(ours), seconds(bare)) for _ in range(1 + rounds)][1:]
    ratios = [own / floor for own, floor in pairs]
    rate = rows / statistics.median(own for own, _ in pairs)
    print(
        f"| {what} | {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) | {rate:,.0f} |",
        flush=True,
    )


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tiny", action="store_true", help="toy sizes, which run on a processor too")
    tiny = parser.parse_args().tiny
    if DEVICE.type == "cpu" and not tiny:
        sys.exit("not measured: this machine has no GPU")
    name = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "a processor, toy sizes"
    predicted, trained, rounds = (8, 8, 1) if tiny else (4096, 1024, ROUNDS)
    print(f"{name}; median of {rounds} rounds (smallest to largest)\n")
    print("| what, bfloat16 | ours / a bare loop | images a second |\n|---|---|---|")
    data, model = images(predicted), network(tiny).to(DEVICE).eval()
    ours = partial(oochub.predict, model, data, image_processor=PROCESSOR, dtype="bfloat16", images=False)
    print_row("predict, ResNet-50 at 224", ours, partial(predict_bare, model, data), predicted, rounds)
    with tempfile.TemporaryDirectory() as folder:
        data = images(trained)
        for objective in OBJECTIVES:
            sides = Ours(objective, data, tiny, Path(folder)).epoch, Bare(objective, data, tiny).epoch
            print_row(f"training step of {BATCH} images, ResNet-50 at 224, {objective}", *sides, trained, rounds)


if __name__ == "__main__":
    main()
