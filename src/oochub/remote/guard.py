"""A look at what a server that is taken for the Hub asks of its clients: where the token goes, how long it lasts.

Texts of a server, or of addresses that the user set, are shown without what must not be shown (`hide_token`).
"""

import math
import re
import time
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlsplit

from oochub.errors import OochubError

_NAMES = ("etag", "x-linked-etag", "x-repo-commit")  # the client names files and folders of its cache by them
_NAME = re.compile(r'(W/)?"?(?!\.\.?"?$)[^/\\"\x00-\x1f]{1,200}"?')
_WAITS = ("retry-after", "ratelimit")
_LONGEST_WAIT = 60  # seconds
_PATIENCE = 60.0  # seconds of silence; after them a file has to come at the pace below
_PACE = 1000  # bytes a second
_PAGES = 10_000  # of one list
_LARGEST_ANSWER = 10**8  # bytes that are held in memory; the facts of 100,000 files are 20 MB
_LARGEST_UNNAMED = 10**9  # bytes of a file whose length the server does not say
_PACKED = ("gzip", "deflate")
_active: list[None] = []  # one for each block, of whatever thread: the clients work in threads of their own


@contextmanager
def guard_clients() -> Iterator[None]:
    """A block in which the Hub's clients send the token to the Hub alone, and nothing that it says lasts for ever.

    The token goes to HF_ENDPOINT and huggingface.co, whatever address a list of files goes on at. Files of the cache
    get no name that leads out of it. A connection is silent for a minute at most, a list has 10,000 pages at most, an
    answer that is no file has 100 MB at most, a file comes at a kilobyte a second at least after the first minute, and
    a request to wait for hours is not followed.

    Raises:
        OochubError: The server asked for something else.

    >>> with guard_clients():
    ...     pass
    """
    from huggingface_hub import set_client_factory
    from huggingface_hub.utils import _http

    factory = getattr(_http, "_GLOBAL_CLIENT_FACTORY", _http.default_client_factory)
    if not isinstance(factory, _Guarding):
        set_client_factory(_Guarding(factory))
    _active.append(None)
    try:
        yield
    finally:
        _active.pop()


class _Guarding:
    """Makes the clients that another factory makes, guarded."""

    def __init__(self, factory: Any) -> None:
        self._factory = factory

    def __call__(self) -> Any:
        client, pages = self._factory(), Counter[str]()

        def look_at_answer(response: Any) -> None:
            if _active:
                _check_answer(response, pages)

        hooks = client.event_hooks
        request_hooks, answered = [_check_request, *hooks["request"]], [*hooks["response"], look_at_answer]
        client.event_hooks = {"request": request_hooks, "response": answered}
        return client


def _check_request(request: Any) -> None:
    if not _active:
        return
    from huggingface_hub import constants, get_token

    if (token := get_token()) and token in str(request.url):  # its client would write it into a log
        raise OochubError(
            f"The server at {_hide_login(constants.ENDPOINT)} puts the Hub token into an address, so no request was "
            "sent there. Check HF_ENDPOINT."
        )
    own = {_parse_origin(address) for address in (constants.ENDPOINT, "https://huggingface.co", "https://hf.co")}
    if "authorization" in request.headers and _parse_origin(str(request.url)) not in own:
        raise OochubError(
            f"The server at {_hide_login(constants.ENDPOINT)} asks to send the Hub token to "
            f"{_hide_login(str(request.url))}, so no request was sent there. Check HF_ENDPOINT; public repositories "
            "need no token."
        )
    if "identity" not in request.headers.get("accept-encoding", ""):
        request.headers["accept-encoding"] = ", ".join(_PACKED)  # what is unpacked to a bound
    limits = request.extensions.get("timeout") or {}
    allowed = {name: _PATIENCE if limits.get(name) is None else limits[name] for name in ("connect", "read", "write")}
    request.extensions = {**request.extensions, "timeout": {"pool": None, **limits, **allowed}}


def _check_answer(response: Any, pages: Counter[str]) -> None:
    for name, value in response.headers.multi_items():  # its client prints warnings and addresses of headers
        if hide_token(value) != value:
            response.headers[name] = hide_token(value)
    for name in _NAMES:
        value = response.headers.get(name)
        if value is not None and not _NAME.fullmatch(value):
            raise OochubError(
                f"The server at {_hide_login(str(response.url))} names a file or a commit {value[:60]!r} ({name}), "
                "which leads out of the cache. Nothing was written; check HF_ENDPOINT and the name."
            )
    for name in _WAITS:
        if any(int(number) > _LONGEST_WAIT for number in re.findall(r"\d{1,18}", response.headers.get(name, ""))):
            del response.headers[name]
    path = response.url.path
    pages[path] = pages[path] + 1 if "next" in response.links else 0
    if pages[path] > _PAGES:
        raise OochubError(
            f"The list at {_hide_login(str(response.url))}{path} has no end: {_PAGES:,} pages came. Check the name."
        )
    response.stream = _bound_body(response)


def _bound_body(response: Any) -> Any:
    """The body as it comes; slower than any connection it is an error that passes, and without end it is one.

    What is no file is held in memory, so it is unpacked here, to a bound.
    """
    library = import_module(type(response).__module__.partition(".")[0])  # httpx or httpx2, as the version has it
    stream, url = response.stream, response.url
    is_file = response.status_code < 300 and "/api/" not in url.path
    largest: float = _LARGEST_UNNAMED if is_file else _LARGEST_ANSWER
    largest = math.inf if is_file and "content-length" in response.headers else largest
    unpacker = None
    if not is_file and response.headers.get("content-encoding") in _PACKED:
        del response.headers["content-encoding"]
        unpacker = zlib.decompressobj(zlib.MAX_WBITS | 32)  # whose head says which of the two it is

    class Bounded(library.SyncByteStream):  # type: ignore[misc, name-defined]
        def __iter__(self) -> Iterator[bytes]:
            begun, size, received = time.monotonic(), 0, 0
            for chunk in stream:
                size += len(chunk)
                part = chunk if unpacker is None else _unpack(unpacker, chunk, library)
                received += len(part)
                if received > largest:
                    raise OochubError(
                        f"The answer of {_hide_login(str(url))}{url.path} has no end: more than {largest:,.0f} bytes "
                        "came. Check HF_ENDPOINT and the name."
                    )
                yield part
                taken = time.monotonic() - begun
                if taken > _PATIENCE and size < _PACE * taken:
                    raise library.ReadTimeout(f"{size:,} bytes arrived in {taken:.0f} seconds")

        def close(self) -> None:
            stream.close()

    return Bounded()


def _unpack(unpacker: "zlib._Decompress", chunk: bytes, library: ModuleType) -> bytes:
    """What a part of a packed body holds; a byte more than an answer may have is enough to refuse it."""
    try:
        part: bytes = unpacker.decompress(chunk, _LARGEST_ANSWER + 1)
    except zlib.error as error:
        raise library.DecodingError(str(error)) from error
    return part


def _parse_origin(url: str) -> tuple[str, str, int | None]:
    try:
        parts = urlsplit(url)
        return parts.scheme, (parts.hostname or "").lower(), parts.port or {"https": 443, "http": 80}.get(parts.scheme)
    except ValueError:
        return "", url, None


def _hide_login(url: str) -> str:
    """The server of an address, without what may stand before its name."""
    scheme, host, port = _parse_origin(url)
    return f"{scheme}://{host}:{port}"


_LOGIN = re.compile(r"(?<=://)[^/?#\s@]*@")


def hide_token(text: str, token: str | None = None) -> str:
    """A text without the token of the Hub and without the login in its addresses.

    Args:
        text: Such as what a server answered, or HF_ENDPOINT.
        token: Another one that must not be shown.

    >>> hide_token("https://user:hf_secret@hub.example/user/data")
    'https://hub.example/user/data'
    """
    from huggingface_hub import get_token

    for secret in filter(None, (token, get_token())):
        for form in (secret, quote(secret, safe="")):
            text = text.replace(form, "[token]")
    return _LOGIN.sub("", text)
