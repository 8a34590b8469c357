"""The command `oochub cache`.

The caches of the hub are what can be made again and is kept to be had at once, all under one folder.
"""

import json
from typing import Annotated

import typer

from oochub import catalog
from oochub.commands._options import AsJson, out_console
from oochub.errors import OochubError, unknown_name
from oochub.storage.cache import CACHES, clear, list_caches

PANEL = "Data"


def cache(
    action: Annotated[
        str | None,
        typer.Argument(metavar="clear", help="Action: clear removes entries; without it, the cache is listed."),
    ] = None,
    kind: Annotated[
        str | None, typer.Argument(metavar="CACHE", help="Cache to clear, as listed (default: all).")
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option(metavar="DAYS", help="Clear only entries that were not created or used in this many days.", min=0),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be removed without removing it.")] = False,
    as_json: AsJson = False,
) -> None:
    """List or clear the cache: predictions, features, pixels, captions and builds."""
    if action not in (None, "clear"):
        raise unknown_name("action", action, ["clear"], "`oochub cache` without an action lists the caches.")
    if action is None and (older_than is not None or dry_run):
        option = "--dry-run" if dry_run else "--older-than"
        raise OochubError(f"{option} requires the action clear: oochub cache clear {option} ...")
    caches = list_caches(kind, builders=_name_builders() if kind in (None, "builds") else ())
    if action is None:
        rows = [
            {
                "cache": kept.kind,
                "holds": CACHES[kept.kind].what,
                "entries": len(kept.entries),
                "bytes": kept.size,
                "oldest_days": kept.entries[0].age if kept.entries else None,
                "path": str(kept.folder),
            }
            for kept in caches
        ]
        if as_json:
            out_console.print_json(json.dumps(rows))
            return
        lines = [("cache", "contents", "entries", "MB", "oldest (days)", "path")]
        for kept in caches:
            age = f"{kept.entries[0].age:.1f}" if kept.entries else "-"
            count, megabytes = str(len(kept.entries)), _format_megabytes(kept.size)
            lines.append((kept.kind, CACHES[kept.kind].what, count, megabytes, age, str(kept.folder)))
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for *cells, path in lines:  # no table of rich: it cuts a path, which is to be copied whole
            words = [cell.ljust(width) for cell, width in zip(cells[:2], widths, strict=False)]
            numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=False)]
            typer.echo("  ".join([*words, *numbers, path]))
        return
    entries = [entry for kept in caches for entry in kept.entries if entry.age >= (older_than or 0)]
    if not dry_run:
        entries = clear(entries)
    size = sum(entry.size for entry in entries)
    if as_json:
        paths = [str(entry.path) for entry in entries]
        out_console.print_json(json.dumps({"cleared": not dry_run, "bytes": size, "paths": paths}))
        return
    for entry in entries if dry_run else ():
        out_console.print(entry.path, markup=False)
    verb = "would be freed" if dry_run else "freed"
    out_console.print(f"{_format_megabytes(size)} MB {verb}, {len(entries)} entries.")


def _format_megabytes(size: int) -> str:
    return f"{size / 10**6:.1f}"


def _name_builders() -> set[str]:
    """Our builders as `datasets` calls them in its cache: celebA is celeb_a there."""
    from datasets.naming import camelcase_to_snakecase

    return {camelcase_to_snakecase(name) for name in catalog.names("benchmark")}
