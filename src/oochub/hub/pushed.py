"""What a push changed on the Hub, or would change."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What a push changed, or would change: each file with its size in bytes.

    Attributes:
        url: The page of the repository, of the branch, or of the pull request.
        commit: The commit that the files are in, 40 hex digits; None of a rehearsal.
        pull_request: The address of the pull request that was opened; None where there is none.
        added: Files that the repository did not have.
        changed: Files that it had with another content.
        deleted: Files that it had and that are gone.
        texts: Of a push of results: what its files hold.

    >>> Pushed(url="https://huggingface.co/datasets/user/nooch", added={"README.md": 10}).is_change
    True
    """

    url: str
    commit: str | None = None
    pull_request: str | None = None
    added: Mapping[str, int] = field(default_factory=dict)
    changed: Mapping[str, int] = field(default_factory=dict)
    deleted: Mapping[str, int] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_change(self) -> bool:
        """Whether anything is added, changed or deleted."""
        return bool(self.added or self.changed or self.deleted)
