"""The command `oochub nooch suite`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.errors import OochubError
from oochub.storage.artifacts import CSV


def suite(
    predictions: Annotated[list[Path], typer.Argument(help="Predictions for nooch/all, one file per seed.")],
    out: Annotated[Path, typer.Option(callback=writes(CSV), help="CSV file for the ranking.")],
    size: Annotated[int, typer.Option(help="Number of tasks in the suite.", min=1)] = 12,
    minimum: Annotated[
        int, typer.Option(help="Minimum number of hard positives and of hard negatives in a task.", min=0)
    ] = 50,
    similar: Annotated[
        list[str] | None,
        typer.Option(help="Two similar tasks, as sheep<cow (default: the four pairs of the paper). Can be repeated."),
    ] = None,
    split: Annotated[str, typer.Option(help="Split of the predictions.")] = "test",
    as_json: AsJson = False,
) -> None:
    """Select the tasks of nooch/all with the hardest hard examples, and list why the others were removed."""
    from oochub.evaluation.scenes import measure_task_losses
    from oochub.storage.artifacts import format_csv
    from oochub.storage.files import write_whole
    from oochub.studies.nooch.suite_selection import SIMILAR, suite_selection

    pairs = SIMILAR if similar is None else [_pair(words) for words in similar]
    ranking = suite_selection(
        [measure_task_losses(file, split=split) for file in predictions], size=size, minimum=minimum, similar=pairs
    )
    with write_whole(out, kind=CSV) as draft:
        draft.write_text(format_csv(ranking), "utf-8")
    if not as_json:
        table = Table(*("rank", "task", "gap", "hard", "all", "hard +", "hard -", "removed by"), box=None)
        for row in ranking.to_dict("records"):
            numbers = (f"{row[key]:.3f}" for key in ("gap", "loss_hard", "loss_all"))
            counts = (f"{row[key]:,}" for key in ("n_hard_positive", "n_hard_negative"))
            table.add_row(str(row["rank"]), str(row["task"]), *numbers, *counts, str(row["removed_by"]))
        out_console.print(table)
        out_console.print(f"{int(ranking['selected'].sum())} tasks selected; losses are mean NLL in nats on {split}.")
    print_result({"ranking": str(out), "selected": ranking.loc[ranking["selected"], "task"].tolist()}, as_json)


def _pair(words: str) -> tuple[str, str]:
    first, sign, other = words.partition("<")
    if not (first and sign and other):
        raise OochubError(f"--similar takes two tasks as sheep<cow, got {words!r}. Quote it in the shell.")
    return first, other
