"""What a report says of data that no benchmark declares: neutral words, by the columns and the kind of output."""

import numpy as np
import pytest

import oochub
from oochub.data.declaration import find_declaration
from oochub.records.sides import Rows, WorstOfGroups

_BENCHMARKS_WORDS = ("background", "object", "usual", "relies on")


def _predictions(n=600, seed=0, classes=("cat", "dog"), **columns):
    """A model that is right nine times in ten in the first half of the rows, and six times in the second."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, len(classes), n)
    right = rng.random(n) < np.where(np.arange(n) < n // 2, 0.9, 0.6)
    said = np.where(right, label, (label + 1) % len(classes))
    logits = 2.0 * np.eye(len(classes))[said] + 0.1 * rng.normal(size=(n, len(classes)))
    return oochub.Predictions.from_arrays(logits=logits, label=label, class_names=list(classes), **columns)


def _words(report):
    return report.to_markdown()


@pytest.mark.parametrize("classes", [("cat", "dog"), ("cat", "dog", "hen")])
def test_a_year_threshold_is_not_a_background(classes):
    """Challenges of a user's own: of two classes and of three; faults planted: the words of NOOCH, of Spawrious."""
    challenge = ["easy"] * 300 + ["hard"] * 300
    text = _words(oochub.evaluate(_predictions(classes=classes, challenge=challenge), resamples=100))
    assert not [word for word in _BENCHMARKS_WORDS if word in text], text
    at_chance = "At chance on hard rows, this model does worse there than on easy rows."
    assert "on easy rows" in text and {2: at_chance, 3: "This model does worse on hard rows."}[len(classes)] in text


def test_groups_of_a_users_own_data_are_compared_with_all_rows():
    group = ["2001"] * 300 + ["2002"] * 300
    predictions = _predictions(group=group)
    declared = find_declaration(predictions)
    assert isinstance(declared.out_of_context, WorstOfGroups) and declared.primary_metric == "accuracy"
    report = oochub.evaluate(predictions, resamples=100)
    correct = predictions.prediction == predictions.label
    assert float(report["gap"]) == pytest.approx(correct[300:].mean() - correct.mean())
    text = _words(report)
    assert "in the worst group" in text and not [word for word in _BENCHMARKS_WORDS if word in text], text


def test_without_groups_and_challenges_there_is_one_side():
    predictions = _predictions()
    declared = find_declaration(predictions)
    assert declared.in_context == Rows(name="all rows", split="test")
    report = oochub.evaluate(predictions, resamples=100)
    assert np.isnan(report["gap"]) and report["gap"].reason == "no context is named"


@pytest.mark.parametrize(("kind", "primary"), [("classes", "accuracy"), ("number", None), ("labels", None)])
def test_the_kind_of_output_decides_the_headline(kind, primary):
    rng = np.random.default_rng(0)
    made = {
        "classes": lambda: _predictions(classes=("a", "b", "c")),
        "number": lambda: oochub.Predictions.from_arrays(value=rng.normal(size=50), label=rng.normal(size=50)),
        "labels": lambda: oochub.Predictions.from_arrays(
            logits=rng.normal(size=(50, 2)), labels=rng.integers(0, 2, (50, 2)).astype(float), class_names=["a", "b"]
        ),
    }[kind]()
    declared = find_declaration(made)
    assert declared.output == kind == made.metadata.kind
    assert declared.primary_metric == (primary or made.output.primary_metric)
    assert declared.primary_metric in declared.metrics
