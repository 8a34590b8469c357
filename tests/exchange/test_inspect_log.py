"""An Inspect log of predictions: datasets opens it, oochub reads it again, and its accuracy is that of the report.

That Inspect opens it and computes the same accuracy is tested by `make bridges`.
"""

import json
from zipfile import ZipFile

import datasets
import numpy as np
import pytest
from bridge_rows import bridge_data, bridge_predictions

import oochub
from oochub.errors import OochubError
from oochub.exchange.answers_file import join_answers, read_answers
from oochub.exchange.export import export


def test_datasets_and_oochub_read_it(tmp_path):
    """Planted faults seen: ids that are names, which datasets refuses; ids that are not looked up in metadata."""
    predictions = bridge_predictions()
    out = export(predictions, "inspect_log", tmp_path / "log.eval")
    rows = datasets.load_dataset("eval", data_files=str(out), split="train")
    names, told = predictions.class_names, [json.loads(text) for text in rows["metadata"]]
    assert rows["id"] == list(range(1, 11)) and rows["target"] == [names[each] for each in predictions.label]
    assert [each["example_id"] for each in told] == predictions.column("example_id").tolist()
    assert [each["place"] for each in told] == predictions.column("place").tolist()
    np.testing.assert_allclose([each["confidence"] for each in told], predictions.summary.confidence)
    with ZipFile(out) as archive:
        header = json.loads(archive.read("header.json"))
    accuracy = header["results"]["scores"][0]["metrics"]["accuracy"]["value"]
    assert accuracy == oochub.evaluate(predictions)["accuracy"].value and 0 < accuracy < 1
    back = join_answers(read_answers(out), bridge_data())
    order = np.argsort(predictions.column("example_id"))
    assert back.prediction.tolist() == predictions.prediction[order].tolist()


def test_rows_without_a_label_and_answers_of_no_class(tmp_path):
    """Planted fault seen: an answer of none of the classes scored as the last one."""
    predictions = oochub.Predictions.from_arrays(
        prediction=[0, -1, 1, 1], label=[0, 1, 1, -1], class_names=["cat", "dog"], kind="choices"
    )
    out = export(predictions, "inspect_log", tmp_path / "log.eval")
    rows = datasets.load_dataset("eval", data_files=str(out), split="train")
    scores = [json.loads(text)["oochub"] for text in rows["scores"]]
    assert [(each["value"], each["answer"]) for each in scores] == [("C", "cat"), ("I", ""), ("C", "dog")]
    with pytest.raises(OochubError, match="No row has a label"):
        export(predictions.select(predictions.label < 0), "inspect_log", tmp_path / "other.eval")
    assert not (tmp_path / "other.eval").exists()
