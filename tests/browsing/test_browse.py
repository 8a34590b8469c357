"""The folder that `oochub report --browse` writes: every row once, in every form of its source, or an error."""

import base64
import io
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from browsed import browsed_predictions, write_browsed
from found_rows import predictions_of, rows
from PIL import Image

import oochub
from oochub.browsing.browse import browse
from oochub.builders.toy_worlds.toy_pictures import toy_pictures
from oochub.errors import OochubError
from oochub.prediction.predictions import Predictions
from oochub.settings.data_settings import DataSettings
from oochub.storage.ownership import MANIFEST


def _read(path):
    """What the scripts of a folder say: the description, the columns as arrays, the texts of each row."""

    def said(file, function):
        return json.loads(f"[{re.fullmatch(rf'oochubBrowse[.]{function}[(](.*)[)];', file.read_text().strip())[1]}]")

    about, encoded = said(path / "data" / "about.js", "about")[0], said(path / "data" / "columns.js", "columns")[0]
    columns = {name: np.frombuffer(base64.b64decode(text), about["columns"][name]) for name, text in encoded.items()}
    parts = [said(file, "part") for file in sorted((path / "data" / "rows").iterdir())]
    assert [number for number, _ in parts] == list(range(len(parts)))
    return about, columns, [texts for _, texts in parts]


def _by_id(about, columns, parts, name):
    """The value of a field of each row, by its id."""
    values = next(each["values"] for each in about["fields"] if each["name"] == name)
    ids = [name for part in parts for name in part["id"]]
    return {name: values[code] for name, code in zip(ids, columns[f"field {name}"], strict=True)}


def test_every_row_is_there_once_with_what_it_is(tmp_path):
    """Against the predictions themselves; the highest loss first. Planted fault seen: codes in the old order."""
    predictions = browsed_predictions(300, images=False)
    about, columns, parts = _read(write_browsed(tmp_path, predictions))
    ids = [name for part in parts for name in part["id"]]
    assert sorted(ids) == sorted(predictions.column("example_id").tolist()) and about["rows"] == 300
    place = {name: row for row, name in enumerate(predictions.column("example_id").tolist())}
    order = [place[name] for name in ids]
    np.testing.assert_array_equal(columns["loss"], predictions.summary.loss[order])
    assert (np.diff(columns["loss"]) <= 0).all()
    np.testing.assert_array_equal(columns["confidence"], predictions.summary.confidence[order])
    own = {
        "label": np.array(predictions.class_names)[predictions.label],
        "answered": np.array(predictions.class_names)[predictions.prediction],
        "outcome": np.where(predictions.label == predictions.prediction, "right", "wrong"),
        **{name: predictions.column(name) for name in ("split", "context", "group", "challenge")},
    }
    for name, values in own.items():
        assert _by_id(about, columns, parts, name) == dict(zip(predictions.column("example_id"), values, strict=True))
    sides = _by_id(about, columns, parts, "side")
    is_out = (predictions.split == "test") & (predictions.column("challenge") == "hard")
    assert {name for name, side in sides.items() if side == "in unusual contexts"} == {
        *predictions.column("example_id")[is_out]
    }


def test_the_images_that_predictions_keep_stand_in_their_tiles(tmp_path):
    """Each tile has its row's color, and a row without an image has none; what is missing is said."""
    n = 150
    predictions = browsed_predictions(n, images=False)
    colors = np.random.default_rng(0).integers(20, 236, (n, 3))
    stored = []
    for row, color in enumerate(colors):
        file = io.BytesIO()
        Image.new("RGB", (200, 100), tuple(map(int, color))).save(file, "JPEG", quality=95)
        stored.append(None if row % 5 == 0 else file.getvalue())
    made = predictions.with_table(predictions.table.append_column("thumbnail", pa.array(stored, pa.binary())))
    folder = write_browsed(tmp_path, made)
    about, columns, parts = _read(folder)
    assert "120 of 150 rows have an image" in about["missingImages"]
    place = {name: row for row, name in enumerate(predictions.column("example_id").tolist())}
    for at, name in enumerate(name for part in parts for name in part["id"]):
        row = place[name]
        if stored[row] is None:
            assert columns["tile width"][at] == columns["tile height"][at] == 0
            continue
        assert (columns["tile width"][at], columns["tile height"][at]) == (96, 48)
        with Image.open(folder / "sheets" / f"{at // 64:05}.jpg") as sheet:
            x, y = 96 * (at % 8), 96 * (at % 64 // 8)
            seen = np.asarray(sheet.convert("RGB").crop((x + 8, y + 8, x + 88, y + 40)), float).mean((0, 1))
        assert np.abs(seen - colors[row]).max() < 8


@pytest.mark.slow
def test_images_come_from_the_data_that_were_predicted(tmp_path):
    """Each row that the data have gets its own image; one that cannot be read, or is not there, is counted and said."""
    data = toy_pictures(tmp_path / "data", size=8)
    loaded = oochub.load(str(data), label="breed", context="background")
    ids, splits = ([*loaded["test"]["example_id"], "nowhere"], [*["test"] * len(loaded["test"]), "test"])
    broken = next((data / "test").glob("*.png"))
    pixels = {path.stem: np.asarray(Image.open(path).convert("RGB"), float) for path in (data / "test").rglob("*.png")}
    broken.write_bytes(b"no image")
    n = len(ids)
    rng = np.random.default_rng(0)
    made = Predictions.from_arrays(
        logits=rng.normal(size=(n, 2)), label=np.arange(n) % 2, class_names=["a", "b"], example_id=ids, split=splits
    )
    folder = write_browsed(tmp_path / "made", made, images_from=data, data=DataSettings(label="breed"))
    about, columns, parts = _read(folder)
    assert about["missingImages"].startswith(f"2 of {n} rows have no image")
    shown = 0
    for at, name in enumerate(name for part in parts for name in part["id"]):
        if not columns["tile width"][at]:
            assert name == "nowhere" or name.partition(".")[0].endswith(broken.stem)
            continue
        own = next(image for stem, image in pixels.items() if name.partition(".")[0].endswith(stem))
        with Image.open(folder / "sheets" / f"{at // 64:05}.jpg") as sheet:
            x, y = 96 * (at % 8), 96 * (at % 64 // 8)
            seen = np.asarray(sheet.convert("RGB").crop((x, y, x + 48, y + 48)), float)
        assert np.abs(seen.mean((0, 1)) - own.mean((0, 1))).max() < 6
        shown += 1
    assert shown == n - 2
    with pytest.raises(OochubError, match="No row of these data"):
        others = toy_pictures(tmp_path / "others", size=8)
        renamed = Predictions.from_arrays(logits=rng.normal(size=(4, 2)), label=[0, 1, 0, 1])
        write_browsed(tmp_path / "more", renamed, images_from=others, data=DataSettings(label="breed"))


def test_contexts_that_were_found_are_filters(tmp_path):
    """With, without, and not known of each, in rows that chose them too."""
    made = rows(60)
    about, columns, parts = _read(write_browsed(tmp_path, predictions_of(made)))
    grass = _by_id(about, columns, parts, "has grass")
    expected = {
        str(row): "not known" if has is None else "with" if 0 in has else "without"
        for row, has in enumerate(made["contexts"])
    }
    assert {str(int(name)): value for name, value in grass.items()} == expected
    assert "has sand" in {each["name"] for each in about["fields"]}


def test_predictions_need_no_report_and_take_the_one_beside_them(tmp_path):
    """The report beside them is shown where it is of them; else one is made."""
    predictions = browsed_predictions(60, images=False)
    write_browsed(tmp_path, predictions)
    folder = browse(tmp_path / "predictions.parquet", tmp_path / "again")
    assert (folder / "report.html").read_text() == (tmp_path / "rows" / "report.html").read_text()
    browsed_predictions(40, images=False).save(tmp_path / "other.parquet")
    about, *_ = _read(browse(tmp_path / "other.parquet", tmp_path / "other"))
    assert about["rows"] == 40


def test_both_pages_link_to_each_other(tmp_path):
    """And a report on its own says the command."""
    folder = write_browsed(tmp_path, browsed_predictions(60, images=False))
    assert 'href="report.html"' in (folder / "index.html").read_text()
    assert 'href="index.html"' in (folder / "report.html").read_text()
    alone = oochub.evaluate(tmp_path / "predictions.parquet", resamples=100).to_html()
    assert "oochub report report.json --browse rows/" in alone and "index.html" not in alone


def test_a_second_run_takes_the_place_of_the_first_and_of_nothing_else(tmp_path):
    """The same rows give the same files; a file of the user's stays, and a page that was edited is no longer ours."""
    folder = write_browsed(tmp_path, browsed_predictions(60))

    def read():
        files = (path for path in folder.rglob("*") if path.is_file() and path.name != MANIFEST)
        return {path.relative_to(folder): path.read_bytes() for path in files}

    before = read()
    (folder / "mine.txt").write_text("mine")
    browse(tmp_path / "report.json", folder)
    assert read() == before | {Path("mine.txt"): b"mine"}
    (folder / "index.html").write_text("edited")
    with pytest.raises(OochubError, match=r"index\.html: it was changed after oochub wrote it"):
        browse(tmp_path / "report.json", folder)
    assert read() == before | {Path("mine.txt"): b"mine", Path("index.html"): b"edited"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "predictions.parquet").unlink(), "--predictions FILE|predictions="),
        (
            lambda folder: browsed_predictions(60, seed=1, images=False).save(folder / "predictions.parquet"),
            "made of other predictions",
        ),
        (lambda folder: (folder / "report.json").write_text("{}"), "report"),
    ],
)
def test_rows_that_are_not_there_or_not_the_reports_are_refused(tmp_path, change, message):
    """Before anything is written."""
    write_browsed(tmp_path, browsed_predictions(60, images=False))
    shutil.rmtree(tmp_path / "rows")
    change(tmp_path)
    with pytest.raises(OochubError, match=message):
        browse(tmp_path / "report.json", tmp_path / "rows")
    assert not (tmp_path / "rows").exists()


def test_a_report_of_rows_in_memory_takes_the_predictions_by_name(tmp_path):
    """The error says so."""
    predictions = browsed_predictions(60, images=False)
    oochub.evaluate(predictions, resamples=100).save(tmp_path / "report.json")
    with pytest.raises(OochubError, match="in memory"):
        browse(tmp_path / "report.json", tmp_path / "rows")
    predictions.save(tmp_path / "elsewhere.parquet")
    browse(tmp_path / "report.json", tmp_path / "rows", predictions=[tmp_path / "elsewhere.parquet"])
    assert (tmp_path / "rows" / "index.html").is_file()


KINDS = {
    "number": lambda: Predictions.from_arrays(value=[0.4, -1.0, 2.0], label=[0.5, -2.0, 2.5]),
    "labels": lambda: Predictions.from_arrays(
        logits=[[1.0, -1.0], [2.0, 1.0]], labels=[[1.0, 0.0], [0.0, np.nan]], class_names=["sky", "tree"]
    ),
    "tokens": lambda: Predictions.from_arrays(
        tokens=np.arange(12).reshape(3, 4), predicted_tokens=np.arange(12).reshape(3, 4) % 7, kinds=np.full((3, 4), 6)
    ),
    "choices": lambda: Predictions.from_arrays(
        kind="choices", prediction=[0, 1, -1], label=[0, 0, 1], class_names=["cat", "dog"]
    ),
    "boxes": lambda: Predictions.from_arrays(
        detected_boxes=np.full((2, 1, 4), [1.0, 1, 9, 9]),
        scores=np.full((2, 1), 0.9),
        boxes=np.full((2, 1, 4), [1.0, 1, 8, 8]),
        class_names=["head"],
    ),
    "texts": lambda: Predictions.from_arrays(
        logits=[[1.0, 0.0], [0.0, 1.0]], label=[0, 0], text=["a\nb", "c" * 900], class_names=["fine", "toxic"]
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_output_has_a_page(tmp_path, kind):
    """With a number that is counted, and words for each row."""
    about, columns, parts = _read(write_browsed(tmp_path, KINDS[kind]()))
    assert about["measures"] and about["rows"] == len(columns["loss"]) == sum(len(part["id"]) for part in parts)
    if kind in ("tokens", "texts"):
        assert about["hasText"] and all(parts[0]["text"]) and max(map(len, parts[0]["text"])) <= 400


def test_a_report_of_the_classes_present_has_the_same_answers(tmp_path):
    """As its own command read them: an answer outside the classes that occur is none."""
    rng = np.random.default_rng(0)
    predictions = Predictions.from_arrays(
        logits=rng.normal(size=(80, 6)), label=rng.integers(0, 3, 80), class_names=list("abcdef")
    )
    predictions.save(tmp_path / "predictions.parquet")
    for classes, allowed in (("all", set("abcdef")), ("present", set("abc"))):
        report = oochub.evaluate(tmp_path / "predictions.parquet", classes=classes, resamples=100)
        report.save(tmp_path / "report.json")
        made = _read(browse(tmp_path / "report.json", tmp_path / "rows"))
        assert {*_by_id(*made, "answered").values()} == allowed
        outcome = [*_by_id(*made, "outcome").values()]
        assert outcome.count("right") / 80 == pytest.approx(float(report["accuracy"]))


def test_a_report_of_several_files_has_the_rows_of_all(tmp_path):
    """By their names, beside it."""
    every = browsed_predictions(90, images=False)
    for split in ("validation", "test"):
        every.select(every.split == split).save(tmp_path / f"{split}.parquet")
    files = [tmp_path / "validation.parquet", tmp_path / "test.parquet"]
    oochub.evaluate(files, resamples=100).save(tmp_path / "report.json")
    about, columns, parts = _read(browse(tmp_path / "report.json", tmp_path / "rows"))
    splits = dict(zip(every.column("example_id"), every.split, strict=True))
    assert _by_id(about, columns, parts, "split") == splits


def test_the_command_says_what_fits_and_what_it_wrote(tmp_path, run, monkeypatch):
    """As a user types it."""
    write_browsed(tmp_path, browsed_predictions(60, images=False))
    monkeypatch.chdir(tmp_path)
    assert run("report", "report.json", "--browse", "rows").code == 0
    code, _, err = run("report", "report.json", "--predictions", "predictions.parquet")
    assert code == 2 and "--browse" in err
    code, _, err = run("report", "report.json", "report.json", "--browse", "rows")
    assert code == 2 and "one report" in err
    assert run("report", "report.json", "--browse", "report.json").code == 2
