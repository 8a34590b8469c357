"""The command `oochub nooch verify`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from oochub import catalog
from oochub.commands._options import AsJson, out_console

_DISAGREES = 3  # an exit code of its own: 2 is for what the user can fix, and ids that differ are a finding
_VERDICTS = {True: "equal", False: "differs", None: "not comparable"}
_SHOWN = 5  # ids of a set on one line of a terminal; the JSON has them all


def verify(
    coco: Annotated[str, typer.Option(help="Raw COCO folder.")],
    official_ids: Annotated[Path, typer.Option(help="Folder of the 96 published id files.")],
    encoder: Annotated[
        str | None, typer.Option(help="Also compare the gist sets and thresholds, by this sentence encoder.")
    ] = None,
    contexts: Annotated[
        str, typer.Option(help="Contexts: computed from the training split, or published.")
    ] = "computed",
    splits: Annotated[
        str | None, typer.Option(help="The official split file, if it is not in the COCO folder.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute NOOCH's hard examples and compare them with the published ones. Exit code 3 if they differ."""
    from oochub.benchmark import find_data_folder
    from oochub.studies.nooch.verification import verify_nooch

    folder = find_data_folder(catalog.get("benchmark", "nooch"), coco)
    verification = verify_nooch(folder, official_ids, encoder=encoder, contexts=contexts, splits=splits)
    if as_json:
        fields = asdict(verification) | {"agrees": verification.agrees}
        fields["sets"] = [
            asdict(part) | {"precision": _number(part.precision), "recall": _number(part.recall), "agrees": part.agrees}
            for part in verification.sets
        ]
        out_console.print_json(json.dumps(fields))
    else:
        _show(verification)
    if not verification.agrees:
        raise typer.Exit(_DISAGREES)


def _number(value: float) -> float | None:
    return None if value != value else value


def _show(verification: Any) -> None:
    table = _build_table("task", "split", "side", "published", "computed", "precision", "recall", "only one of them")
    for part in verification.sets:
        row = (
            part.task,
            part.split,
            part.side,
            f"{part.published:,}",
            f"{part.computed:,}",
            _share(part.precision),
            _share(part.recall),
            _find_differing(part),
        )
        table.add_row(*row, style=None if part.agrees else "bold")
        if part.misplaced:
            out_console.print(
                f"{part.task} {part.split} {part.side}: in another split here: {_format_ids(part.misplaced)}"
            )
    out_console.print(table)
    for title, rows in (
        ("Table 2, version with the appendix", verification.table_2),
        ("Tables 6 and 7, tau", verification.tables_6_and_7),
        ("Contexts", verification.contexts),
        ("Figure 10", verification.figure_10),
    ):
        if not rows:
            continue
        counts = _build_table(title, "paper", "here", "")
        for compared in rows:
            counts.add_row(
                compared.what, _format_value(compared.paper), _format_value(compared.ours), _VERDICTS[compared.agrees]
            )
        out_console.print()
        out_console.print(counts)
    absent = sum(part.absent for part in verification.sets)
    notes = [*verification.notes, *([f"{absent:,} published ids have no image here"] if absent else [])]
    other = [part for part in verification.sets if not part.counted]
    if other:
        notes.append(f"gist by {verification.encoder}, not the paper's encoder: its {len(other)} sets do not count")
    for note in notes:
        out_console.print(f"Note: {note}.")
    counted = [part for part in verification.sets if part.counted]
    agreeing = sum(row.agrees for row in counted)
    ending = "Everything compared agrees." if verification.agrees else "Not all agrees."
    out_console.print(f"{agreeing} of {len(counted)} sets agree, over {verification.images:,} images. {ending}")


def _build_table(*columns: str) -> Table:
    table = Table(box=None)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _find_differing(compared: Any) -> str:
    sides = (("published", compared.only_published), ("computed", compared.only_computed))
    return "; ".join(f"{name}: {_format_ids(ids)}" for name, ids in sides if len(ids))


def _share(value: float) -> str:
    return "undefined" if value != value else f"{value:.3f}"


def _format_ids(ids: Any) -> str:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(map(str, ids[:_SHOWN])) + more


def _format_value(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)
