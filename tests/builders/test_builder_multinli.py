"""The MultiNLI builder: rows against pandas and group_DRO's rule, tables and files that do not belong together, a page.

Planted faults seen: the words of negation without "no", numbers of lines that start anew in each file.
"""

import json
import string

import numpy as np
import pandas as pd
import pytest
from datasets import load_dataset

import oochub
from oochub.builders.toy_worlds.toy_multinli import toy_multinli
from oochub.records.build_record import BuildRecord

_FILES = ("train", "dev_matched", "dev_mismatched")
_LABELS = ["contradiction", "entailment", "neutral"]


@pytest.fixture
def raw(tmp_path):
    return toy_multinli(tmp_path / "raw", size=60)


def _edit(file, old, new):
    text = file.read_text("utf-8")
    assert old in text
    file.write_text(text.replace(old, new, 1), "utf-8")


def test_rows_are_the_pairs_that_the_table_numbers(raw):
    """By pandas, as group_DRO and SubpopBench read it: the index of the table is that of the files put together."""
    files = [pd.read_json(raw / f"multinli_1.0/multinli_1.0_{part}.jsonl", lines=True) for part in _FILES]
    pairs = pd.concat(files, ignore_index=True)
    table = pd.read_csv(raw / "metadata_random.csv", index_col=0)
    assert set(pairs.index) - set(table.index) == set(pairs.index[pairs.gold_label == "-"]) != set()
    data = load_dataset("multinli", data_dir=str(raw))
    for number, split in enumerate(("train", "validation", "test")):
        part, of = data[split], table[table.split == number]
        assert part["example_id"] == of.index.astype(str).tolist()
        assert part["label"] == of.gold_label.tolist() and part["negation"] == of.sentence2_has_negation.tolist()
        assert part["premise"] == pairs.sentence1[of.index].tolist()
        assert part["hypothesis"] == pairs.sentence2[of.index].tolist()
        assert part["text"] == [f"{a} [SEP] {b}" for a, b in zip(part["premise"], part["hypothesis"], strict=True)]
        for row in part:
            words = row["hypothesis"].translate(str.maketrans("", "", string.punctuation)).lower().split(" ")
            assert row["negation"] == any(word in words for word in ("nobody", "no", "never", "nothing"))
            names = [part.features[name].int2str(row[name]) for name in ("label", "negation", "group")]
            assert f"{names[0]}/{names[1]}" == names[2]


def test_another_separator(raw):
    row = load_dataset("multinli", data_dir=str(raw), separator=" | ")["train"][0]
    assert row["text"] == f"{row['premise']} | {row['hypothesis']}"


def test_as_many_pairs_as_are_labelled(raw):
    notes = BuildRecord.of(load_dataset("multinli", data_dir=str(raw))["test"].info).notes
    assert "of 412,349 labelled pairs" in notes[-1]
    with pytest.raises(oochub.OochubError, match=r"strict=True, but .*metadata_random.csv is not the release: partial"):
        load_dataset("multinli", data_dir=str(raw), strict=True)


def _first_row(raw):
    return (raw / "metadata_random.csv").read_text().splitlines()[1].split(",")


def test_a_table_of_other_files_is_refused(raw):
    """The other negation, the other label, files in another order."""
    row = _first_row(raw)
    other = [row[0], row[1], str(1 - int(row[2])), row[3]]
    table = raw / "metadata_random.csv"
    whole = table.read_text()
    _edit(table, f"\n{','.join(row)}\n", f"\n{','.join(other)}\n")
    with pytest.raises(
        oochub.OochubError, match=r"line 2: it says .*, but the pair of that number is .* do not belong"
    ):
        load_dataset("multinli", data_dir=str(raw))
    table.write_text(whole)
    first, second = (raw / f"multinli_1.0/multinli_1.0_{part}.jsonl" for part in _FILES[:2])
    one, two = first.read_text(), second.read_text()
    first.write_text(two), second.write_text(one)
    with pytest.raises(oochub.OochubError, match="do not belong together"):
        load_dataset("multinli", data_dir=str(raw))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "multinli_1.0_train.jsonl is not UTF-8 JSON"),
        (json.dumps({"gold_label": "neutral", "sentence1": "a"}), "train.jsonl, line 1: the field pairID is missing"),
    ],
)
def test_files_that_are_wrong(raw, line, said):
    file = raw / "multinli_1.0/multinli_1.0_train.jsonl"
    lines = file.read_text().splitlines(True)
    file.write_text("".join([f"{line}\n", *lines[1:]]))
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("multinli", data_dir=str(raw))


@pytest.mark.slow
def test_from_the_raw_folder_to_the_page(tmp_path):
    """A program that takes every word of negation for a contradiction does worst on pairs where it is none."""
    raw = toy_multinli(tmp_path / "raw", size=600)
    data = oochub.load("multinli", data_dir=str(raw))["test"]
    label, negated = np.array(data["label"]), np.array(data["negation"])
    predicted = np.where(negated == 1, 0, label)
    answers = tmp_path / "answers.csv"
    pd.DataFrame({"example_id": data["example_id"], "split": "test", "prediction": predicted}).to_csv(
        answers, index=False
    )
    report = oochub.evaluate(answers, benchmark="multinli", data_dir=str(raw), resamples=100)
    assert isinstance(report, oochub.Report)
    wrong = (predicted != label).mean()
    assert report["error_rate"].value == pytest.approx(wrong)
    assert report["out_of_context/accuracy"].value == 0
    assert report.worst_group["accuracy"].group in [f"{name}/negation" for name in _LABELS[1:]]
    assert "in the worst group" in report.to_html(tmp_path / "page.html")
