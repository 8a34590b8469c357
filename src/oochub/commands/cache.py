"""The command `oochub cache`."""

import json
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console


def cache(
    action: Annotated[str | None, typer.Argument(metavar="clear", help="To remove; left out, to list.")] = None,
    kind: Annotated[str | None, typer.Argument(metavar="CACHE", help="One of the list; default all.")] = None,
    older_than: Annotated[
        float | None, typer.Option(metavar="DAYS", help="Clear what was neither made nor used for so long.", min=0)
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be cleared, and clear nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Lists what is kept to be had at once, or clears it: predictions, features, pixels, captions, builds."""
    from oochub.commands._caches import list_caches, remove
    from oochub.errors import OochubError, unknown_name

    if action not in (None, "clear"):
        raise unknown_name("action", action, ["clear"], "Without one, `oochub cache` lists.")
    if action is None and (older_than is not None or dry_run):
        option = "--dry-run" if dry_run else "--older-than"
        raise OochubError(f"{option} is for clearing: oochub cache clear {option} ...")
    found = list_caches(kind)
    if action is None:
        rows = [
            {
                "cache": each.kind,
                "holds": each.what,
                "entries": len(each.entries),
                "bytes": each.size,
                "oldest_days": each.entries[0].age if each.entries else None,
                "path": str(each.folder),
            }
            for each in found
        ]
        if as_json:
            out_console.print_json(json.dumps(rows))
            return
        lines = [("cache", "holds", "entries", "MB", "oldest, days", "path")]
        for each in found:
            age = f"{each.entries[0].age:.1f}" if each.entries else "-"
            lines.append(
                (each.kind, each.what, str(len(each.entries)), _format_megabytes(each.size), age, str(each.folder))
            )
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        for *cells, path in lines:  # no table of rich: it cuts a path, which is to be copied whole
            words = [cell.ljust(width) for cell, width in zip(cells[:2], widths, strict=False)]
            numbers = [cell.rjust(width) for cell, width in zip(cells[2:], widths[2:], strict=False)]
            typer.echo("  ".join([*words, *numbers, path]))
        return
    entries = [entry for each in found for entry in each.entries if entry.age >= (older_than or 0)]
    size = sum(entry.size for entry in entries)
    if not dry_run:
        remove(entries)
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
