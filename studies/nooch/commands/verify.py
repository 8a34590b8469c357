"""The command `oochub verify`."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from oochub import catalog
from oochub.commands._options import AsJson, out_console
from oochub.errors import OochubError

_DISAGREES = 3
_SHOWN = 5


def verify(
    benchmark: Annotated[str, typer.Argument(help="nooch")],
    coco: Annotated[str, typer.Option(help="The raw COCO folder.")],
    official_ids: Annotated[Path, typer.Option(help="The folder of the 96 published id files.")],
    encoder: Annotated[str | None, typer.Option(help="Also the gist sets, by this sentence encoder.")] = None,
    contexts: Annotated[str, typer.Option(help="computed from the training split, or published.")] = "computed",
    splits: Annotated[str | None, typer.Option(help="The official split file, if not in the COCO folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Recomputes a benchmark's hard examples and compares them with the released; exit 3 where they disagree."""
    from oochub.benchmark import data_folder

    declared = catalog.get("benchmark", benchmark)
    if declared.verify is None:
        able = [name for name in catalog.names("benchmark") if catalog.get("benchmark", name).verify]
        raise OochubError(f"{benchmark} has no published sets to compare with; {', '.join(able)} has.")
    found = declared.verify(
        data_folder(declared, coco), official_ids, encoder=encoder, contexts=contexts, splits=splits
    )
    if as_json:
        fields = asdict(found) | {"agrees": found.agrees}
        fields["sets"] = [
            asdict(one) | {"precision": _number(one.precision), "recall": _number(one.recall), "agrees": one.agrees}
            for one in found.sets
        ]
        out_console.print_json(json.dumps(fields))
    else:
        _show(found)
    if not found.agrees:
        raise typer.Exit(_DISAGREES)


def _number(value: float) -> float | None:
    return None if value != value else value


def _show(found: Any) -> None:
    table = _table("task", "split", "side", "published", "computed", "precision", "recall", "only one of them")
    for one in found.sets:
        row = (
            one.task,
            one.split,
            one.side,
            f"{one.published:,}",
            f"{one.computed:,}",
            _share(one.precision),
            _share(one.recall),
            _differing(one),
        )
        table.add_row(*row, style=None if one.agrees else "bold")
        if one.misplaced:
            out_console.print(f"{one.task} {one.split} {one.side}: in another split here: {_ids(one.misplaced)}")
    out_console.print(table)
    for title, rows in (("Table 2", found.table_2), ("Contexts", found.contexts), ("Figure 10", found.figure_10)):
        counts = _table(title, "paper", "here", "")
        for one in rows:
            counts.add_row(one.what, _words(one.paper), _words(one.ours), _verdict(one.agrees))
        out_console.print()
        out_console.print(counts)
    absent = sum(one.absent for one in found.sets)
    notes = [*found.notes, *([f"{absent:,} published ids have no image here"] if absent else [])]
    other = [one for one in found.sets if not one.counted]
    if other:
        notes.append(f"gist by {found.encoder}, not the paper's encoder: its {len(other)} sets do not count")
    for note in notes:
        out_console.print(f"Note: {note}.")
    counted = [one for one in found.sets if one.counted]
    agreeing = sum(one.agrees for one in counted)
    ending = "Everything compared agrees." if found.agrees else "Not all agrees."
    out_console.print(f"{agreeing} of {len(counted)} sets agree, over {found.images:,} images. {ending}")


def _table(*columns: str) -> Table:
    table = Table(box=None)
    for column in columns:
        table.add_column(column, no_wrap=True)
    return table


def _differing(one: Any) -> str:
    sides = (("published", one.only_published), ("computed", one.only_computed))
    return "; ".join(f"{name}: {_ids(ids)}" for name, ids in sides if len(ids))


def _share(value: float) -> str:
    return "undefined" if value != value else f"{value:.3f}"


def _ids(ids: Any) -> str:
    more = f" and {len(ids) - _SHOWN:,} more" if len(ids) > _SHOWN else ""
    return ", ".join(map(str, ids[:_SHOWN])) + more


def _words(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _verdict(agrees: bool | None) -> str:
    return "not comparable" if agrees is None else "equal" if agrees else "differs"
