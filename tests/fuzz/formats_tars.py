"""Tar archives and shards of images with one thing wrong: refused, or the same images."""

import hashlib
import io
import tarfile
from collections.abc import Iterable
from pathlib import Path

from fuzz_case import Format, Used
from PIL import Image

from oochub.builders.sources.imagenet import codec_and_size, imagenet_pictures

_TAR = "pictures/n01440764.tar"
_SHARD = "pictures/train-000000.tar"


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
