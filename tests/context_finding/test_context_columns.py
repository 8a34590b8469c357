"""Contexts added to data: which rows are chosen on, what is kept in the cache, what a repository says of them."""

import datasets
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import oochub
from oochub.context_finder import ContextWay, NamedContexts
from oochub.context_finding.context_columns import make_way
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord


class Bright(ContextWay):
    """Bright images: brighter than the mean of the rows that may be looked at. It counts what it measures."""

    def __init__(self, times=1):
        self.measured, self.times = 0, times

    def settings(self):
        return {"times": self.times}

    def measures(self, pictures):
        self.measured += len(pictures)
        return pa.table({"gray": [self.times * float(np.asarray(picture.image).mean()) for picture in pictures]})

    def name(self, measures, *, label, classes, chosen_on):
        gray = measures.column("gray").to_numpy()
        at = gray[chosen_on].mean()
        return NamedContexts(
            names=("bright",),
            words=(f"gray above {at:.1f}",),
            has=(gray > at)[:, None],
            settings={"at": at},
            columns={"gray": (datasets.Value("float64"), pa.array(gray))},
        )


def pictures(*gray, broken=()):
    """A data set of one split; the images of the rows `broken` are cut off."""
    rows = []
    for number, value in enumerate(gray):
        picture = Image.new("RGB", (4, 4), (value,) * 3 if value < 256 else (value % 256, value // 256, 0))
        stored = datasets.Image().encode_example(picture)
        content = stored["bytes"][:20] if number in broken else stored["bytes"]
        rows.append({"example_id": f"r{number}", "image": {"bytes": content, "path": None}, "label": number % 2})
    features = datasets.Features(
        {"example_id": datasets.Value("string"), "image": datasets.Image(), "label": datasets.ClassLabel(2)}
    )
    table = {name: [row[name] for row in rows] for name in features}
    raw = datasets.Features({**features, "image": datasets.Image(decode=False)})
    return datasets.Dataset.from_dict(table, raw).cast(features)


def test_half_of_the_rows_is_chosen_on_and_the_same_half_again():
    data = datasets.DatasetDict(test=pictures(*range(0, 200, 2)))
    found = oochub.contexts(data, by=Bright())["test"]
    chosen = np.array(found["chosen_on"][:])
    assert 35 <= chosen.sum() <= 65
    gray = np.arange(0, 200, 2)
    record = BuildRecord.of(found.info).facts.found_contexts
    assert record.settings["at"] == pytest.approx(gray[chosen].mean())
    assert record.chosen_rows == chosen.sum()
    assert found["contexts"][:] == [[0] if value > gray[chosen].mean() else [] for value in gray]
    again = oochub.contexts(data["test"].shuffle(seed=1), by=Bright())["train"]
    assert dict(zip(again["example_id"], again["chosen_on"], strict=True)) == dict(
        zip(found["example_id"], found["chosen_on"], strict=True)
    )
    other = oochub.contexts(data, by=Bright(), seed=1)["test"]
    assert other["chosen_on"][:] != found["chosen_on"][:]


def test_a_training_split_is_what_is_chosen_on():
    data = datasets.DatasetDict(train=pictures(0, 100), test=pictures(60, 255, 40))
    found = oochub.contexts(data, by=Bright())
    assert found["train"]["chosen_on"][:] == [True, True] and found["test"]["chosen_on"][:] == [False] * 3
    assert found["test"]["contexts"][:] == [[0], [0], []]
    assert BuildRecord.of(found["test"].info).facts.found_contexts.settings["at"] == 50


def test_half_of_the_other_splits_is_chosen_on_where_train_is_left_out():
    """Planted faults seen: train among the rows to choose on; train among those to test on."""
    data = datasets.DatasetDict(train=pictures(0, 1, 2), test=pictures(*range(0, 200, 2)))
    found = oochub.contexts(data, by=Bright(), choose_on="half")
    assert found["train"]["chosen_on"][:] == [None] * 3 and found["train"]["contexts"][:] == [[]] * 3
    chosen = np.array(found["test"]["chosen_on"][:])
    record = BuildRecord.of(found["test"].info).facts.found_contexts
    assert record.settings["at"] == pytest.approx(np.arange(0, 200, 2)[chosen].mean())
    assert (record.chosen_rows, record.settings["choose_on"]) == (chosen.sum(), "half")
    alone = oochub.contexts(data["test"], by=Bright())["train"]
    assert alone["chosen_on"][:] == found["test"]["chosen_on"][:]
    with pytest.raises(
        OochubError, match=r"nothing to test on besides train, or there is no train: the splits are train\."
    ):
        oochub.contexts(data["train"], by=Bright(), choose_on="train")
    with pytest.raises(OochubError, match=r"No choice of rows named 'halves'\. Did you mean 'half'"):
        oochub.contexts("absent", by=Bright(), choose_on="halves")


def test_a_picture_is_measured_once(tmp_path):
    """By its bytes: a copy of the data elsewhere measures nothing, one image more its own part alone."""
    way = Bright()
    many = pictures(*range(600))
    first = oochub.contexts(many, by=way)
    assert way.measured == 600
    many.save_to_disk(tmp_path / "copy")
    copy = oochub.contexts(datasets.load_from_disk(tmp_path / "copy"), by=way)
    assert way.measured == 600 and copy["train"]["contexts"][:] == first["train"]["contexts"][:]
    oochub.contexts(datasets.concatenate_datasets([many, pictures(9)]).remove_columns("example_id"), by=way)
    assert way.measured == 600 + 89  # the last part: rows 512 to 600
    oochub.contexts(many, by=way, cache=False)
    assert way.measured == 600 + 89 + 600


def test_other_settings_measure_anew():
    """Planted fault seen: a key of the cache without the settings."""
    once, twice = (oochub.contexts(pictures(0, 9, 250), by=Bright(times))["train"]["gray"][:] for times in (1, 2))
    assert twice == [2 * gray for gray in once]


def test_no_column_of_the_data_is_lost():
    """A column of the name that a way uses stays, the way's own is called after it; both at once are refused."""
    data = pictures(0, 9, 250).add_column("gray", ["mine", "of", "old"])
    found = oochub.contexts(data, by=Bright())["train"]
    prefix = Bright.words()
    assert found["gray"][:] == ["mine", "of", "old"] and found[f"{prefix}_gray"][:] == [0, 9, 250]
    assert any(f"the one of {prefix} is {prefix}_gray" in note for note in BuildRecord.of(found.info).notes)
    with pytest.raises(OochubError, match=r"already have the columns 'gray' and .*"):
        oochub.contexts(data.add_column(f"{prefix}_gray", [0, 1, 2]), by=Bright())


def test_what_was_measured_before_an_end_is_kept():
    way, wrong = Bright(), pictures(*[5] * 300, broken=[299])
    with pytest.raises(OochubError, match="split train, example r299"):
        oochub.contexts(wrong, by=way)
    assert way.measured >= 256
    before = way.measured
    found = oochub.contexts(wrong, by=way, skip_broken=True)["train"]
    assert way.measured == before + 256 + 43  # with skip_broken a part may have rows of nulls: a key of its own
    assert found["contexts"][298] is not None and found["contexts"][299] is None


def test_a_broken_picture_has_no_contexts_and_shifts_no_other():
    found = oochub.contexts(pictures(0, 9, 250, 0, 255, broken=[1]), by=Bright(), skip_broken=True)["train"]
    at = BuildRecord.of(found.info).facts.found_contexts.settings["at"]
    assert found["contexts"][:] == [[0] if gray > at else [] for gray in (0, 0, 250, 0, 255)][:1] + [None] + [
        [0] if gray > at else [] for gray in (250, 0, 255)
    ]
    with pytest.raises(OochubError, match="can be read"):
        oochub.contexts(pictures(1, 2, broken=[0, 1]), by=Bright(), skip_broken=True)


def test_a_repository_is_loaded_with_its_contexts(tmp_path):
    data = datasets.DatasetDict(train=pictures(0, 100, 90), test=pictures(60, 255, 40))
    found = oochub.contexts(data, by=Bright(), out=tmp_path / "found")
    again = oochub.load(tmp_path / "found")
    assert again["test"]["contexts"][:] == found["test"]["contexts"][:] == [[], [0], []]
    assert again["test"].features["contexts"] == found["test"].features["contexts"]
    record = BuildRecord.of(again["test"].info).facts.found_contexts
    assert record == BuildRecord.of(found["test"].info).facts.found_contexts and record.names == ("bright",)
    assert "| bright | gray above 63.3 | 2 | 1 |" in (tmp_path / "found/README.md").read_text()
    oochub.contexts(data, by=Bright(), out=tmp_path / "found")  # in place of the first
    (tmp_path / "found/notes.txt").write_text("mine")
    oochub.contexts(data, by=Bright(), out=tmp_path / "found")  # which stays
    assert (tmp_path / "found/notes.txt").read_text() == "mine"


def test_what_cannot_be_done_is_said_first(tmp_path):
    data = pictures(0, 100)
    with pytest.raises(OochubError, match=r"No context named 'propertys'\. Did you mean 'properties'"):
        oochub.contexts("absent", by="propertys")
    with pytest.raises(OochubError, match="No option of the method properties named 'model'"):
        make_way("properties", {"model": "x"})
    with pytest.raises(OochubError, match="model= is an option of a method given by name"):
        oochub.contexts(data, by=Bright(), model="x")
    with pytest.raises(OochubError, match="the data only has the columns example_id, label"):
        oochub.contexts(data.remove_columns("image"), by=Bright())
    with pytest.raises(OochubError, match="already have a column 'contexts'"):
        oochub.contexts(data.add_column("contexts", [0, 0]), by=Bright())
