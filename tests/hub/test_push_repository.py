"""Benchmarks and built data go to the Hub and back: rows, bytes, cards, records; what is left out; what is refused."""

import datasets
import pytest
import yaml
from row_digest import row_digest
from tried_configs import tried_few

import oochub
from oochub.builders.sources.spawrious_compositions import TABLE_2
from oochub.errors import OochubError, OochubWarning
from oochub.hub.push_repository import push_repository
from oochub.records.build_record import BuildRecord, drop_build_column

HERE = "datasets/user/data"


def rows_of(part):
    """The rows as Python's values, images as their bytes."""
    pictures = [name for name, feature in part.features.items() if isinstance(feature, datasets.Image)]
    for name in pictures:
        part = part.cast_column(name, datasets.Image(decode=False))
    return [{name: _value(value) for name, value in row.items()} for row in part]


def _value(value):
    return value["bytes"] if isinstance(value, dict) and set(value) == {"bytes", "path"} else repr(value)


@pytest.mark.slow
@pytest.mark.parametrize("tried", tried_few(pytest.mark.campaign))
def test_every_benchmark_comes_back(hub, raw, tried):
    """Pushed, loaded by plain `datasets`, streamed. Planted faults: labels as numbers; one image's bytes for all."""
    name, config = "/".join(tried), tried[1]
    given = {"data_dir": str(raw(name)), **({"options": {"strict": False}} if tried[0] == "imagenet_ood" else {})}
    assert oochub.push(name, "user/data", **given).is_change
    assert not oochub.push(name, "user/data", **given).is_change
    built = oochub.load(name, **given)
    back = datasets.load_dataset("user/data", config)
    assert set(back) == set(built)
    for split, part in built.items():
        assert drop_build_column(back[split]).features == part.features
        expected = row_digest(part)
        assert row_digest(back[split]) == expected
        streamed = datasets.load_dataset("user/data", config, split=split, streaming=True)
        assert row_digest(streamed) == expected
    of_hub = oochub.load("user/data", config=config)
    for part in (back, of_hub):
        assert BuildRecord.of(part[next(iter(part))].info) == BuildRecord.of(built[next(iter(built))].info)


@pytest.mark.slow
def test_filters_give_what_filtering_after_gives(hub, raw, tmp_path):
    """By the statistics of the files. Planted fault: a card that counts the rows, which `datasets` compares."""
    oochub.push("nooch/ce_car", "user/data", data_dir=str(raw("nooch/ce_car")), out=tmp_path / "kept")
    whole = datasets.load_dataset("user/data", "ce_car", split="test")
    after = rows_of(whole.filter(lambda row: row["challenge"] == 1))
    for place, streaming in (("user/data", False), ("user/data", True), (str(tmp_path / "kept"), False)):
        before = datasets.load_dataset(
            place, "ce_car", split="test", streaming=streaming, filters=[("challenge", "==", 1)]
        )
        assert rows_of(before) == after and 0 < len(after) < len(whole)


@pytest.mark.slow
def test_configs_come_one_after_the_other(hub, raw):
    """Card and tasks know both, in whichever order; a second push makes no commit."""
    data = {"data_dir": str(raw("spawrious/o2o_hard"))}
    push_repository("spawrious", "user/data", configs=["o2o_hard"], **data)
    push_repository("spawrious", "user/data", configs=["m2m_hard"], **data)
    assert datasets.get_dataset_config_names("user/data") == ["m2m_hard", "o2o_hard"]
    card = hub.content(HERE, "README.md")
    tasks = yaml.safe_load(hub.content(HERE, "eval.yaml"))["tasks"]
    assert {task["config"] for task in tasks} == {"m2m_hard", "o2o_hard"}
    for config in ("o2o_hard", "m2m_hard"):
        assert not push_repository("spawrious", "user/data", configs=[config], **data).is_change
    push_repository("spawrious", "user/other", configs=["m2m_hard", "o2o_hard"], **data)
    assert hub.content("datasets/user/other", "README.md") == card.replace(b"user/data", b"user/other")
    for name in ("build.json", "eval.yaml", "croissant.json"):
        assert hub.content("datasets/user/other", name) == hub.content(HERE, name)
    assert b"o2o_hard_accuracy" in hub.content(HERE, "eval.yaml")
    assert len(datasets.load_dataset("user/data", "m2m_hard")["train"])


def test_the_card_says_what_the_hub_wants(hub, raw):
    """Planted faults: the sentence of the license as its name; no size."""
    from huggingface_hub import DatasetCard

    oochub.push("nooch/ce_car", "user/data", data_dir=str(raw("nooch/ce_car")))
    data = DatasetCard(hub.content(HERE, "README.md").decode()).data
    assert data.license == "other" and data["license_name"] == "nooch-images-and-labels"
    assert data["license_link"] == "LICENSE.md" and data["size_categories"] == ["n<1K"]
    assert data["task_categories"] == ["image-classification"]
    words = hub.content(HERE, "LICENSE.md").decode()
    assert "Flickr terms of use" in words and "CC BY 4.0" in words


@pytest.mark.slow
@pytest.mark.parametrize("seeds", [range(1), pytest.param(range(1, 4), marks=pytest.mark.campaign)])
def test_a_hub_that_fails_every_fifth_time(hub, raw, monkeypatch, seeds):
    """The second configuration, which reads the card that is there. Planted fault: an unread card is taken for none."""
    for module in ("hub.upload", "remote.remote_repository"):
        monkeypatch.setattr(f"oochub.{module}._PATIENCE", 0.5)
    monkeypatch.setattr("oochub.hub.upload._WAIT", 0.01)
    hub.hang = 1.0
    data = {"data_dir": str(raw("spawrious/o2o_hard"))}
    push_repository("spawrious", "user/data", configs=["o2o_hard"], **data)
    before = {name: hub.content(HERE, name) for name in hub.files(HERE)}
    for seed in seeds:
        hub.faults(rate=0.2, seed=seed)
        try:
            push_repository("spawrious", "user/data", configs=["m2m_hard"], **data)
        except OochubError as error:
            assert "push again" in str(error).lower()
        hub.faults(rate=0.0)
        there = {name: hub.content(HERE, name) for name in hub.files(HERE)}
        assert there == before or datasets.get_dataset_config_names("user/data") == ["m2m_hard", "o2o_hard"]
    push_repository("spawrious", "user/data", configs=["m2m_hard"], **data)
    assert len(datasets.load_dataset("user/data", "m2m_hard")) == len(datasets.load_dataset("user/data", "o2o_hard"))


@pytest.mark.slow
def test_a_build_of_the_cache_is_taken_when_it_is_whole(hub, raw, monkeypatch):
    """Planted fault: a folder that lost a file is pushed without it."""
    from oochub.storage.cache import clear, list_caches

    data = {"data_dir": str(raw("spawrious/o2o_hard"))}
    oochub.push("spawrious/o2o_hard", "user/data", **data)
    built = []
    of_hub = "oochub.hub.push_repository.build_parquet"
    from oochub.hub import push_repository as module

    build = module.build_parquet
    monkeypatch.setattr(of_hub, lambda name, *rest, **more: built.append(name) or build(name, *rest, **more))
    assert not oochub.push("spawrious/o2o_hard", "user/data", **data).is_change and not built
    (found,) = list_caches("pushes")
    clear(found.entries[:1])
    assert not oochub.push("spawrious/o2o_hard", "user/data", **data).is_change and built == ["spawrious/o2o_hard"]


@pytest.mark.slow
def test_built_by_two_processes_the_same(hub, raw, tmp_path, monkeypatch):
    """Rows and order. Planted fault: the files of a split named without their order."""
    data_dir = str(raw("nooch/ce_car"))
    oochub.push("nooch/ce_car", "user/data", data_dir=data_dir)
    oochub.push("nooch/ce_car", "user/two", data_dir=data_dir, num_proc=2, out=tmp_path / "two")
    one, two = (datasets.load_dataset(name, "ce_car") for name in ("user/data", "user/two"))
    assert {split: rows_of(part) for split, part in one.items()} == {s: rows_of(part) for s, part in two.items()}


def test_own_data_come_back(hub, tmp_path):
    """Planted fault: a repository without a build record is taken for none of ours."""
    from own_data import picture_folder

    from oochub.repository.write_repository import write_user_repository
    from oochub.settings.data_settings import DataSettings

    picture_folder(tmp_path / "birds")
    settings = DataSettings(label="species", context="place")
    write_user_repository(str(tmp_path / "birds"), tmp_path / "built", settings=settings)
    oochub.push(tmp_path / "built", "user/data")
    assert "eval.yaml" not in hub.files(HERE)
    card = hub.content(HERE, "README.md")
    assert b"task_categories:\n- image-classification" in card and b"size_categories:\n- n<1K" in card
    mine, back = oochub.load(tmp_path / "built"), datasets.load_dataset("user/data")
    assert {split: rows_of(part) for split, part in back.items()} == {s: rows_of(part) for s, part in mine.items()}


@pytest.mark.slow
def test_without_images_and_joined_again(hub, raw):
    """Planted faults: the images stay; an image by its name alone; the column at the end."""
    folder = raw("spawrious/o2o_hard")
    oochub.push("spawrious/o2o_hard", "user/data", data_dir=str(folder), without_images=True)
    bare = datasets.load_dataset("user/data", "o2o_hard")
    assert "image" not in bare["train"].features and sum(map(len, bare["train"]["image_sha256"])) % 64 == 0
    assert "images are left out" in hub.content(HERE, "README.md").decode()
    record = BuildRecord.of(bare["train"].info)
    assert "the images are left out" in record.notes[-1]
    built = oochub.load("spawrious/o2o_hard", data_dir=str(folder))
    for pictures in (folder, built):
        joined = oochub.join_images(bare, pictures)
        assert joined["train"].features == built["train"].features
        assert {split: rows_of(part) for split, part in joined.items()} == {s: rows_of(p) for s, p in built.items()}
        assert BuildRecord.of(joined["train"].info) == BuildRecord.of(built["train"].info)


def test_what_is_no_repository(hub, tmp_path, raw):
    """Planted fault: the folder looked at after the Hub was asked."""
    (tmp_path / "some").mkdir()
    with pytest.raises(OochubError, match=r"is not a repository: it has no README.md with build.json"):
        oochub.push(tmp_path / "some", "user/data")
    with pytest.raises(OochubError, match="Nothing to push at 'nooc'"):
        oochub.push("nooc", "user/data")
    with pytest.raises(OochubError, match="No config of nooch named 'ce_czr'"):
        oochub.push("nooch/ce_czr", "user/data")
    with pytest.raises(OochubError, match="is not a benchmark: remove data_dir="):
        oochub.push(tmp_path / "some", "user/data", data_dir=".")
    assert not hub.requests


@pytest.mark.slow
def test_shards_go_too(hub, raw, tmp_path):
    """A folder of `oochub build --format webdataset`. Planted fault: only *.parquet is taken."""
    from oochub.loading_scripts.build_repository import build_webdataset

    data_dir = str(raw("spawrious/o2o_hard"))
    build_webdataset("spawrious/o2o_hard", tmp_path / "shards", data_dir=data_dir)
    oochub.push(tmp_path / "shards", "user/data")
    assert [name for name in hub.files(HERE) if name.endswith(".tar")]
    back, mine = oochub.load("user/data", config="o2o_hard"), oochub.load(tmp_path / "shards", config="o2o_hard")
    assert {split: len(part) for split, part in back.items()} == {split: len(part) for split, part in mine.items()}
    with pytest.raises(OochubError, match="left out of Parquet only"):
        oochub.push(tmp_path / "shards", "user/bare", without_images=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", ["../secret.parquet", "/etc/hostname", "o2o_hard/link.parquet"])
def test_a_card_of_somebody_else_sends_no_file_from_elsewhere(hub, raw, tmp_path, path):
    """Planted fault: the paths of a card taken as they are."""
    from oochub.loading_scripts.build_repository import build_parquet

    folder = build_parquet("spawrious/o2o_hard", tmp_path / "built", data_dir=str(raw("spawrious/o2o_hard")))
    (tmp_path / "secret.parquet").write_bytes(b"secret")
    (folder / "o2o_hard" / "link.parquet").symlink_to(tmp_path / "secret.parquet")
    (folder / "o2o_hard" / "notes.txt").write_text("not named by the card")
    assert "o2o_hard/notes.txt" not in oochub.push(folder, "user/data").added
    card = (folder / "README.md").read_text()
    (folder / "README.md").write_text(card.replace("path: o2o_hard/test-", f"path: {path}\n#"))
    for without_images in (False, True):
        with pytest.raises(OochubError, match="leads out of"):
            oochub.push(folder, "user/other", without_images=without_images)
    assert "datasets/user/other" not in hub.store.repositories


@pytest.mark.slow
def test_all_configs_but_those_that_need_an_option(hub, raw, tmp_path):
    """Terminal and card say which is left out, until it is there. Written against: an error after six builds."""
    data = {"data_dir": str(raw("spawrious/o2o_hard"))}
    with pytest.warns(OochubWarning, match="Left out of the push: composed. It needs its option composition"):
        push_repository("spawrious", "user/data", **data)
    every = [*TABLE_2, "all"]
    assert datasets.get_dataset_config_names("user/data") == sorted(every)
    assert "- `composed`: left out. It needs its option composition." in hub.content(HERE, "README.md").decode()
    with pytest.warns(OochubWarning, match="composed"):
        assert not push_repository("spawrious", "user/data", **data).is_change
    (tmp_path / "own.toml").write_text(TABLE_2["o2o_easy"].toml)
    composition = {"composition": str(tmp_path / "own.toml")}
    push_repository("spawrious", "user/data", configs=["composed"], options=composition, **data)
    assert "left out" not in hub.content(HERE, "README.md").decode()
    with pytest.warns(OochubWarning, match="composed"):
        assert not push_repository("spawrious", "user/data", **data).is_change
    assert datasets.get_dataset_config_names("user/data") == sorted([*every, "composed"])
