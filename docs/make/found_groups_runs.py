"""Does the runs of docs/results/found_groups.parquet: robust training on true and on found groups, beside ERM and JTT.

Each seed has its ERM run; `oochub.contexts` clusters the features of that very model, of whole images as GEORGE does,
on the training split, and what it finds becomes the environments of the methods. Run by
`python docs/make/found_groups_runs.py`; it resumes where it was interrupted.
"""

import json
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import datasets
import numpy as np
import pandas as pd
import pyarrow as pa
import typer
from numpy.typing import NDArray
from results_runs import KEY
from scipy.optimize import linear_sum_assignment

from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious
from oochub.builders.toy_worlds.toy_waterbirds import toy_waterbirds
from oochub.context_finding.context_columns import contexts, make_way
from oochub.data.load import load
from oochub.records.build_record import BuildRecord
from oochub.storage.files import write_whole
from oochub.storage.parquet_file import write_parquet
from oochub.sweep.measurement import measure
from oochub.sweep.runs import Run, RunResult
from oochub.trainers.rows.context_environments import context_environments

TABLE = Path(__file__).resolve().parents[1] / "results" / "found_groups.parquet"
SEEDS = (0, 1, 2)
FOUND = "label/contexts"
"""The environments of the methods that are given found groups: each class by each cluster."""


class FoundGroupsMethod(NamedTuple):
    """A method: its objective, the groups that it is given, and k of the clusters (None: by the silhouette)."""

    objective: str
    groups: str
    k: int | None
    fixed: dict[str, Any]


_DRO, _JTT = {"step_size": 0.05}, {"first_stage": 0.12, "upweight": 20}  # those of docs/results/toy_spawrious.toml
METHODS = {
    "ERM": FoundGroupsMethod("erm", "none", None, {}),
    "JTT": FoundGroupsMethod("jtt", "none", None, _JTT),
    "GroupDRO, true groups": FoundGroupsMethod("group_dro", "true", None, _DRO),
    "Reweight, true groups": FoundGroupsMethod("reweight_environments", "true", None, {}),
    "GroupDRO, found groups": FoundGroupsMethod("group_dro", "found", None, _DRO),
    "Reweight, found groups": FoundGroupsMethod("reweight_environments", "found", None, {}),
    "GroupDRO, found groups, k = 2": FoundGroupsMethod("group_dro", "found", 2, _DRO),
    "Reweight, found groups, k = 2": FoundGroupsMethod("reweight_environments", "found", 2, {}),
}
EPOCHS = {"waterbirds": 4, "spawrious/o2o_hard": 14}
"""Epochs for each world; so few on Waterbirds that ERM has a gap to close: after 7 its worst group is at 95%."""


class WrongGroups(NamedTuple):
    """How far found groups are from the true ones.

    Attributes:
        matched: The share of rows in another group than their own, where each found group stands for one true group
            at most, and as many rows as possible are right.
        mixed: The share of rows that are not of the true group that most rows of their found group are of.
    """

    matched: float
    mixed: float


def wrong_groups(true: NDArray[Any], found: NDArray[Any]) -> WrongGroups:
    """The rates of wrong groups, of two columns of the same rows.

    Args:
        true: The group of each row (n,).
        found: The group that was found for each row (n,), under any names.

    >>> wrong_groups(np.array(["a", "a", "b", "b"]), np.array([1, 2, 0, 0]))
    WrongGroups(matched=0.25, mixed=0.0)
    """
    names, rows = np.unique(true, return_inverse=True)
    others, columns = np.unique(found, return_inverse=True)
    together = np.zeros((len(names), len(others)))
    np.add.at(together, (rows, columns), 1)
    right = together[linear_sum_assignment(together, maximize=True)].sum()
    return WrongGroups(float(1 - right / len(true)), float(1 - together.max(0).sum() / len(true)))


def render(folder: Path, *, waterbirds: str | int = "medium", spawrious: str | int = "medium") -> dict[str, Path]:
    """The raw folder of each benchmark below `folder`; rendered when it is not there yet."""
    return {
        "waterbirds": toy_waterbirds(folder / "waterbirds", size=waterbirds),
        "spawrious/o2o_hard": toy_spawrious(folder / "spawrious", size=spawrious),
    }


def rows_of(
    task: str, raw: Path, folder: Path, seed: int, *, arguments: dict[str, Any] | None = None
) -> Iterator[dict[str, Any]]:
    """The numbers of every method on a world with one seed; runs that are finished are not done again.

    Args:
        task: benchmark/config.
        raw: Its raw folder.
        folder: Holds runs, rows and the data with found contexts.
        seed: Random seed for the runs.
        arguments: Arguments of the training, beside those of the study.

    Yields:
        task, method, objective, groups ("none", "true" or "found"), k of the clusters (0 for none), settings, seed;
        worst_group and average, the accuracy of the worst group of the test split and of all its rows, with `.low` and
        `.high` (95% over test images) and `.n`; wrong_groups and mixed_groups of the training rows, see
        `wrong_groups`, nan without found groups.
    """
    common = {"num_train_epochs": EPOCHS[task], **(arguments or {})}
    erm = _run(task, "ERM", METHODS["ERM"], seed, common, environments=None)
    for title, method in METHODS.items():
        file = folder / "rows" / f"{task.replace('/', '-')}-{seed}-{title}.json"
        if not file.is_file():
            source, environments, wrong, k = task, "group" if method.groups == "true" else None, WrongGroups(*_NAN), 0
            if method.groups == "found":
                place = folder / "found" / f"{task.replace('/', '-')}-{seed}-{method.k or 'silhouette'}"
                clusters = _find_clusters(task, raw, folder / "runs" / erm.id, place, method.k)
                source, environments, wrong, k = (
                    str(place),
                    FOUND,
                    _measure_wrong(clusters),
                    _describe_clusters(clusters),
                )
            run = _run(source, title, method, seed, common, environments=environments)
            result = measure(run, folder / "runs" / run.id, data_dir=str(raw) if source == task else None)
            row = {"task": task, "method": title, "objective": method.objective, "groups": method.groups, "k": k}
            row |= {"settings": json.dumps(method.fixed), "seed": seed, **_collect_numbers(result)}
            row |= {"wrong_groups": wrong.matched, "mixed_groups": wrong.mixed}
            with write_whole(file) as draft:
                draft.write_text(json.dumps(row), "utf-8")
        yield json.loads(file.read_text("utf-8"))


_NAN = (float("nan"), float("nan"))


def _run(
    source: str, title: str, method: FoundGroupsMethod, seed: int, common: dict[str, Any], *, environments: str | None
) -> Run:
    return Run(
        task=source,
        method=title,
        objective=method.objective,
        seed=seed,
        setting={},
        fixed={**common, **method.fixed},
        model="resnet-tiny",
        environments=environments,
    )


def _find_clusters(task: str, raw: Path, model: Path, place: Path, k: int | None) -> datasets.DatasetDict:
    """The data with the clusters of the training split by what the model sees."""
    if not place.is_dir():
        way = make_way("clusters", {"model": str(model), "k": k, "region": "picture"})
        contexts(task, by=way, out=place, data_dir=str(raw), choose_on="train")
    return load(place)


def _measure_wrong(found: datasets.DatasetDict) -> WrongGroups:
    train = context_environments(found, FOUND, needed=["train"]).data["train"]
    return wrong_groups(np.array(train["group"][:]), np.array(train[FOUND][:]))


def _describe_clusters(found: datasets.DatasetDict) -> int:
    record = BuildRecord.of(found["train"].info)
    assert record is not None and record.facts.found_contexts is not None  # noqa: S101 contexts() wrote it
    return int(record.facts.found_contexts.settings["k"])


def _collect_numbers(result: RunResult) -> dict[str, float | int | None]:
    names = {"worst_group": "all/worst_group.accuracy", "average": "all/accuracy"}
    return {f"{name}{end}": result.numbers[f"{of}{end}"] for name, of in names.items() for end in _ENDS}


_ENDS = ("", ".low", ".high", ".n")


def label_alone(task: str, raw: Path) -> float:
    """The share of training rows that are mixed where the groups are the classes, without any context."""
    train = load(task, data_dir=str(raw))["train"]
    return wrong_groups(np.array(train["group"][:]), np.array(train["label"][:])).mixed


def write(rows: list[dict[str, Any]], mixed: dict[str, float], target: Path) -> None:
    """Writes the table of all runs, with the versions and `label_alone` of each world in its metadata."""
    about: dict[str, Any] = {name: version(name) for name in ("torch", "transformers", "numpy", "scikit-learn")}
    about = {"versions": about, "label_alone": mixed}
    arrow = pa.Table.from_pandas(pd.DataFrame.from_records(rows), preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), KEY: json.dumps(about).encode()})
    write_parquet(arrow, target)


def main(
    folder: Annotated[Path, typer.Option(help="Holds worlds and runs.")] = Path("runs/found_groups"),
    table: Annotated[Path, typer.Option(help="The Parquet table.")] = TABLE,
) -> None:
    """Does every run that is not done yet and writes the table."""
    worlds, tasks, titles = render(folder / "worlds"), list(EPOCHS), list(METHODS)
    rows = [row for seed in SEEDS for task, raw in worlds.items() for row in rows_of(task, raw, folder, seed)]
    rows.sort(key=lambda row: (tasks.index(row["task"]), titles.index(row["method"]), row["seed"]))
    write(rows, {task: label_alone(task, raw) for task, raw in worlds.items()}, table)


if __name__ == "__main__":
    typer.run(main)
