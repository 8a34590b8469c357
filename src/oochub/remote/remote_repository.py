"""What a repository on the Hub holds at one commit, and its files, fetched and looked at before anything reads them.

For a model, that is the folder that its files lie in: its own, or the copy of one commit, fetched as a whole; for a
data set, one file in the Hub's cache here.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from oochub.errors import OochubError, list_causes
from oochub.remote.check_source import split_revision
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import ODD_ANSWERS, explain_connection_fault, explain_refusals, retry

RepoType = Literal["dataset", "model", "space"]
_PATIENCE = 60.0  # seconds for one answer
_BLOCK = 2**18  # bytes that are fetched at once of a file that is read in parts


_SHA256 = re.compile(r"[0-9a-f]{64}")


class _File(NamedTuple):
    size: int
    digest: str
    is_large: bool  # its digest is the SHA-256 of its bytes, not git's


@dataclass(frozen=True, kw_only=True)
class RemoteRepository:
    """What a repository on the Hub holds at one commit.

    Attributes:
        name: user/name.
        repo_type: Type of the repository.
        commit: 40 hex digits; None where there is no repository, or an empty one.
        is_there: Whether there is a repository that the token may read.
        has_revision: Whether it has the branch that was asked for; else the files are those of its main branch.
        is_private: Whether others may not read it.
        files: Files by path.
    """

    name: str
    repo_type: RepoType
    commit: str | None = None
    is_there: bool = False
    has_revision: bool = True
    is_private: bool = False
    files: Mapping[str, _File] = field(default_factory=dict)
    _client: Any = field(default=None, repr=False, compare=False)

    @classmethod
    def read(cls, client: Any, name: str, *, repo_type: RepoType, revision: str | None) -> "RemoteRepository":
        """Asks the Hub.

        Args:
            client: Client that `open_client` gives.
            name: user/name.
            repo_type: Type of the repository.
            revision: A branch, tag or commit; None takes main.

        Raises:
            Refusal: The token is refused, or the Hub cannot be reached.
        """
        from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

        with explain_refusals(name, token=client.token or None):
            try:
                ask = {"repo_type": repo_type, "timeout": _PATIENCE}
                try:
                    has_revision, info = True, client.repo_info(name, revision=revision, **ask)
                except RevisionNotFoundError:
                    has_revision, info = False, client.repo_info(name, **ask)
            except RepositoryNotFoundError as error:
                if error.response.status_code == 401 and client.token:
                    raise
                return cls(name=name, repo_type=repo_type, has_revision=revision is None, _client=client)
            entries = (
                list(client.list_repo_tree(name, repo_type=repo_type, revision=info.sha, recursive=True))
                if info.sha
                else []
            )
            files = {
                entry.path: _File(entry.size, entry.lfs.sha256 if entry.lfs else entry.blob_id, entry.lfs is not None)
                for entry in entries
                if hasattr(entry, "blob_id")
            }
            if not all(isinstance(path, str) and isinstance(file.size, int) for path, file in files.items()):
                raise ValueError("its list of files names one by a number, or gives one no size")
        return cls(
            name=name,
            repo_type=repo_type,
            commit=info.sha,
            is_there=True,
            has_revision=has_revision,
            is_private=bool(info.private),
            files=files,
            _client=client,
        )

    def holds(self, path: str, content: bytes | Path) -> bool:
        """Whether it has this file with this content."""
        there = self.files.get(path)
        size = len(content) if isinstance(content, bytes) else content.stat().st_size
        return there is not None and there.size == size and there.digest == _digest_content(content, there.is_large)

    def text(self, path: str) -> str | None:
        """The text of a file at this commit; None where there is no such file.

        Raises:
            Refusal: The file cannot be fetched.
            OochubError: The file is no text.
        """
        if path not in self.files:
            return None
        with explain_refusals(self.name, token=self._client.token or None):
            place = self._client.hf_hub_download(
                self.name, path, repo_type=self.repo_type, revision=self.commit, etag_timeout=_PATIENCE
            )
        try:
            return Path(place).read_text("utf-8")
        except UnicodeDecodeError:
            raise OochubError(f"{path} of {self.name} on the Hub is not UTF-8 text. Correct or remove it.") from None

    def open(self, path: str) -> Any:
        """A large file at this commit, of which only what is read is fetched: a file object of bytes.

        Raises:
            Refusal: The Hub cannot be reached.
        """
        from huggingface_hub import HfFileSystem

        kind = "" if self.repo_type == "model" else f"{self.repo_type}s/"
        with explain_refusals(self.name, token=self._client.token or None):
            files = HfFileSystem(endpoint=self._client.endpoint, token=self._client.token)
            return files.open(f"{kind}{self.name}@{self.commit}/{path}", "rb", block_size=_BLOCK)


def _digest_content(content: bytes | Path, is_large: bool) -> str:
    """The SHA-256 of a large file; for a small one the name that git gives it, which takes the whole file."""
    if not is_large:
        data = content if isinstance(content, bytes) else content.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch_snapshot(name: str, *, repo_type: RepoType, patterns: Sequence[str], without: Sequence[str] = ()) -> Path:
    """The folder in the Hub's cache that holds files of one commit; what is there already is not fetched again.

    The files that came now and that the Hub names by their SHA-256 have this digest, and none is a link out of the
    cache.

    Args:
        name: user/name, or user/name@REVISION.
        repo_type: Type of the repository.
        patterns: Patterns of the files to fetch.
        without: Patterns of files that are left out, even if `patterns` has them.

    Raises:
        OochubError: The Hub cannot be reached or does not answer as it should, and the cache has no copy; what came is
            damaged.
        huggingface_hub.errors.HFValidationError: The name can be none.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.constants import HF_HUB_CACHE
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError

    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    name, revision = split_revision(name)
    wanted: dict[str, Any] = {
        "revision": revision,
        "allow_patterns": list(patterns),
        "ignore_patterns": list(without),
        "tqdm_class": _make_late_bar(),
    }
    blobs = Path(HF_HUB_CACHE, f"{repo_type}s--{name.replace('/', '--')}", "blobs")
    cached_blobs = {path.name for path in blobs.glob("*")}
    try:
        folder = Path(retry(lambda: snapshot_download(name, repo_type=repo_type, **wanted)))
    except (HFValidationError, OochubError):
        raise
    except (unreached, OSError, *ODD_ANSWERS) as error:
        lines = [explain_connection_fault(error), *str(error).strip().splitlines(), type(error).__name__]
        message = hide_token(next(line for line in lines if line))
        raise OochubError(
            f"The files of {name} could not be downloaded from the Hub: {message.rstrip('.: ')}. Check the connection "
            "and try again: finished downloads are kept."
        ) from None  # the chain shows what the server sent
    caches = {Path(HF_HUB_CACHE).resolve(), blobs.resolve()}
    for path in sorted(folder.rglob("*")):
        real = path.resolve()
        if not any(real.is_relative_to(cache) for cache in caches):
            raise OochubError(
                f"{path} is a link that points outside the Hub's cache, so it is not read. Delete {folder}."
            )
        if (
            real.is_file()
            and real.name not in cached_blobs
            and _SHA256.fullmatch(real.name)
            and _digest_file(real) != real.name
        ):
            real.unlink()
            raise OochubError(
                f"{path.relative_to(folder)} of {name} is corrupted: its checksum does not match the one on the Hub. "
                "Try again to download it."
            )
    return folder


def _digest_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _make_late_bar() -> Any:
    from huggingface_hub.utils import tqdm

    class LateBar(tqdm):  # type: ignore[misc]
        """A bar for what takes more than two seconds."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            super().__init__(*arguments, **{"delay": 2.0, **settings})

    return LateBar


_FILES = (
    *("*.json", "*.jsonl", "*.jinja", "*.txt", "*.model", "*.bpe", "*.vocab", "*.spm", "*.tiktoken"),
    *("model.safetensors", "model-*.safetensors", "auxiliary_head.safetensors", "adapter_model.safetensors"),
)
_ELSEWHERE = ("*/*",)  # other formats, checkpoints
_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")


def fetch_model_folder(source: str) -> str:
    """The folder to read a model's files from.

    For an id on the Hub, all files that are read are fetched first, of one commit: no weights of today are put in a
    config of yesterday, and a file that could not be fetched is not taken for one that is not there. What the cache of
    the Hub holds is not fetched again; if the Hub cannot be reached, it is what is read.

    Args:
        source: A folder, or an id on the Hub that is there, with its revision or without: see `check_source`.

    Raises:
        OochubError: The Hub cannot be reached, and its cache has no whole copy.

    >>> fetch_model_folder(".")
    '.'
    """
    if Path(source).expanduser().is_dir():
        return source
    from huggingface_hub import constants, get_token

    return _fetch_once(source, constants.ENDPOINT, get_token())


@cache
def _fetch_once(name: str, endpoint: str, token: str | None) -> str:
    """Asked once a process: a job reads one commit, whatever is pushed meanwhile."""
    from huggingface_hub.errors import HFValidationError

    try:
        folder = fetch_snapshot(name, repo_type="model", patterns=_FILES, without=_ELSEWHERE)
    except HFValidationError:
        return name  # whoever reads it says so
    whole = any((folder / file).is_file() for file in _WEIGHTS)
    is_other = split_revision(name)[1] is not None or not (folder / "config.json").is_file()
    return str(folder) if whole or is_other else name  # transformers knows where else safe weights may be


def fetch_file(name: str, path: str, *, revision: str | None, token: Any = None, fetch: bool = True) -> Path | None:
    """The file in the cache's snapshot, whose folder bears the name of the commit; None if there is no such file.

    It is also None if nobody can be asked and no copy is here.

    Args:
        name: user/name.
        path: Path in the repository.
        revision: A branch, tag or commit; None is main.
        token: Token, as `load_dataset` takes it.
        fetch: Fetch it where it is not here; else `revision` is a commit.

    Raises:
        Exception: What the Hub's client raises if the Hub does not answer as it should.
    """
    from huggingface_hub import errors as of_hub
    from huggingface_hub import hf_hub_download, is_offline_mode, try_to_load_from_cache

    if not fetch:
        here = try_to_load_from_cache(name, path, revision=revision, repo_type="dataset")
        return Path(here) if isinstance(here, str) else None
    where = {"repo_type": "dataset", "revision": revision, "token": token}
    try:
        return Path(retry(lambda: hf_hub_download(name, path, **where)))
    except of_hub.LocalEntryNotFoundError as error:
        if is_offline_mode() or any(type(cause).__name__ == "ConnectError" for cause in list_causes(error)):
            return None
        raise
    except (
        of_hub.EntryNotFoundError,
        of_hub.HFValidationError,
        of_hub.RepositoryNotFoundError,
        of_hub.RevisionNotFoundError,
    ):
        return None


_REQUESTS = 20  # pull requests that are looked at, the newest first


def list_files(name: str, revision: str | None) -> set[str]:
    """The names of the files of a model's repository; none if the Hub cannot be asked.

    Args:
        name: user/name.
        revision: A branch, tag or commit; None is main.
    """
    from huggingface_hub import HfApi, is_offline_mode
    from huggingface_hub.errors import HfHubHTTPError

    if is_offline_mode():
        return set()
    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    try:
        return set(retry(lambda: HfApi().list_repo_files(name, revision=revision)))
    except (unreached, OSError, *ODD_ANSWERS):  # whoever opens it says what is wrong
        return set()


def find_safe_request(name: str) -> str | None:
    """The newest pull request of a model's repository that has its weights as safetensors; None if there is none.

    Args:
        name: user/name.

    Returns:
        Its revision, refs/pr/N.
    """
    from huggingface_hub import HfApi

    refs = retry(lambda: HfApi().list_repo_refs(name, include_pull_requests=True)).pull_requests or ()
    requests = sorted((request.ref for request in refs), key=lambda ref: int(ref.rpartition("/")[2]), reverse=True)
    return next((ref for ref in requests[:_REQUESTS] if list_files(name, ref) & {*_WEIGHTS}), None)
