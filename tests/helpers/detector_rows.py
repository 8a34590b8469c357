"""Random features after a ReLU, the logits of a random head, and labels, for tests of detectors."""

from typing import NamedTuple

import numpy as np


class DetectorRows(NamedTuple):
    """What a detector is fitted on, and what it scores.

    Attributes:
        train: features (n, d), logits (n, c), label (n,), weight (c, d) and bias (c,); each class has rows that are
            predicted right.
        test: features and logits of other rows.
    """

    train: dict[str, np.ndarray]
    test: dict[str, np.ndarray]

    def needed(self, *names: str) -> dict[str, np.ndarray]:
        """Those of `train` by name."""
        return {name: self.train[name] for name in names}


def detector_rows(*, seed: int = 0, n: int = 300, tests: int = 40, d: int = 12, c: int = 5) -> DetectorRows:
    """Draws them: most labels are the largest logit's, some are not.

    >>> rows = detector_rows()
    >>> rows.train["features"].shape, rows.test["logits"].shape
    ((300, 12), (40, 5))
    """
    rng = np.random.default_rng([20, seed])
    weight, bias = rng.normal(size=(c, d)), rng.normal(size=c)
    features = [np.maximum(rng.normal(0.4, 1, size=(rows, d)), 0) for rows in (n, tests)]
    logits = [each @ weight.T + bias for each in features]
    label = np.where(rng.random(n) < 0.8, logits[0].argmax(axis=1), np.arange(n) % c)
    train = {"features": features[0], "logits": logits[0], "label": label, "weight": weight, "bias": bias}
    return DetectorRows(train, {"features": features[1], "logits": logits[1]})
