"""A request to a loopback Hub and its answer."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from urllib.parse import parse_qs, urlsplit

from hub_repositories import Refused


@dataclass(frozen=True)
class Account:
    """Whose a token is, and whether it may write."""

    name: str
    writes: bool


@dataclass(frozen=True)
class Request:
    """What a client sent to the Hub at `endpoint`; `path` is still quoted, names of headers are in small letters."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]
    body: IO[bytes]
    endpoint: str
    account: Account | None

    @classmethod
    def of(
        cls,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: IO[bytes],
        endpoint: str,
        account: Account | None,
    ) -> "Request":
        """A request for a target: a path and a query."""
        parts = urlsplit(target)
        return cls(method, parts.path, parse_qs(parts.query), headers, body, endpoint, account)

    @property
    def author(self) -> str:
        """Who asks."""
        return self.account.name if self.account else "anonymous"

    def json(self) -> Any:
        """What the body holds as JSON."""
        return json.load(self.body)

    def one(self, name: str, default: str = "") -> str:
        """A parameter of the query."""
        return self.query.get(name, [default])[0]

    def flag(self, name: str) -> bool:
        """Whether a parameter of the query is true."""
        return self.one(name).lower() in ("1", "true")


@dataclass(frozen=True)
class Answer:
    """A status, headers and a body: bytes, or a part of a file, `span` from one byte to another.

    A hostile one announces another length than its body has, or comes a byte at a time, `drip` seconds after each.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes | Path = b""
    span: tuple[int, int] = (0, 0)
    announced: int | None = None
    drip: float = 0.0

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return self.body if isinstance(self.body, bytes) else self.body.read_bytes()[slice(*self.span)]

    @classmethod
    def of(cls, content: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> "Answer":
        """An answer in JSON."""
        return cls(status, {"Content-Type": "application/json", **(headers or {})}, json.dumps(content).encode())

    @classmethod
    def refusing(cls, refused: Refused) -> "Answer":
        """A refusal as the Hub words it: in the body and in two headers."""
        told = {"X-Error-Message": refused.message, **({"X-Error-Code": refused.code} if refused.code else {})}
        return cls.of({"error": refused.message}, refused.status, {**told, **refused.headers})
