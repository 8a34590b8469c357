"""The chest X-rays of SubpopBench: rows by its own rules, tables and folders that are wrong, from raw folder to page.

Planted faults seen: sex and race exchanged in the attribute, the splits 1 and 2 exchanged, images of a patient counted
as independent.
"""

import shutil

import pandas as pd
import pytest
from datasets import load_dataset

import oochub
from oochub.builders.toy_worlds.toy_no_finding import toy_no_finding
from oochub.records.build_record import BuildRecord

_TABLES = {
    "chexpert_groups": "chexpert/subpop_bench_meta/metadata_no_finding.csv",
    "mimic_cxr_groups": "MIMIC-CXR-JPG/subpop_bench_meta/metadata_no_finding.csv",
}
# `attr_mapping` of SubpopBench 4d3dbbe: sex and race, of which White is 0, Black 1 and every other 2
_ATTRIBUTES = ["male, white", "female, white", "male, black", "female, black", "male, other", "female, other"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    return toy_no_finding(tmp_path_factory.mktemp("chests") / "world", size=120)


@pytest.fixture
def raw(world, tmp_path):
    return shutil.copytree(world, tmp_path / "raw")


@pytest.mark.parametrize("config", _TABLES)
def test_rows_are_those_of_the_table(world, config):
    table = pd.read_csv(world / _TABLES[config], index_col=0)
    data = load_dataset("no_finding", config, data_dir=str(world))
    for number, split in enumerate(("train", "validation", "test")):
        part, of = data[split], table[table.split == number]
        assert [f"/data/{_TABLES[config].partition('/')[0]}/{each}.jpg" for each in part["example_id"]] == list(
            of.filename
        )
        assert part["label"] == of.y.tolist()
        assert [part.features["label"].int2str(label) == "no_finding" for label in part["label"]] == (
            of.y == 1
        ).tolist()
        names = {name: part.features[name].int2str(part[name]) for name in ("attribute", "sex", "race", "group")}
        assert names["attribute"] == [_ATTRIBUTES[a] for a in of.a]
        assert [f"{sex}, {race}" for sex, race in zip(names["sex"], names["race"], strict=True)] == names["attribute"]
        assert part["patient"] == [f"patient {subject}" for subject in of.subject_id]
    trained = set(table.subject_id[table.split == 0])
    tested = table[table.split == 2]
    shared = sum(subject in trained for subject in tested.subject_id)
    note = f"{shared} of {len(tested)} test images are of patients who are in training too"
    assert note in BuildRecord.of(data["test"].info).notes


def test_the_folder_of_one_source_is_enough(world):
    whole = load_dataset("no_finding", "chexpert_groups", data_dir=str(world))["test"]
    alone = load_dataset("no_finding", "chexpert_groups", data_dir=str(world / "chexpert"))["test"]
    assert alone["example_id"] == whole["example_id"]


def _change(raw, column, value):
    file = raw / _TABLES["chexpert_groups"]
    table = pd.read_csv(file, index_col=0, dtype=str)
    table.iloc[0, table.columns.get_loc(column)] = value
    table.to_csv(file)


@pytest.mark.parametrize(
    ("column", "value", "said"),
    [
        ("filename", "/data/train/../study1/view1.jpg", "line 2: filename must end with"),
        ("filename", "/data/chexpert/train/patient00001/study9/view1_frontal.jpg", "are not in .*: line 2, .*study9"),
    ],
)
def test_tables_that_are_wrong(raw, column, value, said):
    _change(raw, column, value)
    with pytest.raises(oochub.OochubError, match=said):
        load_dataset("no_finding", "chexpert_groups", data_dir=str(raw))


def test_what_lacks_is_named_with_its_credentials(raw, tmp_path):
    """The error of a folder without the data says that nothing is downloaded, and the card who gives them."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(oochub.OochubError, match="not downloadable, SubpopBench's script writes it"):
        load_dataset("no_finding", "mimic_cxr_groups", data_dir=str(tmp_path / "empty"))
    shutil.rmtree(raw / "MIMIC-CXR-JPG/files")
    with pytest.raises(oochub.OochubError, match="it lacks MIMIC-CXR-JPG/files/"):
        load_dataset("no_finding", "mimic_cxr_groups", data_dir=str(raw))
    declared = oochub.get("benchmark", "no_finding")
    assert all("needed" in raw_file.license for raw_file in declared.raw_files)


def test_a_broken_image_is_refused(raw):
    file = next((raw / "chexpert/train").rglob("*.jpg"))
    file.write_bytes(b"no image")
    with pytest.raises(oochub.OochubError, match=file.name):
        load_dataset("no_finding", "chexpert_groups", data_dir=str(raw))


@pytest.mark.slow
def test_from_the_raw_folder_to_the_page(tmp_path):
    """A program that is right but for women: each group of them is as bad, and no patient counts twice."""
    raw = toy_no_finding(tmp_path / "raw", size=600)
    data = oochub.load("no_finding/chexpert_groups", data_dir=str(raw))["test"]
    predicted = [1 - label if sex else label for label, sex in zip(data["label"], data["sex"], strict=True)]
    answers = tmp_path / "answers.csv"
    pd.DataFrame({"example_id": data["example_id"], "split": "test", "prediction": predicted}).to_csv(
        answers, index=False
    )
    report = oochub.evaluate(answers, benchmark="no_finding/chexpert_groups", data_dir=str(raw), resamples=100)
    assert report["accuracy"].value == pytest.approx(1 - sum(data["sex"]) / len(data))
    assert report["out_of_context/accuracy"].value == 0
    assert "female" in report.worst_group["accuracy"].group
    assert f"{len(set(data['patient']))} clusters" in report["accuracy"].method
    page = report.to_html(tmp_path / "page.html")
    assert "in the worst group" in page and "patients who are in training too" in page
