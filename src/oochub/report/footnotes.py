"""What limits a number stands with it: a mark behind its interval and one line below the table, or words in brackets.

An `Estimate` says in `reason` why it has no interval, or what is wrong with the one that it has ("only 5 clusters: the
interval may be too narrow"). Every form prints intervals through this file, so that none leaves the reason out.
"""

import re
from collections.abc import Iterable
from itertools import product
from typing import Protocol

from oochub.records.table import MARKS
from oochub.report import format_numbers, wording
from oochub.stats.estimate import Estimate

_EVERY: tuple[str, ...] = (*MARKS, *map("".join, product(MARKS, repeat=2)))
_LONGEST = 400  # of a reason
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[-+]?\d+)?")
_COUNTED = re.compile(r"(?:only|count as) (\d+) (?:rows|clusters|of equal size)")
SIMULTANEOUS = "simultaneous"
"""How the method of an interval over several groups begins, see `oochub.stats.group_intervals`."""


class Limited(Protocol):
    """What may have a reason: an `Estimate`, a cell of a comparison."""

    @property
    def reason(self) -> str | None:
        """What limits it; None if nothing does."""


class Footnotes:
    r"""The marks of one table. Reasons that differ in their numbers alone share a mark, and the line gives the range.

    >>> from oochub.stats.estimate import Estimate
    >>> few = [Estimate(0.5, low=0.1, high=0.9, n=n, method="t", reason=f"only {n} rows: be careful") for n in (9, 12)]
    >>> notes = Footnotes()
    >>> notes.below(few[0]), notes.below(few[1]), notes.lines
    ('10.0 to 90.0ᵃ', '10.0 to 90.0ᵃ', ('ᵃ only 9 to 12 rows: be careful.',))
    """

    def __init__(self) -> None:
        self._reasons: dict[tuple[str, ...], list[list[str]]] = {}

    def mark(self, limited: Limited) -> str:
        """The marks of what limits a number; "" where nothing does."""
        if not limited.reason:
            return ""
        return "".join(dict.fromkeys(map(self._mark, limited.reason.split("; "))))

    def below(self, estimate: Estimate, unit: str = "fraction", *, signed: bool = False) -> str:
        """What stands below a value: its interval with its marks, or why it has none."""
        ends = _format_ends(estimate, unit, signed=signed)
        return f"{ends}{self.mark(estimate)}" if ends else describe_reason(estimate)

    def cell(self, estimate: Estimate | None, unit: str = "fraction", *, signed: bool = False) -> str:
        """A cell of a table: the value, a line feed, and its interval or why it has none; a dash for no number.

        Args:
            estimate: The number.
            unit: Unit of the number's metric.
            signed: Whether it is a difference.
        """
        if estimate is None:
            return format_numbers.ABSENT
        value = format_numbers.points(estimate, unit) if signed else format_numbers.quantity(estimate, unit)
        return f"{value}\n{self.below(estimate, unit, signed=signed)}"

    @property
    def lines(self) -> tuple[str, ...]:
        """What each mark means, in the order of the marks, for below the table."""
        return tuple(
            f"{mark} {_join_reasons(texts, reasons)}."
            for mark, (texts, reasons) in zip(_EVERY, self._reasons.items(), strict=False)
        )

    def _mark(self, reason: str) -> str:
        ((texts, reasons),) = _group_alike([reason]).items()
        self._reasons.setdefault(texts, []).extend(reasons)
        return _EVERY[min(list(self._reasons).index(texts), len(_EVERY) - 1)]


def describe_interval(
    estimate: Estimate, unit: str = "fraction", *, signed: bool = False, also: str = "", level: str = "95% interval "
) -> str:
    """An interval inside the brackets of a sentence, and what limits it; or why there is none.

    Args:
        estimate: Estimate that the interval belongs to.
        unit: Unit of the estimate's metric.
        signed: Whether it is a difference.
        also: What is said of the interval, right behind its ends.
        level: What stands before them; "" where the surroundings say it.

    >>> describe_interval(Estimate(0.5, low=0.1, high=0.9, n=9, method="t", reason="only 9 rows: be careful"))
    '95% interval 10.0 to 90.0; only 9 rows: be careful'
    >>> describe_interval(Estimate(0.5, n=1, method="t", reason="one row only"))
    'no interval: one row only'
    """
    ends = _format_ends(estimate, unit, signed=signed)
    if ends:
        return f"{level}{', '.join(filter(None, (ends, also)))}{find_reason(estimate)}"
    return f"no interval: {describe_reason(estimate)}" if estimate.reason else "no interval"


def simultaneous(estimate: Estimate) -> str:
    """Over how many groups an interval holds at once, as its method says; "" for the interval of one number alone.

    >>> simultaneous(Estimate(0.4, n=9, method="Clopper and Pearson, simultaneous over 4 groups"))
    'simultaneous over 4 groups'
    """
    return next((part for part in estimate.method.split(", ") if part.startswith(SIMULTANEOUS)), "")


def are_few(estimates: Iterable[Estimate]) -> bool:
    """Whether one of several shares is of too few rows, or clusters, to be said as so many times in 100.

    >>> few = "36 clusters count as 9 of equal size: the interval may be too narrow"
    >>> [are_few([Estimate(0.5, n=n, method="", reason=why)]) for n, why in ((90, None), (19, None), (90, few))]
    [False, True, True]
    """
    return any(
        estimate.n < format_numbers.FEW
        or "one cluster only" in (estimate.reason or "")
        or any(int(n) < format_numbers.FEW for n in _COUNTED.findall(estimate.reason or ""))
        for estimate in estimates
    )


def find_reason(estimate: Estimate) -> str:
    """What limits an interval that was said, as its continuation: "; only 5 clusters: ..."; "" where nothing does."""
    return f"; {describe_reason(estimate)}" if estimate.reason else ""


def describe_reason(estimate: Estimate) -> str:
    """Why an estimate has no interval, or what limits it, on one line; what differs in its numbers alone is said once.

    >>> describe_reason(Estimate(0.5, n=9, method="", reason="only 3 clusters: careful; only 7 clusters: careful"))
    'only 3 to 7 clusters: careful'
    >>> describe_reason(Estimate(0.5, n=9, method="", reason="p = 0.17; p = 0.5; p = 0.09"))
    'p = 0.09 to 0.5'
    """
    return "; ".join(
        map(_join_reasons, *zip(*_group_alike((estimate.reason or "no interval").split("; ")).items(), strict=True))
    )


def _format_ends(estimate: Estimate, unit: str, *, signed: bool) -> str:
    return format_numbers.interval_points(estimate, unit) if signed else format_numbers.interval(estimate, unit)


def _group_alike(reasons: list[str]) -> dict[tuple[str, ...], list[list[str]]]:
    """Reasons by their text without its numbers, and the numbers of each."""
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    for reason in (wording.name(text, _LONGEST) for text in reasons):
        alike.setdefault(tuple(_NUMBER.split(reason)), []).append(_NUMBER.findall(reason))
    return alike


def _join_reasons(texts: tuple[str, ...], found: list[list[str]]) -> str:
    """The reasons of one mark in one: where their numbers differ, the least to the most."""
    spans = (sorted(set(column), key=lambda text: float(text.replace(",", ""))) for column in zip(*found, strict=True))
    words = [span[0] if len(span) == 1 else f"{span[0]} to {span[-1]}" for span in spans]
    return texts[0] + "".join(word + text for word, text in zip(words, texts[1:], strict=True))
