"""A classifier on classes that are not its own: sums of probabilities by hand, rows left out, what predictions say."""

import io
import json
from types import SimpleNamespace

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from datasets import Image as ImageFeature
from PIL import Image
from sklearn.metrics import roc_auc_score

import oochub
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.models.modes.head import _NextTokens

NAMES = ["cat", "bird", "dog"]
OWN = ["beagle", "tabby", "jay", "pug", "lynx", "jeep"]
MAP = {"cat": ["tabby", "lynx"], "bird": "jay", "dog": ["pug", "beagle"]}
SIZE = {"height": 16, "width": 16}


def classifier(names):
    torch.manual_seed(1)
    model = transformers.ResNetForImageClassification(
        transformers.ResNetConfig(
            embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=len(names)
        )
    )
    model.config.id2label = dict(enumerate(names))
    torch.nn.init.normal_(model.classifier[1].weight, std=3)
    return model.eval()


def rows(names, labels):
    """Images of noise; their order tells them apart."""
    noise = np.random.default_rng(0).integers(0, 256, (len(labels), 20, 20, 3)).astype(np.uint8)
    pictures = []
    for array in noise:
        file = io.BytesIO()
        Image.fromarray(array).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": None})
    features = {"example_id": Value("string"), "image": ImageFeature(), "label": ClassLabel(names=names)}
    columns = {"example_id": [f"id{k}" for k in range(len(labels))], "image": pictures, "label": labels}
    return Dataset.from_dict(columns, Features(features))


def predicted(model, data, **options):
    processor = transformers.ViTImageProcessorPil(size=SIZE)
    return oochub.predict(model, data, processor=processor, preprocessing="processor", **options)


def own_probabilities(model, data):
    """Of all the model's classes, by transformers alone."""
    processor = transformers.ViTImageProcessorPil(size=SIZE)
    with torch.inference_mode():
        logits = model(**processor(data["image"][:], return_tensors="pt")).logits
    return logits.double().softmax(1).numpy()


def test_probabilities_are_the_sums_of_the_model_s_renormalized():
    """By hand, from the softmax over all outputs. Planted faults: the largest logit of a class, and the mean."""
    model, data = classifier(OWN), rows(NAMES, [0, 1, 2, 0, -1])
    made = predicted(model, data, label_map=MAP, features=True)
    own = own_probabilities(model, data)
    sums = np.stack([own[:, [1, 4]].sum(1), own[:, 2], own[:, [0, 3]].sum(1)], axis=1)
    np.testing.assert_allclose(made.probability, sums / sums.sum(1, keepdims=True), atol=1e-6)
    assert made.label.tolist() == [0, 1, 2, 0, -1] and tuple(made.class_names) == tuple(NAMES)
    assert "answers are among the 3 classes of the dataset, not the model's 6" in made.metadata.notes
    said = made.metadata.provenance["label_map"]
    assert said["dog"] == {"rule": "file", "outputs": {"0": "beagle", "3": "pug"}}


def test_sums_have_features_and_no_head(tmp_path):
    """Detectors that need the head say so; those of features run."""
    model, data = classifier(OWN), rows(NAMES, [0, 1, 2] * 6 + [-1] * 6)
    known = predicted(model, rows(NAMES, [0, 1, 2] * 8), label_map=MAP, features=True)
    assert predicted(classifier(NAMES), data, features=True, out=tmp_path / "p.parquet").head is not None
    made = predicted(model, data, label_map=MAP, features=True, out=tmp_path / "p.parquet")
    assert made.features.shape == (24, 16) and made.head is None
    assert [file.name for file in tmp_path.iterdir()] == ["p.parquet"]
    report = oochub.evaluate(made, reference=known, detectors=["mahalanobis"], resamples=100)
    assert "mahalanobis" in report.to_markdown()
    with pytest.raises(oochub.OochubError, match=r"ash_b needs weight, bias.*label map"):
        oochub.evaluate(made, reference=known, detectors=["ash_b"], resamples=100)
    kept = predicted(model, data, label_map={"cat": 1, "bird": 2, "dog": 3}, features=True)
    np.testing.assert_allclose(kept.features @ kept.head.weight.T + kept.head.bias, kept.logits, atol=1e-4)


@pytest.mark.parametrize("streamed", [False, True])
def test_rows_of_classes_that_the_model_does_not_know_are_left_out(streamed):
    """The rows that are left have the label of their name. Planted fault: numbers of the data set's list kept."""
    names = ["yeti", *NAMES, "unicorn"]
    model, data = classifier(["dog", "cat", "bird"]), rows(names, [0, 1, 4, 2, 3, -1, 0])
    given = data.to_iterable_dataset() if streamed else data
    made = predicted(model, given, restrict=True)
    assert made.column("example_id").tolist() == ["id1", "id3", "id4", "id5"]
    assert made.label.tolist() == [0, 1, 2, -1] and tuple(made.class_names) == tuple(NAMES)
    own = own_probabilities(model, data)[[1, 3, 4, 5]]
    np.testing.assert_allclose(made.probability, own[:, [1, 2, 0]], atol=1e-6)
    rows_of = "the rows of 2 classes" if streamed else "3 rows of 2 classes"
    assert f"{rows_of} that the model does not know are left out: yeti, unicorn" in made.metadata.notes
    with pytest.raises(oochub.OochubError, match="does not know 2 of these: yeti; unicorn"):
        predicted(model, given)


def test_a_split_of_unknown_classes_alone_is_an_error():
    data = DatasetDict(validation=rows([*NAMES, "yeti"], [0, 1]), test=rows([*NAMES, "yeti"], [3, 3]))
    with pytest.raises(oochub.OochubError, match="All rows of the split test have classes"):
        predicted(classifier(NAMES), data, restrict=True)


def test_imagenet_s_dogs_and_cats_without_a_file():
    """Places 151 to 268 are the dogs; the report repeats how classes were matched."""
    model, data = classifier(IMAGENET_1K_NAMES), rows(["dog", "n02123045", "jeep"], [0, 1, 2] * 4)
    made = predicted(model, data)
    own = own_probabilities(model, data)
    sums = np.stack([own[:, 151:269].sum(1), own[:, 281], own[:, 609]], axis=1)
    np.testing.assert_allclose(made.probability, sums / sums.sum(1, keepdims=True), atol=1e-5)
    report = oochub.evaluate(made, resamples=100)
    assert "not the model's 1,000" in report.to_markdown() and "dog by 118 of them" in report.to_markdown()


def test_odin_goes_through_sums():
    """Liang et al. 2018, Eq. 2, by hand: a step up the log of the largest softmax of the sums, at temperature 1000."""
    model, data = classifier(OWN), rows(NAMES, [0, 1, 2])
    made = predicted(model, data, label_map=MAP, odin=0.01)
    pixels = transformers.ViTImageProcessorPil(size=SIZE)(data["image"][:], return_tensors="pt")["pixel_values"]

    def sums(pixels):
        own = model(pixel_values=pixels).logits
        return torch.stack([own[:, [1, 4]].exp().sum(1).log(), own[:, 2], own[:, [0, 3]].exp().sum(1).log()], dim=1)

    pixels.requires_grad_()
    (sums(pixels) / 1000).log_softmax(1).amax(1).sum().backward()
    step = pixels + 0.01 / 0.5 * pixels.grad.sign()  # 0.5 is the processor's image_std
    np.testing.assert_allclose(made.vectors("odin_logits"), sums(step).detach(), atol=1e-4)


def test_settings_are_checked_before_weights(tmp_path):
    """The folder holds a config and no weights: what is said is of the classes, not of the weights."""
    classifier(OWN).config.save_pretrained(tmp_path)
    data = rows(NAMES, [0])
    for settings, words in (
        ({"label_map": {"cat": "tabbi"}}, "No class of the model named 'tabbi'"),
        ({"label_map": tmp_path / "no.csv"}, "no such file"),
        ({"restrict": "yes"}, "restrict must be true or false"),
        ({"restric": True}, "No keyword of predict named 'restric'. Did you mean 'restrict'"),
        ({}, "does not know 3 of these"),
    ):
        with pytest.raises(oochub.OochubError, match=words):
            predicted(str(tmp_path), data, mode="head", **settings)


def test_a_map_needs_classes_with_names():
    model, data = classifier(OWN), rows(NAMES, [0]).remove_columns("label")
    with pytest.raises(oochub.OochubError, match="concern classes with names, but the dataset has none"):
        predicted(model, data, restrict=True)


@pytest.mark.slow
def test_a_network_that_has_seen_the_world_knows_things_by_wordnet(real_classifier, real_data):
    """ImageNet has no class dog, bird or bicycle, but kinds of them: images where COCO annotates one rank high."""
    names = ["dog", "cat", "bird", "bicycle", "sandwich"]
    folder = real_data / "coco" / "permissive_subset"
    content = json.loads((folder / "instances.json").read_text())
    called = {category["id"]: category["name"] for category in content["categories"]}
    present = {(called[each["category_id"]], f"{each['image_id']:012}") for each in content["annotations"]}
    files = sorted((folder / "images").glob("*.jpg"))
    columns = {"image": [str(file) for file in files], "label": [-1] * len(files)}
    features = Features({"image": ImageFeature(), "label": ClassLabel(names=names)})
    made = oochub.predict(real_classifier, Dataset.from_dict(columns, features), images=False, cache=False)
    for column, name in enumerate(names):
        is_there = [(name, file.stem) in present for file in files]
        assert roc_auc_score(is_there, made.logits[:, column]) > 0.85, name


def test_rows_of_tokens_are_as_long_as_the_model_reads():
    """Four of ten tokens; a config that says nothing of it reads any length. Planted fault seen: any length is read."""
    logits = torch.zeros(1, 5, 10)
    model = torch.nn.Module()
    model.forward = lambda input_ids, attention_mask: SimpleNamespace(logits=logits[:, : input_ids.shape[1]])
    model.config = SimpleNamespace(vocab_size=10, max_position_embeddings=4)
    ids, mask = torch.full((1, 5), 9), torch.ones(1, 5, dtype=torch.long)
    short = _NextTokens(model)
    assert short(input_ids=ids[:, :4], attention_mask=mask[:, :4]).logits.shape == (1, 4)
    with pytest.raises(oochub.OochubError, match="A row has 5 tokens, but the model reads at most 4"):
        short(input_ids=ids, attention_mask=mask)
    with pytest.raises(oochub.OochubError, match="the token 10, but the model knows only those from 0 to 9"):
        short(input_ids=ids + 1, attention_mask=mask)
    model.config = SimpleNamespace(vocab_size=10)
    assert _NextTokens(model)(input_ids=ids, attention_mask=mask).logits.shape == (1, 5)
