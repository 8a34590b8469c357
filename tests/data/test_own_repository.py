"""Repositories of own data: what was known when they were written is known when they are read, also without oochub."""

from dataclasses import replace

import datasets
import pytest
from own_data import CHALLENGES, picture_folder

import oochub
from oochub.data.challenge import KINDS
from oochub.errors import OochubError
from oochub.loading_scripts.build_repository import build_parquet
from oochub.records.build_record import BuildRecord
from oochub.repository.write_repository import write_challenge_repository, write_user_repository
from oochub.settings.data_settings import DataSettings

COLUMNS = DataSettings(label="species", context="place")
USUAL = {"dog": ["beach", "grass"], "cat": ["sofa"]}


def record(data):
    return BuildRecord.of(next(iter(data.values())).info)


def test_it_loads_as_the_source_does(tmp_path):
    """Reference: the source itself. Planted fault seen: the record left out of the card."""
    folder = picture_folder(tmp_path / "mine")
    source = oochub.load(folder, label="species", context="place", usual=USUAL)
    out = write_user_repository(str(folder), tmp_path / "out", settings=replace(COLUMNS, usual=USUAL))
    again = oochub.load(out)
    assert record(again) == record(source) and again["train"].features == source["train"].features
    assert again["train"].remove_columns("image")[:] == source["train"].remove_columns("image")[:]
    plain = datasets.load_dataset(str(out))["train"].cast_column("image", datasets.Image(decode=False))
    assert [KINDS[code] for code in plain["challenge"][:]] == list(CHALLENGES)
    assert [row["image"]["bytes"] for row in plain] == [(folder / f"{k}.jpg").read_bytes() for k in range(8)]
    card = (out / "README.md").read_text()
    assert "| train | 8 | 5 | 1 | 2 | 0 |" in card and "| dog | beach, grass |" in card and str(tmp_path) not in card


def test_it_is_replaced_and_nothing_else_is(tmp_path):
    folder = picture_folder(tmp_path / "mine")
    out = write_user_repository(str(folder), tmp_path / "out", settings=COLUMNS)
    write_user_repository(str(folder), out, settings=DataSettings(label="place"))
    assert oochub.load(out)["train"].features["label"].names == ["beach", "grass", "sofa", "street"]
    with pytest.raises(OochubError, match="what stands there is not a Parquet repository that oochub wrote"):
        write_user_repository(str(out), folder)


@pytest.mark.slow
def test_a_built_benchmark_is_known_whatever_its_folder_is_called(spawrious, tmp_path):
    """Reference: the benchmark itself. Planted fault seen: known by the name of the folder alone."""
    build_parquet("spawrious/o2o_easy", tmp_path / "some", data_dir=str(spawrious))
    build_parquet("spawrious/o2o_hard", tmp_path / "some", data_dir=str(spawrious))
    for config in ("o2o_easy", "o2o_hard"):
        source = oochub.load(f"spawrious/{config}", data_dir=str(spawrious))
        again = oochub.load(tmp_path / "some", config=config)
        assert record(again) == record(source) and again.column_names == source.column_names


def test_a_challenge_set_is_own_data(spawrious, tmp_path):
    """Its sides are easy and hard rows, whatever benchmark it is of; its notes stay."""
    words = {"value": "background", "allowed": ["beach", "jungle"]}
    write_challenge_repository(
        "spawrious/o2o_hard", tmp_path / "set", "membership", words, settings=DataSettings(data_dir=str(spawrious))
    )
    data = oochub.load(tmp_path / "set")
    source = oochub.load("spawrious/o2o_hard", data_dir=str(spawrious))
    assert (record(data).benchmark, record(data).config) == ("custom", "spawrious-o2o_hard")
    assert record(data).notes == record(source).notes
    assert set(data["test"].column_names) == {*source["test"].column_names, "challenge"}


def test_criteria_find_the_named_columns(tmp_path):
    """`label` is there by the named column, and challenges by usual contexts give way to the criterion's."""
    folder = picture_folder(tmp_path / "mine")
    arguments = {"value": "context", "allowed": ["grass"], "label": "label"}
    made = write_challenge_repository(str(folder), tmp_path / "set", "membership", arguments, settings=COLUMNS)
    signs = {"dog": "hard_positive", "cat": "hard_negative"}
    expected = [
        "easy" if place == "grass" else signs[species]
        for species, place in zip(*(_names(made.dataset["train"], name) for name in ("label", "context")), strict=True)
    ]
    assert _names(made.dataset["train"], "challenge") == expected
    with pytest.raises(OochubError, match=r"name that column with context=.*what `oochub build` makes"):
        write_challenge_repository(str(folder), tmp_path / "other", "mismatch", {}, settings=COLUMNS)


def _names(part, column):
    return part.features[column].int2str(part[column][:])


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        ("oochub_builds: 3\n", "oochub_builds must contain a record for each config"),
        ("oochub_builds:\n  default: {benchmark: custom}\n", "the build record in .*config"),
        ("oochub_builds:\n  default: {benchmark: 1, config: a, version: b}\n", "the build record in .*benchmark"),
        ("oochub_builds: [\n", "Could not load|no YAML"),
    ],
)
def test_a_broken_record_is_named(stored, words, tmp_path):
    """In a card that somebody changed by hand."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rows.csv").write_text("label\na\n")
    (tmp_path / "mine" / "README.md").write_text(f"---\n{stored}---\n")
    with pytest.raises(OochubError, match=words):
        oochub.load(tmp_path / "mine")
