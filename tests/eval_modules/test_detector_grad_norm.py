"""GradNorm against the gradient that torch computes, a backward pass a row."""

import numpy as np
import pytest
import torch

from oochub.eval_modules.detectors.grad_norm import GradNorm

RNG = np.random.default_rng(0)
FEATURES, WEIGHT, BIAS = RNG.normal(size=(20, 6)), RNG.normal(size=(5, 6)), RNG.normal(size=5)


@pytest.mark.parametrize("temperature", [1, 4])
def test_equals_autograd(temperature: float) -> None:
    """Cross-entropy with a target of one for every class. Planted faults: without 1 / T; the norm squared."""
    expected = []
    for row in torch.tensor(FEATURES):
        weight = torch.tensor(WEIGHT, requires_grad=True)
        logits = weight @ row + torch.tensor(BIAS)
        (-torch.log_softmax(logits / temperature, dim=0)).sum().backward()
        expected.append(weight.grad.abs().sum().item())
    found = GradNorm(temperature=temperature).score(features=FEATURES, logits=FEATURES @ WEIGHT.T + BIAS)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_uniform_prediction_has_no_gradient() -> None:
    assert GradNorm().score(features=[[1.0, 2.0]], logits=[[700.0, 700.0]]).tolist() == [0]
