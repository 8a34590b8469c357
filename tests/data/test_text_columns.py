"""Class names in place of class numbers, by `oochub.load`, `oochub.task` and on any data set; then predicted from."""

from pathlib import Path

import numpy as np
import pytest
from datasets import ClassLabel, Dataset, DatasetDict, Features, List, Value, load_dataset
from safetensors.numpy import load_file
from trainings import made_split, trainer_of, with_group_norm

import oochub
from oochub.data.load import use_text_columns
from oochub.errors import OochubError


def _easy(row) -> bool:
    return row["challenge"] == "easy"


@pytest.mark.slow
def test_a_comparison_with_a_name_holds(coco: Path):
    """The fault of the numbers is shown too. Planted fault seen: numbers cast to text, "0" in place of "easy"."""
    plain = oochub.load("nooch/ce_car", data_dir=str(coco))
    text = oochub.load("nooch/ce_car", data_dir=str(coco), text_columns=True)
    assert not any(plain["test"].map(lambda row: {"same": _easy(row)})["same"])
    rows = plain["test"].remove_columns("image")
    names = rows.features["challenge"].int2str(rows["challenge"][:])
    assert text["test"]["challenge"][:] == names and 0 < len(text["test"].filter(_easy)) < len(rows)
    assert len(text["test"].filter(_easy)) == names.count("easy")


def test_all_but_the_truth_and_nothing_else_changes(coco: Path):
    """Planted faults seen: the columns in another order; where the data are from lost; `label` as text too."""
    plain = oochub.load("nooch/ce_car", data_dir=str(coco))["test"]
    text = use_text_columns(plain)
    named = {name for name, feature in plain.features.items() if isinstance(feature, ClassLabel)}
    assert named == {"label", "environment", "group", "challenge"}
    assert text.column_names == plain.column_names
    for name, feature in plain.features.items():
        assert text.features[name] == (Value("string") if name in named - {"label"} else feature)
    for fact in ("description", "dataset_name", "config_name", "version", "splits"):
        assert getattr(text.info, fact) == getattr(plain.info, fact), fact
    assert text.split == plain.split
    assert text.cache_files == plain.cache_files  # the images are where they were
    assert text[7]["image"].tobytes() == plain[7]["image"].tobytes()
    assert use_text_columns(plain, False) is plain


def test_a_task_of_all_has_text_columns(coco: Path):
    """As the task's own config has; rows that a mask has chosen stay those."""
    every = load_dataset("nooch", "all", data_dir=str(coco), split="test").select(range(5, 25))
    text = oochub.task(DatasetDict(test=every), "ce_car", text_columns=["challenge"])["test"]
    plain = oochub.task(every, "ce_car")
    assert text["challenge"][:] == plain.features["challenge"].int2str(plain["challenge"][:])
    assert text["example_id"][:] == every["example_id"][:]
    assert isinstance(text.features["group"], ClassLabel)


def test_lists_and_what_has_no_class():
    """Planted fault seen: -1 read as the last class."""
    place = ClassLabel(names=["sea", "land"])
    features = Features({"place": place, "places": List(place), "year": Value("int64")})
    rows = {"place": [1, -1, None], "places": [[0, 1], [], None], "year": [1, 2, 3]}
    text = use_text_columns(Dataset.from_dict(rows, features))
    assert text["place"][:] == ["land", None, None] and text["places"][:] == [["sea", "land"], [], None]
    assert text.features["places"] == List(Value("string")) and text.features["year"] == Value("int64")


def test_a_column_without_class_numbers_is_refused():
    data = Dataset.from_dict({"year": [1], "place": [0]}).cast_column("place", ClassLabel(names=["sea"]))
    with pytest.raises(OochubError, match=r"'plaice'.*Did you mean 'place'"):
        use_text_columns(data, "plaice")
    with pytest.raises(OochubError, match="'year'"):
        use_text_columns(data, ["place", "year"])
    with pytest.raises(OochubError, match="truth stays numbers"):
        use_text_columns(data.rename_column("place", "label"), "label")
    with pytest.raises(OochubError, match=r"IterableDataset.*without streaming=True"):
        use_text_columns(data.to_iterable_dataset())


def test_text_columns_predict_and_train_alike(tmp_path: Path):
    """Predictions hold names in any case, and a trainer takes environments by name.

    GroupDRO by a text environment learns the weights that it learns by numbers.
    """
    plain = made_split(32, 0)
    text = use_text_columns(plain, "environment")
    network, processor = with_group_norm()
    by_text, by_number = (oochub.predict(network, data, image_processor=processor) for data in (text, plain))
    assert by_text.column("environment").tolist() == by_number.column("environment").tolist()
    np.testing.assert_array_equal(by_text.logits, by_number.logits)
    settings = {"objective": "group_dro", "environment_column": "environment", "num_train_epochs": 1, "seed": 0}
    weights = []
    for name, data in (("text", text), ("number", plain)):
        trainer = trainer_of(tmp_path / name, data, model=with_group_norm(), **settings)
        trainer.train()
        weights.append(load_file(tmp_path / name / "model.safetensors"))
    for name, tensor in weights[0].items():
        np.testing.assert_allclose(tensor, weights[1][name], atol=1e-6)
