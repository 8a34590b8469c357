"""An objective alone, on cached features, beside cross-entropy: `python speed/objectives.py`.

A linear head of 10 classes on features of width 512, 4 environments: logits, loss and gradients of the head, in one
thread, against the same with cross-entropy. Interleaved rounds, CPU time; the median of the rounds' ratios counts. At a
batch of 32 the cost is that of calling torch at all, which is why three sizes stand here.

Measured code: trainers.
"""

import os
import statistics
import time
from collections.abc import Callable

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
from torch import nn

import oochub

ROUNDS, WIDTH, CLASSES, ENVIRONMENTS = 9, 512, 10, 4
STEPS = {32: 300, 128: 300, 1024: 100}
BOUNDS = {"group_dro": 2.5, "cvar": 2.5, "vrex": 2.5, "focal": 2.5, "irm": 5.0}


def steps(name: str | None, batch: int) -> Callable[[], None]:
    """A function that takes STEPS[batch] steps of an objective; None is torch's cross-entropy."""
    torch.manual_seed(0)
    head, features = nn.Linear(WIDTH, CLASSES), torch.randn(batch, WIDTH)
    label, environment = torch.randint(CLASSES, (batch,)), torch.randint(ENVIRONMENTS, (batch,))
    if name is None:
        loss: Callable[[torch.Tensor], torch.Tensor] = lambda logits: nn.functional.cross_entropy(logits, label)  # noqa: E731
    else:
        objective = oochub.get("objective", name)()
        counts = torch.bincount(label, minlength=CLASSES), torch.bincount(environment, minlength=ENVIRONMENTS)
        objective.prepare(class_counts=counts[0].tolist(), environment_counts=counts[1].tolist())
        loss = lambda logits: objective(logits, label, environment=environment, features=features)  # noqa: E731

    def run() -> None:
        for _ in range(STEPS[batch]):
            head.zero_grad()
            loss(head(features)).backward()

    return run


def ratio(ours: Callable[[], None], floor: Callable[[], None]) -> float:
    """The median over ROUNDS interleaved rounds of our CPU time over the floor's."""
    ours(), floor()
    ratios = []
    for _ in range(ROUNDS):
        times = [time.process_time()]
        for step in (ours, floor):
            step()
            times.append(time.process_time())
        ratios.append((times[1] - times[0]) / (times[2] - times[1]))
    return statistics.median(ratios)


def main() -> None:
    torch.set_num_threads(1)
    print(f"load {os.getloadavg()[0]:.1f}; CPU time, median of {ROUNDS} rounds\n")
    print("| what | ratio | bound | holds |\n|---|---|---|---|")
    for batch in STEPS:
        floor = steps(None, batch)
        for name, bound in BOUNDS.items():
            value = ratio(steps(name, batch), floor)
            holds = "yes" if value <= bound else "**no**"
            print(f"| {name} alone, batch of {batch:,} / cross-entropy | {value:.2f} | {bound} | {holds} |")


if __name__ == "__main__":
    main()
