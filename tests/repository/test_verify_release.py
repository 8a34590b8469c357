"""Archives of a release by size and digest: as published, changed, cut off, absent; in a folder and on a Hub."""

import hashlib
import json
import os
import shutil
import zipfile
from dataclasses import replace

import pytest
from huggingface_hub import HfApi
from typer.testing import CliRunner

import oochub
from oochub import catalog
from oochub.app import app
from oochub.benchmark import Archive
from oochub.repository import verify_release as module
from oochub.repository.verify_release import verify_archives

_NAMES = ("images.zip", "labels.zip")


def _write(folder):
    """Two archives, the second in a folder in the folder, and what is published of them, by SHA-256 and by MD5."""
    published = []
    for number, (name, kind) in enumerate(zip(_NAMES, ("sha256", "md5"), strict=True)):
        file = folder / ("more" if number else "") / name
        file.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("a.txt", os.urandom(2**12))
        content = file.read_bytes()
        digest = f"{kind}:{hashlib.new(kind, content).hexdigest()}"
        published.append(Archive(name=name, size=len(content), digest=digest, source="a test"))
    return published


@pytest.fixture
def published(tmp_path, monkeypatch):
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    return _write(tmp_path / "raw")


def test_states(tmp_path, published):
    raw = tmp_path / "raw"
    both = verify_archives(published, raw)
    assert [(each.state, each.said) for each in both] == [("as published", "")] * 2
    assert both[1].path == str(raw / "more/labels.zip")
    content = bytearray((raw / _NAMES[0]).read_bytes())
    content[100] ^= 1
    (raw / _NAMES[0]).write_bytes(content)
    (raw / "more" / _NAMES[1]).write_bytes(b"cut")
    changed, cut = verify_archives(published, raw)
    own = hashlib.sha256(content).hexdigest()
    assert (changed.state, changed.said) == ("differs", f"sha256:{own}, but {published[0].digest} was published")
    assert (cut.state, cut.said) == ("differs", f"3 bytes, but {published[1].size:,} were published")
    (raw / _NAMES[0]).unlink()
    assert verify_archives(published, raw)[0].state == "not there"


def test_a_second_run_reads_nothing_and_a_changed_file_is_read_again(tmp_path, published, monkeypatch):
    raw = tmp_path / "raw"
    first = verify_archives(published, raw)
    read = []
    follow = module.follow
    monkeypatch.setattr(module, "follow", lambda **about: read.append(about["desc"]) or follow(**about))
    assert verify_archives(published, raw) == first and not read
    content = (raw / _NAMES[0]).read_bytes()
    (raw / _NAMES[0]).write_bytes(content[:-1] + b"x")
    verify_archives(published, raw)
    assert read == [f"Reading {_NAMES[0]}"]


@pytest.fixture
def declared(published, monkeypatch):
    """A benchmark that publishes them."""
    plain = catalog.get("benchmark", "waterbirds")
    own = replace(plain, archives=tuple(published))
    monkeypatch.setattr("oochub.data.load.get_declaration", lambda name: own)
    return own


def _show(*words):
    return CliRunner().invoke(app, ["show", "waterbirds", "--verify", *map(str, words)])


def test_archives_that_nobody_unpacked_are_compared(tmp_path, declared):
    done = _show("--data-dir", tmp_path / "raw", "--json")
    found = json.loads(done.stdout)
    assert done.exit_code == 1 and "metadata.csv" in found["error"] and not found["configs"]
    assert [each["state"] for each in found["archives"]] == ["as published"] * 2
    assert "Cannot be built: " in _show("--data-dir", tmp_path / "raw").stdout


def test_an_archive_that_differs_fails_whatever_the_folder_holds(raw, tmp_path, declared):
    folder = shutil.copytree(raw("waterbirds"), tmp_path / "world")
    (folder / _NAMES[0]).write_bytes(b"cut")
    done = _show("--data-dir", folder)
    assert done.exit_code == 1 and "differs" in done.stdout and "0 of 1 configs whole" in done.stdout


def test_a_mirror_is_compared_by_digest_without_a_download(tmp_path, declared, hub):
    """The real client over a real socket: one archive under another name, one with other bytes, one file beside."""
    api, name = HfApi(), "user/mirror"
    api.create_repo(name, repo_type="dataset")
    archive = tmp_path / "raw" / _NAMES[0]
    for path, content in (("data/renamed.zip", archive), (_NAMES[1], b"other"), ("README.md", b"Mirror.")):
        api.upload_file(repo_id=name, repo_type="dataset", path_in_repo=path, path_or_fileobj=content)
    hub.requests.clear()
    done = _show("--mirror", name, "--json")
    found = {each["name"]: each for each in json.loads(done.stdout)["archives"]}
    assert done.exit_code == 1
    assert (found[_NAMES[0]]["state"], found[_NAMES[0]]["path"]) == ("as published", "data/renamed.zip")
    assert found[_NAMES[1]]["state"] == "differs" and "5 bytes, but" in found[_NAMES[1]]["said"]
    assert hub.requests and not any("/resolve/" in seen.path for seen in hub.requests)
    said = " ".join(_show("--mirror", name).stdout.split())
    assert "1 of 2 archives are there as published. Nothing was downloaded." in said


def test_what_a_hub_does_not_say_is_not_known(tmp_path, declared, hub, monkeypatch):
    """A small file lies in git, whose digest is another; without a published digest nothing can be compared."""
    small = replace(declared.archives[0], name="small.txt", size=5)
    monkeypatch.setattr("oochub.data.load.get_declaration", lambda name: replace(declared, archives=(small,)))
    HfApi().create_repo("user/small", repo_type="dataset")
    file = {"path_in_repo": "small.txt", "path_or_fileobj": b"other"}
    HfApi().upload_file(repo_id="user/small", repo_type="dataset", **file)
    done = _show("--mirror", "user/small", "--json")
    (found,) = json.loads(done.stdout)["archives"]
    assert (done.exit_code, found["state"], found["said"]) == (3, "not known", "the Hub says no such digest")
    monkeypatch.setattr("oochub.data.load.get_declaration", lambda name: replace(declared, archives=()))
    done = _show("--mirror", "user/small")
    assert done.exit_code == 3 and "no digest is published" in done.stdout


def test_what_is_refused(tmp_path, declared, hub):
    for words, said in (
        (("--mirror", "user/nothing"), "There is no dataset repository user/nothing on the Hub"),
        (("--mirror", "nothing"), "must be named user/name"),
        (("--mirror", "user/mirror", "--data-dir", tmp_path), "without --data-dir"),
    ):
        done = _show(*words)
        assert done.exit_code != 0 and said in str(done.exception) + done.output, done.output


def test_what_is_published_has_a_digest_of_its_kind():
    """Every archive has 64 digits of a SHA-256 or 32 of an MD5, a size and a source; every mirror a user and a name."""
    archives = 0
    for name in oochub.names("benchmark"):
        declared = oochub.get("benchmark", name)
        for archive in declared.archives:
            kind, _, digits = archive.digest.partition(":")
            assert len(digits) == {"sha256": 64, "md5": 32}[kind] and not set(digits) - set("0123456789abcdef")
            assert archive.size > 0 and archive.source and archive.name
            archives += 1
        assert all(mirror.name.count("/") == 1 and mirror.holds for mirror in declared.mirrors)
    assert archives >= 12
