"""The command `oochub push`."""

from pathlib import Path
from typing import Annotated

import typer

from oochub.commands._options import AsJson, done, out_console, writes
from oochub.commands._signature import shown
from oochub.errors import OochubError
from oochub.hub.upload import Pushed
from oochub.settings.data_settings import DataSettings
from oochub.storage.artifacts import REPOSITORY


def push(
    raw: Annotated[
        DataSettings,
        shown(
            only=(
                "data_dir",
                "options",
            )
        ),
    ],
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="A benchmark, or BENCHMARK/CONFIG; the folder of build or challenge; the folder of a model; a "
            "report.json or a folder of them; metric:NAME.",
        ),
    ],
    to: Annotated[
        str | None, typer.Option(metavar="USER/NAME", help="The repository; made where it is not there yet.")
    ] = None,
    leaderboard: Annotated[
        str | None,
        typer.Option(
            metavar="USER/RESULTS", help="Send a report.json as an entry: a pull request there, or into a folder here."
        ),
    ] = None,
    predictions: Annotated[
        list[Path] | None, typer.Option(help="Of an entry: what its report was made of; default the files beside it.")
    ] = None,
    entry: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=TEXT", help="Of an entry: track, selection, supervision; model, who, ..."),
    ] = None,
    config: Annotated[
        list[str] | None, typer.Option(help="Of a benchmark: a configuration; repeatable; all where none is given.")
    ] = None,
    num_proc: Annotated[int | None, typer.Option(help="Of a benchmark: processes to build with.", min=1)] = None,
    out: Annotated[
        Path | None,
        typer.Option(callback=writes(REPOSITORY), help="Of a benchmark: build into this folder, and keep it."),
    ] = None,
    without_images: Annotated[
        bool, typer.Option("--without-images", help="Leave the pictures out: ids, labels, contexts and digests alone.")
    ] = False,
    private: Annotated[bool, typer.Option("--private", help="Make a repository that others do not see.")] = False,
    revision: Annotated[str | None, typer.Option(help="A branch, made where it is not there; default main.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace files that somebody else put into the repository.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which files would change; needs no token.")
    ] = False,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="USER/NAME", help="Of results: the data set on the Hub, where the report does not say."),
    ] = None,
    evidence: Annotated[
        str | None, typer.Option(metavar="URL", help="Of results: the page that says where they come from.")
    ] = None,
    pull_request: Annotated[
        bool, typer.Option("--pull-request", help="Of results: open a pull request, as for a model of others.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Pushes a benchmark, built data, a model, results or a metric to the Hugging Face Hub, in one commit.

    A second push of the same changes nothing; one that was interrupted goes on. The token is that of `hf auth login`,
    or HF_TOKEN.
    """
    from oochub.hub.push import push as run

    pushed = run(
        what,
        to,
        leaderboard=leaderboard,
        predictions=predictions or (),
        entry=_said(entry or []),
        configs=config or (),
        data_dir=raw.data_dir,
        options=raw.options or {},
        num_proc=num_proc,
        out=out,
        without_images=without_images,
        private=private,
        revision=revision,
        overwrite=overwrite,
        dry_run=dry_run,
        dataset=dataset,
        evidence=evidence,
        pull_request=pull_request,
    )
    if not as_json:
        _say(pushed, dry_run)
    done(
        {
            "url": pushed.url,
            **({"commit": pushed.commit} if as_json else {}),
            "added": dict(pushed.added),
            "changed": dict(pushed.changed),
            "deleted": dict(pushed.deleted),
            **({"texts": dict(pushed.texts)} if pushed.texts else {}),
        },
        as_json,
    )


def _said(pairs: list[str]) -> dict[str, str]:
    """What is said of an entry, by name; a text may hold commas and look like a number."""
    said: dict[str, str] = {}
    for pair in pairs:
        key, _, text = pair.partition("=")
        if not key or not text or key in said:
            raise OochubError(f"--entry is written key=text, each key once, as track=open, got {pair!r}.")
        said[key] = text
    return said


def _say(pushed: Pushed, dry_run: bool) -> None:
    """Each file and its size before a push, how many after it."""
    changes = {"add": pushed.added, "change": pushed.changed, "delete": pushed.deleted}
    if not pushed.is_change:
        out_console.print("Nothing to change: the repository holds this already.")
    for verb, files in changes.items():
        for path, size in sorted(files.items()) if dry_run else ():
            out_console.print(f"{verb:<6} {size:>15,} bytes  {path}", markup=False)
    for path, text in pushed.texts.items() if dry_run else ():
        out_console.print(f"\n{path}:\n{text}", markup=False)
    if pushed.is_change:
        past = {"add": "added", "change": "changed", "delete": "deleted"}
        counts = [
            f"{verb if dry_run else past[verb]} {len(files):,} files ({sum(files.values()):,} bytes)"
            for verb, files in changes.items()
            if files
        ]
        out_console.print(f"{'Would ' if dry_run else ''}{', '.join(counts)}.".capitalize())
