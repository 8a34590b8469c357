"""Numbers that papers report, as facts: for reference beside measured ones, never in their place.

One JSON file a benchmark, `studies/reported/<benchmark>.json`: its source, setting, notes, and tables as printed, each
with the metric, slice and methods under the names of this hub; of ImageNet-OOD, a slice is the set out of distribution
and the methods are detectors. A cell is [mean, standard deviation] or null where the
source has none that can be read with certainty.
"""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

from oochub import catalog
from oochub.errors import unknown_name
from oochub.report import wording


class ReportedNumber(NamedTuple):
    """A printed number: its mean, its standard deviation (nan where none is printed), and the number of its table."""

    mean: float
    sd: float
    table: str


@dataclass(frozen=True, kw_only=True)
class ReportedNumbers:
    """What a paper reports of one metric on one slice; as text, where it stands.

    Attributes:
        source: Authors, year and title.
        setting: What was measured: the model, the split.
        values: The numbers by (config, method), in the order of the paper.
    """

    source: str
    setting: str
    values: Mapping[tuple[str, str], ReportedNumber]

    def among(self, configs: Collection[str]) -> "ReportedNumbers":
        """Those of some configs."""
        return replace(self, values={place: number for place, number in self.values.items() if place[0] in configs})

    def __str__(self) -> str:
        tables = sorted({number.table for number in self.values.values()}, key=lambda table: (len(table), table))
        if not tables:
            return f"{self.source} report no such numbers."
        of = f"Table{'s' if len(tables) > 1 else ''} {wording.listed(tables)}"
        return f"Reported, not measured: {of} of {self.source} ({self.setting}); never bold."


def reported_numbers(benchmark: str, metric: str, slice: str, *, table: str | None = None) -> ReportedNumbers:
    """The reported numbers of a metric on a slice.

    Where two tables print the same number, the one with a standard deviation is taken, else the first.

    Args:
        benchmark: One of `reported_benchmarks()`.
        metric: As in a report ("auc", "worst_group.nll").
        slice: The name of a slice as in a report ("out_of_context", "hard_positive").
        table: The number of a table, to take no other's; its own setting then stands for the paper's.

    Returns:
        The numbers as fractions or nats; none where the paper prints no such table.

    Raises:
        OochubError: No numbers of that benchmark are known.

    >>> reported_numbers("nooch", "auc", "out_of_context").values["ce_car", "group_dro"]
    ReportedNumber(mean=0.891, sd=0.006, table='9')
    """
    if benchmark not in reported_benchmarks():
        raise unknown_name("benchmark with reported numbers", benchmark, reported_benchmarks())
    content = json.loads(catalog.reported_files()[benchmark].read_text("utf-8"))
    values: dict[tuple[str, str], ReportedNumber] = {}
    setting = content["setting"]
    for number, printed in content["tables"].items():
        if (printed["metric"], printed["slice"]) != (metric, slice) or table not in (None, number.partition(" ")[0]):
            continue
        setting = setting if table is None else printed.get("setting", setting)
        for config, cells in printed["rows"].items():
            for method, cell in zip(printed["columns"], cells, strict=True):
                if cell is not None and (cell[1] is not None or (config, method) not in values):
                    sd = math.nan if cell[1] is None else cell[1]
                    values[config, method] = ReportedNumber(cell[0], sd, number.partition(" ")[0])
    return ReportedNumbers(source=content["source"], setting=setting, values=values)


def reported_benchmarks() -> list[str]:
    """The benchmarks of which reported numbers are known.

    >>> reported_benchmarks()
    ['imagenet_ood', 'nooch', 'spawrious', 'waterbirds']
    """
    return list(catalog.reported_files())
