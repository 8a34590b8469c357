"""A report of few labels: 80 of 600 rows have one, and 300 more a context."""

from dataclasses import replace

import numpy as np

import oochub
from oochub.evaluation.unlabeled_rows import measure_few_labels
from oochub.prediction.predictions import Predictions
from oochub.report.report import Report


def few_predictions(labeled: int = 80, placed: int = 380, rows: int = 600) -> Predictions:
    """Answers of two classes in two contexts, right as often as they are sure."""
    rng, names = np.random.default_rng(0), np.array(["cat", "dog"])
    context, answer = rng.integers(0, 2, (2, rows))
    chance = rng.beta(*np.where(answer == context, [[5.0], [1.0]], [[3.0], [2.0]]))
    label = np.where(rng.random(rows) < chance, answer, 1 - answer)
    odds = np.log(chance / (1 - chance)) / 2
    known = np.arange(rows) < labeled
    side = np.where(label == context, "easy", np.where(label == 1, "hard_positive", "hard_negative"))
    places = np.array(["sofa", "grass"])[context]
    return Predictions.from_arrays(
        logits=np.where(answer[:, None] == np.arange(2), odds[:, None], -odds[:, None]),
        label=np.where(known, label, -1),
        class_names=["cat", "dog"],
        challenge=[each if here else None for each, here in zip(side, known, strict=True)],
        context=[each if number < placed else None for number, each in enumerate(places)],
        group=[f"{names[k]}/{p}" if here else None for k, p, here in zip(label, places, known, strict=True)],
        model="my-classifier",
    )


def few_report() -> Report:
    """As `oochub audit --labels` makes it."""
    predictions = few_predictions()
    report = oochub.evaluate(predictions, resamples=100)
    return replace(report, findings={**(report.findings or {}), "few_labels": measure_few_labels(predictions)})
