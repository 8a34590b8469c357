"""Amazon-WILDS: every row of every split against the tables as WILDS' code reads them; wrong rows by number."""

import csv
import shutil

import numpy as np
import pandas as pd
import pytest
from datasets import ClassLabel, load_dataset

import oochub
from oochub.records.build_record import BuildRecord

_SHIFTED = ["train", "val", "id_val", "test", "id_test"]
_CONFIGS = {
    "amazon": ("user", _SHIFTED, "reviewerID"),
    "amazon_time": ("time", _SHIFTED, "reviewYear"),
    "amazon_books_generalization": ("books_generalization", _SHIFTED, "category"),
    "amazon_category_subpopulation": ("category_subpopulation", ["train", "val", "test"], "category"),
    "amazon_AV6QDP8Q0ONK4_baseline": ("AV6QDP8Q0ONK4_baseline", ["train", "val", "test"], "reviewerID"),
}


@pytest.mark.parametrize("config", _CONFIGS)
def test_it_is_its_tables(config, raw):
    folder, (scheme, splits, domain) = raw("wilds/amazon"), _CONFIGS[config]
    table = pd.read_csv(folder / "reviews.csv", keep_default_na=False, na_values=[], quoting=csv.QUOTE_NONNUMERIC)
    table["reviewYear"] = table["reviewYear"].astype(int)  # pandas reads what is not quoted as fractions
    of_split = pd.read_csv(folder / "splits" / f"{scheme}.csv")["split"].to_numpy()
    assert (of_split == -1).any() or scheme in ("time", "books_generalization", "category_subpopulation")
    data = load_dataset("wilds", config, data_dir=str(folder))
    assert list(data) == splits
    for number, (split, part) in enumerate(data.items()):
        rows, features = np.flatnonzero(of_split == number), part.features
        of = table.iloc[rows]
        assert part["example_id"] == [str(row) for row in rows] and part["text"] == of["reviewText"].tolist()
        assert part["label"] == (of["overall"] - 1).astype(int).tolist() and part["year"] == of["reviewYear"].tolist()
        assert features["category"].int2str(part["category"]) == of["category"].tolist()
        users = part["user"] if domain != "reviewerID" else features["user"].int2str(part["user"])
        assert users == of["reviewerID"].tolist() and part["product"] == of["asin"].tolist()
        for name in ("environment", "group"):
            assert features[name].int2str(part[name]) == of[domain].astype(str).tolist()
        is_source = split in ("train", "id_val", "id_test")
        assert part["from_source_domain"] == [is_source] * len(rows)
    assert isinstance(data["test"].features["user"], ClassLabel) == (domain == "reviewerID")
    count = len({name for part in data.values() for name in part.features["category"].int2str(part["category"])})
    noted = f"categories, by the names that reviews.csv gives them: {count}" in BuildRecord.of(part.info).notes
    assert noted == (domain == "category")


def test_a_split_that_drops_all_is_refused(raw, tmp_path):
    shutil.copytree(raw("wilds/amazon"), tmp_path / "amazon")
    (tmp_path / "amazon/splits/time.csv").write_text("split\n" + "-1.0\n" * 950)
    with pytest.raises(oochub.OochubError, match=r"time\.csv drops every row of reviews\.csv"):
        load_dataset("wilds", "amazon_time", data_dir=str(tmp_path / "amazon"))
