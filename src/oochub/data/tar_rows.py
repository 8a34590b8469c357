"""The rows of a user's WebDataset shards: the files of one key are a row, and an archive is read to its end or refused.

tarfile takes a damaged header for the end of an archive, and WebDataset of `datasets` begins a new row wherever the key
changes: both give fewer or other rows without a word. Here every member is listed first.
"""

import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import datasets
import pyarrow as pa
from datasets.packaged_modules.webdataset.webdataset import WebDataset

from oochub.data.file_rows import FileRows, digest_files
from oochub.errors import OochubError
from oochub.storage.reading import check_tar_end

_IMAGES = frozenset(WebDataset.IMAGE_EXTENSIONS)
_NUMBERS = ("cls", "cls2", "index", "inx", "id")
_TEXTS = ("txt", "text", "transcript")
_RECORDS = ("json", "jsn")
_ROWS = 100
_BROKEN = (tarfile.TarError, OSError, EOFError, ValueError, IndexError, OverflowError, MemoryError, RecursionError)
_AGAIN = "Write it again."
_FIRST = re.compile(r"((?:.*/)?[^/.]+)\.([^/]+)")
_LAST = re.compile(r"((?:.*/)?[^/]+)\.([^/.]+)")


class _Member(NamedTuple):
    name: str
    archive: Path
    header: int
    offset: int
    size: int

    @property
    def place(self) -> str:
        return f"{self.name!r} at byte {self.header:,} of {self.archive}"


class _Sample(NamedTuple):
    """The files of a row."""

    key: str
    archive: Path
    fields: dict[str, _Member]

    @property
    def images(self) -> tuple[str, ...]:
        return tuple(sorted(field for field in self.fields if _get_suffix(field) in _IMAGES))


def find_tar_rows(name: str, splits: Mapping[str, Sequence[Path]]) -> tuple[FileRows | None, tuple[str, ...]]:
    """The rows of shards, and notes of what was left out; no rows where they hold something else than images.

    A key ends at the first dot of a name. If that gives no rows of one image each, it ends at the last.

    Args:
        name: What the data are called.
        splits: Archives of each split.

    Raises:
        OochubError: An archive that is damaged or cut off, with the place; a link, a file that is there twice, a row
            with several images or without one; a number or JSON that is none.
    """
    members = {split: [member for archive in own for member in _list_members(archive)] for split, own in splits.items()}
    bare = [member for own in members.values() for member in own if not _LAST.fullmatch(member.name)]
    has, are, more = ("has", "is", "") if len(bare) == 1 else ("have", "are", ", ...")
    count = f"{len(bare):,} file{'s' * (len(bare) != 1)} of the shards"
    notes = (f"{count} {has} no suffix and {are} left out: {bare[0].name}{more}",) if bare else ()
    named = {split: [member for member in own if _LAST.fullmatch(member.name)] for split, own in members.items()}
    samples = _group(named)
    kinds = {_get_suffix(field) for own in samples.values() for sample in own for field in sample.fields}
    if not kinds or not kinds & _IMAGES or kinds - _IMAGES - {*_NUMBERS, *_TEXTS, *_RECORDS}:
        return None, notes
    column = _find_image_columns(samples)
    columns: list[str] = []
    for field in (field for own in samples.values() for sample in own for field in sample.fields):
        if column.get(field, field) not in columns:
            columns.append(column.get(field, field))
    records, pictures = {}, dict.fromkeys(column.values())
    for field in (column for column in columns if column not in pictures):
        read = {split: _read_all([sample.fields.get(field) for sample in own]) for split, own in samples.items()}
        values = {
            split: [
                _read_value(content, sample.fields.get(field), field)
                for content, sample in zip(read[split], own, strict=True)
            ]
            for split, own in samples.items()
        }
        records[field] = _make_arrays(values, field)
    features = datasets.Features(
        {
            column: datasets.Image()
            if column in pictures
            else datasets.features.features.generate_from_arrow_type(next(iter(records[column].values())).type)
            for column in columns
        }
        | {"__key__": datasets.Value("string"), "__url__": datasets.Value("string")}
    )

    def tables(split: str) -> Iterator[pa.Table]:
        own = samples[split]
        for start in range(0, len(own), _ROWS):
            some = own[start : start + _ROWS]
            columns_read: dict[str, pa.Array] = {
                record: records[record][split][start : start + len(some)] for record in records
            }
            for picture in pictures:
                pictures_of = [
                    next((sample.fields[f] for f in sample.images if column[f] == picture), None) for sample in some
                ]
                paths = [None if member is None else member.name for member in pictures_of]
                arrays = [pa.array(_read_all(pictures_of), pa.binary()), pa.array(paths, pa.string())]
                columns_read[picture] = pa.StructArray.from_arrays(arrays, fields=list(features[picture].pa_type))
            columns_read["__key__"] = pa.array([sample.key for sample in some], pa.string())
            columns_read["__url__"] = pa.array([str(sample.archive) for sample in some], pa.string())
            yield pa.Table.from_arrays([columns_read[feature] for feature in features], schema=features.arrow_schema)

    files = [archive for own in splits.values() for archive in own]
    readers = {split: partial(tables, split) for split in splits}
    return FileRows(name, "webdataset", features, readers, state=digest_files(files, list(splits))), notes


def _list_members(archive: Path) -> Iterator[_Member]:
    """The files of an archive, after a look that it is whole and that each member can be a part of one row."""
    try:
        with tarfile.open(archive, "r:*") as opened:
            names: dict[str, int] = {}
            last = -1
            for member in opened:
                parts = member.name.removeprefix("./").split("/")
                where = f"{member.name!r} at byte {member.offset:,}"
                if member.name.startswith("/") or ".." in parts or "\\" in member.name:
                    raise OochubError(f"{archive} contains {where}, a path that points outside it. {_AGAIN}")
                if member.offset <= last or member.size < 0:
                    raise OochubError(f"{archive} is corrupted: the header of {where} points backwards. {_AGAIN}")
                last = member.offset
                if member.isdir() or any(part.startswith((".", "__")) for part in parts if part != "."):
                    continue
                if not member.isreg() or member.issparse():
                    raise OochubError(f"{archive} contains {where}, which is not a plain file. Pack plain files.")
                name = "/".join(part for part in parts if part != ".")
                if name in names:
                    raise OochubError(
                        f"{archive} contains {name!r} twice, at bytes {names[name]:,} and {member.offset:,}. Keep one."
                    )
                names[name] = member.offset
                yield _Member(name, archive, member.offset, member.offset_data, member.size)
            check_tar_end(opened, archive, again=_AGAIN)
    except OochubError:
        raise
    except _BROKEN as error:
        at = getattr(opened, "offset", 0) if "opened" in locals() else 0
        raise OochubError(
            f"{archive} is corrupted or not a tar archive: at byte {at:,}, {str(error).partition(':')[0]}. If it is "
            "compressed, but not by gzip, bzip2 or xz, decompress it. Else write it again."
        ) from error


def _get_suffix(field: str) -> str:
    return field.rpartition(".")[2].lower()


def _group(members: Mapping[str, Sequence[_Member]]) -> dict[str, list[_Sample]]:
    """The samples of each split by the rule that gives one image for each key, else as many for each."""
    first, last = ({split: _collect(own, rule) for split, own in members.items()} for rule in (_FIRST, _LAST))
    every = [sample for own in first.values() for sample in own]
    kinds = {sample.images for sample in every}
    is_plain = _has_one_image(first) and all(images_of[0] in _IMAGES for images_of in kinds)
    if is_plain or (len(kinds) == 1 and len(every) > 1 and not _are_keys(every)):
        return first
    if _has_one_image(last):
        return last
    if len(kinds) == 1:
        return first
    usual = max(kinds, key=lambda kind: sum(sample.images == kind for sample in every))
    odd = next(sample for sample in every if sample.images != usual)
    member = next(iter(odd.fields.values()))
    raise OochubError(
        f"The key {odd.key!r}, with {member.place}, has {_list(odd.images)}, but other keys have {_list(usual)}: these "
        "files are not one row per image. Give each key one image."
    )


def _has_one_image(samples: Mapping[str, Sequence[_Sample]]) -> bool:
    """Whether each sample has one image, and nothing but a suffix tells their names apart from their keys."""
    images = {sample.images for own in samples.values() for sample in own}
    return all(len(image) == 1 for image in images) and len({image[0].rpartition(".")[0] for image in images}) == 1


def _are_keys(samples: Sequence[_Sample]) -> bool:
    """Whether the words before the suffixes of several images belong to keys: numbers, or those of other files too."""
    words = {image.rpartition(".")[0] for sample in samples for image in sample.images}
    others = {field.rpartition(".")[0] for sample in samples for field in sample.fields if field not in sample.images}
    return bool(words & (others - {""})) or all(word.replace(".", "").isdigit() for word in words)


def _collect(members: Sequence[_Member], rule: "re.Pattern[str]") -> list[_Sample]:
    samples: dict[tuple[Path, str], _Sample] = {}
    for member in members:
        match = rule.fullmatch(member.name)
        key, field = (match[1], match[2].lower()) if match else (member.name, "")
        sample = samples.setdefault((member.archive, key), _Sample(key, member.archive, {}))
        if field in sample.fields:
            raise OochubError(f"{member.place} is the second {field} of the key {key!r}. Keep one.")
        sample.fields[field] = member
    return list(samples.values())


def _list(images: Sequence[str]) -> str:
    return f"{len(images)} images ({', '.join(images[:4])})" if images else "no image"


def _find_image_columns(samples: Mapping[str, Sequence[_Sample]]) -> dict[str, str]:
    """Field to column of images: one column where each row has one image, whatever its suffix."""
    images = {sample.images for own in samples.values() for sample in own}
    fields = sorted({field for image in images for field in image})
    if all(len(image) == 1 for image in images) and len(fields) > 1:
        return dict.fromkeys(fields, "image")
    return {field: field for field in fields}


def _read_value(content: bytes | None, member: _Member | None, field: str) -> object:
    if content is None or member is None:
        return None
    try:
        text = content.decode("utf-8")
        if _get_suffix(field) in _NUMBERS:
            return int(text)
        return text if _get_suffix(field) in _TEXTS else json.loads(text)
    except (ValueError, RecursionError) as error:
        what = "a number" if _get_suffix(field) in _NUMBERS else "text" if _get_suffix(field) in _TEXTS else "JSON"
        raise OochubError(f"{member.place} is not {what}: {str(error)[:120]}. {_AGAIN}") from error


def _read_all(members: Sequence[_Member | None]) -> list[bytes | None]:
    """The bytes of members; an archive is opened once for those that follow each other."""
    contents: list[bytes] = []
    present = [member for member in members if member is not None]
    for archive, several in groupby(present, key=lambda member: member.archive):
        with tarfile.open(archive, "r:*") as opened:
            assert opened.fileobj is not None  # noqa: S101  it is open
            for member in several:
                opened.fileobj.seek(member.offset)
                contents.append(opened.fileobj.read(member.size))
    left = iter(contents)
    return [None if member is None else next(left) for member in members]


def _make_arrays(values: Mapping[str, Sequence[object]], field: str) -> dict[str, pa.Array]:
    try:
        every = pa.array([value for own in values.values() for value in own])
    except (pa.ArrowException, OverflowError) as error:
        raise OochubError(
            f"The files .{field} of the shards do not have values of one kind: {str(error)[:160]}. {_AGAIN}"
        ) from error
    arrays, start = {}, 0
    for split, own in values.items():
        arrays[split] = every[start : start + len(own)]
        start += len(own)
    return arrays
