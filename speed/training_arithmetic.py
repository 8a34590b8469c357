"""A training step by bfloat16, channels_last and torch.compile beside float32: `python speed/training_arithmetic.py`.

Each side is the trainer's own loop, with what `RobustTrainingArguments` calls mixed_precision, channels_last and
torch_compile. All run interleaved in one process and one thread, on a small network of residual blocks, on a ResNet-18
and on a MobileNetV2, whose blocks are those of EfficientNet-Lite. The median of the rounds' ratios counts, with the
smallest and the largest. The second table trains the small network on a toy Spawrious, a few seeds each, and says how
far the final loss and accuracy are from those of float32 with the same seed.

Measured code: trainers.
"""

import json
import os
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from training import examples
from transformers import (
    BitImageProcessorPil,
    MobileNetV2Config,
    MobileNetV2ForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
)

import oochub
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.fine_tuning.loop import Loop
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.robust_trainer import RobustTrainer

ROUNDS, SEEDS, EPOCHS, PER_FOLDER = 5, 3, 6, 40
SIDES: dict[str, dict[str, Any]] = {
    "float32": {},
    "channels_last": {"channels_last": True},
    "bf16": {"mixed_precision": "bf16"},
    "bf16, channels_last": {"mixed_precision": "bf16", "channels_last": True},
    "torch_compile": {"torch_compile": True},
    "bf16, torch_compile": {"mixed_precision": "bf16", "torch_compile": True},
}


class Network(NamedTuple):
    """A model and its processor, the rows of an epoch and of a batch."""

    name: str
    make: Callable[[], tuple[Any, Any]]
    rows: int
    batch: int


def _small() -> tuple[Any, Any]:
    return open_backbone("resnet-tiny", class_names=list("abcd"), image_size=48)


def _other(kind: Any, config: Any) -> tuple[Any, Any]:
    torch.manual_seed(0)
    size = {"height": 96, "width": 96}
    return kind(config), BitImageProcessorPil(size=size, do_center_crop=False)


_RESNET = ResNetConfig(
    layer_type="basic", depths=[2, 2, 2, 2], hidden_sizes=[64, 128, 256, 512], num_labels=4
)  # ResNet-18
NETWORKS = (
    Network("resnet-tiny at 48", _small, 256, 64),
    Network("ResNet-18 at 96", partial(_other, ResNetForImageClassification, _RESNET), 32, 16),
    Network(
        "MobileNetV2 at 96", partial(_other, MobileNetV2ForImageClassification, MobileNetV2Config(num_labels=4)), 64, 32
    ),
)


class Side:
    """The trainer's loop over an epoch, without validation and checkpoint."""

    def __init__(self, network: Network, asked: dict[str, Any], data: Any, folder: Path) -> None:
        model, processor = network.make()
        args = RobustTrainingArguments(
            output_dir=folder / "run",
            cache_dir=folder / "pixels",
            per_device_train_batch_size=network.batch,
            full_determinism=False,
            **asked,
        )
        objective = oochub.get("objective", "erm")()
        trainer = RobustTrainer(model, args, train_dataset=data, objective=objective, image_processor=processor)
        self.loop = Loop(model, objective, args, data=trainer._data, folder=trainer._folder)

    def epoch(self) -> tuple[float, float]:
        """Seconds of the wall and of the processor."""
        progress = Progress()
        self.loop._begin_stage(progress)
        wall, cpu = time.perf_counter(), time.process_time()
        self.loop._run_epoch(progress, _Quiet())
        return time.perf_counter() - wall, time.process_time() - cpu


class _Quiet:
    def update(self) -> None:
        """As a bar that is off."""


def step_rows(network: Network, folder: Path) -> None:
    data, taken, first = examples(network.rows), {}, {}
    for name, asked in SIDES.items():
        taken[name] = Side(network, asked, data, folder / name)
        first[name] = taken[name].epoch()[0]  # to warm up, compilation included
    rounds = [{name: side.epoch() for name, side in taken.items()} for _ in range(ROUNDS)]
    for name in list(SIDES)[1:]:
        wall, cpu = ([each[name][kind] / each["float32"][kind] for each in rounds] for kind in (0, 1))
        words = [f"{statistics.median(of):.2f} ({min(of):.2f} to {max(of):.2f})" for of in (cpu, wall)]
        extra = f" ({first[name]:.0f} s for the first steps)" if "compile" in name else ""
        print(f"| training step, {network.name}, {name} / float32{extra} | {words[0]} | {words[1]} |", flush=True)


def number_rows(folder: Path) -> None:
    """The final numbers on the validation split, by seed."""
    raw, rows_found = toy_spawrious(folder / "raw", size=PER_FOLDER), {}
    for name, asked in SIDES.items():
        for seed in range(SEEDS):
            given = {"num_train_epochs": EPOCHS, "seed": seed, "cache_dir": folder / "pixels"} | asked
            run = folder / f"{name}-{seed}"
            oochub.train("spawrious/o2o_hard", run, data_dir=str(raw), arguments=given)
            rows_found[name, seed] = json.loads((run / "training_log.json").read_text())[-1]
    for name in SIDES:
        for metric in ("eval_loss", "eval_accuracy"):
            own = [rows_found[name, seed][metric] for seed in range(SEEDS)]
            apart = [value - rows_found["float32", seed][metric] for seed, value in enumerate(own)]
            mean, spread = statistics.mean(apart), statistics.stdev(apart)
            deviation = f"{statistics.mean(own):.4f}, sd {statistics.stdev(own):.4f}"
            print(f"| {metric}, {name} | {deviation} | {mean:+.4f}, sd {spread:.4f} |", flush=True)


def main() -> None:
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f}; median of {ROUNDS} rounds (smallest to largest)\n")
    print("| what | CPU time | wall |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for network in NETWORKS:
            step_rows(network, Path(folder) / network.name)
        print(f"\nload {os.getloadavg()[0]:.1f}; {SEEDS} seeds, {EPOCHS} epochs of a toy Spawrious\n")
        print("| number on the validation split | over seeds | minus float32's of the same seed |\n|---|---|---|")
        number_rows(Path(folder))


if __name__ == "__main__":
    main()
