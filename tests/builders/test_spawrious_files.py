"""Spawrious from tar archives that stay packed: the rows of the folders, and what is refused."""

import hashlib
import io
import shutil
import tarfile
from pathlib import Path

import pytest
from datasets import Image as ImageFeature
from datasets import load_dataset
from PIL import Image

import oochub
from oochub.builders.sources.spawrious_compositions import BACKGROUNDS, BREEDS, TABLE_2
from oochub.loading_scripts.spawrious import spawrious
from oochub.records.build_record import BuildRecord

_N = 10
_ARCHIVE = "spawrious224__entire_dataset.tar"


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    root = tmp_path_factory.mktemp("spawrious_folder")
    for repeat in (0, 1):
        for b, background in enumerate(BACKGROUNDS):
            for y, breed in enumerate(BREEDS):
                place = root / "spawrious224" / str(repeat) / background / breed
                place.mkdir(parents=True)
                for k in range(1, _N + 1):
                    color = (40 * b + repeat, 60 * y, 20 * k)
                    Image.new("RGB", (2, 2), color).save(place / f"{background}_{breed}_{k}.png")
    return root


def _packed(folder: Path, file: Path, mode: str = "w") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(file, mode) as archive:
        archive.add(folder / "spawrious224", "spawrious224")
    return file


@pytest.fixture(scope="module")
def packed(folder, tmp_path_factory) -> Path:
    return _packed(folder, tmp_path_factory.mktemp("spawrious_packed") / _ARCHIVE).parent


def _digests(data) -> dict[str, str]:
    digests = {}
    for split, part in data.items():
        digest = hashlib.sha256()
        for row in part.cast_column("image", ImageFeature(decode=False)):
            digest.update(repr(sorted(row.items())).encode())
        digests[split] = digest.hexdigest()
    return digests


@pytest.mark.slow
@pytest.mark.parametrize("config", ["all", "o2o_hard", "m2m_medium"])
def test_a_tar_has_the_rows_of_the_folders(folder, packed, config):
    """Bytes, names and order, streamed too; planted faults seen: offsets of the header, files as the archive lists."""
    expected = _digests(load_dataset("spawrious", config, data_dir=folder))
    assert _digests(load_dataset("spawrious", config, data_dir=packed)) == expected
    assert _digests(load_dataset("spawrious", config, data_dir=packed, streaming=True)) == expected


@pytest.mark.slow
def test_a_tar_with_two_processes(folder, packed, tmp_path):
    expected = _digests(load_dataset("spawrious", "all", data_dir=folder))
    two = load_dataset("spawrious", "all", data_dir=packed, num_proc=2, cache_dir=str(tmp_path))
    assert _digests(two) == expected


@pytest.mark.slow
def test_several_archives_are_one_release(folder, packed, tmp_path):
    """An archive for each repeat, in another order of members; one that repeats them; archives in spawrious224/."""
    expected = _digests(load_dataset("spawrious", "o2o_easy", data_dir=folder))
    for repeat in (0, 1):
        with tarfile.open(tmp_path / f"spawrious224_{repeat}.tar", "w") as archive:
            for file in sorted((folder / "spawrious224" / str(repeat)).rglob("*.png"), reverse=True):
                archive.add(file, f"./spawrious224/{file.relative_to(folder / 'spawrious224')}")
    assert _digests(load_dataset("spawrious", "o2o_easy", data_dir=tmp_path)) == expected
    shutil.copy(packed / _ARCHIVE, tmp_path)
    assert _digests(load_dataset("spawrious", "o2o_easy", data_dir=tmp_path)) == expected
    mixed = tmp_path / "mixed"
    shutil.copytree(folder / "spawrious224" / "0", mixed / "spawrious224" / "0")
    with tarfile.open(mixed / "spawrious224" / "1.tar", "w") as archive:
        archive.add(folder / "spawrious224" / "1", "1")
    assert _digests(load_dataset("spawrious", "o2o_easy", data_dir=mixed)) == expected


@pytest.mark.slow
def test_of_folder_and_archive_the_folder_is_read(folder, tmp_path):
    """And the record says so, whatever the archive is; planted fault seen: both listed."""
    shutil.copytree(folder / "spawrious224", tmp_path / "spawrious224")
    (tmp_path / "spawrious224__entire_dataset.tar.gz").write_bytes(b"not read")
    data = load_dataset("spawrious", "all", data_dir=tmp_path)
    note = "read from the folder spawrious224/, not from spawrious224__entire_dataset.tar.gz beside it"
    assert note in BuildRecord.of(data["full"].info).notes
    assert _digests(data) == _digests(load_dataset("spawrious", "all", data_dir=folder))


def test_another_archive_beside_is_left_alone(packed, tmp_path):
    shutil.copy(packed / _ARCHIVE, tmp_path)
    (tmp_path / "coco.tar.gz").write_bytes(b"of something else")
    (tmp_path / "coco.tar").write_bytes(b"of something else")
    assert load_dataset("spawrious", "all", data_dir=tmp_path)["full"].num_rows == 48 * _N


def test_an_archive_of_one_challenge_names_what_it_lacks(folder, tmp_path):
    with tarfile.open(tmp_path / "spawrious224__o2o_easy.tar", "w") as archive:
        archive.add(folder / "spawrious224" / "0" / "desert", "spawrious224/0/desert")
    with pytest.raises(
        oochub.OochubError, match=r"may be truncated, or hold only one challenge: get .*entire_dataset"
    ) as error:
        load_dataset("spawrious", "o2o_easy", data_dir=tmp_path)
    assert "1/snow/corgi has 0" in str(error.value) and "Most hold 10" in str(error.value)


def test_a_changed_archive_is_read_anew(packed, folder, tmp_path):
    shutil.copy(packed / _ARCHIVE, tmp_path)
    before = load_dataset("spawrious", "all", data_dir=tmp_path)
    picture = io.BytesIO()
    Image.new("RGB", (2, 2), (1, 2, 3)).save(picture, "PNG")
    with tarfile.open(tmp_path / _ARCHIVE, "a") as archive:
        for repeat in (0, 1):
            for background in BACKGROUNDS:
                for breed in BREEDS:
                    info = tarfile.TarInfo(f"spawrious224/{repeat}/{background}/{breed}/{background}_{breed}_11.png")
                    info.size = len(picture.getvalue())
                    archive.addfile(info, io.BytesIO(picture.getvalue()))
    after = load_dataset("spawrious", "all", data_dir=tmp_path)
    assert (before["full"].num_rows, after["full"].num_rows) == (480, 528)


@pytest.mark.slow
def test_the_loading_script_gives_each_config_its_options(packed, tmp_path):
    """Planted fault seen: the variant given to `all`, which refuses it."""
    (tmp_path / "medium.toml").write_text(TABLE_2["m2m_medium"].toml)
    spawrious(
        data_dir=packed,
        out=tmp_path / "built",
        config=["all", "composed", "m2m_easy"],
        variant="released",
        composition=str(tmp_path / "medium.toml"),
        strict=False,
    )
    built = {name: load_dataset(str(tmp_path / "built"), name) for name in ("all", "composed", "m2m_easy")}
    assert built["all"]["full"].num_rows == 480
    for split in ("train", "validation", "test"):  # the released code's easy is the paper's medium
        assert built["composed"][split]["example_id"] == built["m2m_easy"][split]["example_id"]
