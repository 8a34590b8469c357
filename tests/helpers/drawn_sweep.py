"""A sweep whose runs are drawn: predictions and a report for each, as measured runs leave them, without a training."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa

import oochub
from oochub.sweep.measurement import collect_numbers, name_method
from oochub.sweep.runs import Run, RunResult
from oochub.sweep.sweep import SweepResult, feature_sweep
from oochub.sweep.sweep_recipe import read_recipe

RECIPE = """
about = "Runs that are drawn."
tasks = {tasks}
model = "none"
seeds = {seeds}
select = "validation_loss"
{methods}
"""


def draw_predictions(run: Run, *, margin: float, spread: float, rows: int, note: str) -> oochub.Predictions:
    """Answers of a run: each image has a difficulty that all runs share, and each method one of its own."""
    _, _, config = run.task.partition("/")
    image = np.random.default_rng(sum(map(ord, config)))
    own = np.random.default_rng([sum(map(ord, run.method + config)), 1])
    seed = np.random.default_rng([sum(map(ord, run.method + config)), 2, run.seed])
    parts = {"validation": rows // 4, "test": rows}
    tables = []
    for split, n in parts.items():
        label = np.arange(n) % 2
        is_hard = (np.arange(n) // 2) % 2 == 1
        score = margin - 0.5 * is_hard + image.normal(size=n) + 0.7 * own.normal(size=n)
        score += spread * seed.normal() + seed.normal(size=n)
        logits = np.stack([np.where(label == 1, -score, score), np.where(label == 1, score, -score)], axis=1)
        challenge = np.where(is_hard, np.where(label == 1, "hard_positive", "hard_negative"), "easy")
        tables.append(
            pa.table(
                {
                    "example_id": [f"{split}{k:05d}" for k in range(n)],
                    "split": [split] * n,
                    "label": label,
                    "logits": logits.tolist(),
                    "challenge": challenge.tolist(),
                    "group": ["car/road"] * n,
                }
            )
        )
    metadata = {
        "benchmark": "nooch",
        "config": config,
        "version": "1.0.0",
        "notes": [note] if note else [],
        "model": {"id": run.id},
        "class_names": ["no_car", "car"],
        "rows": parts,
        "training": {"objective": run.objective, "seed": run.seed, "arguments": run.arguments},
    }
    return oochub.Predictions(pa.concat_tables(tables), metadata)


def draw_sweep(
    folder: Path,
    methods: Mapping[str, float],
    *,
    seeds: int = 3,
    tasks: tuple[str, ...] = ("nooch/ce_car",),
    spread: float = 0.05,
    rows: int = 400,
    grid: str = "",
    note: str = "a drawn toy world, not the benchmark's images",
) -> SweepResult:
    """A finished sweep of methods with these margins, all with the objective erm.

    Args:
        folder: Where the recipe and the folder `sweep` are written.
        methods: Margin of each method by its title.
        seeds: How many seeds.
        tasks: Tasks of nooch.
        spread: Standard deviation of the margin over seeds.
        rows: Rows of the test split.
        grid: Grid of every method, as in TOML.
        note: Caveat of the data.
    """
    tables = [f'[methods."{title}"]\nobjective = "erm"\n{grid}' for title in methods]
    recipe = folder / "drawn.toml"
    recipe.write_text(
        RECIPE.format(tasks=str(list(tasks)).replace("'", '"'), seeds=list(range(seeds)), methods="\n".join(tables))
    )

    def measure(runs: list[Run], out: Path) -> Iterator[tuple[Run, RunResult]]:
        for run in runs:
            place = out / "runs" / run.id
            margin = methods[run.method] - 2 * float(run.setting.get("weight_decay", 0))
            predictions = draw_predictions(run, margin=margin, spread=spread, rows=rows, note=note)
            predictions.save(place / "predictions.parquet")
            report = name_method(oochub.evaluate(predictions, metrics=["auc", "accuracy", "nll"], resamples=100), run)
            report.save(place / "report.json")
            yield run, RunResult(headline="auc", numbers=collect_numbers(predictions, report), seconds=1.0)

    return feature_sweep(read_recipe(recipe), folder / "sweep", measure=measure)
