"""Environments from found contexts: which row is in which, what is refused, what a recipe and a card say of it.

Expected environments are read off the lists `contexts` by a loop.
"""

import json
from collections import Counter
from dataclasses import replace

import datasets
import numpy as np
import pyarrow as pa
import pytest
from planted_pictures import planted_folder
from test_context_columns import pictures

import oochub
from oochub.context_finder import ContextWay, NamedContexts
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord, ContextCheck
from oochub.trainers.rows.context_environments import context_environments

BOTH = ("train", "validation")
QUICK = {"num_train_epochs": 1, "per_device_train_batch_size": 8}


class ByGray(ContextWay):
    """The contexts of an image stand in a table, by its gray."""

    def __init__(self, names, table):
        self.names, self.table = names, table

    def settings(self):
        return {}

    def measures(self, pictures):
        return pa.table({"gray": [int(np.asarray(picture.image)[0, 0, 0]) for picture in pictures]})

    def name(self, measures, *, label, classes, chosen_on):
        rows = [self.table[gray] for gray in measures.column("gray").to_pylist()]
        has = np.array([[name in row for name in self.names] for row in rows])
        return NamedContexts(names=self.names, words=self.names, has=has, settings={})


def found_in(table, *, names=("sea", "land"), train=(10, 20, 30, 40), validation=(10, 20), **options):
    data = datasets.DatasetDict(train=pictures(*train), validation=pictures(*validation), test=pictures(30, 40))
    broken = options.pop("broken", None)
    if broken:
        data[broken] = pictures(10, 20, broken=[1])
    return oochub.contexts(data, by=ByGray(names, table), cache=False, **options)


PLAIN = {10: ["sea"], 20: ["land"], 30: ["sea"], 40: []}


def named(part, column):
    feature = part.features[column]
    return [None if value is None else feature.int2str(value) for value in part[column][:]]


def test_a_context_that_rows_have_or_lack():
    found = found_in(PLAIN)
    made, column = context_environments(found, "contexts:sea", needed=BOTH)
    assert column == "contexts:sea" and made["train"].column_names == [*found["train"].column_names, column]
    assert named(made["train"], column) == ["sea", "without sea", "sea", "without sea"]
    assert named(made["test"], column) == ["sea", "without sea"]
    assert BuildRecord.of(made["train"].info) == BuildRecord.of(found["train"].info)


def test_the_one_context_of_each_row():
    made, column = context_environments(found_in(PLAIN), "contexts", needed=BOTH)
    assert named(made["train"], column) == ["sea", "land", "sea", "none of them"]
    assert made["train"].features["contexts"].feature.names == ["sea", "land"]  # the lists stay
    every = context_environments(found_in({**PLAIN, 40: ["land"]}), "contexts", needed=BOTH)
    assert every.data["train"].features[every.column].names == ["sea", "land"]


@pytest.mark.parametrize("asked", ["label/contexts:sea", "label/contexts"])
def test_groups_are_class_by_context(asked):
    found = found_in(PLAIN)
    made, column = context_environments(found, asked, needed=BOTH)
    assert column == asked
    for part in made.values():
        lists = [[part.features["contexts"].feature.int2str(each) for each in row] for row in part["contexts"]]
        if asked == "label/contexts":
            expected = [row[0] if row else "none of them" for row in lists]
        else:
            expected = ["sea" if "sea" in row else "without sea" for row in lists]
        labels = [part.features["label"].int2str(each) for each in part["label"]]
        assert named(part, column) == [f"{label}/{name}" for label, name in zip(labels, expected, strict=True)]
    assert len(set(named(made["train"], column))) == (3 if asked == "label/contexts" else 2)


def test_train_has_environments_where_half_of_the_others_was_chosen_on():
    found = found_in(PLAIN, choose_on="half", validation=tuple([10, 20] * 8))
    assert found["train"]["chosen_on"][:] == [None] * 4
    made, column = context_environments(found, "contexts:sea", needed=BOTH)
    assert named(made["train"], column) == ["sea", "without sea", "sea", "without sea"]


def test_a_row_without_known_contexts():
    """It matters where training needs it, and nowhere else."""
    made, column = context_environments(found_in(PLAIN, broken="more", skip_broken=True), "contexts", needed=BOTH)
    assert named(made["more"], column) == ["sea", None]
    broken = found_in(PLAIN, broken="validation", skip_broken=True)
    with pytest.raises(OochubError, match=r"1 of the 2 rows of validation have no contexts, r1 first.*Mend or drop"):
        context_environments(broken, "contexts:sea", needed=BOTH)


ALL_SEA = {gray: ["sea"] for gray in PLAIN}
BOTH_AT_ONCE = {**PLAIN, 30: ["sea", "land"]}


@pytest.mark.parametrize(
    ("table", "asked", "message"),
    [
        (PLAIN, "contexts:see", r"No context that was found named 'see'\. Did you mean 'sea'"),
        (BOTH_AT_ONCE, "contexts", r"1 of the 4 rows of train have several contexts, such as sea, land.*contexts:sea"),
        (BOTH_AT_ONCE, "label/contexts", r"Choose one, label/contexts:sea or label/contexts:land, or find"),
        (ALL_SEA, "contexts:sea", r"every row of train is 'sea'.* No found context"),
        ({**PLAIN, 20: []}, "contexts:land", r"every row of train is 'without land'.* and others lack: sea\."),
        (ALL_SEA, "contexts", r"The contexts cannot serve as environments: every row of train"),
        (ALL_SEA, "label/contexts", r"The contexts cannot serve as environments"),
    ],
)
def test_what_makes_no_environments_is_refused(table, asked, message):
    with pytest.raises(OochubError, match=message):
        context_environments(found_in(table), asked, needed=BOTH)


def test_groups_need_classes():
    found = found_in(PLAIN)
    numbers = datasets.DatasetDict(
        {split: part.cast_column("label", datasets.Value("int64")) for split, part in found.items()}
    )
    with pytest.raises(OochubError, match=r"no column label with one class per row\. Use 'contexts:sea'"):
        context_environments(numbers, "label/contexts:sea", needed=BOTH)


def test_data_in_which_nothing_was_found():
    plain = datasets.DatasetDict(train=pictures(10, 20), validation=pictures(10))
    with pytest.raises(OochubError, match=r"Mine has no found contexts to make .*`oochub contexts SOURCE"):
        context_environments(plain, "contexts:sea", needed=BOTH, source="Mine")
    for name in (None, "place", "label"):
        assert context_environments(plain, name, needed=BOTH) == (plain, name)
    own = plain["train"].add_column("contexts", ["sea", "land"])  # a column of the user's, of that name
    assert context_environments({"train": own}, "contexts", needed=["train"]) == ({"train": own}, "contexts")


@pytest.fixture(scope="module")
def repository(tmp_path_factory):
    """Squares on red or blue, with contexts by their properties; half of train is validation."""
    folder = planted_folder(tmp_path_factory.mktemp("planted") / "pictures", train=20, test=10)
    (folder / "test").rename(folder / "validation")
    target = tmp_path_factory.mktemp("found") / "found"
    return oochub.contexts(folder, by="properties", label="tone", out=target), target


@pytest.mark.slow
@pytest.mark.parametrize(
    ("objective", "asked", "more"),
    [
        ("group_dro", "label/contexts:red", {}),
        ("reweight_environments", "contexts:red", {}),
        ("subsample_groups", "contexts:red", {}),
        ("erm", "contexts:red", {"sampler": "environment_balanced"}),
        ("erm", "contexts:red", {"sampler": "group_balanced"}),
    ],
)
def test_objectives_and_samplers_run_on_them(tmp_path, repository, objective, asked, more):
    """The environments of the recipe are those that a loop counts; the card says who found them."""
    found, folder = repository
    oochub.train(str(folder), tmp_path, objective=objective, environments=asked, image_size=16, arguments=QUICK | more)
    data = json.loads((tmp_path / "recipe.json").read_text("utf-8"))["data"]
    train = found["train"]
    red = train.features["contexts"].feature.names.index("red")
    names = ["red" if red in row else "without red" for row in train["contexts"]]
    if asked.startswith("label/"):
        labels = train.features["label"].int2str(train["label"][:])
        names = [f"{label}/{name}" for label, name in zip(labels, names, strict=True)]
    assert {name: rows for name, rows in data["environments"].items() if rows} == dict(Counter(names))
    assert data["environment_column"] == asked
    assert data["found_environments"] == {"way": "properties", "model": None, "checked": {}}
    card = (tmp_path / "README.md").read_text("utf-8")
    assert "contexts that a program found, by properties; people have not checked them." in card


@pytest.mark.slow
def test_a_card_says_what_people_found_wrong(tmp_path, repository):
    found = datasets.DatasetDict({split: part.select(range(len(part))) for split, part in repository[0].items()})
    record = BuildRecord.of(found["train"].info)
    check = ContextCheck(wrong_with=1, checked_with=8, wrong_without=2, checked_without=9)
    facts = replace(record.facts.found_contexts, checks={"red": check, "dark": check})
    record = replace(record, facts=replace(record.facts, found_contexts=facts))
    found["train"].info.description = record.describe("Squares.")
    found.save_to_disk(tmp_path / "data")
    oochub.train(str(tmp_path / "data"), tmp_path / "run", environments="contexts:red", image_size=16, arguments=QUICK)
    card = (tmp_path / "run" / "README.md").read_text("utf-8")
    assert "by properties; people checked them: for red, 1 of 8 rows said to have it and 2 of 9 rows said to" in card
    assert "for dark" not in card


@pytest.mark.slow
def test_of_other_environments_the_recipe_says_nothing(tmp_path, repository):
    _, folder = repository
    oochub.train(str(folder), tmp_path, environments="ground", image_size=16, arguments=QUICK)
    assert json.loads((tmp_path / "recipe.json").read_text("utf-8"))["data"]["found_environments"] is None
    assert "a program found" not in (tmp_path / "README.md").read_text("utf-8")
