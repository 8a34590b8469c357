"""The SpuriVerse builder: rows by hand, the rows that the authors' code draws, odd tables, wrong folders; the toy."""

import csv
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from PIL import Image

import oochub
from oochub.builders.toy_worlds.toy_spuriverse import toy_spuriverse
from oochub.records.build_record import BuildRecord

IMAGES = {
    "aokvqa": ("aokvqa_train_meta.csv", "aokvqa/datasets/coco/train2017", "{:0>12}.jpg"),
    "seedbench_img": ("seedbench_meta.csv", "LMUData/images/SEEDBench_IMG", "{}.jpg"),
    "seedbench2": ("seedbench_2_meta.csv", "LMUData/images/SEEDBench2", "{}.jpg"),
    "naturalbench": ("naturalbench_meta.csv", "LMUData/images/NaturalBenchDataset", "{}.jpg"),
}
COLUMNS = ["index", "question", "answer", "A", "B", "C", "D", "spuriousAttr"]


@pytest.fixture(scope="module")
def toy(tmp_path_factory) -> Path:
    return toy_spuriverse(tmp_path_factory.mktemp("raw") / "spuriverse", size=1)


@pytest.fixture
def raw(toy, tmp_path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(toy, tmp_path / "spuriverse")


def load(root, **options):
    return oochub.load("spuriverse", data_dir=str(root), options=options)["test"]


def by_hand(root: Path) -> Path:
    """One anchor, of A-OKVQA with two of its drawn images, and no rows without the cue."""
    rows = [
        ["42", 'What is "on", the wave?', "C", "a dog", "", "a man", "", "Yes, the wave.\nIt is water."],
        ["42", "Another question?", "A", "x", "y", "", "", ""],
        ["7", "Is it?", "A", "Yes", "No", "", "", ""],
    ]
    (root / "meta").mkdir(parents=True)
    for source, (file, images, name) in IMAGES.items():
        table = pd.DataFrame(rows if source == "aokvqa" else rows[2:], columns=COLUMNS)
        table.assign(isError=True).to_csv(root / "meta" / file, index=False)
        (root / images).mkdir(parents=True)
        for each in ("42", "7"):
            Image.new("RGB", (4, 4), (int(each), 0, 0)).save(root / images / name.format(each))
    place = root / "output" / "group_generation_prod" / "aokvqa" / "42"
    place.mkdir(parents=True)
    for k in (1, 3):
        Image.new("RGB", (4, 4), (0, k, 0)).save(place / f"42_{k}.png")
    (root / "output" / "eval_human_accepted").mkdir()
    (root / "output/eval_human_accepted/reference_anchor_set.csv").write_text("sample_ids,benchmark\n42,aokvqa\n")
    return root


def test_rows_by_hand(tmp_path):
    """Planted faults seen: the last question on an image; an empty option that is left out, so that letters move."""
    part = load(by_hand(tmp_path / "raw"), non_spurious=False)
    assert part["example_id"][:] == [f"aokvqa/42/{each}" for each in ("anchor", "spurious_group_1", "spurious_group_3")]
    assert part["question"][:] == ['What is "on", the wave?'] * 3 and part["label"][:] == [2] * 3
    assert part["options"][:] == [["a dog", "nan", "a man"]] * 3
    assert {part.features["part"].int2str(each) for each in part["part"]} == {"anchor", "spurious_group"}
    assert part["correlation"][:] == ["aokvqa/42"] * 3 and "It is water" in part["spurious_attribute"][0]
    assert part.features["group"].int2str(part["group"][:]) == ["aokvqa/spurious"] * 3
    notes = BuildRecord.of(part.info).notes
    assert "partial: 1 of 124 anchors, 2 of 1,240 images drawn with a cue" in notes
    assert any("3 options are empty" in note for note in notes) and any("nothing to compare" in note for note in notes)
    with pytest.raises(oochub.OochubError, match=r"strict=True, but .* is not the release"):
        load(tmp_path / "raw", non_spurious=False, strict=True)
    with pytest.raises(oochub.OochubError, match=r"aokvqa_train_meta.csv has 3 rows, but 10 are drawn for 1 anchors"):
        load(tmp_path / "raw")


def test_rows_without_the_cue_are_those_that_the_authors_draw(toy):
    """reference: `DataFrame.sample` of their tables with their seed, ten for each anchor of the source."""
    part = load(toy)
    cues, parts = (part.features[name].int2str(part[name][:]) for name in ("cue", "part"))
    assert [cues.count(each) for each in ("spurious", "non_spurious")] == [44, 40]
    assert [parts.count(each) for each in ("anchor", "spurious_group", "non_spurious")] == [4, 40, 40]
    found = [each for each, cue in zip(part["example_id"], cues, strict=True) if cue == "non_spurious"]
    expected = []
    for source in ("naturalbench", "aokvqa", "seedbench_img", "seedbench2"):
        table = pd.read_csv(toy / "meta" / IMAGES[source][0])
        drawn = table.sample(n=10, random_state=42 * 2 + 1)["index"]
        expected += [f"{source}/{each}/non_spurious" for each in drawn]
    assert found == expected


def test_labels_are_the_letters_of_the_tables(toy):
    part = load(toy)
    for row in part.remove_columns("image"):
        source, example, _ = row["example_id"].split("/")
        with (toy / "meta" / IMAGES[source][0]).open() as file:
            said = next(each for each in csv.DictReader(file) if each["index"] == example)
        assert row["options"][row["label"]] == said[said["answer"]] and row["question"] == said["question"]
        assert row["options"] == [said[letter] for letter in "ABCD" if said[letter]]


def test_a_report_says_the_gap_and_keeps_the_rows_of_an_anchor_together(toy, tmp_path):
    """A model that goes by the cue; every number by a loop."""
    part = load(toy)
    spurious = np.array(part.features["cue"].int2str(part["cue"][:])) == "spurious"
    label, rng = np.array(part["label"]), np.random.default_rng(0)
    answer = np.where(spurious & (rng.random(len(part)) < 0.8), 1 - np.minimum(label, 1), label)
    answer[::9] = -1
    pd.DataFrame({"example_id": part["example_id"], "prediction": answer}).to_csv(tmp_path / "a.csv", index=False)
    report = oochub.evaluate(str(tmp_path / "a.csv"), benchmark="spuriverse", data_dir=str(toy))
    right = label == answer
    assert report["in_context/accuracy"] == pytest.approx(right[~spurious].mean())
    assert report["out_of_context/accuracy"] == pytest.approx(right[spurious].mean())
    assert report["gap"] == pytest.approx(right[spurious].mean() - right[~spurious].mean())
    assert report.slice("out_of_context").none_of_them == (answer[spurious] < 0).sum()
    assert report.benchmark.chance == pytest.approx(np.mean([1 / len(each) for each in part["options"]]))
    assert "only 4 clusters" in report["out_of_context/accuracy"].reason
    assert {row.group for row in report.group_rows} == {
        f"{source}/{cue}" for source in IMAGES for cue in ("spurious", "non_spurious")
    }


@pytest.mark.slow
def test_found_contexts_are_not_tested_on_letters(toy, tmp_path):
    """Fault seen: the letter of an option was taken for a class, and a class without rows stopped the report."""
    found = oochub.contexts(load(toy), by="properties")
    part = found["test"] if isinstance(found, dict) else found
    pd.DataFrame({"example_id": part["example_id"], "prediction": part["label"]}).to_csv(
        tmp_path / "a.csv", index=False
    )
    report = oochub.evaluate(str(tmp_path / "a.csv"), benchmark=found)
    assert report.contexts is None and any("are not tested" in note for note in report.notes)
    assert report["accuracy"] == 1 and report["gap"] == 0


@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("output/eval_human_accepted/reference_anchor_set.csv", "100000", "5", r"line 2: '5' is not in .*aokvqa"),
        (
            "output/eval_human_accepted/reference_anchor_set.csv",
            "200000,seedbench_img",
            "100000,aokvqa",
            "anchor must be unique",
        ),
    ],
)
def test_a_malformed_table_is_refused(raw, file, old, new, words):
    text = (raw / file).read_text("utf-8")
    assert old in text
    (raw / file).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(oochub.OochubError, match=words):
        load(raw)


def test_images_that_are_missing_are_named(raw):
    shutil.rmtree(raw / "LMUData" / "images" / "SEEDBench2")
    with pytest.raises(oochub.OochubError, match=r"11 of 84 images are not in .*non_spurious=False does without"):
        load(raw)
    shutil.rmtree(raw / "output" / "group_generation_prod" / "aokvqa" / "100000")
    with pytest.raises(oochub.OochubError, match=r"no image 100000_1.png to 100000_10.png"):
        load(raw)
