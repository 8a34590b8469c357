"""ObjectNet as a config of imagenet_ood: its mapping, several right classes, what is not whole, from folder to page.

The rules are those of `objectnet_eval.py` and `objectnet_pytorch_dataloader.py` of objectnet-template-pytorch 50cc886.
"""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset
from PIL import Image
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.builders.sources.objectnet import FOLDERS, MAPPING, _list_gaps
from oochub.builders.sources.stored import Stored
from oochub.builders.toy_worlds.toy_imagenet import toy_imagenet
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES, IMAGENET_1K_WNIDS
from oochub.records.build_record import BuildRecord

_LABELS = {"tie": "Tie", "mug": "Mug", "coaster": "Coaster"}
_MAPPED = {"Tie": "bow tie, bow-tie, bowtie; Windsor tie", "Mug": "coffee mug"}


def _write(folder: Path, labels=_LABELS, mapped=_MAPPED) -> None:
    for name, content in ((FOLDERS, labels), (MAPPING, mapped)):
        file = folder / "objectnet-1.0" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(content), "utf-8")


@pytest.fixture
def small(tmp_path):
    _write(tmp_path)
    for name in ("tie/b", "tie/a", "mug/c", "coaster/d"):
        file = tmp_path / f"objectnet-1.0/images/{name}.png"
        file.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (9, 7), (255, 0, 0)).save(file)
    return tmp_path


def test_rows_by_hand(small):
    """Numbers of classes as public lists of ImageNet have them: 457 bow tie, 906 Windsor tie, 504 coffee mug."""
    part = load_dataset("imagenet_ood", "objectnet", data_dir=small)["test"]
    rows = part.remove_columns("image").to_list()
    found = [(row["example_id"], row["file_name"], row["label"], row["also_right"]) for row in rows]
    tie = (457, ["Windsor tie"])
    assert found == [("c", "mug/c.png", 504, []), ("a", "tie/a.png", *tie), ("b", "tie/b.png", *tie)]
    assert {part.features["shift"].int2str(row["shift"]) for row in rows} == {"covariate"}
    record = BuildRecord.of(part.info)
    assert (record.facts.border, record.facts.present_classes) == (2, (457, 504, 906))
    assert {
        "partial: 4 of 50,000 images",
        "partial: 3 of 313 classes",
        "partial: 2 of 113 classes that ImageNet-1K has",
        "partial: 3 of 125 classes of ImageNet-1K",
        "2 pixels are cut from each side of an image before a model sees it, as by the authors",
        "1 of the images, of 1 class that ImageNet-1K lacks, are left out",
    } <= set(record.notes)


@pytest.mark.parametrize(
    ("labels", "mapped", "message"),
    [
        (_LABELS | {"neck_tie": "Tie"}, _MAPPED, "two folders for the class 'Tie'"),
        (_LABELS, {"Ties": "Windsor tie"}, "No class of ObjectNet named 'Ties'. Did you mean 'Tie'"),
        (_LABELS, {"Tie": "Windsor ties"}, "No class of ImageNet-1K named 'Windsor ties'. Did you mean 'Windsor tie'"),
        (_LABELS, {"Tie": "Windsor tie", "Mug": "Windsor tie"}, "gives n04591157 to 2 classes"),
        ({"tie": "Tie", "mug": "Mug"}, _MAPPED, "coaster/d.png .*No folder of ObjectNet named 'coaster'"),
        (_LABELS, {"Mug": 3}, "must map names to names"),
    ],
)
def test_a_wrong_mapping_is_named(small, labels, mapped, message):
    _write(small, labels, mapped)
    with pytest.raises(oochub.OochubError, match=message):
        load_dataset("imagenet_ood", "objectnet", data_dir=small)


def test_a_download_without_its_mapping_or_images_is_named(small):
    shutil.move(small / "objectnet-1.0/images", small / "elsewhere")
    with pytest.raises(oochub.OochubError, match=r"no images in .*Unpack objectnet-1\.0\.zip"):
        load_dataset("imagenet_ood", "objectnet", data_dir=small)
    (small / "objectnet-1.0" / MAPPING).unlink()
    with pytest.raises(oochub.OochubError, match=r"objectnet_to_imagenet_1k\.json"):
        load_dataset("imagenet_ood", "objectnet", data_dir=small)


def test_a_mapping_that_changes_in_place_is_read_anew(small):
    first = load_dataset("imagenet_ood", "objectnet", data_dir=small)["test"]
    _write(small, _LABELS, {"Tie": "Windsor tie", "Mug": "coffee mug"})
    assert set(first["label"]) == {457, 504}
    assert set(load_dataset("imagenet_ood", "objectnet", data_dir=small)["test"]["label"]) == {906, 504}


@pytest.mark.slow
def test_counts_of_the_release():
    """A full-size list of names has no gap; one image less has."""
    folders = [f"class_{k}" for k in range(313)]
    wnids = [";".join(IMAGENET_1K_WNIDS[k : 125 if k == 112 else k + 1]) for k in range(113)]  # 125 classes in 113
    found = [Stored(f"{folders[k % 313]}/{k}.png", wnids[k % 313] if k % 313 < 113 else "") for k in range(50_000)]
    known = [stored for stored in found if stored.label]
    assert _list_gaps(found, known) == []
    assert _list_gaps(found[:-1], known) == ["partial: 49,999 of 50,000 images"]


@pytest.mark.slow
def test_from_raw_folder_to_page(tmp_path):
    """One model of 1,000 classes: accuracy by hand, from the images without their border, and a page."""
    raw = toy_imagenet(tmp_path / "raw", size=1)
    names = list(IMAGENET_1K_NAMES)
    torch, hf = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    tiny = {"embedding_size": 8, "hidden_sizes": [8], "depths": [1], "layer_type": "basic"}
    config = hf.ResNetConfig(
        **tiny, id2label=dict(enumerate(names)), label2id={name: k for k, name in enumerate(names)}
    )
    hf.ResNetForImageClassification(config).save_pretrained(tmp_path / "model")
    hf.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "model")
    model = tmp_path / "model"
    out = tmp_path / "out"
    words = ["audit", str(model), "imagenet_ood/objectnet", "--data-dir", str(raw), "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    predictions = oochub.Predictions.load(next(out.glob("*.parquet")))
    assert predictions.metadata.provenance["border_cut"] == 2
    right = [
        names[row["logits"].index(max(row["logits"]))] in {names[row["label"]], *row["also_right"]}
        for row in predictions.table.to_pylist()
    ]
    assert (predictions.prediction == predictions.label).tolist() == right
    page = next(out.glob("*.html")).read_text("utf-8")
    assert "2 pixels are cut from each side of an image" in page
    assert np.isfinite(predictions.summary.loss).all()
