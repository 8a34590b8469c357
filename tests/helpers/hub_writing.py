"""What a loopback Hub does for those who write: uploads by LFS, commits, branches, tags and pull requests."""

import base64
import json
from collections.abc import Sequence
from io import BytesIO
from typing import Any
from urllib.parse import urlsplit

from hub_answers import Answer, Request
from hub_repositories import File, Refused, Repository, Store, is_large


def write(store: Store, request: Request, repository: Repository, words: Sequence[str]) -> Answer:
    """The answer to POST, PUT or DELETE /api/<kind>/<id>/<words>, for an account that may."""
    what, rest = words[0], words[1:]
    if what == "preupload":
        return Answer.of({"files": _preuploaded(repository, request, rest[0])})
    if what == "commit":
        return Answer.of(_committed(store, repository, request, rest[0]))
    if what in ("branch", "tag"):
        return _named(request, repository, what, rest[0])
    if what == "discussions" and not rest:
        asked = request.json()
        opened = repository.open_request(asked["title"], asked["description"], request.author)
        return Answer.of({"num": opened.number})
    if what == "discussions" and rest[1:] == ["merge"]:
        repository.merge(repository.request(int(rest[0])))
        return Answer.of({})
    if what == "settings":
        repository.private = request.json().get("visibility") == "private"
        return Answer.of({})
    raise Refused(404, f"A repository has no {what} to write", "EntryNotFound")


def batched(store: Store, request: Request, part: int) -> Answer:
    """The answer to the LFS batch: where each blob that is not there yet is to be put, in parts if it is large."""
    objects = []
    for one in request.json()["objects"]:
        told = {"oid": one["oid"], "size": one["size"]}
        if not store.blob(one["oid"]).exists():
            address = f"{request.endpoint}/lfs/{one['oid']}"
            upload: dict[str, Any] = {"href": f"{address}?size={one['size']}"}
            if one["size"] > part:
                parts = range(1, -(-one["size"] // part) + 1)
                upload["header"] = {
                    "chunk_size": str(part),
                    **{f"{number:05d}": f"{address}/{number}" for number in parts},
                }
            verify = {"href": f"{request.endpoint}{urlsplit(request.path).path.removesuffix('batch')}verify"}
            told["actions"] = {"upload": upload, "verify": verify}
        objects.append(told)
    return Answer.of({"transfer": "basic", "objects": objects})


def verified(store: Store, request: Request) -> Answer:
    """The answer to the LFS verify: whether a blob is there with the size announced."""
    asked = request.json()
    blob = store.blob(asked["oid"])
    if not blob.exists() or blob.stat().st_size != asked["size"]:
        raise Refused(422, f"The LFS object {asked['oid']} has not the size announced")
    return Answer.of({})


def uploaded(store: Store, request: Request) -> Answer:
    """The answer to PUT and POST /lfs/<sha256>, which needs no token as its address is signed: a blob is kept."""
    oid, _, number = request.path.removeprefix("/lfs/").partition("/")
    if number:
        part = store.folder / f"{oid}.{number}.part"
        part.write_bytes(request.body.read())
        return Answer(200, {"ETag": f'"{part.stat().st_size}"'})
    size = int(request.one("size"))
    if request.method == "PUT":
        store.keep([request.body], oid, size)
        return Answer()
    parts = [store.folder / f"{oid}.{one['partNumber']}.part" for one in request.json()["parts"]]
    try:
        store.keep([BytesIO(part.read_bytes()) for part in parts], oid, size)
    finally:
        for part in parts:
            part.unlink(missing_ok=True)
    return Answer.of({})


def _preuploaded(repository: Repository, request: Request, revision: str) -> list[dict[str, Any]]:
    """How each file is to be uploaded, and what is there of that name."""
    files = repository.at(revision).files
    told = []
    for one in request.json()["files"]:
        large = is_large(one["path"], one["size"], base64.b64decode(one["sample"]))
        there = files.get(one["path"])
        known = {"oid": there.sha256 if there.large else there.oid} if there else {}
        mode = "lfs" if large else "regular"
        told.append({"path": one["path"], "uploadMode": mode, "shouldIgnore": False, **known})
    return told


def _committed(store: Store, repository: Repository, request: Request, revision: str) -> dict[str, Any]:
    """Makes a commit of what the lines say, deletions first, all of it or nothing."""
    lines = [json.loads(line) for line in request.body.read().splitlines() if line.strip()]
    header = next(line["value"] for line in lines if line["key"] == "header")
    head = repository.at(revision)
    if header.get("parentCommit", head.id) != head.id:
        raise Refused(412, "A commit has happened since. Please refresh and try again.")
    files = dict(head.files)
    for line in lines:
        if line["key"] == "deletedFile":
            if files.pop(line["value"]["path"], None) is None:
                raise Refused(404, "A file with this name doesn't exist", "EntryNotFound")
        elif line["key"] == "deletedFolder":
            inside = [path for path in files if path.startswith(line["value"]["path"].rstrip("/") + "/")]
            for path in inside:
                del files[path]
    for line in lines:
        if line["key"] == "file":
            files[line["value"]["path"]] = store.regular(base64.b64decode(line["value"]["content"]))
        elif line["key"] == "lfsFile":
            files[line["value"]["path"]] = _large(store, line["value"])
    told, branch = {}, revision
    if request.flag("create_pr"):
        opened = repository.open_request(header["summary"], header["description"], request.author, base=revision)
        branch = f"refs/pr/{opened.number}"
        told = {"pullRequestUrl": f"{request.endpoint}/{repository.path}/discussions/{opened.number}"}
    elif branch not in repository.branches:
        raise Refused(404, f"Invalid rev id: {revision}", "RevisionNotFound")
    commit = repository.commit(branch, files, header["summary"], header["description"], request.author)
    address = f"{request.endpoint}/{repository.path}/commit/{commit.id}"
    return {"success": True, "commitOid": commit.id, "commitUrl": address, **told}


def _large(store: Store, said: dict[str, Any]) -> File:
    file = store.large(said["oid"])
    if said.get("size", file.size) != file.size:
        raise Refused(400, f"LFS pointer of {said['path']} has not the size of its object")
    return file


def _named(request: Request, repository: Repository, what: str, name: str) -> Answer:
    """Makes or deletes a branch or a tag; of a tag, `name` is the revision it shall stand at, or its own name."""
    names = repository.branches if what == "branch" else repository.tags
    if request.method == "DELETE":
        if names.pop(name, None) is None:
            raise Refused(404, f"Invalid rev id: {name}", "RevisionNotFound")
        return Answer.of({})
    asked = request.json() or {}
    named, start = (name, asked.get("startingPoint", "main")) if what == "branch" else (asked["tag"], name)
    if named in names:
        raise Refused(409, f"Reference already exists: {named}")
    names[named] = repository.at(start).id
    return Answer.of({})
