"""What a repository on the Hub holds at one commit."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from oochub.errors import OochubError
from oochub.remote.hub_errors import explain_refusals

RepoType = Literal["dataset", "model", "space"]
_PATIENCE = 60.0  # seconds for one answer


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


def _digest_content(content: bytes | Path, is_large: bool) -> str:
    """The SHA-256 of a large file; for a small one the name that git gives it, which takes the whole file."""
    if not is_large:
        data = content if isinstance(content, bytes) else content.read_bytes()
        return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()
    if isinstance(content, bytes):
        return hashlib.sha256(content).hexdigest()
    with content.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
