"""The way to find contexts for a model: clusters look with its own features, unless another model is named."""

import pytest
import torch
from torch import nn

from oochub.context_finding.context_columns import make_way_for_model
from oochub.errors import OochubError
from oochub.inputs.pictures.image_processor import ImageTransform
from oochub.models.callable_model import CallableModel
from oochub.models.encoder import Encoder
from oochub.models.model_source import ModelSource
from oochub.models.onnx_file import OnnxFile
from oochub.settings.context_settings import ContextSettings
from oochub.settings.model_settings import ModelSettings


def test_clusters_look_with_the_audited_model():
    """If no other is named. Planted faults: the audited model over a named one; a function that has no features."""
    named = ContextSettings(contexts="clusters", context_model="models/other")
    clusters, model = ContextSettings(contexts="clusters"), ModelSource("runs/erm")
    assert make_way_for_model(clusters, model, ModelSettings())._source.path == "runs/erm"
    assert make_way_for_model(named, model, ModelSettings())._source.path == "models/other"
    with pytest.raises(OochubError, match=r"a function, has none that can be found.*context_settings="):
        make_way_for_model(clusters, ModelSource(lambda pictures: pictures), ModelSettings())
    net = CallableModel(nn.Sequential(nn.Flatten(), nn.Linear(12, 2)), ["cow", "camel"])
    assert make_way_for_model(clusters, ModelSource(net), ModelSettings())._source.given is net
    with pytest.raises(OochubError, match="segments needs model="):
        make_way_for_model(ContextSettings(contexts="segments"), model, ModelSettings())


class _Inputs:
    def probe(self):
        return {"pixel_values": torch.rand(2, 3, 4, 4, generator=torch.Generator().manual_seed(0))}


def test_the_features_of_a_module_and_of_its_file_are_what_its_last_layer_reads(tmp_path):
    """Against the layers themselves. Planted faults: the logits; the input of the first layer."""
    body = nn.Sequential(nn.Flatten(), nn.Linear(48, 5), nn.ReLU())
    net = nn.Sequential(body, nn.Linear(5, 3)).eval()
    pixels = torch.rand(7, 3, 4, 4)
    file = tmp_path / "net.onnx"
    axes = {"x": {0: "n"}, "logits": {0: "n"}}
    names = {"input_names": ["x"], "output_names": ["logits"], "dynamic_axes": axes}
    torch.onnx.export(net, pixels, str(file), dynamo=False, **names)
    for function in (net, OnnxFile(file)):
        model = CallableModel(function, ["a", "b", "c"], processor=ImageTransform(lambda image: image))
        encoder = Encoder.open(ModelSource(model), _Inputs())
        with torch.no_grad():
            torch.testing.assert_close(encoder(pixel_values=pixels), body(pixels), rtol=1e-5, atol=1e-6)
