"""Puts the site of a leaderboard up as a static Space."""

from pathlib import Path
from typing import Any

from oochub.errors import OochubError
from oochub.hub.pushed import Pushed
from oochub.hub.upload import upload
from oochub.storage.artifacts import SITE


def push_site(folder: str | Path, to: str, **options: Any) -> Pushed:
    """Makes a static Space hold a site, in one commit; pages of entries that are gone are deleted.

    Args:
        folder: Of `oochub leaderboard`.
        to: The Space, user/board.
        options: Of `oochub.hub.upload.upload`: private, revision, dry_run, overwrite.

    Raises:
        OochubError: The folder holds no site, or something else too; as `oochub.hub.upload.upload`.

    >>> push_site("nowhere", "user/board")
    Traceback (most recent call last):
    oochub.errors.OochubError: nowhere holds no site of a leaderboard. `oochub leaderboard RESULTS --out nowhere`...
    """
    site = Path(folder).expanduser()
    if not site.is_dir() or not any(site.iterdir()) or not SITE.recognizes(site):
        raise OochubError(
            f"{site} holds no site of a leaderboard. `oochub leaderboard RESULTS --out {site}` makes one."
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
