"""Linear probes: against scikit-learn on features by hand, over encoders of many kinds; what is refused."""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, DatasetDict, Features, Value
from datasets import Image as ImageFeature
from PIL import Image
from scipy.special import log_softmax
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from tiny_classifiers import TINY, tiny_processor

import oochub
from oochub.inputs.pictures import Pictures
from oochub.models.encoder import Encoder
from oochub.models.model_source import ModelSource
from oochub.models.modes.linear_probe import _GRID as GRID
from oochub.models.supported_models import list_supported_models

_SIZE = 32
_VISION = {
    **{"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16},
    **{"image_size": _SIZE, "patch_size": 16},
}
_TEXT = {
    **{"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16},
    **{"vocab_size": 20, "max_position_embeddings": 8},
}
NAMES = ["red", "green", "blue"]


def _clip():
    return transformers.CLIPModel(transformers.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=8))


def _resnet(kind=transformers.ResNetModel):
    return kind(transformers.ResNetConfig(embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic"))


_ENCODERS = {
    "vit": lambda: transformers.ViTModel(transformers.ViTConfig(**_VISION)),
    "vit without pooler": lambda: transformers.ViTModel(transformers.ViTConfig(**_VISION), add_pooling_layer=False),
    "resnet": _resnet,
    "dinov2": lambda: transformers.Dinov2Model(transformers.Dinov2Config(**{**_VISION, "patch_size": 8})),
    "masked": lambda: transformers.ViTMAEModel(transformers.ViTMAEConfig(**_VISION, decoder_num_hidden_layers=1)),
    "segformer": lambda: transformers.SegformerModel(
        transformers.SegformerConfig(
            **{"hidden_sizes": [8] * 4, "depths": [1] * 4, "num_attention_heads": [1] * 4, "decoder_hidden_size": 8}
        )
    ),
    "clip vision": lambda: transformers.CLIPVisionModel(transformers.CLIPVisionConfig(**_VISION)),
    "clip": _clip,
    "classifier": lambda: _resnet(transformers.ResNetForImageClassification),
}


def _by_hand(model, name, pixels):
    """What the encoder sees, asked of the model as its own documentation does."""
    with torch.no_grad():
        if name == "clip":
            return model.visual_projection(model.vision_model(pixel_values=pixels).pooler_output)
        if name == "classifier":
            return model.resnet(pixel_values=pixels).pooler_output.flatten(1)
        if name in ("vit without pooler", "masked"):
            return model(pixel_values=pixels).last_hidden_state.mean(1)
        if name == "segformer":
            return model(pixel_values=pixels).last_hidden_state.mean((2, 3))
        return model(pixel_values=pixels).pooler_output.flatten(1)


def _saved(folder, name):
    torch.manual_seed(0)
    model = _ENCODERS[name]().eval()
    model.save_pretrained(folder)
    transformers.ViTImageProcessorPil(size={"height": _SIZE, "width": _SIZE}).save_pretrained(folder)
    return model


def _split(rows, seed, names=NAMES):
    """Noisy images whose mean color is their class."""
    generator = np.random.default_rng(seed)
    label = np.arange(rows) % len(names)
    pixels = generator.integers(0, 180, (rows, _SIZE, _SIZE, 3))
    pixels[np.arange(rows), :, :, label] += 60
    features = Features({"image": ImageFeature(), "label": ClassLabel(names=names)})
    images = [Image.fromarray(each.astype(np.uint8)) for each in pixels]
    return Dataset.from_dict({"image": images, "label": label.tolist()}, features)


def _data(names=NAMES, **sizes):
    sizes = sizes or {"train": 36, "validation": 15, "test": 12}
    return DatasetDict({split: _split(rows, seed, names) for seed, (split, rows) in enumerate(sizes.items())})


@pytest.fixture(scope="module")
def data():
    return _data()


def _features(model, name, part):
    processor = transformers.ViTImageProcessorPil(size={"height": _SIZE, "width": _SIZE})
    pixels = processor([row["image"] for row in part], return_tensors="pt")["pixel_values"]
    return _by_hand(model, name, pixels).double().numpy()


def _reference(train, label, validation, validation_label, test):
    """scikit-learn's pipeline for each C, chosen by the mean log-likelihood; its own scores of test."""
    best = (-np.inf,)
    for c in GRID:
        scaler = StandardScaler().fit(train)
        fitted = LogisticRegression(C=c, max_iter=2000).fit(scaler.transform(train), label)
        score = fitted.predict_log_proba(scaler.transform(validation))[np.arange(len(validation)), validation_label]
        if score.mean() > best[0]:
            best = (score.mean(), c, fitted.predict_log_proba(scaler.transform(test)))
    return best[1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", _ENCODERS)
def test_logits_are_those_of_scikit_learn_by_hand(name, data, tmp_path):
    """Features, head and network too."""
    model = _saved(tmp_path, name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = oochub.predict(
            tmp_path, data, mode="linear_probe", features=True, preprocessing="processor", splits=["test"], images=False
        )
    if name == "masked":
        model.config.mask_ratio = 0.0
    seen = {split: _features(model, name, data[split]) for split in data}
    np.testing.assert_allclose(made.features, seen["test"], atol=1e-5)
    np.testing.assert_allclose(made.features @ made.head.weight.T + made.head.bias, made.logits, atol=1e-4)
    c, expected = _reference(
        seen["train"], np.array(data["train"]["label"]), seen["validation"], data["validation"]["label"], seen["test"]
    )
    facts = made.metadata.provenance["linear_probe"]
    assert facts["c"] == c and facts["rows"] == 36 and facts["chosen_on"] == "validation"
    np.testing.assert_allclose(log_softmax(made.logits, 1), expected, atol=1e-3)
    assert made.metadata.model.mode == "linear_probe" and made.class_names == NAMES
    assert any("A linear probe trained on 36 rows of train" in note for note in made.metadata.notes)
    assert (made.prediction == made.label).mean() > 0.6  # chance is a third


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """A folder of one, and the model in it."""
    folder = tmp_path_factory.mktemp("encoder")
    return folder, _saved(folder, "vit")


def _predict(folder, data, **settings):
    return oochub.predict(folder, data, **{"mode": "linear_probe", "splits": ["test"], "images": False, **settings})


def test_auto_takes_it_for_an_encoder(encoder, data):
    assert oochub.predict(encoder[0], data, splits=["test"]).metadata.model.mode == "linear_probe"


@pytest.mark.slow
@pytest.mark.parametrize("pooling", ["cls", "mean", "pooler"])
def test_pooling(pooling, encoder, data):
    """By hand, of a folder and of the model itself. Fault planted: the last token taken for the first."""
    folder, model = encoder
    processor = transformers.ViTImageProcessorPil(size={"height": _SIZE, "width": _SIZE})
    pixels = processor([row["image"] for row in data["test"]], return_tensors="pt")["pixel_values"]
    with torch.no_grad():
        output = model(pixel_values=pixels)
    hidden = output.last_hidden_state
    expected = {"cls": hidden[:, 0], "mean": hidden.mean(1), "pooler": output.pooler_output}[pooling]
    of_folder = _predict(folder, data, pooling=pooling, features=True, preprocessing="processor")
    of_model = _predict(model, data, pooling=pooling, features=True, preprocessing="processor", processor=processor)
    for made in (of_folder, of_model):
        np.testing.assert_allclose(made.features, expected.numpy(), atol=1e-5)


def test_two_classes_and_rows_without_one(encoder, tmp_path):
    """Two classes have one score, that of scikit-learn; rows labelled -1 are not learned from."""
    folder, model = encoder
    data = _data(NAMES[:2])
    train, test = (_features(model, "vit", data[split]) for split in ("train", "test"))
    label = np.array(data["train"]["label"])
    unknown = data["train"].select(range(0, 36, 5)).remove_columns("label").add_column("label", [-1] * 8)
    wider = DatasetDict({**data, "train": _joined(data["train"], unknown)})
    made = _predict(folder, wider, preprocessing="processor")
    facts = made.metadata.provenance["linear_probe"]
    scaler = StandardScaler().fit(train)
    fitted = LogisticRegression(C=facts["c"], max_iter=2000).fit(scaler.transform(train), label)
    expected = fitted.decision_function(scaler.transform(test))
    np.testing.assert_allclose(made.logits[:, 1] - made.logits[:, 0], expected, atol=1e-3)
    assert facts["rows"] == 36


def _joined(first, second):
    from datasets import concatenate_datasets

    return concatenate_datasets([first, second.cast(first.features)])


def test_without_validation_a_fifth_of_train_chooses(encoder):
    """Of each class; the last fit is on all rows, the same each time. Fault planted: the fit on four fifths kept."""
    folder, model = encoder
    data = _data(train=60, test=12)
    made, again = (_predict(folder, data, preprocessing="processor", cache=False) for _ in range(2))
    facts = made.metadata.provenance["linear_probe"]
    assert facts["chosen_on"] == "a held-out fifth of train" and facts["chosen_on_rows"] == 12 and facts["rows"] == 60
    assert made.digest == again.digest
    train, test = (_features(model, "vit", data[split]) for split in ("train", "test"))
    scaler = StandardScaler().fit(train)
    fitted = LogisticRegression(C=facts["c"], max_iter=2000).fit(scaler.transform(train), data["train"]["label"])
    expected = fitted.predict_log_proba(scaler.transform(test))
    np.testing.assert_allclose(log_softmax(made.logits, 1), expected, atol=1e-3)


@pytest.mark.slow
def test_features_are_kept_and_damage_is_made_again(encoder, data, monkeypatch):
    """Fault planted: the key without the pooling; a file without a look at its digest."""
    folder, _ = encoder
    first = _predict(folder, data)
    files = sorted(Path(os.environ["OOCHUB_CACHE"], "features").glob("[!.]*"))
    assert len(files) == 2

    def fails(*given):
        raise AssertionError("the encoder saw the training rows again")

    with monkeypatch.context() as context:
        context.setattr("oochub.models.modes.linear_probe._extract_features", fails)
        again = _predict(folder, data, batch_size=None, images=True)  # another key of predictions
        assert "cached" not in again.metadata.provenance["when"] and (again.logits == first.logits).all()
        for other in ({"pooling": "mean"}, {"cache": False}):
            with pytest.raises(AssertionError, match="saw the training rows again"):
                _predict(folder, data, **other)
    whole = bytearray(files[0].read_bytes())
    whole[-5] ^= 1
    files[0].write_bytes(whole)
    assert (_predict(folder, data, images=True, zoom=1.2).logits == first.logits).all()
    assert files[0].read_bytes() != whole


@pytest.mark.slow
def test_every_detector_and_odin_run(data, tmp_path):
    """On an encoder, a classifier and a model of images and texts; ODIN moves the images by gradients."""
    for name in ("resnet", "classifier", "clip"):
        folder = tmp_path / name
        _saved(folder, name)
        made = _predict(folder, data, features=True, odin=0.05, splits=["train", "test"])
        assert (made.vectors("odin_logits") != made.logits).any(1).all(), name
        train, test = (made.select(made.split == split) for split in ("train", "test"))
        for detector in ("msp", "vim", "mahalanobis", "react", "knn"):
            parameters = {"dim": 2} if detector == "vim" else {"k": 5} if detector == "knn" else {}
            fitted = oochub.get("detector", detector)(**parameters).fit(
                **{"features": train.features, "logits": train.logits, "label": train.label},
                **{"weight": made.head.weight, "bias": made.head.bias},
            )
            assert np.isfinite(fitted.score(features=test.features, logits=test.logits)).all(), (name, detector)


def _one_of_three(data):
    return DatasetDict({**data, "train": data["train"].filter(lambda row: row["label"] < 2)})


_REFUSED = {
    "no train": (lambda data: DatasetDict(test=data["test"]), {}, "needs a train split, but the dataset has test"),
    "all in train": (
        lambda data: DatasetDict(train=data["train"]),
        {"splits": None},
        "All rows are in train, so there is nothing to predict",
    ),
    "numbers": (
        lambda data: data.cast_column("label", Value("float32")),
        {},
        r"the split train has the kind number\. mode=\"head\" uses",
    ),
    "no label": (lambda data: data.remove_columns("label"), {}, "the split train has no label"),
    "a class unseen": (_one_of_three, {}, "learns each class from rows of train, but blue has none there"),
    "no names": (
        lambda data: data.cast_column("label", Value("int64")),
        {},
        "The label of train has numbers but no names",
    ),
    "other classes": (
        lambda data: DatasetDict(
            {**data, "train": data["train"].cast_column("label", ClassLabel(names=["a", "b", "c"]))}
        ),
        {},
        r"The classes of train \(a, b, c\) are not those of the rows to predict \(red, green, blue\)",
    ),
    "few rows": (lambda data: _data(train=3, test=3), {}, "3 rows of 3 classes are too few to hold some out"),
    "pooling": (lambda data: data, {"pooling": "max"}, "No pooling named 'max'"),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_what_cannot_be_learned_is_said(case, encoder, data):
    change, settings, message = _REFUSED[case]
    with pytest.raises(oochub.OochubError, match=message):
        _predict(encoder[0], change(data), **settings)


def test_a_pooling_that_is_not_there_is_said(tmp_path, data):
    _saved(tmp_path, "segformer")
    with pytest.raises(oochub.OochubError, match="SegformerModel gives no pooler_output"):
        _predict(tmp_path, data, pooling="pooler")
    with pytest.raises(
        oochub.OochubError, match=r"gives a spatial map instead of tokens, so there is no cls token\. Use mean"
    ):
        _predict(tmp_path, data, pooling="cls")


def test_a_pooler_without_weights_is_refused_by_name(tmp_path, data):
    _saved(tmp_path, "vit without pooler")
    with pytest.raises(oochub.OochubError, match=r"pooler\.dense"):
        _predict(tmp_path, data, pooling="pooler")


@pytest.mark.slow
def test_every_type_that_is_served():
    """The encoder of each type gives vectors, the same each time; all but two whose classifiers alone do."""
    served = {each.model_type for each in list_supported_models() if "linear_probe" in each.modes} & set(TINY)
    assert len(served) > 30
    alike = set()
    for model_type in sorted(served - {"hgnet_v2", "perceiver"}):
        torch.manual_seed(0)
        model = transformers.AutoModel.from_config(transformers.CONFIG_MAPPING[model_type](**TINY[model_type])).eval()
        inputs = Pictures.of(tiny_processor(model_type), preprocessing="processor")
        encoder = Encoder.open(ModelSource(model), inputs)
        with torch.no_grad():
            first, again = encoder(**inputs.probe()), encoder(**inputs.probe())
        assert first.ndim == 2 and len(first) == 2 and torch.equal(first, again), model_type
        assert first.isfinite().all(), model_type
        alike |= {model_type} if torch.equal(first[0], first[1]) else set()
    assert len(alike) < 6, "a few of random weights let no difference through"


def test_broken_pictures_of_train(encoder, data):
    """An error that names the row, or left out where that was asked for. Fault planted: left out unasked."""
    rows = data["train"].cast_column("image", ImageFeature(decode=False)).to_list()
    rows[4]["image"] = {"bytes": b"no picture", "path": None}
    broken = DatasetDict({**data, "train": Dataset.from_list(rows, features=data["train"].features)})
    with pytest.raises(oochub.OochubError, match=r"4"):
        _predict(encoder[0], broken)
    made = _predict(encoder[0], broken, skip_broken=True)
    assert made.metadata.provenance["linear_probe"]["rows"] == 35
