"""Images that cannot be read: an error that names the first, or left out and counted where the user says so."""

import io

import numpy as np
import pytest
import torch
from datasets import ClassLabel, Dataset, Features, Value
from datasets import Image as ImageFeature
from input_rows import encoded, photograph
from PIL import Image
from transformers import ResNetConfig, ResNetForImageClassification, ViTImageProcessorPil

import oochub
from oochub.errors import OochubError
from oochub.inputs.pictures.image_threads import read_batches
from oochub.inputs.pictures.preprocessing import Preprocessing
from oochub.prediction import parts as extracted_parts

PROCESSOR = ViTImageProcessorPil(size={"height": 16, "width": 16})
WHOLE = [encoded(photograph(30, 20, seed)) for seed in range(9)]
BROKEN = {0: WHOLE[0][:400], 1: b"", 2: None, 5: b"%!PS-Adobe-3.0 EPSF-3.0 (run me)"}  # two of a batch


def rows(*, named=True, broken=BROKEN, count=9):
    files = [broken.get(row, WHOLE[row]) for row in range(count)]
    images = [None if content is None else {"bytes": content, "path": None} for content in files]
    columns = {"image": images, "label": [row % 2 for row in range(count)]}
    features = {"image": ImageFeature(), "label": ClassLabel(names=["LABEL_0", "LABEL_1"])}
    if named:
        columns["example_id"], features["example_id"] = [f"id{row}" for row in range(count)], Value("string")
    return Dataset.from_dict(columns, Features(features), split="test")


def predicted(data, **options):
    torch.manual_seed(0)
    config = ResNetConfig(embedding_size=8, hidden_sizes=[8], depths=[1], layer_type="basic", num_labels=2)
    model = ResNetForImageClassification(config).eval()
    return oochub.predict(model, data, image_processor=PROCESSOR, batch_size=2, **options)


KEPT = [3, 4, 6, 7, 8]


@pytest.mark.parametrize(
    "options",
    [
        {"preprocessing": "fused", "zoom": 1.5, "features": True},
        {"preprocessing": "processor", "zoom": 1.5},
        {"preprocessing": "auto", "dtype": "bfloat16"},
    ],
    ids=lambda options: options["preprocessing"],
)
@pytest.mark.parametrize(("named", "streaming"), [(True, False), (False, False), (False, True)])
def test_the_rest_is_predicted_as_without_them(named, streaming, options):
    """Reference: the same rows without the broken ones."""
    data = rows(named=named)
    source = {"test": data.to_iterable_dataset() if streaming else data}
    found = predicted(source, skip_broken=True, **options)
    alone = predicted({"test": data.select(KEPT)}, **options)
    assert found.column("example_id").tolist() == [f"id{row}" if named else str(row) for row in KEPT]
    assert found.label.tolist() == [row % 2 for row in KEPT] and found.metadata.rows == {"test": 5}
    for name in ("logits", "zoom_logits", "features"):
        if name in alone.table.column_names:
            mine, theirs = (np.stack(each.column(name)) for each in (found, alone))
            np.testing.assert_allclose(mine, theirs, atol=1e-2 if "dtype" in options else 1e-6)
    names = ", ".join(f"id{row}" if named else str(row) for row in BROKEN)
    note = f"4 images of test could not be read and are skipped: {names}"
    assert note in found.metadata.notes and note in oochub.evaluate(found).notes


@pytest.mark.parametrize("preprocessing", ["fused", "processor", "auto"])
def test_by_default_the_first_is_an_error(preprocessing):
    with pytest.raises(OochubError, match="split test, example id5: 32 bytes that are no image"):
        predicted(rows(broken={5: BROKEN[5]}), preprocessing=preprocessing)


@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_where_all_are_broken_it_is_an_error(preprocessing):
    """Fault planted: the split is left out."""
    data = {"validation": rows(), "test": rows(broken=dict.fromkeys(range(3), b"no"), count=3)}
    with pytest.raises(OochubError, match=r"None of the 3 images of the split test can be read. The first: .*no image"):
        predicted(data, skip_broken=True, preprocessing=preprocessing)


def test_one_is_said_in_the_singular_and_of_many_the_first():
    one = predicted({"test": rows(broken={4: b""})}, skip_broken=True).metadata.notes
    assert one == ("1 image of test could not be read and is skipped: id4",)
    many = predicted({"test": rows(broken=dict.fromkeys(range(7), b""))}, skip_broken=True).metadata.notes[0]
    assert many.startswith("7 images") and many.endswith("skipped: id0, id1, id2, id3, id4, ...")
    assert predicted({"test": rows(broken={})}, skip_broken=True).metadata.notes == ()


@pytest.mark.parametrize("workers", [0, 2])
def test_workers_leave_out_the_same(workers):
    """Reference: every whole image by itself. Planted: pixels stay at the places of before."""
    preprocessing, broken = Preprocessing(resize=(16, 16)), []
    found = list(read_batches(rows(), preprocessing.pixels, batch_size=2, num_workers=workers, broken=broken))
    assert np.concatenate([batch.rows for batch in found]).tolist() == KEPT
    expected = np.stack([preprocessing.pixels(WHOLE[row], "") for row in KEPT])
    assert np.array_equal(torch.cat([batch.pixels for batch in found]).numpy(), expected)
    assert [name for batch in found for name in batch.columns["example_id"]] == [f"id{row}" for row in KEPT]
    assert [row.example for row in broken] == [f"id{row}" for row in BROKEN]


def test_small_pictures_are_of_their_own_rows():
    """Each mistake's image is that of its row in the split. Planted: places among the rows that are left."""
    colors = [(25 * row, 255 - 25 * row, 40) for row in range(9)]
    files = [encoded(Image.new("RGB", (20, 20), color)) for color in colors]
    data = rows(broken={row: BROKEN.get(row, files[row]) for row in range(9)})
    found = predicted({"validation": data, "test": data}, skip_broken=True)
    shown = found.table.column("thumbnail").to_pylist()
    assert any(shown)
    for split, name, content in zip(found.split, found.column("example_id"), shown, strict=True):
        if content is not None:
            pixel = Image.open(io.BytesIO(content)).getpixel((9, 9))
            assert np.abs(np.subtract(pixel, colors[int(name[2:])])).max() < 6, (split, name)


def test_texts_have_none_to_skip():
    with pytest.raises(OochubError, match=r"skip_broken=True is for images\. Omit it for texts."):
        oochub.predict("nowhere", Dataset.from_dict({"text": ["a"]}), skip_broken=True)


def test_the_bar_says_speed_and_the_wait_for_data(monkeypatch, capsys):
    """Planted: no share of the time; a bar where nobody looks."""
    predicted({"test": rows(broken={})})
    assert "Predicting" not in capsys.readouterr().err
    file, bar = io.StringIO(), extracted_parts.follow
    monkeypatch.setattr(
        extracted_parts, "follow", lambda **words: bar(**words | {"disable": False, "file": file, "mininterval": 0})
    )
    predicted({"test": rows(broken={})})
    assert "9/9" in file.getvalue() and "images/s" in file.getvalue() and "% waiting for data" in file.getvalue()
