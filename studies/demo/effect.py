"""The hub's own experiment, one training a row: ERM and GroupDRO on a toy world in which context misleads.

`oochub demo` runs four of the rows; docs/effect.md shows more, with a world without the correlation and images without
the object as controls.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

_BIASED = "context misleads"
SIZES: dict[str, str | int] = {"nooch": 8000, "spawrious": "medium"}
"""The size of the worlds of the table, by benchmark."""
CONFIGS = {"nooch": "nooch/ce_car", "spawrious": "spawrious/o2o_hard"}
_OPTIONS: dict[str, dict[str, Any]] = {"nooch": {"contexts": ["road"]}, "spawrious": {}}
_EPOCHS = {"nooch": 3, "spawrious": 14}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One training of the table.

    Attributes:
        benchmark: "nooch" or "spawrious".
        world: Whether context and label are correlated in it.
        objective: Name of the objective.
        environments: Column that gives the objective its environments, None for the benchmark's own.
        objects: False when the objects are erased from the images, so that only context is left.
    """

    benchmark: str
    objective: str = "erm"
    environments: str | None = None
    world: str = _BIASED
    objects: bool = True

    @property
    def title(self) -> str:
        """What the row is, in the table's first columns."""
        method = {"erm": "ERM", "group_dro": "GroupDRO"}[self.objective]
        if self.objective != "erm":
            method += f" by {self.environments or 'environment'}"
        return method if self.objects else f"{method}, object erased"


DEMO = (
    Row(benchmark="nooch"),
    Row(benchmark="nooch", objective="group_dro"),
    Row(benchmark="spawrious"),
    Row(benchmark="spawrious", objective="group_dro", environments="group"),
)


class SeedMean(NamedTuple):
    """A number over seeds: mean, the mean of the 95% intervals over test images, and the seeds' own values."""

    mean: float
    low: float
    high: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, estimates: Iterable[Estimate]) -> "SeedMean":
        """The mean of one estimate per seed."""
        values = list(estimates)
        low, high = (float(np.mean([getattr(value, side) for value in values])) for side in ("low", "high"))
        return cls(float(np.mean(values)), low, high, tuple(float(value) for value in values))

    def lines(self, *, signed: bool = False) -> str:
        """Value and interval on two lines, for a terminal."""
        value, _, interval = self.text(signed=signed).partition(" (")
        return f"{value}\n{interval.rstrip(')')}"

    def text(self, *, signed: bool = False) -> str:
        """Times 100: "55.9 (54.0 to 57.8; sd 1.2)"."""
        form = "{:+.1f}" if signed else "{:.1f}"
        mean, low, high = (form.format(100 * x).replace("-", "−") for x in (self.mean, self.low, self.high))
        spread = f"; sd {100 * np.std(self.values, ddof=1):.1f}" if len(self.values) > 1 else ""
        return f"{mean} ({low} to {high}{spread})"


class SideMeans(NamedTuple):
    """A row's numbers by the primary metric: both sides, the gap, all test rows; and the accuracies of both sides."""

    inside: SeedMean
    outside: SeedMean
    gap: SeedMean
    whole: SeedMean
    accuracy_in: SeedMean
    accuracy_out: SeedMean

    @classmethod
    def of(cls, reports: list[Report]) -> "SideMeans":
        """The means over reports, one per seed."""
        metric = reports[0].benchmark.primary_metric
        names = (f"in_context/{metric}", f"out_of_context/{metric}", "gap", metric)
        accuracies = ("in_context/accuracy", "out_of_context/accuracy")
        return cls(*(SeedMean.of(report[name] for report in reports) for name in (*names, *accuracies)))


def world_of(row: Row) -> str:
    """The name of a row's world.

    >>> world_of(Row(benchmark="nooch", objects=False))
    'nooch-biased-erased'
    """
    kind = "biased" if row.world == _BIASED else "control"
    return f"{row.benchmark}-{kind}" + ("" if row.objects else "-erased")


def raw_folder(row: Row, folder: Path) -> Path:
    """The folder of a row's world below `folder`, which holds the worlds.

    >>> raw_folder(Row(benchmark="nooch"), Path("raw")).as_posix()
    'raw/nooch-biased/nooch'
    """
    return folder / world_of(row) / row.benchmark


def render(row: Row, folder: Path, *, size: str | int | None = None) -> Path:
    """The raw folder of a row's world, below `folder`; rendered when it is not there yet.

    Args:
        row: The row of the world.
        folder: Holds the worlds.
        size: Size of the world; None is the size of the table.
    """
    target = raw_folder(row, folder)
    size = SIZES[row.benchmark] if size is None else size
    if row.benchmark == "nooch":
        correlation = 0.93 if row.world == _BIASED else None
        return toy_coco(target, size=size, correlation=correlation, objects=row.objects, focus="car")
    return toy_spawrious(target, size=size, correlation=row.world == _BIASED, dogs=row.objects)


def run(row: Row, folder: Path, *, seed: int, size: str | int | None = None) -> Report:
    """One training, prediction and evaluation; what is there already is reused.

    Args:
        row: The row that says what to train, and on what.
        folder: Holds the worlds, runs and reports.
        seed: Random seed for the training.
        size: Size of the toy world; None is the size of the table.
    """
    from oochub.data.load import load
    from oochub.evaluation.evaluate import evaluate
    from oochub.predicting import predict
    from oochub.training import train

    raw = render(row, folder / "raw", size=size)
    stem = f"{world_of(row)}-{row.objective}-{row.environments or 'environment'}-seed{seed}"
    target = folder / "runs" / stem
    train(
        CONFIGS[row.benchmark],
        target,
        objective=row.objective,
        hyperparameters={"step_size": 0.05} if row.objective == "group_dro" else {},
        environments=row.environments,
        arguments={"num_train_epochs": _EPOCHS[row.benchmark], "seed": seed},
        data_dir=str(raw),
        options=_OPTIONS[row.benchmark],
    )
    data = load(CONFIGS[row.benchmark], data_dir=str(raw), options=_OPTIONS[row.benchmark])
    predict(target, data, out=target / "predictions.parquet")
    report = evaluate(target / "predictions.parquet")
    report.save(target / "report.json")
    report.to_html(target / "report.html")
    return report
