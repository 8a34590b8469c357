"""Token accuracy against a plain loop over tokens, and against WILDS' own sum on the same random tokens."""

import math

import numpy as np
import pytest

import oochub
from oochub.errors import OochubError
from oochub.metric import TOKEN_KINDS
from oochub.stats.estimation import estimate

METRIC = oochub.get("metric", "token_accuracy")


def tokens(seed, rows=30, length=12):
    """Random tokens of few numbers, so that many are right by chance; a fifth is masked."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 7, (rows, length))
    label, prediction = rng.integers(0, 3, (2, rows, length))
    masked = rng.random((rows, length)) < 0.2
    return {"label": np.where(masked, -100, label), "prediction": prediction, "kind": np.where(masked, -100, kind)}


def loop(label, prediction, kind, kinds):
    right = total = 0
    for truth, said, of in zip(label.ravel(), prediction.ravel(), kind.ravel(), strict=True):
        if truth >= 0 and (kinds is None or (of >= 0 and TOKEN_KINDS[of] in kinds)):
            total += 1
            right += bool(truth == said)
    return right / total if total else math.nan


@pytest.mark.parametrize("kinds", [("class", "method"), ("literal",), None, TOKEN_KINDS])
def test_the_metric_is_a_loop_over_tokens(kinds):
    """Masked tokens and other kinds do not count."""
    for seed in range(5):
        columns = tokens(seed)
        assert METRIC(**columns, kinds=kinds) == pytest.approx(loop(**columns, kinds=kinds), abs=1e-12)
        flat = {name: column.ravel() for name, column in columns.items()}
        assert METRIC(**flat, kinds=kinds) == METRIC(**columns, kinds=kinds)


def test_the_metric_is_that_of_wilds():
    """WILDS, py150_dataset.py: positions of type 0 or 1, all of them, and those whose label is not nan."""
    columns = tokens(7)
    kind, right = columns["kind"], columns["prediction"] == columns["label"]
    assert METRIC(**columns) == pytest.approx(right[(kind == 0) | (kind == 1)].mean(), abs=1e-12)
    assert METRIC(**columns, kinds=None) == pytest.approx(right[kind != -100].mean(), abs=1e-12)


def test_the_numbers_of_kinds_are_those_of_wilds():
    """`py150_dataset.py` of WILDS 2.0.0. Written against: keywords before punctuation."""
    names = ["class", "method", "punctuation", "keyword", "builtin", "literal", "other_identifier"]
    assert list(TOKEN_KINDS) == names


def test_kinds_by_name_are_kinds_by_number():
    columns = tokens(3)
    names = np.array([*TOKEN_KINDS, "masked"])[np.where(columns["kind"] < 0, 7, columns["kind"])]
    assert METRIC(**{**columns, "kind": names}) == METRIC(**columns)


def test_a_token_of_no_kind_does_not_count():
    """By hand: the second token has a label and no kind; it is right, and would make 1/2 of 0."""
    columns = {"label": [7, 8], "prediction": [0, 8]}
    assert METRIC(**columns, kind=["class", "masked"]) == METRIC(**columns, kind=[0, -1]) == 0


def test_the_estimate_is_of_all_tokens_together():
    """A row of many tokens counts more than one of few."""
    columns = tokens(2)
    columns["kind"][::2, 3:] = 5
    assert estimate(METRIC, columns).value == pytest.approx(loop(**columns, kinds=("class", "method")), abs=1e-12)


def test_without_such_tokens_it_is_nan_and_that_of_wilds_zero():
    columns = {"label": [[3, 4]], "prediction": [[3, 4]], "kind": [[2, 5]]}
    assert math.isnan(METRIC(**columns)) and METRIC(**columns, form="wilds") == 0
    made = estimate(METRIC, {name: np.array(column) for name, column in columns.items()})
    assert math.isnan(made) and made.reason == "there are no tokens of these kinds"


def test_the_interval_is_of_rows_and_of_clusters():
    """Rows of equal tokens: their interval is that of 40 rows, not of 40 x 50 tokens."""
    right = np.arange(40) % 2
    columns = {
        "label": np.ones((40, 50), int),
        "prediction": np.repeat(right[:, None], 50, axis=1),
        "kind": np.zeros((40, 50), int),
    }
    rows = estimate(METRIC, columns)
    expected = 1.96 * 0.5 / math.sqrt(40)
    assert rows.n == 40 and rows.high - rows.low == pytest.approx(2 * expected, rel=0.15)
    clustered = estimate(METRIC, columns, cluster=np.repeat(np.arange(20), 2))
    assert "clusters" in clustered.method and clustered.value == 0.5


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kinds": ("klass",)}, "Did you mean 'class'"),
        ({"kinds": ()}, "one or more of class"),
        ({"kinds": "class"}, "a list of names"),
        ({"form": "wild"}, "Did you mean 'wilds'"),
        ({"kind": [["class", "clas"]]}, "Did you mean 'class'"),
        ({"kind": [[0, 7]]}, "below 7"),
        ({"prediction": [[1, 2, 3]]}, "the same shape"),
        ({"label": [[0.5, 1]]}, "whole numbers"),
    ],
)
def test_what_it_does_not_take_is_said(change, words):
    columns = {"label": [[1, 2]], "prediction": [[1, 2]], "kind": [[0, 1]]} | change
    with pytest.raises(OochubError, match=words):
        METRIC(**columns)
