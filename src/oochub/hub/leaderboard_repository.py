"""A leaderboard on the Hub: entries are sent to its data set and fetched from there, its site is a static Space.

An entry is sent as a pull request on a data set of results, or as a folder in one here.
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, OochubWarning
from oochub.hub.upload import Pushed, open_client, upload
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.leaderboard_entry import WITHDRAWN
from oochub.leaderboard.site import Site, join_truth, load_truth
from oochub.leaderboard.write_entry import write_entry
from oochub.remote.check_source import check_source
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import explain_refusals
from oochub.remote.remote_repository import fetch_snapshot
from oochub.storage.artifacts import SITE
from oochub.storage.files import make_scratch_folder
from oochub.storage.ownership import MANIFEST

_TOGETHER = 500  # paths that the Hub is asked about at once
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


_FILES = ("*/entry.json", "*/report.json", "*/*.parquet", "*/*.parquet/*", "truth/*/truth.json", WITHDRAWN)


@dataclass(frozen=True, kw_only=True)
class ResultsSnapshot:
    """What was fetched.

    Attributes:
        name: Id of the repository.
        folder: The folder here that holds it.
        commit: Its commit.
        address: Address of its files of this commit on the Hub.
    """

    name: str
    folder: Path
    commit: str
    address: str

    def first_commits(self, entries: Sequence[CheckedEntry]) -> dict[str, int]:
        """The number of the commit since which the answers of each entry are what they are, by the entry's name.

        Args:
            entries: Entries of the snapshot.

        Raises:
            OochubError: The Hub could not be asked.
        """
        from huggingface_hub import HfApi

        files = {
            part.relative_to(self.folder).as_posix(): each.name
            for each in entries
            for file in each.files
            for part in ([file] if file.is_file() else file.rglob("*"))
        }
        client, asked = HfApi(), {"repo_type": "dataset", "revision": self.commit}
        with explain_refusals(self.name, token=None):
            commits = [each.commit_id for each in client.list_repo_commits(self.name, **asked)]
            paths = [*files]
            told = [
                info
                for start in range(0, len(paths), _TOGETHER)
                for info in client.get_paths_info(self.name, paths[start : start + _TOGETHER], expand=True, **asked)
            ]
        number = {commit: place for place, commit in enumerate(reversed(commits))}
        found = dict.fromkeys(files.values(), -1)
        for info in told:
            last = getattr(info, "last_commit", None)
            place = number.get(last.oid, len(commits)) if last is not None else len(commits)
            found[files[info.path]] = max(found[files[info.path]], place)
        return {name: len(commits) if place < 0 else place for name, place in found.items()}


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
    address = f"{hide_token(constants.ENDPOINT)}/datasets/{name}/tree/{folder.name}"
    return ResultsSnapshot(name=name, folder=folder, commit=folder.name, address=address)


def write_site_of(results: str, out: str | Path, *, truth: Sequence[str | Path] = ()) -> Site:
    """Writes the site of the entries in a dataset; benchmarks' own rows that are given become part of it.

    Args:
        results: Id of the dataset, user/results.
        out: The folder of the site.
        truth: See `Site.write`.

    Raises:
        OochubError: What `fetch_results` and `Site.write` raise.

    Warns:
        OochubWarning: The rows could not be sent to the dataset, so that they count for this site only.
    """
    snapshot, given = fetch_results(results), load_truth(truth)
    own = join_truth(snapshot.folder, given)
    fresh = [rows for key, rows in given.items() if own[key] is rows]
    if fresh:
        with make_scratch_folder() as draft:
            for rows in fresh:
                rows.save(draft)
            names = ", ".join(str(rows.key) for rows in fresh)
            try:
                upload(draft, results, repo_type="dataset", message=f"The rows of {names}")
            except OochubError as error:
                words = f"The rows of {names} were not kept in {results}, so they count for this site only: {error}"
                warnings.warn(words, OochubWarning, stacklevel=2)
            else:
                snapshot = fetch_results(results)
    return Site.write(
        snapshot.folder,
        out,
        source=results,
        commit=snapshot.commit,
        link=snapshot.address,
        first_commits=snapshot.first_commits,
        truth=[*given.values()],
    )
