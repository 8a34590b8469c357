"""The command `oochub leaderboard`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, writes
from oochub.storage.artifacts import SITE

PANEL = "Data"

_SHOWN = 10


def leaderboard(
    results: Annotated[
        str, typer.Argument(metavar="RESULTS", help="Folder with one folder per entry, or a dataset on the Hub.")
    ],
    out: Annotated[Path, typer.Option(callback=writes(SITE), help="Folder for the site.")] = Path("site"),
    truth: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="Reference rows of a benchmark: BENCHMARK/CONFIG, or an output folder of `oochub build`.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Recompute the metrics of each entry from its predictions and write a static leaderboard site.

    With --truth (can be repeated), entries are scored with the labels, sides and groups of the benchmark itself. These
    rows are kept with RESULTS. Without them, entries that differ in labels are ranked apart in a folder; on the Hub
    those stand whose rows were committed first.

    Earlier checks are cached (see `oochub cache`). `oochub push SITE --to user/board` publishes the site as a static
    Space.
    """
    from oochub.leaderboard.site import Site

    if Path(results).expanduser().is_dir():
        site = Site.write(results, out, truth=truth or [])
    else:
        from oochub.hub.leaderboard_repository import write_site_of

        site = write_site_of(results, out, truth=truth or [])
    rows = [row for board in site.boards for row in board.rows]
    failed = {row.name: row.reason for row in rows if row.reason} | {entry.name: entry.reason for entry in site.unread}
    verified = sum(not row.reason for row in rows)
    if as_json:
        counts = {"boards": len(site.boards), "entries": len(rows), "verified": verified, "not_verified": failed}
        withdrawn = {name: f"{withdrawal.date}: {withdrawal.reason}" for name, withdrawal in site.withdrawn.items()}
        print_result({"site": str(out), **counts, "withdrawn": withdrawn}, as_json)
        return
    entries = f"{len(rows)} {'entry' if len(rows) == 1 else 'entries'}"
    boards = f"{len(site.boards)} {'board' if len(site.boards) == 1 else 'boards'}"
    gone = f", {len(site.withdrawn)} withdrawn" if site.withdrawn else ""
    out_console.print(f"{entries} on {boards}, {verified} verified{gone}.", markup=False)
    for board in site.boards:
        if board.undecided:
            out_console.print(f"{board.key}: {board.undecided}.", markup=False)
    for name, reason in list(failed.items())[:_SHOWN]:
        out_console.print(f"Not verified: {name}: {reason}", markup=False)
    if len(failed) > _SHOWN:
        out_console.print(f"And {len(failed) - _SHOWN} more; the site says why of each.", markup=False)
    print_result({"index": str(out / "index.html")}, as_json)
