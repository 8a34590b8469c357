"""96 linear heads in one stack beside 96 bare loops, one after the other: `python speed/heads.py`.

32 learning rates x 3 seeds of ERM by SGD on 2,400 rows of 512 features, 2 epochs of batches of 64. The bare loops are
plain torch, without validation or sampler. Interleaved rounds in one thread, CPU time; the median ratio counts.
"""

import os
import statistics
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features
from torch import nn

import oochub
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.heads.fitted_head import Probe
from oochub.trainers.linear_probe import linear_probe
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import task_of

ROUNDS, BOUND, ROWS, WIDTH, BATCH, EPOCHS = 3, 5, 2400, 512, 64, 2
CLASSES = ["no", "yes"]


def settings(rate: float, seed: int) -> RobustTrainingArguments:
    """One of the 96."""
    given: dict[str, Any] = {"learning_rate": rate, "num_train_epochs": EPOCHS, "per_device_train_batch_size": BATCH}
    return RobustTrainingArguments(output_dir="unused", optim="sgd", seed=seed, **given)


def seconds(run: Callable[[], object]) -> float:
    """CPU time of a call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def main() -> None:
    """Prints the table."""
    torch.set_num_threads(1)
    draw = np.random.default_rng(3)
    label = draw.integers(0, 2, ROWS)
    features = torch.tensor(draw.normal(size=(ROWS, WIDTH)) + 0.5 * label[:, None], dtype=torch.float32)
    data = Dataset.from_dict({"label": label}, Features({"label": ClassLabel(names=CLASSES)}))
    inputs: Any = SimpleNamespace(column="label")
    train = Examples(data, inputs, split="train", task=task_of(data), names=CLASSES)
    rates = np.geomspace(1e-4, 1e-1, 32)
    probes = [Probe(oochub.get("objective", "erm")(), settings(float(r), seed)) for r in rates for seed in range(3)]

    def stack() -> None:
        fitted = linear_probe(train, features, probes, task=task_of(data))
        assert len(fitted) == 96 and not any(probe.error for probe in fitted)

    def bare() -> None:
        for probe in probes:
            torch.manual_seed(probe.args.seed)
            head = nn.Linear(WIDTH, 2)
            optimizer = torch.optim.SGD(head.parameters(), lr=probe.args.learning_rate, momentum=0.9, weight_decay=1e-4)
            for _ in range(EPOCHS):
                for rows in torch.randperm(ROWS).split(BATCH):
                    optimizer.zero_grad()
                    nn.functional.cross_entropy(head(features[rows]), train.label[rows]).backward()
                    optimizer.step()

    linear_probe(train, features, probes[:1], task=task_of(data))  # torch imports more at the first step
    ratios = []
    for _ in range(ROUNDS):
        stacked, alone = seconds(stack), seconds(bare)
        ratios.append(alone / stacked)
    value = statistics.median(ratios)
    print(f"load {os.getloadavg()[0]:.1f}\n\n| what | ratio | bound | holds |\n|---|---|---|---|")
    holds = "yes" if value >= BOUND else "**no**"
    print(
        f"| 96 linear heads (32 rates x 3 seeds, ERM) alone / in one stack | {value:.1f} | at least {BOUND} | {holds} |"
    )


if __name__ == "__main__":
    main()
