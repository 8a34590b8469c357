"""A wrong name of a model or data set is said at once: the Hub is asked once at most, here one on the loopback."""

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import ClassVar

import pytest

import oochub
from oochub.remote.check_source import check_source

_SEVERAL = """
import json, sys
from oochub.cli import main
for words in json.loads(sys.argv[1]):
    sys.argv = ["oochub", *words]
    try:
        main()
    except SystemExit as stopped:
        print(stopped.code, file=sys.stderr)
    print("END", file=sys.stderr, flush=True)
"""


class _Empty(BaseHTTPRequestHandler):
    """A Hub without any repository; counts what it is asked."""

    asked: ClassVar[list[str]] = []

    def _answer(self) -> None:
        self.asked.append(f"{self.command} {self.path}")
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_POST = _answer

    def log_message(self, *_: object) -> None:
        """Silent."""


@pytest.fixture
def hub():
    """Its address, and what it was asked."""
    _Empty.asked = []
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Empty)
    Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", _Empty.asked
    server.shutdown()


@pytest.mark.slow
def test_a_wrong_name_asks_the_hub_once(hub, spawrious, tmp_path):
    """Planted fault: each check in turn left out; then up to five requests. Each name is another one."""
    address, asked = hub
    data = ["spawrious/o2o_easy", "--data-dir", str(spawrious)]
    lines = {
        "runs/nope": ["predict", "runs/nope", *data, "--out", "p.parquet"],
        "resnet50": ["train", *data, "--model", "resnet50", "--out", "run"],
        "nobody/birds": ["challenge", "nobody/birds", "--criterion", "mismatch", "--context", "x", "--out", "c"],
        "resnet-tny": ["train", *data, "--model", "resnet-tny", "--out", "run"],
    }
    environment = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": address, "HF_HOME": str(tmp_path / "home"), "HF_TOKEN": "x"}
    command = [sys.executable, "-c", _SEVERAL, json.dumps(list(lines.values()))]
    done = subprocess.run(
        command, capture_output=True, text=True, cwd=tmp_path, env=os.environ | environment, check=False
    )
    errors = done.stderr.split("END\n")
    for name, error in zip(lines, errors, strict=False):
        assert error.endswith("2\n") and f" at {name}: " in error, error
        assert "folder not found, and there is no " in error, error
        assert sum(name in line for line in asked) == 1, asked
    of_repositories = [line for line in asked if "agent-harnesses" not in line]  # huggingface_hub's own, of its clients
    assert len(of_repositories) == len(lines), asked
    assert "Did you mean 'resnet-tiny'" in errors[3]


@pytest.mark.parametrize("name", ["./run", "../run", "/no/run", "~/no-such-run", "a/b/c", "runs/nope", ".run"])
def test_a_path_asks_nobody(monkeypatch, tmp_path, name):
    """Planted fault: `_is_path` that says no."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs" / "note").mkdir(parents=True)
    monkeypatch.setattr("oochub.remote.check_source._is_on_hub", lambda *_: pytest.fail("asked"))
    monkeypatch.setattr("huggingface_hub.is_offline_mode", lambda: False)
    with pytest.raises(oochub.OochubError, match=r"folder not found\..* Train one\.") as caught:
        check_source(name, kind="model", hint="Train one.")
    assert ("Did you mean 'runs/note'?" in str(caught.value)) == (name == "runs/nope")


def test_offline_asks_nobody(monkeypatch, tmp_path):
    """Planted fault: HF_HUB_OFFLINE not looked at."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("oochub.remote.check_source._is_on_hub", lambda *_: pytest.fail("asked"))
    with pytest.raises(oochub.OochubError, match="HF_HUB_OFFLINE is set"):
        check_source("resnet50", kind="model", hint="Train one.")


def test_a_hub_that_cannot_be_reached_is_said(monkeypatch, tmp_path):
    """Nobody listens at port 1."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("huggingface_hub.is_offline_mode", lambda: False)
    environment = {"HF_HUB_OFFLINE": "0", "HF_ENDPOINT": "http://127.0.0.1:1", "HF_HOME": str(tmp_path / "home")}
    script = "from oochub.remote.check_source import check_source\ncheck_source('a/b', kind='model', hint='')"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=os.environ | environment, check=False
    )
    assert "OochubError: No model at a/b: folder not found, and the Hub could not be reached" in done.stderr


def test_a_folder_and_a_copy_of_the_hub_are_taken(monkeypatch, tmp_path):
    """Neither is asked for."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run").mkdir()
    check_source("run", kind="model", hint="")
    (tmp_path / "cache" / "models--a--b").mkdir(parents=True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "cache"))
    check_source("a/b", kind="model", hint="")
    with pytest.raises(oochub.OochubError):
        check_source("a/b", kind="dataset", hint="")
