"""One entry that was made to stop the board, beside two good ones: these stay as they are, and it has a reason."""

import json
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from leaderboard_entries import made_predictions, sent_entry

from oochub.errors import OochubWarning
from oochub.leaderboard.site import Site
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import ListedPart, Manifest, save_thumbnails
from oochub.records.schema import to_json
from oochub.storage.parquet_file import read_seal, seal

HOSTILE = "zz-hostile"
LONG = "x" * 3_000_000
FLOATS = pa.list_(pa.float32())


def _resealed(file, said=None, **columns):
    table = pq.read_table(file)
    for name, values in columns.items():
        place = table.schema.get_field_index(name)
        table = table.append_column(name, values) if place < 0 else table.set_column(place, name, values)
    metadata = {**(table.schema.metadata or {}), **(said or {})}
    pq.write_table(table.replace_schema_metadata(metadata), file, write_page_checksum=True)
    seal(file)


def _said(key, content):
    return lambda folder: _resealed(folder / "preds.parquet", {key: content})


def _columns(make):
    def spoil(folder):
        table = pq.read_table(folder / "preds.parquet")
        _resealed(folder / "preds.parquet", **make(len(table)))

    return spoil


def _json(name, *place, value):
    def spoil(folder):
        content = json.loads((folder / name).read_text())
        at = content
        for step in place[:-1]:
            at = at[step]
        at[place[-1]] = value
        (folder / name).write_text(json.dumps(content))

    return spoil


def _as(make, name):
    def spoil(folder):
        (folder / name).unlink()
        make(folder / name)

    return spoil


def _out_of_the_folder(name):
    def spoil(folder):
        other = folder.parent.parent / f"elsewhere-{name}"
        shutil.move(folder / name, other)
        (folder / name).symlink_to(other)

    return spoil


def _linked_folder(folder):
    other = folder.parent.parent / "elsewhere"
    shutil.move(folder, other)
    folder.symlink_to(other)


def _misnamed(folder):
    folder.rename(os.fsdecode(os.fsencode(folder) + b"-\xff\xfe"))


def _large(folder):
    with (folder / "report.json").open("r+b") as file:
        file.truncate(100_000_000)


def _invalid_text(n):
    texts = pa.array([f"{number:05d}" for number in range(n)])
    offsets, values = texts.buffers()[1:]
    wrong = pa.py_buffer(values.to_pybytes()[:-1] + b"\xff")
    return {"example_id": pa.Array.from_buffers(pa.string(), n, [None, offsets, wrong])}


def _thumbnails_out_of_range(folder):
    file = folder / "preds.parquet"
    loaded = Predictions.load(file)
    parts, metadata, digest = folder / "parts", to_json(loaded.metadata), loaded.digest
    parts.mkdir()
    file.rename(parts / "part-00000.parquet")
    listed = ListedPart(file="part-00000.parquet", rows=300, seal=read_seal(parts / "part-00000.parquet"))
    save_thumbnails(parts, pa.table({"thumbnail": [b"one", b"two"]}))
    _resealed(parts / "_thumbnails.parquet", row=pa.array([0, 999_999]))
    pictures = read_seal(parts / "_thumbnails.parquet")
    Manifest(parts=(listed,), metadata=metadata, digest=digest, thumbnails=pictures).save(parts)
    parts.rename(file)


def _bomb(folder):
    n = 20_000_000
    table = pa.table({"example_id": pa.array(np.zeros(n, np.int8)), "label": pa.array(np.zeros(n, np.int8))})
    pq.write_table(table, folder / "preds.parquet", compression="zstd")


SPOILED = {
    "sums that are no JSON": _said(b"oochub_sums", b"{"),
    "sums of another type": _said(b"oochub_sums", b'{"digest": 1}'),
    "sums nested deeply": _said(b"oochub_sums", b"[" * 100_000),
    "a broken part": _said(b"oochub_part", b'{"'),
    "metadata that are no JSON": _said(b"oochub", b"\xff{"),
    "prediction 99": _columns(lambda n: {"prediction": pa.array(np.full(n, 99, np.int32)),
                                         "confidence": pa.array(np.ones(n)), "loss": pa.array(np.zeros(n))}),
    "three logits of two classes": _columns(lambda n: {"logits": pa.array([[0.0, 1.0, 2.0]] * n, FLOATS)}),
    "logits of nan": _columns(lambda n: {"logits": pa.array([[np.nan, 1.0]] * n, FLOATS)}),
    "ids that are no UTF-8": _columns(_invalid_text),
    "images that are none": _columns(lambda n: {"thumbnail": pa.array([b"<script>"] * n)}),
    "images of rows that are not there": _thumbnails_out_of_range,
    "billions of values": _bomb,
    "a name that is not UTF-8": _misnamed,
    "a report of 100 MB": _large,
    "a report nested deeply": lambda folder: (folder / "report.json").write_text("[" * 100_000),
    **{f"a pipe for {name}": _as(os.mkfifo, name) for name in ("entry.json", "preds.parquet")},
    **{f"a folder for {name}": _as(Path.mkdir, name) for name in ("entry.json", "preds.parquet")},
    **{f"a link out for {name}": _out_of_the_folder(name) for name in ("entry.json", "preds.parquet")},
    "a link to itself": _as(lambda file: file.symlink_to(file.name), "preds.parquet"),
    "a link for its folder": _linked_folder,
    "no permission": lambda folder: folder.chmod(0),
    "a NUL in a file's name": _json("entry.json", "predictions", value=["a\0.parquet"]),
    "a NUL in the config": _json("report.json", "benchmark", "config", value="a\0b"),
    "a config of 3 MB": _json("report.json", "benchmark", "config", value=LONG),
    "a metric of 3 MB": _json("report.json", "slices", 0, "metrics", LONG, value=None),
    "n of 400 digits": _json("report.json", "gap", "n_in", value=10**400),
    "n of 15 digits": _json("report.json", "slices", 0, "n", value=10**15),
    "a gap of 1e308": _json("report.json", "gap", "value", value=1e308),
    "a gap of NaN": _json("report.json", "gap", "value", value=float("nan")),
    "a metric of 400 digits": _json("report.json", "slices", 0, "metrics", "nll", "value", value=10**400),
    "a page of many megabytes": _json("report.json", "provenance", "command", value=LONG),
    "an image that is none": _json("report.json", "mistakes", 0, "image", value="%%%"),
    "half of a character": lambda folder: (folder / "entry.json").write_text('{"model": "\\ud800"}'),
}  # fmt: skip


# What is not read, or not believed, need not be a reason.
HARMLESS = ("prediction 99", "sums of another type", "an image that is none")
if os.geteuid() == 0:
    HARMLESS += ("no permission",)


@pytest.fixture(autouse=True)
def _one_cache(results, monkeypatch):
    """The good entries are checked once."""
    monkeypatch.setenv("OOCHUB_CACHE", str(results[0].parent / "cache"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Two good entries, what their board says of them, and a third that is to be spoiled."""
    folder = tmp_path_factory.mktemp("board")
    for skill, model in ((1.2, "good"), (1.8, "better")):
        sent_entry(folder / "results", skill, model=model)
    bad = sent_entry(folder / "bad", predictions=made_predictions(0.7, seed=9), model="hostile")
    site = Site.write(folder / "results", folder / "site")
    return folder / "results", bad, _rows(site)


def _rows(site):
    """Of the good entries all that the site holds: their lines of board and tables, their pages."""
    lines = []
    (board,) = site.folder.glob("boards/board_toy-one.html")
    for file, sign in ((board, '<tr class="row'), (site.folder / "leaderboard.csv", "")):
        lines += [line for line in file.read_text("utf-8").splitlines() if sign in line and _is_good(line)]
    content = json.loads((site.folder / "leaderboard.json").read_text("utf-8"))
    lines += [json.dumps(entry) for entry in content["entries"] if entry["model"] in ("good", "better")]
    return lines + [page.read_bytes() for page in sorted(site.folder.glob("entries/*")) if _is_good(page.name)]


def _is_good(words):
    return "-good-" in words or "-better-" in words


@pytest.mark.parametrize("spoil", SPOILED.values(), ids=SPOILED)
@pytest.mark.filterwarnings("ignore::oochub.errors.OochubWarning")
def test_a_hostile_entry_stops_nothing(results, tmp_path, spoil):
    """Seen: 11 of these ended in a traceback, and no board was made."""
    good, bad, expected = results
    assert len(expected) == 2 * (1 + 1 + 1 + 1)
    folder = shutil.copytree(good, tmp_path / "results")
    hostile = shutil.copytree(bad, folder / HOSTILE)
    spoil(hostile)
    try:
        site = Site.write(folder, tmp_path / "site")
    finally:
        if hostile.exists() and not hostile.is_symlink():
            hostile.chmod(0o755)
    rows = {row.name: row.reason for board in site.boards for row in board.rows}
    reasons = rows | {each.name: each.reason for each in site.unread}
    (name,) = [name for name in reasons if name.startswith(HOSTILE)]
    assert reasons[name] or spoil in [SPOILED[each] for each in HARMLESS]
    assert _rows(site) == expected or not reasons[name]
    assert len(reasons) == 3 and len(reasons[name]) <= 700 and "\n" not in reasons[name]
    assert str(tmp_path) not in reasons[name]
    json.loads((site.folder / "leaderboard.json").read_text("utf-8"))


def test_a_fault_of_ours_is_seen(results, tmp_path, monkeypatch):
    """What no check foresaw is a reason that names its type, and a warning that names the entry."""
    from oochub.leaderboard import check_entry as checked_entry

    good, bad, expected = results
    folder = shutil.copytree(good, tmp_path / "results")
    shutil.copytree(bad, folder / HOSTILE)
    kept = checked_entry.recompute_report

    def recomputation(sent, files, own=None):
        if HOSTILE in str(files[0]):
            raise KeyError("our own")
        return kept(sent, files, own)

    monkeypatch.setattr(checked_entry, "recompute_report", recomputation)
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    with pytest.warns(OochubWarning, match=f"{HOSTILE} is not verified, and that is a bug in oochub: .*KeyError"):
        site = Site.write(folder, tmp_path / "site")
    assert _rows(site) == expected
    (row,) = [row for row in site.boards[0].rows if row.name == HOSTILE]
    assert "KeyError: 'our own'" in row.reason


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_a_stop_is_no_reason(results, tmp_path, monkeypatch, stop):
    from oochub.leaderboard import check_entry as checked_entry

    def recomputation(*_):
        raise stop

    folder = tmp_path / "results"
    shutil.copytree(results[1], folder / HOSTILE)
    monkeypatch.setattr(checked_entry, "recompute_report", recomputation)
    monkeypatch.setenv("OOCHUB_CACHE", str(tmp_path / "cache"))
    with pytest.raises(stop):
        Site.write(folder, tmp_path / "site")
    assert not (tmp_path / "site").exists()


def test_a_good_board_is_written_without_a_warning(results, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", OochubWarning)
        Site.write(results[0], tmp_path / "site")
