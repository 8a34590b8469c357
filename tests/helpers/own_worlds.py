"""Answers on own data whose classes have usual contexts, by the counts of each class and context."""

from dataclasses import replace

import numpy as np

import oochub
from oochub.records.build_record import OWN, BuildFacts

USUAL = {"dog": ("park",), "cat": ("house",), "fox": ("night",)}
RELIES = {
    **{("dog", "park"): (190, 200), ("dog", "house"): (70, 100), ("dog", "night"): (70, 100)},
    **{("cat", "park"): (72, 100), ("cat", "house"): (188, 200), ("cat", "night"): (68, 100)},
    **{("fox", "park"): (35, 50), ("fox", "house"): (34, 50), ("fox", "night"): (95, 100)},
}
"""Right answers and rows, by hand: 94% to 95% in usual contexts and about 70% in the others."""
HARDER = {
    **{("dog", "park"): (180, 200), ("dog", "house"): (36, 40), ("dog", "night"): (65, 100)},
    **{("cat", "park"): (36, 40), ("cat", "house"): (181, 200), ("cat", "night"): (64, 100)},
    **{("fox", "park"): (36, 40), ("fox", "house"): (35, 40), ("fox", "night"): (52, 80)},
}
"""By hand: about 65% at night and 90% elsewhere, whatever the class; the night is usual for foxes alone."""


def own_predictions(cells, *, usual=USUAL, neither=(), **facts):
    """Predictions of these answers: rows of each class and context, of which the first ones are right.

    Args:
        cells: (class, context) to right answers and rows.
        usual: Class to its usual contexts.
        neither: Classes and contexts that are of no side.
        facts: Other facts of the build record.
    """
    names = sorted(usual)
    rows = [(y, c, k < right) for (y, c), (right, n) in cells.items() for k in range(n)]
    label = np.array([names.index(y) for y, _, _ in rows])
    answer = np.where([right for *_, right in rows], label, (label + 1) % len(names))
    hard = "hard" if len(names) > 2 else "hard_positive"
    made = oochub.Predictions.from_arrays(
        logits=4.0 * np.eye(len(names))[answer],
        label=label,
        class_names=names,
        benchmark=OWN,
        config="animals",
        context=[c for _, c, _ in rows],
        group=[f"{y}/{c}" for y, c, _ in rows],
        challenge=[None if (y, c) in neither else "easy" if c in usual[y] else hard for y, c, _ in rows],
        shared=[str(k // 5) for k in range(len(rows))],
    )
    return replace(made, metadata=replace(made.metadata, facts=BuildFacts(usual_contexts=usual, **facts)))


def own_report(cells, *, metrics=("accuracy",), **options):
    """The report of `own_predictions`."""
    return oochub.evaluate(own_predictions(cells, **options), metrics=list(metrics), resamples=100)
