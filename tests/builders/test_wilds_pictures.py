"""Camelyon17, RxRx1 and FMoW of WILDS: every row against the table as pandas reads it, by the rules of WILDS' code."""

import csv
import os
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from datasets import Image, load_dataset

import oochub
from oochub.records.build_record import BuildRecord


def _rows(data):
    """The number of each row to its split and the row: classes by name, the image as its bytes."""
    rows = {}
    for split, part in data.items():
        named = [name for name, feature in part.features.items() if hasattr(feature, "int2str")]
        for row in part.cast_column("image", Image(decode=False)):
            row |= {name: part.features[name].int2str(row[name]) for name in named}
            rows[int(row["example_id"])] = (split, row)
    return rows


def _checked(config, raw, split_of, expected, picture):
    """Compares: the split of each row that has one, its columns, and the bytes of its image."""
    folder = raw(f"wilds/{config}")
    rows = _rows(load_dataset("wilds", config, data_dir=str(folder)))
    assert {number: split for number, (split, _) in rows.items()} == {i: s for i, s in split_of.items() if s}
    for number, (_, row) in rows.items():
        wanted = expected(number)
        assert {name: value for name, value in row.items() if name not in ("example_id", "image")} == wanted
        assert list(row) == ["example_id", "image", *wanted]
        assert row["image"]["bytes"] == (folder / picture(number)).read_bytes()
    return rows


@pytest.mark.parametrize("config", ["camelyon17", "camelyon17_mixed-to-test"])
def test_camelyon17_is_its_table(config, raw):
    """Planted faults seen: the column `split` of the hospitals of validation and test; slide 22 moved."""
    table = pd.read_csv(raw("wilds/camelyon17") / "metadata.csv", index_col=0, dtype={"patient": "str"})
    split = table["split"].map({0: "train", 1: "id_val"})
    split[table["center"] == 1] = "val"
    split[table["center"] == 2] = "test"
    if "mixed" in config:
        split[table["slide"] == 23] = "train"

    def expected(number):
        row = table.loc[number]
        return {
            "label": ["normal", "tumor"][row["tumor"]],
            "environment": f"hospital_{row['center']}",
            "group": f"slide_{row['slide']}",
            "hospital": row["center"],
            "slide": row["slide"],
            "from_source_domain": split[number] == "train",
        }

    def picture(number):
        row = table.loc[number]
        stem = f"patient_{row['patient']}_node_{row['node']}"
        return f"patches/{stem}/patch_{stem}_x_{row['x_coord']}_y_{row['y_coord']}.png"

    rows = _checked(config, raw, split.to_dict(), expected, picture)
    assert len(rows) == len(table)


@pytest.mark.slow
@pytest.mark.parametrize("config", ["rxrx1", "rxrx1_mixed-to-test"])
def test_rxrx1_is_its_table(config, raw):
    """Planted faults seen: site 2 of validation as id_test; the last experiments of training left out."""
    table = pd.read_csv(raw("wilds/rxrx1") / "metadata.csv")
    split = table["dataset"].copy()
    second = (table["dataset"] == "train") & (table["site"] == 2)
    split[second] = "" if "mixed" in config else "id_test"
    if "mixed" in config:
        split[(table["dataset"] == "test") & (table["site"] == 1)] = "train"
        left_out = ["HEPG2-01", "HUVEC-01", "RPE-01", "U2OS-01"]  # one experiment of each is tested
        split[table["experiment"].isin(left_out)] = ""

    def expected(number):
        row = table.loc[number]
        names = ("cell_type", "experiment", "plate", "well", "site")
        return {
            "label": f"sirna_{row['sirna_id']}",
            "environment": row["experiment"],
            "group": row["cell_type"],
            **{name: row[name] for name in names},
            "from_source_domain": split[number] == "train",
        }

    def picture(number):
        row = table.loc[number]
        return f"images/{row['experiment']}/Plate{row['plate']}/{row['well']}_s{row['site']}.png"

    _checked(config, raw, split.to_dict(), expected, picture)


def _fmow_splits(table, year, config):
    """As WILDS' code has it: a pass over its splits in their order, each over what was there."""
    split = pd.Series("", index=table.index)
    for name in ("train", "id_val", "id_test", "val", "test"):
        listed = table["split"] == name.removeprefix("id_")
        test = int(config.rpartition("_")[2]) if "time_after" in config else 2016
        when = (year < test - 3) if name == "train" or name.startswith("id_") else (year >= test)
        when = when if name != "val" else (year >= test - 3) & (year < test)
        numbers = np.flatnonzero(listed & when)
        if name == "train" and "mixed" in config:
            later = np.flatnonzero((year >= 2013) & (table["split"] != "test"))
            half = len(numbers) // 2
            np.random.default_rng(111 + 2 + 541433).shuffle(later)
            np.random.default_rng(111 + 3 + 541433).shuffle(numbers)
            numbers = np.concatenate([later[:half], numbers[:half]])
        split[numbers] = name
    split[table["split"] == "seq"] = ""
    return split


@pytest.mark.slow
@pytest.mark.parametrize("config", ["fmow", "fmow_mixed-to-test", "fmow_time_after_2008", "fmow_time_after_2017"])
def test_fmow_is_its_table(config, raw):
    """Of the other years: a year more of validation; the official test whatever the config."""
    folder = raw("wilds/fmow")
    table = pd.read_csv(folder / "rgb_metadata.csv")
    year = table["timestamp"].str[:4].astype(int)
    assert table["timestamp"].str.contains(".", regex=False).any(), "some times have fractions of a second"
    mapping = pd.read_csv(folder / "country_code_mapping.csv").set_index("alpha-3")["region"].dropna()
    split = _fmow_splits(table, year, config)

    def expected(number):
        row = table.loc[number]
        region = mapping.get(row["country_code"], "Other")
        return {
            "label": row["category"],
            "environment": str(year[number]),
            "group": region,
            "region": region,
            "year": year[number],
            "country_code": row["country_code"],
            "from_source_domain": split[number] in ("train", "id_val", "id_test"),
        }

    rows = _checked(config, raw, split.to_dict(), expected, "images/rgb_img_{}.png".format)
    assert {row["region"] for _, row in rows.values()} == {"Africa", "Americas", "Asia", "Europe", "Oceania", "Other"}


def test_the_regions_that_the_headline_takes_the_worst_of(raw):
    """Other is none of them, as in WILDS; planted: without `where`."""
    declared = oochub.get("benchmark", "wilds").of("fmow")
    data = load_dataset("wilds", "fmow", data_dir=str(raw("wilds/fmow")))["test"]
    region = np.array(data.features["region"].int2str(data["region"]))
    columns = {"split": np.full(len(data), "test"), "region": region, "group": region}
    found = declared.out_of_context.rows_of_groups(columns)
    assert list(found) == ["Africa", "Americas", "Asia", "Europe", "Oceania"]
    assert "Other" in set(region)


_WRONG = """
camelyon17/metadata.csv | center | 3 | line 14: slide 2 has center 0, but 3 in line 4
camelyon17/metadata.csv | node | 0/../.. | line 4: patch must be a path below
rxrx1/metadata.csv | cell_type | RPE | line 4: an experiment with cells of type RPE must have a name like
fmow/rgb_metadata.csv | timestamp | in May | line 4: timestamp must be a time of the form ISO8601, got
fmow/rgb_metadata.csv | timestamp | 2018-01-01T00:00:00Z | line 4: timestamp must be from 2002 to 2017
fmow/country_code_mapping.csv | region | Europa | or nothing (Other), got 'Europa'. Did you mean 'Europe'?
fmow/country_code_mapping.csv | alpha-3 | ind | country_code is 'IND', but country_code_mapping.csv has 'ind'
iwildcam/metadata.csv | y | 7 | line 4: y must be in 0..4, the classes of categories.csv, got 7
iwildcam/metadata.csv | location_remapped | 999 | line 4: location_remapped must be in 0..215, which counts from 0
iwildcam/metadata.csv | datetime | 2013-02-30 00:00:00.000 | line 4: datetime must be a time of the form
globalwheat/official_val.csv | BoxesString | 1 2 3 | official_val.csv, line 4: BoxesString must be
globalwheat/official_val.csv | BoxesString | 1 2 3 4;9 2 3 4 | line 4: a box must run from its upper left corner
globalwheat/official_val.csv | BoxesString | 1 2 3 4;1 9 3 4 | line 4: a box must run from its upper left corner
globalwheat/official_val.csv | BoxesString | 5 7 5 30 | line 4: a box must run from its upper left corner x1 y1
globalwheat/official_val.csv | BoxesString | 5 7 9 7;1 2 3 4 | and have an area, got '5 7 9 7'
globalwheat/official_val.csv | BoxesString | 5 96 9 98 | line 4: a box must lie inside its image of 96 x 96 pixels
globalwheat/official_val.csv | BoxesString | 900 7 960 30 | line 4: a box must lie inside its image of 96 x 96 pixels
globalwheat/official_val.csv | image_name | 0-train-00000.png | belongs to one split, and it is in official_train.csv
globalwheat/metadata_domain.csv | name | Mars_1 | has no row for 1 of the 47 sessions: Arvalis_3
amazon/reviews.csv | category | BOOKS | rows 1 and 2 (counted from 0): the category is 'BOOKS'
amazon/splits/user.csv | - | - | 949 rows, and reviews.csv more
amazon/reviews.csv | - | - | 950 rows, and reviews.csv 949
"""  # what is no matter of one declared column: file | column | value of the fourth line | error


@pytest.mark.parametrize("wrong", _WRONG.strip().splitlines())
def test_a_wrong_row_is_named(wrong, raw, tmp_path):
    """Without a column the last line is left out."""
    place, column, value, message = wrong.split(" | ")
    name, _, file = place.partition("/")
    folder = shutil.copytree(raw(f"wilds/{name}"), tmp_path / name, copy_function=os.link)
    separator = ";" if file == "metadata_domain.csv" else ","
    with (folder / file).open(newline="") as table:
        rows = list(csv.reader(table, delimiter=separator))
    if column == "-":
        rows.pop()
    else:
        rows[3][rows[0].index(column)] = value
    (folder / file).unlink()  # its bytes are those of the toy world's own
    with (folder / file).open("w", newline="") as table:
        csv.writer(table, lineterminator="\n", delimiter=separator).writerows(rows)
    with pytest.raises(oochub.OochubError, match=re.escape(message)):
        load_dataset("wilds", name, data_dir=str(folder))


def test_countries_without_a_region_are_counted(raw, tmp_path):
    """Planted: a mapping without India, whose rows the headline then leaves out, was taken without a word."""
    folder = shutil.copytree(raw("wilds/fmow"), tmp_path / "fmow_v1.1")
    mapping = folder / "country_code_mapping.csv"
    mapping.write_text("".join(line for line in mapping.read_text().splitlines(True) if ",IND," not in line))
    table = pd.read_csv(folder / "rgb_metadata.csv")
    for place, lacking in ((raw("wilds/fmow"), ["XKX"]), (folder, ["IND", "XKX"])):
        data = load_dataset("wilds", "fmow", data_dir=str(place))
        rows = pd.concat(part.remove_columns("image").to_pandas() for part in data.values())
        counts = rows["country_code"].value_counts()[lacking]
        shown = ", ".join(f"{country} {count}" for country, count in counts.sort_values(ascending=False).items())
        expected = f"rows of countries that country_code_mapping.csv lacks, counted as Other: {counts.sum()} ({shown})"
        assert expected in BuildRecord.of(data["test"].info).notes
    assert len(rows) < len(table)  # sequestered rows are of no split, and are not counted


def test_no_experiment_to_leave_out(raw, tmp_path):
    """The mixed split takes the first experiments of training of each tested cell type out, so these must be there."""
    table = pd.read_csv(raw("wilds/rxrx1") / "metadata.csv")
    (tmp_path / "images").symlink_to(raw("wilds/rxrx1") / "images")
    table[table["experiment"] != "RPE-01"].to_csv(tmp_path / "metadata.csv", index=False)
    with pytest.raises(oochub.OochubError, match=r"mixed-to-test leaves out .* but RPE-01 is not in training"):
        load_dataset("wilds", "rxrx1_mixed-to-test", data_dir=str(tmp_path), follow_links=True)
