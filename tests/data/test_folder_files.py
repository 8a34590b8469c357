"""A folder of the user's before `datasets` opens it: pipes are refused, and metadata that changed are read anew."""

import os

import pytest
from hang_watch import no_hang
from PIL import Image

import oochub
from oochub.errors import OochubError


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
