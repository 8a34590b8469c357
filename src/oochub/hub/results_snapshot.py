"""The entries of a leaderboard that lie in a data set repository on the Hub, as a folder here."""

from dataclasses import dataclass
from pathlib import Path

from oochub.remote.check_source import check_source
from oochub.remote.snapshot import snapshot
from oochub.remote.without_token import without_token

_FILES = ("*/entry.json", "*/report.json", "*/*.parquet", "*/*.parquet/*")


@dataclass(frozen=True, kw_only=True)
class ResultsSnapshot:
    """What was fetched.

    Attributes:
        folder: Where it lies here.
        title: The repository and its commit, for readers.
        address: Its files of this commit on the Hub.
    """

    folder: Path
    title: str
    address: str


def results_snapshot(name: str) -> ResultsSnapshot:
    """Fetches the entries of a data set repository; files that are here already are not fetched again.

    Args:
        name: Its id, user/results.

    Raises:
        OochubError: There is no such folder or data set, or the Hub could not be asked.
    """
    check_source(name, kind="dataset", hint="`oochub push report.json --leaderboard` sends an entry to one.")
    from huggingface_hub import constants

    folder = snapshot(name, repo_type="dataset", patterns=_FILES)
    commit = folder.name
    address = f"{without_token(constants.ENDPOINT)}/datasets/{name}/tree/{commit}"
    return ResultsSnapshot(folder=folder, title=f"{name} at {commit[:8]}", address=address)
