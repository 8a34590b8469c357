"""A folder of the user's before `datasets` opens it: pipes are refused, and metadata that changed are read anew."""

import os
import shutil
from dataclasses import replace

import pytest
from hang_watch import no_hang
from own_data import picture_folder
from PIL import Image

import oochub
from oochub.data.load import load
from oochub.errors import OochubError
from oochub.repository.write_repository import write_challenge_repository, write_user_repository
from oochub.settings.data_settings import DataSettings


@pytest.fixture
def pictures(tmp_path):
    folder = tmp_path / "pictures"
    folder.mkdir()
    for number in range(4):
        Image.new("RGB", (8, 8), (60 * number, 0, 0)).save(folder / f"{number}.png")
    (folder / "metadata.csv").write_text(
        "file_name,species,place\n" + "".join(f"{n}.png,{'ab'[n % 2]},{'xy'[n // 2]}\n" for n in range(4))
    )
    return folder


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "metadata.csv", "below/a.png"])
def test_a_pipe_is_refused_and_not_opened(name, tmp_path):
    """Seen: `oochub.load` of a folder with a pipe named rows.parquet waited for ever."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with no_hang(name), pytest.raises(OochubError, match="it is a pipe, socket or device"):
        oochub.load(tmp_path)


@pytest.mark.parametrize("name", ["metadata.csv", "0.png"])
def test_a_link_in_a_circle_is_an_error_in_words(name, pictures):
    """Seen: OSError, too many levels of symbolic links."""
    (pictures / name).unlink()
    (pictures / name).symlink_to(name)
    with pytest.raises(OochubError):
        oochub.load(pictures, label="species", context="place")


def test_metadata_that_changed_but_kept_their_time_are_read_anew(pictures):
    """As `cp -p` and `rsync -t` leave them. Seen: the old rows, from the cache of `datasets`."""
    columns = {"label": "species", "context": "place"}
    before = oochub.load(pictures, **columns)["train"]
    metadata = pictures / "metadata.csv"
    about = metadata.stat()
    metadata.write_text(metadata.read_text().replace("0.png,a,x", "0.png,b,x"))
    os.utime(metadata, ns=(about.st_atime_ns, about.st_mtime_ns))
    after = oochub.load(pictures, **columns)["train"]
    assert before["label"][:] == [0, 1, 0, 1] and after["label"][:] == [1, 1, 0, 1]


@pytest.mark.parametrize("name", ["9" * 400, "x" * 100_000])
def test_the_name_of_a_picture_that_no_disk_holds_is_an_error_in_words(name, pictures):
    """Seen: OSError, File name too long."""
    table = (pictures / "metadata.csv").read_text()
    (pictures / "metadata.csv").write_text(table.replace("2.png", name))
    with pytest.raises(OochubError, match=r"The image 'image' of row 2, split train, has no file at ") as said:
        oochub.load(pictures, label="species", context="place")
    assert len(str(said.value)) < 600


@pytest.mark.parametrize("form", ["image", "folder"])
def test_an_image_that_is_a_link_out_of_the_folder_is_not_copied(form, tmp_path):
    """Into a repository, shards or a challenge set, which are published; it is read, and copied on request.

    Before, the bytes of a file of somebody else were embedded. Planted fault seen: only the image itself looked at.
    """
    folder = picture_folder(tmp_path / "pictures")
    other = tmp_path / "private"
    other.mkdir()
    (other / "secret.jpg").write_bytes((folder / "1.jpg").read_bytes())
    if form == "image":
        (folder / "1.jpg").unlink()
        (folder / "1.jpg").symlink_to(other / "secret.jpg")
    else:
        (folder / "sub").symlink_to(other)
        lines = (folder / "metadata.csv").read_text().replace("1.jpg", "sub/secret.jpg")
        (folder / "metadata.csv").write_text(lines)
    settings = DataSettings(label="species", context="place")
    assert load(folder, label="species", context="place")["train"].num_rows == 8
    for out, more in (("a", {}), ("b", {"shard_size": 1.0})):
        with pytest.raises(OochubError, match=r"is a link that leads out of .*pictures, to .*secret\.jpg"):
            write_user_repository(str(folder), tmp_path / out, settings=settings, **more)
        assert not (tmp_path / out / "data").exists()
    with pytest.raises(OochubError, match="is a link that leads out of"):
        how = {"value": "place", "allowed": ["grass"]}
        write_challenge_repository(
            str(folder), tmp_path / "c", "membership", how, settings=DataSettings(label="species")
        )
    followed = replace(settings, options={"follow_links": True})
    assert write_user_repository(str(folder), tmp_path / "d", settings=followed).is_dir()
    (tmp_path / "link").symlink_to(folder)
    own = tmp_path / "own"
    shutil.copytree(folder, own, symlinks=False)
    (tmp_path / "to_own").symlink_to(own)
    assert write_user_repository(str(tmp_path / "to_own"), tmp_path / "e", settings=settings).is_dir()
