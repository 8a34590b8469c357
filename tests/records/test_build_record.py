"""The build record: its line of JSON of before opens, unknown facts survive, broken ones are named."""

import json

import pytest
from datasets import Dataset, DatasetInfo, Features, Value

import oochub
from oochub.records.build_record import BuildFacts, BuildRecord, drop_build_column
from oochub.records.schema import from_json
from oochub.repository.write_repository import write_user_repository

# As `describe` of the commit before BuildFacts wrote it, of a task of NOOCH and of Spawrious.
_NOOCH = (
    "COCO images in which an object stands without its usual context.\nPartial: 120 of 123,287 images.\n"
    'Build record: {"benchmark": "nooch", "config": "ce_car", "facts": {"beta": 0.1, "contexts": ["road", "pavement"], '
    '"contexts_from": "computed", "object": "car", "rows": {"test": 20, "train": 90, "validation": 10}}, "notes": '
    '["partial: 120 of 123,287 images"], "version": "1.0.0"}'
)
_SPAWRIOUS = (
    'Dogs.\nBuild record: {"benchmark": "spawrious", "config": "o2o_hard", "facts": {"n": 100, "rows": {"test": 8}, '
    '"trained_groups": ["bulldog/beach"], "variant": "paper"}, "notes": [], "version": "1.0.0"}'
)


def test_a_record_of_before_opens():
    record = BuildRecord.of(DatasetInfo(_NOOCH))
    assert (record.facts.object, record.facts.contexts, record.facts.beta) == ("car", ("road", "pavement"), 0.1)
    assert record.facts.rows == {"test": 20, "train": 90, "validation": 10}
    assert record.facts.other == {"contexts_from": "computed"} and record.facts.trained_groups is None
    assert BuildRecord.of(DatasetInfo(_SPAWRIOUS)).facts.trained_groups == ("bulldog/beach",)


@pytest.mark.parametrize("text", [_NOOCH, _SPAWRIOUS])
def test_it_is_written_as_it_was(text):
    """Planted fault seen: facts nested below `other`."""
    summary = text.partition("\n")[0]
    assert BuildRecord.of(DatasetInfo(text)).describe(summary) == text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"contexts": "road"}, "contexts must be a list, each text, got 'road'"),
        ({"rows": {"test": "20"}}, "rows.test must be a whole number, got '20'"),
        ({"trained_groups": [1]}, r"trained_groups\[0\] must be text, got 1"),
    ],
)
def test_a_fact_of_the_wrong_type_is_named(facts, words):
    with pytest.raises(oochub.OochubError, match=words):
        from_json(BuildFacts, facts, what="facts")


def test_a_record_without_a_field_names_it():
    line = json.dumps({"config": "ce_car", "version": "1", "notes": [], "facts": {}})
    with pytest.raises(oochub.OochubError, match="the field benchmark is missing"):
        BuildRecord.of(DatasetInfo(f"Somebody's.\nBuild record: {line}"))


_RECORD = BuildRecord(
    benchmark="nooch", config="ce_car", version="1.2.0", notes=("partial",), facts=BuildFacts(beta=0.1)
)


def _rows(texts, feature=None):
    features = Features({"label": Value("int64"), "build": feature or Value("string")})
    return Dataset.from_dict({"label": list(range(len(texts))), "build": texts}, features=features)


def test_rows_of_another_build_are_refused():
    """Planted fault seen: the rows not compared with the features."""
    other = json.dumps(json.loads(_RECORD.text) | {"config": "ce_dog"})
    with pytest.raises(oochub.OochubError, match=r"do not belong to the build that their features name.*ce_dog"):
        drop_build_column(_rows([_RECORD.text, other], _RECORD.feature))


def test_features_that_lost_the_facts_leave_what_the_rows_say():
    """And a note that says so. Planted fault seen: the note left out."""
    bare = drop_build_column(_rows([_RECORD.text] * 2))
    found = BuildRecord.of(bare.info)
    assert bare.column_names == ["label"] and (found.config, found.version) == ("ce_car", "1.2.0")
    assert found.facts == BuildFacts() and found.notes[0] == "partial" and "build.json" in found.notes[1]


@pytest.mark.parametrize("texts", [["v1", "v2"], ["v1", "v1"], ['{"benchmark": 1}'] * 2])
def test_a_column_of_somebody_else_stays(texts, tmp_path):
    """And is no column that a repository overwrites. Planted fault seen: the name not looked for."""
    rows = _rows(texts)
    assert drop_build_column(rows) is rows
    rows.to_parquet(tmp_path / "mine.parquet")
    with pytest.raises(oochub.OochubError, match=r"have their own column 'build'.*Rename yours"):
        write_user_repository(str(tmp_path / "mine.parquet"), tmp_path / "out")
    assert not list(tmp_path.glob("out/*"))
