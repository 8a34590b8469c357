"""Pushed repositories carry the digests of their files: a push compares them, and so does who loads from the Hub."""

import json
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard, HfApi, hf_hub_download

import oochub
from oochub.data.build_file import BuildFile, ConfigFiles
from oochub.errors import OochubError
from oochub.loading_scripts.build_repository import build_parquet, build_webdataset
from oochub.records.build_record import BuildRecord
from oochub.records.schema import from_json
from oochub.repository.repository_card import describe_columns

_NAME = "spawrious/o2o_easy"
_DATA = {"repo_id": "user/data", "repo_type": "dataset"}


@pytest.fixture(params=["parquet", "webdataset"])
def built(request, raw, tmp_path) -> Path:
    """A benchmark as a repository, as Parquet and as shards."""
    build = {"parquet": build_parquet, "webdataset": build_webdataset}[request.param]
    return build(_NAME, tmp_path / "built", data_dir=str(raw("spawrious")))


def _shard(built: Path) -> Path:
    return sorted(built.glob("o2o_easy/test-*"))[0]


def _notes(data) -> tuple[str, ...]:
    return BuildRecord.of(data["test"].info).notes


def _names(data) -> list[str]:
    return data["test"].features["label"].int2str(data["test"]["label"][:])


def _flipped(shard: Path) -> None:
    """Its last class number in place of each other; of a tar one byte of the first JSON."""
    if shard.read_bytes().startswith(b"PAR1"):
        table = pq.read_table(shard)
        labels = table.column("label").combine_chunks().to_pylist()[::-1]
        pq.write_table(table.set_column(table.column_names.index("label"), "label", [labels]).cast(table.schema), shard)
    else:
        content = shard.read_bytes()
        assert re.search(rb'"label":\d', content)
        shard.write_bytes(re.sub(rb'"label":(\d)', lambda m: b'"label":%d' % ((int(m[1]) + 1) % 4), content))


@pytest.mark.slow
def test_what_was_pushed_is_compared_when_it_is_loaded(hub, built, raw):
    """Fresh, from the cache, and where its copy here was changed. Planted fault: a commit that is trusted alone."""
    source = _names(oochub.load(_NAME, data_dir=str(raw("spawrious"))))
    oochub.push(built, "user/data")
    for _ in range(2):
        data = oochub.load("user/data", config="o2o_easy")
        assert _names(data) == source and not any("not checked" in note for note in _notes(data))
    path = _shard(built).relative_to(built).as_posix()
    here = Path(hf_hub_download(filename=path, **_DATA)).resolve()
    content = here.read_bytes()
    here.unlink()
    here.write_bytes(content)
    _flipped(here)
    with pytest.raises(OochubError, match=rf"{_shard(built).name} .*build\.json.*Remove it from the Hub's cache"):
        oochub.load("user/data", config="o2o_easy")
    here.unlink()
    assert _names(oochub.load("user/data", config="o2o_easy")) == source


@pytest.mark.slow
def test_a_changed_shard_on_the_hub_is_refused(hub, built):
    """By its next commit. Planted fault: digests that are looked at in folders alone."""
    oochub.push(built, "user/data")
    oochub.load("user/data")
    path = _shard(built).relative_to(built).as_posix()
    _flipped(_shard(built))
    HfApi().upload_file(path_or_fileobj=_shard(built), path_in_repo=path, **_DATA)
    with pytest.raises(OochubError, match=rf"{_shard(built).name} (is corrupted|has [\d,]+ bytes).*build\.json"):
        oochub.load("user/data")


@pytest.mark.slow
def test_names_that_were_swapped_on_the_hub_change_no_label(hub, built, raw):
    """The build's are used, and a note says so."""
    source = _names(oochub.load(_NAME, data_dir=str(raw("spawrious"))))
    oochub.push(built, "user/data")
    whole = DatasetCard.load(built / "README.md")  # with columns, as the cards of earlier versions have them
    describe_columns(whole.data, "o2o_easy", BuildFile.read(built).files("o2o_easy").features)
    card = str(whole)
    swapped = re.sub(r"'0': (\w+)\n( +)'1': (\w+)\n", r"'0': \3\n\2'1': \1\n", card, count=1)
    assert swapped != card
    HfApi().upload_file(path_or_fileobj=swapped.encode(), path_in_repo="README.md", **_DATA)
    data = oochub.load("user/data", config="o2o_easy")
    assert _names(data) == source
    assert any("README.md describes" in note and "differently from the build" in note for note in _notes(data))


@pytest.mark.slow
def test_a_changed_shard_is_not_pushed(hub, built):
    """Planted fault: what the card names is sent as it is."""
    _flipped(_shard(built))
    with pytest.raises(OochubError, match=rf"{_shard(built).name} (is corrupted|has [\d,]+ bytes).*build\.json"):
        oochub.push(built, "user/data")
    assert "datasets/user/data" not in hub.store.repositories


@pytest.mark.slow
def test_pictures_that_are_left_out_leave_digests_that_fit(hub, raw):
    """Of the files that were pushed, not of those with images."""
    oochub.push(_NAME, "user/data", data_dir=str(raw("spawrious")), without_images=True)
    data = oochub.load("user/data", config="o2o_easy")
    assert "image_sha256" in data["test"].features and not any("not checked" in note for note in _notes(data))


@pytest.mark.slow
def test_a_hub_that_leads_out_of_the_snapshot_is_refused(hub, built):
    """A path of `build.json` with a digest that fits. Planted fault: a path taken as it is."""
    builds = json.loads((built / "build.json").read_text())
    written = builds["o2o_easy"]["written"]
    written["splits"]["test"][0]["path"] = "../../../secret.parquet"
    del written["digest"]
    written["digest"] = from_json(ConfigFiles, written, what="")._compute_digest()
    (built / "build.json").write_text(json.dumps(builds))
    HfApi().create_repo(**_DATA)
    HfApi().upload_folder(folder_path=built, **_DATA)
    with pytest.raises(OochubError, match=r"build\.json.*changed by hand"):
        oochub.load("user/data", config="o2o_easy")
