"""The main job once on real input: 76 permissively licensed COCO images with their annotations."""

import json
import re
import shutil

import pytest
from datasets import load_dataset

import oochub
from oochub.records.schema import to_json
from oochub.training import train


@pytest.fixture(scope="module")
def raw(real_data, tmp_path_factory):
    """The images in the official layout; all of them stand in val2017, and the stuff files are empty."""
    source = real_data / "coco" / "permissive_subset"
    folder = tmp_path_factory.mktemp("coco")
    (folder / "images" / "train2017").mkdir(parents=True)
    shutil.copytree(source / "images", folder / "images" / "val2017")
    (folder / "annotations").mkdir()
    shutil.copy(source / "instances.json", folder / "annotations" / "instances_val2017.json")
    empty = json.dumps({"images": [], "annotations": [], "categories": []})
    for name in ("instances_train2017", "stuff_train2017", "stuff_val2017"):
        (folder / "annotations" / f"{name}.json").write_text(empty)
    return folder


def test_main_job_on_real_pictures(raw, real_data, tmp_path):
    """Load, train, predict, evaluate, report; the page shows real images with their attribution and both caveats."""
    data = load_dataset("nooch", "ce_tie", data_dir=raw, contexts="published")
    rows = {split: len(part) for split, part in data.items()}
    assert sum(rows.values()) == 76 and min(rows.values()) > 0
    arguments = {"num_train_epochs": 1, "per_device_train_batch_size": 16, "cache_dir": tmp_path / "pixels"}
    options = {"contexts": "published"}
    train("nooch/ce_tie", tmp_path / "run", arguments=arguments, data_dir=str(raw), options=options)
    oochub.predict(tmp_path / "run", data, out=tmp_path / "preds.parquet")
    report = oochub.evaluate(tmp_path / "preds.parquet")
    report.save(tmp_path / "report.json")
    page = report.to_html(tmp_path / "report.html")
    assert report["accuracy"].n == rows["test"]
    assert "partial: 76 of 123" in page.replace("\u202f", ",") and "not the official NOOCH split" in page
    attribution = (real_data / "coco" / "permissive_subset" / "ATTRIBUTION.tsv").read_text()
    shown = to_json(report)["mistakes"]
    assert shown and page.count("data:image/jpeg;base64,") == len(shown)
    for mistake in shown:
        url = mistake["attribution"].split(" ")[0]
        assert url.replace("https:", "http:") in attribution and url in page
        assert re.search(r"\((Attribution|No known)", mistake["attribution"])
