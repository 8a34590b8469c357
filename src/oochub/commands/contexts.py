"""The command `oochub contexts`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from oochub.commands._context_page import write_context_page
from oochub.commands._options import (
    AsJson,
    ChooseOn,
    ConfigName,
    ContextModel,
    ContextNames,
    ContextOptions,
    DataDir,
    ImageColumn,
    LabelColumn,
    Options,
    SkipBroken,
    Source,
    context_settings,
    done,
    out_console,
    without_weight_bars,
    writes,
)
from oochub.storage.artifacts import PAGE, REPOSITORY
from oochub.storage.files import check_writable


def contexts(
    source: Source,
    by: Annotated[str, typer.Option(help="The way: one of `oochub list context`.")],
    out: Annotated[
        Path,
        typer.Option(
            callback=writes(REPOSITORY),
            help="The folder of the repository: new, empty, or one with contexts to replace.",
        ),
    ],
    model: ContextModel = None,
    names: ContextNames = None,
    way_option: ContextOptions = None,
    label_column: LabelColumn = None,
    image_column: ImageColumn = None,
    skip_broken: SkipBroken = False,
    cache: Annotated[
        bool, typer.Option("--cache/--no-cache", help="Take what was measured before of the same pictures.")
    ] = True,
    choose_on: ChooseOn = "auto",
    check: Annotated[
        int | None,
        typer.Option(help="Also a page, OUT_check.html, on which people judge so many rows of each context.", min=2),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the halves and of rows to check.", min=0, max=2**32 - 1)] = 0,
    config: ConfigName = None,
    data_dir: DataDir = None,
    option: Options = None,
    as_json: AsJson = False,
) -> None:
    """Finds contexts that nobody labelled and writes the data with them: `oochub audit` then tests if they matter."""
    from oochub.context_finding.context_columns import contexts as find
    from oochub.context_finding.context_columns import way_of
    from oochub.records.parameters import parse_options

    page = None if check is None else check_writable(out.with_name(f"{out.name}_check.html"), kind=PAGE)
    way = way_of(by, context_settings(model, names, way_option, by="--way-option"))
    without_weight_bars()
    found = find(
        source,
        by=way,
        out=out,
        label=label_column,
        image=image_column,
        config=config,
        data_dir=data_dir,
        options=parse_options(option or []) or None,
        skip_broken=skip_broken,
        cache=cache,
        choose_on=choose_on,
        seed=seed,
    )
    from oochub.context_finding.context_columns import context_counts
    from oochub.records.build_record import BuildRecord

    record = BuildRecord.of(next(iter(found.values())).info)
    facts = record.facts.found_contexts if record else None
    assert facts is not None  # noqa: S101 contexts writes them
    counts = {split: context_counts(part) for split, part in found.items()}
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
        write_context_page(found, page, rows=check, seed=seed, folder=out, as_json=as_json)
    by_name = {split: dict(zip(facts.names, of_split, strict=True)) for split, of_split in counts.items()}
    result = {"repository": str(out), "counts": by_name, "chosen_rows": facts.chosen_rows}
    done(result | ({} if page is None else {"page": str(page)}), as_json)
