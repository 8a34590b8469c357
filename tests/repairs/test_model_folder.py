"""The folder of a repaired model: each kind of last layer, encoders with and without a classifier of their type."""

import copy

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset, Features, Image, Value
from PIL import Image as Pillow

from oochub.errors import OochubError
from oochub.models.encoder import Encoder
from oochub.models.extraction import find_head, record_calls, take_features
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions_file import StoredHead
from oochub.repairs.model_folder import make_repaired_network, write_repaired_model

SMALL = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
VIT = {**SMALL, "image_size": 32, "patch_size": 16}
RESNET = {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1], "layer_type": "basic"}
CLASSIFIERS = {
    "resnet": lambda n: transformers.ResNetForImageClassification(transformers.ResNetConfig(**RESNET, num_labels=n)),
    "vit": lambda n: transformers.ViTForImageClassification(transformers.ViTConfig(**VIT, num_labels=n)),
    "the mean of two layers": lambda n: transformers.DeiTForImageClassificationWithTeacher(
        transformers.DeiTConfig(**VIT, num_labels=n)
    ),
    "convnext": lambda n: transformers.ConvNextForImageClassification(
        transformers.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2, num_labels=n)
    ),
}
ENCODERS = {  # and whether transformers has a classifier with the same vectors
    "resnet": (lambda: transformers.ResNetModel(transformers.ResNetConfig(**RESNET)), False),
    "convnext": (
        lambda: transformers.ConvNextModel(
            transformers.ConvNextConfig(hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)
        ),
        False,
    ),
    "vit": (lambda: transformers.ViTModel(transformers.ViTConfig(**VIT)), True),
    "dinov2": (lambda: transformers.Dinov2Model(transformers.Dinov2Config(**VIT)), True),
    "clip": (
        lambda: transformers.CLIPModel(
            transformers.CLIPConfig(
                text_config={**SMALL, "vocab_size": 20, "max_position_embeddings": 8},
                vision_config=VIT,
                projection_dim=12,
            )
        ),
        True,
    ),
}


def save(model, folder):
    torch.manual_seed(0)
    for parameter in model.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    model.eval().save_pretrained(folder)
    size = {"height": 32, "width": 32}
    transformers.ViTImageProcessor(size=size).save_pretrained(folder)
    return str(folder)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    images = [Pillow.fromarray(rng.integers(0, 255, (32, 32, 3), np.uint8)) for _ in range(4)]
    return Dataset.from_dict(
        {"image": images, "example_id": list("abcd")}, Features(image=Image(), example_id=Value("string"))
    )


def new_head(width, *, classes=3, seed=1):
    rng = np.random.default_rng(seed)
    return StoredHead(weight=rng.normal(size=(classes, width)), bias=rng.normal(size=classes))


def written(folder, source, inputs, head, pooling=None):
    names = ["ant", "bee", "cat"]
    network = make_repaired_network(source, inputs, head, class_names=names, pooling=pooling)
    write_repaired_model(folder, network, inputs, card="---\n---\n", check=lambda draft: None)
    return network


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_keeps_its_architecture(name, rows, tmp_path):
    """From five outputs to three: `transformers` alone gives features @ W.T + b, and the given folder has not changed.

    Planted fault seen: the weights of two layers not doubled.
    """
    given = save(CLASSIFIERS[name](5), tmp_path / "given")
    before = {file.name: file.read_bytes() for file in (tmp_path / "given").iterdir()}
    source = ModelSource(given)
    inputs = source.inputs(rows)
    model, probe = source.open(inputs.auto_model, inputs).model, inputs.probe()
    found = find_head(model, probe)
    with torch.inference_mode(), record_calls(model, found.layers) as calls:
        model(**probe)
        features = take_features(calls, found.layers).double().numpy()
    head = new_head(features.shape[1])
    assert not written(tmp_path / "new", source, inputs, head).is_wrapper
    opened = transformers.AutoModelForImageClassification.from_pretrained(tmp_path / "new").eval()
    with torch.inference_mode():
        logits = opened(**probe).logits.numpy()
    np.testing.assert_allclose(logits, features @ head.weight.T + head.bias, atol=1e-4)
    assert type(opened) is type(model) and opened.config.id2label == {0: "ant", 1: "bee", 2: "cat"}
    assert before == {file.name: file.read_bytes() for file in (tmp_path / "given").iterdir()}


@pytest.mark.parametrize("name", ENCODERS)
def test_an_encoder_becomes_a_classifier(name, rows, tmp_path):
    """That of its type where it has the same vectors, else a linear layer on it; both say what the vectors say."""
    make, is_wrapper = ENCODERS[name]
    source = ModelSource(save(make(), tmp_path / "given"))
    inputs = source.inputs(rows)
    encoder, probe = Encoder.open(source, inputs), inputs.probe()
    with torch.inference_mode():
        features = encoder(**probe).double().numpy()
    head = new_head(features.shape[1])
    assert written(tmp_path / "new", source, inputs, head, pooling="auto").is_wrapper == is_wrapper
    opened = ModelSource(tmp_path / "new").open(inputs.auto_model, inputs).model
    with torch.inference_mode():
        logits = opened(**probe).logits.numpy()
    np.testing.assert_allclose(logits, features @ head.weight.T + head.bias, atol=1e-3)


def test_a_model_object_stays_as_it_is(rows, tmp_path):
    """Planted fault seen: the object itself given the new layer."""
    folder = save(CLASSIFIERS["vit"](5), tmp_path / "given")
    model = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    state = copy.deepcopy(model.state_dict())
    source = ModelSource(model)
    inputs = source.inputs(rows, processor=folder)
    written(tmp_path / "new", source, inputs, new_head(16))
    assert model.config.num_labels == 5 and state.keys() == model.state_dict().keys()
    assert all(torch.equal(value, state[name]) for name, value in model.state_dict().items())


def test_a_layer_without_bias_is_refused(rows, tmp_path):
    """A folder with it could not be opened again: the class has no place for a bias."""
    source = ModelSource(save(CLASSIFIERS["vit"](5), tmp_path / "given"))
    inputs = source.inputs(rows)
    source.open(inputs.auto_model, inputs)
    model = transformers.ViTForImageClassification.from_pretrained(tmp_path / "given").eval()
    model.classifier = torch.nn.Linear(16, 5, bias=False)
    with pytest.raises(OochubError, match="has no bias"):
        written(tmp_path / "new", ModelSource(model), inputs, new_head(16))
    assert not (tmp_path / "new").exists()


def test_a_folder_that_says_something_else_is_not_written(rows, tmp_path):
    """What the check of the answers raises leaves no folder, nor half of one."""
    source = ModelSource(save(CLASSIFIERS["resnet"](5), tmp_path / "given"))
    inputs = source.inputs(rows)

    def refuse(folder):
        assert (folder / "config.json").is_file()
        raise OochubError("It says something else.")

    network = make_repaired_network(source, inputs, new_head(16), class_names=["a", "b", "c"], pooling=None)
    with pytest.raises(OochubError, match="something else"):
        write_repaired_model(tmp_path / "new", network, inputs, card="", check=refuse)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["given"]
