"""Whether a name stands for a folder here or for something on the Hub: said at once, not after five requests.

A name on the Hub may say a revision, `user/name@v1`, unless a file or folder here has this name.
"""

import socket
from collections.abc import Iterable
from difflib import get_close_matches
from pathlib import Path
from typing import Literal, TypeVar

from oochub.errors import OochubError, choose_wording, unknown_name
from oochub.remote.guard import hide_token
from oochub.remote.hub_errors import ODD_ANSWERS, retry

Kind = Literal["model", "dataset"]
_Name = TypeVar("_Name")
_PLACES = {"model": "folder", "dataset": "file or folder"}
_PATIENCE = 10.0  # seconds for the one answer
_REFUSED = 401  # status
_FOUND: set[tuple[str, str | None, str, Kind]] = set()  # endpoint, token, name and kind


def check_source(name: str | Path, *, kind: Kind, hint: str, also: Iterable[str] = ()) -> None:
    """Checks that a folder, a copy in the Hub's cache or a repository on the Hub has this name.

    The Hub is asked once, and not at all where HF_HUB_OFFLINE is set or the name can only be a path: it begins with
    /, ./, ../ or ~, has more than one slash, or its first part is a folder here.

    Args:
        name: Name as typed.
        kind: What is looked for.
        hint: What to do where there is none.
        also: Names that it, or its part before a slash, might be meant for.

    Raises:
        OochubError: There is none, or the Hub could not be asked.

    >>> check_source("./runs/nope", kind="model", hint="Run `oochub train` to create one.")
    Traceback (most recent call last):
    oochub.errors.OochubError: No model at ./runs/nope: folder not found. Run `oochub train` to create one.
    """
    from huggingface_hub import get_token, is_offline_mode

    typed = str(name)
    try:
        if Path(typed).expanduser().exists():
            return
        bare, revision = split_revision(typed)
        if revision is not None and Path(bare).exists():
            raise OochubError(f"{bare} is a {_PLACES[kind]} here, which has no revisions. Remove @{revision}.")
        first, slash, rest = typed.partition("/")
        meant_first = [f"{name}{slash}{rest}" for name in get_close_matches(first, also)]
        near = [*meant_first, *get_close_matches(typed, _list_near_folders(typed))][:2]
    except (OSError, ValueError, RuntimeError) as error:  # a loop of links, a null character, an unknown home
        raise OochubError(f"No {kind} at {typed!r}: {error}. {hint}") from None
    here = f"No {kind} at {typed}: {_PLACES[kind]} not found"
    meant = f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    if _is_path(bare):
        raise OochubError(f"{here}.{meant} {hint}")
    if _is_cached(bare, revision, kind):
        return
    if is_offline_mode():
        raise OochubError(f"{here}, and {typed} is not in the Hub cache (HF_HUB_OFFLINE is set).{meant} {hint}")
    if not _is_on_hub(typed, kind):
        alone = "" if get_token() else " If it is private, run `hf auth login` or set HF_TOKEN first."
        raise OochubError(
            f"{here}, and there is no {kind} {bare} on the Hub that you have access to.{alone}{meant} {hint}"
        )


def split_revision(name: str | Path) -> tuple[str, str | None]:
    """A name on the Hub and the revision that follows it; None without one, and for what exists here.

    Args:
        name: A path, or `user/name@REVISION` with a commit, tag, branch or refs/pr/N.

    >>> split_revision("user/dogs@refs/pr/1"), split_revision("user/dogs"), split_revision("./dogs@home")
    (('user/dogs', 'refs/pr/1'), ('user/dogs', None), ('./dogs@home', None))
    """
    typed = str(name)
    bare, _, revision = typed.partition("@")
    if not (bare and revision) or _is_path(bare) or Path(typed).exists():
        return typed, None
    return bare, revision


def name_revision(name: _Name, revision: str | None) -> _Name | str:
    """What was given, with the revision of an option: `user/name@REVISION`; without a revision as it is.

    Args:
        name: A path, an id on the Hub, or an object.
        revision: A commit, tag, branch or refs/pr/N.

    Raises:
        OochubError: A revision of what is not on the Hub, or another one than the name's own.

    >>> name_revision("user/dogs", "v1")
    'user/dogs@v1'
    """
    if revision is None:
        return name
    option = choose_wording("revision=")
    bare, own = (
        split_revision(name)
        if isinstance(name, str | Path)
        else ("no name" if name is None else f"a {type(name).__name__}", None)
    )
    if not isinstance(name, str | Path) or _is_path(bare) or Path(bare).exists():
        raise OochubError(f"{option} selects a revision of a repository on the Hub, got {bare}. Remove {option}.")
    if own not in (None, revision):
        raise OochubError(f"{name} names the revision {own}, but {option} is {revision}. Pass one of them.")
    return f"{bare}@{revision}"


def _is_path(name: str) -> bool:
    first, _, rest = name.partition("/")
    return name.startswith(("/", "./", "../", "~", ".")) or "/" in rest or (bool(rest) and Path(first).is_dir())


def _list_near_folders(name: str) -> list[str]:
    """The folders that stand where the name would."""
    folder = Path(name).expanduser().parent
    inside = sorted(folder.iterdir()) if folder.is_dir() else []
    return [str(path) for path in inside if path.is_dir() and not path.name.startswith(".")]


def _is_cached(name: str, revision: str | None, kind: Kind) -> bool:
    from huggingface_hub.constants import HF_HUB_CACHE

    folder = Path(HF_HUB_CACHE, f"{kind}s--{name.replace('/', '--')}")
    if revision is None:
        return folder.is_dir()
    return (folder / "snapshots" / revision).is_dir() or (folder / "refs" / revision).is_file()


def _is_on_hub(name: str, kind: Kind) -> bool:
    """Asks once for what is there; what comes later does not ask again."""
    from huggingface_hub import constants, get_token

    question = (constants.ENDPOINT, get_token(), name, kind)
    if question not in _FOUND and _ask(name, kind):
        _FOUND.add(question)
    return question in _FOUND


def _ask(name: str, kind: Kind) -> bool:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError, RevisionNotFoundError

    bare, revision = split_revision(name)
    unreached: type[Exception] = HfHubHTTPError.__bases__[0]  # HTTPError of httpx or httpx2, as the version has it
    try:
        retry(lambda: HfApi().repo_info(bare, repo_type=kind, revision=revision, timeout=_PATIENCE))
    except RevisionNotFoundError:
        refs = retry(lambda: HfApi().list_repo_refs(bare, repo_type=kind))
        names = [ref.name for ref in (*refs.branches, *refs.tags)]
        hint = f"A revision of {bare} is also a commit, or refs/pr/N of a pull request."
        raise unknown_name("revision", str(revision), names, hint) from None
    except (RepositoryNotFoundError, HFValidationError):
        return False
    except OochubError:
        raise
    except (unreached, OSError, *ODD_ANSWERS) as error:
        here = f"No {kind} at {name}: {_PLACES[kind]} not found, and the Hub"
        if isinstance(error, HfHubHTTPError) and error.response.status_code == _REFUSED:
            reason = hide_token(error.server_message or "no reason given").rstrip(".")
            raise OochubError(
                f"{here} rejected your token ({reason}). Run `hf auth login` again or fix HF_TOKEN; public "
                "repositories need none."
            ) from None
        why = hide_token(str(error)).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise OochubError(
            f"{here} could not be reached ({why.rstrip('.')}). Check the name and the connection, and try again."
        ) from None  # the chain shows what the server sent
    return True


def check_reached(address: str | None) -> None:
    """Opens a connection to `host:port` and closes it; an address without a port is not tried.

    Ray itself waits for long where nobody listens, and then ends the process.

    Args:
        address: Such as "ray://10.0.0.1:10001"; None and "auto" name none.

    Raises:
        OSError: Nobody listens at the address.
        ValueError: The port of the address is no number.

    >>> check_reached("auto")
    """
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon:
        socket.create_connection((host, int(port)), timeout=10).close()
