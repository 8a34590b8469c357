"""Any function or module from images to logits: its numbers, what is left of it, what names its predictions, errors."""

import copy

import numpy as np
import pytest
import torch
import transformers
from datasets import ClassLabel, Dataset, Features, Image, Value
from PIL import Image as Pictures
from torch import nn

import oochub
from oochub.detection.detector_scores import fit_detectors
from oochub.errors import OochubError
from oochub.models.callable_model import CallableModel
from oochub.models.model_source import ModelSource

NAMES = ["corgi", "labrador", "bulldog"]


def shrink(image):
    """float32 (3, 4, 4) in [0, 1], by Pillow alone."""
    return torch.from_numpy(np.asarray(image.resize((4, 4)), np.float32) / 255).permute(2, 0, 1)


class Net(nn.Module):
    """A network with batch norm and dropout, so that evaluation and training differ."""

    def __init__(self, outputs=3, scale=1.0):
        super().__init__()
        self.scale = scale
        self.body = nn.Sequential(nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5), nn.ReLU(), nn.Dropout(), nn.Flatten())
        self.top = nn.Linear(20, outputs)

    def forward(self, images):
        return self.top(self.body(images)) * self.scale


@pytest.fixture
def net():
    torch.manual_seed(0)
    made = Net()
    made(torch.randn(64, 3, 4, 4))  # the statistics of its batch norm are its own
    return made


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    pictures = [Pictures.fromarray(rng.integers(0, 255, (9, 7, 3), np.uint8)) for _ in range(21)]
    features = Features(
        example_id=Value("string"), image=Image(), label=ClassLabel(names=sorted(NAMES)), context=Value("string")
    )
    rows = {"example_id": [f"{k:02}" for k in range(21)], "image": pictures, "label": [k % 3 for k in range(21)]}
    return Dataset.from_dict(rows | {"context": ["grass", "snow", "sand"] * 7}, features=features, split="test")


def by_hand(net, data):
    """float32 (n, 3), the logits of a plain loop in the order of the data's classes."""
    network = copy.deepcopy(net).eval()
    order = [NAMES.index(name) for name in sorted(NAMES)]
    with torch.no_grad():
        return np.concatenate([network(shrink(row["image"])[None]).numpy()[:, order] for row in data])


def test_a_module_gives_the_logits_of_a_plain_loop(net, data, tmp_path):
    """In any batch size; labels are matched by name. Planted faults: the module in training mode; names by place."""
    expected = by_hand(net, data)
    for size in (1, 4, 64):
        made = oochub.predict(net, data, class_names=NAMES, transform=shrink, batch_size=size, cache=False)
        assert np.abs(made.logits - expected).max() < 1e-5 and list(made.class_names) == sorted(NAMES)
    made = oochub.predict(net, data, class_names=NAMES, transform=shrink, out=tmp_path / "p.parquet")
    stored = oochub.Predictions.load(tmp_path / "p.parquet")
    assert stored.metadata.model.id == "Net" and stored.metadata.model.mode == "head"
    assert np.array_equal(stored.logits, made.logits)
    assert stored.metadata.provenance["processor"] == "ImageTransform"


def test_a_function_may_return_an_array_or_an_object_with_logits(net, data):
    """Of torch, of numpy, or what transformers returns."""
    expected = by_hand(net, data)
    network = copy.deepcopy(net).eval()

    class Made:
        def __init__(self, logits):
            self.logits = logits

    for function in (network.forward, lambda images: network(images).numpy(), lambda images: Made(network(images))):
        made = oochub.predict(function, data, class_names=NAMES, transform=shrink)
        assert np.abs(made.logits - expected).max() < 1e-5


@pytest.mark.slow
def test_the_module_is_left_as_it_was(net, data, monkeypatch):
    """Also after an error. Planted fault: evaluation mode stays."""
    net.top.eval()
    modes = {name: layer.training for name, layer in net.named_modules()}
    weights = copy.deepcopy(net.state_dict())
    oochub.predict(net, data, class_names=NAMES, transform=shrink, features=True)
    assert {name: layer.training for name, layer in net.named_modules()} == modes
    assert all(torch.equal(value, weights[name]) for name, value in net.state_dict().items())
    monkeypatch.setattr(Net, "forward", lambda self, images: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        oochub.predict(net, data, class_names=NAMES, transform=shrink, cache=False)
    assert {name: layer.training for name, layer in net.named_modules()} == modes


def test_features_are_what_the_last_layer_sees(net, data):
    """With the head, so that every detector works: features times weights are the logits."""
    made = oochub.predict(net, data, class_names=NAMES, transform=shrink, features=True)
    features, head = np.stack(made.column("features")), made.head
    assert features.shape == (21, 20)
    assert np.abs(features @ head.weight.T + head.bias - made.logits).max() < 1e-5
    report = oochub.evaluate(made, metrics=["accuracy"])
    assert report["accuracy"].n == 21


def test_zoom_and_odin_take_a_module(net, data):
    """The zoomed logits are those of the center that Pillow crops."""
    made = oochub.predict(net, data, class_names=NAMES, transform=shrink, zoom=2.0, odin=0.01)
    order, network = [NAMES.index(name) for name in sorted(NAMES)], copy.deepcopy(net).eval()
    for k, row in enumerate(data):  # 7 x 9 pixels: 4 x 4 of them, from (1, 2)
        center = shrink(row["image"].crop((1, 2, 5, 6)))
        with torch.no_grad():
            expected = network(center[None])[0, order].numpy()
        assert np.abs(np.stack(made.column("zoom_logits"))[k] - expected).max() < 1e-5
    assert np.stack(made.column("odin_logits")).shape == (21, 3)


@pytest.mark.slow
def test_the_background_probe_takes_a_module(tmp_path):
    """On images with masks beside them."""
    from oochub.builders.toy_worlds.toy_spawrious import toy_spawrious

    raw = toy_spawrious(tmp_path / "raw", size=10, masks=tmp_path / "masks")
    breeds = ["bulldog", "corgi", "dachshund", "labrador"]
    torch.manual_seed(0)
    settings = {"masks": str(tmp_path / "masks"), "rows": 8}
    report = oochub.audit(
        Net(4), "spawrious/o2o_hard", data_dir=str(raw), class_names=breeds, transform=shrink,
        splits=["test", "validation"], probe="background", probe_settings=settings,
    )  # fmt: skip
    assert report.background is not None


def test_audit_takes_a_module(net, data, tmp_path):
    """From the module to the page, which names it."""
    report = oochub.audit(net, data, class_names=NAMES, transform=shrink, model_id="my net", out=tmp_path / "audit")
    assert report.model.id == "my net"
    assert "my net" in (tmp_path / "audit" / "report.html").read_text("utf-8")
    assert net.training


@pytest.mark.slow
def test_a_module_is_cached_by_its_weights_and_code_and_a_function_by_its_name(net, data):
    """Planted faults: weights left out of the digest; an attribute; the transform; a function without a name."""

    def ran(model, transform=shrink, **names):
        made = oochub.predict(model, data, **{"class_names": NAMES, **names}, transform=transform)
        return not made.metadata.provenance["when"].get("cached")

    def brighter(image):
        return shrink(image) + 0.1

    assert ran(net) and not ran(net) and not ran(copy.deepcopy(net))
    other = copy.deepcopy(net)
    with torch.no_grad():
        other.top.bias += 0.5
    assert ran(other) and not ran(other)
    warm = copy.deepcopy(net)
    warm.temperature = nn.Parameter(torch.tensor(1.0))
    assert ran(warm) and not ran(warm)
    with torch.no_grad():
        warm.temperature += 1  # a weight without dimensions
    assert ran(warm)
    scaled = copy.deepcopy(net)
    scaled.scale = 2.0
    assert ran(scaled)
    assert ran(net, brighter) and not ran(net, brighter)
    assert ran(net, class_names=NAMES[::-1]) and ran(net, model_id="a name")
    function = copy.deepcopy(net).eval().forward
    assert ran(function) and ran(function)
    assert ran(function, model_id="mine") and not ran(function, model_id="mine") and ran(function, model_id="other")


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"class_names": None}, r"does not have class names.*class_names=\['cat', 'dog'\]"),
        ({"class_names": "corgi"}, "must be a list of texts"),
        ({"class_names": ["a", "", "c"]}, "must be texts, one for each output"),
        ({"class_names": ["corgi", "labrador", "corgi"]}, "bulldog"),
        ({"class_names": NAMES[:2]}, "labrador"),
        ({"class_names": [*NAMES, "pug"]}, r"one column for each of the 4 class_names. It returned \(2, 3\)"),
        ({"transform": None}, "got none"),
        ({"transform": 3}, "transform must be a function from a PIL image to a tensor"),
        ({"transform": lambda image: image}, r"one tensor \(c, h, w\), but it returned a Image"),
        ({"transform": lambda image: torch.zeros(1, 3, 4, 4)}, r"the shape \(1, 3, 4, 4\)"),
        ({"transform": lambda image: torch.zeros(3, 4, 4, dtype=torch.uint8)}, "but it returned uint8"),
        ({"mode": "zero_shot"}, "needs a model of transformers"),
        ({"image_processor": "somewhere"}, "got transform and image_processor"),
    ],
)
def test_what_does_not_fit_is_said(net, data, how, message):
    """Before a row is predicted."""
    with pytest.raises(OochubError, match=message):
        oochub.predict(net, data, **{"class_names": NAMES, "transform": shrink, **how})


def test_what_a_function_returns_is_checked(data):
    for function, message in (
        (lambda images: None, "must return logits, a tensor or array .16, 3., but it returned a NoneType"),
        (lambda images: images, r"It returned \(16, 3, 4, 4\)"),
    ):
        with pytest.raises(OochubError, match=message):
            oochub.predict(function, data, class_names=NAMES, transform=shrink)
    with pytest.raises(OochubError, match="are for a function or a module"):
        oochub.predict("runs/erm", data, class_names=NAMES)
    with pytest.raises(OochubError, match="or a function or module of PyTorch with class_names=, got a int"):
        oochub.predict(3, data)


def test_its_name_is_that_of_the_class_or_function():
    assert ModelSource(CallableModel(Net(), NAMES)).about("head").id == "Net"
    assert ModelSource(CallableModel(shrink, NAMES)).about("head").id == "shrink"
    assert ModelSource(CallableModel(shrink, NAMES)).revision is None


def places(net, data):
    """float32 (n, 5, 2, 2), what `body.2`, a ReLU that works in place, gives: by hand."""
    network = copy.deepcopy(net).eval()
    with torch.no_grad():
        return torch.cat([network.body[2](network.body[:2](shrink(row["image"])[None])) for row in data]).numpy()


def test_features_of_a_layer_are_what_it_gives(net, data):
    """The mean over places; before a later layer changes it in place, and before batch norm is folded into it."""
    network = copy.deepcopy(net).eval()
    network.body[2].inplace = True
    with torch.no_grad():
        images = torch.stack([shrink(row["image"]) for row in data])
        convolved = network.body[0](images)
        expected = {"body.0": convolved.mean((2, 3)), "body.1": network.body[1](convolved).mean((2, 3))}
        expected |= {"body.2": network.body[1](convolved).relu().mean((2, 3)), "body.4": network.body(images)}
        expected |= {"top": network(images)}
    for name, values in expected.items():
        made = oochub.predict(network, data, class_names=NAMES, transform=shrink, features=name, batch_size=4)
        assert np.abs(np.stack(made.column("features")) - values.numpy()).max() < 1e-5, name
        assert made.head is None and made.metadata.provenance["features"] == f"the layer {name}"
        assert np.abs(made.logits - by_hand(net, data)).max() < 1e-5


def test_features_by_a_function_are_what_it_returns(net, data, tmp_path):
    """A function, a method, an array, another module: with zoom too. Planted fault: the module in training mode."""
    expected = places(net, data).reshape(21, -1)
    trunk = copy.deepcopy(net.body).train()
    network = copy.deepcopy(net).eval()
    for function in (lambda images: network.body(images), lambda images: network.body(images).numpy(), trunk):
        made = oochub.predict(net, data, class_names=NAMES, transform=shrink, features=function, zoom=2.0)
        assert np.abs(np.stack(made.column("features")) - expected).max() < 1e-5
    assert trunk.training
    center = shrink(data[0]["image"].crop((1, 2, 5, 6)))[None]
    with torch.no_grad():
        assert np.abs(made.column("zoom_features")[0] - network.body(center)[0].numpy()).max() < 1e-5
    made = oochub.predict(net, data, class_names=NAMES, transform=shrink, features=trunk, out=tmp_path / "p.parquet")
    stored = oochub.Predictions.load(tmp_path / "p.parquet")
    assert stored.head is None and np.array_equal(stored.features, made.features)
    kinds = {name: oochub.get("detector", name)() for name in ("mahalanobis", "vim", "react")}
    fitted = fit_detectors(kinds, reference=made, head=stored.head)
    assert fitted["mahalanobis"].is_fitted
    for name in ("vim", "react"):
        assert "the features are of a layer or a function, there is no head" in str(fitted[name])


def test_features_of_a_model_of_transformers(data, tmp_path):
    """A layer by its name in the model, whatever mode answers."""
    from model_folders import resnet

    folder = resnet(tmp_path / "model")
    model = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
    made = oochub.predict(folder, data.remove_columns("label"), features="resnet.pooler", preprocessing="processor")
    processor = transformers.AutoImageProcessor.from_pretrained(folder)
    with torch.no_grad():
        pooled = model.resnet(**processor(data[0]["image"].convert("RGB"), return_tensors="pt")).pooler_output
    assert np.abs(np.stack(made.column("features"))[0] - pooled.flatten().numpy()).max() < 1e-5


@pytest.mark.slow
def test_features_are_part_of_what_names_predictions(net, data):
    """Planted faults: the function left out of the key; the weights that it uses."""

    def ran(features):
        made = oochub.predict(net, data, class_names=NAMES, transform=shrink, features=features)
        return not made.metadata.provenance["when"].get("cached")

    trunk = copy.deepcopy(net.body)
    assert ran("body.4") and not ran("body.4") and ran("body.2") and ran(True)
    assert ran(trunk) and not ran(copy.deepcopy(trunk))
    with torch.no_grad():
        trunk[0].bias += 1
    assert ran(trunk)
    assert ran(lambda images: images.mean((2, 3))) and ran(lambda images: images.mean((2, 3)) * 2)
    numbers = (number for number in range(9))
    unknown = [lambda images: images.mean((2, 3)) + (numbers is None)] * 2
    assert all(map(ran, unknown)), "what no digest stands for is never cached"


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("boddy.2", "the model has no layer of that name. Did you mean 'body.2'"),
        ("spare", "The layer spare does not run when the model answers"),
        (3, "features must be true, false, the name of a layer or a function"),
        (lambda images: images, r"must return floats \(8, d\).* returned float32 \(8, 3, 4, 4\)"),
        (lambda images: images.mean((2, 3))[:1], r"returned float32 \(1, 3\)"),
        (lambda images: images.argmax(1).flatten(1), "returned int64"),
        (lambda images: None, r"must return a tensor or array \(8, d\), but it returned a NoneType"),
    ],
)
def test_features_that_do_not_fit_are_said(net, data, features, message, monkeypatch):
    """Before all rows are read."""
    net.spare = nn.Linear(2, 2)
    with pytest.raises(OochubError, match=message):
        oochub.predict(net, data, class_names=NAMES, transform=shrink, features=features)
    with pytest.raises(OochubError, match="names a layer, but the model has none"):
        oochub.predict(lambda images: 0, data, class_names=NAMES, transform=shrink, features="layer4")
