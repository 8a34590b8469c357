"""Cases that are drawn by a seed: a change of a class each, in turn, of every reader."""

import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from random import Random

import pytest
from fuzz_case import CHANGED, SAFE, Case, Format

Change = Callable[[Path, Random], str]
"""Draws one change, makes it in the artifact's folder and says what it did."""
SEED, NUMBER = "OOCHUB_FUZZ_SEED", "OOCHUB_FUZZ_CASES"
_NUMBER = 80
_EVERY_DAY = "every day"


@dataclass(frozen=True, kw_only=True)
class Reader:
    """A format, with the classes of changes that are drawn of it.

    Attributes:
        kind: The format.
        changes: Class of change to what draws one.
        share: Of the usual number of cases; less of a reader that is slow.
        expect: The outcomes that a change may have.
    """

    kind: Format
    changes: Mapping[str, Change]
    share: float = 1.0
    expect: frozenset[str] = SAFE | {CHANGED}


def fresh(readers: Iterable[Reader]) -> list[object]:
    """The parameters `kind, case` of a campaign.

    `OOCHUB_FUZZ_CASES` of each reader, else 80, by the seed `OOCHUB_FUZZ_SEED`.
    """
    number = int(os.environ.get(NUMBER, _NUMBER))
    return _drawn(readers, lambda reader: max(1, round(number * reader.share)), os.environ[SEED])


def every_day(readers: Iterable[Reader], *, number: int = 2) -> list[object]:
    """A few parameters `kind, case` of each reader, always the same."""
    return _drawn(readers, lambda _: number, _EVERY_DAY)


def _drawn(readers: Iterable[Reader], number: Callable[[Reader], int], seed: str) -> list[object]:
    return [
        pytest.param(reader.kind, _case(reader, k, seed), id=f"{reader.kind.name} {k}")
        for reader in readers
        for k in range(number(reader))
    ]


def _case(reader: Reader, number: int, seed: str) -> Case:
    """The case of that number; its change is drawn when it is made, so that workers of a session collect it alike."""
    change, draw = list(reader.changes.items())[number % len(reader.changes)]
    return Case(
        name=f"{change} {number}",
        mutate=lambda folder: draw(folder, Random(f"{seed} {reader.kind.name} {number}")),
        expect=reader.expect,
    )
