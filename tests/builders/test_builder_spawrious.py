"""The Spawrious builder: every challenge's composition against Table 2, the released variant, wrong folders."""

from collections import Counter
from pathlib import Path

import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.build_record import BuildRecord
from oochub.builders.sources.spawrious_compositions import TABLE_2
from oochub.builders.spawrious import Spawrious

_BREEDS = ("bulldog", "corgi", "dachshund", "labrador")
_BACKGROUNDS = ("desert", "jungle", "dirt", "mountain", "snow", "beach")
# Table 2 of the paper, typed in again from tables.json (see test_table_2_is_the_papers): spurious, test per breed.
_O2O = {
    "o2o_easy": ("beach", "desert>dirt snow>jungle jungle>snow dirt>desert"),
    "o2o_medium": ("desert", "mountain>jungle jungle>snow beach>dirt dirt>beach"),
    "o2o_hard": ("beach", "jungle>mountain desert>jungle mountain>snow snow>desert"),
}
_M2M = {
    "m2m_easy": "dirt,jungle>snow,beach beach,snow>dirt,jungle jungle,dirt>snow,beach snow,beach>dirt,jungle",
    "m2m_medium": "desert,mountain>dirt,jungle jungle,dirt>desert,mountain mountain,desert>dirt,jungle "
    "dirt,jungle>desert,mountain",
    "m2m_hard": "beach,snow>desert,mountain mountain,desert>beach,snow beach,snow>desert,mountain "
    "mountain,desert>beach,snow",
}
# the released code, as read in its source: code names; environments 1 and 2; test
_RELEASED = {
    "m2m_hard": _M2M["m2m_easy"],
    "m2m_easy": _M2M["m2m_medium"],
    "m2m_medium": "beach,snow>desert,mountain desert,mountain>snow,beach snow,beach>mountain,desert "
    "mountain,desert>beach,snow",
}
_N = 100


@pytest.fixture(scope="module")
def hundred(tmp_path_factory) -> Path:
    """All 96 folders with 100 one-pixel files each, numbered from 1 without leading zeros."""
    root = tmp_path_factory.mktemp("spawrious")
    for repeat in (0, 1):
        for place in _BACKGROUNDS:
            for breed in _BREEDS:
                folder = root / "spawrious224" / str(repeat) / place / breed
                folder.mkdir(parents=True)
                picture = folder / f"{place}_{breed}_1.png"
                Image.new("RGB", (1, 1)).save(picture)
                for k in range(2, _N + 1):
                    (folder / f"{place}_{breed}_{k}.png").hardlink_to(picture)
    return root


def _rows(data, split):
    part = data[split].remove_columns("image").to_pandas()
    for column in ("label", "environment", "group", "background"):
        part[column] = part[column].map(data[split].features[column].int2str)
    return part


def _expected_o2o(config):
    generic, pairs = _O2O[config]
    for breed, pair in zip(_BREEDS, pairs.split(), strict=True):
        spurious, unseen = pair.split(">")
        yield breed, generic, spurious, unseen


@pytest.mark.parametrize("config", list(_O2O))
def test_o2o_composition(hundred, config):
    """97 + 3 and 87 + 13 files per breed of n = 100, repeats 0 and 1, the test one location from both repeats."""
    data = load_dataset("spawrious", config, data_dir=hundred)
    train, validation, test = (_rows(data, split) for split in ("train", "validation", "test"))
    both = Counter()
    for part in (train, validation):
        both.update(zip(part["label"], part["environment"], part["background"], strict=True))
    expected, unseen_pairs = Counter(), Counter()
    for breed, generic, spurious, unseen in _expected_o2o(config):
        for environment, many in (("env_1", 97), ("env_2", 87)):
            expected[breed, environment, spurious] += many
            expected[breed, environment, generic] += 100 - many
        unseen_pairs[breed, "test", unseen] += 200
    assert both == expected
    assert Counter(zip(test["label"], test["environment"], test["background"], strict=True)) == unseen_pairs
    assert len(validation) == sum(n // 5 for n in expected.values())
    # environment k reads repeat k - 1, and validation is the end of each folder's share
    assert set(train[train["environment"] == "env_1"]["example_id"].str[0]) == {"0"}
    first = next(_expected_o2o(config))
    ids = validation["example_id"][validation["example_id"].str.startswith(f"0/{first[2]}/{first[0]}/")]
    assert [int(i.rpartition("/")[2]) for i in ids] == list(range(97 - 19 + 1, 98))


def _m2m_pairs(text):
    for breed, pair in zip(_BREEDS, text.split(), strict=True):
        seen, unseen = pair.split(">")
        yield breed, seen.split(","), set(unseen.split(","))


@pytest.mark.parametrize(("variant", "config"), [*(("paper", c) for c in _M2M), *(("released", c) for c in _RELEASED)])
def test_m2m_composition(hundred, variant, config):
    """Full folders of repeat 0: one background per breed and environment, two unseen ones in the test."""
    data = load_dataset("spawrious", config, data_dir=hundred, variant=variant)
    train, test = _rows(data, "train"), _rows(data, "test")
    for breed, (first, second), unseen in _m2m_pairs((_M2M if variant == "paper" else _RELEASED)[config]):
        own = train[train["label"] == breed]
        counts = Counter(zip(own["environment"], own["background"], strict=True))
        assert counts == {("env_1", first): 80, ("env_2", second): 80}
        there = test[test["label"] == breed]
        assert Counter(there["background"]) == dict.fromkeys(unseen, 100)
    assert set(train["example_id"].str[0]) | set(test["example_id"].str[0]) == {"0"}


def test_table_2_is_the_papers(real_data):
    """The table typed above against the paper's, as numbers."""
    import json

    file = real_data.parent / "papers" / "tables.json"
    if not file.is_file():
        pytest.skip(f"the papers' tables are not at {file}")
    table = json.loads(file.read_bytes())["spawrious"]["table2"]
    for config, (generic, _) in _O2O.items():
        assert table[config]["generic"] == generic
        assert {b: [s, u] for b, _, s, u in _expected_o2o(config)} == {b: table[config][b] for b in _BREEDS}
    for config, text in _M2M.items():
        for breed, seen, unseen in _m2m_pairs(text):
            first, second, others = table[config][breed]
            assert (seen, unseen) == ([first, second], set(others))


def test_shares_of_the_release():
    """int(.97 * 3168) = 3072 and int(.87 * 3168) = 2756: 12,672 images an environment (the paper's sizes)."""
    parts = TABLE_2["o2o_hard"].slices(3168)
    sizes = Counter()
    for part in parts:
        sizes[part.environment] += part.last - part.first
    assert sizes == {"env_1": 12_672, "env_2": 12_672, "test": 25_344}
    assert {part.last for part in parts} == {3072, 96, 2756, 412, 3168}


def test_partial_is_noted_and_strict_refuses(hundred):
    data = load_dataset("spawrious", "o2o_hard", data_dir=hundred)
    assert BuildRecord.of(data["test"].info).notes == ("partial: 100 of 3,168 images in each folder",)
    with pytest.raises(oochub.OochubError, match="strict=True"):
        load_dataset("spawrious", "o2o_hard", data_dir=hundred, strict=True)
    with pytest.raises(oochub.OochubError, match="'paper' or 'released'"):
        load_dataset("spawrious", "o2o_hard", data_dir=hundred, variant="code")


def test_unequal_folders_are_named(hundred, tmp_path):
    import shutil

    root = tmp_path / "raw"
    shutil.copytree(hundred, root, copy_function=lambda source, target: Path(target).hardlink_to(source))
    (root / "spawrious224" / "0" / "snow" / "corgi" / "snow_corgi_7.png").unlink()
    shutil.rmtree(root / "spawrious224" / "1" / "dirt" / "bulldog")
    with pytest.raises(oochub.OochubError, match=r"1/dirt/bulldog has 0") as error:
        load_dataset("spawrious", "m2m_easy", data_dir=root)
    assert "0/snow/corgi has 99" in str(error.value)


def test_numeric_order_not_lexical(hundred):
    """9 comes before 10: the first 97 files of a folder are 1 to 97."""
    data = load_dataset("spawrious", "o2o_hard", data_dir=hundred)
    ids = [i for i in data["train"]["example_id"] if i.startswith("0/jungle/bulldog/")]
    assert [int(i.rpartition("/")[2]) for i in ids] == list(range(1, 97 - 19 + 1))


def test_a_build_without_a_row_says_where_nothing_was_found(hundred, tmp_path, monkeypatch):
    """`datasets` alone says: Instruction "train" corresponds to no data!"""
    monkeypatch.setattr(Spawrious, "_generate_tables", lambda self, root, shards: iter(()))
    builder = Spawrious(config_name="o2o_hard", data_dir=str(hundred), cache_dir=str(tmp_path))
    with pytest.raises(oochub.OochubError, match=r"spawrious/o2o_hard has no row in train, validation, test: nothing"):
        builder.download_and_prepare()
