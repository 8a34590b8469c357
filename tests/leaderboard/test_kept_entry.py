"""What is kept of leaderboard entries: what is as it was is not read again, whatever changed is."""

import json
import os
import shutil

import pytest
from leaderboard_entries import describe_checked, made_predictions, sent_entry

import oochub.leaderboard.check_entry as kept_entry
from oochub.leaderboard.check_entry import CheckedEntry
from oochub.leaderboard.site import Site
from oochub.storage.cache import cache_folder
from oochub.storage.ownership import MANIFEST


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return sent_entry(tmp_path_factory.mktemp("made") / "results")


@pytest.fixture
def sent(made, tmp_path, monkeypatch):
    """An entry in a folder of results, as if it had been written long ago."""
    monkeypatch.setattr(kept_entry, "_FRESH", -60.0)
    return shutil.copytree(made, tmp_path / "results" / "one")


@pytest.fixture
def opened(monkeypatch):
    """The files whose bytes were read for a digest."""
    read, digest = [], kept_entry.digest_entry
    monkeypatch.setattr(
        "oochub.leaderboard.check_entry.digest_entry", lambda files, own: read.extend(files) or digest(files, own)
    )
    return read


def test_files_that_are_as_they_were_are_not_read(sent, opened):
    """And the outcome is the same."""
    first = CheckedEntry.of(sent)
    assert first.reason == "" and len(opened) == 2
    assert describe_checked(CheckedEntry.of(sent)) == describe_checked(first) and len(opened) == 2


def test_what_the_sender_says_is_read_each_time(sent):
    CheckedEntry.of(sent)
    said = json.loads((sent / "entry.json").read_text())
    (sent / "entry.json").write_text(json.dumps(said | {"model": "another"}))
    assert CheckedEntry.of(sent).entry.model == "another"


def test_an_edit_is_seen_whose_size_and_time_of_writing_are_as_before(sent):
    """The time of change cannot be put back. Planted fault seen: states of sizes and times of writing alone."""
    assert CheckedEntry.of(sent).reason == ""
    file = sent / "report.json"
    about, content = file.stat(), file.read_text()
    place = content.index('"value": 0.') + len('"value": 0.')
    edited = content[:place] + ("1" if content[place] != "1" else "2") + content[place + 1 :]
    file.write_text(edited)
    os.utime(file, ns=(about.st_atime_ns, about.st_mtime_ns))
    assert file.stat().st_size == about.st_size
    assert CheckedEntry.of(sent).reason != ""


def _link_folder(sent, _):
    (sent.parent / "elsewhere").mkdir()
    (sent / "beside").symlink_to(sent.parent / "elsewhere", target_is_directory=True)


@pytest.mark.parametrize(
    ("before", "between"),
    [
        (None, lambda sent, _: (sent / "more.txt").write_text("more")),
        (lambda _, patch: patch.setattr(kept_entry, "_FRESH", 60.0), None),  # a second change might have the same time
        (_link_folder, None),  # its files lie elsewhere
        (None, lambda _, patch: patch.setattr(kept_entry, "_describe_code", lambda: ["another"])),
    ],
    ids=["a file more", "just written", "a linked folder", "other code"],
)
def test_what_may_have_changed_is_read_again(before, between, sent, opened, monkeypatch):
    """Planted fault seen: no look at the time."""
    for change in (before, between):
        if change is not None:
            change(sent, monkeypatch)
        CheckedEntry.of(sent)
    assert len(opened) == 4


@pytest.mark.parametrize("content", ["", "{", "[]", '{"digest": 3}', '{"digest": "a", "place": 3, "own": ""}'])
def test_a_damaged_mark_is_none(content, sent, opened):
    first = CheckedEntry.of(sent)
    (mark,) = cache_folder("checks").glob("*.mark")
    mark.write_text(content)
    assert describe_checked(CheckedEntry.of(sent)) == describe_checked(first) and len(opened) == 4


def test_a_mark_without_its_outcome_is_none(sent):
    first = CheckedEntry.of(sent)
    (outcome,) = cache_folder("checks").glob("*.json")
    outcome.unlink()
    assert describe_checked(CheckedEntry.of(sent)) == describe_checked(first) and outcome.exists()


def _write(sent, out):
    Site.write(sent.parent, out)
    files = (path for path in sorted(out.rglob("*")) if path.is_file() and path.name != MANIFEST)  # it holds times
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_a_site_of_kept_pages_is_the_same_as_one_of_new_ones(sent, tmp_path, monkeypatch):
    """A page says its own name and rank; copies are rendered once. Planted fault seen: pages kept with these words."""
    rendered, render = [], kept_entry.make_page_once
    monkeypatch.setattr(
        "oochub.leaderboard.leaderboard_pages.make_page_once",
        lambda made_of, make: render(made_of, lambda: rendered.append(made_of) or make()),
    )
    entry = shutil.copytree(sent, sent.parent / "six") / "entry.json"
    entry.write_text(entry.read_text("utf-8").replace('"made"', '"copy"'), "utf-8")
    first = _write(sent, tmp_path / "first")
    assert _write(sent, tmp_path / "second") == first and len(rendered) == 1
    one, six = (first[f"entries/{name}.html"] for name in ("one", "six"))
    assert six == one.replace(b"<dd>made</dd>", b"<dd>copy</dd>", 1) != one
    better = sent_entry(tmp_path / "more", predictions=made_predictions(4.0, seed=3, model="better"))
    shutil.copytree(better, sent.parent / "two")
    both = _write(sent, tmp_path / "third")
    assert both["entries/one.html"] != one and len(rendered) == 2
    shutil.rmtree(cache_folder("checks"))
    assert _write(sent, tmp_path / "fourth") == both


@pytest.mark.parametrize(
    "spoil", [lambda page: b"", lambda page: page[:-9], lambda page: page.replace(b"made", b"mode")]
)
def test_a_damaged_page_is_rendered_again(spoil, sent, tmp_path):
    """Planted fault seen: pages that are not compared with their seal."""
    first = _write(sent, tmp_path / "first")
    (page,) = cache_folder("checks").glob("*.page")
    page.write_bytes(spoil(page.read_bytes()))
    assert _write(sent, tmp_path / "second") == first


def test_an_entry_that_fails_is_kept_too(sent, tmp_path, opened):
    made_predictions(0.2, seed=1).save(sent / "preds.parquet")
    first = _write(sent, tmp_path / "first")
    assert b"sha256" in first["entries/one.html"] and _write(sent, tmp_path / "second") == first and len(opened) == 2
