"""`oochub.repair`: a model that relies on context is repaired and proven, and a control is left alone."""

from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

import oochub
from oochub import errors
from oochub.errors import OochubError
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
    assert list(made.weights) == ["model.safetensors"]
    assert list(again.column("example_id")) == list(stored.column("example_id"))
    np.testing.assert_allclose(again.logits, stored.logits, atol=1e-3)
    assert made.outside is not None
    is_out = again.column("challenge") != "easy"
    assert (again.prediction == again.label)[is_out].mean() == pytest.approx(made.outside.second)


def test_processes_of_a_repair_are_looked_at_before_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted faults seen: a check after the model is looked for; processes of torchrun that all write."""
    with monkeypatch.context() as patch:
        patch.setattr(errors, "find_spec", lambda name: None)
        with pytest.raises(OochubError, match=r"pip install 'oochub\[ray\]'"):
            oochub.repair("nowhere", "nowhere", engine="ray")
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("RANK", "1")
    with pytest.raises(OochubError, match=r'made by one process, but torchrun started 2.*engine="ray"'):
        oochub.repair("nowhere", "nowhere")


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="needs oochub[ray]; `make ray` installs it")
def test_a_repair_by_ray_is_that_of_one_process(
    repaired: tuple[oochub.Repair, Path], planted: Example, tmp_path: Path
) -> None:
    made, out = repaired
    given = {"label": "breed", "context": "background", "engine": "ray", "actors": 2, "cache": False}
    again = oochub.repair(planted.model, planted.pictures, out=tmp_path / "ray", **given)
    assert (again.outcome, again.inside, again.outside) == (made.outcome, made.inside, made.outside)
    for name in ("features", "before", "after"):
        here, there = (oochub.Predictions.load(folder / f"{name}.parquet") for folder in (out, tmp_path / "ray"))
        assert here.table.equals(there.table) and here.digest == there.digest
