"""What came of each case of a campaign, a line of JSON each in a folder, and their table.

`OOCHUB_FUZZ_SEED` is the seed of the cases that are drawn, else a new one for each session; `OOCHUB_FUZZ_RECORD` the
folder, else one of the session. A case that is on record there with the same seed and without a fault is not run again.
"""

import json
import os
import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

SEED, FOLDER = "OOCHUB_FUZZ_SEED", "OOCHUB_FUZZ_RECORD"
TRACEBACK, HANG, WRONG, UNCLEAR = "TRACEBACK", "HANG", "WRONG", "UNCLEAR"
OUTCOMES = ("refused", "same", "said", "changed", TRACEBACK, HANG, WRONG, UNCLEAR)
"""A clear error; the numbers of the unchanged artifact; others with a word of it; others that a plain count gives too;
a traceback; no end; numbers that a plain count does not give, without a word; an error that names nothing, a file that
is left of what was refused, an artifact that reading changed."""


@dataclass
class Record:
    """A case, and what came of it."""

    reader: str
    change: str
    case: str
    seed: str
    done: str
    outcome: str = TRACEBACK
    why: str = ""


_own: list[str] = []


def begin() -> None:
    """Settles seed and folder for this session and the processes that it starts."""
    os.environ.setdefault(SEED, str(random.SystemRandom().randrange(10**6)))
    if FOLDER not in os.environ:
        os.environ[FOLDER] = tempfile.mkdtemp(prefix="oochub-campaign-")
        _own.append(os.environ[FOLDER])


def end() -> None:
    """Removes a folder that `begin` made here."""
    while _own:
        shutil.rmtree(_own.pop(), ignore_errors=True)


@contextmanager
def recorded(reader: str, change: str, case: str, seed: str, done: str) -> Iterator[Record]:
    """The record of a case, written when it ends, however it ends."""
    record = Record(reader, change, case, seed, done)
    try:
        yield record
    except BaseException as error:
        record.why = f"{type(error).__name__}: {error}"[:600]
        raise
    finally:
        folder = Path(os.environ[FOLDER])
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f"{os.getpid()}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(asdict(record)) + "\n")


def is_done(reader: str, case: str, seed: str) -> bool:
    """Whether a case with this seed was put on record by an earlier session, without a fault."""
    return bool(os.environ[SEED] == seed and (reader, case, seed) in _earlier())


@cache
def _earlier() -> frozenset[tuple[str, str, str]]:
    return frozenset((each.reader, each.case, each.seed) for each in records() if each.outcome in OUTCOMES[:4])


def records() -> list[Record]:
    """What lies in the folder; of a case that was run again the last record."""
    found = {}
    for file in sorted(Path(os.environ[FOLDER]).glob("*.jsonl"), key=lambda path: path.stat().st_mtime):
        for line in file.read_text("utf-8").splitlines():
            record = Record(**json.loads(line))
            found[record.reader, record.case, record.seed] = record
    return list(found.values())


def table() -> list[str]:
    """The lines of the table: readers, the classes of change of each, how many cases had which outcome."""
    counts: Counter[tuple[str, str, str]] = Counter()
    for each in records():
        for reader, change in ((each.reader, each.change), (each.reader, ""), ("all", "")):
            counts[reader, change, each.outcome] += 1
    if not counts:
        return []
    lines = [f"{'reader':<24}{'change':<24}" + "".join(f"{outcome:>10}" for outcome in (*OUTCOMES, "cases"))]
    for reader, change in sorted({key[:2] for key in counts}, key=lambda key: (key[0] == "all", *key)):
        row = [counts[reader, change, outcome] for outcome in OUTCOMES]
        lines.append(f"{reader:<24}{change or 'all':<24}" + "".join(f"{n or '.':>10}" for n in (*row, sum(row))))
    place = "" if _own else f", on record in {os.environ[FOLDER]}"
    return [*lines, f"seed {os.environ[SEED]}{place}"]
