"""COCO's files by either parser: what `json.load` gives, or the same error."""

import json
import random
import sys

import pytest

from oochub import OochubError
from oochub.builders.sources import coco_json as module
from oochub.builders.sources.coco_json import coco_json

_KEPT = {"id", "height", "width", "file_name", "license", "flickr_url", "coco_url", "name", "image_id", "category_id"}
_KEPT |= {"area", "caption"}
_FAULTS = ("", '"', "{", "}", "[", "]", ",", ":", "\\", r"\u12", r"\ud800", "\x01", "é", "\n", "NaN", "Infinity", "-")
_FAULTS += ("1e400", "0", "01", "1.", "null", "true", '"note":5,', "1" * 30, " ", "-0.0", "E5", "\t", r"\/", ".5", "+1")


def _without_msgspec(monkeypatch):
    monkeypatch.setitem(sys.modules, "msgspec", None)


def _expected(file):
    """By hand: fields by name; of a segmentation the size of its run lengths."""
    content = {}
    for key, records in json.loads(file.read_text("utf-8")).items():
        if key in ("images", "annotations", "categories", "licenses"):
            content[key] = [{name: value for name, value in record.items() if name in _KEPT} for record in records]
            for record, kept in zip(records, content[key], strict=True):
                if isinstance(record.get("segmentation"), dict):
                    kept["segmentation"] = {"size": record["segmentation"]["size"]}
    return content


@pytest.mark.parametrize("parser", ["msgspec", "json"])
def test_fields_are_those_of_json(coco, monkeypatch, parser):
    """Planted faults seen: run lengths left out, a field of the images forgotten, in one parser and in the other."""
    if parser == "json":
        _without_msgspec(monkeypatch)
    else:
        pytest.importorskip("msgspec")
        monkeypatch.setattr(module, "read_json", lambda *_, **__: pytest.fail("read by the standard library"))
    files = sorted((coco / "annotations").glob("*.json"))
    assert len(files) == 6
    for file in files:
        assert coco_json(file) == _expected(file)


@pytest.mark.parametrize("name", ["instances_slice569", "stuff_examples", "captions_slice"])
def test_fields_of_real_files(real_data, monkeypatch, name):
    """Real polygons, run lengths of both forms and sentences; every number is equal, not close."""
    file = real_data / "coco" / "annotations" / f"{name}.json"
    fast, expected = coco_json(file), _expected(file)
    assert fast == expected
    _without_msgspec(monkeypatch)
    assert coco_json(file) == expected and expected["annotations"]


@pytest.mark.slow
@pytest.mark.parametrize("boxes", [False, True])
def test_a_broken_file_is_refused_by_both_or_by_none(coco, tmp_path, monkeypatch, boxes):
    """Files with a random fault: one content, or one error; planted: UTF-8 and halves of characters not looked at."""
    pytest.importorskip("msgspec")
    file, rng = tmp_path / "instances_val2017.json", random.Random(0)
    content = json.loads((coco / "annotations" / "instances_val2017.json").read_text())
    content = {key: value[:2] if isinstance(value, list) else value for key, value in content.items()}
    content["annotations"].append({"id": 5, "image_id": 7, "segmentation": {"counts": "é", "size": [4, 6]}})
    whole, refused, fast = json.dumps(content), 0, 0
    for _ in range(1500):
        start = rng.randrange(len(whole))
        text = whole[:start] + rng.choice(_FAULTS) + whole[start + rng.choice((0, 1, 3, 10)) :]
        file.write_bytes(text.encode("latin-1" if rng.random() < 0.3 else "utf-8"))
        results = [_result(file, boxes)]
        fast += module._decode_with_msgspec(file, module._BOX if boxes else ()) is not None
        with monkeypatch.context() as patched:
            _without_msgspec(patched)
            results.append(_result(file, boxes))
        assert repr(results[0]) == repr(results[1]), text  # by repr, since nan is not nan
        refused += isinstance(results[0], str)
    assert refused > 300 and fast > 300


def _result(file, boxes):
    try:
        return coco_json(file, boxes=boxes)
    except OochubError as error:
        return str(error)
