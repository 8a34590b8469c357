"""All data sets of WILDS end to end on toy folders: build, train, predict, evaluate, report.

`python -m oochub.studies.wilds.toys --out wilds` runs it. A data set is found by its file in builders/wilds;
nothing here names one but for what differs.
"""

import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from rich.console import Console
from rich.table import Table

from oochub import catalog
from oochub.comparison.comparison_page import comparison_page
from oochub.errors import OochubError, unknown_name
from oochub.process.program import program
from oochub.report.report import Report
from oochub.stats.estimate import Estimate
from oochub.storage.artifacts import PAGE
from oochub.storage.files import check_writable, lock_target, write_whole, write_whole_folder
from oochub.studies import file_kinds
from oochub.studies.wilds.best_constant import best_constant
from oochub.studies.wilds.result_tables import result_tables
from oochub.studies.wilds.toy_model import toy_model

_DENSE = ("camelyon17", "fmow")
_OBJECTIVES = {"amazon": "group_dro"}  # a tenth of the users of training mean less by their praise: ERM leaves them
_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "poverty_fold_a": {"num_train_epochs": 6, "per_device_train_batch_size": 8, "learning_rate": 3e-3},
    "amazon": {"num_train_epochs": 20, "learning_rate": 5e-3, "sampler": "environment_balanced"},
    "py150": {"num_train_epochs": 20, "learning_rate": 3e-3, "per_device_train_batch_size": 4},
    "globalwheat": {
        "num_train_epochs": 120,
        "per_device_train_batch_size": 8,
        "learning_rate": 2e-3,
        "lr_scheduler_type": "cosine",
        "warmup_ratio": 0.1,
    },
}
_SIZES = {"poverty_fold_a": 12, "fmow": 96, "globalwheat": 32}  # what a learned model tells from a constant
_EPOCHS = 10


class ToyResult(NamedTuple):
    """What came of one data set: its report, the best constant predictor's headline, the seconds it took."""

    report: Report
    constant: float
    seconds: float

    @property
    def headline(self) -> Estimate:
        """The headline out of context."""
        return self.report[f"out_of_context/{self.report.benchmark.primary_metric}"]

    @property
    def is_better(self) -> bool:
        """Whether the trained model beats the constant, and not by luck: the whole interval lies above it."""
        return bool(self.headline.low > self.constant)


def toy_result(config: str, folder: Path, *, seed: int = 0) -> ToyResult:
    """Draws the toy folder of a config of WILDS, trains on it, predicts, evaluates and writes the report.

    Args:
        config: Such as "camelyon17".
        folder: Gets raw/, models/, runs/; what is there is used again.
        seed: Random seed for the world and the training.

    Raises:
        OochubError: A data set of which no model is known, or what training says.
    """
    import oochub
    from oochub.training import train

    started = time.monotonic()
    declared = catalog.get("benchmark", "wilds").of(config)
    raw = declared.render_toy_world(
        folder / "raw" / declared.raw_files[0].path.partition("/")[0], size=_SIZES.get(config, "small"), seed=seed
    )
    rows = oochub.load("wilds", config=config, data_dir=str(raw))
    objective = _OBJECTIVES.get(config, "erm")
    model, run = folder / "models" / config, folder / "runs" / f"{config}-{objective}-{seed}"
    with write_whole_folder(model) as draft:
        toy_model(rows["train"], draft, is_dense=config in _DENSE)
    arguments = {"num_train_epochs": _EPOCHS, "per_device_train_batch_size": 16, **_ARGUMENTS.get(config, {})}
    train(
        f"wilds/{config}",
        run,
        objective=objective,
        hyperparameters={"step_size": 0.1} if objective == "group_dro" else {},
        model=str(model),
        pretrained=False,
        arguments={"seed": seed, **arguments},
        data_dir=str(raw),
        overwrite=True,
    )
    sides = {declared.in_context.split, declared.out_of_context.split}
    predictions = oochub.predict(str(run), rows, splits=sorted(sides))
    report = oochub.evaluate(predictions, resamples=200)
    report.save(run / "report.json")
    report.to_html(run / "report.html")
    return ToyResult(report, best_constant(predictions, declared), time.monotonic() - started)


def main(
    out: Annotated[Path, typer.Option(help="The folder of toy folders, runs and reports.")] = Path("wilds"),
    only: Annotated[
        list[str] | None, typer.Option(help="Config (default: one of each dataset). Can be repeated.")
    ] = None,
    seed: int = 0,
) -> None:
    """Every data set of WILDS on its toy folder; ends with the table and the page over all.

    Raises:
        OochubError: A config that WILDS has not, or a folder that is not to be replaced.
        SystemExit: A data set that failed, or whose model is not better than the best constant.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    check_writable(out, kind=file_kinds.DEMO)
    printer, results, failed = Console(width=110), {}, {}
    declared = catalog.get("benchmark", "wilds")
    configs = list(dict.fromkeys(only or declared.tried_configs))
    if unknown := [config for config in configs if config not in declared.configs]:
        raise unknown_name("config", unknown[0], declared.configs)
    for number, config in enumerate(configs, 1):
        printer.print(f"[{number}/{len(configs)}] wilds/{config} ...", markup=False)
        try:
            with lock_target(out, kind=file_kinds.DEMO):
                results[config] = toy_result(config, out, seed=seed)
        except OochubError as error:
            failed[config] = str(error)
            printer.print(f"    {error}", markup=False)
    heads = ("dataset", "headline", "in context", "out of context (95%)", "n", "best constant", "seconds")
    table = Table(*heads, box=None)
    for config, result in results.items():
        metric, out_of = result.report.benchmark.primary_metric, result.headline
        inside = f"{result.report[f'in_context/{metric}'].value:.3f}"
        outside = f"{out_of.value:.3f} ({out_of.low:.3f} to {out_of.high:.3f})"
        constant = f"{result.constant:.3f}" + ("" if result.is_better else "  not beaten")
        table.add_row(config, metric, inside, outside, f"{out_of.n}", constant, f"{result.seconds:.0f}")
    printer.print(table)
    if results:
        page, reports = out / "wilds.html", [result.report for result in results.values()]
        with write_whole(page, kind=PAGE) as draft:
            draft.write_text(comparison_page(reports, result_tables(reports)), "utf-8")
        printer.print(f"The page over all: {page}", markup=False)
    worse = [config for config, result in results.items() if not result.is_better]
    if failed or worse:
        raise SystemExit(f"{len(failed)} failed ({', '.join(failed)}), {len(worse)} not better than a constant.")


if __name__ == "__main__":
    program(partial(typer.run, main))
