"""ODIN's perturbed input against a loop by hand over single images; what the predictions say of it is checked."""

import copy
import io
from dataclasses import replace

import numpy as np
import pytest
import torch
from datasets import Dataset, Image
from PIL import Image as Pillow
from transformers import AutoModelForImageClassification as AutoModel
from transformers import ResNetConfig, ViTConfig, ViTImageProcessor

import oochub
from oochub.models.extraction import Perturbation
from oochub.prediction.predictions import Predictions
from oochub.records.metadata import PredictedBy
from oochub.records.schema import to_json

_SIZE, _CLASSES, _EPSILON = 16, 5, 0.0014
_MEAN, _STD = [0.48, 0.45, 0.4], [0.2, 0.25, 0.3]
_CONFIGS = {
    "resnet": ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16], depths=[1, 1], layer_type="basic", num_labels=_CLASSES
    ),
    "vit": ViTConfig(
        hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, image_size=_SIZE,
        patch_size=8, num_labels=_CLASSES,
    ),
}  # fmt: skip


def _model(kind):
    torch.manual_seed(0)
    return AutoModel.from_config(copy.deepcopy(_CONFIGS[kind])).eval()


def _processor():
    return ViTImageProcessor(size={"height": _SIZE, "width": _SIZE}, image_mean=_MEAN, image_std=_STD)


def _data(n=7):
    rng = np.random.default_rng(0)
    pictures = []
    for _ in range(n):
        file = io.BytesIO()
        Pillow.fromarray(rng.integers(0, 255, (_SIZE, _SIZE, 3), dtype=np.uint8)).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": None})
    return Dataset.from_dict({"image": pictures}).cast_column("image", Image())


def _by_hand(model, x, epsilon, temperature):
    """Equation 2 of the paper image by image: the gradient of log softmax, its sign channel by channel."""
    found = []
    for one in x:
        leaf = one[None].clone().requires_grad_(True)
        scaled = model(pixel_values=leaf).logits[0] / temperature
        chosen = int(scaled.argmax())
        surprise = -(scaled[chosen] - torch.log(torch.exp(scaled - scaled.max()).sum()) - scaled.max())
        surprise.backward()
        step = torch.sign(leaf.grad[0])
        found.append(torch.stack([one[c] - epsilon * step[c] / _STD[c] for c in range(3)]))
    return torch.stack(found)


@pytest.mark.parametrize("kind", list(_CONFIGS))
def test_equals_the_loop_in_float64(kind):
    """Alone or together, at either temperature; the model is left as it was."""
    model = _model(kind).double()
    x = torch.randn(6, 3, _SIZE, _SIZE, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    for temperature in (1000.0, 1.0):
        found = Perturbation(_EPSILON, temperature=temperature, std=_STD)(model, x)
        assert all(one.grad is None and one.requires_grad for one in model.parameters())
        expected = _by_hand(model, x, _EPSILON, temperature)
        assert (found - x).abs().max() > 0.9 * _EPSILON / max(_STD)
        torch.testing.assert_close(found, expected, rtol=0, atol=1e-15)
        alone = torch.cat([Perturbation(_EPSILON, temperature=temperature, std=_STD)(model, one[None]) for one in x])
        torch.testing.assert_close(found, alone, rtol=0, atol=1e-15)
        model.zero_grad()
    before = torch.log_softmax(model(pixel_values=x).logits, 1).max(1).values
    perturbed = Perturbation(_EPSILON, std=_STD)(model, x)
    assert (torch.log_softmax(model(pixel_values=perturbed).logits, 1).max(1).values > before).all()  # surer


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(_CONFIGS))
@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_predict_stores_the_logits_of_the_perturbed_pictures(kind, preprocessing):
    """By hand from the pixels on; the plain columns keep every bit; no batch size matters."""
    model, data = _model(kind), _data()
    options = {"image_processor": _processor(), "preprocessing": preprocessing}
    plain = oochub.predict(model, data, **options)
    made = oochub.predict(model, data, odin=_EPSILON, batch_size=3, **options)
    assert made.table.drop_columns(["odin_logits"]).equals(oochub.predict(model, data, batch_size=3, **options).table)
    assert made.metadata.fingerprint == plain.metadata.fingerprint
    assert to_json(made.metadata.odin) == {"epsilon": _EPSILON, "temperature": 1000.0, "std": _STD}
    pixels = np.stack([np.asarray(one, dtype=np.float64) for one in data["image"]]) / 255
    x = torch.tensor((pixels - _MEAN) / _STD).permute(0, 3, 1, 2)
    exact = _model(kind).double()
    expected = exact(pixel_values=_by_hand(exact, x, _EPSILON, 1000.0)).logits.detach().numpy()
    found = np.stack(made.column("odin_logits"))
    moved = np.abs(expected - plain.logits).max()
    np.testing.assert_allclose(found, expected, atol=min(1e-5, moved / 20))
    for size in (1, 7):
        other = oochub.predict(model, data, odin=_EPSILON, batch_size=size, **options)
        np.testing.assert_allclose(np.stack(other.column("odin_logits")), found, atol=1e-6)


def test_another_temperature_is_another_gradient():
    """With three classes or more the direction depends on T; metadata say which it was."""
    model, data = _model("resnet"), _data()
    options = {"image_processor": _processor(), "odin": 0.05}
    hot, cold = (oochub.predict(model, data, odin_temperature=t, **options) for t in (1000, 0.01))
    assert (hot.metadata.odin.temperature, cold.metadata.odin.temperature) == (1000, 0.01)
    assert np.abs(np.stack(hot.column("odin_logits")) - np.stack(cold.column("odin_logits"))).max() > 1e-4


def _sets(odin):
    model, data = _model("resnet"), _data(8)
    inside = oochub.predict(model, data.add_column("label", [0] * 8), image_processor=_processor(), odin=odin)
    outside = oochub.predict(model, data, image_processor=_processor(), odin=odin)
    return [Predictions(p.table, replace(p.metadata, config=c)) for p, c in ((inside, "inside"), (outside, "ood"))]


@pytest.mark.slow
def test_the_detector_reads_only_what_was_made_for_it(tmp_path):
    """Planted fault seen: a detector of another epsilon scored in silence."""
    sets = _sets(_EPSILON)
    report = oochub.evaluate(sets, detectors=["odin", f"odin:epsilon={_EPSILON}"])
    assert [row.detector for row in report.detection] == ["odin", "odin:epsilon=0.0014"]
    reopened = [Predictions.load(part.save(tmp_path / f"{k}.parquet")) for k, part in enumerate(sets)]
    again = oochub.evaluate(reopened, detectors=["odin:epsilon=0.0014"]).detection
    assert to_json([row.metrics for row in again]) == to_json([report.detection[1].metrics])
    with pytest.raises(oochub.OochubError, match=r"epsilon 0\.002, but .* inside were made with epsilon=0\.0014.*odin"):
        oochub.evaluate(sets, detectors=["odin:epsilon=0.002"])
    with pytest.raises(oochub.OochubError, match=r"temperature 10, but .* temperature=1000.*odin_temperature=10"):
        oochub.evaluate(sets, detectors=["odin:epsilon=0.0014,temperature=10"])
    with pytest.raises(oochub.OochubError, match=r"lack\. Predict with odin=0\.0014, or"):
        oochub.evaluate(_sets(None), detectors=["odin:epsilon=0.0014"])
    silent = [Predictions(one.table, replace(one.metadata, odin=None)) for one in sets]
    with pytest.raises(oochub.OochubError, match="settings that they do not say"):
        oochub.evaluate(silent, detectors=["odin:epsilon=0.0014"])


def test_sets_of_two_models_are_refused():
    first, second = _sets(None)
    other = Predictions(second.table, replace(second.metadata, model=PredictedBy(id="other")))
    with pytest.raises(oochub.OochubError, match="inside and ood differ in model"):
        oochub.evaluate([first, other], detectors=["msp"])


@pytest.mark.parametrize("wrong", [{"odin": 0}, {"odin": -1.0}, {"odin": np.nan}, {"odin": 0.1, "odin_temperature": 0}])
def test_wrong_settings_are_refused_before_the_work(wrong, tmp_path):
    with pytest.raises(oochub.OochubError, match=r"odin\w* must be a finite number above 0"):
        oochub.predict(tmp_path / "nowhere", _data(), **wrong)
