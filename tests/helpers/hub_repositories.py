"""What a loopback Hub keeps in a folder: repositories with commits, branches and pull requests, and blobs by sha256."""

import hashlib
import json
import os
import re
import tempfile
import threading
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

Kind = Literal["models", "datasets", "spaces"]
_LARGE = re.compile(
    r"\.(arrow|bin|gz|jpe?g|npy|npz|onnx|parquet|png|pt|pth|safetensors|tar|tif+|webp|zip|zst)$", re.IGNORECASE
)
_LARGEST_REGULAR = 10 * 2**20  # bytes
_ATTRIBUTES = b"*.parquet filter=lfs diff=lfs merge=lfs -text\n*.safetensors filter=lfs diff=lfs merge=lfs -text\n"


class Refused(Exception):
    """What the Hub answers instead: a status, a sentence and the code that its clients read."""

    def __init__(self, status: int, message: str, code: str = "", headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.code, self.headers = status, message, code, dict(headers or {})


@dataclass(frozen=True)
class File:
    """A file of a commit; `sha256` names its blob, `oid` is git's name (of a large file's pointer)."""

    size: int
    sha256: str
    oid: str
    large: bool


@dataclass(frozen=True)
class Commit:
    """A commit with all files that there are after it; `parent` is "" of the first."""

    id: str
    title: str
    message: str
    date: str
    author: str
    parent: str
    files: dict[str, File]


@dataclass
class PullRequest:
    """A pull request: its files are those of the branch refs/pr/<number>, `base` is the commit it began at."""

    number: int
    title: str
    description: str
    author: str
    date: str
    base: str
    status: str = "open"
    merged_as: str = ""


@dataclass
class Repository:
    """A model, a data set or a Space."""

    kind: Kind
    id: str
    private: bool
    created: str
    sdk: str = ""
    commits: dict[str, Commit] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    requests: list[PullRequest] = field(default_factory=list)

    @property
    def path(self) -> str:
        """Its path on the Hub, as in hf:// paths: user/model, datasets/user/data, spaces/user/metric."""
        return self.id if self.kind == "models" else f"{self.kind}/{self.id}"

    @property
    def owner(self) -> str:
        """Whose it is."""
        return self.id.split("/")[0]

    def at(self, revision: str) -> Commit:
        """The commit that a branch, a tag, a pull request (refs/pr/1) or a sha names."""
        sha = self.branches.get(revision.removeprefix("refs/heads/")) or self.tags.get(revision) or revision
        if sha not in self.commits:
            raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
        return self.commits[sha]

    def file(self, revision: str, path: str) -> File:
        """A file of a commit."""
        commit = self.at(revision)
        if path not in commit.files:
            raise Refused(404, "Entry not found", "EntryNotFound", {"X-Repo-Commit": commit.id})
        return commit.files[path]

    def history(self, revision: str) -> list[Commit]:
        """The commits up to a revision, the last first."""
        commits = [self.at(revision)]
        while commits[-1].parent:
            commits.append(self.commits[commits[-1].parent])
        return commits

    def request(self, number: int) -> PullRequest:
        """A pull request by its number."""
        if not 0 < number <= len(self.requests):
            raise Refused(404, f"Discussion {number} not found", "EntryNotFound")
        return self.requests[number - 1]

    def commit(self, branch: str, files: dict[str, File], title: str, message: str, author: str) -> Commit:
        """Adds a commit to a branch, or begins the branch with it."""
        parent, date = self.branches.get(branch, ""), now()
        told = json.dumps([self.path, len(self.commits), parent, title, date, sorted(files)])
        commit = Commit(hashlib.sha1(told.encode()).hexdigest(), title, message, date, author, parent, files)  # noqa: S324
        self.commits[commit.id] = commit
        self.branches[branch] = commit.id
        return commit

    def open_request(self, title: str, description: str, author: str, base: str = "main") -> PullRequest:
        """Opens a pull request without changes of its own."""
        commit = self.at(base)
        request = PullRequest(len(self.requests) + 1, title, description, author, now(), commit.id)
        self.requests.append(request)
        self.branches[f"refs/pr/{request.number}"] = commit.id
        return request

    def merge(self, request: PullRequest) -> None:
        """Puts what a pull request changed on main, unless main changed it otherwise since."""
        if request.status != "open":
            raise Refused(409, "The pull request is not open")
        base, changed = self.commits[request.base].files, self.at(f"refs/pr/{request.number}").files
        main = dict(self.at("main").files)
        for path in {path for path in base.keys() | changed.keys() if base.get(path) != changed.get(path)}:
            if main.get(path) not in (base.get(path), changed.get(path)):
                raise Refused(409, f"The pull request conflicts with main in {path}")
            if path in changed:
                main[path] = changed[path]
            else:
                main.pop(path, None)
        title = f"{request.title} (#{request.number})"
        request.status, request.merged_as = "merged", self.commit("main", main, title, "", request.author).id


class Store:
    """The repositories and blobs of a Hub in a folder; `save` writes what a later process finds again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.lock = threading.RLock()
        self.repositories: dict[str, Repository] = {}
        (folder / "blobs").mkdir(parents=True, exist_ok=True)
        kept = folder / "state.json"
        for facts in json.loads(kept.read_text()) if kept.exists() else ():
            repository = _repository(facts)
            self.repositories[repository.path] = repository

    def save(self) -> None:
        """Writes the state, whole or not at all."""
        draft = self.folder / "state.json.draft"
        draft.write_text(json.dumps([asdict(one) for one in self.repositories.values()]))
        draft.replace(self.folder / "state.json")

    def get(self, kind: Kind, name: str) -> Repository:
        """A repository by its kind and id."""
        path = name if kind == "models" else f"{kind}/{name}"
        if path not in self.repositories:
            raise Refused(404, "Repository not found", "RepoNotFound")
        return self.repositories[path]

    def create(self, kind: Kind, name: str, *, private: bool = False, sdk: str = "") -> Repository:
        """Makes a repository with the one file that the Hub gives it."""
        repository = Repository(kind, name, private, now(), sdk)
        if repository.path in self.repositories:
            raise Refused(409, "You already created this repo")
        repository.commit("main", {".gitattributes": self.regular(_ATTRIBUTES)}, "initial commit", "", repository.owner)
        self.repositories[repository.path] = repository
        return repository

    def blob(self, sha256: str) -> Path:
        """Where a blob lies or would lie."""
        return self.folder / "blobs" / sha256

    def keep(self, parts: Iterable[IO[bytes]], sha256: str, size: int) -> None:
        """Keeps a blob that comes in parts, unless it has not the sha256 and size that were announced."""
        digest, length = hashlib.sha256(), 0
        descriptor, draft = tempfile.mkstemp(dir=self.folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                for part in parts:
                    while chunk := part.read(2**20):
                        digest.update(chunk)
                        length += file.write(chunk)
            if (digest.hexdigest(), length) != (sha256, size):
                raise Refused(400, f"BadDigest: {length} bytes came, not the {size} of {sha256}")
            Path(draft).replace(self.blob(sha256))
        finally:
            Path(draft).unlink(missing_ok=True)

    def regular(self, content: bytes) -> File:
        """Keeps a file that git would hold itself."""
        sha256 = hashlib.sha256(content).hexdigest()
        self.blob(sha256).write_bytes(content)
        return File(len(content), sha256, _git_oid(content), large=False)

    def large(self, sha256: str) -> File:
        """A file whose blob was uploaded by LFS."""
        if not self.blob(sha256).exists():
            raise Refused(400, f"LFS pointer pointed to a file that does not exist: {sha256}")
        size = self.blob(sha256).stat().st_size
        pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{sha256}\nsize {size}\n"
        return File(size, sha256, _git_oid(pointer.encode()), large=True)


def is_large(path: str, size: int, sample: bytes) -> bool:
    """Whether the Hub wants a file by LFS: by its ending, its size, or as it is no text."""
    return bool(_LARGE.search(path)) or size > _LARGEST_REGULAR or b"\0" in sample


def folders(paths: Iterable[str]) -> set[str]:
    """The folders that files lie in."""
    return {str(parent) for path in paths for parent in Path(path).parents} - {"."}


def now() -> str:
    """The time, as the Hub writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def _git_oid(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()  # noqa: S324, it is git's


def _repository(facts: dict[str, Any]) -> Repository:
    commits = {
        sha: Commit(**{**commit, "files": {path: File(**file) for path, file in commit["files"].items()}})
        for sha, commit in facts["commits"].items()
    }
    requests = [PullRequest(**request) for request in facts["requests"]]
    return Repository(**{**facts, "commits": commits, "requests": requests})
