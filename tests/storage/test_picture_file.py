"""Images: formats, bombs, and links that lead out of the raw folder."""

import io
import os
import struct
import zlib

import pytest
from PIL import Image

from oochub.errors import OochubError
from oochub.storage.picture_file import FORMATS, open_picture, read_picture

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n"


def _content(codec: str) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (4, 3)).save(file, codec)
    return file.getvalue()


@pytest.mark.parametrize("codec", FORMATS)
def test_each_format_is_read(tmp_path, codec):
    """A format that is opened is one that the raw folder's reader knows by its first bytes, and the other way round."""
    (tmp_path / "a.jpg").write_bytes(_content(codec))
    content = read_picture(tmp_path / "a.jpg", root=tmp_path)
    assert content == _content(codec)
    assert open_picture(content, name="a").size == (4, 3)


@pytest.mark.parametrize(
    "content", [EPS, b"<html>", b"%PDF-1.4", b"\0\0\1\0" + bytes(30)], ids=["eps", "html", "pdf", "ico"]
)
def test_another_format_is_refused(tmp_path, content):
    """EPS would run Ghostscript at `load()`. Planted faults seen: `formats=None`, no check of the first bytes."""
    (tmp_path / "a.jpg").write_bytes(content)
    with pytest.raises(OochubError, match=r"a\.jpg: .* bytes that are no image in JPEG"):
        read_picture(tmp_path / "a.jpg", root=tmp_path)
    with pytest.raises(OochubError, match="no image in JPEG"):
        open_picture(content, name="a.jpg")


@pytest.mark.parametrize("codec", ["AVIF", "ICO", "ICNS", "JPEG2000", "EPS", "PCX", "SGI", "DDS", "PDF", "QOI"])
def test_an_image_in_another_format_is_named(codec):
    """Each as Pillow writes it: what to do is to save it as PNG, not to fetch it again."""
    if codec not in Image.SAVE:
        Image.init()
    if codec not in Image.SAVE:
        pytest.skip(f"this Pillow does not write {codec}")
    file = io.BytesIO()
    Image.new("RGB", (32, 32), (9, 99, 200)).save(file, codec)
    named = {"JPEG2000": "JPEG 2000"}.get(codec, codec)
    with pytest.raises(OochubError, match=rf"no image in JPEG.*, but one in {named}\. Save it as PNG\.$"):
        open_picture(file.getvalue(), name="a.png")


@pytest.mark.parametrize("side", [10_000, 60_000])  # between Pillow's warning and its error, and above
def test_a_bomb_is_refused_by_its_header(side):
    """Planted fault seen: the check of the size left out, for the smaller one."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    content = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")
    with pytest.raises(OochubError, match=r"bomb\.png: its header says more than 89478485 pixels"):
        open_picture(content, name="bomb.png")


def test_a_link_out_of_the_folder_is_refused(tmp_path):
    """Planted fault seen: the check left out. A link within the folder, and a raw folder that is a link, are fine."""
    raw, link = tmp_path / "raw", tmp_path / "link"
    raw.mkdir()
    link.symlink_to(raw)
    (tmp_path / "foreign.png").write_bytes(_content("PNG"))
    (raw / "own.png").write_bytes(_content("PNG"))
    (raw / "inner.png").symlink_to("own.png")
    (raw / "outer.png").symlink_to(tmp_path / "foreign.png")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "a.png").write_bytes(_content("PNG"))
    (raw / "folder").symlink_to(tmp_path / "elsewhere")
    for root in (raw, link):
        for name in ("own.png", "inner.png"):
            assert read_picture(root / name, root=root)
        for name in ("outer.png", "folder/a.png"):
            with pytest.raises(OochubError, match=rf"{name} is a link that leads out of .*follow_links=True"):
                read_picture(root / name, root=root)
            assert read_picture(root / name, root=root, follow_links=True)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.mkdir(), lambda path: path.symlink_to(path)])
def test_what_is_no_file_does_not_hang(tmp_path, make):
    make(tmp_path / "a.png")
    with pytest.raises(OochubError, match=r"a\.png"):
        read_picture(tmp_path / "a.png", root=tmp_path)


def test_an_empty_file(tmp_path):
    (tmp_path / "a.png").touch()
    with pytest.raises(OochubError, match="is empty"):
        read_picture(tmp_path / "a.png", root=tmp_path)
