"""The ImageNet-Hard builder: rows by hand, files that are not whole, groups of rows, from Parquet files to a page."""

import io

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import load_dataset
from PIL import Image
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.builders.toy_worlds.toy_imagenet_hard import toy_imagenet_hard
from oochub.class_names.imagenet_classes import IMAGENET_1K_NAMES
from oochub.records.build_record import BuildRecord

_FEATURES = datasets.Features(
    {
        "image": datasets.Image(),
        "label": datasets.List(datasets.Value("int64")),
        "origin": datasets.Value("string"),
        "english_label": datasets.List(datasets.Value("string")),
    }
)


def _picture(shade):
    file = io.BytesIO()
    Image.new("RGB", (3, 2), (shade, 0, 0)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


def _row(shade=0, label=(1,), origin="imagenet", **more):
    return {"image": _picture(shade), "label": label, "origin": origin, "english_label": [], **more}


def _write(folder, rows, name="data/validation-00000-of-00001.parquet", group=2):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema=_FEATURES.arrow_schema), path, row_group_size=group)


def test_rows_by_hand(tmp_path):
    """Numbers of classes as public lists of ImageNet have them: 1 goldfish, 457 bow tie, 906 Windsor tie."""
    rows = [_row(10 * k, [1], "imagenet") for k in range(5)]
    rows[3] |= {"label": [457, 906, 457], "origin": "objectnet"}
    _write(tmp_path, rows[:3], "data/validation-00000-of-00002.parquet")
    _write(tmp_path, rows[3:], "data/validation-00001-of-00002.parquet")
    part = load_dataset("imagenet_hard", data_dir=tmp_path)["test"]
    assert part["example_id"] == ["00000", "00001", "00002", "00003", "00004"]
    assert part["label"] == [1, 1, 1, 457, 1]
    assert part["also_right"] == [[], [], [], ["Windsor tie"], []]
    assert part.features["group"].int2str(part["group"]) == ["imagenet"] * 3 + ["objectnet", "imagenet"]
    assert [picture.getpixel((0, 0))[0] for picture in part["image"]] == [0, 10, 20, 30, 40]
    record = BuildRecord.of(part.info)
    assert record.facts.present_classes == (1, 457, 906)
    assert "partial: 5 of 10,980 rows in test" in record.notes


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (_row(label=[]), "row 1 of .*: label must list one class number or more, 0 to 999, got"),
        (_row(label=[3, 1000]), r"row 1 of .*: label must list .* got \[3, 1000\]"),
        (_row(label=[-1]), "row 1 of .*: label must list"),
        (_row(origin=""), "row 1 of .*: origin must name the set"),
        (_row(image=None), "row 1 of .* has no image"),
        (_row(image={"bytes": b"not one", "path": None}), "row 1 of .*"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, said):
    _write(tmp_path, [_row(), row])
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("imagenet_hard", data_dir=tmp_path)


def test_a_wrong_file_is_named(tmp_path):
    file = tmp_path / "data/validation-00000-of-00001.parquet"
    file.parent.mkdir()
    pq.write_table(pa.table({"image": [1], "label": [[1]]}), file)
    with pytest.raises(oochub.OochubError, match="lacks the columns english_label, origin; it has image, label"):
        load_dataset("imagenet_hard", data_dir=tmp_path)
    file.write_bytes(b"PAR1")
    with pytest.raises(oochub.OochubError, match="not a Parquet file"):
        load_dataset("imagenet_hard", data_dir=tmp_path)


def test_counts_of_the_release():
    """A full-size list of rows has no gap; one row less has, and an earlier version of the Hub."""
    from oochub.builders.imagenet_hard import _PUBLISHED, ImagenetHard

    assert _PUBLISHED == 10_980  # the card of taesiri/imagenet-hard at e292574
    assert ImagenetHard._partial({"test": range(10_980)}, {"test": _PUBLISHED}) == []
    for count in (10_979, 11_350):
        notes = ImagenetHard._partial({"test": range(count)}, {"test": _PUBLISHED})
        assert notes == [f"partial: {count:,} of 10,980 rows in test"]


def test_from_files_to_page(tmp_path):
    raw, names = toy_imagenet_hard(tmp_path / "raw"), list(IMAGENET_1K_NAMES)
    torch, hf = pytest.importorskip("torch"), pytest.importorskip("transformers")
    torch.manual_seed(0)
    tiny = {"embedding_size": 8, "hidden_sizes": [8], "depths": [1], "layer_type": "basic"}
    config = hf.ResNetConfig(
        **tiny, id2label=dict(enumerate(names)), label2id={name: k for k, name in enumerate(names)}
    )
    hf.ResNetForImageClassification(config).save_pretrained(tmp_path / "model")
    hf.ViTImageProcessorPil(size={"height": 32, "width": 32}).save_pretrained(tmp_path / "model")
    out = tmp_path / "out"
    words = ["audit", str(tmp_path / "model"), "imagenet_hard", "--data-dir", str(raw), "--out", str(out)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    predictions = oochub.Predictions.load(next(out.glob("*.parquet")))
    right = [
        names[row["logits"].index(max(row["logits"]))] in {names[row["label"]], *row["also_right"]}
        for row in predictions.table.to_pylist()
    ]
    assert (predictions.prediction == predictions.label).tolist() == right
    assert "the worst origin" in next(out.glob("*.html")).read_text("utf-8")
