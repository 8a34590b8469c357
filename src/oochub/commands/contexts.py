"""The command `oochub contexts`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from oochub.commands._context_page import write_context_page
from oochub.commands._options import AsJson, Source, out_console, print_result, renamed, without_weight_bars, writes
from oochub.commands._signature import shown
from oochub.settings.context_settings import ContextSettings, MeasurementSettings
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import PAGE, REPOSITORY
from oochub.storage.files import check_writable

PANEL = "Audit a model"


def contexts(
    source: Source,
    out: Annotated[
        Path,
        typer.Option(
            callback=writes(REPOSITORY),
            help="The folder of the repository: new, empty, or one with contexts to replace.",
        ),
    ],
    data: Annotated[DataSettings, shown(but=("context", "group", "usual"))],
    asked: Annotated[ContextSettings, shown(needs=("contexts",), contexts="The way: one of `oochub list context`.")],
    measurement: MeasurementSettings,
    check: Annotated[
        int | None,
        typer.Option(help="Also a page, OUT_check.html, on which people judge so many rows of each context.", min=2),
    ] = None,
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
    """Finds contexts that nobody labeled, writes the data with them, and has people check them."""
    page = None if check is None else check_writable(out.with_name(f"{out.name}_check.html"), kind=PAGE)
    from oochub.context_finding.context_columns import add_contexts, make_way

    make_way(asked.contexts, asked.of_way)
    without_weight_bars()
    found = add_contexts(source, data, asked, measurement, out=out)
    from oochub.context_finding.context_columns import count_contexts
    from oochub.records.build_record import BuildRecord

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
        out_console.print(f"By {facts.way}, chosen on {facts.chosen_rows:,} rows; not checked by people.")
    page = page if facts.names else None  # of nothing found nothing is checked
    if page is not None and check is not None:
        write_context_page(found, page, rows=check, seed=measurement.seed, folder=out, as_json=as_json)
    by_name = {split: dict(zip(facts.names, of_split, strict=True)) for split, of_split in counts.items()}
    result = {"repository": str(out), "counts": by_name, "chosen_rows": facts.chosen_rows}
    print_result(result | ({} if page is None else {"page": str(page)}), as_json)
