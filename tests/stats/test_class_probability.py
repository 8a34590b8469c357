"""Three numbers a row in place of the matrix of probabilities: every metric of classes gives the same of both."""

import inspect

import numpy as np
import pytest
from scipy import special

import oochub
from oochub import catalog
from oochub.errors import OochubError
from oochub.metric import read_facts
from oochub.stats.estimation import estimate
from oochub.stats.logits import ClassProbability

METRICS = [
    name
    for name in catalog.names("metric")
    if "classes" in read_facts(oochub.get("metric", name)).outputs
    and "probability" in inspect.signature(oochub.get("metric", name)).parameters
]


def logits(classes: int, rows: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Random float32 logits, a third in whole numbers so that there are ties, and labels of which some are -1."""
    rng = np.random.default_rng(classes)
    made = rng.normal(size=(rows, classes)).astype(np.float32) * 4
    made[::3] = np.round(made[::3] / 4)
    made[0] = 0
    return made, rng.integers(-1, classes, rows)


def summarized(made: np.ndarray, label: np.ndarray, allowed: np.ndarray | None = None) -> ClassProbability:
    """As the kind of output gives it to metrics."""
    predictions = oochub.Predictions.from_arrays(logits=made, label=label)
    return predictions.output.arrays(predictions, allowed)["probability"]


def softmax(made: np.ndarray, allowed: np.ndarray | None) -> np.ndarray:
    """By scipy; classes that are not allowed have logits of minus infinity."""
    wide = np.full(made.shape, -np.inf)
    among = slice(None) if allowed is None else allowed
    wide[:, among] = made[:, among]
    return special.softmax(wide, axis=1)


@pytest.mark.parametrize("present", [False, True])
@pytest.mark.parametrize("classes", [2, 10, 1000])
@pytest.mark.parametrize("name", METRICS)
def test_every_metric_gives_the_same_of_matrix_and_of_summary(name: str, classes: int, present: bool) -> None:
    """Value and interval, of some rows picked by a mask."""
    made, label = logits(classes)
    allowed = np.unique(label[label >= 0]) if present else None
    if present:
        allowed = allowed[: len(allowed) // 2 + 1]
        label = np.where(np.isin(label, allowed), label, -1)
    rows = (label >= 0) & (np.arange(len(label)) % 5 > 0)
    matrix = softmax(made, allowed)
    columns = {"label": label, "prediction": matrix.argmax(axis=1), "group": label % 3, "probability": matrix}
    summary = summarized(made, label, allowed)
    metric, taken = oochub.get("metric", name), inspect.signature(oochub.get("metric", name)).parameters
    whole = {key: column[rows] for key, column in columns.items() if key in taken}
    for lean in (summary[rows], summary[np.flatnonzero(rows)]):
        numbers = [
            each if isinstance(each, dict) else {name: each}
            for each in (estimate(metric, whole), estimate(metric, whole | {"probability": lean}))
        ]
        assert numbers[0].keys() == numbers[1].keys()
        for key, number in numbers[0].items():
            other = numbers[1][key]
            for one, two in ((number.value, other.value), (number.low, other.low), (number.high, other.high)):
                assert two == pytest.approx(one, rel=1e-12, abs=1e-12, nan_ok=True), (key, number, other)
        np.testing.assert_allclose(np.asarray(lean), matrix[rows], rtol=1e-12, atol=1e-300)


def test_three_numbers_a_row_and_no_matrix() -> None:
    """Until somebody asks: then it is that of the rows asked for. Planted fault: a metric that takes the matrix."""
    made, label = logits(10)
    known = np.abs(label)
    read: list[int] = []
    plain = summarized(made, known)

    def matrix(rows: object) -> np.ndarray:
        read.append(len(plain.matrix(rows)))
        return plain.matrix(rows)

    watched = ClassProbability(plain.label, plain.prediction, plain.confidence, plain.loss, plain.classes, matrix)
    some = watched[5:25]
    assert (len(some), some.shape, some.ndim, some.dtype) == (20, (20, 10), 2, np.float64)
    for name in METRICS:
        group = {"group": known % 3, "prediction": plain.prediction} if name == "worst_group" else {}
        estimate(oochub.get("metric", name), {"label": known, "probability": watched, **group})
    assert read == []
    assert np.asarray(watched[:0]).shape == (0, 10)
    read.clear()
    np.testing.assert_allclose(np.asarray(some[::2]), softmax(made, None)[5:25:2])
    assert read == [10]


def test_labels_of_other_rows_are_looked_up_in_the_matrix() -> None:
    """Planted fault: the losses of the labels that it was made with, whatever labels are given."""
    made, label = logits(10)
    first, second = np.abs(label), (np.abs(label) + 1) % 10
    nll = oochub.get("metric", "nll")
    assert nll(second, summarized(made, first)) == pytest.approx(nll(second, softmax(made, None)))
    with pytest.raises(OochubError, match="-1 means outside the label set"):
        nll(label, summarized(made, label))
