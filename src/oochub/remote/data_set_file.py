"""A file of a data set on the Hub, in the Hub's cache here."""

from pathlib import Path
from typing import Any

from oochub.errors import causes
from oochub.remote.patiently import patiently


def data_set_file(name: str, path: str, *, revision: str | None, token: Any = None, fetch: bool = True) -> Path | None:
    """Where the file lies in the cache's snapshot, whose folder is called as the commit; None where there is none.

    Nor is there one where nobody can be asked, and no copy is here.

    Args:
        name: user/name.
        path: In the repository.
        revision: A branch, tag or commit; None is main.
        token: As `load_dataset` takes it.
        fetch: Fetch it where it is not here; else `revision` is a commit.

    Raises:
        Exception: What the Hub's client raises where the Hub does not answer as it should.
    """
    from huggingface_hub import errors as of_hub
    from huggingface_hub import hf_hub_download, is_offline_mode, try_to_load_from_cache

    if not fetch:
        here = try_to_load_from_cache(name, path, revision=revision, repo_type="dataset")
        return Path(here) if isinstance(here, str) else None
    where = {"repo_type": "dataset", "revision": revision, "token": token}
    try:
        return Path(patiently(lambda: hf_hub_download(name, path, **where)))
    except of_hub.LocalEntryNotFoundError as error:
        if is_offline_mode() or any(type(cause).__name__ == "ConnectError" for cause in causes(error)):
            return None
        raise
    except (
        of_hub.EntryNotFoundError,
        of_hub.HFValidationError,
        of_hub.RepositoryNotFoundError,
        of_hub.RevisionNotFoundError,
    ):
        return None
