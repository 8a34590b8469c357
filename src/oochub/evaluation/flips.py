"""The rows that flip: one model is right, the other wrong."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from oochub.evaluation.evaluated import Evaluated
from oochub.evaluation.mistakes import mistake_of
from oochub.evaluation.paired_difference import Pair
from oochub.records.report_records import ComparedModel, Flip

SHOWN = 6
"""Of each direction."""


def flips(pair: Pair, masks: Mapping[Any, Any]) -> tuple[Flip, ...]:
    """The rows that flip with the largest change in the probability of the truth, a few of each direction.

    Args:
        pair: Of `oochub.evaluation.paired_rows.paired_rows`.
        masks: The rows (n,) of the slices by role; rows of the evaluation split and of both sides may be shown.

    Returns:
        Those that the second alone answers right, then those of the first: rows with a small picture before others,
        the largest change first, of equal ones the first row; none for a kind of output without one right answer.
    """
    output = pair[0].predictions.output
    if not output.one_answer:
        return ()
    shown = np.logical_or.reduce([mask for role, mask in masks.items() if role in ("all", "in", "out")])
    out = masks.get("out", np.zeros_like(shown))
    wrong = [output.wrong(each.columns) for each in pair]
    truth = [np.exp(-each.columns["loss"]) for each in pair]  # the probability that each gives it
    pictured = np.logical_or(*(_pictured(each) for each in pair))
    found = []
    directions: tuple[tuple[ComparedModel, int, int], ...] = (("second", 1, 0), ("first", 0, 1))
    for right, own, other in directions:
        rows = np.flatnonzero(shown & ~wrong[own] & wrong[other])
        change = (truth[own] - truth[other])[rows]
        for row in rows[np.lexsort((-change, ~pictured[rows]))][:SHOWN].tolist():
            mistake = mistake_of(row, pair[other], is_out=bool(out[row]))
            if mistake.image is None:
                mistake = replace(mistake, image=mistake_of(row, pair[own], is_out=bool(out[row])).image)
            found.append(
                Flip(
                    right=right,
                    change=float(truth[own][row] - truth[other][row]),
                    probability=float(truth[own][row]),
                    mistake=mistake,
                )
            )
    return tuple(found)


def _pictured(side: Evaluated) -> NDArray[np.bool_]:
    """Which rows (n,) have a small picture: predictions keep those of the worst mistakes."""
    rows = side.predictions.rows
    if "thumbnail" not in rows.column_names:
        return np.zeros(len(rows), bool)
    return np.asarray(rows.column("thumbnail").is_valid().to_numpy(), bool)
