"""Columns that are guessed: folders and tables worked by hand with one candidate, two, none, ids, a constant."""

import csv
import warnings

import pytest
from datasets import ClassLabel, Dataset, DatasetDict
from PIL import Image

import oochub
from oochub.cli import main
from oochub.errors import OochubError, OochubWarning
from oochub.records.build_record import BuildRecord

BREED = ["cow", "cow", "cow", "camel", "camel", "camel"]
GROUND = ["grass", "grass", "sand", "sand", "sand", "grass"]  # both with both
IDS = [f"animal {k}" for k in range(6)]
CONSTANT = ["farm"] * 6


def table(folder, **columns):
    """A CSV file of these columns."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return folder / "rows.csv"


def images(folder, **columns):
    """A folder of images with a metadata.csv of these columns."""
    folder.mkdir(parents=True)
    names = [f"{k}.png" for k in range(len(next(iter(columns.values()))))]
    for k, name in enumerate(names):
        Image.new("RGB", (8, 8), (40 * k, 90, 200 - 30 * k)).save(folder / name)
    table(folder, file_name=names, **columns).rename(folder / "metadata.csv")
    return folder


def classes(part, column):
    return [part.features[column].int2str(value) for value in part[column][:]]


def notes(data):
    return BuildRecord.of(next(iter(data.values())).info).notes


@pytest.mark.parametrize("form", [table, images])
def test_one_candidate_is_the_label(tmp_path, form):
    """Beside ids and a constant; its own column stays. Planted faults seen: ids counted; the column taken away."""
    with pytest.warns(OochubWarning, match="Using column 'breed' as the label, because"):
        data = oochub.load(form(tmp_path / "one", breed=BREED, name=IDS, farm=CONSTANT))
    part = data["train"]
    assert classes(part, "label") == BREED == part["breed"][:]
    assert "context" not in part.features and "challenge" not in part.features
    assert notes(data) == ("the label is the column 'breed', guessed as the only one that can hold it",)


@pytest.mark.parametrize("form", [table, images])
def test_one_candidate_is_the_context(tmp_path, form):
    """The rows are those of the named column, besides the column itself. Planted fault: the note left out."""
    folder = form(tmp_path / "one", breed=BREED, ground=GROUND, name=IDS, farm=CONSTANT)
    with pytest.warns(OochubWarning, match="Using column 'ground' as the context, because"):
        data = oochub.load(folder, label="breed")
    named = oochub.load(folder, label="breed", context="ground")
    assert (
        data["train"].remove_columns(["ground", "image"][: 1 + (form is images)]).to_dict()
        == named["train"].remove_columns(["image"] if form is images else []).to_dict()
    )
    assert data["train"]["ground"][:] == GROUND == classes(data["train"], "context")
    assert set(notes(data)) - set(notes(named)) == {
        "the context is the column 'ground', guessed as the only one that can hold it"
    }


def test_two_candidates_are_not_guessed(tmp_path):
    """Nothing is taken, nothing is said, and the error of an audit names both. Planted fault: the first is taken."""
    two = table(tmp_path / "two", breed=BREED, ground=GROUND, name=IDS)
    weather = ["sun", "rain", "sun", "rain", "sun", "rain"]
    three = table(tmp_path / "three", label=BREED, ground=GROUND, weather=weather)
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        assert not {"label", "context"} & set(oochub.load(two)["train"].features)
        assert "context" not in oochub.load(three)["train"].features
    with pytest.raises(
        OochubError, match=r"may hold the label or the context: breed and ground\. Pass them with label"
    ):
        oochub.audit(tmp_path, two)
    with pytest.raises(OochubError, match=r"It may be ground or weather: pass it with context="):
        oochub.audit(tmp_path, three)


@pytest.mark.parametrize(
    "columns",
    [
        {"name": IDS},
        {"farm": CONSTANT},
        {"farm": ["zoo", *["farm"] * 29]},  # 97% are one
        {"weight": [1.5, 2.5, 1.5, 2.5, 1.5, 2.5]},
        {"hint": ["a", "a", "", "b", "b", "b"]},
        {"text": ["good", "bad", "good", "bad", "good", "bad"]},
        {"split": ["a", "b", "a", "b", "a", "b"]},
    ],
)
def test_no_candidate_is_no_label(tmp_path, columns):
    """Ids, constants and nearly so, numbers, missing values, texts to be read, splits: nothing is taken or said."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        assert "label" not in oochub.load(table(tmp_path / "none", **columns))["train"].features


@pytest.mark.parametrize("column", [["bos"] * 3 + ["camelus"] * 3, ["jersey", "jersey", "angus"] + ["arabian"] * 3])
def test_what_follows_from_the_class_is_no_context(tmp_path, column):
    """A genus is known from the class, a breed tells it: neither has a row out of context. Planted: both taken."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        data = oochub.load(table(tmp_path / "kin", label=BREED, kin=column))
    assert "context" not in data["train"].features


@pytest.mark.parametrize("column", ["group", "challenge", "context"])
def test_data_that_say_it_are_left_alone(tmp_path, column):
    values = ["easy", "hard", "easy", "hard", "easy", "hard"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        data = oochub.load(table(tmp_path / "said", label=BREED, ground=GROUND, **{column: values}))
    assert not any("guessed" in note for note in notes(data))


def test_truth_of_another_kind_is_left_alone(tmp_path):
    """Several labels a row, a column of names beside them. Planted fault seen: a second truth."""
    rows = Dataset.from_dict({"labels": [[1.0, 0.0]] * 6, "breed": BREED})
    DatasetDict(train=rows).save_to_disk(tmp_path / "many")
    assert "label" not in oochub.load(tmp_path / "many")["train"].features


def test_a_candidate_is_looked_at_in_all_splits(tmp_path):
    """A column of classes with other names in another split, and one that is elsewhere an id, are no candidates."""
    train, test = (Dataset.from_dict({"breed": BREED, "name": column}) for column in (GROUND, IDS))
    test = test.cast_column("breed", ClassLabel(names=["cow", "camel"]))
    DatasetDict(train=train, test=test).save_to_disk(tmp_path / "both")
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        assert "label" not in oochub.load(tmp_path / "both")["train"].features


def test_contexts_guesses_the_label_and_says_so_in_one_line(tmp_path, monkeypatch):
    """A warning, which the command line says on standard error; a context is not guessed, for one is to be found."""
    folder = images(tmp_path / "mine", breed=BREED * 3, name=[f"animal {k}" for k in range(18)])
    words = ["oochub", "contexts", str(folder), "--contexts", "properties", "--out", str(tmp_path / "found")]
    monkeypatch.setattr("sys.argv", words)
    with pytest.raises(SystemExit) as stopped, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", OochubWarning)
        main()
    assert not stopped.value.code
    line = "Using column 'breed' as the label, because it is the only candidate. Pass --label-column to choose another."
    assert [str(each.message) for each in said if "Using column" in str(each.message)] == [line]
    found = oochub.load(tmp_path / "found")["train"]
    assert classes(found, "label") == BREED * 3 and "context" not in found.features
