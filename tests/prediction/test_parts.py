"""Predictions in parts: complete parts outlive a run that is stopped, and large predictions are a folder of them."""

import json
import shutil
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from array_rows import array_data, array_model
from hang_watch import no_hang
from transformers import ResNetForImageClassification

import oochub
from oochub.errors import OochubError, OochubWarning
from oochub.models.extraction import Extraction
from oochub.prediction import parts, predictions_file
from oochub.prediction.predictions import Predictions
from oochub.prediction.predictions_file import Manifest, save_thumbnails
from oochub.storage.parquet_file import read_seal, seal


@pytest.fixture
def model(tmp_path):
    """A folder with a tiny model of arrays."""
    return array_model(tmp_path / "model")


@pytest.fixture
def data():
    """Two splits of 3 x 4 x 4 arrays, 11 and 5 rows, with ids."""
    return array_data(validation=11, test=5)


@pytest.fixture
def small_parts(monkeypatch):
    """Parts of four rows: 3 and 2 of them."""
    monkeypatch.setattr(parts, "_ROWS", 4)


@pytest.fixture
def calls(monkeypatch):
    """Counts the rows that go through the network; stops the run at a row."""
    state = {"rows": 0, "stop": None}
    whole = Extraction.__call__

    def counted(self, batch):
        if state["stop"] is not None and state["rows"] >= state["stop"]:
            raise KeyboardInterrupt
        outputs = whole(self, batch)
        state["rows"] += len(outputs["logits"])
        return outputs

    monkeypatch.setattr(Extraction, "__call__", counted)
    return state


def predicted(model, data, *, batch_size=2, **options):
    return oochub.predict(model, data, batch_size=batch_size, cache=False, splits=list(data), **options)


def same(one, other):
    """Equal rows, vectors bit for bit, and equal metadata but for the moment."""
    assert one.table.equals(other.table)
    assert one.metadata.fingerprint == other.metadata.fingerprint and one.metadata.notes == other.metadata.notes
    assert one.digest == other.digest


def test_parts_give_what_one_part_gives(model, data, tmp_path, monkeypatch):
    """Fault planted: batches that run on over the end of a part."""
    whole = predicted(model, data, out=tmp_path / "whole.parquet", features=True)
    monkeypatch.setattr(parts, "_ROWS", 4)
    made = predicted(model, data, out=tmp_path / "parts.parquet", features=True)
    same(made, whole)
    same(Predictions.load(tmp_path / "parts.parquet"), Predictions.load(tmp_path / "whole.parquet"))
    assert made.head is not None and np.array_equal(made.head.weight, whole.head.weight)
    names = sorted(path.name for path in tmp_path.iterdir() if "parts" in path.name)
    assert names == ["parts.head.safetensors", "parts.parquet"]


@pytest.mark.parametrize("stop", [1, 5, 13])
def test_a_stopped_run_goes_on_after_its_last_part(model, data, tmp_path, small_parts, calls, stop):
    """Faults planted: parts that are counted by their files alone; rows of a part by their place in what is left."""
    whole = predicted(model, data, out=tmp_path / "whole.parquet")
    calls |= {"rows": 0, "stop": stop}
    with pytest.raises(KeyboardInterrupt):
        predicted(model, data, out=tmp_path / "stopped.parquet")
    assert not (tmp_path / "stopped.parquet").exists()
    complete = len(list((tmp_path / ".stopped.parquet.parts").glob("part-*.parquet")))
    calls |= {"rows": 0, "stop": None}
    same(predicted(model, data, out=tmp_path / "stopped.parquet"), whole)
    rows_of_parts = [4, 4, 3, 4, 1]
    assert calls["rows"] == sum(rows_of_parts[complete:]) and complete == [1, 5, 9, 13].index(stop)
    assert not (tmp_path / ".stopped.parquet.parts").exists()


def test_a_part_is_of_whole_batches(model, data, tmp_path, small_parts, calls):
    """Batches of three rows, parts of four at most. Fault planted: parts of four, in whose middle a batch lies."""
    whole = predicted(model, data, out=tmp_path / "whole.parquet", batch_size=3)
    calls |= {"rows": 0, "stop": 6}
    with pytest.raises(KeyboardInterrupt):
        predicted(model, data, out=tmp_path / "stopped.parquet", batch_size=3)
    first = Predictions.load(tmp_path / ".stopped.parquet.parts" / "part-00000.parquet")
    assert first.column("example_id").tolist() == ["v0", "v1", "v2"]
    calls |= {"rows": 0, "stop": None}
    same(predicted(model, data, out=tmp_path / "stopped.parquet", batch_size=3), whole)
    assert calls["rows"] == 16 - 3


def test_a_part_that_was_cut_short_is_made_again(model, data, tmp_path, small_parts, calls):
    whole = predicted(model, data, out=tmp_path / "whole.parquet")
    calls |= {"rows": 0, "stop": 11}
    with pytest.raises(KeyboardInterrupt):
        predicted(model, data, out=tmp_path / "stopped.parquet")
    first, second, _ = sorted((tmp_path / ".stopped.parquet.parts").glob("part-*.parquet"))
    first.write_bytes(first.read_bytes()[:-40])
    changed = bytearray(second.read_bytes())
    changed[len(changed) // 3] ^= 1
    second.write_bytes(changed)
    calls |= {"rows": 0, "stop": None}
    same(predicted(model, data, out=tmp_path / "stopped.parquet"), whole)
    assert calls["rows"] == 4 + 4 + 5


def test_parts_of_another_prediction_are_removed_and_said(model, data, tmp_path, small_parts, calls):
    """Fault planted: a layout without the key."""
    calls["stop"] = 9
    with pytest.raises(KeyboardInterrupt):
        predicted(model, data, out=tmp_path / "p.parquet")
    calls["stop"] = None
    whole = predicted(model, data, out=tmp_path / "whole.parquet", dtype="bfloat16")
    with pytest.warns(OochubWarning, match="2 parts of another, stopped prediction are removed"):
        same(predicted(model, data, out=tmp_path / "p.parquet", dtype="bfloat16"), whole)


@pytest.mark.slow
def test_a_model_object_and_a_stream_begin_anew(model, data, tmp_path, small_parts, calls):
    network = ResNetForImageClassification.from_pretrained(model)
    for name, source in {
        "object": data,
        "stream": {name: part.to_iterable_dataset() for name, part in data.items()},
    }.items():
        taken = network if name == "object" else model
        whole = predicted(taken, source, out=tmp_path / f"{name}-whole.parquet")
        calls |= {"rows": 0, "stop": 9}
        with pytest.raises(KeyboardInterrupt):
            predicted(taken, source, out=tmp_path / f"{name}.parquet")
        calls |= {"rows": 0, "stop": None}
        same(predicted(taken, source, out=tmp_path / f"{name}.parquet"), whole)
        assert calls["rows"] == 16


@pytest.fixture(scope="module")
def both_forms(tmp_path_factory):
    """Predictions as one file and as a folder of parts, which the tests copy."""
    place = tmp_path_factory.mktemp("both_forms")
    model, data = array_model(place / "model"), array_data(validation=11, test=5)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "_ROWS", 4)
        predicted(model, data, out=place / "one.parquet", features=True)
        patch.setattr(predictions_file, "_ONE_FILE", 20)
        predicted(model, data, out=place / "many.parquet", features=True)
    return place


@pytest.fixture
def folder(both_forms, tmp_path, small_parts, monkeypatch):
    """Predictions that are a folder of parts, and the same as one file."""
    monkeypatch.setattr(predictions_file, "_ONE_FILE", 20)
    shutil.copytree(both_forms, tmp_path, dirs_exist_ok=True)
    return tmp_path / "many.parquet"


@pytest.mark.slow
def test_a_large_prediction_is_a_folder(folder, tmp_path):
    """Fault planted: parts in the order of their names as numbers without zeros."""
    one, many = Predictions.load(tmp_path / "one.parquet"), Predictions.load(folder)
    same(many, one)
    assert np.array_equal(many.features, one.features) and np.array_equal(many.head.weight, one.head.weight)
    assert sorted(path.name for path in folder.glob("part-*")) == [f"part-{k:05d}.parquet" for k in range(5)]
    frame = pd.read_parquet(folder)
    assert frame["example_id"].tolist() == one.column("example_id").tolist()
    assert frame["oochub_prediction"].tolist() == one.prediction.tolist()
    assert oochub.evaluate(folder)["accuracy"] == oochub.evaluate(tmp_path / "one.parquet")["accuracy"]


def with_pictures(folder, pictures):
    """The folder with other small images, and lines of text, a row each."""
    replace(Manifest.load(folder), thumbnails=save_thumbnails(folder, pictures)).save(folder)


def test_lines_of_rows_stand_beside_a_folder(folder):
    """Planted and seen: only rows with an image are kept."""
    lines = [f"line {row}" if row in (2, 9, 15) else None for row in range(16)]
    pictures = pa.array([b"picture" if row == 2 else None for row in range(16)], pa.binary())
    with_pictures(folder, pa.table({"thumbnail": pictures, "thumbnail_text": lines}))
    rows = Predictions.load(folder)
    assert rows.table.column("thumbnail_text").to_pylist() == lines
    assert rows.table.column("thumbnail").to_pylist() == pictures.to_pylist()


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        (pa.array([16]), "an image for row 16, but there are 16 rows"),
        (pa.array([2**62]), "an image for row 4611686018427387904"),
        (pa.array([-1]), "an image for row -1"),
        (pa.array([None], pa.int64()), "must give the row number of each image"),
        (pa.array([1.5]), "must give the row number of each image, got double"),
        (pa.array(["1"]), "must give the row number of each image, got string"),
        (pa.array([3, 3]), "two images for one row"),
        (None, "must give the row number of each image"),
    ],
)
def test_small_pictures_of_rows_that_are_not_there(folder, rows, words):
    """They are errors with words, never an IndexError or an image at the wrong row."""
    table = pa.table({"thumbnail": pa.array([b"picture"] * len([1] if rows is None else rows), pa.binary())})
    pq.write_table(table if rows is None else table.append_column("row", rows), folder / "_thumbnails.parquet")
    replace(Manifest.load(folder), thumbnails=None).save(folder)  # as of before
    with pytest.raises(OochubError, match=words) as error:
        Predictions.load(folder)
    assert "_thumbnails.parquet" in str(error.value)


def test_small_pictures_of_another_folder_are_refused(folder):
    """A manifest says which file of small images is its own."""
    pictures = pa.table({"thumbnail": pa.array([b"mine", *[None] * 15], pa.binary())})
    with_pictures(folder, pictures)
    assert Predictions.load(folder).column("thumbnail")[0] == b"mine"
    save_thumbnails(folder, pa.table({"thumbnail": pa.array([b"other", *[None] * 15], pa.binary())}))
    with pytest.raises(OochubError, match="small images of other predictions"):
        Predictions.load(folder)
    (folder / "_thumbnails.parquet").unlink()
    with pytest.raises(OochubError, match=r"_thumbnails\.parquet is missing"):
        Predictions.load(folder)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["part-00000.parquet", "part-{}.parquet"])
def test_a_manifest_of_a_hundred_thousand_parts(folder, name):
    """Said before a part is opened. Seen: the first part opened a hundred thousand times, for minutes."""
    manifest = Manifest.load(folder)
    listed = tuple(replace(manifest.parts[0], file=name.format(number)) for number in range(100_000))
    replace(manifest, parts=listed).save(folder)
    with no_hang(name), pytest.raises(OochubError, match=r"lists 100,000 parts, but \d+ files are there"):
        Predictions.load(folder)


@pytest.mark.parametrize("name", ["part-00000.parquet", "part-9.parquet", "../one.parquet", "/etc/passwd", "", "."])
def test_a_part_that_is_not_there_or_listed_twice(folder, name):
    manifest = Manifest.load(folder)
    replace(manifest, parts=(*manifest.parts[:-1], replace(manifest.parts[-1], file=name))).save(folder)
    words = "part-00000.parquet twice" if name == "part-00000.parquet" else f"its part {name} is missing"
    with pytest.raises(OochubError, match=words):
        Predictions.load(folder)


def test_answers_of_a_folder_are_compared_with_its_manifest(folder):
    """One logit replaced in a part, sealed again, its seal written into the manifest."""
    part, manifest = folder / "part-00001.parquet", Manifest.load(folder)
    table = pq.read_table(part)
    logits = [[9.0] * len(table["logits"][0]), *table["logits"].to_pylist()[1:]]
    column = pa.array(logits, table.schema.field("logits").type)
    changed = table.set_column(table.column_names.index("logits"), "logits", column)
    pq.write_table(changed.replace_schema_metadata(table.schema.metadata), part)
    seal(part)
    parts_of = [replace(each, seal=read_seal(part)) if each.file == part.name else each for each in manifest.parts]
    replace(manifest, parts=tuple(parts_of)).save(folder)
    with pytest.raises(OochubError, match="not those that were sealed"):
        Predictions.load(folder)


def test_a_folder_takes_the_place_of_a_file_and_back(folder, tmp_path, model, data, monkeypatch):
    (tmp_path / "one.parquet").rename(tmp_path / "p.parquet")
    Predictions.load(folder).save(tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").is_dir()
    monkeypatch.setattr(predictions_file, "_ONE_FILE", 1000)
    same(Predictions.load(folder), Predictions.load(tmp_path / "p.parquet"))
    Predictions.load(folder).save(tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet").is_file() and not list(tmp_path.glob(".*"))
    same(Predictions.load(folder), Predictions.load(tmp_path / "p.parquet"))


def _lost(folder):
    (folder / "part-00002.parquet").unlink()


def _cut(folder):
    file = folder / "part-00001.parquet"
    file.write_bytes(file.read_bytes()[:-30])


def _of_another(folder):
    (folder / "part-00001.parquet").write_bytes((folder / "part-00000.parquet").read_bytes())


def _flipped(folder):
    file = folder / "part-00003.parquet"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 8
    file.write_bytes(content)


def _manifest(folder):
    file = folder / "_manifest.json"
    content = json.loads(file.read_text())
    content["parts"][0]["rows"] = 5
    file.write_text(json.dumps(content))


def _no_manifest(folder):
    (folder / "_manifest.json").unlink()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (_lost, "part-00002.parquet is missing"),
        (_cut, "part-00001.parquet is not the part that _manifest.json lists"),
        (_of_another, "is not the part"),
        (_flipped, "is corrupted: its checksum does not match"),
        (_manifest, "_manifest.json is corrupted"),
        (_no_manifest, "has no _manifest.json"),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_folder_that_is_not_whole_is_named(folder, fault, words):
    fault(folder)
    with pytest.raises(OochubError, match=words):
        Predictions.load(folder)
    with pytest.raises(OochubError, match=words):
        oochub.evaluate(folder)


def test_another_folder_is_not_replaced(tmp_path, model, data):
    (tmp_path / "p.parquet").mkdir()
    (tmp_path / "p.parquet" / "thesis.txt").write_text("mine")
    with pytest.raises(OochubError, match="is not predictions that oochub wrote, and is not replaced"):
        predicted(model, data, out=tmp_path / "p.parquet")
    assert (tmp_path / "p.parquet" / "thesis.txt").read_text() == "mine"


def test_vectors_stay_in_their_file(folder, tmp_path):
    """Faults planted: rows that are looked for by their number in a row group; losses in the order of the file."""
    one = Predictions.load(tmp_path / "one.parquet")  # of several row groups
    assert np.array_equal(one.take(np.array([5, 14])).features, one.features[[5, 14]])
    many = Predictions.load(folder)
    blocks = list(many.blocks("features", "logits"))
    assert [rows.start for rows, _ in blocks] == [0, 4, 8, 11, 15]
    assert np.array_equal(np.concatenate([block["features"] for _, block in blocks]), many.features)
    chosen = many.take(np.array([15, 3, 4]))
    assert np.array_equal(chosen.logits, many.logits[[15, 3, 4]])
    assert np.array_equal(chosen.summary.loss, many.summary.loss[[15, 3, 4]])
    expected = many.logits.astype(float)
    loss = np.log(np.exp(expected).sum(axis=1)) - expected[np.arange(16), many.label]
    assert np.allclose(many.summary.loss, loss, rtol=1e-12)
    unknown = Predictions.from_arrays(logits=many.logits[:2], label=[-1, 2])
    unknown.save(tmp_path / "unknown.parquet")
    assert np.isnan(Predictions.load(tmp_path / "unknown.parquet").summary.loss).tolist() == [True, False]


@pytest.mark.parametrize("rows", [[4, 5, 6, 7], [4, 6, 7, 9], [3]])
def test_a_part_knows_its_rows_in_few_numbers(tmp_path, rows):
    """Row numbers with and without gaps come back; unbroken ones as a range. Fault planted: the last of a run lost."""
    made = Predictions.from_arrays(logits=[[0.0, 1.0]] * len(rows), label=[0] * len(rows), split="test")
    kept = parts.Parts(tmp_path / "some.parquet", {"key": "one"})
    kept.put(0, parts.MadePart("test", made, rows))
    (again,) = parts.Parts(tmp_path / "some.parquet", {"key": "one"}).made()
    assert list(again.rows) == rows
    assert isinstance(again.rows, range) == (rows[-1] - rows[0] + 1 == len(rows))


def test_rows_are_held_once(model, data, tmp_path, small_parts, monkeypatch):
    """When the finished file is opened, neither its parts nor what they were joined to are there any more."""
    joined, load, seen = parts.Parts.joined, Predictions.load, {}

    def watched(self):
        alone = [weakref.ref(each.predictions.rows) for each in self.made()]
        made, rows, summary = joined(self)
        seen.update(parts=[each() for each in alone], rows=weakref.ref(rows))
        return made, rows, summary

    def loaded(path):
        seen["at the end"] = seen["rows"]() if "rows" in seen else "a part"
        return load(path)

    monkeypatch.setattr(parts.Parts, "joined", watched)
    monkeypatch.setattr(Predictions, "load", loaded)
    predicted(model, data, out=tmp_path / "p.parquet")
    assert seen["parts"] == [None] * 5 and seen["at the end"] is None
