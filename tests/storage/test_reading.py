"""Files that cannot be read: missing, not files, cut off, not UTF-8, nested too deeply."""

import os

import pytest

from oochub.errors import OochubError
from oochub.storage.reading import read_bytes, read_json, read_lines

NOT_READ = {
    "missing": (None, "there is no such file"),
    "a folder": (lambda path: path.mkdir(), "it is a folder"),
    "a pipe": (os.mkfifo, "pipe, socket or device"),
    "a loop of links": (lambda path: path.symlink_to(path), "Too many levels|loop"),
    "empty": (lambda path: path.write_bytes(b""), "it is empty"),
    "cut": (lambda path: path.write_bytes(b'{"a": [1,\n 2'), "line 2, column 3"),
    "Latin-1": (lambda path: path.write_bytes(b'{"a":\n "\xe9"}'), r"not UTF-8 text \(line 2\)"),
    "nested": (lambda path: path.write_bytes(b"[" * 200_000), "nested too deeply"),
    "a number of 5,000 digits": (lambda path: path.write_bytes(b"1" * 5_000), "4300 digits"),
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_cannot_be_read_is_named(tmp_path, name):
    """Planted faults seen: opening whatever there is (the pipe hangs), `errors="replace"`, no RecursionError."""
    make, words = NOT_READ[name]
    file = tmp_path / "content.json"
    if make:
        make(file)
    with pytest.raises(OochubError, match=words) as raised:
        read_json(file)
    assert "content.json" in str(raised.value)


def test_a_null_character_in_a_path():
    with pytest.raises(OochubError, match="null"):
        read_bytes("a\0b")


def test_lines_and_a_byte_order_mark(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfcar\r\ntie\n")
    assert read_lines(tmp_path / "a.txt") == ["car", "tie"]
    (tmp_path / "a.txt").write_bytes(b"")
    assert read_lines(tmp_path / "a.txt") == []
