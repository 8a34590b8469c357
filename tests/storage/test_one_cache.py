"""The one cache: whole or not at all, listed and cleared, and what its keys are made of."""

import os
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

import oochub
from oochub.errors import OochubWarning
from oochub.storage import cache
from oochub.storage.cache import (
    cache_folder,
    clear,
    digest_code,
    keep_bytes,
    list_caches,
    make_file_once,
    make_once,
    read_kept_bytes,
)


@pytest.mark.parametrize("content", [b"", b"\n", b"some bytes\nmore"])
def test_what_is_kept_is_read_listed_and_cleared(content):
    """Planted fault seen: an entry that no manifest lists."""
    assert read_kept_bytes("checks", "a.json") is None and not cache_folder("checks").exists()
    keep_bytes("checks", "a.json", content)
    assert read_kept_bytes("checks", "a.json") == content
    (listed,) = list_caches("checks")
    assert [entry.path.name for entry in listed.entries] == ["a.json"] and listed.size == 41 + len(content)
    assert clear(listed.entries) == list(listed.entries) and read_kept_bytes("checks", "a.json") is None


def test_a_change_of_any_byte_is_seen():
    """And the entry is made again. Planted fault seen: bytes not compared with their digest."""
    keep_bytes("runtimes", "a.onnx", b"network")
    file = cache_folder("runtimes") / "a.onnx"
    whole = file.read_bytes()
    for place in range(len(whole)):
        file.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        assert read_kept_bytes("runtimes", "a.onnx") is None
    for short in (b"", whole[:20], whole[:-1]):
        file.write_bytes(short)
        assert read_kept_bytes("runtimes", "a.onnx") is None
    assert list(make_once("runtimes", "a.onnx", lambda: b"network")) == [b"network"]
    assert file.read_bytes() == whole
    kept = make_once("runtimes", "a.onnx", lambda: b"another")
    assert list(kept) == [b"network", b"another"] and read_kept_bytes("runtimes", "a.onnx") == b"another"


def test_the_time_of_use_is_that_of_the_file():
    """By it `--older-than` clears. Planted fault seen: a time that stays."""
    keep_bytes("checks", "a.page", b"page")
    file = cache_folder("checks") / "a.page"
    os.utime(file, (0, 0))
    read_kept_bytes("checks", "a.page")
    assert time.time() - file.stat().st_mtime < 60


def test_a_cache_that_cannot_be_written_warns_if_it_costs_much(tmp_path, monkeypatch):
    """A file stands in its place."""
    (tmp_path / "file").touch()
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "file"))
    with pytest.warns(OochubWarning, match=r"The check could not be cached\. .*is a file.*\$OOCHUB_CACHE"):
        keep_bytes("checks", "a.json", b"", what="The check")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keep_bytes("checks", "a.json", b"")


def test_two_that_want_the_same_large_file_make_it_once(tmp_path):
    """The second waits. Planted fault seen: no lock."""
    made, both = [], threading.Barrier(2)

    def write(draft: Path) -> None:
        time.sleep(0.05)
        made.append(draft.write_bytes(b"pixels"))

    def want() -> None:
        both.wait()
        assert make_file_once(cache_folder("pixels") / "a-b.npy", write).read_bytes() == b"pixels"

    threads = [threading.Thread(target=want) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == [6]
    (listed,) = list_caches("pixels")
    assert clear(listed.entries) == list(listed.entries) and not list(cache_folder("pixels").glob("[!.]*"))


def test_the_digest_of_the_code_covers_every_file_of_it(monkeypatch):
    """Plug-ins too, which lie behind links. Planted faults seen: links not followed, and a room taken with all."""
    read: list[Path] = []
    monkeypatch.setattr(cache, "digest_files", read.extend)
    folder = Path(oochub.__file__).parent
    digest_code.__wrapped__()
    names = {file.relative_to(folder).as_posix() for file in read}
    assert {"catalog.py", "models/cache_key.py", "builders/nooch.py", "models/modes/head.py"} <= names
    assert not any(name.endswith(".jinja") for name in names)
    read.clear()
    digest_code.__wrapped__("models", "builders", suffixes=(".py", ".jinja"))
    names = {file.relative_to(folder).as_posix() for file in read}
    assert {"catalog.py", "models/modes/head.py", "builders/wilds/__init__.py"} <= names
    assert {name.split("/")[0] for name in names if "/" in name} == {"models", "builders"}


@pytest.mark.slow
def test_the_folder_of_datasets_is_that_of_datasets():
    """By the same variables, in a process that has not imported `datasets`."""
    code = "from oochub.storage.cache import datasets_folder as f; import sys; a = f(); "
    code += "assert 'datasets' not in sys.modules; from datasets import config; print(a == config.HF_DATASETS_CACHE)"
    given = {name: each for name, each in os.environ.items() if not name.startswith(("HF_", "XDG_"))}
    for more in ({}, {"HF_HOME": "~/a"}, {"XDG_CACHE_HOME": "~/b"}, {"HF_DATASETS_CACHE": "c/d"}):
        made = subprocess.run([sys.executable, "-c", code], env={**given, **more}, capture_output=True, text=True)
        assert made.stdout == "True\n", (more, made.stderr)
