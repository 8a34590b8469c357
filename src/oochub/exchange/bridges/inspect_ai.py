"""inspect_ai: its logs, .eval and .json, as answers of a model that writes.

Members of a ZIP archive that nobody vouches for: read into memory one by one, bounded, never extracted.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import pyarrow as pa

from oochub.errors import OochubError
from oochub.exchange.bridge import Bridge, BridgedAnswers
from oochub.exchange.logged_answers import WrittenRow, match_rows, tabulate_rows
from oochub.storage.reading import check_regular_file, parse_json, read_json

if TYPE_CHECKING:
    import datasets

_ZSTANDARD = 93  # of APPNOTE.TXT; Python's zipfile reads it from 3.14 on
_LARGEST = 1 << 28  # bytes of a member
_LIGHT, _TIMES = 1 << 30, 100  # bytes of all members, and as many as the file has where that is more
_LOCAL_HEADER = 30  # bytes
_ENCRYPTED = 1
_FAULTS = (BadZipFile, OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zlib.error, pa.ArrowException)


_ZIP = b"PK\x03\x04"
_Document = Mapping[str, object]  # of JSON


def _iterate_members(path: Path, *, prefix: str = "", suffix: str = "") -> Iterator[tuple[str, bytes]]:
    """The names and contents of members, in the order of the archive; of a name twice, the last one.

    Stored, deflated and Zstandard members are read.

    Args:
        path: The archive.
        prefix: Only members whose names begin so.
        suffix: Only members whose names end so.

    Raises:
        OochubError: No archive, one that is damaged, encrypted or of another compression, a member above 256 MiB,
            or members that expand to more than 1 GiB and a hundred times the archive.
    """
    check_regular_file(path)
    try:
        with ZipFile(path) as archive, path.open("rb") as raw:
            chosen = {entry.filename: entry for entry in archive.infolist()}
            wanted = [entry for name, entry in chosen.items() if name.startswith(prefix) and name.endswith(suffix)]
            largest = max(_LIGHT, _TIMES * path.stat().st_size)
            total = sum(entry.file_size for entry in wanted)
            if total > largest or any(entry.file_size > _LARGEST for entry in wanted):
                raise OochubError(
                    f"{path} is not read: its members expand to {total / 1e6:,.0f} MB. Write it again, or split it."
                )
            for entry in wanted:
                yield entry.filename, _read_member(archive, raw, entry)
    except _FAULTS as error:
        raise OochubError(f"{path} is not a complete ZIP archive: {error}. Write or download it again.") from error


def _read_member(archive: ZipFile, raw: BinaryIO, member: ZipInfo) -> bytes:
    """The content of a member, as long as the archive says and no longer."""
    if member.flag_bits & _ENCRYPTED:
        raise ValueError(f"{member.filename} is encrypted")
    if member.compress_type in (ZIP_STORED, ZIP_DEFLATED):
        with archive.open(member) as file:
            content = file.read(member.file_size + 1)
    elif member.compress_type == _ZSTANDARD:
        content = _read_zstandard(raw, member)
    else:
        raise ValueError(f"{member.filename} is compressed in the way {member.compress_type}")
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise ValueError(f"{member.filename} is not what the archive says of it")
    return content


def _read_zstandard(raw: BinaryIO, member: ZipInfo) -> bytes:
    raw.seek(member.header_offset)
    header = raw.read(_LOCAL_HEADER)
    if len(header) < _LOCAL_HEADER or header[:4] != b"PK\x03\x04":
        raise ValueError(f"{member.filename} is not where the archive says")
    raw.seek(int.from_bytes(header[26:28], "little") + int.from_bytes(header[28:30], "little"), 1)
    packed = raw.read(member.compress_size)
    if not packed:
        return b""
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        return bytes(stream.read(member.file_size + 1))


class InspectAi(Bridge):
    """Reads a log of `inspect eval`: of each sample the answer that its first scorer found, else the completion.

    A letter stands for the choice of the sample; other text is compared with the classes or options as the answers of
    `--mode generate` are. Samples that ended in an error are none of the classes. The first of several epochs counts.

    Source: inspect_ai, Log Files; `EvalLog` and `EvalSample` of inspect_ai.log.
    """

    title = "inspect_ai"
    answers = "a log of inspect_ai (.eval or .json)"

    def recognizes(self, path: Path, head: bytes) -> bool:
        """See `Bridge.recognizes`; a log in JSON begins with its version and status, then `eval`."""
        if path.suffix.lower() == ".eval":
            return head.startswith(_ZIP)
        keys = (b'"version"', b'"status"', b'"eval"')
        return path.suffix.lower() == ".json" and all(key in head[:4096] for key in keys)

    def read(self, path: Path, model: str | None) -> BridgedAnswers:
        """See `Bridge.read`."""
        header, samples = _read_log(path)
        told = header.get("eval")
        name = told.get("model") if isinstance(told, dict) else None
        first = [sample for sample in samples if sample.epoch == 1]
        if not first:
            raise OochubError(
                f"{path} has no samples. Write a log with samples: inspect eval without --no-log-samples."
            )
        notes = []
        if header.get("status") != "success":
            notes.append(f"the evaluation of {path.name} did not end well: its status is {header.get('status')!s:.40}")
        if len(first) < len(samples):
            epochs = max(sample.epoch for sample in samples)
            notes.append(f"of {epochs} epochs of {path.name}, the first is scored")
        failed = sum(sample.failed for sample in first)
        if failed:
            notes.append(f"{failed:,} of {len(first):,} samples ended in an error; they count as none of the classes")
        table = tabulate_rows([sample.row for sample in first])
        return BridgedAnswers(table, name if isinstance(name, str) and name else None, tuple(notes))

    def fit(self, answers: BridgedAnswers, data: "Mapping[str, datasets.Dataset]") -> BridgedAnswers:
        """See `Bridge.fit`: written answers become predictions."""
        return match_rows(answers, data)


class _Sample:
    """A sample of a log: its row, its epoch, and whether it ended in an error."""

    def __init__(self, content: object, place: str) -> None:
        if not isinstance(content, dict):
            raise OochubError(f"{place} is not a sample of a log of inspect_ai. Write the log again.")
        name, epoch, told = content.get("id"), content.get("epoch"), content.get("metadata")
        if isinstance(told, dict) and isinstance(told.get("example_id"), str):
            name = told["example_id"]  # of a log that oochub wrote, whose ids are numbers
        if not isinstance(name, str | int) or isinstance(name, bool) or not isinstance(epoch, int):
            raise OochubError(f"{place} has no id and epoch. Write the log again.")
        choices, target = content.get("choices"), content.get("target")
        is_listed = isinstance(choices, list) and all(isinstance(choice, str) for choice in choices)
        if choices is not None and not is_listed:
            raise OochubError(f"The choices of {place} are no list of texts. Write the log again.")
        if isinstance(target, list) and len(target) == 1:
            target = target[0]
        self.epoch, self.failed = epoch, content.get("error") is not None
        self.row = WrittenRow(
            id=name,
            answer=None if self.failed else _find_answer(content, place),
            choices=choices if is_listed else None,
            target=target if isinstance(target, str) else None,
            right=None if self.failed else _find_score(content),
        )


def _find_answer(content: _Document, place: str) -> str | None:
    """What the first scorer that says so took for the answer, else what the model wrote."""
    scores, output = content.get("scores"), content.get("output")
    for score in scores.values() if isinstance(scores, dict) else ():
        answer = score.get("answer") if isinstance(score, dict) else None
        if isinstance(answer, str):
            return answer
    if not isinstance(output, dict):
        raise OochubError(f"{place} has neither the answer of a scorer nor an output. Write the log again.")
    completion = output.get("completion")
    if isinstance(completion, str):
        return completion
    choices = output.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    text = message.get("content") if isinstance(message, dict) else None
    if isinstance(text, list):
        parts = [part.get("text") for part in text if isinstance(part, dict)]
        text = "\n".join(part for part in parts if isinstance(part, str))
    return text if isinstance(text, str) else None


_VERDICTS = {"C": True, "I": False, 1: True, 0: False}  # of its scorers, also 1.0, True and their likes


def _find_score(content: _Document) -> bool | None:
    """Whether the first scorer says that the sample is right; None if its value is another, such as "P" or .5."""
    scores = content.get("scores")
    first = next(iter(scores.values()), None) if isinstance(scores, dict) else None
    value = first.get("value") if isinstance(first, dict) else None
    return _VERDICTS.get(value) if isinstance(value, str | int | float) else None


def _read_log(path: Path) -> tuple[_Document, Sequence[_Sample]]:
    """The header of a log, and its samples."""
    if path.suffix.lower() != ".eval":
        content = read_json(path)
        listed = content.get("samples") if isinstance(content, dict) else None
        if not isinstance(listed, list):
            raise OochubError(f"{path} has no list of samples. Write a log with samples.")
        return content, [_Sample(sample, f"sample {number} of {path}") for number, sample in enumerate(listed)]
    headers = {name: parse_json(content, name=f"{path}: {name}") for name, content in _iterate_headers(path)}
    header = headers.get("header.json", headers.get("_journal/start.json"))
    if not isinstance(header, dict):
        raise OochubError(f"{path} has no header. Write the log again.")
    members = _iterate_members(path, prefix="samples/", suffix=".json")
    samples = [_Sample(parse_json(content, name=f"{path}: {name}"), f"{name} of {path}") for name, content in members]
    return header, samples


def _iterate_headers(path: Path) -> Iterator[tuple[str, bytes]]:
    for name in ("header.json", "_journal/start.json"):
        yield from _iterate_members(path, prefix=name, suffix=name)
