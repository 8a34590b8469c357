"""The command `oochub contexts`."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from oochub.commands._options import (
    MORE,
    AsJson,
    Source,
    out_console,
    print_result,
    renamed,
    shown,
    without_weight_bars,
    writes,
)
from oochub.errors import OochubError
from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import PAGE, REPOSITORY
from oochub.storage.files import check_writable

if TYPE_CHECKING:
    from oochub.records.build_record import FoundContexts

PANEL = "Audit a model"


def contexts(
    source: Source,
    data: Annotated[DataSettings, shown(but=("context", "group", "usual"))],
    asked: Annotated[ContextSettings, shown(contexts="Method that finds contexts; see `oochub list context`.")],
    measurement: MeasurementSettings,
    out: Annotated[
        Path | None,
        typer.Option(
            callback=writes(REPOSITORY),
            help="Output folder for the data: new, empty, or with contexts to replace.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Write an HTML page for reviewing the contexts (OUT_check.html, or the path in --page)."
        ),
    ] = False,
    checked: Annotated[
        list[Path] | None,
        typer.Option(
            help="File saved by the review page; its answers are stored in SOURCE, a folder of contexts. Can be "
            "repeated."
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(callback=writes(PAGE), rich_help_panel=MORE, help="Write the review page to this HTML file."),
    ] = None,
    rows: Annotated[
        int,
        typer.Option(
            rich_help_panel=MORE, help="Number of rows on the page for each context, half of them without it.", min=2
        ),
    ] = 20,
    by: Annotated[
        str | None, typer.Option(hidden=True, is_eager=True, callback=renamed("--by", "--contexts"))
    ] = None,  # its names of before
    model: Annotated[
        str | None, typer.Option(hidden=True, is_eager=True, callback=renamed("--model", "--context-model"))
    ] = None,
    names: Annotated[
        str | None, typer.Option(hidden=True, is_eager=True, callback=renamed("--names", "--context-names"))
    ] = None,
    way_option: Annotated[
        list[str] | None,
        typer.Option(hidden=True, is_eager=True, callback=renamed("--way-option", "--context-option")),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find unlabeled contexts in images, save the data with them, and have people review them.

    `oochub contexts SOURCE --contexts METHOD --out FOLDER` finds contexts; with --check it also writes the review page.
    `oochub contexts FOLDER --check` writes the review page for contexts that were found earlier, and
    `oochub contexts FOLDER --checked contexts.csv` stores the answers.
    """
    check = check or page is not None
    if checked and (check or asked.contexts is not None or out is not None):
        raise OochubError(
            "--checked stores answers in a folder of contexts: remove --check, --page, --contexts and --out."
        )
    if checked:
        from oochub.reviewing.context_page import store_answers

        folder = Path(source).expanduser()
        _show_checks(store_answers(folder, checked), folder, as_json)
    elif asked.contexts is not None:
        if out is None:
            raise OochubError("Contexts are written with the data: pass --out FOLDER.")
        _find(source, data, asked, measurement, out=out, page=_page_of(out, page) if check else None, rows=rows,
              as_json=as_json)  # fmt: skip
    elif check and out is None:
        _write_check(source, measurement.seed, page=_page_of(Path(source), page), rows=rows, as_json=as_json)
    else:
        raise OochubError(
            "Name the method that finds contexts, such as --contexts properties; run `oochub list context` to list "
            "all. --check alone writes the page of contexts that were found, and --checked FILE takes its answers."
        )


def _page_of(folder: Path, page: Path | None) -> Path:
    """The path that the page is written to, checked."""
    return page or check_writable(folder.with_name(f"{folder.name}_check.html"), kind=PAGE)


def _find(
    source: str,
    data: DataSettings,
    asked: ContextSettings,
    measurement: MeasurementSettings,
    *,
    out: Path,
    page: Path | None,
    rows: int,
    as_json: bool,
) -> None:
    from oochub.context_finding.context_columns import add_contexts, count_contexts, make_way
    from oochub.process.ranks import Ranks
    from oochub.records.build_record import BuildRecord

    make_way(str(asked.contexts), asked.of_way)
    without_weight_bars()
    found = add_contexts(source, data, asked, measurement, out=out)
    if not Ranks.here().is_first:
        return
    record = BuildRecord.of(next(iter(found.values())).info)
    facts = record.facts.found_contexts if record else None
    assert facts is not None  # noqa: S101 contexts writes them
    counts = {split: count_contexts(part) for split, part in found.items()}
    if not as_json:
        table = Table(box=None, pad_edge=False)
        for head in ("context", "rows with"):
            table.add_column(head)
        for split in counts:
            table.add_column(split, justify="right")
        for number, (name, words) in enumerate(zip(facts.names, facts.words, strict=True)):
            table.add_row(name, words, *(f"{of_split[number]:,}" for of_split in counts.values()))
        out_console.print(table if facts.names else "No context was found.")
        for note in record.notes if record and not facts.names else ():
            out_console.print(f"Note: {note}", markup=False)
        out_console.print(f"Found with {facts.way}, chosen on {facts.chosen_rows:,} rows; not reviewed by people.")
    page = page if facts.names else None  # of nothing found nothing is checked
    if page is not None:
        _write_page(found, page, rows=rows, seed=measurement.seed, folder=out, as_json=as_json)
    by_name = {split: dict(zip(facts.names, of_split, strict=True)) for split, of_split in counts.items()}
    result = {"repository": str(out), "counts": by_name, "chosen_rows": facts.chosen_rows}
    print_result(result | ({} if page is None else {"page": str(page)}), as_json)


def _write_check(folder: str, seed: int, *, page: Path, rows: int, as_json: bool) -> None:
    """The page of contexts that were found before."""
    from oochub.data.load import open_data

    data = open_data(folder, DataSettings(), in_place=True).splits
    _write_page(data, page, rows=rows, seed=seed, folder=Path(folder), as_json=as_json)
    print_result({"page": str(page)}, as_json)


def _write_page(data: Mapping[str, Any], page: Path, *, rows: int, seed: int, folder: Path, as_json: bool) -> None:
    """Writes the page on which people judge and, if the result is not JSON, says what to do with it."""
    from oochub.reviewing.context_page import context_page
    from oochub.storage.files import write_whole

    text = context_page(data, rows=rows, seed=seed)
    with write_whole(page, kind=PAGE) as draft:
        draft.write_text(text, "utf-8")
    if not as_json:
        out_console.print(
            f"Judge the images of this page, save, then: oochub contexts {folder} --checked contexts.csv",
            markup=False,
            soft_wrap=True,
        )


def _show_checks(facts: "FoundContexts", folder: Path, as_json: bool) -> None:
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
