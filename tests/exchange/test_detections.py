"""COCO's results and YOLO's labels as answers: numbers against pycocotools, and every fault named."""

import io
import json

import numpy as np
import pytest
from bridge_rows import IDS, bridge_boxes_data, bridge_predictions
from coco_boxes_worlds import measure_with_pycocotools
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, List, Value
from PIL import Image as Pictures

import oochub
from oochub.errors import OochubError
from oochub.evaluation.evaluation_inputs import open_parts
from oochub.exchange.answers_file import join_answers, read_answers
from oochub.exchange.bridge import get_bridge
from oochub.exchange.export import export

_NAMES = ["head", "hand"]
_GOOD = {"image_id": 7, "category_id": 0, "bbox": [1.0, 2.0, 4.0, 4.0], "score": 0.9}


def _split(numbers, *, names=_NAMES):
    """Images of 40 x 20 pixels, each with one true box."""
    content = io.BytesIO()
    Pictures.new("RGB", (40, 20)).save(content, "PNG")
    rows = {
        "example_id": [f"{number:04d}" for number in numbers],
        "image": [{"bytes": content.getvalue(), "path": f"field-{number}.png"} for number in numbers],
        "boxes": [[[1.0, 2.0, 5.0, 6.0]]] * len(numbers),
        "categories": [[0]] * len(numbers),
        "width": [40] * len(numbers),
        "height": [20] * len(numbers),
    }
    features = {
        "example_id": Value("string"),
        "image": Image(),
        "boxes": List(List(Value("float32"), length=4)),
        "categories": List(ClassLabel(names=names)),
        "width": Value("int32"),
        "height": Value("int32"),
    }
    return Dataset.from_dict(rows, Features(features))


@pytest.fixture(scope="module")
def data():
    return DatasetDict({"train": _split([1, 2]), "validation": _split([5, 6]), "test": _split([7, 8, 9])})


def _write(folder, entries):
    file = folder / "results.json"
    file.write_text(entries if isinstance(entries, str) else json.dumps(entries))
    return file


def test_images_are_found_by_id_or_by_file_and_those_without_a_box_are_empty(data, tmp_path):
    """Planted faults seen: leading zeros kept; rows of a split in the order of the file."""
    entries = [
        {**_GOOD, "image_id": "field-9.png", "score": 0.4},
        {**_GOOD, "image_id": 7, "category_id": 1},
        {**_GOOD, "image_id": "0009", "score": 0.8},
        {**_GOOD, "image_id": 2},
    ]
    (made,) = open_parts([_write(tmp_path, entries)], benchmark=data)
    frame = made.to_pandas()
    assert frame["example_id"].tolist() == ["0007", "0008", "0009"] and set(frame["split"]) == {"test"}
    assert [np.asarray(row).tolist() for row in frame["scores"]] == [[0.9], [], [0.4, 0.8]]
    assert [np.asarray(row).tolist() for row in frame["detected_categories"]] == [[1], [], [0, 0]]
    assert [each.tolist() for each in frame["detected_boxes"][0]] == [[1.0, 2.0, 5.0, 6.0]]
    assert made.metadata.notes == (
        "1 boxes of results.json are in images of train and were not read",
        "results.json has no box of any class in 1 of 3 images of test: they count as images in which nothing was "
        "found",
    )
    assert made.metadata.model.id == "results" and made.metadata.provenance["given"]["file"] == "results.json"


def test_yolo_labels_are_the_same_boxes(data, tmp_path):
    """reference: the same boxes as COCO's results. Planted fault seen: the center taken as the corner."""
    labels = tmp_path / "run" / "labels"
    labels.mkdir(parents=True)
    entries = []
    rng = np.random.default_rng(0)
    for number in (7, 9):
        lines = []
        for _ in range(3):
            x, y, width, height = (float(each) for each in rng.integers(1, 9, 4))
            category, score = int(rng.integers(2)), float(rng.integers(1, 8)) / 8
            entries.append({"image_id": number, "category_id": category, "bbox": [x, y, width, height], "score": score})
            middle = ((x + width / 2) / 40, (y + height / 2) / 20)
            lines.append(f"{category} {middle[0]!r} {middle[1]!r} {width / 40!r} {height / 20!r} {score!r}")
        (labels / f"field-{number}.txt").write_text("\n".join(lines) + "\n")
    (one,) = open_parts([_write(tmp_path, entries)], benchmark=data)
    for folder in (labels, labels.parent):
        (other,) = open_parts([folder], benchmark=data)
        assert other.metadata.fingerprint == one.metadata.fingerprint
        for ours, theirs in zip(
            one.table["detected_boxes"].to_pylist(), other.table["detected_boxes"].to_pylist(), strict=True
        ):
            np.testing.assert_allclose(theirs, ours, atol=1e-12)
        assert other.table.select(["scores", "detected_categories"]).equals(
            one.table.select(["scores", "detected_categories"])
        )
    (labels / "classes.txt").write_text("hand\nhead\n")  # the other way round
    (named,) = open_parts([labels], benchmark=data)
    swapped = [[1 - each for each in row] for row in one.table["detected_categories"].to_pylist()]
    assert named.table["detected_categories"].to_pylist() == swapped


def _results(folder):
    """Three boxes in the rows of tests/helpers/bridge_rows.py, as the results of COCO's guide are written."""
    file = folder / "results.json"
    file.write_text(
        '[{"image_id":"a/00","category_id":0,"bbox":[1.5,2,4,3.25],"score":0.875},'
        '{"image_id":"a/00","category_id":1,"bbox":[0,0,2,2],"score":0.5},'
        '{"image_id":"a/07","category_id":1,"bbox":[4,1,3,3],"score":0.25}]'
    )
    return file


def _labels(folder):
    """The same as YOLO saves them, in folders as those of the images."""
    place = folder / "predict" / "labels" / "a"
    place.mkdir(parents=True)
    (place / "00.txt").write_text("0 0.4375 0.604167 0.5 0.541667 0.875\n1 0.125 0.166667 0.25 0.333333 0.5\n")
    (place / "07.txt").write_text("1 0.6875 0.416667 0.375 0.5 0.25\n")
    return folder / "predict"


BRIDGE_EXAMPLES = {"coco_results": _results, "yolo_labels": _labels}


@pytest.mark.parametrize("name", BRIDGE_EXAMPLES)
def test_there_and_back(name, tmp_path):
    """What comes back has the boxes, scores and classes of the predictions, and the same report."""
    given, data = bridge_predictions("boxes"), bridge_boxes_data()
    out = export(given, name, tmp_path / f"out{'.json' if name == 'coco_results' else ''}")
    back = join_answers(read_answers(out), data)
    order = [IDS.index(each) for each in given.column("example_id")]
    for column in ("scores", "detected_categories", "detected_boxes"):
        expected, found = (each.table.column(column).to_pylist() for each in (given, back))
        for row, values in zip(order, expected, strict=True):
            np.testing.assert_allclose(found[row], values, atol=1e-12)
    first, second = (oochub.evaluate(each, resamples=100) for each in (given, back))
    assert first["box_average_precision"] == pytest.approx(second["box_average_precision"].value, abs=1e-9)
    read = get_bridge(name).read(BRIDGE_EXAMPLES[name](tmp_path), None)
    fitted = get_bridge(name).fit(read, data).table
    assert fitted.column("scores").to_pylist()[0] == [0.875, 0.5] and fitted.column("scores").to_pylist()[7] == [0.25]
    np.testing.assert_allclose(fitted.column("detected_boxes").to_pylist()[7], [[4, 1, 7, 4]], atol=1e-4)


def test_an_export_needs_sizes_and_names_of_files(tmp_path):
    given = bridge_predictions("boxes")
    without = given.with_table(given.table.drop_columns(["width"]))
    with pytest.raises(OochubError, match=r"they have no column width\."):
        export(without, "yolo_labels", tmp_path / "out")
    renamed = given.table.set_column(
        given.table.column_names.index("example_id"), "example_id", [["../up", *given.column("example_id")[1:]]]
    )
    with pytest.raises(OochubError, match=r"'\.\./up' names no file"):
        export(given.with_table(renamed), "yolo_labels", tmp_path / "out")
    assert not list(tmp_path.iterdir())


_FAULTS = {
    "cut off": ('[{"image_id": 7, "category', "is not complete JSON"),
    "an object": ({"annotations": []}, "a JSON list of COCO's results; .* is none of these"),
    "empty": ([], "contains no box"),
    "a number": ([3], "entry 1 of 1 must be an object"),
    "no score": ([_GOOD, {k: v for k, v in _GOOD.items() if k != "score"}], "entry 2 of 2 has no score"),
    "masks": ([{"image_id": 7, "category_id": 0, "segmentation": {}, "score": 1}], "has no bbox: masks are not read"),
    "score nan": ('[{"image_id": 7, "category_id": 0, "bbox": [1, 2, 4, 4], "score": NaN}]', "finite number as score"),
    "score of 7": ([{**_GOOD, "score": 7}], r"a score outside \[0, 1\] in 1 places, first entry 1"),
    "three numbers": ([{**_GOOD, "bbox": [1, 2, 3]}], "four finite numbers as bbox"),
    "a huge number": ([{**_GOOD, "bbox": [1, 2, 3, 10**400]}], "four finite numbers as bbox"),
    "a negative width": ([{**_GOOD, "bbox": [9, 2, -3, 4]}], "a negative width or height in 1 places"),
    "twice": ([_GOOD, {**_GOOD, "score": 0.5}, _GOOD], "the same box twice in 1 places, first entry 3"),
    "image unknown": ([{**_GOOD, "image_id": 41}], "1 image is not in these data, first '41'; an image goes by its"),
    "class unknown": ([{**_GOOD, "category_id": 4}], r"category_id that is none of 2 \(0 head, 1 hand\), first 4 in"),
    "outside": ([{**_GOOD, "bbox": [50, 2, 4, 4]}], r"1 box does not lie in the image, first \[50.0, .* 40 x 20 pix"),
    "beyond to the right": ([{**_GOOD, "bbox": [1, 2, 79.5, 4]}], r"not lie in .* first \[1.0, 2.0, 80.5, 6.0\]"),
    "beyond below": ([{**_GOOD, "bbox": [1, 2, 4, 38.5]}], r"not lie in .* first \[1.0, 2.0, 5.0, 40.5\]"),
    "beyond to the left": ([{**_GOOD, "bbox": [-40.5, 2, 50, 4]}], "1 box does not lie in the image"),
    "beyond above": ([{**_GOOD, "bbox": [1, -20.5, 4, 30]}], "1 box does not lie in the image"),
    "ends at the edge": ([{**_GOOD, "bbox": [-4, 2, 4, 4]}], "1 box does not lie in the image"),
    "begins at the edge": ([{**_GOOD, "bbox": [1, 20, 4, 4]}], "1 box does not lie in the image"),
    "absurd": ([{**_GOOD, "bbox": [1, 2, 4e6, 4]}], "1 box does not lie in the image"),
    "a class of text": ([{**_GOOD, "category_id": "head"}], "whole number as category_id, got 'head'"),
    "no image": ([{**_GOOD, "image_id": None}], "whole number or a text as image_id, got None"),
}


def test_a_box_may_reach_as_far_beyond_an_image_as_it_is_large(data, tmp_path):
    """40 x 20 pixels: just within what the faults below lie beyond."""
    boxes = [[-40.0, -20.0, 120.0, 60.0], [39.5, 19.5, 40.5, 20.5], [-4.0, -4.0, 4.5, 4.5]]
    (made,) = open_parts([_write(tmp_path, [{**_GOOD, "bbox": box} for box in boxes])], benchmark=data)
    corners = [[x, y, x + width, y + height] for x, y, width, height in boxes]
    assert [each.tolist() for each in made.to_pandas()["detected_boxes"][0]] == corners


@pytest.mark.parametrize("name", _FAULTS)
def test_a_fault_of_coco_results_is_named(name, data, tmp_path):
    entries, words = _FAULTS[name]
    with pytest.raises(OochubError, match=words):
        open_parts([_write(tmp_path, entries)], benchmark=data)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("0 0.5 0.5 0.1 0.1", "field-7.txt, line 1, has no confidence"),
        ("0 0.5 0.5", "line 1, has 3 numbers in place of 6"),
        ("0 0.5 0.5 0.1 nan 0.9", "line 1, must hold a class number and five finite numbers"),
        ("head 0.5 0.5 0.1 0.1 0.9", "line 1, must hold a class number"),
        ("-1 0.5 0.5 0.1 0.1 0.9", "line 1, must hold a class number"),
        ("0 0.5 0.5 0.1 1e309 0.9", "a box that is not finite"),
        ("0 20 10 4 4 0.9", "1 box does not lie in the image"),
        ("3 0.5 0.5 0.1 0.1 0.9", "a class that is none of 2"),
        ("", "contains no box"),
    ],
)
def test_a_fault_of_yolo_labels_is_named(line, words, data, tmp_path):
    (tmp_path / "field-7.txt").write_text(f"{line}\n")
    with pytest.raises(OochubError, match=words):
        open_parts([tmp_path], benchmark=data)


def test_what_does_not_fit_these_data_says_what_does(data, tmp_path):
    (tmp_path / "field-7.txt").write_text("0 0.5 0.5 0.1 0.1 0.9\n")
    with pytest.raises(OochubError, match=r"fractions of images.*columns width and height"):
        open_parts([tmp_path], benchmark=data.remove_columns(["width", "height"]))
    plain = data.remove_columns(["boxes"])
    with pytest.raises(OochubError, match=r"results.json contains boxes, but there is no column boxes .*nooch/boxes_"):
        open_parts([_write(tmp_path, [_GOOD])], benchmark=plain)
    for path in (tmp_path / "results.json", tmp_path):
        with pytest.raises(OochubError, match="contains answers but not the dataset that they belong to"):
            open_parts([path])
    with pytest.raises(OochubError, match=r"contains 0 label files IMAGE\.txt"):
        (tmp_path / "none").mkdir()
        get_bridge("yolo_labels").read(tmp_path / "none", None)


@pytest.mark.slow
def test_numbers_of_nooch_are_those_of_pycocotools(raw, tmp_path):
    """A detector of all classes on nooch/boxes_car: AP of the report on each side is that of the raw annotations."""
    folder = raw("nooch/boxes_car")
    truth = [
        json.loads((folder / "annotations" / f"instances_{year}2017.json").read_bytes()) for year in ("train", "val")
    ]
    truth = {name: [*truth[0][name], *truth[1][name]] for name in ("images", "annotations")} | {
        "categories": truth[0]["categories"]
    }
    for number, annotation in enumerate(truth["annotations"], 1):
        annotation["id"] = number
    rng = np.random.default_rng(0)
    found = [
        {
            "image_id": each["image_id"],
            "category_id": each["category_id"] if rng.random() < 0.7 else 3,
            "bbox": (np.array(each["bbox"]) * rng.uniform(0.85, 1.15, 4)).round(2).tolist(),
            "score": round(float(rng.random()), 3),
        }
        for each in truth["annotations"]
        if rng.random() < 0.9
    ]
    loaded = oochub.load("nooch/boxes_car", data_dir=str(folder))
    report = oochub.evaluate(_write(tmp_path, found), benchmark=loaded, resamples=100)
    test = loaded["test"].remove_columns("image").to_pandas()
    challenge = test["challenge"].map(lambda number: loaded["test"].features["challenge"].names[number])
    cars = {**truth, "annotations": [each for each in truth["annotations"] if each["category_id"] == 3]}
    drawn = [each for each in found if each["category_id"] == 3]
    for side, rows in (("", challenge != ""), ("easy/", challenge == "easy"), ("hard/", challenge != "easy")):
        ids = sorted(int(each) for each in test["example_id"][rows])
        cars_only = measure_with_pycocotools({**cars, "categories": [{"id": 3, "name": "car"}]}, drawn, ids)
        assert report[f"{side}box_average_precision"] == pytest.approx(cars_only["ap"], abs=1e-9)
        assert report[f"{side}box_precision_at_iou.ap50"] == pytest.approx(cars_only["ap50"], abs=1e-9)
        assert report[f"{side}box_average_recall.ar10"] == pytest.approx(cars_only["ar10"], abs=1e-9)
    empty = test["example_id"][challenge == "hard_negative"].astype(int)
    sure = {each["image_id"] for each in drawn if each["score"] > 0.5}
    assert report["hard/false_alarms"] == pytest.approx(np.mean([number in sure for number in empty]))
    assert any("are of other classes and were not read" in note for note in report.notes)
    parts = []
    for title, rows in (("all of test", challenge != ""), ("easy", challenge == "easy"), ("hard", challenge != "easy")):
        ids = {int(each) for each in test["example_id"][rows]}
        true, own = (sum(each["image_id"] in ids for each in boxes) for boxes in (cars["annotations"], drawn))
        parts.append(f"{title} {true:,} true and {own:,} drawn in {len(ids):,} images")
    assert f"number of boxes: {'; '.join(parts)}" in report.notes


@pytest.mark.slow
def test_pycocotools_reads_what_is_written(raw, tmp_path):
    """The boxes of predictions of nooch/boxes_car, written as COCO's results, have the AP of the report there."""
    data = oochub.load("nooch/boxes_car", data_dir=str(raw("nooch/boxes_car")))
    (made,) = open_parts([_write(tmp_path, _draw_cars(data["test"]))], benchmark=data)
    written = json.loads(export(made, "coco_results", tmp_path / "again.json").read_text())
    assert {each["category_id"] for each in written} == {3}
    rows = data["test"].remove_columns("image")
    ids = sorted(int(each) for each in rows["example_id"])
    truth = {
        "images": [{"id": number} for number in ids],
        "categories": [{"id": 3, "name": "car"}],
        "annotations": [
            {
                "image_id": int(row["example_id"]),
                "category_id": 3,
                "bbox": [box[0], box[1], box[2] - box[0], box[3] - box[1]],
                "area": area,
                "iscrowd": crowd,
            }
            for row in rows
            for box, area, crowd in zip(row["boxes"], row["object_areas"], row["crowd"], strict=True)
        ],
    }
    for number, each in enumerate(truth["annotations"], 1):
        each["id"] = number
    expected = measure_with_pycocotools(truth, written, ids)["ap"]
    assert oochub.evaluate(made, resamples=100)["box_average_precision"] == pytest.approx(expected, abs=1e-9)
    labels = export(made, "yolo_labels", tmp_path / "labels")
    assert (labels / "classes.txt").read_text().splitlines()[2] == "car"  # third of COCO's 80
    (back,) = open_parts([labels], benchmark=data)
    assert oochub.evaluate(back, resamples=100)["box_average_precision"] == pytest.approx(expected, abs=1e-9)


def _draw_cars(part):
    """Boxes near the true ones, and one in every third image."""
    rng = np.random.default_rng(5)
    found = []
    for number, row in enumerate(part.remove_columns("image")):
        for box in [*row["boxes"], *([[2.0, 2.0, 12.0, 9.0]] if number % 3 == 0 else [])]:
            x, y, width, height = np.array([box[0], box[1], box[2] - box[0], box[3] - box[1]]) * rng.uniform(
                0.9, 1.1, 4
            )
            bbox = [round(float(each), 2) for each in (x, y, width, height)]
            score = round(float(rng.random()), 2)
            found.append({"image_id": int(row["example_id"]), "category_id": 3, "bbox": bbox, "score": score})
    return found
