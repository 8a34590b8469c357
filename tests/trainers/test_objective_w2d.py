"""W2D against its steps written out in float64 NumPy for a convolutional network, and by hand for tokens."""

from typing import Any

import numpy as np
import pytest
import torch
from objective_references import agrees, erm, made, some_batch
from torch import nn
from trainings import Output, batch_of, training_step_of, with_dropout
from transformers import (
    ConvNextConfig,
    ConvNextForImageClassification,
    Dinov2WithRegistersConfig,
    Dinov2WithRegistersForImageClassification,
    ResNetConfig,
    ResNetForImageClassification,
    SwinConfig,
    SwinForImageClassification,
)

import oochub
from oochub.trainers.objectives.w2d import _find_map, _Tail

PIXELS = np.random.default_rng(0).normal(size=(12, 3, 6, 6))


class Convolutional(nn.Module):
    """Normalized pixels, one convolution, the mean over 36 positions, a linear layer with bias."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.norm = nn.BatchNorm2d(3)
        self.body = nn.Sequential(nn.Conv2d(3, 5, 3, padding=1), nn.ReLU())
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Linear(5, 3)
        self.double()
        self.config: Any = None

    def forward(self, pixel_values: torch.Tensor) -> Output:
        return Output(self.head(self.pool(self.body(self.norm(pixel_values))).flatten(1)))


def softmax(logits: np.ndarray) -> np.ndarray:
    p = np.exp(logits - logits.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def reference(maps: np.ndarray, label: np.ndarray, model: Any, *, feature_share: float, batch_share: float) -> Any:
    """The mask (n, 36) by loops over rows, from maps (n, 5, 36); behind the mean, d logit_y / dF = W_y / 36."""
    weight, bias = model.head.weight.detach().numpy(), model.head.bias.detach().numpy()
    mask = np.ones((len(maps), 36))
    for i, (one, y) in enumerate(zip(maps, label, strict=True)):
        cam = (weight[y] / 36) @ one
        edge = np.sort(cam)[::-1][int(36 * feature_share)]
        mask[i, cam > edge] = 0
    before = softmax(maps.mean(2) @ weight.T + bias)[np.arange(len(maps)), label]
    after = softmax((maps * mask[:, None]).mean(2) @ weight.T + bias)[np.arange(len(maps)), label]
    change = np.maximum(before - after - 1e-4, 0)
    edge = np.sort(change)[::-1][round(len(maps) * batch_share)]
    mask[change <= edge] = 1
    return mask


def maps_of(model: Any, pixels: np.ndarray) -> np.ndarray:
    return model.body(model.norm(torch.tensor(pixels))).detach().numpy().reshape(len(pixels), 5, 36)


@pytest.mark.parametrize("share", [0.2, 0.25, 0.4])
@pytest.mark.parametrize("late", [False, True])
def test_a_step_is_that_of_the_formula(share: float, late: bool) -> None:
    """The rows, the mask, the loss and the update. Planted: cam >= edge; masks on all rows; the mask before the rows.

    In training mode BatchNorm normalizes with the kept rows; the losses that choose them are those of evaluation mode.
    """
    model, batch = Convolutional(), some_batch()
    objective = oochub.get("objective", "w2d")(sample_share=0.6, feature_share=share, batch_share=0.5)
    given = batch_of(PIXELS, batch.label)
    objective.examine(model, given.inputs, label=given.label, environment=given.environment)
    model.eval()
    losses = nn.functional.cross_entropy(model(torch.tensor(PIXELS)).logits, given.label, reduction="none").detach()
    rows = np.arange(12) if late else np.argsort(-losses.numpy())[:7]  # int(12 x 0.6)
    twin = Convolutional().train()
    maps, label = maps_of(twin, PIXELS[rows]), batch.label[rows]
    mask = reference(maps, label, twin, feature_share=share, batch_share=0.5)
    hidden = (mask == 0).sum(1)
    assert set(hidden) == {0, int(36 * share)} and 0 < (hidden > 0).sum() <= round(len(rows) * 0.5)
    optimizer = torch.optim.SGD(twin.parameters(), lr=0.1)
    features = twin.body(twin.norm(torch.tensor(PIXELS[rows]))).flatten(2) * torch.tensor(mask)[:, None]
    expected = nn.functional.cross_entropy(twin.head(features.mean(2)), torch.tensor(label))
    expected.backward()
    optimizer.step()

    training = training_step_of(model.train(), torch.optim.SGD(model.parameters(), lr=0.1))
    training.done = 0.9 if late else 0.75
    taken = objective.take_step(given, training)
    assert taken.batch.row.tolist() == list(rows)
    assert taken.loss.item() == pytest.approx(expected.item(), abs=1e-12)
    for (name, ours), theirs in zip(model.named_parameters(), twin.parameters(), strict=True):
        assert torch.allclose(ours, theirs, atol=1e-12), name
    if late:  # the body ran once, though the map was used three times
        assert model.norm.num_batches_tracked == 1
    assert model.training


def test_outside_a_step_it_is_erm_and_so_is_a_step_that_hides_nothing() -> None:
    """feature_share 0 hides no position, and in the last part all rows are kept."""
    agrees(made("w2d"), erm, some_batch())
    batch, weights = batch_of(PIXELS, some_batch().label), []
    for name in ("w2d", "erm"):
        model = Convolutional().train()
        training = training_step_of(model, torch.optim.SGD(model.parameters(), lr=0.1))
        training.done = 0.9
        objective = oochub.get("objective", name)(**({"feature_share": 0.0} if name == "w2d" else {}))
        objective.examine(model, batch.inputs, label=batch.label, environment=batch.environment)
        objective.take_step(batch, training)
        weights.append(model.head.weight.detach())
    assert torch.allclose(weights[0], weights[1], atol=1e-14)


def test_a_small_batch_keeps_a_row() -> None:
    """int(2 / 3) = 0 rows: the authors' code stops there; one is kept."""
    model, objective = Convolutional(), oochub.get("objective", "w2d")()
    batch = batch_of(PIXELS[:2], [0, 1])
    objective.examine(model, batch.inputs, label=batch.label, environment=batch.environment)
    training = training_step_of(model, torch.optim.SGD(model.parameters(), lr=0.1))
    assert len(objective.take_step(batch, training).batch.row) == 1


def test_authors_move_the_running_statistics_twice() -> None:
    counts = []
    for form in (None, "authors"):
        model, objective = Convolutional().train(), oochub.get("objective", "w2d")(form=form)
        batch = batch_of(PIXELS, some_batch().label)
        objective.examine(model, batch.inputs, label=batch.label, environment=batch.environment)
        objective.take_step(batch, training_step_of(model, torch.optim.SGD(model.parameters(), lr=0.1)))
        counts.append(int(model.norm.num_batches_tracked))
    assert counts == [1, 2]


def models() -> dict[str, Any]:
    torch.manual_seed(0)
    vit = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16, "patch_size": 4, "image_size": 16}
    dino = {**vit, "num_hidden_layers": 2, "num_register_tokens": 3}
    dino.pop("intermediate_size")
    swin = {"image_size": 32, "patch_size": 4, "embed_dim": 8, "depths": [1, 1], "num_heads": [1, 2], "window_size": 4}
    convnext = {"hidden_sizes": [8, 16], "depths": [1, 1], "num_stages": 2, "patch_size": 4}
    resnet = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
    return {
        "vit": with_dropout(0.0)[0],
        "dino": Dinov2WithRegistersForImageClassification(Dinov2WithRegistersConfig(**dino)),
        "swin": SwinForImageClassification(SwinConfig(**swin)),
        "convnext": ConvNextForImageClassification(ConvNextConfig(**convnext)),
        "resnet": ResNetForImageClassification(ResNetConfig(**resnet)),
    }


@pytest.mark.parametrize(
    ("name", "size", "shape", "first"),
    [
        ("resnet", 32, (2, 16, 4, 4), 0),
        ("convnext", 32, (2, 16, 4, 4), 0),
        ("swin", 32, (2, 16, 16), 0),
        ("vit", 16, (2, 5, 16), 1),
        ("dino", 16, (2, 20, 16), 4),
    ],
)
def test_the_map_of_real_architectures(name: str, size: int, shape: tuple[int, ...], first: int) -> None:
    """The map's shape; the rest of the model gives the logits back from it, and a zero map gives others."""
    model = models()[name].eval()
    inputs = {"pixel_values": torch.randn(2, 3, size, size)}
    tail = _Tail(model, _find_map(model, inputs))
    with tail.recording():
        logits = model(**inputs).logits
    assert tuple(tail.map.shape) == shape
    assert tail.first_tokens(inputs) == first
    assert torch.allclose(tail(inputs, tail.map), logits, atol=1e-6)
    assert not torch.allclose(tail(inputs, torch.zeros_like(tail.map)), logits, atol=1e-4)
    without = tail.map.clone()
    without[(slice(None), first) if without.ndim == 3 else (slice(None), slice(None), 0, 0)] = 0  # one patch
    assert not torch.allclose(tail(inputs, without), logits, atol=1e-7)
    assert torch.allclose(model(**inputs).logits, logits)  # nothing of it stays
    batch = batch_of(inputs["pixel_values"].repeat(4, 1, 1, 1), [0, 1] * 4)
    objective = oochub.get("objective", "w2d")(batch_share=0.5)
    objective.examine(model, inputs, label=batch.label, environment=batch.environment)
    training = training_step_of(model.train(), torch.optim.SGD(model.parameters(), lr=0.1))
    taken = objective.take_step(batch, training)
    assert taken.loss.isfinite() and len(taken.batch.row) == 2
    if first:
        mask = objective._mask(tail, batch_of(inputs["pixel_values"], [0, 1]))
        assert mask[:, :first].min() == 1


def test_a_model_without_a_map_is_refused() -> None:
    class Flat(Convolutional):
        def forward(self, pixel_values: torch.Tensor) -> Output:
            return Output(self.head(pixel_values[:, :, 0, :5].sum(1)))

    probe = {"pixel_values": torch.tensor(PIXELS[:2])}
    with pytest.raises(oochub.OochubError, match="Flat has no map of features"):
        oochub.get("objective", "w2d")().examine(Flat(), probe, label=torch.zeros(1), environment=torch.zeros(1))
