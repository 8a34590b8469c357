"""What is said of places that paired tests allow: by `oochub compare` of many models, and by a leaderboard."""

from oochub.report import format_numbers
from oochub.stats.paired_places import POWER


def describe_pairs(clear: int, pairs: int, rows: int, test: str, *, unit: str = "rows") -> str:
    """How many pairs differ clearly, by what test, and what the ranges of places hold.

    >>> print(describe_pairs(2, 3, 400, "exact McNemar"))
    2 of 3 pairs differ clearly on 400 rows (exact McNemar, corrected by Holm over the pairs), and all true places lie \
in these ranges at once with 95%.
    """
    return (
        f"{format_numbers.count(clear)} of {format_numbers.count(pairs)} pairs differ clearly on "
        f"{format_numbers.count(rows)} {unit} ({test}, corrected by Holm over the pairs), and all true places lie in "
        "these ranges at once with 95%."
    )


def describe_smallest(smallest: float, unit: str) -> str:
    """The true difference that would be found; "" where it is not known.

    Args:
        smallest: The difference.
        unit: Unit of the metric.

    >>> print(describe_smallest(0.028, "fraction"))
    Between two models as alike as the median pair, a true difference of 2.8 points would be found 8 times in 10.
    """
    if format_numbers.is_undefined(smallest):
        return ""
    least = format_numbers.quantity(smallest, unit)
    return (
        f"Between two models as alike as the median pair, a true difference of {least} "
        f"{format_numbers.points_word(unit)} would be found {round(10 * POWER)} times in 10."
    ).replace("  ", " ")


def format_place(best: int, worst: int, *, to: str = " to ") -> str:
    """A range of places.

    >>> format_place(2, 4), format_place(1, 1)
    ('2 to 4', '1')
    """
    return str(best) if best == worst else f"{best}{to}{worst}"
