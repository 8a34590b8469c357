"""Where the object is: CUB's masks of a constructed Waterbirds, COCO's annotations, a segmenter; the command."""

import io
import json
import shutil

import datasets
import numpy as np
import pytest
import tiny_detectors
import torch
import transformers as hf
from PIL import Image
from planted_pictures import planted_folder
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil
from transformers.modeling_outputs import SemanticSegmenterOutput

import oochub
from oochub.builders.toy_worlds.toy_cub import toy_cub
from oochub.cli import main
from oochub.context_finder import OpenedPicture
from oochub.errors import OochubError
from oochub.models.model_source import ModelSource
from oochub.prediction.predictions import Predictions
from oochub.probing.altered_answers import AlteredAnswers
from oochub.probing.object_area import BoxAreas, CocoAreas, MaskFiles, RowOfObject, SegmentedAreas
from oochub.probing.probed_rows import PROBED, ProbedRows
from oochub.probing.probes.background import Background
from oochub.settings.model_settings import ModelSettings
from oochub.settings.prediction_settings import PredictionSettings
from oochub.studies.waterbirds.construct_waterbirds import construct_waterbirds


def _model(folder, names):
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic")
    config.id2label = dict(enumerate(names))
    ResNetForImageClassification(config).save_pretrained(folder)
    ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def _composed(picture, mask, ground):
    """Pixel by pixel."""
    pixels = np.asarray(picture).copy()
    for y in range(pixels.shape[0]):
        for x in range(pixels.shape[1]):
            if not mask[y, x]:
                pixels[y, x] = ground
    return pixels


def _union(annotations, image, category, height, width):
    """What pycocotools decodes of all annotations of a category in an image."""
    from pycocotools import mask as coco_mask

    union = np.zeros((height, width), bool)
    for each in annotations:
        if each["image_id"] == image and each["category_id"] == category:
            coded = coco_mask.frPyObjects(each["segmentation"], height, width)
            union |= coco_mask.decode(coco_mask.merge(coded) if isinstance(coded, list) else coded) > 0
    return union


@pytest.mark.slow
def test_masks_of_a_constructed_waterbirds(tmp_path):
    """In CUB's layout, by the rows' ids: the bird by its own mask. Fault planted: masks above 200 of 255."""
    birds = toy_cub(tmp_path / "raw", size=10)
    construct_waterbirds(tmp_path / "wb", cub=birds / "CUB_200_2011", places=birds / "places365")
    data = oochub.load("waterbirds", data_dir=str(tmp_path / "wb"))
    model = _model(tmp_path / "model", ["landbird", "waterbird"])
    predictions = oochub.predict(model, data, splits=["test"])
    masks = birds / "CUB_200_2011" / "segmentations"
    settings = {"split": "test", "usual": None, "present": None, "most": 1000, "seed": 0}
    rows = ProbedRows.drawn(data, predictions, MaskFiles(masks), **settings)
    assert len(rows.places) == len(data["test"]) > 20
    assert {each.state for each in rows.seen(range(len(rows.places)))} == {PROBED}
    answers = AlteredAnswers(rows, cluster=None, backgrounds=1, seed=0, key=None)
    row, other = data["test"][3], data["test"][5]
    made = answers.pictures(3, None, 5)
    mask = np.asarray(Image.open(masks / f"{row['example_id']}.png").convert("L")) > 0
    assert np.array_equal(made["object_alone"], _composed(row["image"].convert("RGB"), mask, 128))
    pixels, mixed = np.asarray(row["image"].convert("RGB")), made["mixed_rand"]
    assert np.array_equal(mixed[mask], pixels[mask]) and "mixed_same" not in made
    small = np.asarray(Image.open(masks / f"{other['example_id']}.png").convert("L")) > 0
    assert small.shape == np.asarray(other["image"]).shape[:2]
    found = oochub.audit(
        *(model, "waterbirds"), data_dir=str(tmp_path / "wb"), probe="background", probe_settings={"masks": masks}
    ).background
    assert (found.n, found.thing, dict(found.left_out)) == (len(rows.places), None, {})


@pytest.mark.slow
def test_annotations_of_a_toy_coco(coco, tmp_path):
    """Rows with a car alone are altered, by pycocotools' own masks; the others lend theirs. Fault planted: all are."""
    pytest.importorskip("pycocotools")
    model = _model(tmp_path / "model", ["no_car", "car"])
    data = oochub.load("nooch/ce_car", data_dir=str(coco))
    report = oochub.audit(model, "nooch/ce_car", data_dir=str(coco), probe="background")
    found, label = report.background, np.array(data["test"]["label"][:])
    assert (found.thing, found.area, found.lenders) == ("car", "COCO's annotations", "in_context")
    assert found.n + sum(found.left_out.values()) == (label == 1).sum() > 3
    assert "says car" in report.to_markdown().lower()
    predictions = oochub.predict(model, data, splits=["test"])
    area = CocoAreas(coco, "car")
    settings = {"split": "test", "usual": None, "present": 1, "most": 1000, "seed": 0}
    rows = ProbedRows.drawn(data, predictions, area, **settings)
    area.begin(rows.with_object())
    instances = [json.loads(file.read_text()) for file in sorted((coco / "annotations").glob("instances_*.json"))]
    numbers = np.flatnonzero(rows.is_asked)
    for k, seen in zip(numbers, rows.seen(numbers.tolist()), strict=True):
        image = int(rows.example_ids[k])
        height, width = seen.pixels.shape[:2]
        every = [one for file in instances for one in file["annotations"]]
        expected = _union(every, image, 3, height, width)
        assert seen.state == "no_background" or np.array_equal(seen.mask, expected)
    absent = int(np.flatnonzero(~rows.is_asked)[0])
    (seen,) = rows.seen([absent])
    assert seen.state == PROBED and not seen.mask.any() and np.array_equal(seen.ground, seen.pixels)


@pytest.mark.slow
def test_persons_of_real_pictures(real_data, tmp_path):
    """76 images of COCO: all 37 with a person are altered or counted. Fault planted: of several persons the first."""
    pytest.importorskip("pycocotools")
    source = real_data / "coco" / "permissive_subset"
    if not source.is_dir():
        pytest.skip("no COCO images here")
    raw = tmp_path / "coco" / "annotations"
    raw.mkdir(parents=True)
    shutil.copy(source / "instances.json", raw / "instances_val2017.json")
    (raw / "instances_train2017.json").write_text(json.dumps({"images": [], "annotations": [], "categories": []}))
    content = json.loads((source / "instances.json").read_text())
    with_person = {each["image_id"] for each in content["annotations"] if each["category_id"] == 1}
    ids = [each["id"] for each in content["images"]]
    files = {each["id"]: source / "images" / each["file_name"] for each in content["images"]}
    columns = {
        "example_id": [f"{number:012}" for number in ids],
        "image": [{"bytes": files[number].read_bytes(), "path": None} for number in ids],
        "label": [int(number in with_person) for number in ids],
    }
    names = datasets.ClassLabel(names=["no_person", "person"])
    features = {"example_id": datasets.Value("string"), "image": datasets.Image(), "label": names}
    part = datasets.Dataset.from_dict(columns, datasets.Features(features))
    data = datasets.DatasetDict(test=part)
    model = _model(tmp_path / "model", names.names)
    predictions = oochub.predict(model, data)
    probe = Background(masks=raw.parent, backgrounds=2)
    found = probe.run(ModelSource(model), data, predictions, ModelSettings(), PredictionSettings(), split="test")
    assert len(ids) == 76 and len(with_person) == 37
    assert found.n + sum(found.left_out.values()) == 37 and found.n >= 20
    assert set(found.left_out) <= {"the object leaves too little background to fill it with"}
    assert all(each.accuracy.n == found.n for each in found.variants) and len(found.shown.pictures) == 6
    area = CocoAreas(raw.parent, "person")
    rows = ProbedRows.drawn(data, predictions, area, split="test", usual=None, present=1, most=99, seed=0)
    area.begin(rows.with_object())
    numbers = np.flatnonzero(rows.is_asked).tolist()
    for k, seen in zip(numbers, rows.seen(numbers), strict=True):
        expected = _union(content["annotations"], int(rows.example_ids[k]), 1, *seen.pixels.shape[:2])
        assert np.array_equal(seen.mask, expected)


class Colors(hf.SegformerForSemanticSegmentation):
    """Red is sea, green is land, blue is a ship: the logits are the pixels, every second one."""

    def forward(self, pixel_values):
        return SemanticSegmenterOutput(logits=pixel_values[:, :, ::2, ::2])


def _segments(names, **more):
    config = hf.SegformerConfig(
        **{"hidden_sizes": [8] * 4, "num_attention_heads": [1] * 4, "depths": [1] * 4, "decoder_hidden_size": 8},
        id2label=dict(enumerate(names)),
    )
    processor = tiny_detectors.segformer_processor(size={"height": 32, "width": 32}, do_normalize=False)
    return oochub.get("context", "segments")(model=Colors(config).eval(), image_processor=processor, **more)


def test_a_segmenter_finds_the_object():
    """A blue square of 32 pixels by hand; a class that is unknown has no area. Fault planted: the map turned."""
    way, pictures = _segments(["sea", "land", "ship"]), []
    squares = [(4, 8), (12, 16)]
    for number, (top, left) in enumerate([*squares, (2, 2)]):
        pixels = np.zeros((64, 64, 3), np.uint8)
        pixels[..., number % 2] = 255
        pixels[top : top + 32, left : left + 32] = 0, 0, 255
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        pictures.append({"bytes": file.getvalue(), "path": None})
    names = ["ship", "plane"]
    features = datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(names=names)})
    part = datasets.Dataset.from_dict({"image": pictures, "label": [0, 0, 1]}, features)
    predictions = Predictions.from_arrays(
        logits=np.eye(2)[[0, 0, 1]].tolist(), label=[0, 0, 1], class_names=names, example_id=["0", "1", "2"]
    )
    split = str(predictions.split[0])
    settings = {"split": split, "usual": None, "present": None, "most": 9, "seed": 0}
    rows = ProbedRows.drawn({split: part}, predictions, SegmentedAreas(way), **settings)
    seen = rows.seen([0, 1, 2])
    for each, (top, left) in zip(seen, squares, strict=False):
        expected = np.zeros((64, 64), bool)
        expected[top : top + 32, left : left + 32] = True
        edge = np.zeros((64, 64), bool)  # of the segmenter's 32 pixels each: a border of two may fall to either side
        edge[top - 2 : top + 34, left - 2 : left + 34] = True
        edge[top + 2 : top + 30, left + 2 : left + 30] = False
        assert np.array_equal(each.mask & ~edge, expected & ~edge) and each.state == PROBED
    assert seen[2].state == "no_area"
    with pytest.raises(OochubError, match="knows none of the classes ship, plane"):
        SegmentedAreas(_segments(["sea", "land", "boot"])).begin(rows.rows)


@pytest.mark.slow
def test_the_command(tmp_path, monkeypatch, capsys):
    """As its user types it; twice, and the second time no model runs."""
    planted_folder(tmp_path / "squares", train=4, test=10)
    for tone in ("light", "dark"):
        for number in range(10):
            pixels = np.zeros((16, 16), np.uint8)
            pixels[4:12, 4:12] = 255
            (tmp_path / "masks").mkdir(exist_ok=True)
            Image.fromarray(pixels).save(tmp_path / "masks" / f"{tone}{number}.png")
    _model(tmp_path / "model", ["light", "dark"])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    words = ["audit", "./model", "squares", "--label-column", "tone", "--context-column", "ground", "--json"]

    def run(*more):
        monkeypatch.setattr("sys.argv", ["oochub", *words, *more])
        with pytest.raises(SystemExit) as end:
            main()
        streams = capsys.readouterr()
        return end.value.code or 0, streams.out, streams.err

    code, out, err = run("--probe", "background", "--masks", "masks", "--probe-option", "rows=12")
    assert code == 0 and json.loads(out)["background_gap"]["n"] == 12 and "Reusing " not in err
    assert json.loads((tmp_path / "audit" / "report.json").read_text())["background"]["most"] == 12
    code, again, err = run("--probe", "background", "--masks", "masks", "--probe-option", "rows=12")
    assert code == 0 and json.loads(again) == json.loads(out) and "Reusing " in err
    code, _, err = run("--masks", "masks")
    assert code == 2 and "need --probe background" in err
    code, _, err = run("--probe", "background", "--masks", "nomasks")
    assert code == 2 and "Mask folder not found: nomasks" in err
    code, _, err = run("--probe", "background", "--masks", "masks", "--boxes", "b")
    assert code == 2 and "--masks and --boxes both locate the object" in err


def test_masks_by_the_name_of_the_file(tmp_path):
    """Of rows whose ids are numbers; a name that leads out of the folder is refused. Both seen to fail."""
    (tmp_path / "masks").mkdir()
    Image.new("L", (3, 2), 255).save(tmp_path / "masks" / "bird.png")
    Image.new("L", (3, 2), 255).save(tmp_path / "outside.png")
    area = MaskFiles(tmp_path / "masks")
    row = RowOfObject("17", "bird", "/some/folder/bird.jpg", {})
    assert area.masks([row], [])[0].shape == (2, 3)
    with pytest.raises(OochubError, match="outside"):
        area.masks([RowOfObject("../outside", "bird", "", {})], [])


def test_a_misspelt_class_of_a_segmenter_is_said_before_the_model_runs(tmp_path, monkeypatch):
    """Of the label map, with the near name. Fault planted: no check in `choose_area`, and the class has no area."""
    planted_folder(tmp_path / "squares", train=4, test=4)
    model = _model(tmp_path / "model", ["light", "dark"])
    monkeypatch.setattr("oochub.auditing.predict_splits", lambda *a, **k: pytest.fail("the model ran"))
    asked = {"segmenter": _segments(["sea", "land", "ship"], label_map={"lihgt": ["ship"]})}
    with pytest.raises(OochubError, match=r"No class of the data named 'lihgt'\. Did you mean 'light'\?"):
        oochub.audit(
            model, tmp_path / "squares", label="tone", context="ground", probe="background", probe_settings=asked
        )


@pytest.mark.parametrize("box", [[200, 10, 210, 20], [10, 100, 20, 110], [[1, 1, 5, 5], [1e30, 1, 2e30, 5]]])
def test_a_box_right_of_its_picture_or_below_it_is_an_error_with_its_row(box):
    """It was an object of no pixel; above and left of it was an error already."""
    area, picture = BoxAreas("box"), OpenedPicture(b"", Image.new("RGB", (100, 80)))
    rows = [RowOfObject("first", "cow", "", {"box": [90, 70, 120, 95]}), RowOfObject("far", "cow", "", {"box": box})]
    area.begin(rows)
    with pytest.raises(OochubError, match=r"lies outside its image of 100 x 80 pixels; the row far has"):
        area.masks(rows, [picture] * 2)
    (mask,) = area.masks(rows[:1], [picture])
    assert mask.sum() == 100  # the part that is inside, 10 x 10
