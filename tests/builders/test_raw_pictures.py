"""Images of raw folders: links that lead out, what is no image, names that nothing can hold."""

import io
import os
import shutil
from pathlib import Path

import pytest
from datasets import Image as ImageFeature
from datasets import load_dataset
from PIL import EpsImagePlugin, Image
from typer.testing import CliRunner

import oochub
from oochub.app import app
from oochub.inputs.pictures.preprocessing import decode

EPS = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n%%EndComments\nshowpage\n%%EOF\n"
DOG = "spawrious224/0/jungle/bulldog/jungle_bulldog_1.png"  # train of o2o_hard, environment 1


@pytest.fixture(scope="module")
def ten(tmp_path_factory) -> Path:
    """All 48 folders of Spawrious with 10 one-pixel files each."""
    root = tmp_path_factory.mktemp("raw") / "spawrious"
    first = None
    for repeat in "01":
        for place in ("desert", "jungle", "dirt", "mountain", "snow", "beach"):
            for breed in ("bulldog", "corgi", "dachshund", "labrador"):
                folder = root / "spawrious224" / repeat / place / breed
                folder.mkdir(parents=True)
                for k in range(10):
                    path = folder / f"{place}_{breed}_{k}.png"
                    if first:
                        path.hardlink_to(first)
                    else:
                        Image.new("RGB", (1, 1)).save(path)
                        first = path
    return root


@pytest.fixture
def raw(ten, tmp_path) -> Path:
    """A copy that a test may change; its files are hard links, so they are replaced, not written to."""
    return Path(shutil.copytree(ten, tmp_path / "raw", copy_function=os.link))


def _load(raw, **options):
    return load_dataset("spawrious", "o2o_hard", data_dir=raw, **options)


def _bytes(data, name):
    rows = data["train"].cast_column("image", ImageFeature(decode=False))
    return next(row["image"]["bytes"] for row in rows if row["example_id"] == name)


def _replaced(path: Path, make) -> None:
    path.unlink()
    make(path)


def test_a_password_file_never_gets_in(raw, tmp_path):
    """A link to a text outside the folder, also with links followed: it is no image. Planted: no first bytes."""
    secret = tmp_path / "passwords"
    secret.write_text("root:x:0:0")
    _replaced(raw / DOG, lambda path: path.symlink_to(secret))
    with pytest.raises(oochub.OochubError, match=r"jungle_bulldog_1\.png is a link that leads out of .*passwords"):
        _load(raw)
    with pytest.raises(oochub.OochubError, match=r"jungle_bulldog_1\.png: 10 bytes that are no image"):
        _load(raw, follow_links=True)


@pytest.mark.slow
def test_a_snapshot_of_links_is_read_where_links_are_followed(raw, tmp_path):
    """As the Hub's cache lies: each file a link. By the program too. Planted fault seen: `follow_links` not passed."""
    blobs = tmp_path / "blobs"
    shutil.move(raw / "spawrious224", blobs)
    for file in blobs.rglob("*.png"):
        place = raw / "spawrious224" / file.relative_to(blobs)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(file)
    with pytest.raises(oochub.OochubError, match=r"\.png is a link .*follow_links=True \(--option follow_links=true\)"):
        _load(raw)
    assert len(_load(raw, follow_links=True)["train"]) > 0
    for option in (["--follow-links"], ["--option", "follow_links=true"]):
        out = tmp_path / f"built{len(option)}"
        command = ["build", "spawrious/o2o_hard", "--data-dir", str(raw), "--out", str(out), *option]
        assert CliRunner().invoke(app, command).exit_code == 0 and list(out.rglob("*.parquet"))
    with pytest.raises(oochub.OochubError, match="follow_links must be true or false, got 'yes'"):
        _load(raw, follow_links="yes")


def test_links_that_stay_inside_and_a_data_dir_that_is_a_link(raw, tmp_path):
    inner = raw / DOG
    shutil.move(inner, raw / "kept.png")
    inner.symlink_to(raw / "kept.png")
    (tmp_path / "link").symlink_to(raw)
    assert _bytes(_load(tmp_path / "link"), "0/jungle/bulldog/1") == (raw / "kept.png").read_bytes()


def test_a_linked_folder_is_refused_before_anything_is_read(raw, tmp_path):
    """Planted fault seen: `_folder` without its check; then the first image is named, after all else was read."""
    place = raw / "spawrious224" / "0" / "jungle"
    shutil.move(place, tmp_path / "jungle")
    place.symlink_to(tmp_path / "jungle")
    with pytest.raises(oochub.OochubError, match=r"spawrious224/0/jungle is a link that leads out of"):
        _load(raw)
    assert len(_load(raw, follow_links=True)["train"]) > 0


def _gs(folder: Path) -> Path:
    """A Ghostscript that leaves a trace, first on the path."""
    trace = folder / "trace"
    program = folder / "bin" / "gs"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {trace}\n")
    program.chmod(0o755)
    return trace


def test_eps_under_a_pictures_name_never_runs_ghostscript(raw, tmp_path, monkeypatch):
    """The same bytes opened without a limit of formats do run it, so the trace would be there."""
    trace = _gs(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setattr(EpsImagePlugin, "gs_binary", None)
    _replaced(raw / DOG, lambda path: path.write_bytes(EPS))
    with pytest.raises(oochub.OochubError, match=r"jungle_bulldog_1\.png: .* bytes that are no image"):
        _load(raw)
    with pytest.raises(oochub.OochubError, match="no image"):
        decode(EPS, "a.jpg")
    assert not trace.exists()
    with pytest.raises(OSError):
        Image.open(io.BytesIO(EPS)).load()
    assert trace.exists()


def test_names_that_are_no_numbers_are_passed_over(raw):
    """`"²".isdigit()` is true and `int("²")` an error; a name that is not UTF-8; planted: `isdigit` again."""
    folder = raw / "spawrious224" / "0" / "jungle" / "bulldog"
    picture = (folder / "jungle_bulldog_1.png").read_bytes()
    expected = sorted(_load(raw)["train"]["example_id"])
    for name in ("jungle_bulldog_²".encode(), b"jungle_bulldog_\xff", b"jungle_bulldog_" + b"9" * 200, b"\n"):
        Path(os.fsdecode(os.fsencode(folder) + b"/" + name + b".png")).write_bytes(picture)
    assert sorted(_load(raw)["train"]["example_id"]) == expected


def test_a_file_where_a_folder_should_be(raw):
    shutil.rmtree(raw / "spawrious224" / "1" / "snow")
    (raw / "spawrious224" / "1" / "snow").touch()
    with pytest.raises(oochub.OochubError, match=r"1/snow/bulldog has 0, 1/snow/corgi has 0"):
        _load(raw)
