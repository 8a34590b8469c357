"""Tar archives and shards of images with one thing wrong: refused, or the same images."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from fuzz_case import CHANGED, REFUSED, SAME, Case, Format, Used
from mutations import place_cases
from PIL import Image

from oochub.builders.sources.imagenet import codec_and_size, imagenet_pictures

_TAR = "pictures/n01440764.tar"
_SHARD = "pictures/train-000000.tar"
_BLOCK = 512


def _picture(k: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 6), (40 * k, 99, 199)).save(file, "JPEG")
    return file.getvalue()


Member = tuple[tarfile.TarInfo, bytes]


def _members(names: Iterable[str]) -> list[Member]:
    members = []
    for k, name in enumerate(names):
        info = tarfile.TarInfo(name)
        info.size = len(_picture(k))
        members.append((info, _picture(k)))
    return members


_OF_CLASS = [f"n01440764_{k}.JPEG" for k in range(4)]
_OF_SHARD = [f"n01443537/n01443537_{k}.JPEG" for k in range(3)]


def _write(file: Path, members: list[Member], *, form: int = tarfile.USTAR_FORMAT) -> None:
    with tarfile.open(file, "w", format=form) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data) if info.isreg() else None)


def _make(folder: Path) -> None:
    (folder / "pictures").mkdir()
    _write(folder / _TAR, _members(_OF_CLASS))
    _write(folder / _SHARD, _members(_OF_SHARD))


def _use(folder: Path, out: Path) -> Used:
    place, numbers = folder / "pictures", []
    for stored in imagenet_pictures(place):
        data = stored.read(place)
        kind = codec_and_size(data, f"{stored.name} in {stored.archive}")
        numbers.append([stored.name, stored.label, *kind, hashlib.sha256(data).hexdigest()])
    return Used(numbers=numbers)


TARS = Format(name="tars and shards", make=_make, use=_use)


def _rewritten(change: Callable[[bytearray], object], file: str = _TAR) -> Callable[[Path], None]:
    def mutate(folder: Path) -> None:
        data = bytearray((folder / file).read_bytes())
        changed = change(data)
        (folder / file).write_bytes(changed if isinstance(changed, bytes) else data)

    return mutate


def _headers() -> list[int]:
    """Where the header of each image of the class archive begins; each image takes less than a kilobyte."""
    places, at = [], 0
    for _, data in _members(_OF_CLASS):
        places.append(at)
        at += _BLOCK + -(-len(data) // _BLOCK) * _BLOCK
    return [*places, at]  # the last is that of the end


def _flip(place: int, bit: int) -> Callable[[bytearray], object]:
    return lambda data: data.__setitem__(place, data[place] ^ (1 << bit))


def _members_changed(change: Callable[[list[Member]], list[Member]]) -> Callable[[Path], None]:
    return lambda folder: _write(folder / _TAR, change(_members(_OF_CLASS)))


def _renamed(name: str) -> Callable[[Path], None]:
    return lambda folder: _write(folder / _TAR, _members([name, *_OF_CLASS[1:]]), form=tarfile.PAX_FORMAT)


def _of_type(kind: bytes, target: str = "") -> Callable[[Path], None]:
    info = tarfile.TarInfo("n01440764_9.JPEG")
    info.type, info.linkname = kind, target
    return _members_changed(lambda members: [*members, (info, b"")])


_FIELDS = {"name": 0, "mode": 100, "size": 124, "time": 136, "checksum": 148, "type": 156, "magic": 257}
_OUT = ("../x.JPEG", "/etc/x.JPEG", "a/../../x.JPEG", "..\\x.JPEG", "C:\\x.JPEG", "\\\\host\\x.JPEG")
CASES = [
    *place_cases(_TAR, missing=frozenset({CHANGED})),  # of the archives that are there
    *(
        Case(
            name=f"header {number} with a bit of its {field} flipped",
            mutate=_rewritten(_flip(at + offset + 2, bit)),
        )
        for number, at in enumerate(_headers()[:-1])
        for field, offset in _FIELDS.items()
        for bit in (0, 6)
    ),
    *(
        Case(
            name=f"header {number} of zeros",
            mutate=_rewritten(lambda d, at=at: d.__setitem__(slice(at, at + 512), bytes(512))),
        )
        for number, at in enumerate(_headers()[:-1])
    ),
    *(
        Case(name=f"cut after {cut} bytes", mutate=_rewritten(lambda data, cut=cut: bytes(data[:cut])))
        for at in _headers()[:-1]
        for cut in (at + 100, at + _BLOCK, at + _BLOCK + 100)
    ),
    *(
        Case(
            name=f"cut before header {number}",
            mutate=_rewritten(lambda data, at=at: bytes(data[:at])),
            expect=frozenset({REFUSED, SAME}),  # before the last: the blocks of the end alone are missing
        )
        for number, at in enumerate(_headers())
    ),
    *(Case(name=f"a member {name!r}", mutate=_renamed(name)) for name in _OUT),
    *(
        Case(name=f"a member that is a {word}", mutate=_of_type(kind, target), expect=frozenset({SAME, REFUSED}))
        for word, kind, target in (
            ("link out", tarfile.SYMTYPE, "/etc/passwd"),
            ("link within", tarfile.SYMTYPE, "n01440764_0.JPEG"),
            ("hard link out", tarfile.LNKTYPE, "/etc/passwd"),
            ("hard link within", tarfile.LNKTYPE, "n01440764_0.JPEG"),
            ("fifo", tarfile.FIFOTYPE, ""),
            ("device", tarfile.CHRTYPE, ""),
            ("block device", tarfile.BLKTYPE, ""),
            ("folder", tarfile.DIRTYPE, ""),
        )
    ),
    Case(name="empty", mutate=_rewritten(lambda data: b"")),
    Case(name="of zeros", mutate=_rewritten(lambda data: bytes(len(data))), expect=frozenset({REFUSED, CHANGED})),
    Case(name="of text", mutate=_rewritten(lambda data: b"version https://git-lfs.github.com/spec/v1\n" * 30)),
    Case(name="a page of HTML", mutate=_rewritten(lambda data: b"<html><body>Not found</body></html>" * 30)),
    Case(name="compressed", mutate=_rewritten(lambda data: gzip.compress(bytes(data)))),
    Case(name="a zip", mutate=_rewritten(lambda data: b"PK\x03\x04" + bytes(data))),
    Case(name="an image under the name of a tar", mutate=_rewritten(lambda data: _picture(0))),
    Case(
        name="bytes after its end",
        mutate=_rewritten(lambda data: bytes(data) + b"more" * 128),
        expect=frozenset({SAME, REFUSED}),
    ),
    Case(
        name="two archives in one file",
        mutate=_rewritten(lambda data: bytes(data) * 2),
        expect=frozenset({SAME, REFUSED}),  # what follows the end is padding to every reader of tar
    ),
    Case(name="an image that is empty", mutate=_members_changed(lambda members: [_emptied(members[0]), *members[1:]])),
    Case(
        name="an image that is a text",
        mutate=_members_changed(lambda members: [(members[0][0], b"x" * members[0][0].size), *members[1:]]),
    ),
    Case(
        name="a note beside the images",
        mutate=_members_changed(lambda members: [*members, *_members(["README.txt"])]),
        expect=frozenset({SAME}),
    ),
    Case(
        name="of the format pax",
        mutate=lambda folder: _write(folder / _TAR, _members(_OF_CLASS), form=tarfile.PAX_FORMAT),
        expect=frozenset({SAME}),
    ),
    Case(
        name="of the format GNU",
        mutate=lambda folder: _write(folder / _TAR, _members(_OF_CLASS), form=tarfile.GNU_FORMAT),
        expect=frozenset({SAME}),
    ),
    Case(
        name="in another order",
        mutate=_members_changed(lambda members: members[::-1]),
        expect=frozenset({CHANGED}),
    ),
    Case(
        name="an image twice",
        mutate=_members_changed(lambda members: [*members, members[0]]),
        expect=frozenset({CHANGED, REFUSED}),  # by its name; the listing counts it once
    ),
]


def _emptied(member: Member) -> Member:
    info = tarfile.TarInfo(member[0].name)
    return info, b""


@pytest.mark.campaign
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_tars(campaign, case):
    campaign.run(TARS, case)
