"""Drawn inputs of which half should be refused: what is expected is said by hand, and nothing ends in a traceback.

Odd benchmark.toml, rules, baselines, results of detectors, and images of every mode that Pillow has: 310 cases.
"""

import io
import math
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import oochub
from oochub.checking.rules import read_rules
from oochub.data.benchmark_file import BenchmarkFile
from oochub.errors import OochubError
from oochub.inputs.pictures.preprocessing import decode
from oochub.report.report import Report

pytestmark = pytest.mark.campaign

_RANGES = {None: (0, 1), "accuracy": (0, 1), "f1_macro": (0, 1), "pearson": (-1, 1), "nll": (0, math.inf)}
_TEXTS = [
    *("nan", "+nan", "inf", "-inf", "true", '"0.5"', "1979-05-27", "[0.5]", "9" * 400, "-" + "9" * 400, "1e400"),
    *("0", "1", "-1", "2", "0.5", "-0.5", "1.0000001", "-0.0", "1e-300", "7.25", "0x10", "1_000"),
]


def _meets(text: str, low: float, high: float) -> bool:
    """Whether a TOML value is a finite number in a range, by Python's own reading of numbers."""
    try:
        value = float(int(text.replace("_", ""), 0)) if text.startswith(("0x", "1_")) else float(text)
    except (ValueError, OverflowError):
        return False
    return math.isfinite(value) and low <= value <= high


@pytest.mark.parametrize("seed", range(80))
def test_declarations(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    headline, chance = list(_RANGES)[draw.integers(len(_RANGES))], _TEXTS[draw.integers(len(_TEXTS))]
    gap = _TEXTS[draw.integers(len(_TEXTS))] if draw.random() < 0.3 else "0.02"
    name = "rows\\u0000.csv" if draw.random() < 0.1 else "rows.csv"
    (tmp_path / "rows.csv").write_text("label\na\nb\n")
    lines = [f'headline = "{headline}"'] if headline else []
    lines += ['title = "Drawn"', f"chance = {chance}", f"practical_gap = {gap}", "[data]", f'source = "{name}"']
    (tmp_path / "benchmark.toml").write_text("\n".join(lines))
    is_fine = _meets(chance, *_RANGES[headline]) and _meets(gap, 0, 1) and name == "rows.csv"
    try:
        BenchmarkFile.find(str(tmp_path))
        found = True
    except OochubError as error:
        assert "benchmark.toml" in str(error)
        found = False
    assert found == is_fine, lines


@pytest.mark.parametrize("seed", range(60))
def test_rules(seed: int) -> None:
    draw = np.random.default_rng(seed)
    values = [
        0.5,
        1,
        -3,
        10**399,
        -(10**5000),
        math.nan,
        math.inf,
        True,
        "0.5",
        None,
        [1],
        1e308,
        np.float64(0.2),
        b"1",
    ]
    value = values[draw.integers(len(values))]
    bounds = draw.permutation(["at_least", "at_most", "at_most_worse"])[: draw.choice([1, 1, 1, 2, 0])]
    rules = [{"metric": "accuracy", **dict.fromkeys(bounds, value)}] * int(draw.choice([1, 1, 1, 2]))
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    is_finite = is_number and (abs(value) < 10**308 if isinstance(value, int) else math.isfinite(value))
    is_fine = len(bounds) == 1 == len(rules) and is_finite and not ("at_most_worse" in bounds and value < 0)
    given = {"rule": rules} if draw.random() < 0.9 else [None, 3, rules, b"x"][draw.integers(4)]
    is_fine &= isinstance(given, dict)
    try:
        read_rules(given)
        found = True
    except OochubError as error:
        assert len(str(error)) < 1000
        found = False
    assert found == is_fine, (given, value)


_CHANGES = ["nothing", "order", "labels", "ids", "classes", "fewer", "number"]


@pytest.mark.parametrize("seed", range(50))
def test_baselines(seed: int, tmp_path: Path) -> None:
    draw = np.random.default_rng(seed)
    change, is_found = _CHANGES[seed % len(_CHANGES)], bool(draw.random() < 0.6)
    n = int(draw.integers(40, 90))
    label, ids, names = draw.integers(0, 2, n), [f"r{k}" for k in range(n)], ["cat", "dog"]
    folders = []
    for side in ("old", "new"):
        rows, own, called = np.arange(n), label.copy(), names
        some = list(ids)
        if side == "new" and change == "order":
            rows = draw.permutation(n)
        if side == "new" and change == "labels":
            own[draw.integers(n)] ^= 1
        if side == "new" and change == "ids":
            some[int(draw.integers(n))] = "other"
        if side == "new" and change == "classes":
            called = ["cat", "wolf"]
        if side == "new" and change == "fewer":
            rows = rows[:-3]
        logits = draw.normal(size=(n, 2)) + 3 * np.eye(2)[label]
        made = oochub.Predictions.from_arrays(
            logits=logits[rows], label=own[rows], example_id=[some[k] for k in rows], class_names=called, model=side
        )
        folder = tmp_path / side
        folder.mkdir()
        report = oochub.evaluate(made.save(folder / "predictions.parquet"), resamples=100)
        report.save(folder / "report.json")
        if side == "new" and change == "number":
            text = (folder / "report.json").read_text()
            value = f'"value": {report["accuracy"].value!r}'
            assert value in text
            (folder / "report.json").write_text(text.replace(value, '"value": 0.123456'))
        if not is_found:
            (folder / "predictions.parquet").unlink()
        folders.append(folder)
    refused = change in ("labels", "ids", "classes") or (is_found and change in ("fewer", "number"))
    rules = {"rule": [{"metric": "accuracy", "at_most_worse": 0.99}]}
    try:
        (outcome,) = oochub.check(folders[1], rules, baseline=folders[0]).outcomes
    except OochubError as error:
        assert refused, error
        return
    assert not refused, change
    assert (outcome.paired == "paired") == is_found
    old, new = (Report.load(each / "report.json")["accuracy"].value for each in folders)
    assert outcome.change.value == pytest.approx(new - old)


@pytest.mark.parametrize("seed", range(60))
def test_detectors(seed: int) -> None:
    """A detector that draws just the true boxes has 1, one that draws none 0, and nan where nothing is to be found."""
    draw = np.random.default_rng(seed)
    n, classes = int(draw.integers(1, 9)), int(draw.integers(1, 4))
    counts = draw.integers(0, 4, n) * (draw.random() < 0.8)
    boxes = [[[10 * k, 0, 10 * k + int(draw.integers(2, 9)), 5] for k in range(count)] for count in counts]
    kinds = [draw.integers(0, classes, count).tolist() for count in counts]
    drawn, never = draw.random() < 0.5, int(draw.integers(classes))
    left = [[k for k, kind in enumerate(own) if drawn and kind != never] for own in kinds]
    columns = {
        "boxes": [[own[k] for k in some] for own, some in zip(boxes, left, strict=True)],
        "scores": [[float(draw.random()) for _ in some] for some in left],
        "true_boxes": boxes,
        "box_categories": [[own[k] for k in some] for own, some in zip(kinds, left, strict=True)],
        "true_categories": kinds,
    }
    there = {kind for own in kinds for kind in own}
    expected = math.nan if not there else sum(drawn and kind != never for kind in there) / len(there)
    for name in ("box_average_precision", "box_precision_at_iou", "box_average_recall"):
        found = oochub.get("metric", name)(**columns)
        numbers = found if isinstance(found, dict) else {"ap": found}
        for key, value in numbers.items():
            if key == "ar1" and max(counts, default=0) > 1:
                continue  # one box of an image and class
            assert value == pytest.approx(expected, nan_ok=True), (name, key)


_MODES = ["1", "L", "P", "LA", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "HSV", "I", "F", "I;16", "I;16B"]
_CODECS = ["PNG", "TIFF", "JPEG", "WEBP", "BMP", "GIF", "PPM", "JPEG2000", "AVIF", "ICO", "TGA", "PCX"]


@pytest.mark.parametrize("mode", _MODES)
@pytest.mark.parametrize("codec", _CODECS)
def test_images(mode: str, codec: str) -> None:
    """Bytes as Pillow converts them, the upper 8 of 16 bits, or a refusal that says to save a PNG."""
    gray = (np.arange(32 * 32).reshape(32, 32) * 60 % 65536).astype(np.uint16)
    if mode.startswith("I;16"):
        image = Image.fromarray(gray if mode == "I;16" else gray.astype(">u2"))
    elif mode in ("I", "F"):
        image = Image.fromarray(gray.astype(np.int32 if mode == "I" else np.float32))
    elif mode == "LAB":
        image = Image.new("LAB", (32, 32), (90, 128, 130))
    else:
        image = Image.fromarray((gray >> 8).astype(np.uint8)).convert("RGB").convert(mode if mode != "PA" else "P")
        image = image.convert("PA") if mode == "PA" else image
    file = io.BytesIO()
    try:
        image.save(file, codec)
    except (OSError, KeyError, ValueError):
        return  # this format cannot hold that mode
    stored = Image.open(io.BytesIO(file.getvalue()))
    stored.load()
    is_read = codec in ("PNG", "TIFF", "JPEG", "WEBP", "BMP", "GIF", "PPM")
    is_deep = stored.mode in ("I", "F", "LAB")
    if not is_read or (is_deep and not (stored.mode == "I" and codec in ("PNG", "PPM"))):
        with pytest.raises(OochubError, match=r"[Ss]ave it as (a )?PNG"):
            decode(file.getvalue(), "row 0")
        return
    found = np.asarray(decode(file.getvalue(), "row 0"))
    pixels = np.asarray(stored)
    if stored.mode.startswith("I"):
        expected = np.repeat((pixels.astype(np.int64) // 256)[:, :, None], 3, axis=2)
    else:
        expected = np.asarray(stored.convert("RGB"))
    assert np.array_equal(found, expected) and (found.std() > 0 or pixels.std() == 0)
