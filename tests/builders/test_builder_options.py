"""Options of every builder, the folder and the name of the data: another type is said before a file is read."""

from pathlib import Path

import numpy as np
import pytest
from datasets import load_dataset

import oochub

_WRONG = [
    ("nooch/ce_car", {"alpha": "x"}, "option of nooch alpha must be a finite number, got 'x'"),
    ("nooch/ce_car", {"contexts": 5}, "contexts must be text or a list, each text, got 5"),
    ("nooch/gist_car", {"tau": (1, 2, 3)}, "tau must be a finite number or a list of 2, each a finite number, or none"),
    ("nooch/ce_car", {"alpah": 0.1}, "No option of nooch named 'alpah'. Did you mean 'alpha'?"),
    ("waterbirds/default", {"strict": "no"}, "strict must be true or false, got 'no'"),
    ("waterbirds/default", {"foo": 1}, "No option of waterbirds named 'foo'. Allowed: follow_links, strict"),
]


@pytest.mark.parametrize(("source", "options", "message"), _WRONG)
def test_an_option_of_another_type_is_named(source, options, message, tmp_path):
    """There is not even a folder. Written against: TypeErrors of `>=`, of Path and of `datasets`; "no" taken as yes."""
    name, config = source.split("/")
    with pytest.raises(oochub.OochubError, match=message):
        load_dataset(name, config, data_dir=str(tmp_path / "nowhere"), **options)
    with pytest.raises(oochub.OochubError, match=message):
        oochub.load(name, config=config, data_dir=str(tmp_path / "nowhere"), options=options)


def test_options_may_be_paths_and_numbers_of_any_kind(coco):
    """A Path is a text, a whole number a number, None the default."""
    options = {"alpha": np.float32(0), "beta": 0, "contexts": ("road",), "official_ids": None, "area": "field"}
    data = load_dataset("nooch", "ce_car", data_dir=Path(coco), **options)
    assert len(data["test"])


@pytest.mark.parametrize("folder", [["raw"], 5, {}, b"raw"])
def test_a_folder_that_is_no_path(folder):
    with pytest.raises(oochub.OochubError, match="data_dir must be a folder, as text or a Path, got"):
        load_dataset("nooch", "ce_car", data_dir=folder)


@pytest.mark.parametrize("source", [["nooch/ce_car"], 5, None, {"a": 1}])
def test_data_that_are_no_name(source):
    """Written against: a list was taken for the name of a data set and looked for on the Hub."""
    with pytest.raises(oochub.OochubError, match="load takes the name of a benchmark, a path, or an id on the Hub"):
        oochub.load(source)


def test_splits_and_columns_that_are_no_names(coco):
    with pytest.raises(oochub.OochubError, match="No split named"):
        oochub.load("nooch/ce_car", data_dir=str(coco), split=["test"])
    with pytest.raises(oochub.OochubError, match="text_columns must be True, the name of a column or a list"):
        oochub.load("nooch/ce_car", data_dir=str(coco), text_columns=5)
    with pytest.raises(oochub.OochubError, match=r"options must be values by name, got \['strict'\]"):
        oochub.load("nooch/ce_car", data_dir=str(coco), options=["strict"])
