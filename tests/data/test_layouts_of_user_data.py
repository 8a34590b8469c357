"""Folders, tables and shards drawn at random: no row vanishes, doubles or moves without a word, by a count of its own.

Each image is one pixel whose color is its number, so that it is known wherever it comes out. What is expected is
counted while a case is written.
"""

import csv
import io
import json
import random
import re
import tarfile
import tempfile
import unicodedata
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest
from hang_watch import no_hang
from PIL import Image

import oochub
from oochub.errors import OochubError, OochubWarning

KINDS = {"folders": 0.4, "tables": 0.4, "shards": 0.2}
WRITERS = ("pandas", "polars", "duckdb")
SPLITS = {
    "train": ("train", "Train", "TRAIN", "training"),
    "validation": ("validation", "val", "Val", "valid", "dev"),
    "test": ("test", "Test", "testing", "eval", "evaluation"),
}
WORDS = {word.lower(): split for split, words in SPLITS.items() for word in words}
CLASSES = [
    "cat",
    "dog",
    "train",
    "test",
    "blood_test",
    "val",
    "train_2",
    "10",
    "2",
    "a b",
    "x[1]",
    "caf\u00e9",
    "Eval",
    "-1a",
]
BESIDE = ["more", "train_2", "test-old", "blood_test", "masks", "unlabeled"]
ROOTS = ["pets", "data [v1]", "my data*", "what?", "test", "pets.train", "{a,b}", "\u00fc"]
NAMES = [
    "01",
    "1",
    "NA",
    "None",
    "null",
    "1e0",
    "True",
    "snow",
    "snow ",
    "Snow",
    "caf\u00e9",
    "cafe\u0301",
    "x,y",
    'q"t',
    "-",
    "2020-01-01",
]
NOTED = re.compile(r"([\d,]+) (?:of [\d,]+ )?(?:images?|CSV files?|shards?|Parquet files?) ")


class Wrong(AssertionError):
    """Rows that are not those that were written."""


def _png(number):
    file = io.BytesIO()
    Image.new("RGB", (1, 1), (number % 256, number // 256, 0)).save(file, "PNG")
    return file.getvalue()


def _read(image):
    red, green, _ = image.convert("RGB").getpixel((0, 0))
    return red + 256 * green


def _load(*args, **more):
    """The rows, and the warnings as text."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        data = oochub.load(*args, **more)
    return data, " ".join(str(each.message) for each in said if issubclass(each.category, OochubWarning))


def _name_labels(part, column="label"):
    if column not in part.features:
        return [None] * len(part)
    feature = part.features[column]
    names = getattr(feature, "names", None)
    return [str(each) if names is None else names[each] for each in part[column]]


def draw_folder(draw, place):
    """A folder or an archive of images in class folders, with odd names, folders of splits, and things beside them."""
    root = place / draw.choice(ROOTS)
    tops = []
    if draw.random() < 0.7:
        for names in draw.sample(list(SPLITS.values()), draw.randint(1, 3)):
            tops += draw.sample(names, 1 if draw.random() < 0.9 else 2)
    classes = draw.sample(CLASSES, draw.randint(2, 4))
    files, number = {}, 0

    def add(folder):
        nonlocal number
        suffix = draw.choice(["png", "PNG", "Png"])
        name = draw.choice([f"{number}", f"test_{number}", f"{number} (1)", f"n{number}.v2"])
        files[f"{folder}{name}.{suffix}"] = number
        number += 1

    is_flat = bool(tops) and draw.random() < 0.15
    for top in tops or [""]:
        for each in [""] if is_flat else draw.sample(classes, draw.randint(1, len(classes))) if tops else classes:
            for _ in range(draw.randint(1, 3)):
                add("/".join(filter(None, (top, each))) + "/" * bool(top or each))
    for _ in range(draw.choice([0, 0, 1, 2]) if tops else 0):
        add(draw.choice([f"{draw.choice(BESIDE)}/{draw.choice(classes)}/", f"{draw.choice(BESIDE)}/", ""]))
    others = draw.sample(
        ["notes.txt", "labels.csv", ".hidden.png", "__MACOSX/x.png", "LICENSE", "config.json"], draw.randint(0, 2)
    )
    metadata = None
    if not is_flat and draw.random() < 0.3:
        metadata = {path: f"p{n % 3}" for path, n in files.items() if draw.random() < 0.9}
    return root, files, others, metadata


def expect_folder(files, metadata):
    """Number of the image to (split, class), by the rule of docs/your_data.md; images in none are left out."""
    tops = {path.split("/")[0] for path in files if "/" in path}
    found = {top for top in tops if top.lower() in WORDS}
    loose = [path for path in files if "/" not in path]
    depths = {path.count("/") for path in files}
    if len(found) == 1 and len(tops) > 1 and depths == {1} and not loose:
        found = set()
    kept = {}
    for path, number in files.items():
        parts = path.split("/")
        if found and (parts[0] not in found or len(parts) == 1):
            continue
        split = WORDS[parts[0].lower()] if found else "train"
        folder = parts[1:-1] if found else parts[:-1]
        kept[number] = (path, split, folder[-1] if folder else None)
    if metadata is not None:
        return {n: (split, metadata[path]) for n, (path, split, _) in kept.items() if path in metadata}
    own = {path.count("/") for path, _, _ in kept.values()}
    classes = {each for _, _, each in kept.values()}
    has_classes = len(own) == 1 and None not in classes and len(classes) > 1
    return {n: (split, each if has_classes else None) for n, (_, split, each) in kept.items()}


def _spell(draw, path):
    return draw.choice([path, path, path.replace("/", "\\"), unicodedata.normalize("NFD", path)])


def case_of_folders(draw, place):
    root, files, others, metadata = draw_folder(draw, place)
    is_packed = draw.random() < 0.2
    content = {path: _png(number) for path, number in files.items()} | {name: b"x,y\n1,2\n" for name in others}
    if metadata is not None:
        text = io.StringIO()
        rows = csv.writer(text)
        rows.writerow(["file_name", "label"])
        lines = list(metadata.items())
        draw.shuffle(lines)
        rows.writerows([_spell(draw, path), value] for path, value in lines)
        content["metadata.csv"] = text.getvalue().encode()
    if is_packed:
        root = root.with_name(f"{root.name}.zip")
        root.parent.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(root, "w") as archive:
            for name, each in content.items():
                archive.writestr(name, each)
        tops = {path.partition("/")[0] if "/" in path else "" for path in content if not path.startswith((".", "__"))}
        if len(tops) == 1 and "" not in tops:  # a folder around everything in an archive is left out
            files = {path.partition("/")[2]: number for path, number in files.items()}
            metadata = None
    else:
        for name, each in content.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(each)
    expected = expect_folder(files, metadata)
    if not expected:
        return "empty"
    data, said = _load(root, label="label") if metadata is not None else _load(root)
    found = Counter()
    rows = {}
    for split, part in data.items():
        for row, name in zip(part["image"], _name_labels(part), strict=True):
            number = _read(row)
            found[number] += 1
            rows[number] = (split, name)
    if max(found.values()) > 1:
        raise Wrong(f"an image stands in two rows: {found}")
    if rows != expected:
        raise Wrong(f"{rows} for {expected}")
    left = len(files) - len(expected)
    counts = sum(
        int(n.replace(",", "")) for n in re.findall(r"([\d,]+) (?:of [\d,]+ )?images? (?:is|are) left out", said)
    )
    if left != counts:
        raise Wrong(f"{left} images are left out, and {counts} are said: {said}")
    return "left out, said" if left else "all rows"


def _list_writers():
    found = ["pandas"]
    for name in WRITERS[1:]:
        try:
            __import__(name)
            found.append(name)
        except ImportError:
            continue
    return found


def write_table(writer, form, path, columns, draw):
    path.parent.mkdir(parents=True, exist_ok=True)
    if writer == "pandas":
        frame = pd.DataFrame(columns)
        if draw.random() < 0.3:
            frame["place"] = frame["place"].astype("category")
        if form == "csv":
            frame.to_csv(path, index=False)
        elif form == "jsonl":
            frame.to_json(path, orient="records", lines=True, force_ascii=draw.random() < 0.5)
        else:
            frame.to_parquet(path)
    elif writer == "polars":
        import polars as pl

        frame = pl.DataFrame(columns)
        if draw.random() < 0.3 and form in ("parquet", "arrow"):
            frame = frame.with_columns(pl.col("place").cast(pl.Categorical))
        {"csv": frame.write_csv, "jsonl": frame.write_ndjson, "parquet": frame.write_parquet, "arrow": frame.write_ipc}[
            form
        ](path)
    else:
        import duckdb

        frame = pd.DataFrame(columns)
        name = str(path).replace("'", "''")
        how = {"csv": "FORMAT CSV, HEADER", "jsonl": "FORMAT JSON", "parquet": "FORMAT PARQUET"}[form]
        duckdb.sql(f"COPY (SELECT * FROM frame) TO '{name}' ({how})")  # noqa: S608


def case_of_tables(draw, place):
    writer = draw.choice(_list_writers())
    form = draw.choice(["csv", "csv", "parquet", "jsonl", *(["arrow"] if writer == "polars" else [])])
    labels, places = draw.sample(NAMES, draw.randint(2, 4)), draw.sample(NAMES, draw.randint(2, 4))
    is_number = draw.random() < 0.15

    def rows():
        n = draw.randint(3, 9)
        label = [draw.randint(0, 3) for _ in range(n)] if is_number else [draw.choice(labels) for _ in range(n)]
        return {"label": label, "place": [draw.choice(places) for _ in range(n)], "n": list(range(n))}

    names = draw.choice(
        [
            ["rows"], ["birds [1]", "birds 1"], ["birds*", "birds2", "birds3"], ["train", "test"],
            ["data/train-00000-of-00002", "data/train-00001-of-00002", "data/test-00000-of-00001"], ["a", "b", "c"],
            ["birds_train", "birds_test"], ["train/0", "train/1", "test/0"], ["blood_test", "urine"],
            ["train", "test", "notes"], ["latest", "contest"], ["Train", "TEST", "val"],
        ]
    )  # fmt: skip
    root = place / draw.choice(ROOTS)
    written = {name: rows() for name in names}
    for name, columns in written.items():
        write_table(writer, form, root / f"{name}.{form}", columns, draw)
    is_one = names[0] in ("rows", "birds [1]", "birds*")
    tops = {name.split("/")[0] for name in names if "/" in name}
    expected = {}
    for name, columns in written.items():
        if is_one and name != names[0]:
            continue
        words = [WORDS[word] for word in re.findall("[a-z]+", name.rpartition("/")[2].lower()) if word in WORDS]
        split = WORDS.get(name.split("/")[0].lower()) if tops & set(WORDS) else (words or [None])[-1]
        expected[name] = (split, columns)
    if not any(split for split, _ in expected.values()):
        expected = {name: ("train", columns) for name, (_, columns) in expected.items()}
    left = sum(split is None for split, _ in expected.values())
    counted = Counter()
    for name, (split, columns) in expected.items():
        if split is None:
            continue
        if form == "csv":  # what stands in the file, by Python's own reader
            with (root / f"{name}.csv").open(newline="", encoding="utf-8") as file:
                listed = list(csv.DictReader(file))
            columns = {key: [row[key] for row in listed] for key in columns}
        texts = zip(map(str, columns["label"]), columns["place"], map(int, columns["n"]), strict=True)
        counted.update((split, *row) for row in texts)
    source = root / f"{names[0]}.{form}" if is_one else root
    data, said = _load(source, context="place")
    found = Counter()
    for split, part in data.items():
        cells = [_name_labels(part), _name_labels(part, "context"), part["n"][:]]
        found.update((split, *row) for row in zip(*cells, strict=True))
    if found != counted:
        raise Wrong(f"{writer} {form} {names}: {found - counted} more, {counted - found} less")
    if left and not re.search(rf"\b{left} (CSV|JSON|Parquet|Arrow) files? (is|are) left out", said):
        raise Wrong(f"{left} files are left out: {said!r}")
    return "left out, said" if left else "all rows"


def case_of_shards(draw, place):
    n = draw.randint(3, 12)
    key = draw.choice(["{:04}", "a/{}", "n01.{}", "x.y.{:03}", "{}.v1", "./{:02}"])
    suffixes = draw.choice([["png"], ["png", "PNG"], ["png", "jpg"], ["webp", "png", "jpeg"]])
    members = []
    for number in range(n):
        suffix = draw.choice(suffixes)
        image = Image.new("RGB", (8, 8), (20 * number, 0, 0))
        file = io.BytesIO()
        image.save(file, {"jpg": "JPEG", "jpeg": "JPEG", "webp": "WEBP"}.get(suffix, "PNG"))
        members.append((f"{key.format(number)}.{suffix}", file.getvalue()))
        members.append((f"{key.format(number)}.cls", str(number % 3).encode()))
        if draw.random() < 0.5:
            members.append((f"{key.format(number)}.json", json.dumps({"n": number}).encode()))
    if draw.random() < 0.3:
        draw.shuffle(members)
    path = place / "shards" / draw.choice(["a.tar", "train-0.tar", "a [1].tar", "a*.tar"])
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w") as archive:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    is_damaged = draw.random() < 0.5
    if is_damaged:
        with tarfile.open(path) as archive:
            offset = draw.choice(archive.getmembers()).offset
        content = bytearray(path.read_bytes())
        how = draw.choice(["byte", "cut", "zeros"])
        if how == "byte":
            content[offset + draw.choice([0, 1, 100, 110, 124, 130, 148, 150, 156, 257])] ^= draw.choice(
                [1, 4, 16, 0x55]
            )
        elif how == "cut":
            del content[offset + draw.choice([0, 0, 1, 200, 512, 513]) :]
        else:
            content[offset : offset + 512] = bytes(512)
        path.write_bytes(content)
    try:
        data, _ = _load(path if draw.random() < 0.5 else path.parent)
    except OochubError as error:
        if not is_damaged or "byte" not in str(error):
            raise
        return "refused"
    (part,) = data.values()
    found = Counter(
        (round(_read_red(image) / 20), label) for image, label in zip(part["image"], part["label"], strict=True)
    )
    if found != Counter((number, number % 3) for number in range(n)):
        raise Wrong(f"{path.name} {key} {suffixes} {'damaged' if is_damaged else ''}: {sorted(found)}")
    return "all rows"


def _read_red(image):
    return image.convert("RGB").getpixel((4, 4))[0]


CASES = {"folders": case_of_folders, "tables": case_of_tables, "shards": case_of_shards}


def run_case(kind, number):
    """The outcome of a case in a word; the draws of a case depend on its kind and number alone."""
    with tempfile.TemporaryDirectory() as folder, no_hang(f"{kind} {number}"):
        return CASES[kind](random.Random(f"{kind}/{number}"), Path(folder))


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_layouts(kind):
    """Planted faults seen: words of splits at any depth, no look at the end of a shard."""
    for number in range(8):
        run_case(kind, number)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", KINDS)
def test_a_thousand_layouts(kind):
    outcomes = Counter(run_case(kind, number) for number in range(round(1000 * KINDS[kind])))
    assert outcomes["all rows"] > 100 or kind == "shards"
    assert kind != "shards" or outcomes["refused"] > 50


@pytest.mark.campaign
@pytest.mark.parametrize("writer", WRITERS)
def test_every_writer_was_there(writer):
    """The campaign draws among the writers that are installed."""
    if writer not in _list_writers():
        pytest.skip(f"{writer} is not installed: pip install {writer}")
