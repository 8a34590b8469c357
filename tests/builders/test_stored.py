"""Tar archives of images: a damaged header anywhere, a cut end, members that are no images; each is named."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image

from oochub import OochubError
from oochub.builders.sources.imagenet import imagenet_pictures
from oochub.builders.sources.spawrious_compositions import BACKGROUNDS, BREEDS
from oochub.builders.sources.stored import stored_pictures
from oochub.records.build_record import BuildRecord

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
    """Where the header of a shard's member k begins: each image takes one block."""
    assert len(PNG) <= BLOCK
    return 2 * BLOCK * k


def _damaged(content: bytes, at: int, data: bytes) -> bytes:
    return content[:at] + data + content[at + len(data) :]


def _listed(folder: Path, content: bytes, **options):
    (folder / "n02725872.tar").write_bytes(content)
    return list(imagenet_pictures(folder, **options))


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
    "a header of zeros": (_damaged(_shard(), _header(5), bytes(BLOCK)), "is corrupted: after 'n02725872_4"),
    "a damaged first header": (_damaged(_shard(), 0, b"\xff" * 9), "not a complete plain tar"),
    "cut within an image": (_shard()[: _header(5) + BLOCK + 9], "not a complete plain tar archive"),
    "cut within a header": (_shard()[: _header(5) + 99], "is (corrupted|truncated)"),
    "cut between two members": (_shard()[: _header(5)], "is truncated: at byte 5120"),
    "another archive after its end": (_shard(2) + _shard(2), "there is neither a member nor the end"),
    "no bytes": (b"", "not a complete plain tar"),
    "HTML": (b"<html>404</html>" * 99, "not a complete plain tar"),
    "a negative size": (_negative(), "points backwards|not a complete"),
    "a tar in it, damaged": (_tar([("n02725872.tar", INNER)]), r"after 'n02725872_2\.JPEG', .*at byte 3584"),
    "a tar in it that is none": (_tar([("n02725872.tar", b"x" * 2000)]), "not a complete plain tar"),
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
    """Of an archive none is followed."""
    kinds = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE)
    members = [(_member(kind, f"n02725872_{k}.JPEG"), b"") for k, kind in enumerate(kinds)]
    passed: list[str] = []
    content = _tar([*members, ("n02725872_9.JPEG", PNG), (_member(tarfile.DIRTYPE, "a.png"), b"")])
    (one,) = _listed(tmp_path, content, passed=passed)
    assert one.name == "n02725872_9.JPEG" and len(passed) == 4


END = bytes(2 * BLOCK)
SPAWRIOUS = [
    (f"spawrious224/{repeat}/{background}/{breed}/{background}_{breed}_{k}.png", PNG)
    for repeat in (0, 1)
    for background in BACKGROUNDS
    for breed in BREEDS
    for k in range(5)
]
RAW = {
    "imagenet_ood": ("imagenet-21k/n02725872.tar", [("n02725872/n02725872_8.JPEG", PNG)]),
    "all": ("spawrious224__entire_dataset.tar", SPAWRIOUS),
}
CONFIGS = {"imagenet_ood": "imagenet_ood", "all": "spawrious"}


def _whole(config: str, *members) -> bytes:
    """The archive of a benchmark, the members last, its end two blocks of zeros."""
    file = io.BytesIO()
    archive = tarfile.open(fileobj=file, mode="w")  # closed, it would be filled up to 10 kB
    for name, data in [*RAW[config][1], *members]:
        member = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return file.getvalue() + END


def _load(folder: Path, config: str, content: bytes, **options):
    file = folder / RAW[config][0]
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return load_dataset(CONFIGS[config], config, data_dir=folder, **options)


REFUSED = {
    "a path upward": (("../{}_9.png", PNG), None, "points outside the archive"),
    "an absolute path": (("/{}_9.png", PNG), None, "points outside the archive"),
    "a path of Windows": (("..\\{}_9.png", PNG), None, "points outside the archive"),
    "a compressed archive in it": (("{}.tar.gz", b"x"), None, r"tar\.gz in .*\.tar is compressed. Decompress it"),
    "without its end": (("{}_9.png", PNG), -len(END), "is truncated"),
    "cut in its last image": (("{}_9.png", PNG), -len(END) - BLOCK, "not a complete plain tar"),
    "cut in its last header": (("{}_9.png", PNG), -len(END) - 2 * BLOCK + 9, "is corrupted|is truncated"),
}


@pytest.mark.parametrize("config", list(CONFIGS))
@pytest.mark.parametrize("word", list(REFUSED))
def test_what_is_refused_of_every_benchmark(tmp_path, config, word):
    """By the name of the archive; faults planted: the paths not looked at, `_check_end` left out."""
    (name, data), end, words = REFUSED[word]
    with pytest.raises(OochubError, match=words) as error:
        _load(tmp_path, config, _whole(config, (name.format(_stem(config)), data))[:end])
    assert RAW[config][0] in str(error.value)


@pytest.mark.parametrize("config", list(CONFIGS))
def test_a_sparse_picture_of_every_benchmark(tmp_path, config):
    """Its bytes do not stand in one piece; planted fault seen: read as they stand."""
    member = _member(tarfile.GNUTYPE_SPARSE, f"{_stem(config)}_9.png", link="")
    with pytest.raises(OochubError, match="is stored as a sparse file"):
        _load(tmp_path, config, _whole(config, (member, bytes(BLOCK))))


def _stem(config: str) -> str:
    """What the names of images of a folder in the archive begin with."""
    return RAW[config][1][0][0].rpartition("_")[0]


@pytest.mark.parametrize("config", list(CONFIGS))
def test_a_compressed_archive_of_every_benchmark(tmp_path, config):
    file = tmp_path / f"{RAW[config][0]}.gz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(_whole(config)))
    with pytest.raises(OochubError, match=r"\.tar\.gz is compressed. Decompress it to a plain \.tar"):
        load_dataset(CONFIGS[config], config, data_dir=tmp_path)


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused_or_said(tmp_path, kind):
    """Of Spawrious refused wherever they are in the archive; of ImageNet passed over, and refused with strict=True."""
    for name in ("spawrious224/0/snow/corgi/snow_corgi_5.png", "spawrious224/readme", "other/null"):
        with pytest.raises(OochubError, match=f"holds '{name}', a (link|device or pipe), which is not followed"):
            _load(tmp_path, "all", _whole("all", (_member(kind, name), b"")))
    content = _whole("imagenet_ood", (_member(kind, "n02725872/n02725872_9.JPEG"), b""))
    data = _load(tmp_path, "imagenet_ood", content)
    assert any("1 links or devices in archives" in note for note in BuildRecord.of(data["test"].info).notes)
    with pytest.raises(OochubError, match="1 links or devices in archives are skipped"):
        _load(tmp_path, "imagenet_ood", content, strict=True)


@pytest.mark.parametrize("config", list(CONFIGS))
def test_a_link_to_an_archive_elsewhere(tmp_path, config):
    (tmp_path / "elsewhere.tar").write_bytes(_whole(config))
    place = tmp_path / "raw" / RAW[config][0]
    place.parent.mkdir(parents=True)
    place.symlink_to(tmp_path / "elsewhere.tar")
    with pytest.raises(OochubError, match=r"\.tar is a link that leads out of .*follow_links=True"):
        load_dataset(CONFIGS[config], config, data_dir=tmp_path / "raw")
    followed = load_dataset(CONFIGS[config], config, data_dir=tmp_path / "raw", follow_links=True)
    assert sum(len(part) for part in followed.values()) == len(RAW[config][1])


def test_a_member_of_spawrious_that_is_no_picture_is_named(tmp_path):
    """Planted fault seen: the beginning of what an archive holds not looked at."""
    content = _whole("all").replace(PNG, b"%!PS".ljust(len(PNG)), 1)
    with pytest.raises(OochubError, match=r"desert_bulldog_0\.png in .*\.tar: \d+ bytes that are no image"):
        _load(tmp_path, "all", content)


def test_folders_in_a_circle(tmp_path):
    """To themselves, to one above, and two that lead to each other; planted: the check left out (40 rounds each)."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for link, target in (("a/up", tmp_path), ("a/own", tmp_path / "a"), ("a/x", tmp_path / "b")):
        (tmp_path / link).symlink_to(target)
        if link == "a/x":
            (tmp_path / "b" / "y").symlink_to(tmp_path / "a")
        with pytest.raises(OochubError, match="links to a folder that contains it, so folders form a circle"):
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
        list(imagenet_pictures(tmp_path))
