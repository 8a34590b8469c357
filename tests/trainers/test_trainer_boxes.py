"""Detectors are trained with any objective, predict boxes in pixels, and are scored; held against transformers."""

import math

import numpy as np
import pytest
import torch
import transformers
from datasets import Dataset, load_dataset
from scipy.optimize import linear_sum_assignment

import oochub
from oochub.models.extraction import draw_boxes
from oochub.trainers.losses import _compute_box_losses
from oochub.trainers.rows.targets import _read_box_targets

_SIDE = 48


@pytest.fixture(scope="module")
def detector(tmp_path_factory):
    """The folder of a tiny YOLOS with weights at random, of one class."""
    folder = tmp_path_factory.mktemp("yolos")
    config = transformers.YolosConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        image_size=[_SIDE, _SIDE],
        patch_size=16,
        num_detection_tokens=7,
        id2label={0: "wheat_head"},
        label2id={"wheat_head": 0},
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        transformers.YolosForObjectDetection(config).save_pretrained(folder)
    transformers.YolosImageProcessorPil(size={"height": _SIDE, "width": _SIDE}).save_pretrained(folder)
    return folder


def test_the_loss_of_a_picture_is_that_of_transformers(detector):
    """The loss that transformers gives of a batch, each image a batch of its own."""
    model = transformers.YolosForObjectDetection.from_pretrained(detector).eval()
    rng = torch.Generator().manual_seed(0)
    pixels = torch.randn(6, 3, _SIDE, _SIDE, generator=rng)
    truth = torch.full((6, 9, 5), torch.nan)
    expected = []
    for row, count in enumerate([0, 1, 3, 5, 9, 0]):  # 9 are more than the model has boxes
        truth[row, :count, 0] = 0
        truth[row, :count, 1:3] = 0.3 + 0.4 * torch.rand(count, 2, generator=rng)
        truth[row, :count, 3:] = 0.1 + 0.2 * torch.rand(count, 2, generator=rng)
        own = truth[row, :count]
        labels = [{"class_labels": own[:, 0].long(), "boxes": own[:, 1:]}]
        expected.append(model(pixel_values=pixels[row : row + 1], labels=labels).loss)
    said = model(pixel_values=pixels)
    losses = _compute_box_losses(torch.cat([said.logits, said.pred_boxes], -1), truth)
    torch.testing.assert_close(losses, torch.stack(expected), atol=1e-4, rtol=1e-4)
    losses.sum().backward()
    assert model.class_labels_classifier.layers[-1].weight.grad.abs().sum() > 0


def _loss_by_hand(logits, truth):
    """Carion et al. 2020, Section 3.1, of one image: scipy's assignment, then sums over boxes."""
    scores, boxes = logits[:, :-4].softmax(-1).numpy(), logits[:, -4:].numpy()
    truth = truth[~truth[:, 0].isnan()].numpy()
    costs = np.zeros((len(boxes), len(truth)))
    for i, j in np.ndindex(*costs.shape):
        far = np.abs(boxes[i] - truth[j, 1:]).sum()
        costs[i, j] = 5 * far - 2 * _generalized(boxes[i], truth[j, 1:]) - scores[i, int(truth[j, 0])]
    own, other = linear_sum_assignment(costs)
    classes = np.full(len(boxes), scores.shape[1] - 1)
    classes[own] = truth[other, 0].astype(int)
    weight = np.where(classes == scores.shape[1] - 1, 0.1, 1.0)
    loss = -(weight * np.log(scores[np.arange(len(boxes)), classes])).sum() / weight.sum()
    for i, j in zip(own, other, strict=True):
        far = np.abs(boxes[i] - truth[j, 1:]).sum()
        loss += (5 * far + 2 * (1 - _generalized(boxes[i], truth[j, 1:]))) / len(truth)
    return loss


def _generalized(a, b):
    """Generalized intersection over union, Rezatofighi et al. 2019."""
    a, b = (np.r_[box[:2] - box[2:] / 2, box[:2] + box[2:] / 2] for box in (a, b))
    both = np.prod(np.maximum(np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2]), 0))
    union = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both
    hull = np.prod(np.maximum(a[2:], b[2:]) - np.minimum(a[:2], b[:2]))
    return both / union - (hull - union) / hull


def test_the_loss_of_several_classes_is_that_by_hand():
    """Three classes, images of no box, and of more than the model draws; another image's boxes change nothing."""
    rng = torch.Generator().manual_seed(1)
    logits = torch.cat([torch.randn(5, 6, 4, generator=rng), 0.2 + 0.3 * torch.rand(5, 6, 4, generator=rng)], -1)
    truth = torch.full((5, 8, 5), torch.nan)
    for row, count in enumerate([0, 1, 4, 8, 3]):
        truth[row, :count, 0] = torch.randint(0, 3, (count,), generator=rng).float()
        truth[row, :count, 1:] = 0.2 + 0.3 * torch.rand(count, 4, generator=rng)
    losses = _compute_box_losses(logits, truth)
    expected = [_loss_by_hand(*each) for each in zip(logits, truth, strict=True)]
    np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-4)
    assert _compute_box_losses(logits.index_fill(0, torch.tensor([1]), torch.nan), truth).isnan().all()


def test_boxes_of_a_detector_without_no_object_have_sigmoids():
    """By hand: of two classes sigmoid(0) = 1/2 and sigmoid(log 3) = 3/4."""
    logits = torch.tensor([[[0.0, -1.0], [-1.0, math.log(3.0)]]])
    boxes = torch.tensor([[[0.5, 0.5, 0.2, 0.4], [0.25, 0.5, 0.5, 1.0]]])
    drawn = draw_boxes(logits, boxes, [0, 1], classes=2)[0]
    torch.testing.assert_close(drawn, torch.tensor([[0.4, 0.3, 0.6, 0.7, 0.5], [0.0, 0.0, 0.5, 1.0, 0.75]]))


def test_drawn_boxes_are_those_of_the_post_processing():
    """Two classes, of which one is asked for."""
    rng = torch.Generator().manual_seed(0)
    logits, boxes = torch.randn(3, 7, 3, generator=rng), torch.rand(3, 7, 4, generator=rng)
    processor = transformers.YolosImageProcessorPil()
    output = type("Output", (), {"logits": logits, "pred_boxes": boxes})
    expected = processor.post_process_object_detection(output, threshold=0, target_sizes=[(1, 1)] * 3)
    for own, theirs in zip(draw_boxes(logits, boxes, [1], classes=2), expected, strict=True):
        asked = theirs["labels"] == 1
        torch.testing.assert_close(own[own[:, 4] >= 0][:, :4], theirs["boxes"][asked])
        torch.testing.assert_close(own[own[:, 4] >= 0][:, 4], theirs["scores"][asked])


def test_targets_are_fractions_of_the_picture(raw):
    """Back to pixels they are the boxes of the rows."""
    data = load_dataset("wilds", "globalwheat", data_dir=str(raw("wilds/globalwheat")))["train"]
    targets = _read_box_targets(data, split="train")
    assert targets.shape == (len(data), max(map(len, data["boxes"])), 5)
    for own, boxes in zip(targets, data["boxes"], strict=True):
        held = own[~own[:, 0].isnan()] * 96
        corners = torch.cat([held[:, 1:3] - held[:, 3:] / 2, held[:, 1:3] + held[:, 3:] / 2], 1)
        torch.testing.assert_close(corners, torch.tensor(boxes).reshape(-1, 4), atol=1e-3, rtol=0)
    with pytest.raises(oochub.OochubError, match=r"it has no column width\. Add the columns width and height"):
        _read_box_targets(data.remove_columns("width"), split="train")


def test_targets_by_hand():
    """An image that is no square, and one without a box; each box with its class."""
    rows = {
        "boxes": [[[0, 0, 8, 4], [8, 2, 16, 4]], []],
        "width": [16, 9],
        "height": [8, 9],
        "categories": [[2, 1], []],
    }
    targets = _read_box_targets(Dataset.from_dict(rows), split="train")
    assert targets[0].tolist() == [[2, 0.25, 0.25, 0.5, 0.5], [1, 0.75, 0.375, 0.5, 0.25]]
    assert targets[1].isnan().all()
    empty = _read_box_targets(Dataset.from_dict({"boxes": [[]], "width": [9], "height": [9]}), split="train")
    assert empty.shape == (1, 1, 5) and empty.isnan().all()


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("categories", [[0], [0]], "Row 1 of the train set has 2 boxes but 1 categories"),
        ("boxes", [[[0, 0, 1, 1]], [[float("nan")] * 4]], "1 rows of the train set, first row 1, have no known boxes"),
    ],
)
def test_targets_that_are_wrong_are_said(column, values, words):
    box = [0.0, 0.0, 1.0, 1.0]
    rows = {"boxes": [[box], [box, box]], "categories": [[0], [0, 0]], "width": [9, 9], "height": [9, 9]}
    with pytest.raises(oochub.OochubError, match=words):
        _read_box_targets(Dataset.from_dict(rows | {column: values}), split="train")


@pytest.mark.slow
def test_a_detector_trains_predicts_and_is_scored(detector, raw, tmp_path):
    """By GroupDRO over sessions; boxes come in pixels of the image, and the score is that of the metric on them."""
    folder = str(raw("wilds/globalwheat"))
    arguments = {
        "num_train_epochs": 1,
        "per_device_train_batch_size": 24,
        "metric_for_best_model": "detection_accuracy",
    }
    made = oochub.train(
        "wilds/globalwheat",
        tmp_path / "run",
        model=str(detector),
        data_dir=folder,
        objective="group_dro",
        arguments=arguments,
    )
    assert made["global_step"] == 2 and 0 <= made["best_value"] <= 1
    data = load_dataset("wilds", "globalwheat", data_dir=folder)
    predictions = oochub.predict(made["run"], data, splits=["id_test", "test"])
    assert predictions.metadata.kind == "boxes" and predictions.class_names == ["wheat_head"]
    rows = data["test"]
    model = transformers.YolosForObjectDetection.from_pretrained(made["run"]).eval()
    processor = transformers.ViTImageProcessorPil.from_pretrained(made["run"])
    with torch.inference_mode():
        said = model(**processor(rows[0]["image"], return_tensors="pt"))
    expected = transformers.YolosImageProcessorPil().post_process_object_detection(said, 0, target_sizes=[(96, 96)])[0]
    row = predictions.to_pandas().set_index(["split", "example_id"]).loc[("test", rows[0]["example_id"])]
    np.testing.assert_allclose(np.stack(row["detected_boxes"]), expected["boxes"], atol=0.2)
    np.testing.assert_allclose(row["scores"], expected["scores"], atol=1e-3)
    report = oochub.evaluate(predictions, resamples=100)
    frame = predictions.to_pandas().query("split == 'test'")
    columns = {"boxes": frame["detected_boxes"], "scores": frame["scores"], "true_boxes": frame["boxes"]}
    columns = {name: [np.stack(row).tolist() if len(row) else [] for row in values] for name, values in columns.items()}
    by_hand = oochub.get("metric", "detection_accuracy")(**columns, group=frame["group"].tolist())
    scored = {part.split: part.metrics["detection_accuracy"] for part in report.slices if part.role}
    assert scored["test"].value == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            {"model": "resnet-tiny"},
            "draws no boxes, and the rows are of boxes of images. Built-in models for them: yolos-tiny",
        ),
        ({"arguments": {"augment": "flip"}}, "changes images but not their boxes"),
    ],
)
def test_what_cannot_be_trained_on_boxes_is_said(change, words, detector, raw, tmp_path):
    given = {"model": str(detector), "data_dir": str(raw("wilds/globalwheat")), **change}
    with pytest.raises(oochub.OochubError, match=words):
        oochub.train("wilds/globalwheat", tmp_path / "run", **given)
