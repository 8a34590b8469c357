"""How far each group out of context falls below the same class in context, and which falls are clear."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oochub.report import numbers, wording
from oochub.stats.holm import holm


class Drop(NamedTuple):
    """One group out of context.

    Attributes:
        group: The group in words.
        value: Its accuracy less that of the same class in context, in [-1, 1]; negative = worse out of context.
        is_clear: Whether the two accuracies differ at 5% after Holm's correction over the groups.
    """

    group: str
    value: float
    is_clear: bool


def group_drops(report: Mapping[str, Any]) -> list[Drop]:
    """Compare every group out of context with all groups of its class in context, largest drop first.

    The test is the chi-square test of two proportions with Yates' correction; Holm (1979) orders the p-values.

    Args:
        report: A report of schema version 1. One with an object has a single task, and no drops.

    Returns:
        The drops; empty where no class stands on both sides.

    >>> cats = {"label": "cat", "n": 50, "context": None}
    >>> rows = [cats | {"role": "in", "group": "cat/sofa", "accuracy": {"value": 0.9}},
    ...         cats | {"role": "out", "group": "cat/sea", "accuracy": {"value": 0.5}}]
    >>> benchmark = {"object": None, "contexts": [], "context_column": "background"}
    >>> group_drops({"benchmark": benchmark, "groups": {"rows": rows}})
    [Drop(group='cat/sea', value=-0.4, is_clear=True)]
    """
    if report["benchmark"]["object"] is not None:
        return []
    rows = (report.get("groups") or {"rows": []})["rows"]
    rows = [row for row in rows if not numbers.is_undefined(row["accuracy"]["value"])]
    found = []
    for row in (row for row in rows if row["role"] == "out"):
        same = [other for other in rows if other["role"] == "in" and other["label"] == row["label"]]
        if same:
            found.append((wording.group_words(report, row), *_compare(row, same)))
    clear = holm([p for _, _, p in found])
    drops = [Drop(group, value, ok) for (group, value, _), ok in zip(found, clear, strict=True)]
    return sorted(drops, key=lambda drop: drop.value)


def _compare(row: Mapping[str, Any], same: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    n, m = row["n"], sum(other["n"] for other in same)
    right, right_inside = row["n"] * row["accuracy"]["value"], sum(o["n"] * o["accuracy"]["value"] for o in same)
    pooled = (right + right_inside) / (n + m)
    difference = right / n - right_inside / m
    if pooled in (0.0, 1.0):
        return difference, 1.0
    corrected = max(abs(difference) - (1 / n + 1 / m) / 2, 0.0)
    # one degree of freedom: the upper tail of chi-square is erfc of the root of half the statistic
    return difference, math.erfc(corrected / math.sqrt(2 * pooled * (1 - pooled) * (1 / n + 1 / m)))
