"""Sends an entry of a leaderboard: a pull request on a data set of results, or a folder in one here."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from oochub.hub.pushed import Pushed
from oochub.hub.upload import upload
from oochub.hub.writing_client import writing_client
from oochub.leaderboard.write_entry import write_entry
from oochub.storage.files import scratch_folder

_ON_HUB = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def push_entry(
    report: str | Path,
    results: str,
    *,
    predictions: Sequence[str | Path] = (),
    dry_run: bool = False,
    **said: Any,
) -> Pushed:
    """Sends a report, its predictions and what you say of them, after a check that the numbers can be verified.

    Args:
        report: The path of a report.json.
        results: The leaderboard's data set on the Hub, user/results, on which a pull request is opened; or a folder
            here, made where it is not there. A name with one slash is the Hub's, unless there is such a folder.
        predictions: The files that the report was made of; none takes those that it names, beside it.
        dry_run: Of the Hub: only check, and say what would be sent.
        **said: track, selection and supervision; if you like model, external_data, who and date. See
            `oochub.leaderboard.leaderboard_entry`.

    Raises:
        OochubError: As `oochub.leaderboard.write_entry` and `oochub.hub.upload.upload`; without a token before
            anything is read.
    """
    if not _ON_HUB.fullmatch(results) or Path(results).is_dir():
        folder = write_entry(report, results, predictions=predictions, **said)
        files = (path for path in folder.rglob("*") if path.is_file())
        return Pushed(
            url=str(folder), added={path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
        )
    writing_client(results, dry_run=dry_run)
    with scratch_folder() as draft:
        entry = write_entry(report, draft, predictions=predictions, **said)
        return upload(
            draft,
            results,
            repo_type="dataset",
            message=f"Entry {entry.name}",
            pull_request=True,
            delete=[f"{entry.name}/*"],
            dry_run=dry_run,
        )
