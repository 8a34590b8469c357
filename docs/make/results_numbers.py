"""The numbers of docs/results.md: each method on each toy world with its intervals, and what they say against ERM's."""

import json
import math
from dataclasses import dataclass
from typing import Any

import pandas as pd
from scipy import stats

from oochub.report import format_numbers

BEATS, WORSE, SAME = "beats ERM", "worse", "no difference shown"
ORACLE = "label x context"

TASKS = {
    "nooch/ce_car": (
        "NOOCH ce_car",
        "The environments of NOOCH are label x context (car or not, road or not), so every method that is given "
        "environments is given the groups: there is no other oracle. Each environment holds one class, which is not "
        "what the methods that compare environments (CORAL, MMD, CausIRL, Fish, IRM, VREx) were made for.",
    ),
    "spawrious/o2o_hard": (
        "Spawrious o2o_hard",
        "Each breed has its own background, in 97% of the images of the first training environment and 87% of the "
        "second. The paper's protocol gives these two environments; the oracle has label x background instead. In "
        "context is the validation split.",
    ),
    "spawrious/m2m_hard": (
        "Spawrious m2m_hard",
        "Two breeds share each background and change it between the two training environments. Every group label x "
        "background is equally frequent: there is no minority for the oracle to lift. In context is the validation "
        "split.",
    ),
}
"""The worlds in the order of the page: title, and what environments and groups are there."""


@dataclass(frozen=True)
class SeedInterval:
    """A number over seeds with its 95% interval."""

    mean: float
    low: float
    high: float

    def text(self, *, signed: bool = False) -> str:
        """Times 100: "96.6 (92.1 to 98.6)"."""
        form = format_numbers.points if signed else format_numbers.fraction
        return f"{form(self.mean)} ({form(self.low)} to {form(self.high)})"


@dataclass(frozen=True)
class MethodResult:
    """A method on a world: its numbers, and what they say against ERM's."""

    title: str
    source: str
    settings: dict[str, Any]
    inside: SeedInterval
    outside: SeedInterval
    gap: SeedInterval
    against: str
    against_inside: str
    ahead: int


def interval(rows: pd.DataFrame, name: str) -> SeedInterval:
    """The mean over seeds, for new trainings and new test images.

    The distance to each end is the root of the sum of two squares: half the t interval over the seeds, and the
    distance to the mean of the seeds' intervals over test images. Ends are kept within the range of the metric.

    Args:
        rows: The runs of a method on a task.
        name: "in_context", "out_of_context" or "gap".
    """
    values = rows[name].to_numpy()
    mean = float(values.mean())
    half = float(stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / math.sqrt(len(values)))
    down, up = mean - float(rows[f"{name}.low"].mean()), float(rows[f"{name}.high"].mean()) - mean
    least = -1.0 if name == "gap" else 0.0
    return SeedInterval(mean, max(least, mean - math.hypot(half, down)), min(1.0, mean + math.hypot(half, up)))


def against(method: SeedInterval, erm: SeedInterval) -> str:
    """What a method does against ERM: a difference is shown where the two intervals do not overlap.

    >>> against(SeedInterval(0.9, 0.8, 1.0), SeedInterval(0.5, 0.4, 0.6))
    'beats ERM'
    """
    if method.low > erm.high:
        return BEATS
    return WORSE if method.high < erm.low else SAME


def method_results(table: pd.DataFrame, task: str) -> list[MethodResult]:
    """The methods on a task, the best out of context first.

    Args:
        table: The table of docs/results/runs.parquet.
        task: benchmark/config.
    """
    of_task = table[table["task"] == task]
    erm = of_task[of_task["method"] == "ERM"]
    results = []
    for title, rows in of_task.groupby("method", sort=False):
        inside, outside = interval(rows, "in_context"), interval(rows, "out_of_context")
        first = rows.iloc[0]
        results.append(
            MethodResult(
                title=str(title),
                source=first["given"],
                settings=json.loads(first["settings"]),
                inside=inside,
                outside=outside,
                gap=interval(rows, "gap"),
                against="" if title == "ERM" else against(outside, interval(erm, "out_of_context")),
                against_inside="" if title == "ERM" else against(inside, interval(erm, "in_context")),
                ahead=_count_ahead(rows, erm),
            )
        )
    return sorted(results, key=lambda result: -result.outside.mean)


def _count_ahead(rows: pd.DataFrame, erm: pd.DataFrame) -> int:
    """Number of seeds on which a method is better out of context than ERM is on the same seed."""
    of_seed = erm.set_index("seed")["out_of_context"]
    return int((rows["out_of_context"].to_numpy() > of_seed.loc[rows["seed"]].to_numpy()).sum())
