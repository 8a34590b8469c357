"""Which endpoint of a loopback Hub a request is for, and whether its account may ask that."""

import re
from dataclasses import dataclass
from urllib.parse import unquote

import yaml
from hub_answers import Answer, Request
from hub_reading import card_data, paths_info, read, resolved
from hub_repositories import Kind, Refused, Repository, Store
from hub_writing import batched, uploaded, verified, write

_IN_REPOSITORY = re.compile(r"/api/(models|datasets|spaces)/([^/]+/[^/]+)(?:/(.*))?$")
_FILE = re.compile(r"/(?:(datasets|spaces)/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)$")
_LFS = re.compile(r"/(?:(datasets|spaces)/)?([^/]+/[^/]+)\.git/info/lfs/objects/(batch|verify)$")


@dataclass
class Endpoints:
    """The endpoints over a store; lists have `page` entries at most, uploads over `part` bytes come in parts."""

    store: Store
    page: int = 2
    part: int = 5 * 2**20

    def answer(self, request: Request) -> Answer:
        """The answer to a request.

        Raises:
            Refused: It is refused.
        """
        if match := _IN_REPOSITORY.match(request.path):
            kind, name, rest = match.groups()
            return self._in_repository(request, self._readable(request, kind, name), (rest or "").split("/"))
        if match := _FILE.match(request.path):
            kind, name, revision, path = match.groups()
            repository = self._readable(request, kind, name)
            return resolved(self.store, request, repository, unquote(revision), unquote(path))
        if match := _LFS.match(request.path):
            kind, name, what = match.groups()
            _check_writes(request, self._readable(request, kind, name), open_to_all=True)
            return batched(self.store, request, self.part) if what == "batch" else verified(self.store, request)
        if request.path.startswith("/lfs/"):
            return uploaded(self.store, request)
        plain = {
            "POST /api/repos/create": self._created,
            "DELETE /api/repos/delete": self._deleted,
            "GET /api/whoami-v2": _whoami,
            "POST /api/validate-yaml": _validated,
        }
        if action := plain.get(f"{request.method} {request.path}"):
            return action(request)
        raise Refused(404, "Repository not found", "RepoNotFound")

    def _readable(self, request: Request, kind: str | None, name: str) -> Repository:
        """A repository that the account may read."""
        repository = self.store.get(_kind(kind), unquote(name))
        if repository.private and request.account is None:
            raise _no_token()
        if repository.private and request.author != repository.owner:
            raise Refused(404, "Repository not found", "RepoNotFound")
        return repository

    def _in_repository(self, request: Request, repository: Repository, quoted: list[str]) -> Answer:
        words = [unquote(word) for word in quoted]
        if request.method in ("GET", "HEAD"):
            return read(self.store, request, repository, words, self.page)
        if words[0] == "paths-info":
            return paths_info(request, repository, words[1])
        opens = request.flag("create_pr") or words == ["discussions"]
        _check_writes(request, repository, open_to_all=opens)
        answer = write(self.store, request, repository, words)
        self.store.save()
        return answer

    def _created(self, request: Request) -> Answer:
        asked = request.json()
        kind, name = _asked_for(request, asked)
        private = bool(asked.get("private")) or asked.get("visibility") == "private"
        try:
            repository = self.store.create(kind, name, private=private, sdk=asked.get("sdk", ""))
        except Refused as refused:  # its client wants the address of what is there
            address = f"{request.endpoint}/{self.store.get(kind, name).path}"
            return Answer.of({"error": refused.message, "url": address}, refused.status)
        self.store.save()
        return Answer.of({"url": f"{request.endpoint}/{repository.path}", "name": name})

    def _deleted(self, request: Request) -> Answer:
        kind, name = _asked_for(request, request.json())
        del self.store.repositories[self.store.get(kind, name).path]
        self.store.save()
        return Answer.of({})


def _kind(name: str | None) -> Kind:
    return "datasets" if name == "datasets" else "spaces" if name == "spaces" else "models"


def _asked_for(request: Request, asked: dict[str, str]) -> tuple[Kind, str]:
    """The kind and id of a repository to make or delete, where the account may."""
    kind, owner = asked.get("type") or "model", asked.get("organization") or request.author
    if request.account is None:
        raise _no_token()
    if not request.account.writes or owner != request.author:
        raise Refused(403, f'You don\'t have the rights to create a {kind} under the namespace "{owner}"')
    return _kind(f"{kind}s"), f"{owner}/{asked['name']}"


def _check_writes(request: Request, repository: Repository, *, open_to_all: bool) -> None:
    if request.account is None:
        raise _no_token()
    if not request.account.writes:
        raise Refused(403, "Forbidden: this token may only read")
    if request.author != repository.owner and not open_to_all:
        raise Refused(403, "Forbidden: pass `create_pr=1` as a query parameter to create a Pull Request")


def _no_token() -> Refused:
    # over https the clients take a bare 401 of a repository for "not found"; over http they need the code
    return Refused(401, "Invalid username or password.", "RepoNotFound")


def _whoami(request: Request) -> Answer:
    if request.account is None:
        raise _no_token()
    role = "write" if request.account.writes else "read"
    token = {"type": "access_token", "accessToken": {"displayName": "token", "role": role}}
    return Answer.of({"type": "user", "name": request.author, "fullname": request.author, "orgs": [], "auth": token})


def _validated(request: Request) -> Answer:
    try:
        found = card_data(request.json()["content"].encode())
    except yaml.YAMLError as error:
        return Answer.of({"errors": [{"message": str(error)}], "warnings": []}, 400)
    wrong = [] if isinstance(found, dict) else [{"message": "The metadata is no mapping"}]
    return Answer.of({"errors": wrong, "warnings": []}, 400 if wrong else 200)
