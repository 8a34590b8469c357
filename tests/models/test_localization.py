"""The mode localization: the class of the surest box on the object, by hand; detectors and segmenters in the probe."""

import shlex
import sys

import datasets
import numpy as np
import pytest
import torch
import transformers
from mode_examples import Example, save_detector
from PIL import Image

import oochub
from oochub.cli import main
from oochub.errors import OochubError

NAMES = ("car", "dog")


def _detector(folder):
    return Example(save_detector(folder), NAMES)


MODE_EXAMPLES = {"localization": _detector}

OBJECT = [8.0, 4.0, 24.0, 12.0]  # of an image of 32 by 16 pixels: 1/4, 1/4, 3/4, 3/4


def rows(labels, boxes=None, columns=None):
    pixels = np.zeros((16, 32, 3), np.uint8)
    content = {
        "image": [Image.fromarray(pixels + k) for k in range(len(labels))],
        "label": list(labels),
        **({} if boxes is None else {"boxes": boxes, "width": [32] * len(labels), "height": [16] * len(labels)}),
        **(columns or {}),
    }
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=list(NAMES))}
    if boxes is not None:
        features |= {"boxes": datasets.List(datasets.List(datasets.Value("float64")))}
        features |= {name: datasets.Value("int64") for name in ("width", "height")}
    return datasets.Dataset.from_dict(content, datasets.Features(features))


def detector(*drawn):
    """Draws the same boxes, (x1, y1, x2, y2, score, class) each, in every image."""

    def draw(batch):
        table = np.array(drawn, float).reshape(-1, 6)
        answer = {"boxes": table[:, :4], "scores": table[:, 4], "classes": table[:, 5].astype(int)}
        return [answer] * len(batch)

    return draw


def predict(model, data, **settings):
    given = {"class_names": ["dog", "cat", "car"], "transform": _transform, "mode": "localization"}
    return oochub.predict(model, data, **given, **settings)


def _transform(image):
    return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1) / 255


ON = (0.25, 0.25, 0.75, 0.75)
HALF = (0.25, 0.25, 0.5, 0.75)  # intersection over union of exactly a half
LESS = (0.25, 0.25, 0.49, 0.75)
CASES = [
    ([(*ON, 0.9, 2)], {}, "car"),
    ([(*ON, 0.25, 2)], {}, "car"),
    ([(*ON, 0.24, 2)], {}, None),
    ([(*ON, 0.24, 2)], {"threshold": 0.2}, "car"),
    ([(*HALF, 0.9, 0)], {}, "dog"),
    ([(*LESS, 0.9, 0)], {}, None),
    ([(*LESS, 0.9, 0)], {"iou": 0.4}, "dog"),
    ([(*LESS, 0.9, 0), (*ON, 0.3, 2)], {}, "car"),  # the surest is elsewhere
    ([(*ON, 0.9, 1), (*ON, 0.3, 2)], {}, "car"),  # a cat is none of the classes
    ([(*ON, 0.5, 0), (*ON, 0.6, 2)], {}, "car"),
    ([], {}, None),
]


@pytest.mark.parametrize(("drawn", "settings", "wanted"), CASES)
def test_the_surest_box_on_the_object(drawn, settings, wanted):
    """Faults planted, each seen: the box's own area below; no threshold, one that must be exceeded; the first box."""
    predictions = predict(detector(*drawn), rows([0, 1], [[OBJECT]] * 2), **settings)
    found = [None if each < 0 else predictions.class_names[each] for each in predictions.prediction]
    assert found == [wanted, wanted] and predictions.class_names == list(NAMES)


def test_without_boxes_the_object_may_be_anywhere():
    predictions = predict(detector((*LESS, 0.9, 0), (*ON, 0.3, 2)), rows([0, 1]))
    assert predictions.prediction.tolist() == [1, 1]
    assert any("surest box in the image" in note for note in predictions.metadata.notes)


def test_several_boxes_of_an_object_and_none():
    """Any of a row's boxes is the object; a row without one has no place where it could be found."""
    boxes = [[[0.0, 0.0, 1.0, 1.0], OBJECT], []]
    assert predict(detector((*ON, 0.9, 2)), rows([0, 1], boxes)).prediction.tolist() == [0, -1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda batch: batch, "It returned a Tensor"),
        (lambda batch: [{"boxes": [], "scores": []}] * len(batch), "without classes"),
        (lambda batch: [{"boxes": [[0, 0, 9, 9]], "scores": [1], "classes": [0]}] * len(batch), "ends at 9"),
        (lambda batch: [{"boxes": [[0, 0, 1, 1]], "scores": [1], "classes": [3]}] * len(batch), "from 0 to 2"),
        (lambda batch: [{"boxes": [[0, 0, 1, 1]], "scores": [1, 1], "classes": [0]}] * len(batch), r"scores \(2,\)"),
    ],
)
def test_what_a_function_must_return(answer, words):
    with pytest.raises(OochubError, match=words):
        predict(answer, rows([0, 1]))


def test_what_is_refused():
    with pytest.raises(OochubError, match=r"threshold must be in \[0, 1\]"):
        predict(detector(), rows([0, 1]), threshold=2)
    with pytest.raises(OochubError, match="no column width and height"):
        data = rows([0, 1], [[OBJECT]] * 2).remove_columns(["width", "height"])
        predict(detector(), data)


@pytest.mark.slow
def test_a_segmenter_has_a_box_around_each_area(tmp_path):
    """A network that reads the class from the color: the left half of the object's box, then all of it."""
    config = transformers.SegformerConfig(
        num_encoder_blocks=1, depths=[1], hidden_sizes=[8], num_attention_heads=[1], sr_ratios=[1], patch_sizes=[3],
        strides=[1], decoder_hidden_size=8, num_labels=3, id2label={0: "wall", 1: "car", 2: "dog"},
    )  # fmt: skip
    model = transformers.SegformerForSemanticSegmentation(config)
    seen = {"width": 0}

    def answer(pixel_values, **_):
        logits = torch.zeros(len(pixel_values), 3, 64, 64)
        logits[:, 0] = 0.5
        logits[:, 2, 16:48, 16 : 16 + seen["width"]] = 1
        return transformers.modeling_outputs.SemanticSegmenterOutput(logits=logits)

    model.forward = answer
    processor = transformers.ViTImageProcessorPil(size={"height": 32, "width": 32})
    for width, wanted in ((15, -1), (16, 1), (32, 1)):
        seen["width"] = width
        made = oochub.predict(
            model, rows([0, 1], [[OBJECT]] * 2), image_processor=processor, mode="localization", cache=False
        )
        assert made.prediction.tolist() == [wanted, wanted]


FILE = """
import numpy as np
import torch

def load():
    def draw(batch):
        answers = []
        for image in batch.numpy():
            red, blue = image[0, -1, -1], image[2, -1, -1]
            light = image[:, 8, 8].mean() > 0.8
            square = light or image[:, 8, 8].mean() < 0.1
            box = [[0.25, 0.25, 0.75, 0.75]] if square or red > blue else []
            answers.append({"boxes": box, "scores": [0.9] * len(box), "classes": [int(red > blue)] * len(box)})
        return answers

    def transform(image):
        return torch.from_numpy(np.array(image.convert("RGB"))).permute(2, 0, 1) / 255

    return {"model": draw, "class_names": ["dark", "light"], "transform": transform, "mode": "localization"}
"""


@pytest.mark.slow
def test_the_probe_asks_a_detector_of_a_file(tmp_path, monkeypatch, capsys):
    """By hand: the class is the background's; on red a box stays when the object is filled in, on blue none does.

    Of 12 light squares 6 stand on red, so "light" is said of 6 filled-in objects, one of which has its box elsewhere.
    """
    features = {"image": datasets.Image(), "tone": datasets.ClassLabel(names=["dark", "light"])}
    features |= {"boxes": datasets.List(datasets.List(datasets.Value("float64")))}
    features |= {name: datasets.Value("int64") for name in ("width", "height")}
    content = {name: [] for name in features}
    for k in range(24):
        pixels = np.full((16, 16, 3), ((200, 60, 60), (60, 60, 200))[k // 2 % 2], np.uint8)
        pixels[4:12, 4:12] = (5, 250)[k % 2]
        pixels[0, 0] = k
        box = [4, 4, 12, 12] if k != 1 else [0, 0, 2, 2]  # of one row elsewhere: nothing is found there
        for name, value in zip(content, (Image.fromarray(pixels), k % 2, [box], 16, 16), strict=True):
            content[name].append(value)
    datasets.Dataset.from_dict(content, datasets.Features(features)).to_parquet(tmp_path / "squares.parquet")
    (tmp_path / "net.py").write_text(FILE)
    monkeypatch.chdir(tmp_path)
    typed = "audit squares.parquet --model-file net.py:load --label-column tone --probe background --out audit"
    monkeypatch.setattr(sys, "argv", ["oochub", *shlex.split(typed)])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    assert not ended.value.code, said.err
    found = oochub.Report.load("audit/report.json").background
    right = {each.name: round(float(each.accuracy) * each.accuracy.n, 6) for each in found.variants}
    # red rows say light, blue rows dark: right for 6 light and 6 dark squares, less the one with its box elsewhere
    assert right["original"] == 11 and right["background_alone"] == 5
    assert found.gap_log_odds.n == 0 and found.variant("mixed_same").log_odds is None
    assert "in log-odds" not in said.out
