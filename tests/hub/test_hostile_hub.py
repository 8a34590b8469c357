"""A server that is taken for the Hub and lies: what reads from it ends right or in words, writes nothing elsewhere."""

import gzip
import http.server
import json
import logging
import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path

import datasets
import huggingface_hub
import pytest
from hub_answers import Answer
from huggingface_hub import HfApi, HfFileSystem
from huggingface_hub.utils import _http
from loopback_hub import _ACCOUNTS
from model_folders import resnet

import oochub
from oochub.builders.sources import sentence_embeddings
from oochub.errors import OochubError
from oochub.hub.leaderboard_repository import fetch_results
from oochub.hub.upload import upload
from oochub.remote import check_source, guard, remote_repository

_INFO, _TREE = r"GET /api/[a-z]+/user/[a-z]+(/revision|\?|$)", "GET /api/.*/tree/"
_FILE, _BODY = "(GET|HEAD) .*/resolve/", "GET .*/resolve/"
_HTML = b"<html>Sign in</html>"


def _body(content, status=200):
    return lambda answer: replace(answer, status=status, body=content, span=(0, len(content)))


def _fields(**given):
    return lambda answer: _body(json.dumps({**json.loads(answer.content), **given}).encode())(answer)


def _entries(change):
    def lie(answer):
        told = json.loads(answer.content)
        return _body(json.dumps(change(told)).encode())(answer) if isinstance(told, list) else answer

    return lie


def _named(name):
    """One more file, in lists of either kind."""

    def lie(answer):
        told = json.loads(answer.content)
        if isinstance(told, list):
            told.append({"type": "file", "path": name, "oid": "0" * 40, "size": 3})
        elif "siblings" in told:
            told["siblings"].append({"rfilename": name})
        return _body(json.dumps(told).encode())(answer)

    return lie


def _headers(**given):
    named = {name.replace("_", "-"): value for name, value in given.items()}
    return lambda answer: replace(answer, headers={**answer.headers, **named})


def _without(word):
    return lambda answer: replace(answer, headers={k: v for k, v in answer.headers.items() if word not in k})


def _sent_to(address):
    return lambda answer: Answer(302, {**answer.headers, "Location": address})


def _other_bytes(answer):
    return _body(b"x" * len(answer.content))(answer) if len(answer.content) > 1500 else answer


LIES = {
    "a page for a fact": (_INFO, _body(_HTML)),
    "a list for a fact": (_INFO, _body(b"[]")),
    "nothing for a fact": (_INFO, _body(b"")),
    "a fact without end": (_INFO, _body(b"[" * 100_000)),
    "no commit": (_INFO, _fields(sha=None)),
    "a commit that is a path": (_INFO, _fields(sha="../../../../escaped")),
    "a commit that is a number": (_INFO, _fields(sha=5)),
    "facts of other types": (_INFO, _fields(siblings=7, cardData=[1], tags={}, lastModified="x")),
    "a page for a list": (_TREE, _body(_HTML)),
    "a fact for a list": (_TREE, _body(b'{"a": 1}')),
    "files without a name": (_TREE, _entries(lambda told: [{"type": "file"} for _ in told])),
    "files of a petabyte": (_TREE, _entries(lambda told: [{**one, "size": 10**15} for one in told])),
    "sizes that are texts": (_TREE, _entries(lambda told: [{**one, "size": "many", "lfs": "x"} for one in told])),
    "sizes below 0": (_TREE, _entries(lambda told: [{**one, "size": -5} for one in told])),
    "a file above": ("GET /api/", _named("../entry.json")),
    "a file far above": ("GET /api/", _named("a/../../../../../../escaped/entry.json")),
    "a file from the root": ("GET /api/", _named("/tmp/escaped/entry.json")),  # noqa: S108
    "a file with backslashes": ("GET /api/", _named("..\\..\\escaped\\entry.json")),
    "a file with a null": ("GET /api/", _named("a\0b/entry.json")),
    "a long file": ("GET /api/", _named("y" * 5000 + "/entry.json")),
    "a file in other letters": ("GET /api/", _named("E/ENTRY.JSON")),
    "a file below a file": ("GET /api/", _named("e/p.parquet/x")),
    "a file that is a number": ("GET /api/", _named(5)),
    "a longer length": (_BODY, lambda answer: replace(answer, announced=len(answer.content) + 1000)),
    "a shorter length": (_BODY, lambda answer: replace(answer, announced=max(len(answer.content) // 2, 1))),
    "ten terabytes": ("HEAD .*/resolve/", lambda answer: replace(answer, announced=10**13)),
    "three bytes": ("HEAD .*/resolve/", lambda answer: replace(answer, announced=3)),
    "an etag above": (_FILE, _headers(ETag='"../../../../../escaped"')),
    "an etag from the root": (_FILE, _headers(ETag='"/tmp/escaped"', X_Linked_ETag='"/tmp/escaped"')),
    "a long etag": (_FILE, _headers(ETag='"' + "e" * 5000 + '"')),
    "no etag": (_FILE, _without("ETag")),
    "a file's commit above": (_FILE, _headers(X_Repo_Commit="../../../../escaped")),
    "another commit": (_FILE, _headers(X_Repo_Commit="b" * 40)),
    "no file's commit": (_FILE, _without("Commit")),
    "another linked size": (_FILE, _headers(X_Linked_Size="99999999")),
    "a linked size that is text": (_FILE, _headers(X_Linked_Size="many")),
    "other bytes": ("GET .*/resolve/.*(parquet|safetensors)", _other_bytes),
    "a page for a file": (_BODY, _body(_HTML)),
    "a file of here": (_FILE, _sent_to("file:///etc/passwd")),
    "no address": (_FILE, _sent_to("http://[::")),
    "round in a circle": (_FILE, lambda answer: _sent_to("/user/model/resolve/main/config.json")(answer)),
    "facts round in a circle": ("GET /api/", _sent_to("/api/models/user/model")),
    "always 500": ("(GET|HEAD) ", lambda _: Answer.of({"error": "x"}, 500)),
    "wait for eleven days": (_FILE, lambda _: Answer.of({"error": "x"}, 429, {"Retry-After": "1000000"})),
    "a limit for eleven days": (_FILE, lambda _: Answer.of({}, 429, {"ratelimit": '"api";r=0;t=1000000'})),
    "a page of refusal": (_FILE, _body(_HTML, 403)),
    "no such status": (_FILE, _body(_HTML, 999)),
    "no content": (_BODY, lambda answer: Answer(204, answer.headers)),
    "no gzip": ("GET ", _headers(Content_Encoding="gzip")),
    "a large header": (_BODY, _headers(X_A="a" * 200_000)),
}

READERS = {
    "data": lambda _: oochub.load("user/data"),
    "model": lambda _: remote_repository.fetch_model_folder("user/model"),
    "encoder": lambda _: sentence_embeddings._download_encoder("user/model"),
    "results": lambda _: fetch_results("user/results"),
    "push": lambda folder: upload(
        folder,
        "user/data",
        repo_type="dataset",
        message="m",
        delete=["*"],
        known_by="README.md",
        fitted=lambda remote: {"README.md": (remote.text("README.md") or "").encode() + b" "},
    ),
}

TRIED = [name if name == "model" else pytest.param(name, marks=pytest.mark.slow) for name in READERS]


@pytest.fixture
def hostile(hub, tmp_path, monkeypatch):
    """The Hub with a data set, a model and results; clients wait for a hundredth of a second, lists have 20 pages."""
    for folder, kind in (("data", "dataset"), ("model", "model"), ("results", "dataset")):
        (tmp_path / folder).mkdir()
        HfApi().create_repo(f"user/{folder}", repo_type=kind)
    rows = datasets.Dataset.from_dict({"text": ["a" * 2000, "b", "c", "d"] * 50, "label": ["x", "y"] * 100})
    rows.to_parquet(tmp_path / "data" / "train.parquet")
    (tmp_path / "data" / "README.md").write_text("---\nlicense: mit\n---\nwords" + "." * 1000)
    resnet(tmp_path / "model", classes=4)
    (tmp_path / "results" / "e").mkdir()
    for name in ("entry.json", "report.json", "p.parquet"):
        (tmp_path / "results" / "e" / name).write_bytes(b"{}" * 1000)
    for folder, kind in (("data", "dataset"), ("model", "model"), ("results", "dataset")):
        HfApi().upload_folder(folder_path=tmp_path / folder, repo_id=f"user/{folder}", repo_type=kind)
    real = time.sleep
    monkeypatch.setattr(time, "sleep", lambda seconds: real(seconds if seconds > 100 else min(seconds, 0.01)))
    monkeypatch.setattr(guard, "_PAGES", 20)
    return hub


def _forgotten(home):
    """As in a new process with an empty cache."""
    import shutil

    shutil.rmtree(home, ignore_errors=True)
    remote_repository._fetch_once.cache_clear()
    check_source._FOUND.clear()
    HfFileSystem.clear_instance_cache()


def _files(folder):
    return {path for path in folder.rglob("*") if not path.is_relative_to(folder / "hub")}


@pytest.mark.slow
@pytest.mark.parametrize("reader", TRIED)
def test_every_lie_ends_right_or_in_words(hostile, tmp_path, monkeypatch, reader):
    """And writes nothing outside the cache, where an etag names its files; planted: `guard_clients` without its look.

    Before, 21 of these were tracebacks or without end, and an etag wrote a file wherever the server liked.
    """
    home, read, ended = tmp_path / "home", READERS[reader], {}
    before = _files(tmp_path)
    for name, (pattern, lie) in LIES.items():
        _forgotten(home)
        with hostile.lying_at(pattern, lie):
            try:
                read(tmp_path / "data")
                ended[name] = "right"
            except OochubError as error:
                ended[name] = str(error)
        left = {path for path in _files(tmp_path) - before if not path.is_relative_to(home)}
        assert not left, name
        assert not [*Path("/tmp").glob("escaped*"), *tmp_path.parent.glob("escaped*")], name  # noqa: S108
    assert len(ended) == len(LIES) and any(end != "right" for end in ended.values())
    for name in ("an etag above", "an etag from the root", "a file's commit above"):
        assert "leads out of the cache" in ended[name] or reader == "push", name
    assert "corrupted" in ended["other bytes"] or reader in ("data", "push", "results")
    _forgotten(home)
    assert read(tmp_path / "data")


@pytest.fixture
def stranger():
    """Another server: what it was asked, and its address."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append({name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"[]" if self.command == "GET" else b"")

        do_HEAD = do_POST = do_PUT = do_GET

        def log_message(self, *_):
            """Says nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield asked, f"http://localhost:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("reader", TRIED)
def test_the_token_goes_to_no_other_server(hostile, stranger, tmp_path, reader):
    """By no redirect, no next page of a list and no address for an upload.

    The Hub's client sends it along with the next page to whatever server the header Link names: seen before.
    """
    asked, address = stranger
    wrong = {"href": f"{address}/upload"}
    batch = {"objects": [{"oid": "0" * 64, "size": 1, "actions": {"upload": wrong, "verify": wrong}}]}
    for pattern, lie in (
        (_TREE, _headers(Link=f'<{address}/next>; rel="next"')),
        (_TREE, _headers(Link=f'<{hostile.endpoint.replace("127.0.0.1", "127.0.0.2")}/next>; rel="next"')),
        (_FILE, _sent_to(f"{address}/stolen")),
        ("GET /api/", _sent_to(f"{address}/stolen")),
        ("POST .*/batch", lambda _: Answer.of(batch)),
    ):
        _forgotten(tmp_path / "home")
        (tmp_path / "data" / "more.parquet").write_bytes(str(len(asked)).encode() * 5000)
        with hostile.lying_at(pattern, lie):
            try:
                READERS[reader](tmp_path / "data")
            except OochubError:
                pass
    assert asked and not [headers for headers in asked if "authorization" in headers]
    assert not [headers for headers in asked if hostile.token in str(headers)]


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("reader", ["data", pytest.param("model", marks=pytest.mark.slow)])
def test_an_answer_without_end_is_read_to_a_bound(hostile, tmp_path, monkeypatch, reader, packed):
    """Facts of 3 MB where 1 MB is the bound, as they are or packed into 3 kB."""
    monkeypatch.setattr(guard, "_LARGEST_ANSWER", 10**6)
    content = b'{"id": "' + b"x" * 3_000_000

    def lie(answer):
        body = gzip.compress(content) if packed else content
        headers = {**answer.headers, **({"Content-Encoding": "gzip"} if packed else {})}
        return replace(_body(body)(answer), headers=headers)

    _forgotten(tmp_path / "home")
    with hostile.lying_at("GET /api/", lie), pytest.raises(OochubError, match=r"has no end: more than 1,000,000 bytes"):
        READERS[reader](tmp_path / "data")


def test_a_packed_answer_is_read(hostile, tmp_path):
    _forgotten(tmp_path / "home")

    def pack(answer):
        packed = gzip.compress(answer.content)
        return replace(_body(packed, answer.status)(answer), headers={**answer.headers, "Content-Encoding": "gzip"})

    with hostile.lying_at("GET /api/", pack):
        assert oochub.load("user/data")["train"].num_rows == 200


@pytest.mark.parametrize(
    "reader",
    [pytest.param(name, marks=pytest.mark.slow if name == "model" else pytest.mark.campaign) for name in READERS],
)
def test_nothing_lasts_for_ever(hostile, tmp_path, monkeypatch, reader):
    """Not a list whose next page is itself, not a file that comes byte by byte, not silence: each was without end."""
    monkeypatch.setattr(guard, "_PATIENCE", 0.3)
    monkeypatch.setattr(guard, "_PACE", 10**9)
    monkeypatch.setattr("oochub.remote.check_source._PATIENCE", 0.3)
    monkeypatch.setattr("oochub.hub.upload._PATIENCE", 0.3)
    monkeypatch.setattr("oochub.remote.remote_repository._PATIENCE", 0.3)
    for name in ("HF_HUB_DOWNLOAD_TIMEOUT", "HF_HUB_ETAG_TIMEOUT"):
        monkeypatch.setattr(huggingface_hub.constants, name, 0.3)
    own = f"{hostile.endpoint}/api/datasets/user/data/tree/main"
    for pattern, lie in (
        (_TREE, _headers(Link=f'<{own}>; rel="next"')),
        (_BODY, lambda answer: replace(answer, drip=0.002)),
        (_TREE, lambda answer: replace(answer, drip=0.02)),
    ):
        _forgotten(tmp_path / "home")
        with hostile.lying_at(pattern, lie):
            try:
                READERS[reader](tmp_path / "data")
            except OochubError as error:
                assert "seconds" in str(error) or "no end" in str(error) or "time" in str(error).lower()
    hostile.hang = 3.0
    hostile.faults(rate=1.0, kinds=("hang",))
    _forgotten(tmp_path / "home")
    with pytest.raises(OochubError, match=r"time|could not be"):
        READERS[reader](tmp_path / "data")


def test_the_clients_that_somebody_set_up_stay_in_use_and_are_free_outside(hub, monkeypatch):
    """A factory of the user's own, with its proxies, is asked; what others ask outside the block is not looked at."""
    made = []

    def own():
        made.append(_http.default_client_factory())
        return made[-1]

    monkeypatch.setattr(_http, "_GLOBAL_CLIENT_FACTORY", own)
    _http.close_session()
    HfApi().create_repo("user/model")
    with guard.guard_clients():
        HfApi().model_info("user/model")
    assert _http.get_session() is made[-1]
    headers = {"Authorization": "Bearer hf_of_another"}
    assert made[-1].get(f"{hub.endpoint.replace('127.0.0.1', 'localhost')}/x", headers=headers).status_code == 401
    with guard.guard_clients(), pytest.raises(OochubError, match="asks to send the Hub token to http://local"):
        made[-1].get(f"{hub.endpoint.replace('127.0.0.1', 'localhost')}/x", headers=headers)


@pytest.mark.slow
@pytest.mark.parametrize("reader", TRIED)
def test_a_token_that_is_sent_back_is_nowhere(hostile, tmp_path, caplog, capfd, monkeypatch, reader):
    """In words, headers, addresses and warnings, at the highest verbosity; and not in the login of HF_ENDPOINT."""
    for name in ("huggingface_hub", "datasets", "transformers", "oochub"):
        caplog.set_level("DEBUG", logger=name)
        monkeypatch.setattr(logging.getLogger(name), "propagate", True)
    back, secret = {"error": f"What is {hostile.token}?"}, hostile.token
    heads = {"X-Error-Message": f"Who is {secret}?", "X-HF-Warning": f"; {secret} is old", "X-Request-Id": secret}
    lies = [
        *(("(GET|HEAD|POST) ", partial(lambda _, status: Answer.of(back, status, heads), status=status))
          for status in (400, 401, 403, 404, 416, 429, 500)),
        ("(GET|HEAD) ", _headers(**{"X_HF_Warning": f"data; {secret} is old"})),
        (_FILE, _sent_to(f"http://127.0.0.1:1/{secret}")),
        (_FILE, _sent_to(f"file:///{secret}")),
        (_TREE, _headers(Link=f'<http://127.0.0.1:1/{secret}>; rel="next"')),
        (_FILE, _headers(ETag=f'"{secret}"')),
        (_FILE, _headers(ETag=f'"/{secret}"')),
        (_INFO, _fields(sha=secret)),
        (_INFO, _fields(lastModified=secret)),
    ]  # fmt: skip
    for pattern, lie in lies:
        _forgotten(tmp_path / "home")
        with hostile.lying_at(pattern, lie):
            try:
                READERS[reader](tmp_path / "data")
            except OochubError as error:
                chain = []
                while error is not None:
                    chain.append(str(error))
                    error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
                assert secret not in "".join(chain), pattern
        for path in (tmp_path / "home").rglob("*"):
            assert secret not in str(path) and not (path.is_file() and secret.encode() in path.read_bytes()), path
    assert secret not in caplog.text + "".join(capfd.readouterr())


def test_a_login_in_the_endpoint_is_not_shown(hostile, tmp_path, monkeypatch, capfd):
    """HF_ENDPOINT=http://user:hf_secret@host: not in the address of a push, not in one of results."""
    monkeypatch.setitem(_ACCOUNTS, "Basic dXNlcjpoZl9zZWNyZXRsb2dpbg==", _ACCOUNTS[hostile.token])
    login = hostile.endpoint.replace("://", "://user:hf_secretlogin@")
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", login)
    monkeypatch.setattr(huggingface_hub.hf_api.api, "endpoint", login)
    pushed = READERS["push"](tmp_path / "data")
    assert "hf_secretlogin" not in repr(pushed)
    assert "hf_secretlogin" not in fetch_results("user/results").address
    with pytest.raises(OochubError) as error:
        remote_repository.fetch_model_folder("user/none")
    assert "hf_secretlogin" not in str(error.value) + "".join(capfd.readouterr())
