"""ERM, and what has its loss until rows are chosen, mixed or weighed, against the mean loss in float64 NumPy."""

import pytest
from objective_references import TASKS, agrees, erm, made, some_batch

MIXED = ["mixup", "undersample", "undersample_environments"]
CASES = [(name, "classes") for name in ("erm", "dfr", "jtt", "lisa", "subsample_groups", "w2d")]


@pytest.mark.parametrize(("name", "task"), CASES + [(name, task) for name in MIXED for task in TASKS])
def test_loss_and_gradient_are_those_of_erm(name: str, task: str) -> None:
    """Gradient by central differences. Planted: a sum instead of the mean."""
    agrees(made(name), erm, some_batch(task))
