"""Max-Logit against the largest of each row, by Python's max."""

import numpy as np
import pytest

from oochub.eval_modules.detectors.max_logit import MaxLogit


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.int32])
def test_equals_the_maximum(dtype: type) -> None:
    """Planted fault: the mean of the logits."""
    logits = (8 * np.random.default_rng(0).normal(size=(100, 7))).astype(dtype)
    assert MaxLogit().score(logits=logits).tolist() == [max(row) for row in logits.astype(np.float64).tolist()]
