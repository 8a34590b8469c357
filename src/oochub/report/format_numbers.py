"""How a number is printed: one function for each kind; the reports keep full precision, only these round.

None and nan are undefined and print as "n/a"; the reason stands beside them, wherever the report gives one.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Protocol

UNDEFINED = "n/a"
ABSENT = "\u2013"
_MINUS = "\u2212"
_THIN = "\u202f"
SCALES = {"fraction": 100}
"""What numbers of a unit are multiplied with in print; those of other units stand as they are."""
_NOTHING = 1e-9  # differences below are the rounding of sums
_WHOLE = 1e-6  # a number of rows that is this near to a whole one is it
FEW = 20
"""Rows, or clusters, below which a share is said as how many of how many."""
_UNITS = {
    "correlation": "\u22121 to 1",
    "label": "in units of the label",
    "label squared": "in squared units of the label",
}


class Bounded(Protocol):
    """What has an interval, nan where there is none: an `Estimate`, a cell of a comparison."""

    @property
    def low(self) -> float:
        """The lower end."""

    @property
    def high(self) -> float:
        """The upper end."""


def is_undefined(value: float | None) -> bool:
    """True for None, nan and the infinities: what is printed as "n/a".

    >>> is_undefined(None), is_undefined(float("nan")), is_undefined(0.0)
    (True, True, False)
    """
    return value is None or not math.isfinite(float(value))


def is_zero(value: float | None) -> bool:
    """True for 0 and what is 0 but for the rounding of sums.

    >>> is_zero(0.0), is_zero(1e-17), is_zero(None), is_zero(float("nan"))
    (True, True, False, False)
    """
    return value is not None and abs(float(value)) < _NOTHING


def fraction(value: float | None) -> str:
    """Anything in [0, 1] as hundredths with one decimal; the unit stands once in the head of the column.

    >>> fraction(0.8114), fraction(None), fraction(-1e-17)
    ('81.1', 'n/a', '0.0')
    """
    return UNDEFINED if value is None or is_undefined(value) else _clean_sign(f"{100 * float(value):.1f}")


def _clean_sign(text: str) -> str:
    """A number in print with the true minus, and without one where it rounds to 0."""
    return text.removeprefix("-") if not text.strip("-0.") else text.replace("-", _MINUS)


def points(value: float | None, unit: str = "fraction") -> str:
    """A difference, always signed, with the true minus: fractions in points, else in the unit of the metric.

    One that would round to 0 has as many decimals as show that it is not; 0 itself has no sign.

    >>> points(-0.139), points(0.0021), points(0.0), points(-0.5, "correlation")
    ('−13.9', '+0.2', '0.0', '−0.500')
    >>> points(-0.0003), points(0.00004, "nats"), points(-1e-17)
    ('−0.03', '+0.00004', '0.0')
    """
    if value is None or is_undefined(value):
        return UNDEFINED
    sign, size = (_MINUS if value < 0 else "+"), abs(float(value))
    text = quantity(size, unit)
    if text.strip("0."):
        return f"{sign}{text}"
    shown = SCALES.get(unit, 1) * size
    return text if shown < _NOTHING else f"{sign}{shown:.{-math.floor(math.log10(shown))}f}"


def loss(value: float | None) -> str:
    """A loss in nats with three decimals.

    >>> loss(0.5118)
    '0.512'
    """
    return UNDEFINED if value is None or is_undefined(value) else _clean_sign(f"{float(value):.3f}")


def significant(value: float | None) -> str:
    """A number of any size with three significant decimals, whole above 100; powers of ten far from 1.

    >>> significant(0.05118), significant(-23.456), significant(1234.5), significant(2.5e-9), significant(0.0)
    ('0.0512', '−23.5', '1234', '2.50e−09', '0.00')
    """
    if value is None or is_undefined(value):
        return UNDEFINED
    size = math.floor(math.log10(abs(value))) if value else 0
    text = f"{value:.{max(2 - size, 0)}f}" if -5 < size < 7 else f"{value:.2e}"
    return text.replace("-", _MINUS)


def quantity(value: float | None, unit: str) -> str:
    """A value of a metric in the unit of its FACTS.

    >>> quantity(0.5, "fraction"), quantity(0.5, "nats"), quantity(-0.5, "correlation"), quantity(0.5, "label")
    ('50.0', '0.500', '−0.500', '0.500')
    """
    if unit == "fraction":
        return fraction(value)
    return significant(value) if unit.startswith(("label", "own")) else loss(value)


def has_interval(estimate: Bounded) -> bool:
    """True where both ends are numbers.

    >>> from oochub.stats.estimate import Estimate
    >>> has_interval(Estimate(0.5, n=3, method="none"))
    False
    """
    return not (is_undefined(estimate.low) or is_undefined(estimate.high))


def interval(estimate: Bounded, unit: str = "fraction") -> str:
    """The bounds as "low to high"; "" where the estimate has none.

    >>> from oochub.stats.estimate import Estimate
    >>> interval(Estimate(0.811, low=0.804, high=0.818, n=536, method="delong"))
    '80.4 to 81.8'
    """
    return f"{quantity(estimate.low, unit)} to {quantity(estimate.high, unit)}" if has_interval(estimate) else ""


def interval_points(estimate: Bounded, unit: str = "fraction") -> str:
    """The bounds of a difference, both signed; "" where the estimate has none.

    >>> from oochub.stats.estimate import Estimate
    >>> interval_points(Estimate(-0.021, low=-0.044, high=0.002, n=536, method="bootstrap"))
    '−4.4 to +0.2'
    """
    return f"{points(estimate.low, unit)} to {points(estimate.high, unit)}" if has_interval(estimate) else ""


def count(value: int) -> str:
    r"""A count with a thin no-break space by thousands.

    >>> count(12034) == "12\u202f034"
    True
    """
    return f"{int(value):,}".replace(",", _THIN)


def counts_in_text(text: str) -> str:
    r"""The text with its free-standing integers of five digits and more set as counts; ids with a leading 0 stay.

    >>> counts_in_text("partial: 76 of 123287 images, id 000000012345") == (
    ...     "partial: 76 of 123\u202f287 images, id 000000012345")
    True
    """
    return re.sub(r"(?<![\w./:-])[1-9]\d{4,}(?![\w/:-]|\.\d)", lambda match: count(int(match[0])), text)


def whole_points(value: float, unit: str = "fraction") -> str:
    """A declared size without needless decimals: a fraction in points, else in the unit of the metric.

    >>> whole_points(0.02), whole_points(0.025), whole_points(1 / 3), whole_points(0.02, "correlation")
    ('2', '2.5', '33.3', '0.02')
    """
    size = 100 * float(value) if unit == "fraction" else float(value)
    return f"{size:.6g}" if abs(size) >= 1000 else f"{size:.3g}"


def points_word(unit: str) -> str:
    """What follows a difference in a sentence: " points" where it is one of fractions.

    >>> points_word("fraction"), points_word("correlation")
    (' points', '')
    """
    return " points" if unit == "fraction" else ""


def p_value(value: float | None) -> str:
    """A p-value with two figures.

    >>> p_value(0.0312), p_value(0.0002)
    ('p = 0.031', 'p < 0.001')
    """
    if value is None or is_undefined(value):
        return UNDEFINED
    return "p < 0.001" if value < 0.001 else f"p = {float(value):.2g}"


def times_in_100(first: float, second: float) -> tuple[str, str]:
    """Two fractions for a sentence, "times in 100": whole, with one decimal where both would round alike, or to all.

    >>> times_in_100(1.0, 1.0), times_in_100(0.65, 0.65)
    (('100', '100'), ('65.0', '65.0'))
    >>> times_in_100(0.95, 0.811), times_in_100(0.951, 0.953), times_in_100(0.998, 0.7), times_in_100(1.0, 0.7)
    (('95', '81'), ('95.1', '95.3'), ('99.8', '70'), ('100', '70'))
    """
    whole = (_clean_sign(f"{100 * float(first):.0f}"), _clean_sign(f"{100 * float(second):.0f}"))
    if whole[0] == whole[1] and not (first == second and first in (0, 1)):
        return fraction(first), fraction(second)
    exact = (first in (0, 1), second in (0, 1))
    one, other = (
        fraction(value) if text in ("0", "100") and not is_exact else text
        for value, text, is_exact in zip((first, second), whole, exact, strict=True)
    )
    return one, other


def right_times(first: float, second: float, rows: Sequence[int], *, is_few: bool = False) -> tuple[str, str]:
    """Two shares of right answers in a sentence; of fewer than 20 rows, or if it is said, how many of how many.

    Args:
        first: One share, in [0, 1].
        second: The other one.
        rows: Rows of each.
        is_few: Whether either is of few clusters, however many rows these have.

    >>> right_times(0.95, 0.811, (40, 50)), right_times(1.0, 0.5, (3, 50)), right_times(0.51, 0.9, (9, 9))
    (('95 times in 100', '81 times'), ('3 of 3 times', '25 of 50 times'), ('about 5 of 9 times', 'about 8 of 9 times'))
    """
    if min(rows) >= FEW and not is_few:
        one, other = times_in_100(first, second)
        return f"{one} times in 100", f"{other} times"
    right = [(share * n, n) for share, n in zip((first, second), rows, strict=True)]
    one, other = (
        f"{'' if abs(times - round(times)) < _WHOLE else 'about '}{count(round(times))} of {count(n)} times"
        for times, n in right
    )
    return one, other


def span(counts: Iterable[int]) -> str:
    """How many rows, where they may differ: the least to the most.

    >>> span([200, 40, 100]), span([40, 40])
    ('40 to 200', '40')
    """
    distinct = sorted(counts)
    return count(distinct[0]) if distinct[0] == distinct[-1] else f"{count(distinct[0])} to {count(distinct[-1])}"


def arrow(direction: str) -> str:
    """↑ where higher is better, ↓ where lower is, "" where neither.

    >>> arrow("higher"), arrow("lower"), arrow("none")
    ('↑', '↓', '')
    """
    return {"higher": "↑", "lower": "↓"}.get(direction, "")


def unit_of(metric: str, unit: str) -> str:
    """What stands after a metric's name in a head: "× 100" for areas and scores, "%" for shares, "nats".

    >>> unit_of("auc", "fraction"), unit_of("error_rate", "fraction"), unit_of("nll", "nats")
    ('× 100', '%', 'nats')
    >>> unit_of("pearson", "correlation"), unit_of("mean_absolute_error", "label")
    ('−1 to 1', 'in units of the label')
    """
    if unit != "fraction":
        return _UNITS.get(unit, unit)
    return "%" if re.search(r"(accuracy|error_rate|ece|fpr\d*)$", metric) else "\u00d7 100"


def _make_plural(noun: str) -> str:
    if noun.endswith(("s", "x", "z", "ch", "sh")):
        return f"{noun}es"
    return f"{noun[:-1]}ies" if re.search("[^aeiou]y$", noun) else f"{noun}s"


def seeds(values: Sequence[int], example: str = "example") -> str:
    """What the interval covers.

    >>> seeds([0, 1, 2]), seeds([0], "patch")
    ('3 seeds', '1 seed: the interval covers variation over test patches, not over training runs')
    """
    if len(values) > 1:
        return f"{len(values)} seeds"
    return (
        f"{'1 seed' if values else 'one model'}: the interval covers variation over test {_make_plural(example)}, "
        "not over training runs"
    )
