"""Whose file it is: nothing of others is replaced or removed, whatever stands beside what oochub writes.

The campaign draws folders of random files and lets the writers of `oochub.storage` work in them. Each content is a
random word that says who wrote it, so that what of others is there can be counted without a manifest.
"""

import json
import os
import random
import re
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from foreign_files import FOREIGN

from oochub.errors import OochubError
from oochub.storage import artifacts
from oochub.storage.artifacts import FileKind
from oochub.storage.cache import begin_cache, cache_folder, clear, list_caches
from oochub.storage.files import check_writable, lock_target, open_log, write_whole, write_whole_folder
from oochub.storage.ownership import MANIFEST, FolderManifest, make_manifest, mark, overwriting, read_mark, remove

THINGS = FileKind("things", (), lambda folder: False, is_folder=True, names=("*.txt",))


def _write(folder: Path, files: dict[str, str], kind: FileKind = THINGS) -> None:
    with write_whole_folder(folder, kind=kind) as draft:
        for name, text in files.items():
            (draft / name).parent.mkdir(parents=True, exist_ok=True)
            (draft / name).write_text(text)


def _read(folder: Path) -> dict[str, str]:
    """Each file below a folder but manifests, and where each link leads."""
    found = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*"))}
    return {
        name: f"-> {path.readlink()}" if path.is_symlink() else path.read_text("latin-1")
        for name, path in found.items()
        if path.name != MANIFEST and (path.is_symlink() or path.is_file())
    }


def test_files_of_others_stay_in_a_folder_that_is_replaced(tmp_path):
    """Planted faults seen: the folder swapped whole; what is no longer written left behind."""
    out = tmp_path / "out"
    _write(out, {"one.txt": "1", "a/two.txt": "2", "b/three.txt": "3"})
    (out / "a" / "mine.md").write_text("mine")
    (out / "empty").mkdir()
    (out / "away").symlink_to(tmp_path)
    _write(out, {"one.txt": "new", "a/four.txt": "4"})
    assert _read(out) == {"one.txt": "new", "a/four.txt": "4", "a/mine.md": "mine", "away": f"-> {tmp_path}"}
    assert (out / "empty").is_dir() and not (out / "b").exists()
    _write(out, {"one.txt": "newer"})  # what was merged is listed
    assert _read(out) == {"one.txt": "newer", "a/mine.md": "mine", "away": f"-> {tmp_path}"}


@pytest.mark.parametrize("place", ["one.txt", "a", "a/two.txt", "a/two.txt/deep"])
@pytest.mark.parametrize("what", ["file", "folder", "link"])
def test_a_place_that_is_taken_is_named_and_nothing_changes(tmp_path, place, what):
    """Planted fault seen: folders in the place of a file not looked at."""
    out, outside = tmp_path / "out", tmp_path / "outside"
    _write(out, {"zero.txt": "0"})
    outside.mkdir()
    (outside / "two.txt").write_text("mine")
    taken = out / place
    taken.parent.mkdir(parents=True, exist_ok=True)
    if what == "file":
        taken.write_text("mine")
    elif what == "folder":
        taken.mkdir()
        (taken / "deep.md").write_text("mine")
    else:
        taken.symlink_to(outside)
    before = _read(tmp_path)
    if (what, place) == ("folder", "a"):
        _write(out, {"one.txt": "1", "a/two.txt": "2"})
        assert before.items() <= _read(tmp_path).items() | {("out/zero.txt", "0")}
        return
    for allowed in (False, True):
        if allowed and what == "file" and place in ("one.txt", "a/two.txt"):
            continue  # that is what it is for
        with overwriting(allowed), pytest.raises(OochubError, match=r"Cannot write .*out/(one|a)"):
            _write(out, {"zero.txt": "0", "one.txt": "1", "a/two.txt": "2"})
        assert _read(tmp_path) == before


def test_an_edited_file_stops_and_overwrite_takes_it(tmp_path):
    """Also of the same size; one that was copied or touched is the same. Planted fault seen: sizes compared alone."""
    out = tmp_path / "out"
    _write(out, {"one.txt": "1", "two.txt": "2"})
    os.utime(out / "one.txt")
    shutil.copytree(out, tmp_path / "copy")
    for folder in (out, tmp_path / "copy"):
        _write(folder, {"one.txt": "3"})
    (out / "one.txt").write_text("4")
    with pytest.raises(OochubError, match=r"one\.txt: it was changed after oochub wrote it.*delete it"):
        check_writable(out, kind=THINGS)
    with pytest.raises(OochubError, match="was changed"):
        _write(out, {"one.txt": "5"})
    assert (out / "one.txt").read_text() == "4"
    with overwriting():
        _write(out, {"one.txt": "5"})
    assert (out / "one.txt").read_text() == "5"


def test_a_folder_that_is_filled_file_by_file(tmp_path):
    """A kill before the first file is no obstacle; a file of another user of the folder is. Planted: no line first."""
    out = tmp_path / "out"
    child = os.fork()
    if not child:
        with lock_target(out, kind=THINGS):
            os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert [path.name for path in out.iterdir()] == [MANIFEST]
    for text in ("first", "second"):
        with lock_target(out, kind=THINGS):
            with write_whole(out / "one.txt") as draft:
                draft.write_text(text)
            with write_whole_folder(out / "a") as draft:
                (draft / f"{text}.txt").write_text(text)
            with open_log(out / "run.log") as log:
                log.write(text)
    assert _read(out) == {"one.txt": "second", "a/second.txt": "second", "run.log": "second"}
    (out / "two.txt").write_text("mine")
    with pytest.raises(OochubError, match=r"two\.txt: it was not written by oochub"), lock_target(out, kind=THINGS):
        raise AssertionError("nothing is made")
    assert remove(out / "one.txt") and not remove(out / "two.txt") and not remove(out)
    assert _read(out) == {"two.txt": "mine"}


@pytest.mark.parametrize("allowed", [False, True])
def test_no_link_inside_a_folder_leads_a_writer_out(tmp_path, allowed):
    """To a file that is there or not, for a file or a folder. Planted fault seen: `check_way` left out."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "one.txt").write_text("mine")
    with overwriting(allowed), lock_target(tmp_path / "out", kind=THINGS):
        (tmp_path / "out" / "a").symlink_to(outside)
        for name in ("a/one.txt", "a/two.txt"):
            with pytest.raises(OochubError, match="out/a: it is a link"), write_whole(tmp_path / "out" / name):
                raise AssertionError("nothing is made")
        for name in ("a", "a/b"):
            with pytest.raises(OochubError, match="it is a link"), write_whole_folder(tmp_path / "out" / name):
                raise AssertionError("nothing is made")
        assert not remove(tmp_path / "out" / "a") and not remove(tmp_path / "out" / "a" / "one.txt")
    assert _read(outside) == {"one.txt": "mine"} and (tmp_path / "out" / "a").is_symlink()


def test_a_block_that_fails_before_its_first_file_leaves_nothing(tmp_path):
    with pytest.raises(ValueError), lock_target(tmp_path / "new" / "out", kind=THINGS):
        raise ValueError
    assert not list(tmp_path.iterdir())


def test_a_torn_line_is_no_line(tmp_path):
    """As of a kill in the middle of one: what comes after it counts. Planted fault seen: no line feed before a line."""
    manifest = None
    with lock_target(tmp_path / "out", kind=THINGS):
        (tmp_path / "out" / "one.txt").write_text("1")
        with (tmp_path / "out" / MANIFEST).open("a") as file:
            file.write('{"path": "one.txt", "si')
        manifest = FolderManifest.at(tmp_path / "out")
        manifest.add(tmp_path / "out" / "two.txt", tmp_path / "out" / "one.txt")
    assert not manifest.owns(tmp_path / "out" / "one.txt")
    (tmp_path / "out" / "one.txt").rename(tmp_path / "out" / "two.txt")
    assert manifest.owns(tmp_path / "out" / "two.txt")


def test_lines_say_nothing_of_elsewhere(tmp_path):
    """A manifest may come from anybody; no line of it reaches out of its folder, or makes an error."""
    out, outside = tmp_path / "out", tmp_path / "outside.txt"
    _write(out, {"one.txt": "1"})
    outside.write_text("mine")
    lines = ["[]", '"path"', "7", '{"path": 7}', '{"path": "../outside.txt"}', '{"path": "/"}', '{"path": "../"}', "\0"]
    lines += ['{"path": [1]}', '{"oochub": [1]}', "[" * 100_000, '{"path": "one.txt", "size": "1", "sha256": []}']
    with (out / MANIFEST).open("a") as file:
        file.write("\n".join(["", *lines, ""]))
    with pytest.raises(OochubError, match="what stands there is not things"):  # the kind was damaged too
        _write(out, {"two.txt": "2"})
    remove(out)
    assert outside.read_text() == "mine"


@pytest.mark.parametrize("suffix", [".html", ".md", ".tex", ".svg", ".xml", ".png", ".pdf"])
def test_a_mark_says_that_the_rest_is_unchanged(tmp_path, suffix):
    """Each changed byte is noticed. Planted faults seen: the digest not compared; text behind the mark allowed."""
    file = tmp_path / f"page{suffix}"
    file.write_bytes(FOREIGN[suffix] + b"-" * 20)
    assert read_mark(file) is None
    mark(file, suffix)
    content = file.read_bytes()
    assert read_mark(file) is True
    for place in range(len(content)):
        file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert not read_mark(file), place
    for changed in (content + b"mine", b"mine" + content, content + content):
        file.write_bytes(changed)
        assert not read_mark(file)


def test_marked_images_are_images(tmp_path):
    """Pillow reads the chunk, and poppler or a browser the comment. Planted fault seen: the mark behind IEND."""
    from PIL import Image

    for suffix in (".png", ".pdf"):
        Image.new("RGB", (3, 2), "red").save(tmp_path / f"a{suffix}")
        mark(tmp_path / f"a{suffix}", suffix)
    with Image.open(tmp_path / "a.png") as image:
        image.load()
        assert image.text["Software"].startswith("Written by oochub") and image.size == (3, 2)
    assert (tmp_path / "a.pdf").read_bytes().rfind(b"%%EOF") > (tmp_path / "a.pdf").stat().st_size - 1024


def test_a_cache_in_a_project_is_ours_file_by_file(tmp_path, monkeypatch):
    """$OOCHUB_CACHE at a project: what a cache holds is listed there, and the project's own files are nobody's entry.

    Planted faults seen: the patterns alone; a link followed.
    """
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path))
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "datasets")  # builds of other tests
    patterns = {"predictions": "a.parquet", "features": "a.safetensors", "pixels": "a-b.npy", "embeddings": "a/b.npy"}
    patterns |= {"contexts": "a.parquet", "checks": "a.json", "pushes": "a-b/c/d.parquet", "shards": "a.compared"}
    patterns |= {"compiled": "deep/a.pdf", "runtimes": "a-b.onnx"}
    for kind, name in patterns.items():
        place = tmp_path / kind / name
        place.parent.mkdir(parents=True)
        place.write_text("mine")
        (place.parent / f"link-{place.name}").symlink_to(place)
    before = _read(tmp_path)
    made = cache_folder("features") / "ours.safetensors"
    with write_whole(begin_cache(made)) as draft:
        draft.write_text("ours")
    listed = [entry for cache in list_caches() for entry in cache.entries]
    assert [entry.path for entry in listed] == [made]
    made.write_text("mine")
    assert clear(listed) == [] and made.read_text() == "mine"
    with write_whole(begin_cache(made)) as draft:
        draft.write_text("ours")
    assert clear(listed) == listed and _read(tmp_path) == before


def test_folders_of_an_earlier_version_get_a_manifest(tmp_path):
    """Each folder kind whose sign the tests can write: the listed files are taken, others stay."""
    out = tmp_path / "repair"
    (out / "model").mkdir(parents=True)
    record = {"schema_version": 1, "outcome": "better", "reason": "", "command": "oochub repair"}
    (out / "repair.json").write_text(json.dumps(record))
    (out / "model" / "config.json").write_text("{}")
    (out / "notes.txt").write_text("mine")
    with lock_target(out, kind=artifacts.REPAIR):
        assert remove(out / "model") and not remove(out / "notes.txt")
    assert set(_read(out)) == {"repair.json", "notes.txt"}


@pytest.mark.parametrize("sign", ["features.parquet", "repair.json", "model"])
def test_a_project_is_no_repair(tmp_path, sign):
    """The issue's `repair --out PROJECT`: a features.parquet or repair.json of the user, beside their own model."""
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "model.safetensors").write_text("mine")
    if sign != "model":
        (tmp_path / sign).write_text('{"repair": 1}')
    with pytest.raises(OochubError, match="what stands there is not a repair"):
        check_writable(tmp_path, kind=artifacts.REPAIR)


class _Killed(BaseException):
    """Stands for a kill: no writer catches it."""


class _World:
    """A folder in which oochub and others write by turns.

    Args:
        place: An empty folder.
        seed: Random seed.
    """

    names = ("one.txt", "two.txt", "a/one.txt", "a/b/two.txt", "b/one.txt", "c.md", "a/c.md", "a")

    def __init__(self, place: Path, seed: int) -> None:
        self.out, self.outside, self.random, self.count = place / "out", place / "outside", random.Random(seed), 0
        self.outside.mkdir(parents=True)
        (self.outside / "one.txt").write_text(self.word("other"))

    def word(self, who: str) -> str:
        """A text that nobody else writes."""
        self.count += 1
        return f"{who} {self.count} {'x' * self.random.randrange(3)}"

    def others(self) -> dict[Path, str]:
        """What others wrote, wherever it is; their links too."""
        place = self.out.parent
        found = {place / name: text for name, text in _read(place).items()}
        return {path: text for path, text in found.items() if text.startswith(("other", "->"))}

    def meddle(self) -> None:
        """Somebody writes, edits, links, makes a folder or deletes."""
        path = self.out / self.random.choice(self.names)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            act = self.random.randrange(5)
            if act < 2 and not path.is_symlink():
                path.write_text(self.word("other"))
            elif act == 2:
                path.unlink(missing_ok=True)
                path.symlink_to(self.random.choice([self.outside, self.outside / "one.txt"]))
            elif act == 3:
                path.mkdir(exist_ok=True)
            else:
                path.unlink(missing_ok=True)
        except OSError:  # a folder is there, or a file where a folder is needed
            return

    def write(self) -> None:
        """Oochub writes and removes a few files, in one of its ways; `wanted` are their paths."""
        wanted = self.random.sample(self.names[:-1], self.random.randrange(1, 4))
        removed = self.random.sample(self.names, self.random.randrange(3))
        files = {name: self.word("ours") for name in wanted}
        self.wanted = {self.out / name for name in (*wanted, *removed, "b/one.txt")}
        if self.random.random() < 0.5:
            _write(self.out, files)
        else:
            with lock_target(self.out, kind=THINGS, patience=0):
                for name in removed:
                    remove(self.out / name)
                for name, text in files.items():
                    with write_whole(self.out / name) as draft:
                        draft.write_text(text)
                with write_whole_folder(self.out / "b") as draft:
                    (draft / "one.txt").write_text(self.word("ours"))


def _try_world(place: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Ten turns, some of them killed at one of the renames; counts how they ended."""
    world, ends = _World(place, seed), {"written": 0, "refused": 0, "killed": 0}
    if world.random.random() < 0.3:
        world.meddle()
    for _ in range(10):
        for _ in range(world.random.randrange(3)):
            world.meddle()
        before = world.others()
        allowed, left = world.random.random() < 0.2, world.random.choice([None, None, None, 0, 1, 2, 3, 4])
        replace, budget = Path.replace, [left]

        def stopped(self: Path, target: Path, budget=budget, replace=replace) -> Path:
            if budget[0] is not None:
                budget[0] -= 1
                if budget[0] < 0:
                    raise _Killed
            return replace(self, target)

        with monkeypatch.context() as patched, overwriting(allowed):
            patched.setattr(Path, "replace", stopped)
            try:
                world.write()
                end = "written"
            except OochubError as error:
                named = re.match(r"Cannot write (?:things to )?(.*?): ", str(error))
                assert named and world.out.parent in Path(named[1]).parents, (seed, error)
                end, places = "refused", (Path(named[1]), *Path(named[1]).parents)
                blocking = next(each for each in places if os.path.lexists(each))
            except _Killed:
                end = "killed"
        ends[end] += 1
        after = world.others()
        lost = {path for path, text in before.items() if after.get(path) != text}
        if allowed:  # a file that it wanted, but no link
            taken = {path for path in lost if before[path].startswith("other")}
            lost -= {path for path in taken if {path, *path.parents} & world.wanted}
        assert not lost, (seed, end, allowed, lost)
        if end == "refused" and world.random.random() < 0.8:  # its user does what the error says
            world.count += 1
            blocking.rename(world.outside / f"moved-{world.count}")
    return ends


def test_a_few_drawn_folders_lose_nothing(tmp_path, monkeypatch):
    """The campaign in small."""
    ends = [_try_world(tmp_path / str(seed), seed, monkeypatch) for seed in range(5)]
    assert all(sum(end[what] for end in ends) for what in ("written", "refused", "killed")), ends


@pytest.mark.campaign
def test_many_drawn_folders_lose_nothing(tmp_path, monkeypatch, capsys):
    """600 folders of ten turns; OOCHUB_OWNER_SEED=N draws those of an earlier run."""
    first = int(os.environ.get("OOCHUB_OWNER_SEED", time.time_ns() % 1_000_000))
    ends = {"written": 0, "refused": 0, "killed": 0}
    for seed in range(first, first + 600):
        found = _try_world(tmp_path / str(seed), seed, monkeypatch)
        ends = {what: ends[what] + found[what] for what in ends}
        shutil.rmtree(tmp_path / str(seed))
    with capsys.disabled():
        print(f"\n600 folders from seed {first}: {ends}")  # noqa: T201


def test_threads_may_begin_a_folder_at_once(tmp_path, monkeypatch):
    """Planted fault seen: one draft of the manifest for all threads of a process, which the first one removes."""
    meeting, link = threading.Barrier(2, timeout=60), os.link

    def link_together(*places):
        meeting.wait()
        link(*places)

    monkeypatch.setattr(os, "link", link_together)
    with ThreadPoolExecutor(2) as threads:
        made = list(threads.map(lambda _: make_manifest(tmp_path / "out", "things"), range(2)))
    assert [each.kind for each in made] == ["things"] * 2
    assert [each.name for each in (tmp_path / "out").iterdir()] == [MANIFEST]
