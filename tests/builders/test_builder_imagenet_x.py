"""The ImageNet-X builder: annotations as the package has them, images in folders or all in one, both sets of factors.

The report: each factor against the other images of its class, and the error ratio as the package computes it.
"""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
from datasets import load_dataset
from found_rows import with_facts

import oochub
from oochub.builders.toy_worlds.toy_imagenet_x import toy_imagenet_x
from oochub.class_names.imagenet_classes import LABELS
from oochub.records.build_record import BuildRecord
from oochub.stats.lift import lift_over_all


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    return toy_imagenet_x(tmp_path_factory.mktemp("drawn") / "imagenet_x", size=4, seed=3)


@pytest.fixture
def small(drawn, tmp_path):
    """Four images of each of six classes: one a prototype, and the last without an annotation."""
    return shutil.copytree(drawn, tmp_path / "imagenet_x")


def _lines(folder, which):
    file = folder / f"imagenet_x/annotations/imagenet_x_val_{which}_factor.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.parametrize("which", ["top", "multi"])
def test_rows_by_hand(small, which):
    """Planted faults seen: prototypes kept; the factors of the other file."""
    part = load_dataset("imagenet_x", which, data_dir=small)["test"]
    prototypes = {*(small / "imagenet_x/annotations/prototypical_paths.csv").read_text().split()[1:]}
    expected = [line for line in _lines(small, which) if line["file_name"] not in prototypes]
    assert len(part) == len(expected) == 6 * 4 - 6 - 1
    names = part.features["contexts"].feature.names
    for row, line in zip(part, expected, strict=True):
        factors = {key for key in names if line[key]}
        assert row["example_id"] == line["file_name"].removesuffix(".JPEG") and row["label"] == line["class"]
        assert {*row["groups"]} == {names[number] for number in row["contexts"]} == factors
        assert row["one_word"] == line["one_word"] and row["justification"] == (line["justification"] or "")
    several = [len(row["contexts"]) for row in part]
    assert max(several) == (1 if which == "top" else 2)
    record = BuildRecord.of(part.info)
    assert record.facts.found_contexts.settings == {"factors": which} and len(names) == 16
    assert "partial: 17 of 46,110 rows in test" in record.notes
    every = load_dataset("imagenet_x", which, data_dir=small, prototypes=True)["test"]
    assert len(every) == 6 * 4 - 1


def test_images_all_in_one_folder_are_the_same_rows(small, tmp_path):
    before = load_dataset("imagenet_x", "top", data_dir=small)["test"]
    for image in (small / "val").glob("*/*"):
        image.rename(small / "val" / image.name)
    after = load_dataset("imagenet_x", "top", data_dir=small)["test"]
    assert before["example_id"] == after["example_id"] and before["label"] == after["label"]


def test_annotations_of_the_installed_package(small, tmp_path, monkeypatch):
    """They are read, and the package is not imported. Planted fault seen: its module imported."""
    package = tmp_path / "site" / "imagenet_x"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (small / "imagenet_x/annotations").rename(package / "annotations")
    with pytest.raises(oochub.OochubError, match="pip install --no-deps imagenet-x"):
        load_dataset("imagenet_x", "top", data_dir=small)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert len(load_dataset("imagenet_x", "top", data_dir=small)["test"]) == 17


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"background": 2}, r"background must be .*0 or 1.*got 2"),
        ({"file_name": "other.jpg"}, r"file_name must be ILSVRC2012_val_<number>\.JPEG, got 'other\.jpg'"),
        ({"class": 7}, "class is 7, but the image stands in the folder n"),
    ],
)
def test_annotations_that_do_not_fit(small, change, said):
    lines = _lines(small, "top")
    lines[1] |= change
    file = small / "imagenet_x/annotations/imagenet_x_val_top_factor.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with pytest.raises(oochub.OochubError, match=rf"top_factor\.jsonl, line number \d+: {said}"):
        load_dataset("imagenet_x", "top", data_dir=small)


def test_a_folder_without_its_images_is_said(small):
    shutil.rmtree(small / "val")
    (small / "val").mkdir()
    with pytest.raises(oochub.OochubError, match=r"None of the 17 annotated images is in"):
        load_dataset("imagenet_x", "top", data_dir=small)


def _predictions(rows=3000, seed=0):
    """Rows of six classes and 16 factors, one each; pattern is worse, pose better, and a class is worse in itself."""
    rng = np.random.default_rng(seed)
    names = list(oochub.get("benchmark", "imagenet_x").closed["groups"])
    label = rng.integers(0, 6, rows)
    factor = np.where(rng.random(rows) < 0.6, rng.integers(0, 3, rows), rng.integers(0, 15, rows))  # never the last
    chance = (
        0.75 - 0.25 * (factor == names.index("pattern")) + 0.15 * (factor == names.index("pose")) - 0.2 * (label == 5)
    )
    answer = np.where(rng.random(rows) < chance, label, (label + 1) % 6)
    predictions = oochub.Predictions.from_arrays(
        logits=5.0 * np.eye(6)[answer],
        label=label,
        class_names=[*LABELS][:6],
        groups=[[names[number]] for number in factor],
        contexts=[[int(number)] for number in factor],
        chosen_on=np.zeros(rows, bool),
        benchmark="imagenet_x",
        config="top",
        model="m",
    )
    facts = {"way": "annotations", "names": tuple(names), "words": tuple(names), "chosen_rows": 0, "settings": {}}
    predictions = with_facts(predictions, facts | {"class_rows": {}, "class_counts": {}})
    return predictions, label, np.array(names)[factor], answer == label


def test_factors_are_tested_and_have_the_error_ratio_of_the_package():
    """Gaps by a loop over classes, Holm by hand, ratios by the package's formula over a table of pandas."""
    predictions, label, factor, right = _predictions()
    report = oochub.evaluate(predictions, metrics=["accuracy"])
    found = {each.name: each for each in report.contexts.contexts}
    assert len(found) == 16 and found["multiple_objects"].status == "too few"
    frame = pd.DataFrame({"right": right, "factor": factor})
    ratios = (1 - frame.groupby("factor").right.mean()) / (1 - frame.right.mean())  # `error_ratio` of imagenet-x 0.0.7
    for name, ratio in ratios.items():
        assert report[f"context/{name}/error_ratio"] == pytest.approx(ratio, abs=1e-12)
        weights, gap = 0.0, 0.0
        for number in range(6):
            has, other = right[(label == number) & (factor == name)], right[(label == number) & (factor != name)]
            weight = len(has) * len(other) / (len(has) + len(other))
            weights, gap = weights + weight, gap + weight * (has.mean() - other.mean())
        assert report[f"context/{name}"] == pytest.approx(gap / weights, abs=1e-12)
    p_values = sorted(each.p_value for each in found.values() if each.status != "too few")
    holm = np.maximum.accumulate([min(1.0, (len(p_values) - k) * p) for k, p in enumerate(p_values)])
    adjusted = sorted(each.adjusted_p_value for each in found.values() if each.status != "too few")
    np.testing.assert_allclose(adjusted, holm, rtol=1e-12)
    assert found["pattern"].status == "harder for all" and found["pose"].status == "easier for all"
    shown = {form: render() for form, render in {"page": report.to_html, "text": report.to_markdown}.items()}
    for text in shown.values():
        assert "Error ratio" in text and "on images annotated with pattern" in text
        assert "not used for any selection" not in text and "Usual for" not in text


def test_the_ratio_of_all_rows_covers():
    """Its interval, of 20 to 200 rows with a factor among 1,000, at 95%. Planted fault seen: that of the plain lift."""
    rng = np.random.default_rng(5)
    for count in (20, 60, 200):
        is_with = np.arange(1000) < count
        chance = np.where(is_with, 0.4, 0.25)
        truth, hits = 0.4 / chance.mean(), 0
        for _ in range(400):
            ratio = lift_over_all(rng.random(1000) < chance, is_with)
            hits += ratio.low <= truth <= ratio.high
        assert 0.925 <= hits / 400 <= 0.99, (count, hits)
