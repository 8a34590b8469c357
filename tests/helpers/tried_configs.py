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
_LARGE = {"imagenet_1k"}
"""Configs with a thousand folders: another of their benchmark is tried every day."""


def tried_by_day() -> list[Any]:
    """The same for `parametrize`; all but one config of each task of a benchmark are slow."""
    return _marked("benchmark", pytest.mark.slow)


def tried_few(others: Any = pytest.mark.slow) -> list[Any]:
    """The same with one config of each task every day, one of each benchmark among the slow tests.

    Args:
        others: The mark of the rest.
    """
    return _marked("task", others)


def _marked(daily: str, others: Any) -> list[Any]:
    seen: set[Any] = set()
    parameters = []
    for name, config in sorted(TRIED, key=lambda tried: tried[1] in _LARGE):
        task = oochub.get("benchmark", name).of(config).task_category
        is_first = (name, task) not in seen and config not in _LARGE
        is_daily = is_first and (daily == "benchmark" or task not in seen)
        marks = () if is_daily else (pytest.mark.slow if is_first else others,)
        parameters.append(pytest.param((name, config), marks=marks, id=f"{name}/{config}"))
        seen |= {task, (name, task)}
    return parameters
