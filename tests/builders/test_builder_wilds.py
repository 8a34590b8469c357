"""The builder of WILDS: what each file of builders/wilds declares, where the raw folder may lie, wrong rows by line."""

import re
import shutil

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from datasets import load_dataset, load_dataset_builder
from PIL import Image

import oochub
from oochub.builders.wilds import _OF_CONFIG
from oochub.records.build_record import BuildRecord

_DATA_SETS = {data_set.name: data_set for data_set in _OF_CONFIG.values()}


@pytest.mark.parametrize("name", _DATA_SETS)
def test_a_file_declares_a_data_set(name):
    """Planted faults seen: a config of another data set's name; raw files that the folder's parent does not find."""
    data_set = _DATA_SETS[name]
    for config, declared in data_set.configs.items():
        assert config == name or config.startswith(f"{name}_"), f"{name}.py: configs are called {name}_..."
        assert declared.version.startswith(data_set.version), f"{config}: version= begins with that of the folder"
        for raw in declared.raw_files:
            assert raw.path.startswith(f"{data_set.raw_name}/"), f"{config}: {raw.path} is below the parent"
            assert raw.also and raw.path.endswith(raw.also), f"{config}: also= is {raw.path} below the folder itself"
        assert declared.title and declared.homepage.startswith("https://")
    assert set(data_set.rows) <= set(data_set.configs)


_DAILY = ("iwildcam", "ogb_molpcba")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in _DAILY else pytest.mark.slow) for name in _DATA_SETS]
)
def test_the_folder_or_its_parent(name, raw, tmp_path):
    """`data_dir` is `<name>_v<version>`, of OGB-MolPCBA that of its package, or what holds it."""
    config = next(iter(_DATA_SETS[name].configs))
    folder = raw(f"wilds/{config}")
    (tmp_path / _DATA_SETS[name].raw_name).symlink_to(folder)
    parts = [
        load_dataset("wilds", config, data_dir=str(place), follow_links=True, cache_dir=str(tmp_path / "cache"))
        for place in (folder, tmp_path)
    ]
    assert {split: part.num_rows for split, part in parts[0].items()} == parts[1].num_rows
    column = next(each for each in ("example_id", "label") if each in parts[0]["train"].column_names)
    assert all(parts[0][split][column] == parts[1][split][column] for split in parts[0])


def test_iwildcam_is_its_table(raw):
    """Every row against the table as pandas reads it: split, class by name, trap, sequence, time."""
    folder = raw("wilds/iwildcam")
    table = pd.read_csv(folder / "metadata.csv")
    names = pd.read_csv(folder / "categories.csv").set_index("y")["name"]
    time = pd.to_datetime(table["datetime"])
    data = load_dataset("wilds", "iwildcam", data_dir=str(folder))
    assert list(data) == ["train", "val", "test", "id_val", "id_test"]
    for split, part in data.items():
        of, frame = table["split"] == split, part.remove_columns("image").to_pandas()
        features = part.features
        assert frame["example_id"].tolist() == table.index[of].astype(str).tolist()
        assert features["label"].int2str(frame["label"].tolist()) == names[table["y"][of]].tolist()
        places = [f"location_{number}" for number in table["location_remapped"][of]]
        assert features["environment"].int2str(frame["environment"].tolist()) == places
        assert features["group"].int2str(frame["group"].tolist()) == places
        assert frame["sequence"].tolist() == table["sequence_remapped"][of].tolist()
        for field in ("year", "month", "day", "hour", "minute", "second"):
            assert frame[field].tolist() == getattr(time[of].dt, field).tolist()
        assert frame["from_source_domain"].tolist() == [split == "train"] * of.sum()
    assert "partial: 96 of 129,809 rows in train" in BuildRecord.of(data["train"].info).notes[1]


@pytest.mark.parametrize(
    ("name", "number", "message"),
    [
        ("dog", "3", "line 8: y must be unique, got '3', as in line 5"),
        ("dog", "7", "line 8: y must be a whole number in 0..5, each class once, counted from 0, got '7'"),
        ("empty", "5", "name must be unique, got 'empty'"),
    ],
)
def test_a_wrong_class_of_iwildcam_is_named(name, number, message, raw, tmp_path):
    """Planted fault: the last of two classes of a number taken, without a word."""
    folder = shutil.copytree(raw("wilds/iwildcam"), tmp_path / "iwildcam_v2.0")
    with (folder / "categories.csv").open("a") as file:
        file.write(f"{number},50,{name}\n")
    with pytest.raises(oochub.OochubError, match=re.escape(message)):
        load_dataset("wilds", "iwildcam", data_dir=str(folder))


def test_folds_of_poverty():
    """Each country is tested in one fold; the published rows are those of the authors' constants."""
    from oochub.builders.wilds.poverty import _COUNTRIES, _TESTED, poverty

    assert len(_COUNTRIES) == 23 and sum(rows for rows, _ in _TESTED.values()) == 19_669
    rows = poverty.rows["poverty_fold_a"]
    assert rows == {"train": 9_797, "test": 3_963, "val": 3_909, "id_val": 1_000, "id_test": 1_000}
    assert poverty.rows["poverty_fold_e"]["val"] == 3_963 and poverty.rows["poverty_fold_d"]["train"] == 9_812


@pytest.mark.parametrize("fold", "ABCDE")
@pytest.mark.parametrize("scheme", ["official", "mixed-to-test"])
def test_the_split_of_poverty_is_that_of_wilds(fold, scheme):
    """Against the procedure as WILDS' code has it, written out again, on 19,669 rows of random countries."""
    from oochub.builders.wilds.poverty import _COUNTRIES, _NEXT, _TESTED, _split

    rng = np.random.default_rng(ord(fold))
    countries = rng.choice(_COUNTRIES, 19_669)
    test = np.isin(countries, _TESTED[fold.lower()][1].split())
    val = np.isin(countries, _TESTED[_NEXT[fold.lower()]][1].split())
    inside = np.flatnonzero(~test & ~val)

    def shuffled(rows):
        rows = rows.copy()
        np.random.default_rng(ord(fold) + 541_433).shuffle(rows)
        return rows

    expected = np.full(19_669, "", object)
    expected[test], expected[val] = "test", "val"
    kept = shuffled(inside)[:2_000]
    expected[kept[1_000:]], expected[kept[:1_000]] = "id_test", "id_val"
    every = shuffled(np.arange(19_669))[: len(inside)]
    expected[every[2_000:] if scheme == "mixed-to-test" else shuffled(inside)[2_000:]] = "train"
    split = _split(countries.tolist(), fold=fold.lower(), is_mixed=scheme != "official")
    assert (split == expected).all()


def test_the_arrays_of_poverty_are_those_of_the_files(raw):
    folder = raw("wilds/poverty_fold_a")
    table = pd.read_csv(folder / "dhs_metadata.csv")
    data = load_dataset("wilds", "poverty_fold_a", data_dir=str(folder))
    part = data["test"].with_format("numpy")
    for row in (part[0], part[-1]):
        number = int(row["example_id"])
        stored = np.load(folder / "images" / f"landsat_poverty_img_{number}.npz", allow_pickle=False)["x"]
        assert row["array"].shape == (8, 224, 224) and (row["array"] == stored).all()
        assert row["label"] == np.float32(table["wealthpooled"][number]) and row["urban"] == table["urban"][number]
        assert part.features["country"].int2str(int(row["country"])) == table["country"][number]


def test_wilds_itself_has_no_toy_world(tmp_path):
    """Its data sets have, and the error names one; planted: that of Amazon, the first by name, was drawn."""
    with pytest.raises(oochub.OochubError, match=re.escape('.of("amazon").render_toy_world')):
        oochub.get("benchmark", "wilds").render_toy_world(tmp_path / "toy")
    assert not (tmp_path / "toy").exists()


def test_few_arrays_are_held_at_a_time(raw):
    """A row of PovertyMap is 1.6 MB, so tables of 64 rows would be 103 MB; planted: tables of 64 rows."""
    builder = load_dataset_builder("wilds", "poverty_fold_a", data_dir=str(raw("wilds/poverty_fold_a")))
    shards = next(each.gen_kwargs["shards"] for each in builder._split_generators(None) if each.name == "train")
    rows = pa.concat_tables([pa.ipc.open_stream(shard).read_all() for shard in shards])
    tables = [table for _, table in builder._generate_tables(raw("wilds/poverty_fold_a"), [rows])]
    assert sum(map(len, tables)) == len(rows) > 20 and max(table.nbytes for table in tables) < 20_000_000


@pytest.mark.slow
def test_a_broken_array_of_poverty_is_named(raw, tmp_path):
    """A pickle is not opened; another shape, and what is no npz, are refused."""
    folder = tmp_path / "poverty"
    shutil.copytree(raw("wilds/poverty_fold_a"), folder)
    first = folder / "images" / "landsat_poverty_img_0.npz"
    wrong = {"not an npz file": b"PK", "not an npz file with an array x": {"x": np.array([print], object)}}
    wrong |= {"of shape": {"x": np.zeros((8, 2, 2), np.float32)}, "array x": {"y": np.zeros(1)}}
    for message, content in wrong.items():
        if isinstance(content, bytes):
            first.write_bytes(content)
        else:
            np.savez(first, **content)
        with pytest.raises(oochub.OochubError, match=message) as error:
            load_dataset("wilds", "poverty_fold_a", data_dir=str(folder))
        assert str(first) in str(error.value)


def test_globalwheat_is_its_tables(raw):
    """Every row of every scheme against the tables as pandas reads them, example_id counted as WILDS' code does."""
    folder = raw("wilds/globalwheat")
    domains = pd.read_csv(folder / "metadata_domain.csv", sep=";").set_index("name")
    tables = {
        "globalwheat": "official_train official_val official_test fixed_train_val fixed_train_test",
        "globalwheat_official_with_subsampled_test": "official_train official_val fixed_test_test",
        "globalwheat_test-to-test": "fixed_test_train official_val fixed_test_test",
        "globalwheat_mixed-to-test": "mixed_train_train official_val mixed_train_test",
    }
    for config, names in tables.items():
        data, first = load_dataset("wilds", config, data_dir=str(folder)), 0
        assert list(data) == ["train", "val", "test", "id_val", "id_test"][: len(data)]
        for (split, part), name in zip(data.items(), names.split(), strict=True):
            table, features = pd.read_csv(folder / f"{name}.csv"), part.features
            frame = part.remove_columns("image").to_pandas()
            assert frame["example_id"].tolist() == [str(first + row) for row in range(len(table))]
            first += len(table)
            for text, boxes, categories in zip(table["BoxesString"], part["boxes"], part["categories"], strict=True):
                written = ";".join(" ".join(f"{number:.0f}" for number in box) for box in boxes)
                assert (written or "no_box") == text and categories == [0] * len(boxes)
            session = [_sessions()[number] for number in table["domain"]]
            for field in ("session", "group", "environment"):
                assert features[field].int2str(frame[field].tolist()) == session
            for field, column in {"country": "country", "location": "location", "stage": "development_stage"}.items():
                assert features[field].int2str(frame[field].tolist()) == domains[column][session].tolist()
            assert frame["from_source_domain"].tolist() == [split == "train"] * len(table)
            assert {*frame["width"], *frame["height"]} == {96}


def test_a_picture_of_globalwheat_is_as_wide_as_it_is(raw, tmp_path):
    """No square. Written against: width and height changed over."""
    folder = shutil.copytree(raw("wilds/globalwheat"), tmp_path / "globalwheat_v1.1")
    table = pd.read_csv(folder / "official_val.csv")
    table.loc[0, "BoxesString"] = "5 7 95 30"
    table.to_csv(folder / "official_val.csv", index=False)
    Image.new("RGB", (96, 40)).save(folder / "images" / table["image_name"][0])
    data = load_dataset("wilds", "globalwheat", data_dir=str(folder), streaming=True)["val"]
    row = next(iter(data.remove_columns("image")))
    assert (row["width"], row["height"], row["boxes"]) == (96, 40, [[5, 7, 95, 30]])


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("iwildcam", 203_029), ("camelyon17", 455_954), ("rxrx1", 125_510), ("ogb_molpcba", 437_929),
        ("globalwheat", 6_515), ("civilcomments", 448_000), ("poverty", 19_669), ("amazon", 539_502),
        ("py150", 150_000),
    ],
)  # fmt: skip
def test_published_rows_are_as_many_as_the_paper_says(name, total):
    """Koh et al. 2021, Figure 2. Written against: 1,242 rows of validation for 1,424."""
    data_set = _DATA_SETS[name]
    assert sum(data_set.rows[next(iter(data_set.configs))].values()) == total


def _sessions():
    """The sessions by number, as WILDS' code counts them: 47, of which these places are told."""
    from oochub.builders.wilds.globalwheat import globalwheat

    names = globalwheat.read.__globals__["_SESSIONS"]
    told = {0: "Arvalis_1", 11: "Arvalis_12", 17: "ULiège-GxABT_1", 21: "Ukyoto_1", 25: "ARC_1", 36: "UQ_11"}
    told |= {37: "Terraref_1", 42: "KSU_4", 43: "CIMMYT_1", 46: "Usask_1"}
    assert len(names) == 47 and all(names[number] == name for number, name in told.items())
    return names


def test_strict_takes_the_published_rows_alone(raw):
    with pytest.raises(oochub.OochubError, match="is not what was published: partial: 96 of 129,809 rows in train"):
        load_dataset("wilds", "iwildcam", data_dir=str(raw("wilds/iwildcam")), strict=True)


@pytest.mark.parametrize("name", _DATA_SETS)
def test_the_folder_is_of_the_version(name, tmp_path):
    """RELEASE_v<version>.txt, where there is one; planted: a marker of another version that is passed over."""
    data_set = _DATA_SETS[name]
    data_set.check_release(tmp_path)
    (tmp_path / "RELEASE_v0.9.txt").touch()
    with pytest.raises(oochub.OochubError, match=re.escape(f"is version 0.9 of {name}, as RELEASE_v0.9.txt says")):
        data_set.check_release(tmp_path)
    (tmp_path / f"RELEASE_v{data_set.version}.txt").touch()
    data_set.check_release(tmp_path)


def test_the_environment_holds_every_folder(raw, tmp_path, monkeypatch):
    """`$OOCHUB_DATA/wilds/<name>_v<version>`, with a folder of another version beside it that is not read."""
    (tmp_path / "wilds" / "camelyon17_v2.0").mkdir(parents=True)
    shutil.copytree(raw("wilds/camelyon17"), tmp_path / "wilds" / "camelyon17_v1.0")
    monkeypatch.setenv("OOCHUB_DATA", str(tmp_path))
    assert len(load_dataset("wilds", "camelyon17", cache_dir=str(tmp_path / "cache"))["train"]) == 72
    (tmp_path / "wilds" / "camelyon17_v1.0" / "RELEASE_v1.0.txt").rename(
        tmp_path / "wilds" / "camelyon17_v1.0" / "RELEASE_v0.9.txt"
    )
    shutil.rmtree(tmp_path / "cache")
    with pytest.raises(oochub.OochubError, match=re.escape("is version 0.9 of camelyon17")):
        load_dataset("wilds", "camelyon17", cache_dir=str(tmp_path / "cache"))


def test_boxes_beyond_the_edge_are_counted(raw, tmp_path):
    """A box that is cut by the edge of its image is kept as it is, and noted."""
    folder = shutil.copytree(raw("wilds/globalwheat"), tmp_path / "globalwheat_v1.1")
    for name, boxes in {"official_val": "5 7 97 30;1 2 3 4", "official_train": "5 7 96 96;90 90 100 100"}.items():
        table = pd.read_csv(folder / f"{name}.csv")
        table.loc[0, "BoxesString"] = boxes
        table.to_csv(folder / f"{name}.csv", index=False)
    data = load_dataset("wilds", "globalwheat", data_dir=str(folder), streaming=True)
    assert "boxes that end beyond the edge of their image: 2" in BuildRecord.of(data["val"].info).notes
    assert next(iter(data["val"].remove_columns("image")))["boxes"] == [[5, 7, 97, 30], [1, 2, 3, 4]]


@pytest.mark.parametrize("is_drawn", [True, False])
def test_a_drawn_data_set_is_called_so_from_the_folder_above_it(tmp_path, is_drawn):
    """`data_dir` may hold several data sets; only the one that is built counts."""
    from oochub.builders.toy_worlds.toy_wilds_iwildcam import toy_wilds_iwildcam

    folder = toy_wilds_iwildcam(tmp_path / "iwildcam_v2.0")
    other = tmp_path / "camelyon17_v1.0"
    other.mkdir()
    record = folder / "toy_world.json"
    if not is_drawn:
        record.rename(other / "toy_world.json")
    data = oochub.load("wilds/iwildcam", data_dir=str(tmp_path))
    notes = BuildRecord.of(next(iter(data.values())).info).notes
    assert any("drawn toy world" in note for note in notes) == is_drawn
