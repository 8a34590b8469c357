"""Images are measured in parts and batches that large files make shorter; two runs may share the cache."""

import io
import os
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

import oochub
from oochub.context_finder import ContextWay, NamedContexts
from oochub.context_finding import measure_images as module
from oochub.errors import OochubError
from oochub.storage.cache import cache_folder
from oochub.storage.ownership import MANIFEST


class Wide(ContextWay):
    """The width of each image. It keeps the sizes of the batches, and may wait in the first for another run."""

    batch_size = 4

    def __init__(self, *, meeting=None, at=9):
        self.batches, self._meeting, self._at = [], meeting, at

    def settings(self):
        return {}

    def measures(self, pictures):
        if self._meeting is not None and not self.batches:
            self._meeting.wait(60)
        self.batches.append([picture.image.width for picture in pictures])
        return pa.table({"width": [picture.image.width for picture in pictures]})

    def name(self, measures, *, label, classes, chosen_on):
        width = measures.column("width").to_numpy()
        return NamedContexts(names=("wide",), words=("wider than others",), has=(width > self._at)[:, None])


def data(widths, noise=()):
    """Images one pixel high of one color, which are small files, and of noise, which are large ones."""
    rows = []
    for number, width in enumerate(widths):
        pixels = np.zeros((1, width, 3), np.uint8)
        if number in noise:
            pixels = np.random.default_rng(number).integers(0, 256, (1, width, 3), np.uint8)
        file = io.BytesIO()
        Image.fromarray(pixels).save(file, "PNG")
        rows.append({"bytes": file.getvalue(), "path": None})
    return datasets.Dataset.from_dict({"image": rows}, datasets.Features({"image": datasets.Image()}))


def kept():
    return sorted(cache_folder("contexts").glob("*.parquet"))


def test_large_pictures_make_batches_and_parts_of_fewer(monkeypatch):
    """Pixels by hand: at most 20 at once. Of 6 noisy images of 3,000 numbers each two files are below 7,000 bytes."""
    monkeypatch.setattr(module, "_PIXELS", 20)
    way = Wide()
    widths = [3, 3, 3, 3, 3, 12, 8, 1, 100, 20, 1]
    found = oochub.contexts(data(widths), by=way)["train"]
    assert way.batches == [[3, 3, 3, 3], [3, 12], [8, 1], [100], [20], [1]]
    assert found["contexts"][:] == [[0] if width > 9 else [] for width in widths]
    assert len(kept()) == 1
    monkeypatch.undo()
    monkeypatch.setattr(module, "_BYTES", 7_000)
    way = Wide()
    oochub.contexts(data([1000] * 6, noise=range(6)), by=way, cache=False)
    assert way.batches == [[1000, 1000]] * 3
    monkeypatch.setattr(module, "_BYTES", 10)
    assert len(oochub.contexts(data([5, 6]), by=Wide())["train"]) == 2  # each file is larger than the limit


def test_parts_of_small_pictures_stay_what_they_were(monkeypatch):
    """A limit that is not met moves nothing: what was measured with another one is taken."""
    way, small = Wide(), data([4] * 300)
    oochub.contexts(small, by=way)
    before = kept()
    assert len(before) == 2 and sum(map(len, way.batches)) == 300
    monkeypatch.setattr(module, "_BYTES", 2**20)
    oochub.contexts(small, by=way)
    assert sum(map(len, way.batches)) == 300 and kept() == before


def test_the_next_batch_is_prepared_while_one_is_measured():
    """Measuring waits for what the threads make of the next images: without that it would wait for ever."""

    class Meeting(Wide):
        def __init__(self):
            super().__init__()
            self.prepared = {width: threading.Event() for width in range(1, 11)}

        def prepare(self, picture):
            self.prepared[picture.image.width].set()
            return picture

        def measures(self, prepared):
            last = prepared[-1].image.width
            assert all(self.prepared[width].wait(60) for width in range(1, min(last + 4, 10) + 1))
            return super().measures(prepared)

    way = Meeting()
    oochub.contexts(data(range(1, 11)), by=way, cache=False)
    assert way.batches == [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10]]


def test_a_way_is_opened_once_and_not_for_what_is_in_the_cache():
    class Counted(Wide):
        opens = 0

        @contextmanager
        def opened(self):
            self.opens += 1
            yield
            self.opens += 10

    some, more = data([4] * 300), data([5] * 300)
    way = Counted()
    oochub.contexts(some, by=way)
    assert way.opens == 11
    oochub.contexts(some, by=way)
    assert way.opens == 11
    oochub.contexts(more, by=way)
    assert way.opens == 22


_KILLED = """
import os, signal, sys
sys.path[:0] = sys.argv[1:2]
import oochub
from test_measure_images import Wide, data

way = Wide()
measures = way.measures

def killed(images):
    if sum(map(len, way.batches)) > 300:
        os.kill(os.getpid(), signal.SIGKILL)
    return measures(images)

way.measures = killed
oochub.contexts(data([*range(1, 21)] * 30), by=way)
"""


@pytest.mark.slow
def test_a_killed_run_goes_on_after_its_last_part():
    """Killed at image 300 of 600, so that the first part, of 256, is kept; the second run ends with the same rows."""
    ended = subprocess.run([sys.executable, "-c", _KILLED, str(Path(__file__).parent)], env=os.environ, check=False)
    assert ended.returncode == -signal.SIGKILL and len(kept()) == 1
    way, widths = Wide(), [*range(1, 21)] * 30
    found = oochub.contexts(data(widths), by=way)["train"]
    assert sum(map(len, way.batches)) == 600 - 256 and len(kept()) == 3
    alone = oochub.contexts(data(widths), by=Wide(), cache=False)["train"]
    assert found._fingerprint == alone._fingerprint and found[:].keys() == alone[:].keys()


def test_two_runs_share_the_cache():
    """At once, so that both measure and write the same parts: both have the rows, and the cache is whole."""
    meeting, results = threading.Barrier(2), {}
    shared = data([*range(1, 20)] * 20)

    def run(number):
        results[number] = oochub.contexts(shared, by=Wide(meeting=meeting))["train"]["contexts"][:]

    runs = [threading.Thread(target=run, args=(number,)) for number in range(2)]
    for each in runs:
        each.start()
    for each in runs:
        each.join(120)
    assert results[0] == results[1] == [[0] if width > 9 else [] for width in range(1, 20)] * 20
    again = Wide()
    oochub.contexts(shared, by=again)
    files = [path for path in cache_folder("contexts").iterdir() if path.name != MANIFEST]
    assert again.batches == [] and len(kept()) == 2 == len(files)


@pytest.mark.slow
def test_one_of_two_writers_to_one_folder_is_refused(tmp_path):
    """Before it measures anything; the other ends as if it were alone."""
    meeting, ended = threading.Barrier(2), []
    small, out = data([5, 12, 30]), tmp_path / "found"
    first = threading.Thread(
        target=lambda: ended.append(oochub.contexts(small, by=Wide(meeting=meeting), out=out, cache=False))
    )
    first.start()
    try:
        while not meeting.n_waiting:  # it measures, so it holds the lock; the file alone may not be locked yet
            first.join(0.01)
            assert first.is_alive()
        second = Wide()
        # who it is stands there, see tests/storage/test_files.py; an older filelock empties the file that says so
        with pytest.raises(
            OochubError, match=r"Another process writes .*found( \(process \d+ on .*\))?\. Wait for its"
        ):
            oochub.contexts(small, by=second, out=out, cache=False)
        assert second.batches == []
    finally:
        meeting.wait(60)
        first.join(120)
    assert len(ended) == 1 and oochub.load(out)["train"]["contexts"][:] == [[], [0], [0]]
    assert not (tmp_path / ".found.lock").exists()


def test_what_was_found_has_a_fingerprint_by_its_content():
    """Which the cache of predictions goes by: equal for equal columns, another where a context differs."""
    small = data([5, 12, 30])
    first, same, other = (oochub.contexts(small, by=Wide(at=at))["train"] for at in (9, 10, 4))
    assert first["contexts"][:] == same["contexts"][:] != other["contexts"][:]
    assert first._fingerprint == same._fingerprint != other._fingerprint
