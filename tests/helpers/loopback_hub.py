"""A small real Hub on 127.0.0.1: the endpoints that huggingface_hub, datasets, transformers and evaluate call.

It keeps what clients push in a folder, refuses as the Hub does, and fails on request. The fixture `hub` of conftest.py
gives one to a test; `python tests/helpers/loopback_hub.py --port 8000 --folder F` runs one for commands of the shell.
"""

import argparse
import random
import re
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, Literal, NamedTuple

from hub_answers import Account, Answer, Request
from hub_endpoints import Endpoints
from hub_repositories import Refused, Repository, Store

Lie = Callable[[Answer], Answer]
Fault = Literal["error", "cut", "hang"]
_ACCOUNTS = {
    "hf_writerofloopback": Account("user", writes=True),
    "hf_readerofloopback": Account("user", writes=False),
    "hf_strangerofloopback": Account("stranger", writes=True),
}
_CHUNK = 2**16


class Seen(NamedTuple):
    """A request that was answered: its method, its path with the query, its status (0 where it was cut or hung)."""

    method: str
    path: str
    status: int


@dataclass
class Pause:
    """Where requests wait; `wait` returns when the first has come, `release` lets all go on."""

    pattern: str
    after: bool
    _reached: threading.Event = field(default_factory=threading.Event)
    _released: threading.Event = field(default_factory=threading.Event)

    def wait(self, seconds: float = 60.0) -> None:
        """Waits for the first request that matches."""
        assert self._reached.wait(seconds), f"no request matched {self.pattern}"

    def release(self) -> None:
        """Lets the requests go on."""
        self._released.set()

    def hold(self, request: str, *, after: bool) -> None:
        """Holds a request that matches."""
        if after is self.after and re.search(self.pattern, request):
            self._reached.set()
            self._released.wait()


@dataclass
class _Faults:
    rate: float
    kinds: tuple[Fault, ...]
    chance: random.Random
    lock: threading.Lock = field(default_factory=threading.Lock)

    def draw(self) -> Fault | None:
        with self.lock:
            return self.chance.choice(self.kinds) if self.chance.random() < self.rate else None


class LoopbackHub:
    """A Hub that answers on a port of 127.0.0.1 from threads of this process until `close`.

    Args:
        folder: Where it keeps its state; what an earlier one kept there is there again.
        port: To listen on; 0 for a free one.
    """

    token, read_token, stranger_token = _ACCOUNTS
    hang = 1.5  # seconds that a hanging request waits before its connection is cut

    def __init__(self, folder: Path, port: int = 0) -> None:
        self.store = Store(folder)
        self.endpoints = Endpoints(self.store)
        self.requests: list[Seen] = []
        self.pauses: list[Pause] = []
        self.lies: list[tuple[str, Lie]] = []
        self.env: dict[str, str] = {}  # for child processes; filled by the fixture
        self._faults: _Faults | None = None
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.hub = self
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self) -> None:
        """Stops it."""
        for pause in self.pauses:
            pause.release()
        self._server.shutdown()
        self._server.server_close()

    def faults(self, rate: float = 0.2, seed: int = 1, kinds: tuple[Fault, ...] = ("error", "cut", "hang")) -> None:
        """Lets a share of the requests from now on fail: 0.0 for none.

        "error" answers 500 and does nothing, "cut" does what was asked and cuts the connection in the middle of the
        answer, "hang" does nothing, says nothing for `hang` seconds (a client may have a shorter timeout), and cuts.
        """
        self._faults = _Faults(rate, kinds, random.Random(seed)) if rate else None

    @contextmanager
    def pause_at(self, pattern: str, *, after: bool = False) -> Iterator[Pause]:
        """Lets requests wait whose "METHOD /path?query" matches, before or after they are carried out."""
        pause = Pause(pattern, after)
        self.pauses.append(pause)
        try:
            yield pause
        finally:
            self.pauses.remove(pause)
            pause.release()

    @contextmanager
    def lying_at(self, pattern: str, lie: Lie) -> Iterator[None]:
        """Gives what `lie` makes of the answers to requests whose "METHOD /path?query" matches."""
        self.lies.append((pattern, lie))
        try:
            yield
        finally:
            self.lies.remove((pattern, lie))

    def repository(self, path: str) -> Repository:
        """A repository by its path: user/model, datasets/user/data, spaces/user/metric."""
        return self.store.repositories[path]

    def files(self, path: str, revision: str = "main") -> list[str]:
        """The files of a repository."""
        return sorted(self.repository(path).at(revision).files)

    def content(self, path: str, file: str, revision: str = "main") -> bytes:
        """What a file of a repository holds."""
        return self.store.blob(self.repository(path).file(revision, file).sha256).read_bytes()

    def answer(self, method: str, target: str, headers: Mapping[str, str], body: IO[bytes]) -> Answer:
        """The answer to a request."""
        given = headers.get("authorization", "").removeprefix("Bearer ")
        signed = target.startswith("/lfs/")
        try:
            if given and given not in _ACCOUNTS and not signed:
                raise Refused(401, "Invalid credentials in Authorization header")
            request = Request.of(method, target, headers, body, self.endpoint, _ACCOUNTS.get(given))
            if signed:  # blobs are large, and only their names are shared
                return self.endpoints.answer(request)
            with self.store.lock:
                return self.endpoints.answer(request)
        except Refused as refused:
            return Answer.refusing(refused)

    def fault(self) -> Fault | None:
        """What shall go wrong with the next request."""
        return self._faults.draw() if self._faults else None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64
    hub: LoopbackHub

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no error of the server."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def _handle(self) -> None:
        hub, asked = self.server.hub, f"{self.command} {self.path}"
        with tempfile.SpooledTemporaryFile(2**20) as body:
            self._take_body(body)
            body.seek(0)
            for pause in list(hub.pauses):
                pause.hold(asked, after=False)
            fault = hub.fault()
            if fault == "hang":
                hub.requests.append(Seen(self.command, self.path, 0))
                time.sleep(hub.hang)
                self.close_connection = True
                return
            refused = Answer.of({"error": "Internal error, on request"}, 500)
            answer = (
                refused
                if fault == "error"
                else hub.answer(
                    self.command, self.path, {name.lower(): value for name, value in self.headers.items()}, body
                )
            )
        for pattern, lie in list(hub.lies):
            answer = lie(answer) if re.search(pattern, asked) else answer
        for pause in list(hub.pauses):
            pause.hold(asked, after=True)
        hub.requests.append(Seen(self.command, self.path, 0 if fault == "cut" else answer.status))
        self._send(answer, cut=fault == "cut")

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = _handle

    def _take_body(self, body: IO[bytes]) -> None:
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().split(b";")[0], 16):
                self._take(size, body)
                self.rfile.readline()
            self.rfile.readline()
        else:
            self._take(int(self.headers.get("Content-Length") or 0), body)

    def _take(self, size: int, body: IO[bytes]) -> None:
        while size:
            chunk = self.rfile.read(min(size, _CHUNK))
            if not chunk:
                raise ConnectionError("the client went away in the middle of its request")
            size -= body.write(chunk)

    def _send(self, answer: Answer, *, cut: bool) -> None:
        start, stop = answer.span if isinstance(answer.body, Path) else (0, len(answer.body))
        if cut and (self.command == "HEAD" or stop - start < 2):
            return self._cut()
        self.send_response(answer.status)
        for name, value in {"X-Request-Id": "loopback", **answer.headers}.items():
            self.send_header(name, value)
        announced = stop - start if answer.announced is None else answer.announced
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        if self.command == "HEAD":
            return None
        left = (stop - start) // 2 if cut else stop - start
        if answer.drip:
            return self._drip(answer)
        if isinstance(answer.body, bytes):
            self.wfile.write(answer.body[:left])
        else:
            with answer.body.open("rb") as file:
                file.seek(start)
                while left:
                    left -= self.wfile.write(file.read(min(left, _CHUNK)))
        return self._cut() if cut or announced > stop - start else None

    def _drip(self, answer: Answer) -> None:
        for byte in answer.content:
            self.wfile.write(bytes([byte]))
            self.wfile.flush()
            time.sleep(answer.drip)

    def _cut(self) -> None:
        self.wfile.flush()
        self.close_connection = True
        self.connection.shutdown(socket.SHUT_RDWR)

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing; `LoopbackHub.requests` lists them."""


def child_environment(hub: LoopbackHub, home: Path) -> dict[str, str]:
    """What a process needs in its environment to take this Hub for the Hub, with caches of its own."""
    return {
        "HF_ENDPOINT": hub.endpoint,
        "HF_TOKEN": hub.token,
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_DATASETS_CACHE": str(home / "datasets"),
        "HF_HUB_DISABLE_XET": "1",
        "HF_HUB_DISABLE_TELEMETRY": "1",
        "HF_HUB_OFFLINE": "0",
        "HF_HUB_DOWNLOAD_TIMEOUT": "30",
        "HF_HUB_ETAG_TIMEOUT": "30",
    }


def _main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--folder", type=Path, required=True, help="where its state is kept")
    options = parser.parse_args()
    hub = LoopbackHub(options.folder, options.port)
    for name, value in child_environment(hub, options.folder / "home").items():
        _say(f"export {name}={value}")
    _say(f"# HF_TOKEN={hub.read_token} may only read, {hub.stranger_token} is another user's; Ctrl-C stops")
    seen = 0
    try:
        while True:
            time.sleep(0.2)
            for one in hub.requests[seen:]:
                _say(" ".join(map(str, one)))
                seen += 1
    except KeyboardInterrupt:
        hub.close()


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _main()
