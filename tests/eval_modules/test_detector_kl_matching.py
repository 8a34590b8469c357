"""KL-Matching against SciPy's relative entropy, class by class."""

import numpy as np
from detector_rows import detector_rows
from scipy.special import softmax
from scipy.stats import entropy

from oochub.eval_modules.detectors.kl_matching import KlMatching


def by_scipy(train: np.ndarray, test: np.ndarray) -> np.ndarray:
    p, predicted = softmax(train, axis=1), train.argmax(axis=1)
    typical = [p[predicted == k].mean(axis=0) for k in np.unique(predicted)]
    return np.array([-min(entropy(row, each) for each in typical) for row in softmax(test, axis=1)])


def test_equals_scipy() -> None:
    """Planted faults seen: KL(d || p); the largest divergence."""
    rows = detector_rows()
    found = KlMatching().fit(**rows.needed("logits")).score(logits=rows.test["logits"])
    np.testing.assert_allclose(found, by_scipy(rows.train["logits"], rows.test["logits"]), rtol=1e-9)


def test_a_class_that_no_row_predicts_is_left_out() -> None:
    """Planted fault seen: its mean as zeros, which nothing is like."""
    rows = detector_rows()
    train = rows.train["logits"][rows.train["logits"].argmax(axis=1) != 2]
    detector = KlMatching().fit(logits=train)
    assert detector.typical.shape == (4, 5)
    np.testing.assert_allclose(
        detector.score(logits=rows.test["logits"]), by_scipy(train, rows.test["logits"]), rtol=1e-9
    )


def test_a_probability_that_leaves_float64_counts_as_the_smallest() -> None:
    detector = KlMatching().fit(logits=[[1000.0, 0.0], [0.0, 1000.0]])
    near, far = detector.score(logits=[[900.0, 0.0], [0.0, 0.0]])
    assert near == 0
    np.testing.assert_allclose(far, -(np.log(0.5) - np.log(np.finfo(float).tiny) / 2))
