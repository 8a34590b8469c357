"""Built-in models: each is made for its kinds of input, and for no other rows."""

import math

import pytest
import torch
from datasets import Array3D, Dataset, Features

import oochub
from oochub import catalog
from oochub.errors import OochubError
from oochub.models.built_in_model import choose_built_in, find_built_in, list_model_names
from oochub.trainers.backbone import open_backbone
from oochub.trainers.rows.targets import BOXES, CLASSES, TOKENS

GRAPHS = [
    {"nodes": [[5], [7]], "edges": [[0, 1], [1, 0]], "edge_features": [[2], [2]]},
    {"nodes": [[1]], "edges": [], "edge_features": []},
]
ROWS = {
    "pictures": lambda: None,
    "arrays": lambda: Dataset.from_dict(
        {"array": torch.randn(2, 8, 32, 32).tolist()}, Features({"array": Array3D((8, 32, 32), "float32")})
    ),
    "texts": lambda: Dataset.from_dict({"text": ["A good, good film!", "a bad book", ""]}),
    "graphs": lambda: Dataset.from_dict({"graph": GRAPHS}),
    "token_ids": lambda: Dataset.from_dict({"input_ids": [[7, 8, 2], [9]], "tokens": [[8, 2, -100], [11]]}),
}
"""A few rows of each kind of input, by its name."""


def made(name, inputs, boxes=False):
    """Model and processor for three classes, for boxes of three or for tokens."""
    problem = BOXES if boxes else TOKENS if inputs == "token_ids" else CLASSES
    kind, size = catalog.get("input", inputs), 32 if inputs == "pictures" else None
    return kind, *open_backbone(
        name, class_names=["a", "b", "c"], problem_type=problem, kind=kind, dataset=ROWS[inputs](), image_size=size
    )


@pytest.mark.parametrize("name", list_model_names())
def test_each_reads_its_inputs_and_no_others(name):
    """Of every built-in model and kind of input. Fault planted: resnet18 for graphs too."""
    own = find_built_in(name)
    for inputs in ROWS:
        for boxes in (False, True)[: 1 + (inputs == "pictures")]:
            fits = own.fits(catalog.get("input", inputs), boxes=boxes)
            assert fits == (inputs in own.inputs and own.is_detector == boxes)
            if not fits:
                with pytest.raises(OochubError, match=rf"{name!r} .* the rows are of .*Built-in models for them: \w"):
                    made(name, inputs, boxes)
    assert set(own.inputs) <= set(ROWS)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "inputs"), [(name, each) for name in list_model_names() for each in find_built_in(name).inputs]
)
def test_each_learns(name, inputs):
    """Its answers to two rows of noise are finite, of the right shape, and every weight has a gradient but few."""
    own = find_built_in(name)
    kind, model, processor = made(name, inputs, own.is_detector)
    probe = kind.of(processor).probe()
    said = model.train()(**probe)
    outputs = {"token_ids": 12}.get(inputs, 4 if own.is_detector else 3)
    assert said.logits.shape[0] == 2 and said.logits.shape[-1] == outputs
    total = said.logits.square().sum() + (said.pred_boxes.sum() if own.is_detector else 0)
    total.backward()
    moved = [parameter.grad is not None and bool(parameter.grad.any()) for parameter in model.parameters()]
    assert math.isfinite(total.item()) and sum(moved) > 0.8 * len(moved)


@pytest.mark.parametrize("inputs", ROWS)
def test_each_kind_of_input_has_one_default(inputs):
    """Faults planted: none for graphs, as before; a second default of images."""
    kind = catalog.get("input", inputs)
    for boxes in (False, True)[: 1 + (inputs == "pictures")]:
        defaults = [
            name for name in list_model_names() if (m := find_built_in(name)).fits(kind, boxes=boxes) and m.is_default
        ]
        assert [choose_built_in(None, kind, boxes=boxes)] == defaults


@pytest.mark.slow
def test_sizes_are_those_of_the_papers():
    """Millions of weights as they are printed elsewhere.

    torchvision: ResNet-18 11.69, of which 0.513 the head of 1,000 classes, DenseNet-121 7.98, 1.025; GPT-2 small:
    124.44, of which 38.60 its vocabulary of 50,257.
    """

    def millions(name, inputs="pictures", boxes=False):
        return sum(parameter.numel() for parameter in made(name, inputs, boxes)[1].parameters()) / 1e6

    assert millions("resnet18") == pytest.approx(11.69 - 0.513 + 0.0015, abs=0.01)
    assert millions("densenet121") == pytest.approx(7.979 - 1.025 + 0.003, abs=0.01)
    assert millions("code-gpt", "token_ids") == pytest.approx(124.44 - 38.60 + 0.009, abs=0.01)


def test_a_band_more_is_a_channel_more():
    _, model, processor = made("resnet18", "arrays")
    assert model.config.num_channels == 8 == processor.bands


def test_a_network_that_reads_something_else_is_refused(tmp_path):
    """A folder of a network of texts for graphs, which the same class of transformers opens. Planted: no look at it."""
    _, model, processor = made("distilbert-tiny", "texts")
    model.save_pretrained(tmp_path)
    processor.save_pretrained(tmp_path)
    for pretrained in (True, False):
        with pytest.raises(
            OochubError, match=r"reads input_ids, but the rows are graphs, nodes.* such as 'gin-virtual'"
        ):
            open_backbone(
                str(tmp_path),
                class_names=["a", "b"],
                kind=catalog.get("input", "graphs"),
                dataset=ROWS["graphs"](),
                pretrained=pretrained,
            )


def test_rows_are_not_built_for_a_model_that_does_not_fit(raw, tmp_path, monkeypatch):
    """Planted: a look after the build alone."""
    monkeypatch.setattr("datasets.DatasetBuilder.download_and_prepare", lambda *_, **__: pytest.fail("built"))
    with pytest.raises(OochubError, match="'gin-virtual' reads graphs, and the rows are of pictures"):
        oochub.train("spawrious/o2o_hard", tmp_path / "run", model="gin-virtual", data_dir=str(raw("spawrious")))


def test_names_and_folders(tmp_path, monkeypatch):
    """- or _; a model's folder of the same name comes first, another folder does not."""
    monkeypatch.chdir(tmp_path)
    assert find_built_in("resnet_tiny") is find_built_in("resnet-tiny") is oochub.get("model", "resnet_tiny")
    (tmp_path / "resnet18").mkdir()
    assert find_built_in("resnet18") is not None
    (tmp_path / "resnet18" / "config.json").write_text("{}")
    assert find_built_in("resnet18") is None


def test_a_tokenizer_of_the_words_of_training():
    """The more frequent first, equals by the alphabet; marks are words."""
    _, model, tokenizer = made("distilbert-tiny", "texts")
    words = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    assert words == ["[PAD]", "[UNK]", "a", "good", "!", ",", "bad", "book", "film"]
    assert tokenizer("A GOOD dog!")["input_ids"] == [2, 3, 1, 4] and model.config.vocab_size == 9
