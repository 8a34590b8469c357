"""Tar archives of pictures: a damaged header anywhere, a cut end, members that are no pictures; each is named."""

import io
import os
import tarfile
from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image

from oochub import OochubError
from oochub.build_record import BuildRecord
from oochub.builders.sources.stored import stored_pictures

BLOCK = tarfile.BLOCKSIZE


def _png() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (9, 99, 199)).save(file, "PNG")
    return file.getvalue()


PNG = _png()


def _tar(members, **options) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", **options) as archive:
        for name, data in members:
            member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return file.getvalue()


def _shard(count: int = 64) -> bytes:
    return _tar([(f"n02725872_{k}.JPEG", PNG) for k in range(count)])


def _header(k: int) -> int:
    """Where the header of a shard's member k begins: each picture takes one block."""
    assert len(PNG) <= BLOCK
    return 2 * BLOCK * k


def _damaged(content: bytes, at: int, data: bytes) -> bytes:
    return content[:at] + data + content[at + len(data) :]


def _listed(folder: Path, content: bytes, **options):
    (folder / "n02725872.tar").write_bytes(content)
    return list(stored_pictures(folder, **options))


def test_a_whole_shard(tmp_path):
    assert len(_listed(tmp_path, _shard())) == 64
    assert _listed(tmp_path, _tar([])) == []


def _member(kind: bytes, name: str = "n02725872_1.JPEG", link: str = "/etc/passwd") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    return member


def _negative() -> bytes:
    """A member whose size is below zero: tarfile would read the same header for ever (CVE-2025-8194)."""
    member = tarfile.TarInfo("n02725872_0.JPEG")
    header = bytearray(member.tobuf(tarfile.GNU_FORMAT))
    header[124:136] = b"\xff" * 10 + b"\xfc\x00"  # base 256: -1024
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return _shard(2)[: _header(2)] + bytes(header) + bytes(20 * BLOCK)


INNER = _damaged(_shard(8), _header(3), b"\xff" * 100)
BROKEN = {
    "a damaged second header": (
        _damaged(_shard(), _header(1), b"\xff" * 9),
        r"after 'n02725872_0\.JPEG', .* byte 1024",
    ),
    "a damaged header in the middle": (_damaged(_shard(), _header(61), b"x"), "member number 61, at byte 62464"),
    "a header of zeros": (
        _damaged(_shard(), _header(5), bytes(BLOCK)),
        "is damaged: after 'n02725872_4",
    ),
    "a damaged first header": (_damaged(_shard(), 0, b"\xff" * 9), "not a whole plain tar"),
    "cut within a picture": (_shard()[: _header(5) + BLOCK + 9], "not a whole plain tar archive"),
    "cut within a header": (_shard()[: _header(5) + 99], "is (damaged|cut off)"),
    "cut between two members": (_shard()[: _header(5)], "is cut off: at byte 5120"),
    "another archive after its end": (_shard(2) + _shard(2), "stands neither a member nor the end"),
    "no bytes": (b"", "not a whole plain tar"),
    "HTML": (b"<html>404</html>" * 99, "not a whole plain tar"),
    "an absolute path": (_tar([("/n02725872/a.JPEG", PNG)]), "leads out of the archive"),
    "a path upward": (_tar([("a/../../b.JPEG", PNG)]), "leads out of the archive"),
    "a negative size": (_negative(), "leads back|not a whole"),
    "compressed in it": (_tar([("n02725872.tar.gz", b"x")]), r"n02725872\.tar\.gz in .*n02725872\.tar is compressed"),
    "a tar in it, damaged": (_tar([("n02725872.tar", INNER)]), r"after 'n02725872_2\.JPEG', .*at byte 3584"),
    "a tar in it that is none": (_tar([("n02725872.tar", b"x" * 2000)]), "not a whole plain tar"),
    "a name that is not UTF-8": (_tar([("n02725872_\udcff.JPEG", PNG)]), "is not UTF-8. Rename it"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_archive_is_named(tmp_path, name):
    """Planted faults seen: `_check_end` left out; its end mark alone; the order of the members not looked at."""
    content, words = BROKEN[name]
    with pytest.raises(OochubError, match=words) as raised:
        _listed(tmp_path, content)
    assert "n02725872.tar" in str(raised.value)


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("nowhere")])
def test_what_is_no_file_is_no_archive(tmp_path, make):
    make(tmp_path / "n02725872.tar")
    with pytest.raises(OochubError, match=r"n02725872\.tar is not a file"):
        list(stored_pictures(tmp_path))


def test_links_and_devices_are_counted(tmp_path):
    """Of an archive none is followed, and strict=True refuses it; the note says how many."""
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    members = [(_member(kind, f"n02725872_{k}.JPEG"), b"") for k, kind in enumerate(kinds)]
    passed: list[str] = []
    content = _tar([*members, ("n02725872_9.JPEG", PNG), (_member(tarfile.DIRTYPE, "a.png"), b"")])
    (one,) = _listed(tmp_path, content, passed=passed)
    assert one.name == "n02725872_9.JPEG" and len(passed) == 4
    place = tmp_path / "raw" / "imagenet-21k"
    place.mkdir(parents=True)
    (place / "n02725872.tar").write_bytes(content)
    data = load_dataset("imagenet_ood", "imagenet_ood", data_dir=tmp_path / "raw")
    notes = BuildRecord.of(data["test"].info).notes
    assert any(note.startswith("4 links or devices in archives are passed over: n02725872_0.JPEG in") for note in notes)


def test_a_member_that_is_no_picture_is_named(tmp_path):
    place = tmp_path / "imagenet-21k"
    place.mkdir()
    (place / "n02725872.tar").write_bytes(_tar([("n02725872_1.JPEG", b"%!PS-Adobe-3.0 EPSF-3.0")]))
    with pytest.raises(OochubError, match=r"n02725872_1\.JPEG in .*n02725872\.tar: 23 bytes that are no picture"):
        load_dataset("imagenet_ood", "imagenet_ood", data_dir=tmp_path)


def test_folders_in_a_circle(tmp_path):
    """To themselves, to one above, and two that lead to each other; planted: the check left out (40 rounds each)."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for link, target in (("a/up", tmp_path), ("a/own", tmp_path / "a"), ("a/x", tmp_path / "b")):
        (tmp_path / link).symlink_to(target)
        if link == "a/x":
            (tmp_path / "b" / "y").symlink_to(tmp_path / "a")
        with pytest.raises(OochubError, match="is a link to a folder that holds it: folders in a circle"):
            list(stored_pictures(tmp_path))
        (tmp_path / link).unlink()
    (tmp_path / "b" / "y").unlink()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OochubError, match="loop cannot be listed"):
        list(stored_pictures(tmp_path))


def test_links_out_of_the_raw_folder(tmp_path):
    """Folders and archives; planted fault seen: the check in `containers` left out."""
    (tmp_path / "raw").mkdir()
    (tmp_path / "elsewhere" / "n02725872").mkdir(parents=True)
    (tmp_path / "elsewhere" / "n02725872" / "n02725872_1.JPEG").write_bytes(PNG)
    (tmp_path / "elsewhere" / "b.tar").write_bytes(_shard(2))
    for name, count in (("n02725872", 1), ("b.tar", 2)):
        (tmp_path / "raw" / name).symlink_to(tmp_path / "elsewhere" / name)
        with pytest.raises(OochubError, match=rf"{name} is a link that leads out of .*follow_links=True"):
            list(stored_pictures(tmp_path / "raw", within=tmp_path / "raw"))
        found = list(stored_pictures(tmp_path / "raw"))
        assert len(found) == count and found[0].read(tmp_path / "raw") == PNG
        with pytest.raises(OochubError, match="leads out of"):
            found[0].read(tmp_path / "raw", within=tmp_path / "raw")
        (tmp_path / "raw" / name).unlink()


def test_a_file_name_that_is_not_utf8(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/n02725872_\xff.JPEG")).write_bytes(PNG)
    with pytest.raises(OochubError, match=r"n02725872_\\udcff.JPEG' is not UTF-8"):
        list(stored_pictures(tmp_path))
