"""DFR: its last layer against scikit-learn's logistic regression on the same balanced rows, and a whole run."""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.optimize
import scipy.special
import torch
from sklearn.linear_model import LogisticRegression
from trainings import artifacts, made_split, trainer_of, with_group_norm

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.trainers.heads.balanced_refits import _fit
from oochub.trainers.objective import CleanPass
from oochub.trainers.samplers import draw_balanced_rows, number_groups


def rows(classes: int, count: int = 120, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of which some go with the class, one with the environment, and the rest with nothing."""
    rng = np.random.default_rng(seed)
    label, environment = rng.integers(0, classes, count), rng.integers(0, 2, count)
    features = rng.normal(size=(count, 8)) * np.arange(1, 9) + 3
    features[:, :classes] += 2 * np.eye(classes)[label]
    features[:, 7] += 20 * environment
    return features, label, environment


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("c", [0.03, 0.5])
def test_a_fit_is_that_of_scikit_learn(classes: int, c: float) -> None:
    """Both minimize c sum CE + |W|_1 without a penalty on b: the probabilities agree. Planted: b shrunk as well."""
    features, label, _ = rows(classes)
    features = (features - features.mean(0)) / features.std(0)
    weight, bias = _fit(torch.tensor(features), torch.tensor(label), classes, c)
    saga = LogisticRegression(l1_ratio=1.0, C=c, solver="saga", max_iter=100_000, tol=1e-9, random_state=0)
    reference = saga.fit(features, label)  # of another order of rows it may stop where all weights are 0 at first
    found = torch.softmax(torch.tensor(features) @ weight.T + bias, 1).numpy()
    assert np.abs(found - reference.predict_proba(features)).max() < 1e-4
    if classes > 2:
        assert np.allclose(weight, reference.coef_, atol=1e-3)
        assert ((weight == 0).numpy() == (np.abs(reference.coef_) < 1e-6)).mean() > 0.9


class Head:
    """A training that takes a new last layer."""

    def replace_head(self, weight: torch.Tensor, bias: torch.Tensor) -> None:
        self.weight, self.bias = weight.numpy(), bias.numpy()


def test_the_new_layer_is_the_mean_of_balanced_refits() -> None:
    """On raw features it gives the mean of the fits on standardized ones. Planted: all rows, not balanced ones."""
    features, label, environment = rows(3)
    features[:, 5] = 2.0  # a constant one: no division by zero
    objective, training = oochub.get("objective", "dfr")(c=0.3, refits=4), Head()
    tensors = (torch.tensor(features, dtype=torch.float32), torch.tensor(label), torch.tensor(environment))
    objective.next_stage(CleanPass(torch.zeros(120, 3), *tensors), training)
    deviation = np.where(features.std(0) > 1e-12, features.std(0), 1)
    standard = (tensors[0].double().numpy() - features.mean(0)) / deviation
    draws, fits = np.random.default_rng([4, 120]), []
    for _ in range(4):
        chosen = draw_balanced_rows(number_groups(label, environment), draws)
        pairs = label[chosen] * 2 + environment[chosen]
        assert len(set(np.bincount(pairs))) == 1
        model = LogisticRegression(l1_ratio=1.0, C=0.3, solver="saga", max_iter=100_000, tol=1e-9, random_state=0)
        fits.append(model.fit(standard[chosen], label[chosen]).decision_function(standard))
    expected = np.mean(fits, axis=0)
    found = features @ training.weight.T + training.bias
    # logits are known up to a constant a row
    assert np.abs((found - found.mean(1, keepdims=True)) - (expected - expected.mean(1, keepdims=True))).max() < 5e-3
    assert np.isfinite(training.weight).all()


def _fit_by_bounds(features: np.ndarray, label: np.ndarray, c: float) -> np.ndarray:
    """Fits the weights of two classes as a difference of two positive parts, which scipy's bounds hold at 0."""
    size = features.shape[1]

    def cost(parts: np.ndarray) -> tuple[float, np.ndarray]:
        margin = features @ (parts[:size] - parts[size:-1]) + parts[-1]
        slope = c * (scipy.special.expit(margin) - label)
        loss = c * (np.logaddexp(0, margin) - label * margin).sum() + parts[:-1].sum()
        return loss, np.r_[features.T @ slope + 1, 1 - features.T @ slope, slope.sum()]

    bounds = [(0, None)] * (2 * size) + [(None, None)]
    parts = scipy.optimize.minimize(
        cost, np.zeros(2 * size + 1), jac=True, method="L-BFGS-B", bounds=bounds, options={"ftol": 0, "gtol": 1e-10}
    ).x
    return np.asarray(parts[:size] - parts[size:-1])


@pytest.mark.parametrize("count", [24, 60])
def test_weights_that_are_all_0_are_said_with_the_c_that_helps(count: int) -> None:
    """At 0.85 of the named c another solver's weights are 0 too, and at it they are not."""
    features, label, environment = rows(2, count)
    tensors = (torch.tensor(features, dtype=torch.float32), torch.tensor(label), torch.tensor(environment))
    with pytest.warns(OochubWarning, match=r"dfr at c = 0.0001 .* answers one class .*Take c above") as said:
        objective, training = oochub.get("objective", "dfr")(c=0.0001), Head()
        objective.next_stage(CleanPass(torch.zeros(count, 2), *tensors), training)
    assert not training.weight.any()
    named = float(re.search(r"Take c above ([\d.e-]+)", str(said[0].message))[1])
    groups, draws = number_groups(label, environment), np.random.default_rng([10, count])
    assert f"outweighs the {min(np.bincount(groups))} rows of each group" in str(said[0].message)
    standard, largest = (features - features.mean(0)) / features.std(0), []
    for _ in range(10):
        chosen = draw_balanced_rows(groups, draws)
        at = [np.abs(_fit_by_bounds(standard[chosen], label[chosen], c)).max() > 1e-6 for c in (named, 0.85 * named)]
        assert at[0]
        largest.append(at[1])
    assert not all(largest)  # it is not much more than what is needed
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oochub.get("objective", "dfr")(c=1.2 * named).next_stage(CleanPass(torch.zeros(count, 2), *tensors), training)
    assert training.weight.any()


@pytest.mark.slow
def test_a_run(tmp_path: Path) -> None:
    """The last record is that of the new layer; all but the last layer is that of ERM; run again, it is equal."""
    splits = made_split(60, 1), made_split(30, 2)
    settings: dict[str, Any] = {"num_train_epochs": 2, "metrics": ("accuracy",)}
    own = {"objective": "dfr", "hyperparameters": {"refits": 2}}
    result = trainer_of(tmp_path / "run", *splits, model=with_group_norm(), **settings, **own).train()
    assert [(record["epoch"], record["stage"]) for record in result.history] == [(1, 1), (2, 1), (3, 2)]
    assert result.best_epoch == 3 and result.history[-1]["loss"] is None
    plain = trainer_of(tmp_path / "erm", splits[0], model=with_group_norm(), num_train_epochs=2)
    plain.train()
    again = trainer_of(tmp_path / "again", *splits, model=with_group_norm(), **settings, **own)
    again.train()
    assert artifacts(tmp_path / "run") == artifacts(tmp_path / "again")
    erm_weights, found = plain.model.state_dict(), again.model.state_dict()
    changed = {name for name, values in found.items() if not torch.equal(values, erm_weights[name])}
    assert changed == {"classifier.1.weight", "classifier.1.bias"}


def test_what_is_wrong_is_named() -> None:
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(12, 2, bias=False))

    class Wrapped(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, pixel_values: torch.Tensor) -> Any:
            return type("Output", (), {"logits": self.inner(pixel_values)})

    with pytest.raises(OochubError, match="dfr replaces one last layer with a bias, but Wrapped"):
        probe = {"pixel_values": torch.randn(2, 3, 2, 2)}
        oochub.get("objective", "dfr")().examine(Wrapped(), probe, label=torch.zeros(1), environment=torch.zeros(1))
