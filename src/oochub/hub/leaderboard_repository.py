"""A leaderboard on the Hub: entries are sent to its data set and fetched from there, its site is a static Space.

An entry is sent as a pull request on a data set of results, or as a folder in one here.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.hub.upload import Pushed, open_client, upload
from oochub.leaderboard.write_entry import write_entry
from oochub.remote.check_source import check_source
from oochub.remote.guard import hide_token
from oochub.remote.remote_repository import fetch_snapshot
from oochub.storage.artifacts import SITE
from oochub.storage.files import make_scratch_folder
from oochub.storage.ownership import MANIFEST

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
        dry_run: For the Hub only: check, and say what would be sent, but send nothing.
        **said: track, selection and supervision; if you like model, external_data, who and date. See
            `oochub.leaderboard.leaderboard_entry`.

    Raises:
        OochubError: What `oochub.leaderboard.write_entry` and `oochub.hub.upload.upload` raise; if there is no token,
            before anything is read.
    """
    if not _ON_HUB.fullmatch(results) or Path(results).is_dir():
        folder = write_entry(report, results, predictions=predictions, **said)
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
        return Pushed(
            url=str(folder), added={path.relative_to(folder).as_posix(): path.stat().st_size for path in files}
        )
    open_client(results, dry_run=dry_run)
    with make_scratch_folder() as draft:
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


def push_site(folder: str | Path, to: str, **options: Any) -> Pushed:
    """Makes a static Space hold a site, in one commit; pages of entries that are gone are deleted.

    Args:
        folder: Folder that `oochub leaderboard` wrote.
        to: The Space, user/board.
        options: Options of `oochub.hub.upload.upload`: private, revision, dry_run, overwrite.

    Raises:
        OochubError: The folder holds no site, or something else too; as `oochub.hub.upload.upload`.

    >>> push_site("nowhere", "user/board")
    Traceback (most recent call last):
    oochub.errors.OochubError: nowhere contains no leaderboard site. Run `oochub leaderboard RESULTS --out nowhere`...
    """
    site = Path(folder).expanduser()
    if not site.is_dir() or not any(site.iterdir()) or not SITE.recognizes(site):
        raise OochubError(
            f"{site} contains no leaderboard site. Run `oochub leaderboard RESULTS --out {site}` to create one."
        )
    return upload(
        site,
        to,
        repo_type="space",
        message="The leaderboard",
        space_sdk="static",
        delete=["boards/*", "entries/*"],
        known_by="leaderboard.json",
        **options,
    )


_FILES = ("*/entry.json", "*/report.json", "*/*.parquet", "*/*.parquet/*")


@dataclass(frozen=True, kw_only=True)
class ResultsSnapshot:
    """What was fetched.

    Attributes:
        folder: The folder here that holds it.
        title: The repository and its commit, for readers.
        address: Address of its files of this commit on the Hub.
    """

    folder: Path
    title: str
    address: str


def fetch_results(name: str) -> ResultsSnapshot:
    """Fetches the entries of a data set repository; files that are here already are not fetched again.

    Args:
        name: Id of the repository, user/results.

    Raises:
        OochubError: There is no such folder or data set, or the Hub could not be asked.
    """
    check_source(name, kind="dataset", hint="`oochub push report.json --leaderboard` sends an entry to one.")
    from huggingface_hub import constants

    folder = fetch_snapshot(name, repo_type="dataset", patterns=_FILES)
    commit = folder.name
    address = f"{hide_token(constants.ENDPOINT)}/datasets/{name}/tree/{commit}"
    return ResultsSnapshot(folder=folder, title=f"{name} at {commit[:8]}", address=address)
