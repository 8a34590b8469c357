"""The Spawrious builder: every challenge's composition against Table 2, the released variant, wrong folders."""

import tarfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.spawrious_compositions import RELEASED, TABLE_2
from oochub.builders.sources.spawrious_files import SpawriousFiles
from oochub.builders.spawrious import Spawrious
from oochub.records.build_record import BuildRecord

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


# Files of the release, by hand: 0.97 x 3168 = 3072.96 and 0.87 x 3168 = 2756.16, rounded down; 96 and 412 are left.
# A fifth of each, rounded down, is validation: 614 of 3072, 19 of 96, 551 of 2756, 82 of 412, 633 of 3168.
_OF_SHARES = {
    ("env_1", "spurious"): (2458, 614),
    ("env_1", "generic"): (77, 19),
    ("env_2", "spurious"): (2205, 551),
    ("env_2", "generic"): (330, 82),
}
_OF_WHOLE = (2535, 633)


def _released_counts(variant, config):
    """(split, environment, breed, background) to files, from the tables typed above."""
    counts = Counter()
    if config in _O2O:
        for breed, generic, spurious, unseen in _expected_o2o(config):
            for (environment, kind), (train, validation) in _OF_SHARES.items():
                place = spurious if kind == "spurious" else generic
                counts["train", environment, breed, place] += train
                counts["validation", environment, breed, place] += validation
            counts["test", "test", breed, unseen] += 6336
        return counts
    for breed, seen, unseen in _m2m_pairs((_M2M if variant == "paper" else _RELEASED)[config]):
        for environment, place in zip(("env_1", "env_2"), seen, strict=True):
            counts["train", environment, breed, place] += _OF_WHOLE[0]
            counts["validation", environment, breed, place] += _OF_WHOLE[1]
        for place in unseen:
            counts["test", "test", breed, place] += 3168
    return counts


def _rows_without_pictures(folder, config, **options):
    """(split, environment, breed, background, id) of every row, no image read."""
    builder = Spawrious(config_name=config, data_dir=str(folder), **options)
    for generator in builder._split_generators(None):
        for shard in generator.gen_kwargs["shards"]:
            table = pa.ipc.open_stream(shard).read_all()
            columns = (table.column(c).to_pylist() for c in ("environment", "label", "background", "example_id"))
            yield from ((str(generator.name), *row) for row in zip(*columns, strict=True))


@pytest.fixture(scope="module", params=["folders", "tar"])
def release(request, tmp_path_factory) -> Path:
    """All 152,064 names of the release and files without bytes: in folders, or in one tar as it is published."""
    root = tmp_path_factory.mktemp(request.param)
    if request.param == "tar":
        with (root / "spawrious224__entire_dataset.tar").open("wb") as file:
            for repeat, place, breed, k in _release_names():
                name = f"spawrious224/{repeat}/{place}/{breed}/{place}_{breed}_{k}.png"
                file.write(tarfile.TarInfo(name).tobuf(tarfile.USTAR_FORMAT))
            file.write(bytes(2 * tarfile.BLOCKSIZE))
        return root
    for repeat, place, breed, k in _release_names():
        folder = root / "spawrious224" / str(repeat) / place / breed
        if k == 1:
            folder.mkdir(parents=True)
        (folder / f"{place}_{breed}_{k}.png").touch()
    return root


def _release_names():
    for repeat in (0, 1, "domain_adaptation_ds"):
        for place in _BACKGROUNDS:
            for breed in _BREEDS:
                yield from ((repeat, place, breed, k) for k in range(1, 3169) if repeat in (0, 1) or k == 1)


@pytest.mark.campaign
def test_every_count_of_the_release(release, monkeypatch):
    """Each challenge in both variants by split, environment, breed and background; planted: 0.86 in environment 2."""
    files = SpawriousFiles.find(release)  # once: a tar has 152,064 headers
    monkeypatch.setattr(SpawriousFiles, "find", lambda folder, *, within: files)
    for variant in ("paper", "released"):
        for config in (*_O2O, *_M2M):
            rows = list(_rows_without_pictures(release, config, variant=variant, strict=True))
            counts = Counter(row[:4] for row in rows)
            assert counts == _released_counts(variant, config), (variant, config)
            sums = Counter()
            for (split, environment, breed, _), count in counts.items():
                sums["test" if split == "test" else environment] += count
                sums[breed, split == "test"] += count
            assert sums == {"env_1": 12_672, "env_2": 12_672, "test": 25_344} | {
                (breed, is_test): 6336 for breed in _BREEDS for is_test in (True, False)
            }
            assert len({row[4] for row in rows}) == len(rows) == 50_688
    every = list(_rows_without_pictures(release, "all", strict=True))
    assert len(every) == len({row[4] for row in every}) == 152_064
    of_cell = Counter(row[:4] for row in every)
    assert set(of_cell.values()) == {3168} and len(of_cell) == 48


@pytest.mark.parametrize("variant", ["paper", "released"])
def test_shares_of_the_release(variant):
    """Each challenge by split, environment, breed and background of 3,168 files a folder, validation in training."""
    for config in (*_O2O, *_M2M):
        counts, expected = Counter(), Counter()
        for part in (TABLE_2 if variant == "paper" else RELEASED)[config].slices(3168):
            counts[part.split, part.environment, part.breed, part.background] += part.last - part.first
        for (split, *cell), count in _released_counts(variant, config).items():
            expected["test" if split == "test" else "train", *cell] += count
        assert counts == expected, config


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


def test_a_build_without_a_row_says_where_nothing_was_found(hundred, tmp_path, monkeypatch):
    """`datasets` alone says: Instruction "train" corresponds to no data!"""
    monkeypatch.setattr(Spawrious, "_generate_tables", lambda self, root, shards: iter(()))
    builder = Spawrious(config_name="o2o_hard", data_dir=str(hundred), cache_dir=str(tmp_path))
    with pytest.raises(oochub.OochubError, match=r"spawrious/o2o_hard has no row in train, validation, test, of 0"):
        builder.download_and_prepare()


@pytest.fixture(scope="module")
def every(hundred):
    return load_dataset("spawrious", "all", data_dir=hundred)


def test_all_has_every_image_once(every):
    """Its columns in order; index counts from 0 in numeric order, and repeat is the environment."""
    assert list(every) == ["full"]
    columns = ["example_id", "image", "label", "environment", "group", "background", "repeat", "index"]
    assert list(every["full"].features) == columns
    rows = _rows(every, "full")
    assert len(rows) == rows["example_id"].nunique() == 4800
    assert set(zip(rows["environment"], rows["repeat"], strict=True)) == {("repeat_0", 0), ("repeat_1", 1)}
    assert (rows["example_id"].str.rpartition("/")[2].astype(int) == rows["index"] + 1).all()
    assert (rows["group"] == rows["label"] + "/" + rows["background"]).all()


@pytest.mark.parametrize(
    ("variant", "config"), [*(("paper", c) for c in TABLE_2), *(("released", c) for c in _RELEASED)]
)
def test_a_challenge_is_a_selection_of_all(hundred, every, variant, config):
    """By breed, background, repeat and index alone, with equal labels; planted: env_2 from the files after env_1's."""
    data = load_dataset("spawrious", config, data_dir=hundred, variant=variant)
    rows = _rows(every, "full").set_index("example_id")
    wanted = {"train": set(), "test": set()}
    for part in (TABLE_2 if variant == "paper" else RELEASED)[config].slices(_N):
        chosen = (rows["label"] == part.breed) & (rows["background"] == part.background)
        chosen &= (rows["repeat"] == part.repeat) & rows["index"].between(part.first, part.last - 1)
        wanted[part.split] |= set(rows.index[chosen])
    got = {split: _rows(data, split).set_index("example_id") for split in data}
    assert set(got["train"].index) | set(got["validation"].index) == wanted["train"]
    assert not set(got["train"].index) & set(got["validation"].index)
    assert set(got["test"].index) == wanted["test"]
    for part in got.values():
        for column in ("label", "group", "background"):
            assert (part[column] == rows.loc[part.index, column]).all()


def test_a_composition_of_ones_own(hundred, tmp_path):
    """Counts by hand, names of environments of one's own; another content of the file is another build."""
    file = tmp_path / "dogs.toml"
    file.write_text(
        'about = "Two breeds."\n[city]\nsplit = "train"\nrepeats = [0]\nbulldog = { snow = 0.7, beach = 0.3 }\n'
        'corgi = { beach = 0.5 }\n[field]\nsplit = "test"\nrepeats = [0, 1]\nbulldog = { beach = 0.6 }\n'
    )
    data = load_dataset("spawrious", "composed", data_dir=hundred, composition=file)
    assert data["train"].features["environment"].names == ["city", "field"]
    counts = {split: Counter(_rows(data, split)["group"]) for split in data}
    assert counts["train"] == {"bulldog/snow": 56, "bulldog/beach": 24, "corgi/beach": 40}
    assert counts["validation"] == {"bulldog/snow": 14, "bulldog/beach": 6, "corgi/beach": 10}
    assert counts["test"] == {"bulldog/beach": 120}
    first = [i for i in data["test"]["example_id"] if i.startswith("0/")]
    assert [int(i.rpartition("/")[2]) for i in first] == list(range(31, 91))  # after the 30 of training
    record = BuildRecord.of(data["test"].info)
    assert "a composition of one's own, not of Table 2: Two breeds." in record.notes
    assert record.facts.other["composition"].startswith('about = "Two breeds."')
    file.write_text(file.read_text().replace("0.7", "0.6"))
    again = load_dataset("spawrious", "composed", data_dir=hundred, composition=str(file))
    assert Counter(_rows(again, "train")["group"])["bulldog/snow"] == 48


def test_options_of_another_config(hundred, tmp_path):
    for config, options, words in (
        ("composed", {}, "spawrious/composed needs its composition"),
        ("composed", {"composition": str(tmp_path / "no.toml")}, "there is no such file"),
        ("o2o_easy", {"composition": _toml(tmp_path)}, "composition is only for the config composed"),
        ("all", {"variant": "released"}, "variant='released' renames the six challenges; leave it out for all"),
        ("all", {"strict": True}, "strict=True, but"),
    ):
        with pytest.raises(oochub.OochubError, match=words):
            load_dataset("spawrious", config, data_dir=hundred, **options)


def _toml(folder: Path) -> str:
    (folder / "easy.toml").write_text(TABLE_2["o2o_easy"].toml)
    return str(folder / "easy.toml")


def test_a_challenge_as_a_composition_has_its_rows(hundred, tmp_path):
    """The TOML of O2O-Easy builds the rows of o2o_easy in their order."""
    composed = load_dataset("spawrious", "composed", data_dir=hundred, composition=_toml(tmp_path))
    challenge = load_dataset("spawrious", "o2o_easy", data_dir=hundred)
    for split, part in challenge.items():
        assert composed[split]["example_id"] == part["example_id"]
        assert composed[split].features == part.features
