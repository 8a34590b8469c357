"""What people's folders hold beside good images: of each the contexts, or an error that says what to do."""

import sys

import datasets
import numpy as np
import pytest
from input_rows import encoded
from PIL import Image

import oochub
from oochub.cli import main
from oochub.errors import OochubError
from oochub.records.build_record import BuildRecord

NOISE = Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), np.uint8))


def folder(place, *, classes=("cat", "dog"), rows=12):
    """Images of each class in its folder, the k-th of gray 20 k."""
    for name in classes:
        (place / name).mkdir(parents=True)
        for k in range(rows):
            Image.new("RGB", (8, 8), (20 * k,) * 3).save(place / name / f"{k:02}.png")
    return place


def run(capsys, monkeypatch, source, out, *words):
    """The command as its user types it: its exit code, what it prints, and its error."""
    words = ("contexts", str(source), "--contexts", "properties", "--out", str(out), *words)
    monkeypatch.setattr(sys, "argv", ["oochub", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr()
    return ended.value.code or 0, said.out, said.err


BROKEN = {
    "cut off": (encoded(NOISE, "JPEG")[:900], "image file is truncated", "Replace the file"),
    "another file": (b"hello", "5 bytes that are no image", "Download the file again"),
    "empty": (b"", "0 bytes that are no image", "Download the file again"),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:1 file that is no image")
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_picture_is_named_or_skipped(name, tmp_path, capsys, monkeypatch):
    content, words, advice = BROKEN[name]
    source = folder(tmp_path / "pictures")
    (source / "cat/05.png").write_bytes(content)
    code, _, message = run(capsys, monkeypatch, source, tmp_path / "found")
    message = " ".join(message.split())
    assert code == 2 and words in message and "cat/05.png" in message and advice in message
    assert not (tmp_path / "found").exists()
    code, _, message = run(capsys, monkeypatch, source, tmp_path / "found", "--skip-broken")
    assert code == 0, message
    is_image = name == "cut off"  # what does not even begin as an image is not copied into a repository
    assert ("1 file that is no image was skipped" in (tmp_path / "found/README.md").read_text()) != is_image
    table = oochub.load(tmp_path / "found")["train"]
    stored_rows = table.cast_column("image", datasets.Image(decode=False))["image"][:]
    assert stored_rows[5]["bytes"] == (content if is_image else b"")
    dark, bright = (table.features["contexts"].feature.str2int(each) for each in ("dark", "bright"))
    contexts = table["contexts"][:]
    assert [row is None for row in contexts] == [row == 5 for row in range(24)]
    grays = [20 * (row % 12) for row in range(24)]
    assert all(dark in contexts[row] for row in range(24) if grays[row] <= 20)
    assert all(bright in contexts[row] for row in range(24) if grays[row] >= 200)


ODD = {
    "1 x 1": encoded(Image.new("RGB", (1, 1), (99, 99, 99)), "PNG"),
    "CMYK": encoded(Image.new("CMYK", (8, 8), (0, 0, 0, 156)), "JPEG"),
    "16 bits": encoded(Image.fromarray(np.full((8, 8), 99 * 257, np.uint16)), "PNG"),
    "animated": encoded(Image.new("L", (8, 8), 99), "GIF", save_all=True, append_images=[Image.new("L", (8, 8))]),
    "transparent": encoded(Image.new("RGBA", (8, 8), (99, 99, 99, 7)), "PNG"),
    "one bit": encoded(Image.new("1", (8, 8)), "PNG"),
}


@pytest.mark.parametrize("name", ODD)
def test_every_kind_of_picture_is_measured(name, tmp_path):
    """Gray 99 whatever the form, of an animation its first image; 0 of one bit. By the properties' own numbers."""
    source = folder(tmp_path / "pictures")
    (source / "cat/05.png").unlink()
    (source / f"cat/05.{'jpg' if name == 'CMYK' else 'gif' if name == 'animated' else 'png'}").write_bytes(ODD[name])
    found = oochub.contexts(str(source), by="properties")["train"]
    gray = 0 if name == "one bit" else 99
    assert found["property_brightness"][5] == pytest.approx(gray / 255, abs=1.5 / 255)
    assert found["contexts"][5] is not None and len(found) == 24


def pictures(rows=24, gray=range(0, 240, 10), **columns):
    stored_rows = [{"bytes": encoded(Image.new("RGB", (4, 4), (k,) * 3), "PNG"), "path": None} for k in gray][:rows]
    kinds = {name: kind for name, (kind, _) in columns.items()}
    features = datasets.Features({"image": datasets.Image(), **kinds})
    return datasets.Dataset.from_dict({"image": stored_rows, **{k: v for k, (_, v) in columns.items()}}, features)


CLASSES = datasets.ClassLabel(names=["a", "b"])


def facts(found):
    return BuildRecord.of(next(iter(found.values())).info).facts.found_contexts


def test_labels_that_are_missing(tmp_path):
    """Rows without a label, null or -1, have contexts and count for no class."""
    chosen = np.array(oochub.contexts(pictures(), by="properties")["train"]["chosen_on"][:])
    for nothing in (None, -1):
        given = [nothing if row % 3 == 0 else row % 2 for row in range(24)]
        found = oochub.contexts(pictures(label=(CLASSES, given)), by="properties", out=tmp_path / f"found{nothing}")
        assert facts(found).class_rows == {
            name: sum(chosen[row] and given[row] == number for row in range(24)) for number, name in enumerate("ab")
        }
        assert None not in found["train"]["contexts"][:]
    for label in (
        {},
        {"labels": (datasets.List(CLASSES), [[0, 1]] * 24)},
        {"label": (datasets.Value("float32"), [0.5] * 24)},
    ):
        found = oochub.contexts(pictures(**label), by="properties", out=tmp_path / f"found of {[*label]}")
        assert facts(found).class_rows == {} and facts(found).names == ("dark", "bright")


def test_one_class_and_an_empty_one(tmp_path):
    alone = oochub.contexts(pictures(label=(datasets.ClassLabel(names=["a"]), [0] * 24)), by="properties")
    assert facts(alone).names == ("dark", "bright") and facts(alone).class_rows == {"a": facts(alone).chosen_rows}
    source = folder(tmp_path / "pictures")
    (source / "bird").mkdir()
    found = oochub.contexts(str(source), by="properties")
    assert set(facts(found).class_rows) >= {"cat", "dog"} and len(found["train"]) == 24


def test_pictures_that_are_all_equal_have_no_contexts(tmp_path, capsys, monkeypatch):
    """No name, a list of none for each row, and a repository that is loaded."""
    source = folder(tmp_path / "pictures")
    for file in source.rglob("*.png"):
        file.write_bytes(ODD["transparent"])
    code, said, message = run(capsys, monkeypatch, source, tmp_path / "found")
    assert code == 0, message
    assert "Found with properties, chosen on" in said
    found = oochub.load(tmp_path / "found")
    assert facts(found).names == () and found["train"]["contexts"][:] == [[]] * 24


def test_rows_and_splits_that_are_not_there(tmp_path, capsys, monkeypatch):
    full, none = pictures(), pictures().select([])
    for splits in ({"train": full, "test": none}, {"test": none}):
        with pytest.raises(OochubError, match=r"Split test has no rows\. Remove it\."):
            oochub.contexts(datasets.DatasetDict(splits), by="properties")
    with pytest.raises(OochubError, match=r"need at least 6 images to be chosen on, got \d\. Use more images\."):
        oochub.contexts(pictures(rows=8, gray=range(8)), by="properties")
    text = datasets.Dataset.from_dict({"text": ["a"] * 24, "label": [0, 1] * 12})
    with pytest.raises(
        OochubError, match="Finding contexts requires images, but the data only has the columns text, label"
    ):
        oochub.contexts(text, by="properties")
    text.to_csv(tmp_path / "texts.csv")
    code, _, message = run(capsys, monkeypatch, tmp_path / "texts.csv", tmp_path / "found")
    assert code == 2 and "--image-column" in message
    (tmp_path / "nothing").mkdir()
    code, _, message = run(capsys, monkeypatch, tmp_path / "nothing", tmp_path / "found")
    assert code == 2 and "doesn't contain any data files" in " ".join(message.split())


def test_a_picture_that_leads_nowhere(tmp_path):
    """`datasets` lists files that are there, so a folder has no row of it; a row that names it says so."""
    source = folder(tmp_path / "pictures")
    (source / "cat/05.png").unlink()
    (source / "cat/05.png").symlink_to("/nowhere/05.png")
    assert len(oochub.contexts(str(source), by="properties")["train"]) == 23
    rows = [{"bytes": None, "path": str(path)} for path in sorted(source.rglob("*.png"))]
    raw = datasets.Features({"image": datasets.Image(decode=False)})
    data = datasets.Dataset.from_dict({"image": rows}, raw).cast_column("image", datasets.Image())
    with pytest.raises(OochubError, match=r"example 5 \(.*cat/05\.png\): .*05\.png"):
        oochub.contexts(data, by="properties")
    found = oochub.contexts(data, by="properties", skip_broken=True)["train"]["contexts"][:]
    assert [number for number, row in enumerate(found) if row is None] == [5]
