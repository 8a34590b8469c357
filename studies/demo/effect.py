"""Does it show what it says? ERM, GroupDRO and two controls on the toy worlds, as one table (docs/effect.md).

The table is the hub's own experiment: a world in which context misleads, the same world without the correlation, and
the same images without the object. Run it with `python -m oochub.studies.demo.effect`.
"""

import json
from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer

from oochub.builders.toy_worlds.toy_coco import toy_coco
from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.process.program import end_with_parent
from oochub.report.report import Report
from oochub.stats.estimate import Estimate

_BIASED, _CONTROL = "context misleads", "no correlation"
SIZES: dict[str, str | int] = {"nooch": 8000, "spawrious": "medium"}
"""The size of the worlds of the table, by benchmark."""
_CONFIG = {"nooch": "nooch/ce_car", "spawrious": "spawrious/o2o_hard"}
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
TABLE = (
    *DEMO[:2],
    Row(benchmark="nooch", world=_CONTROL),
    Row(benchmark="nooch", objects=False),
    Row(benchmark="nooch", world=_CONTROL, objects=False),
    *DEMO[2:],
    Row(benchmark="spawrious", objective="group_dro", environments="environment"),
    Row(benchmark="spawrious", world=_CONTROL),
    Row(benchmark="spawrious", objects=False),
    Row(benchmark="spawrious", world=_CONTROL, objects=False),
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
    from oochub.prediction.predict import predict
    from oochub.training import train

    raw = render(row, folder / "raw", size=size)
    stem = f"{world_of(row)}-{row.objective}-{row.environments or 'environment'}-seed{seed}"
    target = folder / "runs" / stem
    train(
        _CONFIG[row.benchmark],
        target,
        objective=row.objective,
        hyperparameters={"step_size": 0.05} if row.objective == "group_dro" else {},
        environments=row.environments,
        arguments={"num_train_epochs": _EPOCHS[row.benchmark], "seed": seed},
        data_dir=str(raw),
        options=_OPTIONS[row.benchmark],
    )
    data = load(_CONFIG[row.benchmark], data_dir=str(raw), options=_OPTIONS[row.benchmark])
    predict(target, data, out=target / "predictions.parquet")
    report = evaluate(target / "predictions.parquet")
    report.save(target / "report.json")
    report.to_html(target / "report.html")
    return report


def markdown(results: Mapping[Row, list[Report]]) -> str:
    """The table as Markdown, a section a benchmark."""
    lines: list[str] = []
    for benchmark in dict.fromkeys(row.benchmark for row in results):
        rows = {row: reports for row, reports in results.items() if row.benchmark == benchmark}
        first = next(iter(rows.values()))[0]
        unit = {"auc": "AUC", "accuracy": "Accuracy"}[first.benchmark.primary_metric]
        lines += [
            f"\n## {_CONFIG[benchmark]}, toy world\n",
            f"| world | method | {unit} in context | {unit} out of context | gap | {unit}, whole test split "
            "| accuracy out of context |",
            "|---|---|---|---|---|---|---|",
        ]
        for row, reports in rows.items():
            means = SideMeans.of(reports)
            numbers = [means.inside.text(), means.outside.text(), means.gap.text(signed=True)]
            numbers += [means.whole.text(), means.accuracy_out.text()]
            lines.append(f"| {row.world} | {row.title} | {' | '.join(numbers)} |")
        lines.append(f"\nn = {first.gap.n_in:,} in context, {first.gap.n_out:,} out of context.")
    return "\n".join(lines) + "\n"


def _convert_to_json(reports: list[Report]) -> dict[str, Any]:
    means = SideMeans.of(reports)
    names = ("in", "out", "gap", "all", "accuracy_in", "accuracy_out")
    numbers = {name: mean._asdict() for name, mean in zip(names, means, strict=True)}
    return {"metric": reports[0].benchmark.primary_metric, **numbers}


_PREFACE = """# The effect, measured

Made by `python -m oochub.studies.demo.effect`. The toy worlds of `oochub demo`, rendered in the real raw
formats and built by the real builders; a small ResNet trained from scratch. All numbers times 100:
the mean over seeds {seeds}, in brackets the 95% interval over test images (the mean of the seeds' intervals) and
the standard deviation over seeds.

Two controls stand beside the effect. Trained in the world *without* the correlation, the same network has no gap. And
with the *object erased*, context alone predicts the label where context and label are correlated, and does not where
they are not. (For NOOCH that is read off the whole test split: its easy rows are those where context and label agree,
so on them a network that has learned nothing but happens to like roads is right, and out of context wrong.)

GroupDRO on Spawrious is given the column `group` (label x background) as its environments. That departs from the
paper's protocol, which has the two training environments; the row with `environment` is that protocol's form.
"""


def _render_row(row: Row, folder: Path) -> None:
    render(row, folder / "raw")


def _run_row(row: Row, seed: int, folder: Path) -> Report:
    return run(row, folder, seed=seed)


def _limit_to_one_thread() -> None:
    end_with_parent()
    import torch
    from transformers.utils import logging

    torch.set_num_threads(1)
    logging.disable_progress_bar()


def main(
    out: Annotated[Path, typer.Option(help="The Markdown page.")] = Path("docs/effect.md"),
    folder: Annotated[Path, typer.Option(help="Holds worlds, runs and reports.")] = Path("runs/effect"),
    seeds: int = 3,
    workers: Annotated[int, typer.Option(help="Trainings side by side.")] = 2,
) -> None:
    """Trains the whole table and writes the page."""
    from oochub.process.follow import follow
    from oochub.storage.files import write_whole

    jobs = [(row, seed) for row in TABLE for seed in range(seeds)]
    worlds = {world_of(row): row for row in TABLE}
    results: dict[Row, list[Report]] = {}
    # One thread each: two small trainings side by side are faster than one with two threads after the other.
    with ProcessPoolExecutor(workers, get_context("spawn"), initializer=_limit_to_one_thread) as pool:
        renders = pool.map(_render_row, worlds.values(), [folder] * len(worlds))
        list(follow(renders, total=len(worlds), desc="Worlds", unit="world", disable=None))
        reports = pool.map(_run_row, *zip(*jobs, strict=True), [folder] * len(jobs))
        for (row, _), report in zip(
            jobs, follow(reports, total=len(jobs), desc="Trainings", disable=None), strict=True
        ):
            results.setdefault(row, []).append(report)
    numbers = [{**asdict(row), "title": row.title, **_convert_to_json(reports)} for row, reports in results.items()]
    with write_whole(out.with_suffix(".json")) as draft:
        draft.write_text(json.dumps({"seeds": seeds, "rows": numbers}, indent=1) + "\n", "utf-8")
    with write_whole(out) as draft:
        draft.write_text(_PREFACE.format(seeds=", ".join(map(str, range(seeds)))) + markdown(results), "utf-8")


if __name__ == "__main__":
    typer.run(main)
