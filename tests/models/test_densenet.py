"""The DenseNet of the hub: against torch by hand, by torchvision's names, opened like any other classifier."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from datasets import Dataset, Features, Image, Value
from input_rows import encoded, photograph
from torch import Tensor
from torch.nn import functional
from transformers import ViTImageProcessorPil

from oochub.errors import OochubError
from oochub.models.densenet import DenseNetConfig, DenseNetForImageClassification, convert_densenet_weights
from oochub.predicting import predict

DEPTHS = [2, 3]


@pytest.fixture(scope="module")
def model() -> DenseNetForImageClassification:
    torch.manual_seed(0)
    config = DenseNetConfig(embedding_size=8, growth_rate=4, depths=DEPTHS, num_labels=3)
    model = DenseNetForImageClassification(config).eval()
    with torch.no_grad():
        for value in model.state_dict().values():
            if value.is_floating_point():
                value.copy_(torch.rand_like(value) + 0.1 if value.ndim == 1 else torch.randn_like(value) * 0.3)
    return model


def by_hand(weight: Callable[[str], Tensor], pixels: Tensor) -> Tensor:
    """The network of Huang et al. 2017, Section 3, from its weights by the names of torchvision's code."""

    def activated(x: Tensor, of: str) -> Tensor:
        mean, variance, scale, shift = (
            weight(f"{of}.{each}")[:, None, None] for each in ("running_mean", "running_var", "weight", "bias")
        )
        return ((x - mean) / (variance + 1e-5).sqrt() * scale + shift).clamp(min=0)

    x = functional.conv2d(pixels, weight("features.conv0.weight"), stride=2, padding=3)
    x = functional.max_pool2d(activated(x, "features.norm0"), 3, 2, 1)
    for block, depth in enumerate(DEPTHS, 1):
        parts = [x]
        for layer in range(1, depth + 1):
            of = f"features.denseblock{block}.denselayer{layer}"
            inner = functional.conv2d(activated(torch.cat(parts, 1), f"{of}.norm1"), weight(f"{of}.conv1.weight"))
            parts.append(functional.conv2d(activated(inner, f"{of}.norm2"), weight(f"{of}.conv2.weight"), padding=1))
        x = torch.cat(parts, 1)
        if block < len(DEPTHS):
            of = f"features.transition{block}"
            x = functional.avg_pool2d(functional.conv2d(activated(x, f"{of}.norm"), weight(f"{of}.conv.weight")), 2)
    x = activated(x, "features.norm5").mean((2, 3))
    return x @ weight("classifier.weight").T + weight("classifier.bias")


def test_the_logits_are_those_of_a_network_by_hand(model: DenseNetForImageClassification) -> None:
    """In float64. Planted and seen: what a layer adds put before what it was given; the last ReLU left out."""
    pixels = torch.randn(2, 3, 40, 56, dtype=torch.float64)
    state = {name: value.double() for name, value in model.state_dict().items()}
    with torch.no_grad():
        torch.testing.assert_close(model.double()(pixels).logits, by_hand(state.__getitem__, pixels))
    model.float()


def test_weights_by_the_names_of_torchvisions_file_are_those_of_the_model(
    model: DenseNetForImageClassification,
) -> None:
    """Its files write norm.1 for norm1. Planted and seen: conv left out of the renaming."""
    named = {name: value for name, value in model.state_dict().items()}
    released = {name.replace("norm1.", "norm.1.").replace("norm2.", "norm.2."): v for name, v in named.items()}
    released = {name.replace("conv1.", "conv.1.").replace("conv2.", "conv.2."): v for name, v in released.items()}
    assert sum(name not in named for name in released) == 5 * 12  # of each layer two convolutions, two norms of 5
    assert convert_densenet_weights(released).keys() == convert_densenet_weights(named).keys() == named.keys()


def test_it_is_saved_opened_and_predicts_like_any_other(model: DenseNetForImageClassification, tmp_path: Path) -> None:
    """Logits are those of the object; a file that lacks a weight of the model is refused by its name."""
    folder = tmp_path / "densenet"
    model.save_pretrained(folder)
    processor = ViTImageProcessorPil(size={"height": 40, "width": 40})
    processor.save_pretrained(folder)
    pictures = [photograph(40, 40, seed) for seed in range(2)]
    images = [{"bytes": encoded(picture, "PNG"), "path": None} for picture in pictures]
    features = Features({"example_id": Value("string"), "image": Image()})
    data = Dataset.from_dict({"example_id": ["a", "b"], "image": images}, features)
    predictions = predict(str(folder), data, features=True)
    with torch.no_grad():
        expected = model(**processor(pictures, return_tensors="pt")).logits.numpy()
    np.testing.assert_allclose(predictions.logits, expected, rtol=1e-4, atol=1e-4)
    assert predictions.vectors("features").shape == (2, model.config.hidden_sizes[-1])
    state = {name: value for name, value in model.state_dict().items() if "denselayer2.conv1" not in name}
    model.save_pretrained(folder, state_dict=state)
    with pytest.raises(OochubError, match=r"2 weights \(features\.denseblock1\.denselayer2\.conv1\.weight"):
        predict(str(folder), data)
