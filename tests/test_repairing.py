"""`oochub.repair`: a model that relies on context is repaired and proven, and a control is left alone."""

from pathlib import Path

import numpy as np
import pytest

import oochub
from oochub.studies.demo.example import Example, example


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Example:
    return example(tmp_path_factory.mktemp("planted") / "example", size=100)


@pytest.fixture(scope="module")
def repaired(planted: Example, tmp_path_factory: pytest.TempPathFactory) -> tuple[oochub.Repair, Path]:
    out = tmp_path_factory.mktemp("repaired") / "out"
    return oochub.repair(planted.model, planted.pictures, label="breed", context="background", out=out), out


def test_a_planted_reliance_is_repaired(repaired: tuple[oochub.Repair, Path]) -> None:
    """At least half of the gap is closed, and no more than the floor is lost in usual contexts."""
    made, _ = repaired
    assert made.outcome == "better" and made.inside is not None and made.outside is not None
    gap = made.outside.first - made.inside.first
    assert gap < -0.3 and made.outside.difference > -gap / 2
    assert made.inside.difference >= -0.05


def test_the_folder_says_what_was_proven(repaired: tuple[oochub.Repair, Path], planted: Example) -> None:
    """The written folder, predicted like any other model, gives the answers that the proof was made of."""
    made, out = repaired
    data = oochub.load(planted.pictures, label="breed", context="background")
    again = oochub.predict(out / "model", data, splits=["test"], images=False, cache=False)
    stored = oochub.Predictions.load(out / "after.parquet")
    assert list(again.column("example_id")) == list(stored.column("example_id"))
    np.testing.assert_allclose(again.logits, stored.logits, atol=1e-3)
    assert made.outside is not None
    is_out = again.column("challenge") != "easy"
    assert (again.prediction == again.label)[is_out].mean() == pytest.approx(made.outside.second)
