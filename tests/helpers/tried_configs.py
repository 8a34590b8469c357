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


def tried_by_day(others: Any = pytest.mark.slow) -> list[Any]:
    """The same for `parametrize`; all but the first config of each task of a benchmark are slow.

    Args:
        others: The mark of these.
    """
    seen: set[tuple[str, str]] = set()
    parameters = []
    for name, config in TRIED:
        task = (name, oochub.get("benchmark", name).of(config).task_category)
        marks = (others,) if task in seen else ()
        parameters.append(pytest.param((name, config), marks=marks, id=f"{name}/{config}"))
        seen.add(task)
    return parameters
