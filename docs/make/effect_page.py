"""Writes docs/effect.md: ERM, GroupDRO and two controls on the toy worlds, as one table.

The table is the hub's own experiment: a world in which context misleads, the same world without the correlation, and
the same images without the object.
"""

import json
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from multiprocessing import get_context
from pathlib import Path
from typing import Annotated, Any

import typer

from oochub.process.program import end_with_parent
from oochub.report.report import Report
from oochub.studies.demo.effect import CONFIGS, DEMO, Row, SideMeans, render, run, world_of

CONTROL = "no correlation"
TABLE = (
    *DEMO[:2],
    Row(benchmark="nooch", world=CONTROL),
    Row(benchmark="nooch", objects=False),
    Row(benchmark="nooch", world=CONTROL, objects=False),
    *DEMO[2:],
    Row(benchmark="spawrious", objective="group_dro", environments="environment"),
    Row(benchmark="spawrious", world=CONTROL),
    Row(benchmark="spawrious", objects=False),
    Row(benchmark="spawrious", world=CONTROL, objects=False),
)


def markdown(results: Mapping[Row, list[Report]]) -> str:
    """The table as Markdown, a section a benchmark."""
    lines: list[str] = []
    for benchmark in dict.fromkeys(row.benchmark for row in results):
        rows = {row: reports for row, reports in results.items() if row.benchmark == benchmark}
        first = next(iter(rows.values()))[0]
        unit = {"auc": "AUC", "accuracy": "Accuracy"}[first.benchmark.primary_metric]
        lines += [
            f"\n## {CONFIGS[benchmark]}, toy world\n",
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

Made by `python docs/make/effect_page.py`. The toy worlds of `oochub demo`, rendered in the real raw
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
