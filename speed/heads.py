"""96 linear heads in one stack beside 96 bare loops, one after the other: `python speed/heads.py`.

32 learning rates x 3 seeds of ERM, and the 96 runs of NOOCH's grid (9 methods), by SGD on 2,400 rows of 512 features,
2 epochs of batches of 64. The bare loops are plain torch with the loss of the same objective, without validation.
Interleaved rounds in one thread, CPU time; the median ratio counts.

Measured code: trainers, sweep.
"""

import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from datasets import ClassLabel, Dataset, Features
from torch import nn

import oochub
from oochub.sweep.runs import plan_stages
from oochub.sweep.sweep_recipe import read_recipe
from oochub.trainers.arguments import RobustTrainingArguments
from oochub.trainers.fit_linear_probe import fit_linear_probe
from oochub.trainers.heads.fitted_head import Probe
from oochub.trainers.rows.examples import Examples
from oochub.trainers.rows.targets import find_task

ROUNDS, BOUND, ROWS, WIDTH, BATCH, EPOCHS = 3, 5, 2400, 512, 64, 2
FEATURES = Features({"label": ClassLabel(names=["no", "yes"]), "environment": ClassLabel(names=list("abcd"))})


def probe(objective: str, seed: int, rate: float, **hyperparameters: Any) -> Probe:
    """One of the 96."""
    arguments: dict[str, Any] = {
        "learning_rate": rate,
        "num_train_epochs": EPOCHS,
        "per_device_train_batch_size": BATCH,
    }
    args = RobustTrainingArguments(output_dir="unused", optim="sgd", seed=seed, **arguments)
    return Probe(oochub.get("objective", objective)(**hyperparameters), args)


def alone(one: Probe, train: Examples, features: torch.Tensor) -> None:
    """A run in a bare loop."""
    torch.manual_seed(one.args.seed)
    head, objective = nn.Linear(WIDTH, 2), one.objective
    objective.prepare(class_counts=train.counts(train.label, 2), environment_counts=train.counts(train.environment, 4))
    optimizer = torch.optim.SGD(head.parameters(), lr=one.args.learning_rate, momentum=0.9, weight_decay=1e-4)
    sampler = objective.sampler(train.label, train.environment, seed=one.args.seed)
    for _ in range(EPOCHS):
        order = torch.randperm(ROWS) if sampler is None else torch.tensor(list(sampler))
        for rows in order.split(BATCH):
            optimizer.zero_grad()
            objective(head(features[rows]), train.label[rows], train.environment[rows]).backward()
            optimizer.step()


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
    data = Dataset.from_dict({"label": label, "environment": draw.integers(0, 4, ROWS)}, FEATURES)
    inputs: Any = SimpleNamespace(column="label")
    task = find_task(data)
    train = Examples(
        data, inputs, split="train", task=task, names=FEATURES["label"].names, environment_column="environment"
    )
    rates = np.geomspace(1e-4, 1e-1, 32)
    grid = plan_stages(read_recipe("nooch_suite"), only=["nooch/ce_car"])[0]
    compared = {
        "96 linear heads (32 rates x 3 seeds, ERM)": [probe("erm", s, float(r)) for r in rates for s in range(3)],
        "96 linear heads of NOOCH's mixed grid": [probe(r.objective, r.seed, 0.01, **r.hyperparameters) for r in grid],
    }

    def stacked(probes: list[Probe]) -> None:
        fitted = fit_linear_probe(train, features, probes, task=task)
        assert len(fitted) == 96 and not any(head.error for head in fitted)

    def bare(probes: list[Probe]) -> None:
        for one in probes:
            alone(one, train, features)

    fit_linear_probe(train, features, [probe("erm", 0, 0.1)], task=task)  # torch imports more at the first step
    print(f"load {os.getloadavg()[0]:.1f}\n\n| what | ratio | bound | holds |\n|---|---|---|---|")
    for what, probes in compared.items():
        sides = partial(bare, probes), partial(stacked, probes)
        rounds = [[seconds(side) for side in sides] for _ in range(ROUNDS)]
        value = statistics.median(loops / stack for loops, stack in rounds)
        print(f"| {what} alone / in one stack | {value:.1f} | at least {BOUND} | {'yes' if value >= BOUND else 'no'} |")


if __name__ == "__main__":
    main()
