"""Uploads a folder to a repository of the Hub in one commit, so that nothing half-pushed is ever seen.

`Pushed` is what a push changed on the Hub, or would change; `open_client` gives a client of the Hub that may write,
after a look at the name, the token and the connection's switch.
"""

import re
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from oochub.errors import OochubError, OochubWarning, choose_wording
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import Refusal, explain_refusals
from oochub.remote.remote_repository import RemoteRepository, RepoType
from oochub.storage.ownership import MANIFEST

_TRIES = 5
_WAIT = 1.0  # seconds after the first try; twice as long after each other one
_PATIENCE = 120.0  # seconds of silence of a connection
_SLOW = 20_000_000  # bytes that take two seconds or more: worth a bar
_LEFT_OUT = (".git", ".cache", ".DS_Store", "__pycache__", MANIFEST)
Content = bytes | Path


@dataclass(frozen=True, kw_only=True)
class Pushed:
    """What a push changed, or would change: each file with its size in bytes.

    Attributes:
        url: The page of the repository, of the branch, or of the pull request.
        commit: The commit that the files are in, 40 hex digits; None for a dry run.
        pull_request: The address of the pull request that was opened; None where there is none.
        added: Files that the repository did not have.
        changed: Files that it had with another content.
        deleted: Files that it had and that are gone.
        texts: For a push of results, what its files hold.
        tag: Tag that now names this commit: the version of the rows. None if it did already, or for what has none.
        changes: What differs from the version that was there, in words, by configuration and version.

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
    tag: str | None = None
    changes: tuple[str, ...] = ()

    @property
    def is_change(self) -> bool:
        """Whether anything is added, changed, deleted or tagged."""
        return self.has_files or self.tag is not None

    @property
    def has_files(self) -> bool:
        """Whether a file is added, changed or deleted."""
        return bool(self.added or self.changed or self.deleted)


def upload(
    folder: Path,
    to: str,
    *,
    repo_type: RepoType,
    message: str,
    private: bool = False,
    revision: str | None = None,
    pull_request: bool = False,
    delete: Sequence[str] = (),
    space_sdk: str | None = None,
    dry_run: bool = False,
    fitted: Callable[[RemoteRepository], Mapping[str, bytes]] | None = None,
    known_by: str | None = None,
    overwrite: bool = False,
    tag: str | None = None,
) -> Pushed:
    """Makes a repository hold the files of a folder: one commit for all of them, none where it holds them already.

    Files of others stay. If the branch moves, the connection breaks or the Hub fails on the way, the state is read anew
    and the rest is tried again, five times in all; large files that are there are not sent again, in this push or the
    next.

    Args:
        folder: Folder to upload, without what git, Python and drafts leave there.
        to: user/name; it is made where it is not there yet.
        repo_type: Type of the repository.
        message: Message of the commit.
        private: Make the repository private.
        revision: A branch, made from main where it is not there; None is main.
        pull_request: Open a pull request, and leave the branch as it is.
        delete: Patterns of paths as of a shell ("ce_car/*"): what of the repository fits and the folder lacks goes.
        space_sdk: For a Space: "static", "gradio", "docker".
        dry_run: Only say what would change; needs no token where the repository is public or not there.
        fitted: Gives files by path whose content follows from what is there, such as a card of several configs; asked
            again where the branch moved.
        known_by: A file that tells a repository of this kind; where it is missing, nothing that is there is replaced.
        overwrite: Replace it all the same.
        tag: Tag for the commit, the version of what `delete` names. A tag that is there moves as long as it loses none
            of these files; else it stays, with a warning.

    Raises:
        OochubError: No token, a name that is none, an empty folder, a repository of something else, a public one where
            a private one is asked for; the Hub refuses or cannot be reached.
    """
    client = open_client(to, dry_run=dry_run)
    files = _list_files(folder)
    if not files and fitted is None:
        raise OochubError(f"{folder} contains no files to push. Pass the folder that was built or trained.")
    if pull_request and revision not in (None, "main"):
        raise OochubError(f"A pull request goes to main, but revision is {revision!r}. Pass one of them.")
    sent: Pushed | None = None  # by a try whose answer was lost
    for number in range(1, _TRIES + 1):
        try:
            with _limit_silence():
                remote = RemoteRepository.read(client, to, repo_type=repo_type, revision=revision)
                contents = files | dict(fitted(remote) if fitted else {})
                planned = _plan(remote, contents, delete, _make_address(client, remote, revision))
                _check(
                    remote,
                    planned,
                    private=private,
                    pull_request=pull_request,
                    known_by=known_by,
                    overwrite=overwrite,
                )
                tags = _read_tags(client, remote) if tag else {}
                if tag and _is_movable(client, remote, planned, tag, tags, delete):
                    planned = replace(planned, tag=tag)
                if dry_run:
                    return planned
                if not planned.is_change:
                    return replace(sent or planned, commit=remote.commit)
                with explain_refusals(to, token=client.token):
                    _prepare(client, remote, private=private, revision=revision, space_sdk=space_sdk)
                    done = replace(sent or planned, commit=remote.commit, tag=planned.tag)
                    if planned.has_files:
                        sent = planned
                        done = _commit_contents(client, remote, contents, planned, message, revision, pull_request)
                        sent = done
                    if planned.tag is not None:
                        _set_tag(client, remote, planned.tag, done.commit, is_there=planned.tag in tags)
                    return done
        except Refusal as error:
            if not error.is_passing or number == _TRIES or (pull_request and sent is not None):
                raise
            time.sleep(_WAIT * 2 ** (number - 1))
    raise AssertionError("every try returns or raises")


def _read_tags(client: Any, remote: RemoteRepository) -> dict[str, str]:
    """The commit of each tag."""
    if not remote.is_there:
        return {}
    with explain_refusals(remote.name, token=client.token):
        refs = client.list_repo_refs(remote.name, repo_type=remote.repo_type)
    return {str(tag.name): str(tag.target_commit) for tag in refs.tags}


def _is_movable(
    client: Any,
    remote: RemoteRepository,
    planned: Pushed,
    tag: str,
    tags: Mapping[str, str],
    data: Sequence[str],
) -> bool:
    """Whether a tag shall name the commit of this push: it is new, or loses none of the data files that it names."""
    if tag not in tags or (tags[tag] == remote.commit and not planned.has_files):
        return tag not in tags
    tagged = RemoteRepository.read(client, remote.name, repo_type=remote.repo_type, revision=tags[tag])
    gone = {*planned.deleted, *planned.changed}
    for path, file in tagged.files.items():
        if any(fnmatchcase(path, pattern) for pattern in data) and (path in gone or remote.files.get(path) != file):
            warnings.warn(
                f"The files of version {tag} differ from those that the tag {tag} of {remote.name} names, so the tag "
                "stays where it is. Give the new rows a version of their own, build and push again.",
                OochubWarning,
                stacklevel=4,
            )
            return False
    return True


def _set_tag(client: Any, remote: RemoteRepository, tag: str, commit: str | None, *, is_there: bool) -> None:
    if is_there:
        client.delete_tag(remote.name, tag=tag, repo_type=remote.repo_type)
    client.create_tag(remote.name, tag=tag, repo_type=remote.repo_type, revision=commit, exist_ok=True)


def _list_files(folder: Path) -> dict[str, Content]:
    if not folder.is_dir():
        raise OochubError(f"{folder} is not a folder. Pass the output folder of `oochub build` or `oochub train`.")
    files: dict[str, Content] = {}
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        is_left_out = any(part in _LEFT_OUT or (part[0] == "." and ".draft-" in part) for part in parts)
        if path.is_file() and not is_left_out and not (parts[-1][0] == "." and path.suffix == ".lock"):
            files["/".join(parts)] = path
    return files


def _plan(remote: RemoteRepository, contents: Mapping[str, Content], delete: Sequence[str], url: str) -> Pushed:
    differing = [path for path, content in contents.items() if not remote.holds(path, content)]
    sizes = {
        path: len(content) if isinstance(content, bytes) else content.stat().st_size
        for path, content in contents.items()
    }
    return Pushed(
        url=url,
        added={path: sizes[path] for path in differing if path not in remote.files},
        changed={path: sizes[path] for path in differing if path in remote.files},
        deleted={
            path: file.size
            for path, file in remote.files.items()
            if path not in contents and any(fnmatchcase(path, pattern) for pattern in delete)
        },
    )


def _check(
    remote: RemoteRepository,
    planned: Pushed,
    *,
    private: bool,
    pull_request: bool,
    known_by: str | None,
    overwrite: bool,
) -> None:
    if pull_request and not remote.is_there:
        raise OochubError(
            f"There is no {remote.repo_type} {remote.name} on the Hub that this token may read, so no pull request "
            "can be opened. Check the name."
        )
    if remote.is_there and private and not remote.is_private:
        raise OochubError(
            f"{remote.name} already exists, and is public. Make it private in its settings on the Hub, or remove "
            + choose_wording("private=True.", "--private.")
        )
    replaced = [path for path in (*planned.changed, *planned.deleted) if path != ".gitattributes"]
    if known_by is not None and known_by not in remote.files and replaced and not overwrite:
        shown = ", ".join(replaced[:3]) + (f" and {len(replaced) - 3} more" if len(replaced) > 3 else "")
        raise OochubError(
            f"{remote.name} was not created by oochub (no {known_by}), and {shown} would be overwritten. Choose "
            f"another name, or pass {choose_wording('overwrite=True', '--overwrite')} to replace them."
        )


def _prepare(client: Any, remote: RemoteRepository, *, private: bool, revision: str | None, **kind: Any) -> None:
    """Makes the repository and the branch where they are not there; neither shows anything yet."""
    if not remote.is_there:
        creation_options = {"private": private, "exist_ok": True} | {key: value for key, value in kind.items() if value}
        client.create_repo(remote.name, repo_type=remote.repo_type, **creation_options)
    if revision is not None and revision != "main" and not remote.has_revision:
        client.create_branch(remote.name, repo_type=remote.repo_type, branch=revision, exist_ok=True)


def _commit_contents(
    client: Any,
    remote: RemoteRepository,
    contents: Mapping[str, Content],
    planned: Pushed,
    message: str,
    revision: str | None,
    pull_request: bool,
) -> Pushed:
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete
    from huggingface_hub.utils import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    added = [*planned.added, *planned.changed]
    operations = [CommitOperationAdd(path_in_repo=path, path_or_fileobj=contents[path]) for path in added]
    operations += [CommitOperationDelete(path_in_repo=path, is_folder=False) for path in planned.deleted]
    is_quiet = sum([*planned.added.values(), *planned.changed.values()]) < _SLOW and not are_progress_bars_disabled()
    if is_quiet:
        disable_progress_bars()
    try:
        info = client.create_commit(
            remote.name,
            operations,
            commit_message=message,
            repo_type=remote.repo_type,
            revision=revision,
            create_pr=pull_request,
            parent_commit=remote.commit,
        )
    finally:
        if is_quiet:
            enable_progress_bars()
    url = info.pr_url if pull_request else planned.url
    opened = None if info.pr_url is None else hide_token(str(info.pr_url))
    return replace(planned, url=hide_token(str(url)), commit=hide_token(str(info.oid)), pull_request=opened)


def _make_address(client: Any, remote: RemoteRepository, revision: str | None) -> str:
    place = "" if remote.repo_type == "model" else f"{remote.repo_type}s/"
    return f"{hide_token(client.endpoint)}/{place}{remote.name}" + (f"/tree/{revision}" if revision else "")


@contextmanager
def _limit_silence() -> Iterator[None]:
    """Lets no connection be silent for ever, and no warning of the client name a signed address."""
    from huggingface_hub.utils import get_session, logging

    session, level = get_session(), logging.get_verbosity()
    before, session.timeout = session.timeout, _PATIENCE
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        session.timeout = before


_TOKEN = re.compile(r"[!-~]+")


def open_client(to: str, *, dry_run: bool = False) -> Any:
    """The client (`huggingface_hub.HfApi`); nothing is asked of the Hub yet.

    Args:
        to: The repository, user/name.
        dry_run: Nothing will be written, or the Hub is only read: no token is needed.

    Raises:
        OochubError: A name that is none, no token, or HF_HUB_OFFLINE is set.

    >>> open_client("nooch")
    Traceback (most recent call last):
    oochub.errors.OochubError: A repository on the Hub must be named user/name, got 'nooch'. Pass your name, or ...
    """
    from huggingface_hub import HfApi, get_token, is_offline_mode
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        if to.count("/") != 1:  # the client takes names without a user
            raise HFValidationError
        validate_repo_id(to)
    except HFValidationError:
        raise OochubError(
            f"A repository on the Hub must be named user/name, got {to!r}. Pass your name, or that of an "
            "organization, a slash, and a name of letters, digits, - , _ and dots."
        ) from None
    if is_offline_mode():
        raise OochubError("Cannot push: HF_HUB_OFFLINE is set. Unset it or set it to 0.")
    token = get_token()
    if token is None and not dry_run:
        rehearse = choose_wording("dry_run=True")
        raise OochubError(
            f"Not logged in to the Hub, so nothing can be pushed to {to}. Run `hf auth login`, or set HF_TOKEN to a "
            f"token with write access (https://huggingface.co/settings/tokens); {rehearse} needs no token."
        )
    if token is not None and not _TOKEN.fullmatch(token):
        raise OochubError(
            "The Hub token contains a space or another character that no token has. Run `hf auth login` again."
        )
    return HfApi(token=token if token is not None else False)
