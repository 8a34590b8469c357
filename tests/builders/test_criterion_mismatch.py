"""Mismatch of label and context against hand-worked cases and a loop."""

import numpy as np
import pytest

from oochub.builders.criteria.mismatch import mismatch
from oochub.errors import OochubError


def test_a_binary_label_signs_what_is_hard_by_hand():
    """Planted fault seen: the sign turned round."""
    expected = ["easy", "hard_negative", "hard_positive", "easy"]
    for kind in (int, bool, float):
        label, context = np.array([0, 0, 1, 1]).astype(kind), np.array([0, 1, 0, 1]).astype(kind)
        assert mismatch(label, context).tolist() == expected
    assert mismatch([1, 0], [7, -1]).tolist() == ["hard_positive", "hard_negative"]


def test_a_label_of_several_classes_has_no_sign_by_hand():
    assert mismatch([0, 1, 2, 2], [0, 2, 2, 1]).tolist() == ["easy", "hard", "easy", "hard"]
    assert mismatch(["cow", "camel"], ["cow", "cow"]).tolist() == ["easy", "hard"]


def test_against_a_loop():
    rng = np.random.default_rng(0)
    for classes in (2, 3, 10):
        label, context = rng.integers(classes, size=(2, 300))
        expected = []
        for y, c in zip(label, context, strict=True):
            sign = "" if classes > 2 else "_positive" if y else "_negative"
            expected.append(f"hard{sign}" if y != c else "easy")
        assert mismatch(label, context).tolist() == expected
        names = np.array([f"class {k}" for k in range(classes)])
        assert ((mismatch(names[label], names[context]) == "easy") == (label == context)).all()


def test_no_examples():
    assert mismatch([], []).tolist() == []


@pytest.mark.parametrize(
    ("label", "context", "words"),
    [
        ([0, 1], [0], "context (n,)"),
        ([[0]], [[0]], "one value per example"),
        ([0, 1], ["0", "1"], "never equal"),
        (["a", None], ["a", "b"], "label is missing or nan in 1 of 2"),
        ([0, 1], [0, np.nan], "context is missing or nan in 1 of 2"),
    ],
)
def test_bad_input_is_said(label, context, words):
    with pytest.raises(OochubError) as caught:
        mismatch(label, context)
    assert words in str(caught.value)
