"""What `oochub` wrote is compared with its digests when it is loaded: of here, after a cache, from the Hub."""

import hashlib
import io
import json
import os
import re
import shutil
import tarfile
from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
from huggingface_hub import DatasetCard
from own_data import ROWS, picture_folder
from PIL import Image

import oochub
from oochub.data.build_file import BuildFile, ConfigFiles, RepositoryFiles, read_record, store_record
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord
from oochub.repository.repository_card import describe_columns
from oochub.repository.write_repository import write_challenge_repository, write_user_repository
from oochub.settings.data_settings import DataSettings

_COLUMNS = DataSettings(label="species", context="place")
_CHANGED = r"{name} (is corrupted|has [\d,]+ bytes).*build\.json.*Copy it again, or build it again"


def _built(folder: Path, form: str) -> Path:
    """Own data as a repository in one of its forms."""
    source = folder / "source"
    if not source.exists():
        picture_folder(source)
    size = 500.0 if form == "webdataset" else None
    return write_user_repository(str(source), folder / form, settings=_COLUMNS, shard_size=size)


@pytest.fixture(params=["parquet", "webdataset"])
def built(request, tmp_path) -> Path:
    """A repository of own data, as Parquet and as shards."""
    return _built(tmp_path, request.param)


def _shard(repository: Path) -> Path:
    return sorted((repository / "data").glob("train-*"))[0]


def _rewritten(shard: Path, *, label=None, picture=None) -> None:
    """The shard with other labels or images, as a tool that knows the format writes it.

    The time of writing is as it was; the index is made to fit other labels.

    Args:
        shard: Parquet or tar.
        label: Of a label.
        picture: Of the bytes of an image.
    """
    state = shard.stat()
    if shard.suffix == ".parquet":
        table = pq.read_table(shard)
        rows = table.to_pylist()
        for row in rows:
            row["label"] = label(row["label"]) if label else row["label"]
            if picture:
                row["image"]["bytes"] = picture(row["image"]["bytes"])
        pq.write_table(type(table).from_pylist(rows, schema=table.schema), shard)
    else:
        with tarfile.open(shard) as archive:
            members = [(member, archive.extractfile(member).read()) for member in archive]
        with tarfile.open(shard, "w", format=tarfile.USTAR_FORMAT) as archive:
            for member, content in members:
                if member.name.endswith(".json"):
                    row = json.loads(content)
                    row["label"] = label(row["label"]) if label else row["label"]
                    content = json.dumps(row, separators=(",", ":")).encode()
                elif picture:
                    content = picture(content)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
        index = json.loads((shard.parent / "index.json").read_text())
        for listed in (each for split in index["datasets"] if label for each in split["shardlist"]):
            content = (shard.parent / listed["url"]).read_bytes()
            listed |= {"filesize": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        (shard.parent / "index.json").write_text(json.dumps(index, indent=1))
    os.utime(shard, ns=(state.st_atime_ns, state.st_mtime_ns))


def _flipped(shard: Path) -> None:
    _rewritten(shard, label=lambda label: 1 - label)


def _species(data) -> dict[str, str]:
    """The name of each row's class by its id."""
    names = data["train"].features["label"].names
    return {row["example_id"]: names[row["label"]] for row in data["train"].remove_columns("image")}


_SPECIES = {name: species for name, species, _ in ROWS}


def test_flipped_labels_are_refused(built):
    """By either format. Planted fault: digests that are written and not compared."""
    _flipped(_shard(built))
    with pytest.raises(OochubError, match=_CHANGED.format(name=_shard(built).name)):
        oochub.load(built)


@pytest.mark.parametrize("damage", [_flipped, lambda shard: shard.write_bytes(bytes(shard.stat().st_size))])
def test_a_cache_does_not_answer_for_a_shard_that_changed(built, damage):
    """Flipped, and garbage of the same size, after the original was loaded. Planted fault: size and time alone."""
    assert _species(oochub.load(built)) == _SPECIES
    damage(_shard(built))
    with pytest.raises(OochubError, match=_CHANGED.format(name=_shard(built).name)):
        oochub.load(built)


@pytest.mark.slow
def test_another_folder_of_the_same_name_has_its_own_rows(built, tmp_path):
    """A copy with the same card and names of files, and other rows: refused, and with digests that fit them its own."""
    assert _species(oochub.load(built)) == _SPECIES
    other = tmp_path / "copies" / built.name
    shutil.copytree(built, other)
    shards = sorted((other / "data").glob("train-*"))
    for shard in shards:
        _flipped(shard)
    with pytest.raises(OochubError, match=_CHANGED.format(name=_shard(built).name)):
        oochub.load(other)
    known = RepositoryFiles.find(built, None).written
    fitting = ConfigFiles.of(other, {"train": [f"data/{shard.name}" for shard in shards]}, known.features)
    store_record(other, "default", read_record(other, "default"), fitting)
    assert _species(oochub.load(other)) == {name: {"cat": "dog", "dog": "cat"}[was] for name, was in _SPECIES.items()}
    assert _species(oochub.load(built)) == _SPECIES


def test_what_plain_datasets_kept_of_a_changed_shard_is_not_taken(tmp_path):
    """Its cache goes by names. Planted fault: the cache of `datasets` under its own key."""
    built = _built(tmp_path, "parquet")
    shard = _shard(built)
    content = shard.read_bytes()
    _flipped(shard)
    datasets.load_dataset(str(built))
    shard.write_bytes(content)
    assert _species(oochub.load(built)) == _SPECIES


@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_swapped_names_of_the_card_change_no_label(tmp_path, form):
    """The build's names stay, and a note says so. Planted fault: the features of the card."""
    built = _built(tmp_path, form)
    if form == "parquet":  # as the cards of earlier versions have them
        whole = DatasetCard.load(built / "README.md")
        describe_columns(whole.data, "default", BuildFile.read(built).files("default").features)
        whole.save(built / "README.md")
    card = (built / "README.md").read_text()
    names = r"( +)'0': cat\n +'1': dog\n"
    assert len(re.findall(names, card)) == 1
    swapped = re.sub(names, r"\1'0': dog\n\1'1': cat\n", card)
    (built / "README.md").write_text(swapped)
    for _ in range(2):  # fresh, and from the cache
        data = oochub.load(built)
        assert _species(data) == _SPECIES
        (note,) = (note for note in _notes(data) if "README.md" in note)
        assert "label" in note and "build" in note and "context" not in note


def _notes(data) -> tuple[str, ...]:
    return BuildRecord.of(next(iter(data.values())).info).notes


def test_a_label_outside_its_classes_is_named(built):
    """Of a repository with digests, and of one without, as an earlier version wrote it."""
    _rewritten(_shard(built), label=lambda label: 99)
    with pytest.raises(OochubError, match=_CHANGED.format(name=_shard(built).name)):
        oochub.load(built)
    if built.name == "parquet":
        _aged(built)
        with pytest.raises(OochubError, match=r"label is 99 in row 0 of split train.*2 classes"):
            oochub.load(built)


def _aged(repository: Path) -> None:
    """The repository as an earlier version wrote it: without digests."""
    builds = json.loads((repository / "build.json").read_text())
    for build in builds.values():
        del build["written"]
    (repository / "build.json").write_text(json.dumps(builds))


def test_a_repository_of_an_earlier_version_loads_and_says_not_checked(built):
    """Planted fault: no note."""
    assert not any("not checked" in note for note in _notes(oochub.load(built)))
    _aged(built)
    data = oochub.load(built)
    assert _species(data) == _SPECIES and any("not checked" in note for note in _notes(data))


def _with_large_pictures(folder: Path, form: str) -> Path:
    """A repository of images of noise, which are worth being skipped."""
    picture_folder(folder / "source")
    noise = np.random.default_rng(0)
    for file in (folder / "source").glob("*.jpg"):
        Image.fromarray(noise.integers(0, 256, (192, 192, 3), dtype=np.uint8)).save(file, "JPEG", quality=100)
    return _built(folder, form)


def _rotten(shard: Path, at: bytes) -> None:
    """One bit of the first byte after such bytes is another; the time of writing stays."""
    content, state = bytearray(shard.read_bytes()), shard.stat()
    content[content.index(at) + len(at)] ^= 1
    shard.write_bytes(content)
    os.utime(shard, ns=(state.st_atime_ns, state.st_mtime_ns))


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "webdataset"])
def test_pictures_are_compared_where_it_is_asked(tmp_path, form):
    """Where size and times say that nothing changed, as after bit rot, images are read again only when asked.

    Labels and contexts are compared all the same. Planted faults: all that is skipped; nothing that is skipped.
    """
    built = _with_large_pictures(tmp_path, form)
    oochub.load(built)
    shard, content = _shard(built), _shard(built).read_bytes()
    (digest,) = (file for file in RepositoryFiles.find(built, None).written.files if file.path.endswith(shard.name))
    assert digest.without_pictures is not None
    _rotten(shard, b"\xff\xd8\xff\xe0")  # the begin of a JPEG
    digest.note_compared(built)  # as if the cache knew size and times
    assert _species(oochub.load(built)) == _SPECIES
    with pytest.raises(OochubError, match=_CHANGED.format(name=shard.name)):
        oochub.load(built, options={"verification_mode": "all_checks"})
    shard.write_bytes(content)
    _rotten(shard, b'"label":' if form == "webdataset" else b"PAR1")
    digest.note_compared(built)
    with pytest.raises(OochubError, match=_CHANGED.format(name=shard.name)):
        oochub.load(built)


def test_checks_are_left_out_where_it_is_asked(tmp_path):
    """And a note says so."""
    built = _built(tmp_path, "parquet")
    _flipped(_shard(built))
    data = oochub.load(built, options={"verification_mode": "no_checks"})
    assert _species(data) != _SPECIES and any("not checked" in note for note in _notes(data))
    with pytest.raises(OochubError, match=r"verification_mode named 'all_check'.*Did you mean 'all_checks'"):
        oochub.load(built, options={"verification_mode": "all_check"})


def test_other_files_than_the_build_has_are_refused(tmp_path):
    """A card that leaves a shard out, or gives it to another split."""
    built = _built(tmp_path, "parquet")
    card = (built / "README.md").read_text()
    (built / "README.md").write_text(card.replace("split: train", "split: test"))
    with pytest.raises(OochubError, match=r"README\.md and .* name different files for split (train|test)"):
        oochub.load(built)


@pytest.mark.parametrize(
    "text",
    [
        *("[]", "", "[" * 100_000, '{"default": {}}'),
        '{"default": {"benchmark": "a", "config": "b", "version": "c", "written": 3}}',
        '{"default": {"benchmark": "a", "config": "b", "version": "c", "written": {"splits": []}}}',
    ],
)
def test_an_odd_build_json_is_named(built, text):
    (built / "build.json").write_text(text)
    with pytest.raises(OochubError, match=r"build\.json"):
        oochub.load(built)


@pytest.mark.parametrize(
    "change",
    [
        lambda written: written["columns"]["label"]["names"].reverse(),
        lambda written: written["splits"].update(train=[]),
        lambda written: written["splits"]["train"][0].update(sha256="0" * 64),
        lambda written: written["splits"]["train"][0].update(path="../../elsewhere.parquet"),
    ],
)
def test_digests_that_were_changed_by_hand_are_named(tmp_path, change):
    built = _built(tmp_path, "parquet")
    builds = json.loads((built / "build.json").read_text())
    change(builds["default"]["written"])
    (built / "build.json").write_text(json.dumps(builds))
    with pytest.raises(OochubError, match=r"build\.json.*changed by hand"):
        oochub.load(built)


def test_what_an_error_says_makes_the_folder_ones_own(tmp_path):
    """The owner who changed a shard on purpose removes build.json and builds again; the notes stay."""
    built = _built(tmp_path, "parquet")
    _flipped(_shard(built))
    with pytest.raises(OochubError, match=r"on purpose, remove .*build\.json") as caught:
        oochub.load(built)
    assert re.search(r"`oochub build", str(caught.value))
    (built / "build.json").unlink()
    write_user_repository(str(built), tmp_path / "mine", settings=DataSettings(label="label", context="context"))
    data = oochub.load(tmp_path / "mine")
    assert _species(data) == {name: {"cat": "dog", "dog": "cat"}[species] for name, species in _SPECIES.items()}


@pytest.mark.parametrize("text", ['{"version": 3}', '{"mine": {"a": 1}}', '{"a": [], "b": {}}'])
def test_a_file_of_that_name_of_somebody_else_is_no_matter(tmp_path, text):
    """In a folder of own data, and above it. Planted fault: its only entry is taken for a configuration."""
    folder = picture_folder(tmp_path / "source")
    for place in (tmp_path, folder):
        (place / "build.json").write_text(text)
        data = oochub.load(folder, label="species", context="place")
        assert _species(data) == _SPECIES and not any("not checked" in note for note in _notes(data))


def test_a_challenge_set_is_compared_too(tmp_path):
    write_challenge_repository(
        str(picture_folder(tmp_path / "mine")),
        tmp_path / "set",
        "membership",
        {"value": "context", "allowed": ["grass"], "label": "label"},
        settings=_COLUMNS,
    )
    _flipped(_shard(tmp_path / "set"))
    with pytest.raises(OochubError, match=_CHANGED.format(name=_shard(tmp_path / "set").name)):
        oochub.load(tmp_path / "set")
