"""The command `oochub check_contexts`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from oochub.commands._context_page import write_context_page
from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.errors import OochubError
from oochub.storage.artifacts import PAGE

PANEL = "Audit a model"

if TYPE_CHECKING:
    from oochub.records.build_record import FoundContexts


def check_contexts(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="What `oochub contexts` wrote.")],
    answers: Annotated[
        list[Path] | None,
        typer.Argument(metavar="ANSWERS...", help="The files that the page saved, one a rater: FOLDER stores them."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(callback=writes(PAGE), help="The page to judge on, one HTML file.")
    ] = None,
    rows: Annotated[int, typer.Option(help="Of each context, half of them without it.", min=2)] = 20,
    seed: Annotated[int, typer.Option(help="Of the sample.", min=0, max=2**32 - 1)] = 0,
    as_json: AsJson = False,
) -> None:
    """Has people check contexts that were found: a page of sampled rows, then what they said goes into the folder."""
    if bool(answers) + (out is not None) != 1:
        raise OochubError(
            "Give one of two: --out PAGE.html to write the page, or the files that the page saved, to store them."
        )
    if answers:
        from oochub.reviewing.context_page import store_answers

        _show(store_answers(folder, answers), folder, as_json)
    if out is not None:
        from oochub.data.load import load_columns
        from oochub.settings.data_settings import DataSettings

        data = load_columns(str(folder), DataSettings(), in_place=True)
        write_context_page(data, out, rows=rows, seed=seed, folder=folder, as_json=as_json)
        print_result({"page": str(out)}, as_json)


def _show(facts: "FoundContexts", folder: Path, as_json: bool) -> None:
    from rich.table import Table

    from oochub.records.schema import to_json

    checks = facts.checks or {}
    if as_json:
        print_result(
            {
                "repository": str(folder),
                "checks": {name: to_json(check) for name, check in checks.items()},
                "raters": [to_json(rater) for rater in facts.raters],
            },
            as_json,
        )
        return
    table = Table(box=None, pad_edge=False)
    table.add_column("context")
    for head in ("wrong where it says has", "wrong where it says lacks"):
        table.add_column(head, justify="right")
    for name in facts.names:
        if (check := checks.get(name)) is not None:
            table.add_row(
                name,
                f"{check.wrong_with} of {check.checked_with}",
                f"{check.wrong_without} of {check.checked_without}",
            )
    out_console.print(table)
    out_console.print(f"{len(checks)} of {len(facts.names)} contexts checked by {len(facts.raters)}; ", end="")
    out_console.print("evaluate predictions of this folder for gaps with bounds.")
    print_result({"repository": str(folder)}, as_json)
