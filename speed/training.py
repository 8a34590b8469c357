"""A training step of the trainer beside a bare loop of the same loss: `python speed/training.py`.

All run interleaved in one process and one thread, on the default backbone; the median of the rounds' ratios of CPU time
counts. Beside them, where they are to be had, the steps of other code bases: `training_peers.py` says how to get them.
Objectives may be named: `python speed/training.py erm irm`. Last, or as `python speed/training.py sweep`: the
96 runs of NOOCH's grid as heads on cached features against fine-tuning a ResNet-50 96 times, of which one step is
measured and the rest multiplied.

Measured code: trainers.
"""

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features
from datasets import Image as ImageFeature
from PIL import Image
from torch import nn
from training_peers import missing, peers

import oochub
from oochub.inputs.pictures import Pictures
from oochub.inputs.pictures.preprocessing import Preprocessing, normalize
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep_recipe import read_recipe
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.backbone import open_backbone
from oochub.trainers.batch import Batch
from oochub.trainers.fine_tuning.loop import Loop
from oochub.trainers.fine_tuning.run_folder import Progress
from oochub.trainers.fit_linear_probe import fit_linear_probe
from oochub.trainers.heads.fitted_head import Probe
from oochub.trainers.robust_trainer import RobustTrainer
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import find_task
from oochub.trainers.training_step import Outputs

ROUNDS, ROWS, BATCH, SIZE, BOUND = 11, 640, 64, 48, 1.05
ENVIRONMENTS = ["a", "b", "c", "d"]
HEAD_ROWS, EPOCHS, WIDTH, FULL_BATCH, FULL_SIZE, FULL_STEPS = (
    1280,
    5,
    2048,
    32,
    224,
    2,
)  # of the sweep, and of fine-tuning


def examples(rows: int) -> Dataset:
    import io

    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(rows):
        file = io.BytesIO()
        Image.fromarray(rng.integers(0, 256, (SIZE, SIZE, 3), np.uint8)).save(file, "PNG", compress_level=0)
        pictures.append({"bytes": file.getvalue(), "path": None})
    features = Features(
        {"image": ImageFeature(), "label": ClassLabel(num_classes=4), "environment": ClassLabel(names=ENVIRONMENTS)}
    )
    columns = {name: rng.integers(0, 4, rows) for name in ("label", "environment")}
    return Dataset.from_dict({"image": pictures} | columns, features)


class Plain:
    """What an objective's step asks of a model, in plain torch."""

    def __init__(self, model: Any, optimizer: torch.optim.Optimizer) -> None:
        self.module, self._optimizer = model, optimizer
        self.draws = self.shared_draws = np.random.default_rng(0)
        self.done = 0.0
        model.classifier[1].register_forward_pre_hook(self._see)

    def outputs(self, inputs: Any, environment: Any = None) -> Outputs:
        logits = self.module(**inputs).logits
        return Outputs(logits, self._seen)

    def update(self, loss: torch.Tensor) -> None:
        loss.backward()
        self._optimizer.step()
        self._optimizer.zero_grad()

    def auxiliary_loss(self, features: Any, row: Any) -> float:
        return 0.0

    def _see(self, layer: Any, inputs: Any) -> None:
        self._seen = inputs[0]


class World:
    """The images in memory, and new networks."""

    def __init__(self, data: Dataset) -> None:
        self.batch, self.environments = BATCH, len(ENVIRONMENTS)
        self.preprocessing = Preprocessing.from_processor(self._backbone()[1])
        self.pixels = torch.tensor(np.stack([np.asarray(picture) for picture in data["image"]]))
        self.label, self.environment = torch.tensor(data["label"][:]), torch.tensor(data["environment"][:])

    def model(self) -> Any:
        return self._backbone()[0]

    def network(self) -> SimpleNamespace:
        """The same in two parts: pixels to features (n, 128), and features to logits."""
        model = self.model()
        return SimpleNamespace(features=_Features(model.resnet), classifier=model.classifier[1])

    def normalized(self, rows: Any = slice(None)) -> torch.Tensor:
        return normalize(self.pixels[rows], self.preprocessing)

    def balanced(self) -> Iterator[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
        """An epoch in batches that have equally many rows of each environment, one after the other."""
        of_each = [(self.environment == number).nonzero()[:, 0] for number in range(self.environments)]
        for _ in range(ROWS // BATCH):
            size = (BATCH // self.environments,)
            rows = torch.cat([each[torch.randint(len(each), size)] for each in of_each])
            yield self.normalized(rows), self.label[rows], self.environment[rows]

    def _backbone(self) -> tuple[Any, Any]:
        return open_backbone("resnet-tiny", class_names=list("abcd"), image_size=SIZE)


class _Features(nn.Module):  # type: ignore[misc]
    n_outputs = 128

    def __init__(self, encoder: Any) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        features: torch.Tensor = self.encoder(pixels).pooler_output.flatten(1)
        return features


class Bare:
    """The same steps with nothing around them."""

    def __init__(self, objective: str, world: World) -> None:
        self.world, self.model = world, world.model()
        self.objective = oochub.get("objective", objective)()
        counts = {name: torch.bincount(getattr(world, name)).tolist() for name in ("label", "environment")}
        self.objective.prepare(class_counts=counts["label"], environment_counts=counts["environment"])
        self.learner = Plain(self.model, torch.optim.AdamW(self.model.parameters(), lr=1e-3, weight_decay=1e-4))
        probe = {"pixel_values": torch.randn(2, 3, SIZE, SIZE)}
        self.objective.examine(self.model, probe, label=world.label, environment=world.environment)

    def epoch(self) -> None:
        self.model.train()
        for rows in torch.randperm(ROWS).split(BATCH):
            pixels = {"pixel_values": self.world.normalized(rows)}
            batch = Batch(pixels, self.world.label[rows], self.world.environment[rows], rows)
            self.objective.take_step(self.objective.change(batch, self.learner.draws), self.learner)


class Ours:
    """The trainer's own loop over an epoch, without validation and checkpoint."""

    def __init__(self, objective: str, data: Dataset, folder: Path) -> None:
        model, processor = open_backbone("resnet-tiny", class_names=list("abcd"), image_size=SIZE)
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
        self.loop = Loop(model, trainer.objective, args, data=trainer._data, folder=trainer._folder, head=trainer._head)

    def epoch(self) -> None:
        progress = Progress()
        self.loop._begin_stage(progress)
        self.loop._run_epoch(progress, _Quiet())


class _Quiet:
    def update(self) -> None:
        """As a bar that is off."""


def seconds(side: Any) -> float:
    """CPU time of an epoch."""
    start = time.process_time()
    own: float | None = side.epoch()
    return time.process_time() - start if own is None else own


def ratios(sides: Mapping[str, Any], floor: Any) -> dict[str, float]:
    """The ratio of each side to the floor: the median of interleaved rounds after one to warm up."""
    rounds = [(*map(seconds, sides.values()), seconds(floor)) for _ in range(1 + ROUNDS)][1:]
    return {name: statistics.median(r[place] / r[-1] for r in rounds) for place, name in enumerate(sides)}


def heads(data: Dataset) -> float:
    """Seconds of CPU of the 96 runs of one task of the suite, every objective of its grid, without early stopping."""
    _, processor = open_backbone("resnet-tiny", class_names=list("abcd"), image_size=SIZE)
    names, inputs = find_task(data).names or [], Pictures(processor)
    column = {"environment_column": "environment"}
    train = Examples(data, inputs, split="train", task=find_task(data), names=names, **column)
    probes = []
    for run in plan_stages(read_recipe("nooch_suite"), only=["nooch/ce_car"])[0]:
        arguments = run.arguments | {"num_train_epochs": EPOCHS, "early_stopping_patience": 0}
        args = RobustTrainingArguments(output_dir="unused", environment_column="environment", **arguments)
        probes.append(Probe(oochub.get("objective", run.objective)(**run.hyperparameters), args))
    features = torch.randn(len(data), WIDTH, generator=torch.Generator().manual_seed(0))
    start = time.process_time()
    fitted = fit_linear_probe(train, features, probes, task=find_task(data))
    seconds = time.process_time() - start
    assert len(fitted) == 96 and not any(head.error for head in fitted)
    return seconds


def full_step() -> tuple[float, float]:
    """Seconds of CPU of a training step of a ResNet-50 from its config, with the suite's SGD, and of a forward pass."""
    from transformers import ResNetConfig, ResNetForImageClassification

    model = ResNetForImageClassification(ResNetConfig(num_labels=4)).train()  # the config's defaults are ResNet-50
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9, weight_decay=1e-4)
    pixels, label = torch.randn(FULL_BATCH, 3, FULL_SIZE, FULL_SIZE), torch.randint(4, (FULL_BATCH,))
    seconds = []
    for rows in (2, *[FULL_BATCH] * FULL_STEPS):  # the first, a small one, is to be warm
        start = time.process_time()
        torch.nn.functional.cross_entropy(model(pixels[:rows]).logits, label[:rows]).backward()
        optimizer.step()
        optimizer.zero_grad()
        seconds.append(time.process_time() - start)
    with torch.inference_mode():
        model.eval()
        start = time.process_time()
        model(pixels)
    return statistics.median(seconds[1:]), time.process_time() - start


def sweep_row() -> None:
    step, forward = full_step()
    taken, steps = heads(examples(HEAD_ROWS)), HEAD_ROWS // FULL_BATCH * EPOCHS
    full, once = 96 * steps * step, HEAD_ROWS // FULL_BATCH * forward
    what = f"96 heads of NOOCH's grid on {HEAD_ROWS:,} x {WIDTH:,} cached features, {EPOCHS} epochs: {taken:.1f} s"
    peer = f"96 x {steps} x one step of a ResNet-50, {FULL_BATCH} images at {FULL_SIZE}: {step:.1f} s measured"
    holds = "yes" if taken * 1000 <= full else "no"
    print(f"| {what} measured / {peer}; CPU time | 1/{full / taken:,.0f} | 1/1,000 | {holds} |")
    print(f"| the same with the extraction, once: {HEAD_ROWS // FULL_BATCH} x {forward:.1f} s measured | ", end="")
    print(f"1/{full / (taken + once):,.0f} | | |")


def main() -> None:
    torch.set_num_threads(1)
    steps = f"{ROWS // BATCH} steps of {BATCH} images"
    print(f"load {os.getloadavg()[0]:.1f}; CPU time, {steps} a round, median of {ROUNDS} rounds\n")
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        world, named = World(data := examples(ROWS)), sys.argv[1:] or [*oochub.names("objective"), "sweep"]
        for objective in (name for name in named if name != "sweep"):
            others = {name: made(world) for name, made in peers(objective).items()}
            values = ratios({"ours": Ours(objective, data, Path(folder))} | others, Bare(objective, world))
            value = values.pop("ours")
            holds = "yes" if value <= BOUND else "**no**"
            print(f"| training step, {objective} / a bare loop of the same loss | {value:.2f} | {BOUND} | {holds} |")
            for name, peer in values.items():
                print(f"| {name}, {objective} / the same bare loop | {peer:.2f} | | |")
        if "sweep" in named:
            sweep_row()
    print("".join(f"\n{line}" for line in missing()))


if __name__ == "__main__":
    main()
