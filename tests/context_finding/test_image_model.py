"""A model over images: the same answers in a block of many passes and outside, and all as it was after it."""

import numpy as np
import pytest
import torch
import transformers as hf
from opened_pictures import opened
from PIL import Image
from torch import nn

import oochub
from oochub.context_finding.finders import clusters
from oochub.context_finding.image_model import mask_region
from oochub.errors import OochubError
from oochub.inputs.arrays import ArrayProcessor


def network():
    torch.manual_seed(0)
    config = hf.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], num_labels=2)
    return hf.ResNetForImageClassification(config).eval()


def features(way, prepared):
    return np.stack(way.measures(prepared).column("feature").to_numpy())


def test_a_block_of_many_passes_folds_batch_norms_and_leaves_the_model_as_it_was():
    """Features move by rounding alone: 1e-5 of their range, as `fold_batch_norm` promises of logits."""
    model, rng = network(), np.random.default_rng(0)
    processor = hf.ConvNextImageProcessorPil(size={"shortest_edge": 32}, crop_pct=1.0)
    way = oochub.get("context", "clusters")(model=model, image_processor=processor)
    prepared = [way.prepare(opened(Image.fromarray(rng.integers(0, 256, (40, 30, 3), np.uint8)))) for _ in range(20)]
    before, threads, weights = features(way, prepared), torch.get_num_threads(), dict(model.state_dict())
    norms = sum(isinstance(layer, nn.BatchNorm2d) for layer in model.modules())
    rows = []
    model.register_forward_pre_hook(lambda _, __, given: rows.append(len(given["pixel_values"])), with_kwargs=True)
    with way.opened():
        assert norms > sum(isinstance(layer, nn.BatchNorm2d) for layer in model.modules()) == 0
        rows.clear()
        folded = features(way, prepared)
        assert rows == [16, 4]  # as many as oochub.predict gives a processor
    assert 0 < np.abs(folded - before).max() < 1e-5 * np.ptp(before)
    assert (features(way, prepared) == before).all() and torch.get_num_threads() == threads
    assert all(weights[name] is value or (weights[name] == value).all() for name, value in model.state_dict().items())


@pytest.mark.parametrize("shape", [(1, 1), (2, 3), (3, 2), (7, 9), (40, 30), (5, 200)])
def test_the_rim_is_that_of_the_mask(shape):
    """The middle has the rounded mean of the rim's pixels, in float64."""
    pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3), np.uint8)
    rim = mask_region(*shape, region="rim", depth=clusters._RIM)
    expected = pixels.copy()
    expected[~rim] = np.rint(pixels[rim].mean(0))
    image = Image.fromarray(pixels)
    assert (np.asarray(clusters._keep_rim(image)) == expected).all()
    assert (np.asarray(image) == pixels).all()


def test_a_processor_of_other_inputs_is_refused():
    arrays = ArrayProcessor(column="a", shape=(3, 8, 8))
    way = oochub.get("context", "clusters")(model=network(), image_processor=arrays)
    with pytest.raises(OochubError, match="found in images, but the model reads arrays"):
        way.prepare(opened(Image.new("RGB", (4, 4))))
