"""Images that stand in two splits: found by their bytes in a prediction, counted, and said in the report."""

import io

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, Image, Value
from model_folders import resnet
from PIL import Image as Pillow

import oochub
from oochub.prediction.image_copies import describe_copies, number_images


def _encode(seed: int, codec: str = "PNG") -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (20, 20, 3), np.uint8)
    file = io.BytesIO()
    Pillow.fromarray(pixels).save(file, codec)
    return file.getvalue()


def _split(seeds: list[int]) -> Dataset:
    features = Features(
        {"example_id": Value("string"), "image": Image(), "label": ClassLabel(names=["LABEL_0", "LABEL_1"])}
    )
    rows = {
        "example_id": [f"{k}" for k in range(len(seeds))],
        "image": [{"bytes": _encode(seed), "path": None} for seed in seeds],
        "label": [k % 2 for k in range(len(seeds))],
    }
    return Dataset.from_dict(rows, features)


@pytest.mark.parametrize("preprocessing", ["fused", "processor"])
def test_copies_in_two_splits_are_counted_in_the_report(preprocessing, tmp_path):
    """Three of eight images of test stand in train, one of them in validation too."""
    data = DatasetDict(
        {"train": _split([1, 2, 3, 4, 5]), "validation": _split([10, 3]), "test": _split([1, 20, 3, 5, 21, 22, 23, 24])}
    )
    options = {"preprocessing": preprocessing, "images": False, "cache": False}
    made = oochub.predict(resnet(tmp_path / "model"), data, splits=["train", "validation", "test"], **options)
    assert list(describe_copies(made)) == [
        f"the images of {n} of {rows} rows of {other} also stand in {name}, byte for byte, so they are not new to a "
        "model that saw these"
        for n, rows, other, name in (
            (1, 2, "validation", "train"),
            (3, 8, "test", "train"),
            (1, 8, "test", "validation"),
        )
    ]
    report = oochub.evaluate(made, resamples=100)
    assert any(note.startswith("the images of 3 of 8 rows of test also stand in train") for note in report.notes)
    assert "also stand in train, byte for byte" in report.to_html()
    assert "image_digest" not in {name for part in report.slices for name in part.metrics}
    kept = oochub.Predictions.load(made.save(tmp_path / "p.parquet"))
    assert np.array_equal(number_images(kept), number_images(made)) and kept.digest == made.digest


def test_a_row_that_cannot_be_read_moves_no_digest(tmp_path):
    rows = _split([1, 2, 3, 4])
    stored = [{"bytes": each, "path": None} for each in (_encode(1), b"no image", _encode(3), _encode(4))]
    rows = Dataset.from_dict({**rows.to_dict(), "image": stored}, rows.features)
    data = DatasetDict({"train": _split([4]), "test": rows})
    folder = resnet(tmp_path / "model")
    made = oochub.predict(folder, data, splits=["train", "test"], skip_broken=True, images=False, cache=False)
    ids = made.column("example_id").tolist()
    assert ids == ["0", "0", "2", "3"] and number_images(made).tolist() == [0, 1, 2, 0]


def test_other_encodings_and_predictions_without_digests_say_nothing():
    assert _encode(1) != _encode(1, "JPEG")  # bytes are compared, not what is seen
    plain = oochub.Predictions.from_arrays(logits=np.eye(2), label=[0, 1], split=["train", "test"])
    assert number_images(plain) is None and not list(describe_copies(plain))
