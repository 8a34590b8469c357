"""Reading a built WebDataset: own data as shards, images that stay in them, what is refused."""

import io
import os
import shutil
import tarfile
from pathlib import Path

import datasets
import pytest
from own_data import ROWS, jpeg, picture_folder
from PIL import Image

import oochub
from oochub.data.load import open_data
from oochub.data.shards import ShardIndex, ShardRows, find_image_column, find_shard_folder
from oochub.errors import OochubError
from oochub.inputs.pictures.stored_pictures import read_picture_bytes
from oochub.repository.write_repository import write_user_repository
from oochub.repository.write_webdataset import SplitRows, write_webdataset
from oochub.settings.data_settings import DataSettings
from oochub.storage.reading import TarMember

_COLUMNS = DataSettings(label="species", context="place")


@pytest.fixture
def shards(tmp_path):
    """Own data as shards."""
    return write_user_repository(
        str(picture_folder(tmp_path / "mine")), tmp_path / "shards", settings=_COLUMNS, shard_size=500.0
    )


def _undecoded(data):
    return {name: part.cast_column("image", datasets.Image(decode=False)) for name, part in data.items()}


def test_own_data_are_the_same_as_parquet(shards, tmp_path):
    parquet = write_user_repository(str(tmp_path / "mine"), tmp_path / "parquet", settings=_COLUMNS)
    one, other = _undecoded(oochub.load(shards)), _undecoded(oochub.load(parquet))
    assert one.keys() == other.keys()
    for split, part in one.items():
        assert part.features == other[split].features
        assert part.with_format("arrow")[:].equals(other[split].with_format("arrow")[:])
    description = [oochub.load(each)["train"].info.description.partition("\n")[2] for each in (shards, parquet)]
    assert description[0] == description[1]


def test_another_build_takes_its_place(shards, tmp_path):
    """In either form; planted: a repository with an index that is taken for someone's own folder."""
    write_user_repository(str(tmp_path / "mine"), shards, settings=_COLUMNS, shard_size=0.0001)
    write_user_repository(str(tmp_path / "mine"), shards, settings=_COLUMNS)
    assert not list(shards.rglob("*.tar")) and len(oochub.load(shards)["train"]) == len(ROWS)


def test_pictures_stay_in_the_shards(shards):
    """Planted: an offset that is that of the header."""
    whole = _undecoded(oochub.load(shards))
    for split, part in _undecoded(open_data(str(shards), DataSettings(), in_place=True).splits).items():
        for row, other in zip(part, whole[split], strict=True):
            assert row["image"]["bytes"] is None
            assert read_picture_bytes(row["image"], "") == other["image"]["bytes"]
            assert {**row, "image": 0} == {**other, "image": 0}


def test_a_shard_that_changed_after_it_was_opened(shards):
    row = _undecoded(open_data(str(shards), DataSettings(), in_place=True).splits)["train"][-1]
    member = TarMember.of(row["image"]["path"])
    os.truncate(member.archive, member.offset + 1)
    with pytest.raises(OochubError, match=r"train-00007-.*\.tar is truncated"):
        read_picture_bytes(row["image"], "row 7")
    Path(member.archive).unlink()
    with pytest.raises(OochubError, match=r"Cannot read .*train-00007-.*\.tar"):
        read_picture_bytes(row["image"], "row 7")


@pytest.mark.parametrize("in_place", [False, True])
def test_shards_that_are_not_those_of_the_index(shards, in_place):
    """Also after they were read once, and cached."""

    def read():
        return open_data(str(shards), DataSettings(), in_place=in_place).splits

    read()
    first, second = sorted(shards.glob("data/train-*.tar"))[:2]
    content = first.read_bytes()
    changed = bytearray(content)
    changed[600] ^= 1
    first.write_bytes(changed)
    with pytest.raises(OochubError, match=f"The shard .*{first.name} is corrupted, or belongs to another build"):
        read()
    first.write_bytes(second.read_bytes())
    with pytest.raises(OochubError, match=f"The shard .*{first.name} (is corrupted|has)"):
        read()
    first.write_bytes(content[:512])
    with pytest.raises(OochubError, match=f"The shard .*{first.name} has 512 bytes.*truncated"):
        read()
    first.unlink()
    with pytest.raises(OochubError, match=f"The shard .*{first.name} is missing"):
        read()


def test_several_processes_read_the_shards(shards):
    """The same rows, and the same words where a shard is damaged: `datasets` loses those of another process."""
    one, two = oochub.load(shards)["train"], oochub.load(shards, num_proc=2)["train"]
    assert one.features == two.features and one.with_format("arrow")[:].equals(two.with_format("arrow")[:])
    path = sorted(shards.glob("data/train-*.tar"))[3]
    content = bytearray(path.read_bytes())
    content[600] ^= 1
    path.write_bytes(content)
    with pytest.raises(OochubError, match=f"^The shard .*{path.name} is corrupted"):
        oochub.load(shards, num_proc=2)


def test_configurations_are_named(shards, tmp_path):
    both = tmp_path / "both"
    for name in ("one", "two"):
        shutil.copytree(shards / "data", both / name)
        index = both / name / "index.json"
        index.write_text(index.read_text().replace('"default"', f'"{name}"'))
    assert find_shard_folder(both, "two") == both / "two" == find_shard_folder(both / "two", None)
    with pytest.raises(OochubError, match=r"several configs: one, two\. Choose one with config="):
        oochub.load(both)
    with pytest.raises(OochubError, match=r"No configuration of .* named 'tow'\. Did you mean 'two'"):
        oochub.load(both, config="tow")


def _written(folder, columns, features, **options):
    data = datasets.Dataset.from_dict(columns, datasets.Features(features))
    splits = {"train": SplitRows(len(data), lambda: data.with_format("arrow").iter(3))}
    folder.mkdir()
    return write_webdataset(splits, folder, name="default", features=data.features, **options)


def _picture(kind):
    file = io.BytesIO()
    Image.new("RGB", (3, 2), (9, 99, 199)).save(file, kind)
    return {"bytes": file.getvalue(), "path": f"a.{kind.lower()}"}


def test_one_extension_for_pictures_of_several_formats(tmp_path):
    """The bytes stay, and both readers decode by what they hold; planted: an extension for each image."""
    kinds = ["PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM"]
    pictures = [_picture(kind) for kind in kinds]
    made = _written(tmp_path / "data", {"image": pictures}, {"image": datasets.Image()})
    stored = []
    for name in made.files["train"]:
        with tarfile.open(tmp_path / "data" / name) as archive:
            members = archive.getmembers()
            assert [member.name.partition(".")[2] for member in members] == ["png", "json"]
            stored.append(archive.extractfile(members[0]).read())
    assert stored == [picture["bytes"] for picture in pictures] and len(stored) == 7
    shards = [str(tmp_path / "data" / name) for name in made.files["train"]]
    plain = datasets.load_dataset("webdataset", data_files=shards, split="train", features=made.features)
    assert [picture.format for picture in plain["png"]] == kinds
    wds = pytest.importorskip("webdataset", reason="pip install 'oochub[webdataset]'")
    decoded = [sample["png"].size for sample in wds.WebDataset(shards, shardshuffle=False).decode("pil")]
    assert decoded == [(3, 2)] * 7


@pytest.mark.parametrize(
    ("rows", "size", "shards"),
    [(0, 500, 1), (1, 500, 1), (7, 500, 7), (8, 500, 8), (27, 500, 9), (80, 500, 8), (80, 0.00001, 80)],
)
def test_there_are_shards_to_share_out(tmp_path, rows, size, shards):
    """By hand: at most rows // 8 rows a shard; planted: one shard for a split below the size."""
    made = _written(tmp_path / "data", {"text": ["a" * 40] * rows}, {"text": datasets.Value("string")}, shard_size=size)
    assert len(made.files["train"]) == shards


def test_values_come_back_as_they_were(tmp_path):
    """None, nan, infinities, empty lists, the least float32, the largest int64; planted: a default for None."""
    features = {
        "number": datasets.Value("float32"),
        "whole": datasets.Value("int64"),
        "text": datasets.Value("string"),
        "several": datasets.List(datasets.Value("float64")),
        "nested": {"a": datasets.ClassLabel(names=["x.y", "z"]), "b": datasets.List({"c": datasets.Value("bool")})},
    }
    columns = {
        "number": [1e-45, float("nan"), float("-inf"), None, 1 / 3],
        "whole": [2**63 - 1, -(2**63), None, 0, 1],
        "text": ["", None, 'a "b"\n\\', "\u2028é🚗", "\0"],
        "several": [[], None, [None, float("nan")], [5e-324], [1.0]],
        "nested": [{"a": 1, "b": []}, {"a": None, "b": None}, {"a": 0, "b": [{"c": True}]}, None, {"a": -1, "b": []}],
    }
    _written(tmp_path / "data", columns, features)
    builder = ShardRows(tmp_path / "data")
    builder.download_and_prepare()
    back = builder.as_dataset()["train"]
    data = datasets.Dataset.from_dict(columns, datasets.Features(features))
    assert back.features == data.features
    assert repr(back.with_format("arrow")[:].to_pylist()) == repr(data.with_format("arrow")[:].to_pylist())


@pytest.mark.parametrize("feature", [datasets.Value("timestamp[s]"), datasets.Value("binary"), datasets.Audio()])
def test_what_json_does_not_hold_is_refused(feature):
    with pytest.raises(OochubError, match=r"The column when is .*, which JSON cannot hold exactly\. Build Parquet"):
        find_image_column({"when": feature})
    with pytest.raises(OochubError, match="holds one image per row, but the rows have image, mask"):
        find_image_column({"image": datasets.Image(), "mask": datasets.Image()})


def test_rows_without_pictures_are_refused(tmp_path):
    pictures = [{"bytes": jpeg("1"), "path": "1.jpg"}, None]
    with pytest.raises(OochubError, match=r"no image in image of row 1 of train"):
        _written(tmp_path / "data", {"image": pictures}, {"image": datasets.Image()})
    with pytest.raises(OochubError, match=r"shard_size must be in megabytes, above 0, got 0"):
        _written(tmp_path / "zero", {"image": pictures}, {"image": datasets.Image()}, shard_size=0)


def test_the_index_is_of_the_files(shards):
    """By hand: sizes and samples as tar counts them."""
    for split in ShardIndex.load(shards / "data").datasets:
        for shard in split.shardlist:
            assert (shards / "data" / shard.url).stat().st_size == shard.filesize
            with tarfile.open(shards / "data" / shard.url) as archive:
                assert len(archive.getnames()) == 2 * shard.nsamples
