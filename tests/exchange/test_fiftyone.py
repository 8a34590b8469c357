"""FiftyOne's folders: read as FiftyOne writes them, written as it reads them, and there and back without a loss."""

import json
from pathlib import Path

import numpy as np
import pytest
from bridge_rows import IDS, LABELS, LOGITS, NAMES, bridge_data, bridge_predictions, png

import oochub
from oochub.errors import OochubError
from oochub.exchange.answers_file import join_answers, read_answers
from oochub.exchange.bridge import get_bridge
from oochub.exchange.export import export

# fiftyone 1.22.1: [0.1, 0.2] as `fo.Classification(logits=...)` is stored in samples.json
PACKED = (
    "eJyb7BfqGxDJyFDGUK2eklqcXKRupaBuk2ahrqOgnpZfVFKUmBefX5SSChJ3S8wpTgWKF2ckFqQC+RpGOpo6CrUKFACuWTNBYKc9hD5pDwBZoySL"
)


def samples(folder: Path, *, field: str = "prediction", more: dict | None = None) -> Path:
    """A folder as FiftyOne's guide describes it: samples.json with a Classification of each row, no logits."""
    folder.mkdir(exist_ok=True)
    listed = [
        {
            "_id": {"$oid": f"{number:024x}"},
            "filepath": f"data/{number:02d}.png",
            "tags": ["validated"],
            "example_id": name,
            "ground_truth": {"_cls": "Classification", "tags": [], "label": NAMES[label]},
            field: {"_cls": "Classification", "tags": [], "label": NAMES[int(logits[1] > logits[0])]},
            **(more or {}),
        }
        for number, (name, label, logits) in enumerate(zip(IDS, LABELS, LOGITS, strict=True))
    ]
    (folder / "samples.json").write_text(json.dumps({"samples": listed}))
    (folder / "metadata.json").write_text(json.dumps({"version": "1.22.1", "media_type": "image"}))
    return folder


BRIDGE_EXAMPLES = {"fiftyone": lambda folder: samples(folder / "fo")}


def test_there_and_back(tmp_path):
    """The report of what comes back is that of the predictions: the logits are exact, the columns are the data's."""
    given, data = bridge_predictions(), bridge_data()
    out = export(given, "fiftyone", tmp_path / "fo", data=data)
    back = join_answers(read_answers(out), data)
    order = [IDS.index(each) for each in given.column("example_id")]
    np.testing.assert_array_equal(back.logits[order], given.logits)
    assert back.metadata.model.id == "tiny" and back.metadata.class_names == tuple(NAMES)
    first, second = (oochub.evaluate(each)["accuracy"].value for each in (given, back))
    assert first == second


def test_samples_show_what_the_predictions_say(tmp_path):
    """Worked by hand: row 9 is a dog; its image, place, confidence and loss by a softmax of two numbers."""
    out = export(bridge_predictions(), "fiftyone", tmp_path / "fo", data=bridge_data())
    listed = json.loads((out / "samples.json").read_text())["samples"]
    first = listed[0]
    assert [each["ground_truth"]["label"] for each in listed] == [NAMES[label] for label in LABELS[::-1]]
    assert [each["prediction"]["label"] for each in listed] == [NAMES[k] for k in LOGITS[::-1].argmax(axis=1)]
    z = LOGITS[9].astype(float)
    p = np.exp(z) / np.exp(z).sum()
    assert first["example_id"] == IDS[9] and first["place"] == "outdoors" and first["split"] == "test"
    assert first["ground_truth"]["label"] == "dog" and first["prediction"]["label"] == NAMES[int(p.argmax())]
    assert first["prediction"]["confidence"] == pytest.approx(p.max())
    assert first["loss"] == pytest.approx(-np.log(p[1])) and first["correct"] is bool(p[1] > 0.5)
    assert (out / first["filepath"]).read_bytes() == png(9)
    described = json.loads((out / "metadata.json").read_text())
    assert {field["name"] for field in described["sample_fields"]} >= {"place", "size", "ground_truth", "loss"}


def test_logits_are_read_as_fiftyone_packs_them(tmp_path):
    """Bytes that the package made, of the class order that the dataset names; a stem is the id of a row without one."""
    folder = samples(tmp_path / "fo")
    file = folder / "samples.json"
    listed = json.loads(file.read_text())["samples"][:1]
    listed[0].pop("example_id")
    listed[0]["prediction"]["logits"] = {"$binary": {"base64": PACKED, "subType": "00"}}
    file.write_text(json.dumps({"samples": listed}))
    told = {"version": "1.22.1", "classes": {"prediction": ["dog", "cat"]}}
    (folder / "metadata.json").write_text(json.dumps(told))
    table = get_bridge("fiftyone").read(folder, None).table
    assert table.column("example_id").to_pylist() == ["00"]
    assert table.column("logit_dog").to_pylist() == pytest.approx([0.1])
    assert table.column("logit_cat").to_pylist() == pytest.approx([0.2])


def test_the_field_of_a_model_is_named(tmp_path):
    """Two fields of answers: the one that is named as the model; without a name an error that lists them."""
    other = {"vit": {"_cls": "Classification", "label": "cat"}}
    folder = samples(tmp_path / "fo", field="resnet", more=other)
    with pytest.raises(OochubError, match=r"resnet.*vit|vit.*resnet"):
        read_answers(folder)
    read = read_answers(folder, model_name="vit")
    assert set(read.table.column("prediction").to_pylist()) == {"cat"} and read.model == "vit"
    predictions = join_answers(read_answers(folder, model_name="resnet"), bridge_data())
    assert predictions.prediction.tolist() == LOGITS.argmax(axis=1).tolist()
    assert read_answers(folder / "samples.json", model_name="vit").table.num_rows == 10


def test_what_no_classification_holds_is_none_of_the_classes(tmp_path):
    folder = samples(tmp_path / "fo")
    content = json.loads((folder / "samples.json").read_text())
    content["samples"][0]["prediction"] = None
    content["samples"][0]["ground_truth"] = None
    (folder / "samples.json").write_text(json.dumps(content))
    predictions = join_answers(read_answers(folder), bridge_data())
    assert predictions.prediction[0] == -1 and predictions.metadata.none_of_them == {"test": 1}


def test_packed_logits_cannot_fill_the_memory(tmp_path):
    """A stream of zeros that expands to 64 MB is refused, as are arrays of objects."""
    import base64
    import io
    import zlib

    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    packed_streams = {"more than": zlib.compress(bytes(1 << 26)), "Object arrays": zlib.compress(stream.getvalue())}
    for why, packed in packed_streams.items():
        stored = {"$binary": {"base64": base64.b64encode(packed).decode(), "subType": "00"}}
        field = {"prediction": {"_cls": "Classification", "label": "cat", "logits": stored}}
        folder = samples(tmp_path / "fo", more=field)
        (folder / "metadata.json").write_text(json.dumps({"version": "1.22.1", "default_classes": NAMES}))
        with pytest.raises(OochubError, match=f"logits of a sample.*{why}"):
            read_answers(folder)
