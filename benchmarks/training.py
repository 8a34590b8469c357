"""A training step of the trainer beside a bare loop of the same loss: `python benchmarks/training.py`.

Both run interleaved in one process and one thread, on the default backbone; the median of the rounds' ratios counts.
"""

import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image

import oochub
from oochub.preprocessing import Preprocessing, normalize
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import backbone
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.run_folder import Progress

ROUNDS, ROWS, BATCH, SIZE, BOUND = 5, 1280, 64, 48, 1.05
ENVIRONMENTS = ["a", "b", "c", "d"]


def examples(folder: Path) -> Dataset:
    import io

    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(ROWS):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)).save(file, "PNG", compress_level=0)
        pictures.append({"bytes": file.getvalue(), "path": None})
    features = Features(
        {"image": ImageFeature(), "label": ClassLabel(num_classes=4), "environment": ClassLabel(names=ENVIRONMENTS)}
    )
    columns = {name: rng.integers(0, 4, ROWS) for name in ("label", "environment")}
    return Dataset.from_dict({"image": pictures} | columns, features)


class Bare:
    """The same steps with nothing around them."""

    def __init__(self, objective: str, data: Dataset) -> None:
        self.model, processor = backbone("resnet-tiny", class_names=list("abcd"), image_size=SIZE)
        self.preprocessing = Preprocessing.from_processor(processor)
        self.pixels = torch.tensor(np.stack([np.asarray(picture) for picture in data["image"]]))
        self.label, self.environment = torch.tensor(data["label"][:]), torch.tensor(data["environment"][:])
        self.objective = oochub.get("objective", objective)()
        self.objective.prepare(environment_counts=torch.bincount(self.environment).tolist())
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=1e-4)

    def epoch(self) -> None:
        self.model.train()
        for rows in torch.randperm(ROWS).split(BATCH):
            logits = self.model(pixel_values=normalize(self.pixels[rows], self.preprocessing)).logits
            loss = self.objective(logits, self.label[rows], self.environment[rows])
            loss.backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


class Ours:
    """The trainer's own loop over an epoch, without validation and checkpoint."""

    def __init__(self, objective: str, data: Dataset, folder: Path) -> None:
        from oochub.trainers import loop

        model, processor = backbone("resnet-tiny", class_names=list("abcd"), image_size=SIZE)
        args = RobustTrainingArguments(
            output_dir=folder / objective, cache_dir=folder / "pixels", per_device_train_batch_size=BATCH
        )
        trainer = RobustTrainer(
            model,
            args,
            train_dataset=data,
            objective=oochub.get("objective", objective)(),
            image_processor=processor,
        )
        self.loop = loop.Loop(
            model, trainer.objective, args, train=trainer._train, evaluation=None, folder=trainer._folder
        )

    def epoch(self) -> None:
        self.loop._run_epoch(Progress(), _Quiet())


class _Quiet:
    def update(self) -> None:
        """As a bar that is off."""


def ratio(first: Any, second: Any) -> list[float]:
    seconds: dict[int, list[float]] = {0: [], 1: []}
    for _ in range(ROUNDS):
        for number, one in enumerate((first, second)):
            start = time.perf_counter()
            one.epoch()
            seconds[number].append(time.perf_counter() - start)
    return [a / b for a, b in zip(*seconds.values(), strict=True)]


def main() -> None:
    torch.set_num_threads(1)
    print(
        f"load {os.getloadavg()[0]:.1f}; {ROWS // BATCH} steps of {BATCH} pictures a round, median of {ROUNDS} rounds\n"
    )
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        data = examples(Path(folder))
        for objective in oochub.names("objective"):
            ours, bare = Ours(objective, data, Path(folder)), Bare(objective, data)
            ours.epoch(), bare.epoch()  # warm
            value = statistics.median(ratio(ours, bare))
            holds = "yes" if value <= BOUND else "no"
            print(f"| training step, {objective}, to a bare loop | {value:.2f} | {BOUND} | {holds} |")


if __name__ == "__main__":
    main()
