"""The last layer with places, of every type of image classifier of transformers."""

import pytest
import torch
from tiny_classifiers import TINY, tiny_classifier
from torch import nn

from oochub.attention.smooth_grad_cam import find_spatial_layer, record_outputs
from oochub.errors import OochubError
from oochub.inputs.pictures import Pictures
from oochub.models.model_source import ModelSource

_KNOWN = {  # by hand, from the source of transformers: what the classifier reads, or what goes into the last block
    "resnet": ("resnet.encoder.stages.1", "channels_first", 0),
    "convnext": ("convnext.encoder.stages.1", "channels_first", 0),
    "vit": ("vit.layers.0", "tokens", 1),
    "deit": ("deit.layers.0", "tokens", 2),
    "dinov2_with_registers": ("dinov2_with_registers.layernorm", "tokens", 5),
    "clip": ("vision_model.encoder.layers.1", "tokens", 1),
    "swin": ("swin.layernorm", "tokens", 0),
}
_WITHOUT = {"imagegpt", "siglip2"}  # called with color numbers, and with patches


def _opened(model_type, folder):
    source = ModelSource(str(tiny_classifier(model_type, folder)))
    inputs = Pictures(Pictures.load_processor(source.path, None), preprocessing="auto")
    return source.open(inputs.auto_model, inputs).model, inputs.probe()


@pytest.mark.parametrize("model_type", _KNOWN)
def test_the_layer_is_the_last_that_all_passes(model_type, tmp_path):
    """The name is that of the layer in transformers."""
    network, probe = _opened(model_type, tmp_path)
    found = find_spatial_layer(network, probe)
    names = {layer: name for name, layer in network.named_modules()}
    assert (names[found.layer], found.form, found.before, found.after) == (*_KNOWN[model_type], 0)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", sorted(set(TINY) - _WITHOUT))
def test_every_classifier_has_one(model_type, tmp_path):
    """Nothing reaches the logits past the layer: with its output held, another image has the same logits."""
    network, probe = _opened(model_type, tmp_path)
    found = find_spatial_layer(network, probe)
    size = tuple(probe["pixel_values"].shape[2:])
    with torch.no_grad(), record_outputs(network, found.layer) as calls:
        logits = network(**probe).logits
    held = calls[found.call][1]
    assert found.places(held, size).shape[2:].numel() > 1
    count = iter(range(100))

    def hold(layer, given, output):
        if next(count) != found.call:
            return None
        return (held, *output[1:]) if isinstance(output, tuple) else held

    found.layer.register_forward_hook(hold)
    with torch.no_grad():
        other = network(**{**probe, "pixel_values": torch.zeros_like(probe["pixel_values"])}).logits
    assert torch.equal(other, logits)


@pytest.mark.slow
@pytest.mark.parametrize("model_type", sorted(_WITHOUT))
def test_those_without_one_say_so(model_type, tmp_path):
    """They are not called with the pixels of an image."""
    network, probe = _opened(model_type, tmp_path)
    with pytest.raises(OochubError, match="saliency map"):
        find_spatial_layer(network, probe)


@pytest.mark.parametrize(
    ("network", "probe", "words"),
    [
        (nn.Linear(3, 2), {"input_ids": torch.zeros(2, 3)}, "Linear does not take pixels"),
        (nn.Flatten(), {"pixel_values": torch.zeros(2, 3, 8, 8)}, "has no layer of spatial features"),
    ],
)
def test_a_network_without_places_says_so(network, probe, words):
    """Words, and a network that flattens the pixels at once."""

    class Answering(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = network

        def forward(self, **inputs):
            from types import SimpleNamespace

            return SimpleNamespace(logits=self.first(next(iter(inputs.values()))))

    named = network if "input_ids" in probe else Answering()
    with pytest.raises(OochubError, match=words):
        find_spatial_layer(named, probe)
