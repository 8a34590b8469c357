"""Members of archives that nobody vouches for: three compressions, and every lie that an archive can tell."""

import io
import tracemalloc
import zipfile

import pytest
from made_zip import Member, made_zip

from oochub.errors import OochubError
from oochub.exchange.bridges.inspect_ai import _iterate_members


def members(path, content, **chosen):
    path.write_bytes(content)
    return list(_iterate_members(path, **chosen))


@pytest.mark.parametrize("method", [0, 8, 93])
def test_each_compression_is_read(method, tmp_path):
    """What Python's own zipfile makes of the same bytes, but for Zstandard, which it does not know here."""
    content = [("a.json", b"{}"), ("samples/b.json", b'{"b": 1}' * 999), ("samples/empty.json", b"")]
    archive = made_zip([Member(*each, method=method) for each in content])
    assert members(tmp_path / "a.zip", archive) == content
    assert members(tmp_path / "a.zip", archive, prefix="samples/", suffix="b.json") == content[1:2]
    if method != 93:
        with zipfile.ZipFile(io.BytesIO(archive)) as known:
            assert [(name, known.read(name)) for name in known.namelist()] == content


def test_a_name_twice_is_the_last_one(tmp_path):
    archive = made_zip([Member("a", b"first"), Member("a", b"second")])
    assert members(tmp_path / "a.zip", archive) == [("a", b"second")]


LIES = {
    "a bomb that says another size": Member("a", bytes(1 << 20), says_size=10),
    "a deflated bomb that says another size": Member("a", bytes(1 << 20), method=8, says_size=10),
    "another size": Member("a", b"abc", says_size=99),
    "encrypted": Member("a", b"abc", flags=1),
    "an unknown compression": Member("a", b"abc", method=14),
}


@pytest.mark.parametrize("what", LIES)
def test_a_member_that_lies_is_refused(what, tmp_path):
    with pytest.raises(OochubError, match=r"a\.zip"):
        members(tmp_path / "a.zip", made_zip([LIES[what]]))


@pytest.mark.parametrize("method", [8, 93])
def test_a_bomb_is_never_expanded(method, tmp_path):
    """64 MB of zeros that say to be 10 bytes take under 4 MB; 512 MB that say so are refused unread."""
    bomb = made_zip([Member("a", bytes(1 << 26), method=method, says_size=10)])
    tracemalloc.start()
    with pytest.raises(OochubError, match=r"a\.zip"):
        members(tmp_path / "a.zip", bomb)
    assert tracemalloc.get_traced_memory()[1] < 4e6 + len(bomb)
    tracemalloc.stop()
    with pytest.raises(OochubError, match="expand to 537 MB"):
        members(tmp_path / "a.zip", made_zip([Member("a", b"x", method=method, says_size=1 << 29)]))


def test_many_members_expand_to_too_much(tmp_path):
    """Five members of 255 MiB each are above 1 GiB and a hundred times the file: refused before one is read."""
    archive = made_zip([Member(f"{k}", b"x", says_size=255 << 20) for k in range(5)])
    with pytest.raises(OochubError, match="expand to 1,337 MB"):
        members(tmp_path / "a.zip", archive)


@pytest.mark.parametrize("method", [0, 93])
def test_a_changed_byte_is_refused(method, tmp_path):
    """In the content of a member, whose checksum tells; Zstandard leaves so short a text as it is."""
    archive = bytearray(made_zip([Member("a", b"abcdef", method=method)]))
    archive[archive.index(b"abcdef")] ^= 1
    with pytest.raises(OochubError, match="complete ZIP"):
        members(tmp_path / "a.zip", bytes(archive))


def test_what_is_no_archive_is_refused(tmp_path):
    for content in (b"", b"PK\x03\x04", made_zip([Member("a", b"abc" * 99)])[:-30]):
        with pytest.raises(OochubError, match="complete ZIP"):
            members(tmp_path / "a.zip", content)


def test_no_name_leads_out_of_the_archive(tmp_path):
    """Names are names: nothing is written anywhere."""
    names = ["../../evil", "/etc/passwd", "C:\\x", "a\n"]
    archive = made_zip([Member(name, b"x") for name in names])
    assert [name for name, _ in members(tmp_path / "a.zip", archive)] == names
    assert [file.name for file in tmp_path.iterdir()] == ["a.zip"]
