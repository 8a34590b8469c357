"""What a loopback Hub answers to those who read."""

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qs, quote

import yaml
from hub_answers import Answer, Request
from hub_repositories import Commit, File, PullRequest, Refused, Repository, Store, folders

_RANGE = re.compile(r"bytes=(\d*)-(\d*)$")


def read(store: Store, request: Request, repository: Repository, words: Sequence[str], page: int) -> Answer:
    """The answer to GET /api/<kind>/<id>/<words>."""
    what, rest = words[0], words[1:]
    if what in ("", "revision"):
        return Answer.of(_facts(store, request, repository, rest[0] if rest else "main"))
    if what == "tree":
        return paged(request, _tree(repository, rest[0], rest[1] if rest[1:] else "", request.flag("recursive")), page)
    if what == "commits":
        return paged(request, _commits(repository, rest[0]), page)
    if what == "refs":
        return Answer.of(_refs(repository))
    if what == "discussions" and rest:
        return Answer.of(_discussion(repository, repository.request(int(rest[0]))))
    if what == "discussions":
        told = [_discussion(repository, one) for one in repository.requests]
        start = int(request.one("p", "0")) * page
        return Answer.of({"discussions": told[start : start + page], "count": len(told), "start": start})
    if what == "leaderboard":
        return Answer.of(_leaderboard(store, repository))
    raise Refused(404, f"A repository has no {what}", "EntryNotFound")


def resolved(store: Store, request: Request, repository: Repository, revision: str, path: str) -> Answer:
    """The answer to GET or HEAD /<id>/resolve/<revision>/<path>: a file or, by a Range, a part of it."""
    commit, file = repository.at(revision), repository.file(revision, path)
    etag = f'"{file.sha256 if file.large else file.oid}"'
    headers = {"ETag": etag, "X-Repo-Commit": commit.id, "Accept-Ranges": "bytes"}
    if file.large:
        headers |= {"X-Linked-ETag": etag, "X-Linked-Size": str(file.size)}
    asked = _RANGE.match(request.headers.get("range", ""))
    if not asked or asked.groups() == ("", ""):
        return Answer(200, headers, store.blob(file.sha256), (0, file.size))
    first, last = asked.groups()
    start = int(first) if first else max(file.size - int(last), 0)
    stop = min(int(last) + 1, file.size) if first and last else file.size
    if start >= stop:
        return Answer(416, {**headers, "Content-Range": f"bytes */{file.size}"})
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{file.size}"
    return Answer(206, headers, store.blob(file.sha256), (start, stop))


def paths_info(request: Request, repository: Repository, revision: str) -> Answer:
    """The answer to POST /api/<kind>/<id>/paths-info/<revision>: the files and folders that there are."""
    form = parse_qs(request.body.read().decode())
    files = repository.at(revision).files
    inside = folders(files)
    told = [_entry(path, files.get(path)) for path in form["paths"] if path in files or path in inside]
    if form.get("expand") == ["true"]:
        history = repository.history(revision)[::-1]
        for entry in told:
            entry["lastCommit"] = _last_commit(history, entry["path"])
    return Answer.of(told)


def _last_commit(history: Sequence[Commit], path: str) -> dict[str, str]:
    """The last of some commits, in their order, that changed a file."""
    last, was = history[0], None
    for commit in history:
        if commit.files.get(path) != was:
            last, was = commit, commit.files.get(path)
    return {"id": last.id, "title": last.title, "date": last.date}


def paged(request: Request, entries: Sequence[Any], page: int) -> Answer:
    """A page of entries, with the address of the next one in the header Link, as GitHub does it."""
    start = int(request.one("cursor", "0"))
    headers = {}
    if start + page < len(entries):
        kept = "".join(f"{key}={quote(one[0])}&" for key, one in request.query.items() if key != "cursor")
        headers["Link"] = f'<{request.endpoint}{request.path}?{kept}cursor={start + page}>; rel="next"'
    return Answer.of(entries[start : start + page], headers=headers)


def card_data(content: bytes) -> Any:
    """What stands in the YAML at the head of a card."""
    head = re.match(r"\s*---\s*\n(.*?)\n---", content.decode(), re.DOTALL)
    return (yaml.safe_load(head[1]) if head else None) or {}


def _facts(store: Store, request: Request, repository: Repository, revision: str) -> dict[str, Any]:
    commit = repository.at(revision)
    card = card_data(_content(store, commit.files["README.md"])) if "README.md" in commit.files else {}
    told = {
        "id": repository.id,
        "author": repository.id.split("/")[0],
        "sha": commit.id,
        "createdAt": repository.created,
        "lastModified": commit.date,
        "private": repository.private,
        "gated": False,
        "disabled": False,
        "downloads": 0,
        "likes": 0,
        "tags": [str(tag) for tag in card.get("tags") or ()],
        "cardData": card,
        "siblings": [_sibling(path, file, whole=request.flag("blobs")) for path, file in commit.files.items()],
        **({"sdk": repository.sdk} if repository.kind == "spaces" else {}),
    }
    wanted = request.query.get("expand")
    if not wanted:
        return told
    results = [{"filename": name, "data": one} for name, one in _results(store, repository)]
    return {key: value for key, value in {**told, "evalResults": results}.items() if key in ("id", *wanted)}


def _sibling(path: str, file: File, *, whole: bool) -> dict[str, Any]:
    if not whole:
        return {"rfilename": path}
    large = {"lfs": {"sha256": file.sha256, "size": file.size, "pointerSize": 134}} if file.large else {}
    return {"rfilename": path, "size": file.size, "blobId": file.oid, **large}


def _entry(path: str, file: File | None) -> dict[str, Any]:
    if file is None:
        return {"type": "directory", "path": path, "oid": "0" * 40, "size": 0}
    large = {"lfs": {"oid": file.sha256, "size": file.size, "pointerSize": 134}} if file.large else {}
    return {"type": "file", "path": path, "oid": file.oid, "size": file.size, **large}


def _tree(repository: Repository, revision: str, folder: str, deep: bool) -> list[dict[str, Any]]:
    commit = repository.at(revision)
    inside = folders(commit.files)
    if folder and folder not in inside:
        raise Refused(404, f"{folder} does not exist on {revision}", "EntryNotFound", {"X-Repo-Commit": commit.id})
    depth = folder.count("/") + 1 if folder else 0
    below = sorted(path for path in [*commit.files, *inside] if not folder or path.startswith(f"{folder}/"))
    return [_entry(path, commit.files.get(path)) for path in below if deep or path.count("/") == depth]


def _commits(repository: Repository, revision: str) -> list[dict[str, Any]]:
    return [
        {"id": one.id, "title": one.title, "message": one.message, "date": one.date, "authors": [{"user": one.author}]}
        for one in repository.history(revision)
    ]


def _refs(repository: Repository) -> dict[str, list[dict[str, str]]]:
    heads = {name: sha for name, sha in repository.branches.items() if not name.startswith("refs/pr/")}
    pulls = {name: sha for name, sha in repository.branches.items() if name not in heads}
    named = {"branches": ("refs/heads/", heads), "tags": ("refs/tags/", repository.tags), "pullRequests": ("", pulls)}
    told = {
        key: [{"name": name, "ref": f"{prefix}{name}", "targetCommit": sha} for name, sha in found.items()]
        for key, (prefix, found) in named.items()
    }
    return {**told, "converts": []}


def _discussion(repository: Repository, request: PullRequest) -> dict[str, Any]:
    history = repository.history(f"refs/pr/{request.number}")
    commits = history[: [one.id for one in history].index(request.base)]
    told = [("comment", {"edited": False, "hidden": False, "latest": {"raw": request.description}})]
    told += [("commit", {"subject": one.title, "oid": one.id}) for one in reversed(commits)]
    events = [{"type": kind, "data": data} for kind, data in told]
    common = {"createdAt": request.date, "author": {"name": request.author}}
    return {
        **common,
        "title": request.title,
        "num": request.number,
        "status": request.status,
        "repo": {"name": repository.id, "type": repository.kind.removesuffix("s")},
        "isPullRequest": True,
        "changes": {"base": "refs/heads/main", "mergeCommitId": request.merged_as or None},
        "filesWithConflicts": False,
        "events": [{"id": f"{number:024x}", **common, **event} for number, event in enumerate(events)],
        "diff": "",
    }


def _results(store: Store, repository: Repository) -> list[tuple[str, dict[str, Any]]]:
    """What the files of .eval_results of a model say, each with its file's name."""
    files = repository.at("main").files
    names = [path for path in files if re.fullmatch(r"\.eval_results/[^/]+\.ya?ml", path)]
    return [(name, one) for name in names for one in yaml.safe_load(_content(store, files[name])) or ()]


def _leaderboard(store: Store, repository: Repository) -> list[dict[str, Any]]:
    """What all models say of a data set, the highest value first."""
    models = [one for one in store.repositories.values() if one.kind == "models" and not one.private]
    found = [(model.id, *one) for model in models for one in _results(store, model)]
    found = sorted((one for one in found if one[2]["dataset"]["id"] == repository.id), key=lambda one: -one[2]["value"])
    return [
        {
            "rank": rank,
            "modelId": model,
            "value": said["value"],
            "filename": name,
            "verified": False,
            "source": said.get("source"),
            "notes": said.get("notes"),
            "author": {"type": "user", "_id": "0", "name": model.split("/")[0], "user": model.split("/")[0]},
        }
        for rank, (model, name, said) in enumerate(found, 1)
    ]


def _content(store: Store, file: File) -> bytes:
    return store.blob(file.sha256).read_bytes()
