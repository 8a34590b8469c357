"""The configs that the benchmarks ask to be tried, and which of them every day."""

from typing import Any

import pytest
from datasets import get_dataset_config_names

import oochub

TRIED = [
    (name, config)
    for name in oochub.names("benchmark")
    for config in oochub.get("benchmark", name).tried_configs or get_dataset_config_names(name)[:1]
]
"""Every benchmark with each config that it asks to be tried."""


def tried_by_day(others: Any = pytest.mark.slow, *, each_benchmark: bool = True) -> list[Any]:
    """The same for `parametrize`; all but the first config of each task of a benchmark are slow.

    Args:
        others: The mark of these.
        each_benchmark: False for one config of each task: those of the other benchmarks are slow.
    """
    seen: set[str] = set()
    parameters = []
    for name, config in TRIED:
        task = oochub.get("benchmark", name).of(config).task_category
        of_benchmark = f"{name} {task}"
        is_first = of_benchmark not in seen
        is_daily = is_first and (each_benchmark or task not in seen)
        marks = () if is_daily else (pytest.mark.slow if is_first else others,)
        parameters.append(pytest.param((name, config), marks=marks, id=f"{name}/{config}"))
        seen |= {task, of_benchmark}
    return parameters
