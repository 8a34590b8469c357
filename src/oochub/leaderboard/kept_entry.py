"""What is kept of an entry: the outcome of its check, found by the state of its files before any is read, and its page.

All lies in `$OOCHUB_CACHE/checks`. `<digest>.json` is the outcome for a report and predictions of these bytes,
`<digest>.values` what its number out of context is made of. `<state>.mark` says which digest the files of a folder had
when their names, sizes and times were these. `<key>.page` is the page of an outcome at its place on a board.
"""

import hashlib
import json
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from oochub.errors import OochubError, OochubWarning
from oochub.leaderboard.recomputation import RESAMPLES, SEED, Recomputation, Recomputed
from oochub.records.schema import from_json, to_json
from oochub.stats.paired_values import pack_values, unpack_values
from oochub.storage.cache_folder import cache_folder
from oochub.storage.code_digest import digest_code
from oochub.storage.file_state import FRESH, describe_state, walk_entries
from oochub.storage.files import write_whole
from oochub.storage.kept_content import digest_content
from oochub.storage.reading import NUMPY_FAULTS, read_json

if TYPE_CHECKING:
    from oochub.leaderboard.benchmark_rows import BenchmarkRows

_BLOCK = 1 << 22


class KeptEntry:
    """What was found out about the files of a folder at an earlier time.

    Args:
        folder: Folder of the entry; none of its files is opened here.
        own: The benchmarks' own rows by name and config, where they are known.
    """

    def __init__(self, folder: Path, own: "Mapping[tuple[str, str], BenchmarkRows]") -> None:
        self._own = own
        self._state = _describe_folder(folder)
        self._mark = cache_folder("checks") / f"{_digest([_know_code(), self._state])}.mark"

    def find(self) -> tuple[str, Recomputed] | None:
        """The digest and the outcome of a folder whose files are as they were; None for any other.

        A file counts as it was if its size and both its times are the same; the second one is the system's own.
        """
        if self._state is None:
            return None
        try:
            said = read_json(self._mark)
            digest, place = str(said["digest"]), tuple(said["place"])
            if said["own"] != _digest_rows(self._own.get(place)):
                return None
            outcome = find_outcome(digest)
            if outcome is not None:
                self._mark.touch()
        except (OochubError, OSError, KeyError, TypeError):  # none, or one that is not whole
            return None
        return None if outcome is None else (digest, outcome)

    def keep(self, digest: str, place: tuple[str, str]) -> None:
        """Notes the digest that the files have.

        Args:
            digest: What `digest_entry` gives for them.
            place: Benchmark and config of the report.
        """
        if self._state is not None:
            said = {"digest": digest, "place": place, "own": _digest_rows(self._own.get(place))}
            with suppress(OochubError), write_whole(self._mark) as draft:  # the next run reads the files again
                draft.write_text(json.dumps(said), "utf-8")


def digest_entry(files: Sequence[Path], own: "BenchmarkRows | None") -> str:
    """A digest of the bytes of report and predictions, of the benchmark's own rows, and of what checks them.

    Args:
        files: The report and the files of predictions, or folders of parts.
        own: The benchmark's own rows, where they are known.
    """
    digest = hashlib.sha256(json.dumps([_know_code(), _digest_rows(own)]).encode())
    for file in files:
        for part in sorted(file.rglob("*")) if file.is_dir() else [file]:
            if part.is_file():
                digest.update(f"\0{part.name}\0{part.stat().st_size}\0".encode("utf-8", "surrogateescape"))
                with part.open("rb") as content:
                    while block := content.read(_BLOCK):
                        digest.update(block)
    return digest.hexdigest()[:32]


def find_outcome(digest: str) -> Recomputed | None:
    """The outcome for files of a digest, if it is in the cache and whole."""
    kept = cache_folder("checks") / f"{digest}.json"
    try:
        found = from_json(Recomputation, read_json(kept), what=str(kept))
        values = None if found.reason else unpack_values(_read_sealed(kept.with_suffix(".values")) or b"")
        kept.touch()
    except (OochubError, *NUMPY_FAULTS):
        return None
    return Recomputed(found, values)


def keep_outcome(digest: str, found: Recomputed) -> None:
    """Keeps an outcome.

    Warns:
        OochubWarning: The cache cannot be written.
    """
    kept = cache_folder("checks") / f"{digest}.json"
    try:
        _write_sealed(kept.with_suffix(".values"), pack_values(found.values))
        with write_whole(kept) as draft:
            draft.write_text(json.dumps(to_json(found.outcome)), "utf-8")
    except OochubError as error:
        warnings.warn(f"The check could not be cached. {error}", OochubWarning, stacklevel=4)


def make_page_once(made_of: Sequence[object], make: Callable[[], str]) -> str:
    """The page of an entry from the cache, if it is there and whole; else it is made and kept.

    Args:
        made_of: JSON types that decide its content, besides our code.
        make: Makes it.
    """
    kept = cache_folder("checks") / f"{_digest([_know_code(), *made_of])}.page"
    with suppress(OSError, UnicodeDecodeError):
        page = _read_sealed(kept)
        if page is not None:
            kept.touch()
            return page.decode()
    made = make()
    with suppress(OochubError):
        _write_sealed(kept, made.encode())
    return made


def _write_sealed(file: Path, content: bytes) -> None:
    """Writes some bytes behind a digest of them."""
    with write_whole(file) as draft:
        draft.write_bytes(digest_content(content).encode() + b"\n" + content)


def _read_sealed(file: Path) -> bytes | None:
    """The bytes behind their digest; None where they are not those."""
    seal, _, content = file.read_bytes().partition(b"\n")
    return content if seal == digest_content(content).encode() else None


@cache
def _know_code() -> list[object]:
    return [digest_code(".jinja", ".css", ".js"), RESAMPLES, SEED]


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _digest_rows(own: "BenchmarkRows | None") -> str:
    return own.digest if own else ""


def _describe_folder(folder: Path) -> list[str] | None:
    """The path, size and times of each file of an entry; None if that cannot tell one content from another."""
    try:
        entries = sorted(walk_entries(folder), key=lambda entry: entry.path)
        if any(entry.is_symlink() and entry.is_dir() for entry in entries):  # its files lie elsewhere
            return None
        listed = [f"{entry.path} {describe_state(entry.path)}" for entry in entries]
        latest = max(int(line.rpartition(" ")[2]) for line in listed)
    except (OSError, ValueError):  # a file that cannot be looked at
        return None
    return None if latest > (time.time() - FRESH) * 1e9 else listed  # it may change again within one time of change
