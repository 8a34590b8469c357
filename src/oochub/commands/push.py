"""The command `oochub push`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, out_console, print_result, shown, writes
from oochub.hub.upload import Pushed
from oochub.settings.data_settings import DataSettings
from oochub.settings.hub_settings import HubSettings
from oochub.settings.keywords import take_records
from oochub.storage.artifacts import REPOSITORY

PANEL = "Data"


def push(
    asked: HubSettings,
    raw: Annotated[
        DataSettings,
        shown(only=("data_dir", "options")),
    ],
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A benchmark or BENCHMARK/CONFIG; an output folder of `oochub build` or `oochub challenge`; a model "
            "folder; a report.json or a folder of reports; or metric:NAME.",
        ),
    ],
    to: Annotated[
        str | None, typer.Option(metavar="USER/NAME", help="Target repository; created if it does not exist.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(callback=writes(REPOSITORY), help="Benchmarks only: build in this folder and keep it."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Push a benchmark, a dataset, a model, results or a metric to the Hugging Face Hub in one commit.

    Pushing the same content again changes nothing; an interrupted push resumes. Uses the token from `hf auth login` or
    HF_TOKEN.
    """
    from oochub.hub.push import push as push_records

    pushed = take_records(push_records)(what, to, asked=asked, data=raw, out=out)
    if not as_json:
        _print_pushed(pushed, asked.dry_run)
    print_result(
        {
            "url": pushed.url,
            **({"commit": pushed.commit} if as_json else {}),
            "added": dict(pushed.added),
            "changed": dict(pushed.changed),
            "deleted": dict(pushed.deleted),
            **({"tag": pushed.tag} if pushed.tag else {}),
            **({"changes": list(pushed.changes)} if pushed.changes else {}),
            **({"texts": dict(pushed.texts)} if pushed.texts else {}),
        },
        as_json,
    )


def _print_pushed(pushed: Pushed, dry_run: bool) -> None:
    """Each file and its size before a push, how many after it."""
    changes = {"add": pushed.added, "change": pushed.changed, "delete": pushed.deleted}
    if not pushed.is_change:
        out_console.print("Nothing to change: the repository already holds this.")
    for verb, files in changes.items():
        for path, size in sorted(files.items()) if dry_run else ():
            out_console.print(f"{verb:<6} {size:>15,} bytes  {path}", markup=False)
    for path, text in pushed.texts.items() if dry_run else ():
        out_console.print(f"\n{path}:\n{text}", markup=False)
    for line in pushed.changes:
        out_console.print(line.removeprefix("- "), markup=False)
    if pushed.tag is not None:
        out_console.print(f"{'tag' if dry_run else 'Tagged'} {pushed.tag}", markup=False)
    if pushed.has_files:
        past = {"add": "added", "change": "changed", "delete": "deleted"}
        counts = [
            f"{verb if dry_run else past[verb]} {len(files):,} files ({sum(files.values()):,} bytes)"
            for verb, files in changes.items()
            if files
        ]
        out_console.print(f"{'Would ' if dry_run else ''}{', '.join(counts)}.".capitalize())
